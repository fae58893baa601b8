//! Cost of inferring a job's request: the simulated grid, once with the requests that its jobs
//! state, and once with those that intake infers of PanDA's messages, which state none.

use crate::world::lane;
use std::collections::{BTreeMap, HashMap};
use yardmaster::core::cut::Topic;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{Event, JobState, OutcomeKind};
use yardmaster::core::id::Key;
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::Decision;
use yardmaster::core::state::State;
use yardmaster::core::unit::{HOUR, MINUTE, Millis, SECOND};
use yardmaster::drive::intake::{Intake, Origin, Records};
use yardmaster::sim::grid::{Facts, Grid, GridPlan, Record};
use yardmaster::sim::scenario::feed;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::dialect::Dialect;
use yardmaster::wire::record;
use yardmaster::wire::topology::Topology;

const START: Millis = 1_760_400_000_000;
const STEP: Millis = MINUTE;

/// A run, and by how much every second decision is read late by intake.
#[derive(Clone, Copy)]
struct Case {
    seed: u64,
    hours: i64,
    lag: Millis,
}

/// Differences at the end of a run.
#[derive(Debug, Default)]
struct Drift {
    /// Jobs of which a request is true: all, with another one inferred, with none.
    jobs: [usize; 3],
    /// The most that reserved jobs, and cores, of one queue differed by.
    queue: [i64; 2],
    /// The most that the sums over all queues differed by, and the largest true sums.
    all: [i64; 2],
    largest: [i64; 2],
    /// Reserved jobs, true and inferred, summed over all steps.
    sums: [i64; 2],
}

struct Run {
    case: Case,
    grid: Grid,
    truth: Engine,
    inferred: State,
    intake: Intake,
    /// Decisions that intake has not read, and when they were made.
    unread: Vec<(Millis, Decision)>,
    /// True and inferred request of each job.
    requests: HashMap<String, [String; 2]>,
    drift: Drift,
}

impl Run {
    fn new(case: Case) -> Run {
        let topology = Topology::default_atlas();
        let plan = GridPlan {
            seed: case.seed,
            scale: 0.01,
            start: START,
            hours: case.hours as u32,
            domain: "atlas".to_owned(),
            facts: Facts::built_in(),
            speed: 4,
            series: 0,
        };
        let mut intake = Intake::new("atlas", BTreeMap::new(), &Limits::default());
        intake.caught_up();
        Run {
            case,
            grid: Grid::new(plan).unwrap(),
            truth: feed::engine(&topology),
            inferred: feed::engine(&topology).state,
            intake,
            unread: Vec::new(),
            requests: HashMap::new(),
            drift: Drift::default(),
        }
    }

    fn run(mut self) -> Drift {
        let mut decisions = Vec::new();
        for step in 1..=self.case.hours * HOUR / STEP {
            let now = START + step * STEP;
            let mut records = Vec::new();
            self.grid.advance(now, &decisions, &mut records);
            self.read(&records);
            decisions = self.decide(now);
            if step % 3 == 0 {
                self.compare();
            }
        }
        for [truth, inferred] in self.requests.values().filter(|[truth, _]| !truth.is_empty()) {
            self.drift.jobs[0] += 1;
            self.drift.jobs[1] += usize::from(!inferred.is_empty() && inferred != truth);
            self.drift.jobs[2] += usize::from(inferred.is_empty());
        }
        self.drift
    }

    /// Reads the records that the grid published. PanDA states no outcome of an assignment that is
    /// carried out.
    fn read(&mut self, records: &[Record]) {
        let (codec, mut arena) = (Codec::default(), Arena::default());
        for it in records {
            let event = codec.read(it.topic, Some(&it.key), it.value.as_deref(), &mut arena);
            match &event {
                Event::Garbled(_) => continue,
                Event::Outcome(it) if it.kind == OutcomeKind::Accepted => continue,
                Event::JobState(job) => self.note_job(job, it.at),
                Event::Outcome(_) => {
                    let (key, value) = (Some(&it.key[..]), it.value.as_deref());
                    let mut published = Records::default();
                    self.intake.learn(Topic::Outcome, key, value, &mut published);
                    feed::fold(&mut self.inferred, lane(it.topic, 0), it.at, &event);
                }
                _ => feed::fold(&mut self.inferred, lane(it.topic, 0), it.at, &event),
            }
            feed::fold(&mut self.truth.state, lane(it.topic, 0), it.at, &event);
        }
    }

    fn note_job(&mut self, job: &JobState<'_>, at: Millis) {
        // PanDA's messages state no attempt.
        if job.attempt > 0 {
            return;
        }
        let [truth, _] = self.requests.entry(job.job.to_owned()).or_default();
        *truth = job.request.to_owned();
        let json = format!(
            "{{\"msg_type\": \"job_status\", \"jobid\": {}, \"taskid\": {}, \"status\": \"{}\", \
             \"timestamp\": {}, \"computingsite\": \"{}\"}}",
            job.job,
            job.task,
            job.status.name(),
            job.changed_at / SECOND,
            job.queue
        );
        let origin = Origin { topic: "panda", partition: 0, offset: 0, appended_at: at };
        let mut records = Records::default();
        self.intake.meet(Dialect::Panda, origin, None, Some(json.as_bytes()), &mut records);
        self.keep(&records, at);
    }

