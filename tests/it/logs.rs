//! The contract on paper, and what only paper can show: faults, fences, open transactions.

use crate::contract::{
    DECISIONS, JOBS, LANES, PROGRESS, Reading, World, all_from_start, contract, cut, keys, output,
    publish_cycle,
};
use std::time::Duration;
use yardmaster::core::cut::Lane;
use yardmaster::drive::port::{Checkpoint, Log, LogError, Store};
use yardmaster::sim::paper::faulty::{Fault, Faulty, FaultyStore, Objection, Schedule};
use yardmaster::sim::paper::store::PaperStore;
use yardmaster::sim::paper::{Paper, PaperLog};

struct OnPaper(Paper);

impl World for OnPaper {
    type L = PaperLog;

    fn publisher(&mut self) -> PaperLog {
        self.0.log("test")
    }

    fn reader(&mut self) -> PaperLog {
        self.0.log("test")
    }

    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.0.append(lane, key, value, &[], None);
    }
}

struct BehindFaults(Paper);

impl World for BehindFaults {
    type L = Faulty<PaperLog>;

    fn publisher(&mut self) -> Self::L {
        let schedule = Schedule::default();
        for call in 0..1000 {
            schedule.on(call, Fault::Slow(3));
        }
        Faulty::new(self.0.log("test"), &schedule)
    }

    fn reader(&mut self) -> Self::L {
        Faulty::new(self.0.log("test"), &Schedule::default())
    }

    fn append(&mut self, lane: Lane, key: Option<&[u8]>, value: Option<&[u8]>) {
        self.0.append(lane, key, value, &[], None);
    }
}

#[test]
fn the_contract_holds_on_paper() {
    contract(&mut OnPaper(Paper::new(&LANES)));
}

#[test]
fn the_contract_holds_behind_a_slow_schedule() {
    contract(&mut BehindFaults(Paper::new(&LANES)));
}

#[test]
fn the_last_leader_fences_the_others() {
    let paper = Paper::new(&LANES);
    let (mut old, mut new, mut other) = (paper.log("atlas"), paper.log("atlas"), paper.log("cms"));
    old.lead().unwrap();
    other.lead().unwrap();
    publish_cycle(&mut old, &["a"], "p1").unwrap();
    new.lead().unwrap();
    let fenced = publish_cycle(&mut old, &["b"], "p2");
    assert!(matches!(fenced, Err(LogError::Fenced(_))));
    publish_cycle(&mut new, &["c"], "p3").unwrap();
    publish_cycle(&mut other, &["d"], "p4").unwrap();
    let keys: Vec<_> = paper.records(DECISIONS).into_iter().filter_map(|note| note.key).collect();
    assert_eq!(keys, [b"a", b"c", b"d"], "all of a transaction, or nothing");
    assert_eq!(paper.records(PROGRESS).len(), 3);
}

#[test]
fn an_open_transaction_hides_what_follows() {
    let paper = Paper::new(&LANES);
    let mut log = paper.log("test");
    log.assign(&all_from_start()).unwrap();
    paper.append(JOBS, Some(b"1"), None, &[], Some(1_234));
    paper.open(JOBS, b"open");
    paper.append(JOBS, Some(b"3"), None, &[], Some(9_999));
    let mut reading = Reading::new();
    reading.take(&mut log, 100, Duration::ZERO);
    assert_eq!(keys(&reading.lanes[&JOBS]), ["1"]);
    let mark = reading.marks[&JOBS];
    assert_eq!((mark.position, mark.flags.at_end), (1, false));
    assert_eq!(mark.flags.blocked_at, Some(1_234));
    let span = log.lanes().unwrap()[0];
    assert_eq!((span.stable_end, span.end), (1, 3));

    paper.close(JOBS, false);
    reading.take(&mut log, 100, Duration::ZERO);
    assert_eq!(keys(&reading.lanes[&JOBS]), ["1", "3"], "an aborted record is never seen");
    assert!(reading.at_end(JOBS));
    assert_eq!(reading.marks[&JOBS].position, 4);
}

#[test]
fn retention_is_noticed() {
    let paper = Paper::new(&LANES);
    for _ in 0..10 {
        paper.append(JOBS, None, None, &[], None);
    }
    let mut log = paper.log("test");
    log.assign(&cut(&[(JOBS, 2)])).unwrap();
    paper.forget(JOBS, 5);
    let mut batch = Default::default();
    let lost = log.take(&mut batch, 10, Duration::ZERO);
    assert!(matches!(lost, Err(LogError::OutOfRange { wanted: 2, first: 5, .. })));
    let lost = log.assign(&cut(&[(JOBS, 4)]));
    assert!(matches!(lost, Err(LogError::OutOfRange { wanted: 4, first: 5, .. })));
}

