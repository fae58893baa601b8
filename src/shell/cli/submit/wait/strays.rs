//! Jobs that are not wanted at their clusters: cancelled there as soon as these answer.

use crate::arex::{ArexCluster, published};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::Millis;

/// So long a cluster may still make a job whose handing over had no answer.
const LATE: Duration = Duration::from_secs(600);

/// A job that is not wanted at its cluster.
#[derive(Clone, Debug)]
pub(super) struct Stray {
    pub subject: String,
    pub cluster: String,
    /// Its id there, if that is known.
    pub id: Option<String>,
    /// The mark of its description.
    pub mark: String,
    /// When it was, or may have been, handed over.
    pub since: Instant,
    /// The job of the same mark that is wanted, if one is: those that came later are not.
    pub beside: Option<String>,
    /// Whether its cluster was asked about it, and whether it answered that it is not there.
    pub is_looked_for: bool,
    pub is_answered: bool,
}

/// The mark of a decision. Ids of decisions are the same wherever domain and job have the same
/// names.
pub(super) fn mark(decision: &Decision) -> String {
    format!("{}:{}", decision.id, decision.now)
}

/// What became of a stray.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StrayFate {
    /// It is cancelled.
    Cancelled,
    /// It was over before.
    Over,
    /// It is not there, and may still come to be.
    Unseen,
    /// It never came to be there.
    Absent,
    /// Not known yet.
    Open,
}

impl Stray {
    /// What the cluster of a decision that failed may have of it.
    pub fn of(decision: &Decision, cluster: &str, now: Millis) -> Stray {
        let age = u64::try_from(now.saturating_sub(decision.now)).unwrap_or_default();
        let (begun, age) = (Instant::now(), Duration::from_millis(age));
        Stray {
            subject: decision.subject.clone(),
            cluster: cluster.to_owned(),
            id: None,
            mark: mark(decision),
            since: begun.checked_sub(age.min(LATE)).unwrap_or(begun),
            beside: None,
            is_looked_for: false,
            is_answered: false,
        }
    }

    /// Cancels it at its cluster, whose jobs have these states, if it is there.
    pub fn end(&self, cluster: &mut ArexCluster, states: &BTreeMap<String, String>) -> StrayFate {
        let ids = match &self.id {
            Some(id) => Ok(Vec::from_iter(states.contains_key(id).then(|| id.clone()))),
            None => cluster.marked_among(states, &self.mark),
        };
        let Ok(mut ids) = ids else { return StrayFate::Open };
        if let Some(wanted) = &self.beside {
            // Where another one came first, it is that which others want.
            let is_first = ids.first() == Some(wanted);
            ids.retain(|id| is_first && id != wanted);
        }
        let word = |id: &String| states.get(id).map_or("", String::as_str);
        let is_over =
            |id: &&String| published(word(id)).is_some_and(|(status, _)| status.is_ended());
        let (over, open): (Vec<&String>, Vec<&String>) = ids.iter().partition(is_over);
        match open.iter().all(|id| cluster.act("kill", id).is_ok()) {
            false => StrayFate::Open,
            true if !open.is_empty() => StrayFate::Cancelled,
            true if !over.is_empty() => StrayFate::Over,
            true if self.since.elapsed() < LATE => StrayFate::Unseen,
            true => StrayFate::Absent,
        }
    }

    /// Whether it is the same job as another.
    pub fn is(&self, other: &Stray) -> bool {
        (&self.mark, &self.id, &self.beside) == (&other.mark, &other.id, &other.beside)
    }

    /// Tells what became of it, if that is of interest.
    pub fn line(&self, fate: StrayFate) -> Option<String> {
        let Stray { subject, cluster, .. } = self;
        match fate {
            StrayFate::Cancelled => Some(format!(
                "{subject}: {cluster} had taken it all the same; it is cancelled there"
            )),
            StrayFate::Over => Some(format!(
                "{subject}: {cluster} had taken it all the same, and it is over there"
            )),
            StrayFate::Unseen | StrayFate::Absent | StrayFate::Open => None,
        }
    }

    /// Tells that it may still be there, unless the cluster answered that it is not.
    pub fn left(&self) -> Option<String> {
        let Stray { subject, cluster, id, .. } = self;
        Some(match id {
            _ if self.is_answered => return None,
            Some(id) => format!(
                "{subject}: its job {id} at {cluster} is not wanted, and the cluster did not \
                 confirm that it is cancelled; look there once the cluster answers"
            ),
            None => format!(
                "{subject}: {cluster} did not tell whether it took it; if it did, cancel it there \
                 once the cluster answers"
            ),
        })
    }
}
