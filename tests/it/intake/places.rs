//! Which request a job belongs to: the places of assignments, and who takes them.

use super::fresh;
use super::joins::{Bus, facts};
use crate::world::lane;
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, OutcomeAbout, OutcomeKind, Status};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Decision, Outcome, Ranked};
use yardmaster::core::unit::{HOUR, MINUTE, SECOND};
use yardmaster::drive::intake::{Intake, Records};
use yardmaster::sim::scenario::feed;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;

/// When the first decision is made; s and ms.
const S: i64 = 1_760_000_000;
const NOW: i64 = S * 1_000;

/// A log of our own topics and an intake that reads it.
struct Stage {
    bus: Bus,
    intake: Intake,
}

impl Stage {
    fn new() -> Stage {
        Stage { bus: Bus::default(), intake: fresh(&Limits::default()) }
    }

    fn learn(&mut self, topic: Topic, key: &str, value: Vec<u8>) {
        let mut records = Records::default();
        self.bus.published.push((topic, key.as_bytes().to_vec(), value.clone()));
        self.intake.learn(topic, Some(key.as_bytes()), Some(&value), &mut records);
        self.intake.publish_again(usize::MAX, &mut records);
        self.bus.keep(&records);
    }

    fn decides(&mut self, decision: &Decision) {
        let mut value = Vec::new();
        record::write(&mut value, decision);
        self.learn(Topic::Decision, &decision.subject, value);
    }

    fn became(&mut self, decision: &Decision, kind: OutcomeKind, at: i64) {
        let (subject, about) = (decision.subject.clone(), OutcomeAbout::Decision);
        let outcome = yardmaster::core::event::DecisionOutcome {
            subject: subject.clone(),
            decision: decision.id,
            about,
            kind,
            at,
            reason: String::new(),
        };
        let mut value = Vec::new();
        record::write(&mut value, &outcome);
        self.learn(Topic::Outcome, &subject, value);
    }

    /// A message about a job of task 45.
    fn job(&mut self, job: u64, queue: &str, status: Status, at: i64) {
        let json = format!(
            "{{\"msg_type\": \"job_status\", \"jobid\": {job}, \"taskid\": 45, \"status\": \"{}\", \
             \"timestamp\": {at}, \"computingsite\": \"{queue}\"}}",
            status.name()
        );
        let (value, mut records) = (Some(json.as_bytes()), Records::default());
        let dialect = yardmaster::wire::dialect::Dialect::Panda;
        self.intake.meet(dialect, super::ORIGIN, None, value, &mut records);
        self.bus.keep(&records);
    }

    fn pending(&mut self, job: u64, at: i64) {
        self.job(job, "CERN", Status::Pending, at);
    }

    fn restart(&mut self) {
        self.intake = self.bus.restart();
    }

    /// The request of each job, by the last record of it, which must be the one that wins.
    fn requests(&self) -> BTreeMap<u64, String> {
        let mut requests = BTreeMap::new();
        let jobs = |it: &&(Topic, Vec<u8>, Vec<u8>)| it.0 == Topic::JobState;
        let bus = Bus { published: self.bus.published.iter().filter(jobs).cloned().collect() };
        bus.finals();
        let (codec, mut arena) = (Codec::default(), Arena::default());
        for (topic, key, value) in &bus.published {
            let event = codec.read(*topic, Some(key), Some(value), &mut arena);
            let Event::JobState(job) = event else { panic!("{event:?}") };
            requests.insert(job.job.parse().unwrap(), job.request.to_owned());
        }
        requests
    }

    fn check(&self, wanted: &[(u64, &str)]) {
        let wanted = wanted.iter().map(|(job, request)| (*job, (*request).to_owned())).collect();
        assert_eq!(self.requests(), wanted);
    }
}

/// An assignment for task 45: jobs by queue, under its unified name.
pub fn assigned(subject: &str, attempt: u64, queues: &[(&str, u32)], now: i64) -> Decision {
    let ranked = |(queue, jobs): &(&str, u32)| Ranked {
        queue: format!("{queue}/MCORE"),
        unified: (*queue).to_owned(),
        weight: 1.0,
        jobs: *jobs,
        cores: 1,
        factors: Vec::new(),
        platform: String::new(),
    };
    let outcome = Outcome::Assign(queues.iter().map(ranked).collect());
    let made = Decision::new("atlas", subject, attempt, 1, outcome);
    Decision { task: "45".into(), now, ..made }
}