#[test]
fn an_unreadable_lane_is_flagged_and_others_go_on() {
    let paper = Paper::new(&LANES);
    let mut log = paper.log("test");
    log.assign(&all_from_start()).unwrap();
    paper.set_unreadable(JOBS, true);
    paper.append(JOBS, Some(b"1"), None, &[], None);
    let mut reading = Reading::new();
    reading.take(&mut log, 100, Duration::ZERO);
    assert!(reading.marks[&JOBS].flags.unreadable && reading.at_end(PROGRESS));
    assert_eq!(reading.count(JOBS), 0);
    paper.set_unreadable(JOBS, false);
    reading.take(&mut log, 100, Duration::ZERO);
    assert!(reading.at_end(JOBS) && !reading.marks[&JOBS].flags.unreadable);
    assert_eq!(reading.count(JOBS), 1);
}

/// Every fault at every call of a small session: what is in the log afterwards is what the fault
/// reservations, and never half of it.
#[test]
fn injected_faults_have_their_effect() {
    let session = |log: &mut Faulty<PaperLog>, store: &mut FaultyStore<PaperStore>| {
        log.assign(&all_from_start())?;
        log.lead()?;
        log.publish(vec![output(DECISIONS, "a")], output(PROGRESS, "p1"))?;
        log.take(&mut Default::default(), 10, Duration::ZERO)?;
        log.settle()?;
        let stop = |error: yardmaster::drive::port::StoreError| LogError::Stop(error.to_string());
        store.keep(Checkpoint::default()).map_err(stop)?;
        store.flush().map_err(stop)
    };
    let names = ["assign", "lead", "publish", "take", "settle", "keep", "flush"];
    // Which calls come after `say`, and so find something waiting.
    let waiting = 2..=4;
    for call in 0..names.len() {
        for fault in [
            Fault::Fail(Objection::Aborted),
            Fault::FailLate(Objection::Unreachable),
            Fault::DieBefore,
            Fault::DieAfter,
        ] {
            let (paper, store, schedule) =
                (Paper::new(&LANES), PaperStore::default(), Schedule::default());
            schedule.on(call, fault);
            let mut log = Faulty::new(paper.log("test"), &schedule);
            let mut faulty_store = FaultyStore::new(store.clone(), &schedule);
            session(&mut log, &mut faulty_store).unwrap_err();
            assert_eq!(schedule.calls(), names[..=call]);

            let committed = match fault {
                Fault::DieAfter => call >= *waiting.start(),
                Fault::FailLate(_) => call >= *waiting.end(),
                Fault::Fail(_) | Fault::DieBefore => call > *waiting.end(),
                Fault::Slow(_) => unreachable!(),
            };
            assert_eq!(paper.records(DECISIONS).len(), usize::from(committed), "{fault:?} {call}");
            assert_eq!(paper.records(PROGRESS).len(), usize::from(committed), "{fault:?} {call}");
            let late = matches!(fault, Fault::FailLate(_) | Fault::DieAfter);
            let kept = if late { call >= 5 } else { call > 5 };
            assert_eq!(store.count(), usize::from(kept), "{fault:?} {call}");

            let dies = matches!(fault, Fault::DieBefore | Fault::DieAfter);
            assert_eq!(schedule.is_dead(), dies);
            assert_eq!(log.lanes().is_err(), dies, "the dead stay dead");
            assert!(log.is_settled(), "nobody waits for the dead");
        }
    }
}

#[test]
fn a_slow_publish_is_settled_late() {
    let (paper, schedule) = (Paper::new(&LANES), Schedule::default());
    schedule.on(1, Fault::Slow(2));
    let mut log = Faulty::new(paper.log("test"), &schedule);
    log.lead().unwrap();
    log.publish(vec![], output(PROGRESS, "p1")).unwrap();
    assert_eq!([log.is_settled(), log.is_settled(), log.is_settled()], [false, false, true]);
    assert_eq!(paper.records(PROGRESS).len(), 0);
    log.settle().unwrap();
    assert_eq!(paper.records(PROGRESS).len(), 1);
}

#[test]
fn a_fork_shares_nothing() {
    let paper = Paper::new(&LANES);
    paper.append(JOBS, Some(b"1"), None, &[], None);
    let fork = paper.fork();
    fork.append(JOBS, Some(b"2"), None, &[], None);
    paper.rewrite(JOBS, 0, Some(b"altered".to_vec()));
    assert_eq!((paper.records(JOBS).len(), fork.records(JOBS).len()), (1, 2));
    assert_eq!(fork.records(JOBS)[0].value, None);
    paper.remove(JOBS, 0);
    assert!(paper.records(JOBS).is_empty());
}
