//! What changed: of facts, of the configuration, who leads. Each change is one field of one thing,
//! before and after, with a sentence. `changes` makes them from the log, the history of a process
//! from what it looked at.

mod fact;
mod topology;
mod watch;

pub use fact::{KINDS, is_watched, of_record};
pub use topology::of_topology;
pub use watch::{FactWatch, Lead};

use crate::described::described;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::throttle::{Action, Throttle};
use yardmaster_core::unit::{MINUTE, Millis};

/// Kinds of changes.
pub const CHANGE_KINDS: [&str; 6] = ["status", "limit", "fact", "policy", "lead", "throttle"];
/// From so many on, things that came or went together are one change.
const TOGETHER: usize = 20;
/// Names in such a change.
const NAMES_SHOWN: usize = 5;

described! {
    /// A change of one field of one thing.
    #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(default)]
    pub struct ChangeView {
        /// When it was so for the first time, as far as it was looked at; ms since 1970.
        pub at: Millis,
        /// One of status, limit, fact, policy, lead, throttle.
        pub kind: String,
        /// Kind of the thing: a topic of configuration, such as queue; topology, process; of a
        /// throttle user, group, task, queue, share.
        pub of: String,
        /// Name of the thing; empty where several came or went together.
        pub subject: String,
        /// Its field; of a throttle the rule; empty where all of it came or went.
        pub field: String,
        /// Value before; null: there was none, or it is not known.
        pub before: Option<String>,
        /// Value after; null: there is none.
        pub after: Option<String>,
        /// One sentence.
        pub text: String,
    }
}

impl ChangeView {
    /// Whether it is about something of a name.
    pub fn is_about(&self, name: &str) -> bool {
        let parent = self.subject.split('/').next().unwrap_or_default();
        self.subject == name || self.field == name || parent == name
    }

    /// Whether all of a thing came or went.
    fn is_whole(&self) -> bool {
        self.field.is_empty() && !self.subject.is_empty()
    }
}