#[test]
fn the_oldest_assignment_with_a_place_left_gets_the_job() {
    let mut stage = Stage::new();
    stage.decides(&assigned("45/1", 0, &[("CERN", 2)], NOW));
    stage.decides(&assigned("45/2", 7, &[("CERN", 1), ("BNL", 1)], NOW + SECOND));
    for job in 1..=4 {
        stage.pending(job, S + 2);
    }
    stage.job(5, "BNL", Status::Defined, S + 3);
    stage.job(6, "SLAC", Status::Defined, S + 3);
    let wanted = [(1, "45/1:0"), (2, "45/1:0"), (3, "45/2:7"), (4, ""), (5, "45/2:7"), (6, "")];
    stage.check(&wanted);
    // Carried on by every later record, and by those with the facts of the task.
    for job in [1, 4] {
        stage.job(job, "CERN", Status::Running, S + 60);
    }
    stage.bus.comes(&mut stage.intake, &facts(45, 0));
    stage.check(&wanted);
    // A place that was taken once stays so after a restart, and when its job has ended.
    stage.job(1, "CERN", Status::Finished, S + 90);
    stage.restart();
    stage.pending(7, S + 91);
    stage.job(8, "BNL", Status::Pending, S + 91);
    stage.check(&[&wanted[..], &[(7, ""), (8, "")]].concat());
}

#[test]
fn slots_of_one_queue_are_one_and_a_pseudo_queue_is_no_queue_of_a_job() {
    let mut stage = Stage::new();
    stage.decides(&assigned("45/1", 0, &[("CERN", 1), ("CERN", 1)], NOW));
    stage.job(1, "CERN/MCORE", Status::Pending, S + 1);
    for job in 2..=4 {
        stage.pending(job, S + 1);
    }
    stage.check(&[(1, ""), (2, "45/1:0"), (3, "45/1:0"), (4, "")]);
}

#[test]
fn a_job_is_of_an_assignment_that_was_open_when_it_was_created() {
    let mut stage = Stage::new();
    let mut decides = |attempt, now| {
        let made = assigned("45/1", attempt, &[("CERN", 9)], now);
        stage.decides(&made);
        made
    };
    decides(0, NOW);
    let first = decides(1, NOW + 10 * MINUTE);
    for (job, at) in [(1, -20), (2, -9), (3, 0), (4, 599), (5, 600), (6, 610)] {
        stage.pending(job, S + at);
    }
    // Attempt 0 ended when attempt 1 was answered.
    stage.check(&[
        (1, ""),
        (2, "45/1:0"),
        (3, "45/1:0"),
        (4, "45/1:0"),
        (5, "45/1:1"),
        (6, "45/1:1"),
    ]);
    // It is carried out, which changes nothing; then it is not, from a moment on.
    stage.became(&first, OutcomeKind::Accepted, NOW);
    stage.pending(7, S + 700);
    stage.became(&first, OutcomeKind::Failed, NOW + 800 * SECOND);
    stage.pending(8, S + 799);
    stage.pending(9, S + 800);
    // Another one, until its lifetime is over.
    stage.decides(&assigned("45/2", 0, &[("CERN", 9)], NOW + HOUR));
    stage.pending(10, S + 3 * 3_600 - 1);
    stage.pending(11, S + 3 * 3_600);
    let requests = stage.requests();
    let wanted = [(7, "45/1:1"), (8, "45/1:1"), (9, ""), (10, "45/2:0"), (11, "")];
    for (job, request) in wanted {
        assert_eq!(requests[&job], request, "{job}");
    }
    // The same from what was published, whatever the order of the topics.
    stage.bus.published.reverse();
    stage.restart();
    stage.pending(12, S + 799);
    stage.pending(13, S + 801);
    let requests = stage.requests();
    assert_eq!((&*requests[&12], &*requests[&13]), ("45/1:1", ""));
}

#[test]
fn a_job_that_was_met_before_its_decision_gets_its_place_when_that_is_read() {
    let mut stage = Stage::new();
    stage.pending(2, S + 2);
    stage.pending(1, S + 1);
    stage.job(1, "CERN", Status::Running, S + 9);
    stage.pending(3, S + 3);
    stage.job(4, "", Status::Pending, S + 3);
    stage.pending(5, S - 60);
    stage.check(&[(1, ""), (2, ""), (3, ""), (4, ""), (5, "")]);
    let decision = assigned("45/1", 0, &[("CERN", 2)], NOW);
    stage.decides(&decision);
    // The earliest created first.
    let wanted = [(1, "45/1:0"), (2, "45/1:0"), (3, ""), (4, ""), (5, "")];
    stage.check(&wanted);
    let published = stage.bus.published.len();
    stage.decides(&decision);
    assert_eq!(stage.bus.published.len(), published + 1, "read again, it gives nothing");
    // And one whose queue is known later.
    stage.job(4, "BNL", Status::Defined, S + 4);
    stage.decides(&assigned("45/2", 0, &[("BNL", 1)], NOW + SECOND));
    stage.restart();
    stage.check(&[(1, "45/1:0"), (2, "45/1:0"), (3, ""), (4, "45/2:0"), (5, "")]);
}