    /// Reads the records that intake publishes into the state with the inferred requests.
    fn keep(&mut self, records: &Records, at: Millis) {
        let (codec, mut arena) = (Codec::default(), Arena::default());
        for it in records.iter() {
            let event = codec.read(it.topic, Some(it.key), Some(it.value), &mut arena);
            let Event::JobState(job) = &event else { panic!("{event:?}") };
            let [_, inferred] = self.requests.entry(job.job.to_owned()).or_default();
            *inferred = job.request.to_owned();
            feed::fold(&mut self.inferred, lane(it.topic, 0), at, &event);
        }
    }

    fn decide(&mut self, now: Millis) -> Vec<Decision> {
        feed::close_at_end(&mut self.truth.state, now);
        feed::close_at_end(&mut self.inferred, now);
        self.truth.settle();
        let mut decisions = Vec::new();
        while let Some(output) = self.truth.next_output() {
            self.truth.fold_output(&output);
            if let Output::Decision(decision) = output {
                self.inferred.fold_decision(&decision);
                self.unread.push((now, (*decision).clone()));
                decisions.push(*decision);
            }
        }
        let mut records = Records::default();
        let lag = |it: &Decision| if it.id.0[0] & 1 == 0 { 0 } else { self.case.lag };
        let is_read = |it: &(Millis, Decision)| it.0 + lag(&it.1) <= now;
        for (_, decision) in self.unread.extract_if(.., |it| is_read(it)) {
            let mut value = Vec::new();
            record::write(&mut value, &decision);
            self.intake.learn(Topic::Decision, None, Some(&value), &mut records);
        }
        self.intake.publish_again(usize::MAX, &mut records);
        self.keep(&records, now);
        decisions
    }

    fn compare(&mut self) {
        let (truth, inferred) = (reserved(&self.truth.state), reserved(&self.inferred));
        let drift = &mut self.drift;
        for which in 0..2 {
            let sum = |all: &BTreeMap<&str, [i64; 2]>| all.values().map(|it| it[which]).sum();
            let sums: [i64; 2] = [sum(&truth), sum(&inferred)];
            drift.all[which] = drift.all[which].max((sums[0] - sums[1]).abs());
            drift.largest[which] = drift.largest[which].max(sums[0]);
            if which == 0 {
                drift.sums[0] += sums[0];
                drift.sums[1] += sums[1];
            }
            for queue in truth.keys().chain(inferred.keys()) {
                let of = |all: &BTreeMap<&str, [i64; 2]>| all.get(queue).map_or(0, |it| it[which]);
                let apart = (of(&truth) - of(&inferred)).abs();
                drift.queue[which] = drift.queue[which].max(apart);
            }
        }
    }
}

/// Reserved jobs and cores by queue, counted of reservations and jobs.
fn reserved(state: &State) -> BTreeMap<&str, [i64; 2]> {
    let mut by_request: HashMap<(Key, &str), u32> = HashMap::new();
    let mut by_task: HashMap<(Key, &str), Vec<i64>> = HashMap::new();
    for (_, job) in state.jobs.slab.iter().filter(|(_, job)| job.status.is_some()) {
        let queue = state.names.text(job.names[0]);
        match job.request {
            Key::NONE => by_task.entry((job.task, queue)).or_default().push(job.created_at),
            request => *by_request.entry((request, queue)).or_default() += 1,
        }
    }
    let second = |at: Millis| at.div_euclid(SECOND);
    let mut all: BTreeMap<&str, [i64; 2]> = BTreeMap::new();
    for it in state.requests.iter().flat_map(|(_, request)| &request.reservations) {
        for queue in &it.queues {
            let seen = by_request.get(&(it.request, &*queue.queue)).copied().unwrap_or_default();
            let of_task = by_task.get(&(it.task, &*queue.queue));
            let is_later = |at: &&i64| second(**at) > second(it.now);
            let later = of_task.map_or(0, |jobs| jobs.iter().filter(is_later).count() as u32);
            let waiting = i64::from(queue.jobs.saturating_sub(seen + later));
            let sums = all.entry(&queue.queue).or_default();
            sums[0] += waiting;
            sums[1] += waiting * i64::from(queue.cores);
        }
    }
    all
}

/// Measured over two hours with seeds 1 to 3, half of the decisions read 3 minutes late: of 4,300 to
/// 5,200 jobs 7 to 11 % have another chunk's request, and 3 to 4 % none. Of up to 470 reserved jobs
/// the sums over all queues differ by 20 at most, those of a queue by 10, one chunk, or 80 cores.
#[test]
fn inferred_requests_leave_the_reserved_figures_near_those_of_true_ones() {
    let drift = Run::new(Case { seed: 1, hours: 2, lag: 3 * MINUTE }).run();
    let [all, other, none] = drift.jobs;
    assert!(all > 1_000 && drift.largest[0] > 50, "{drift:?}");
    assert!(other * 100 < all * 15 && none * 100 < all * 10, "{drift:?}");
    assert!(drift.queue[0] <= 10 && drift.queue[1] <= 80, "{drift:?}");
    assert!(drift.all[0] * 100 <= drift.largest[0] * 10, "{drift:?}");
    let apart = (drift.sums[0] - drift.sums[1]).abs();
    assert!(apart * 100 < drift.sums[0] * 55, "{drift:?}");
}
