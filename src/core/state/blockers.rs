//! Blockers of deferred requests as last published: per rejected queue its filter and reason.
//!
//! Thousands of requests wait for the same queues and mostly for the same causes, so each list and
//! each text is held once, and a request holds references to them.

use crate::output::decision::Fate;
use crate::record::{Encode, Encoder};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// A filter and the reason it gave.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    /// Filter.
    pub filter: Box<str>,
    /// Reason.
    pub reason: Box<str>,
}

/// Names of queues in ascending order.
pub type QueueList = Arc<[Arc<str>]>;

/// The blockers of one request, in order of the queues' names.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Blockers {
    queues: QueueList,
    /// Distinct causes.
    causes: Arc<[Arc<Cause>]>,
    /// Per queue its cause, as an index into `causes`.
    of_queue: Arc<[u16]>,
}

impl Encode for Blockers {
    fn encode<E: Encoder>(&self, to: &mut E) {
        let entries = self.iter().map(|(queue, cause)| (queue, (&*cause.filter, &*cause.reason)));
        entries.collect::<Vec<_>>().encode(to);
    }
}

impl fmt::Debug for Blockers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl Blockers {
    /// The queues, in order of their names.
    pub fn queues(&self) -> &QueueList {
        &self.queues
    }

    /// Distinct causes.
    pub fn causes(&self) -> &[Arc<Cause>] {
        &self.causes
    }

    /// Per queue its cause, as an index into [`Blockers::causes`].
    pub fn of_queue(&self) -> &[u16] {
        &self.of_queue
    }

    /// Whether no queue is rejected.
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Why a queue is rejected.
    pub fn of(&self, queue: &str) -> Option<&Cause> {
        let at = self.queues.binary_search_by(|name| name.as_ref().cmp(queue)).ok()?;
        self.causes.get(usize::from(*self.of_queue.get(at)?)).map(Arc::as_ref)
    }

    /// Queues and causes, in order of the queues' names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Cause)> {
        let causes = self.of_queue.iter().filter_map(|at| self.causes.get(usize::from(*at)));
        self.queues.iter().map(AsRef::as_ref).zip(causes.map(AsRef::as_ref))
    }
}

/// Every list and text that a [`Blockers`] refers to, held once. Derived from the requests.
#[derive(Clone, Debug, Default)]
pub struct BlockerTable {
    names: BTreeSet<Arc<str>>,
    causes: BTreeSet<Arc<Cause>>,
    queue_lists: BTreeSet<QueueList>,
    cause_lists: BTreeSet<Arc<[Arc<Cause>]>>,
    index_lists: BTreeSet<Arc<[u16]>>,
    /// The queue list used last: most requests have the same.
    latest: QueueList,
    /// How many entries there were after those without a user were last removed.
    swept: usize,
}

/// Entries without a user are looked for once there are more than twice as many as after the last
/// time, and this many more.
const SWEEP_AFTER: usize = 4_096;

impl BlockerTable {
    /// The blockers after a deferral: all that it names, or those before with what it changed.
    pub fn after(&mut self, before: Option<Blockers>, fates: &[Fate]) -> Blockers {
        let is_ascending = fates.is_sorted_by(|one, other| one.queue < other.queue);
        let is_plain = is_ascending && fates.iter().all(|fate| !fate.filter.is_empty());
        let Some(before) = before.filter(|before| !before.is_empty()) else {
            if is_plain {
                let all = fates.iter().map(|it| (&*it.queue, (&*it.filter, &*it.reason)));
                return self.make(all.collect());
            }
            return self.merge(&Blockers::default(), fates);
        };
        if fates.is_empty() { before } else { self.merge(&before, fates) }
    }

    fn merge(&mut self, before: &Blockers, fates: &[Fate]) -> Blockers {
        let known = before.iter().map(|(queue, cause)| (queue, (&*cause.filter, &*cause.reason)));
        let mut all: BTreeMap<&str, (&str, &str)> = known.collect();
        for fate in fates {
            if fate.filter.is_empty() {
                all.remove(&*fate.queue);
            } else {
                all.insert(&fate.queue, (&fate.filter, &fate.reason));
            }
        }
        self.make(all.into_iter().collect())
    }

    /// Blockers of queues in ascending order, each with filter and reason.
    pub fn make(&mut self, all: Vec<(&str, (&str, &str))>) -> Blockers {
        let causes = all.iter().map(|(_, cause)| (*cause, 0));
        let mut distinct: BTreeMap<(&str, &str), u16> = causes.collect();
        for (at, index) in distinct.values_mut().enumerate() {
            *index = u16::try_from(at).unwrap_or(u16::MAX);
        }
        let of_queue: Vec<u16> =
            all.iter().map(|(_, cause)| distinct.get(cause).copied().unwrap_or(u16::MAX)).collect();
        let causes: Vec<Arc<Cause>> = distinct.keys().map(|cause| self.cause(*cause)).collect();
        let names: Vec<&str> = all.iter().map(|(queue, _)| *queue).collect();
        let queues = self.queue_list(&names);
        self.join(queues, causes, of_queue)
    }

