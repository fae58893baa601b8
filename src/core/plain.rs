//! Text that came from outside, as it may be shown: it must not command a terminal, nor look like a
//! line of ours.

use crate::output::command::Command;
use crate::output::decision::{Decision, Outcome, Ranked};
use crate::output::throttle::Throttle;
use std::borrow::Cow;

/// A name or another text of one line: what commands a terminal, ends a line or turns the direction
/// of writing is shown by its number.
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, is_command)
}

/// The same of a text of ours that has names in it: its lines stay.
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| c != '\n' && is_command(c))
}

fn is_command(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns
}

fn escaped(text: &str, is_bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_bad) {
        return Cow::Borrowed(text);
    }
    let shown = |c: char| if is_bad(c) { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(text.chars().map(shown).collect())
}

/// An output to be shown: its names are [`plain`].
pub trait Plain {
    /// The same with plain names.
    fn plain(self) -> Self;
}

fn make_plain<'a>(texts: impl IntoIterator<Item = &'a mut String>) {
    for text in texts {
        if let Cow::Owned(shown) = plain(text) {
            *text = shown;
        }
    }
}

impl Plain for Decision {
    fn plain(mut self) -> Decision {
        make_plain([
            &mut self.domain,
            &mut self.subject,
            &mut self.task,
            &mut self.policy,
            &mut self.gshare,
            &mut self.user,
            &mut self.working_group,
            &mut self.nucleus,
        ]);
        make_plain(self.factor_names.iter_mut().chain(&mut self.notes));
        make_plain(self.counts.iter_mut().map(|count| &mut count.filter));
        make_plain(self.limits.iter_mut().flat_map(|it| [&mut it.name, &mut it.of]));
        for fate in &mut self.fates {
            if let Cow::Owned(shown) = plain(&fate.queue) {
                fate.queue = shown.into();
            }
            for text in [&mut fate.filter, &mut fate.reason] {
                *text = Cow::Owned(plain(text).into_owned());
            }
        }
        match &mut self.outcome {
            Outcome::Assign(ranked) => {
                for Ranked { queue, unified, platform, .. } in ranked {
                    make_plain([queue, unified, platform]);
                }
            }
            Outcome::Reject { reason } => make_plain([reason]),
            Outcome::Defer { .. } => {}
        }
        if let Some(placed) = &mut self.placed {
            make_plain(placed.tags.iter_mut().chain([&mut placed.rule]));
            if let Some(draw) = &mut placed.draw {
                make_plain([&mut draw.algorithm, &mut draw.cut_id, &mut draw.digest]);
                make_plain(draw.weights.iter_mut().map(|weight| &mut weight.name));
            }
        }
        if let Some(it) = &mut self.matched {
            make_plain([
                &mut it.job,
                &mut it.node,
                &mut it.overflow_source,
                &mut it.charged_group,
                &mut it.io_source,
            ]);
            make_plain(&mut it.relaxed);
        }
        self
    }
}

impl Plain for Throttle {
    fn plain(mut self) -> Throttle {
        make_plain([
            &mut self.domain,
            &mut self.subject,
            &mut self.rule,
            &mut self.counter,
            &mut self.unit,
            &mut self.policy,
        ]);
        make_plain(&mut self.notes);
        self
    }
}

impl Plain for Command {
    fn plain(mut self) -> Command {
        make_plain([
            &mut self.domain,
            &mut self.rule,
            &mut self.subject,
            &mut self.queue,
            &mut self.gshare,
            &mut self.clock,
            &mut self.unit,
            &mut self.policy,
        ]);
        make_plain(self.jobs.iter_mut().chain(&mut self.notes));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{Context, explain};

    const EVIL: &str = "q\u{1b}]0;owned\u{7}\n1/2: assigned to X\r\u{202e}";

    #[test]
    fn no_name_commands_a_terminal_or_ends_a_line() {
        assert_eq!(plain("CERN-PROD_ü"), "CERN-PROD_ü");
        assert_eq!(plain(EVIL), "q\\u{1b}]0;owned\\u{7}\\n1/2: assigned to X\\r\\u{202e}");
        assert_eq!(plain_lines("a\nb\u{1b}"), "a\nb\\u{1b}");
    }

    #[test]
    fn an_explanation_has_as_many_lines_with_any_names() {
        let context = Context { kinds: &[], limits: None, policy: None };
        let of = |name: &str| {
            let reason = name.to_owned();
            let mut decision = Decision::new(name, name, 0, 1, Outcome::Reject { reason });
            for text in [&mut decision.user, &mut decision.gshare, &mut decision.nucleus] {
                *text = name.to_owned();
            }
            decision.notes = vec![name.to_owned()];
            explain(&decision.plain(), &context)
        };
        let (good, evil) = (of("good"), of(EVIL));
        assert_eq!(good.lines().count(), evil.lines().count(), "{evil}");
        assert!(!evil.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{evil}");
    }
}