/// Another process leads.
pub fn of_lead(at: Millis, epoch: u64, before: Option<&str>, after: Option<&str>) -> ChangeView {
    let who = after.map_or_else(|| "another process".to_owned(), str::to_owned);
    let was = before.map_or_else(String::new, |before| format!("; before: {before}"));
    ChangeView {
        at,
        kind: "lead".into(),
        of: "process".into(),
        subject: after.unwrap_or_default().to_owned(),
        field: "lead".into(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        text: format!("{who} leads, epoch {epoch}{was}"),
    }
}

/// Something is throttled, or no longer.
pub fn of_throttle(it: &Throttle) -> ChangeView {
    let Throttle { rule, measured, limit, unit, .. } = it;
    let (free, held) = match it.dry_run {
        false => ("free", "throttled"),
        true => ("free", "would be throttled"),
    };
    let (before, after) = match it.action {
        Action::Set => (free, held),
        Action::Lift => (held, free),
    };
    let of = it.kind.name();
    let how = match (it.action, it.dry_run) {
        (Action::Set, false) => "is throttled",
        (Action::Set, true) => "would be throttled",
        (Action::Lift, _) => "is not throttled any more",
    };
    ChangeView {
        at: it.now,
        kind: "throttle".into(),
        of: of.into(),
        subject: it.subject.clone(),
        field: rule.clone(),
        before: Some(before.into()),
        after: Some(after.into()),
        text: format!("{of} {} {how} by {rule}: {measured} {unit}, limit {limit}", it.subject),
    }
}

/// Puts many things of a kind that came or went within a minute into one change, and so the same
/// change of several pseudo-queues of a queue, or queues of a cluster.
pub fn together(changes: Vec<ChangeView>) -> Vec<ChangeView> {
    let changes = of_one_parent(changes);
    let group = |it: &ChangeView| (it.at.div_euclid(MINUTE), it.of.clone(), it.after.is_some());
    let mut whole: BTreeMap<(Millis, String, bool), Vec<ChangeView>> = BTreeMap::new();
    let mut others = Vec::new();
    for change in changes {
        match change.is_whole() {
            true => whole.entry(group(&change)).or_default().push(change),
            false => others.push(change),
        }
    }
    for ((_, of, has_come), mut these) in whole {
        if these.len() < TOGETHER {
            others.append(&mut these);
            continue;
        }
        let count = these.len();
        let names: Vec<&str> = these.iter().take(NAMES_SHOWN).map(|it| &it.subject[..]).collect();
        let how = if has_come { "came" } else { "went" };
        let text = format!("{count} records of {of} {how}: {}, ...", names.join(", "));
        let all = Some(format!("{count} records"));
        let (before, after) = if has_come { (None, all) } else { (all, None) };
        let at = these.iter().map(|it| it.at).max().unwrap_or_default();
        let kind = these.first().map(|it| it.kind.clone()).unwrap_or_default();
        let (subject, field) = Default::default();
        others.push(ChangeView { at, kind, of, subject, field, before, after, text });
    }
    others.sort();
    others
}

fn of_one_parent(changes: Vec<ChangeView>) -> Vec<ChangeView> {
    type Same = (Millis, String, String, Option<String>, Option<String>);
    let mut same: BTreeMap<Same, Vec<ChangeView>> = BTreeMap::new();
    let mut others = Vec::new();
    for change in changes {
        let is_part = change.of == Topic::Queue.name() && !change.field.is_empty();
        match change.subject.split_once('/').filter(|_| is_part) {
            Some((parent, _)) => {
                let ChangeView { at, field, before, after, .. } = &change;
                let parent = (*at, parent.to_owned(), field.clone(), before.clone(), after.clone());
                same.entry(parent).or_default().push(change);
            }
            None => others.push(change),
        }
    }
    for ((_, parent, field, before, after), mut these) in same {
        if these.len() > 1
            && let Some(change) = these.first_mut()
        {
            change.subject = parent.clone();
            let subject = format!("{parent} ({} of it)", these.len());
            let values = (before.as_ref(), after.as_ref());
            these.truncate(1);
            these.iter_mut().for_each(|it| {
                it.text = fact::text_of(Topic::Queue, &subject, &field, values);
            });
        }
        others.append(&mut these);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pseudo_queues_of_a_queue_that_change_alike_are_one_change() {
        let goes = |queue: &str, at: Millis| ChangeView {
            at,
            kind: "status".into(),
            of: "queue".into(),
            subject: queue.into(),
            field: "status".into(),
            before: Some("online".into()),
            after: Some("offline".into()),
            text: format!("queue {queue}"),
        };
        let all =
            vec![goes("oak/SCORE", 5), goes("oak/MCORE", 5), goes("oak/HIMEM", 6), goes("elm", 5)];
        let all = together(all);
        let texts: Vec<&str> = all.iter().map(|it| it.text.as_str()).collect();
        let oak = "queue oak (2 of it) is offline; it was online";
        assert_eq!(texts, ["queue elm", oak, "queue oak/HIMEM"]);
        assert!(all[1..].iter().all(|it| it.is_about("oak")) && !all[0].is_about("oak"));
    }

    #[test]
    fn what_came_together_is_one_change() {
        let new = |at: Millis, number: usize| ChangeView {
            at,
            kind: "fact".into(),
            of: "queue".into(),
            subject: format!("Q{number}"),
            after: Some("online".into()),
            ..ChangeView::default()
        };
        let some = (0..TOGETHER).map(|number| new(5, number));
        let all = together(some.chain([new(2 * MINUTE, 77)]).collect());
        let texts: Vec<&str> = all.iter().map(|it| it.text.as_str()).collect();
        assert_eq!(texts, ["20 records of queue came: Q0, Q1, Q2, Q3, Q4, ...", ""]);
        assert_eq!(together((1..TOGETHER).map(|it| new(5, it)).collect()).len(), TOGETHER - 1);
    }
}