    /// Blockers of a list made before.
    pub fn join(
        &mut self,
        queues: QueueList,
        causes: Vec<Arc<Cause>>,
        of_queue: Vec<u16>,
    ) -> Blockers {
        let causes = shared(&mut self.cause_lists, causes);
        let of_queue = shared(&mut self.index_lists, of_queue);
        self.sweep();
        Blockers { queues, causes, of_queue }
    }

    /// A filter and its reason.
    pub fn cause(&mut self, (filter, reason): (&str, &str)) -> Arc<Cause> {
        let cause = Cause { filter: filter.into(), reason: reason.into() };
        if let Some(known) = self.causes.get(&cause) {
            return known.clone();
        }
        let cause = Arc::new(cause);
        self.causes.insert(cause.clone());
        cause
    }

    /// A list of queues in ascending order.
    pub fn queue_list(&mut self, names: &[&str]) -> QueueList {
        let is_latest = self.latest.len() == names.len()
            && self.latest.iter().zip(names).all(|(known, name)| known.as_ref() == *name);
        if !is_latest {
            let names = names.iter().map(|name| self.name(name)).collect();
            self.latest = shared(&mut self.queue_lists, names);
        }
        self.latest.clone()
    }

    fn name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Arc<str> = name.into();
        self.names.insert(name.clone());
        name
    }

    fn entries(&self) -> usize {
        let texts = self.names.len() + self.causes.len();
        texts + self.queue_lists.len() + self.cause_lists.len() + self.index_lists.len()
    }

    /// Removes what no request refers to any more, lists before the texts they are made of.
    fn sweep(&mut self) {
        if self.entries() < 2 * self.swept + SWEEP_AFTER {
            return;
        }
        self.latest = QueueList::default();
        self.index_lists.retain(|list| Arc::strong_count(list) > 1);
        self.cause_lists.retain(|list| Arc::strong_count(list) > 1);
        self.queue_lists.retain(|list| Arc::strong_count(list) > 1);
        self.causes.retain(|cause| Arc::strong_count(cause) > 1);
        self.names.retain(|name| Arc::strong_count(name) > 1);
        self.swept = self.entries();
    }
}

/// The list of a content, held once.
fn shared<T: Ord>(lists: &mut BTreeSet<Arc<[T]>>, content: Vec<T>) -> Arc<[T]> {
    if let Some(known) = lists.get(content.as_slice()) {
        return known.clone();
    }
    let list: Arc<[T]> = content.into();
    lists.insert(list.clone());
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fate(queue: String, filter: &'static str) -> Fate {
        Fate {
            queue: queue.into(),
            filter: filter.into(),
            reason: filter.into(),
            measured: 1.0,
            limit: 2.0,
        }
    }

    fn deferral(queues: usize, filter: &'static str) -> Vec<Fate> {
        (0..queues).map(|at| fate(format!("QUEUE_{at:03}"), filter)).collect()
    }

    #[test]
    fn equal_blockers_are_held_once() {
        let mut table = BlockerTable::default();
        let [one, other] = [(); 2].map(|()| table.after(None, &deferral(700, "cap")));
        assert_eq!(one, other);
        assert!(Arc::ptr_eq(&one.queues, &other.queues));
        assert!(Arc::ptr_eq(&one.of_queue, &other.of_queue));
        assert!(Arc::ptr_eq(&one.causes, &other.causes));
        let third = table.after(None, &deferral(700, "status"));
        assert!(Arc::ptr_eq(&one.queues, &third.queues), "only the cause is another");
        assert_eq!(third.of("QUEUE_007").map(|cause| &*cause.filter), Some("status"));
    }

    #[test]
    fn a_repeated_deferral_changes_what_it_names() {
        let mut table = BlockerTable::default();
        let first = table.after(None, &deferral(4, "cap"));
        let changes = vec![
            fate("QUEUE_003".into(), ""),
            fate("QUEUE_001".into(), "status"),
            fate("AHEAD".into(), "memory"),
        ];
        let second = table.after(Some(first.clone()), &changes);
        let all: Vec<(&str, &str)> = second.iter().map(|(q, cause)| (q, &*cause.filter)).collect();
        let wanted = [
            ("AHEAD", "memory"),
            ("QUEUE_000", "cap"),
            ("QUEUE_001", "status"),
            ("QUEUE_002", "cap"),
        ];
        assert_eq!(all, wanted);
        assert_eq!(table.after(Some(first.clone()), &[]), first);
        assert!(table.after(None, &[]).is_empty());
    }

    #[test]
    fn what_no_request_refers_to_is_removed() {
        let mut table = BlockerTable::default();
        let kept = table.after(None, &deferral(3, "cap"));
        for number in 0..3 * SWEEP_AFTER {
            let names = vec![fate(format!("ONCE_{number}"), "cap")];
            assert!(!table.after(None, &names).is_empty());
        }
        assert!(table.entries() <= SWEEP_AFTER + 64, "{}", table.entries());
        assert_eq!(kept, table.after(None, &deferral(3, "cap")));
    }
}
