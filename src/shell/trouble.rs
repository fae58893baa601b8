//! Everything that is wrong with a process, the worst first: the API, the page and `top` show it
//! alike. Not ready is a process whose first trouble keeps it from working.

use crate::described::described;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// A person has to look at it now.
pub const ACT: &str = "act";
/// It goes on; it is over by itself, or is worth a look.
pub const WATCH: &str = "watch";

described! {
    /// One thing that is wrong with the process.
    #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    pub struct Trouble {
        /// act: a person has to look at it now; watch: it goes on.
        pub severity: String,
        /// The kind: stopped, broker, contested, schemas, restoring, catching_up, still,
        /// old_inputs, intake, import, silent, stuck, stale, absent, unsteady.
        pub rule: String,
        /// A sentence that names it, with the remedy where there is one.
        pub text: String,
        /// Whether the process is not ready because of it.
        pub keeps_from_ready: bool,
        /// Since when, by the clock of the process's computer; ms since 1970; null: not known.
        pub since: Option<Millis>,
    }
}

/// A trouble whose moment is not known yet.
pub(crate) fn trouble(severity: &str, rule: &str, text: String, keeps_from_ready: bool) -> Trouble {
    let (severity, rule) = (severity.to_owned(), rule.to_owned());
    Trouble { severity, rule, text, keeps_from_ready, since: None }
}

/// When each trouble was first seen. A text may have figures that grow, so troubles are known by
/// their rule and the first words of their text.
#[derive(Debug, Default)]
pub(crate) struct FirstSeen(BTreeMap<(String, String), Millis>);

/// So many words of a text tell two troubles of one rule apart: `topic NAME is stale`.
const WORDS: usize = 3;

impl FirstSeen {
    /// States since when there is each, as of a moment; forgets those that are over.
    pub(crate) fn date(&mut self, troubles: &mut [Trouble], now: Millis) {
        let mut before = std::mem::take(&mut self.0);
        for it in troubles {
            let words: Vec<&str> = it.text.split_whitespace().take(WORDS).collect();
            let key = (it.rule.clone(), words.join(" "));
            let since = before.remove(&key).unwrap_or(now);
            it.since = Some(since);
            self.0.insert(key, since);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trouble_keeps_its_moment_while_it_lasts() {
        let (mut seen, of) = (FirstSeen::default(), |text: &str| {
            vec![trouble(ACT, "stale", text.to_owned(), false)]
        });
        let mut look = |mut all: Vec<Trouble>, now| {
            seen.date(&mut all, now);
            all.first().and_then(|it| it.since)
        };
        assert_eq!(look(of("topic queue is stale: 400 s"), 7), Some(7));
        assert_eq!(look(of("topic queue is stale: 401 s"), 8), Some(7));
        assert_eq!(look(of("topic link is stale: 401 s"), 9), Some(9));
        assert_eq!(look(Vec::new(), 10), None);
        assert_eq!(look(of("topic queue is stale: 9 s"), 11), Some(11));
    }
}