#[test]
fn a_job_that_moves_gives_its_place_up_and_keeps_its_request() {
    let mut stage = Stage::new();
    stage.decides(&assigned("45/1", 0, &[("CERN", 1), ("BNL", 1)], NOW));
    stage.pending(1, S + 1);
    stage.job(1, "BNL", Status::Activated, S + 5);
    // It is at BNL under its request, as the reservation counts it; CERN has its place again.
    stage.job(2, "BNL", Status::Pending, S + 6);
    stage.pending(3, S + 6);
    let wanted = [(1, "45/1:0"), (2, ""), (3, "45/1:0")];
    stage.check(&wanted);
    stage.restart();
    stage.pending(4, S + 7);
    stage.check(&[&wanted[..], &[(4, "")]].concat());
}

#[test]
fn answers_that_reserve_nothing_have_no_places() {
    let mut stage = Stage::new();
    let made = || assigned("45/1", 0, &[("CERN", 9)], NOW);
    stage.decides(&Decision { dry_run: true, ..made() });
    stage.decides(&Decision { domain: "cms".into(), ..made() });
    stage.decides(&Decision { task: "46".into(), ..assigned("46/1", 0, &[("CERN", 9)], NOW) });
    stage.decides(&Decision { task: "a name".into(), ..assigned("47/1", 0, &[("CERN", 9)], NOW) });
    stage.decides(&assigned("48/1", 0, &[], NOW));
    let outcome = Outcome::Defer { until: NOW + HOUR };
    stage.decides(&Decision { outcome, ..assigned("49/1", 0, &[], NOW) });
    stage.pending(1, S + 1);
    stage.check(&[(1, "")]);
}

/// Reservations of two chunks at one queue, with and without the requests of the jobs of one.
#[test]
fn reservations_end_place_by_place() {
    let mut stage = Stage::new();
    let chunks = [1, 2].map(|at| assigned(&format!("45/{at}"), 0, &[("CERN", 5)], NOW + at));
    chunks.iter().for_each(|chunk| stage.decides(chunk));
    for (jobs, left) in [(1, 9), (4, 6), (5, 5), (10, 0)] {
        (1..=jobs).for_each(|job| stage.pending(job, S + 2));
        let reserved = |infers: bool| {
            let setting = feed::setting("atlas", Limits::default());
            let mut state = yardmaster::core::state::State::new(setting);
            let (codec, mut arena) = (Codec::default(), Arena::default());
            for (topic, key, value) in &stage.bus.published {
                let mut event = codec.read(*topic, Some(key), Some(value), &mut arena);
                if let Event::JobState(job) = &mut event
                    && !infers
                {
                    job.request = "";
                }
                match &event {
                    Event::Output(Output::Decision(it)) => state.fold_decision(it),
                    _ => feed::fold(&mut state, lane(*topic, 0), NOW, &event),
                }
            }
            let all = state.ledger.queue.iter().map(|(_, row)| row.reserved);
            all.sum::<u32>()
        };
        assert_eq!(reserved(true), left, "{jobs} jobs");
        // Without a request each job counts for both.
        assert_eq!(reserved(false), 10u32.saturating_sub(2 * jobs as u32), "{jobs} jobs");
    }
}

/// Whatever comes first, as many jobs get a place, and a start from what was published finds the
/// same ones.
#[test]
fn in_any_order_as_many_jobs_of_a_chunk_get_its_places() {
    let chunks: Vec<Decision> = (0..3)
        .map(|at| assigned(&format!("45/{at}"), 0, &[("CERN", 2)], NOW + at * MINUTE))
        .collect();
    for order in 0..720u32 {
        let mut left: Vec<u32> = (0..6).collect();
        let mut rest = order;
        let mut stage = Stage::new();
        for among in (1..=6).rev() {
            match left.remove((rest % among) as usize) {
                chunk @ 0..=2 => stage.decides(&chunks[chunk as usize]),
                pair => {
                    // Two jobs of each chunk, created while no later one was there.
                    let at = S + i64::from(pair - 3) * 60 + 5;
                    stage.pending(u64::from(pair), at);
                    stage.pending(u64::from(pair) + 10, at + 1);
                }
            }
            rest /= among;
        }
        let requests = stage.requests();
        let with = requests.values().filter(|request| !request.is_empty()).count();
        assert!(with >= 4, "{order}: {requests:?}");
        stage.restart();
        assert!(stage.requests().values().filter(|it| !it.is_empty()).count() >= with);
        for (job, request) in requests.iter().filter(|(_, request)| !request.is_empty()) {
            assert_eq!(&stage.requests()[job], request);
        }
    }
}

#[test]
fn what_is_remembered_of_places_is_bounded() {
    let limits = Limits { intake_places_max: 100, ..Limits::default() };
    let mut stage = Stage { bus: Bus::default(), intake: fresh(&limits) };
    for at in 0..5_000 {
        stage.decides(&assigned(&format!("45/{at}"), 0, &[("CERN", 1)], NOW + at));
        stage.job(at as u64 + 1, "BNL", Status::Pending, S + 1);
    }
    assert!(stage.intake.places() < 4_000, "{}", stage.intake.places());
    // Of the newest there is one.
    stage.pending(9_999, S + 6);
    assert_ne!(stage.requests()[&9_999], "");
}
