//! The grid alone: the seed decides everything, no job is lost, and decisions are obeyed.

mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{
    Configuration, Event, OutcomeKind, Queue, QueueStatus, Status, Task, TaskPhase, TransferStatus,
};
use yardmaster::core::output::decision::{Decision, DecisionId, Outcome, Ranked, request_name};
use yardmaster::core::unit::{HOUR, MINUTE, Millis};
use yardmaster::sim::grid::{Facts, Grid, GridPlan, GridSummary, Record, Unfit};
use yardmaster::wire::avro::{Arena, Codec};

const START: Millis = 1_760_000_000_000;

fn plan(seed: u64, scale: f64, hours: u32) -> GridPlan {
    let facts = Facts::built_in();
    GridPlan {
        seed,
        scale,
        start: START,
        hours,
        domain: "atlas".to_owned(),
        facts,
        speed: 1,
        series: 0,
    }
}

fn each(records: &[Record], mut see: impl FnMut(&Record, Event<'_>)) {
    static CODEC: LazyLock<Codec> = LazyLock::new(|| Codec::new(1 << 20));
    let mut arena = Arena::default();
    for record in records {
        let (key, value) = (Some(&record.key[..]), record.value.as_deref());
        see(record, CODEC.read(record.topic, key, value, &mut arena));
    }
}

/// Assigns every request at once, to the queues that can take it and where the fewest jobs wait.
#[derive(Default)]
struct Always {
    queues: BTreeMap<String, Queue>,
    /// Jobs sent to a queue and not seen to run there.
    waiting: BTreeMap<String, i64>,
    published: Vec<Decision>,
}

impl Always {
    fn answer(&mut self, records: &[Record]) -> Vec<Decision> {
        let mut decisions = Vec::new();
        each(records, |_, event| match event {
            Event::Configuration(it) => {
                if let Configuration::Queue(queue) = *it {
                    self.queues.insert(queue.name.clone(), queue);
                }
            }
            Event::Task(task) if task.phase == TaskPhase::Asking => {
                decisions.push(self.assign(&task));
            }
            Event::JobState(job) if job.status == Status::Running => {
                *self.waiting.entry(job.queue.to_owned()).or_default() -= 1;
            }
            Event::Garbled(reason) => panic!("the grid published what cannot be read: {reason:?}"),
            _ => {}
        });
        self.published.extend(decisions.iter().cloned());
        decisions
    }

    fn assign(&mut self, task: &Task) -> Decision {
        let fits = |queue: &&Queue| {
            let mut types = [task.resource_type.as_str(), ""].into_iter();
            let whole = task.core_count != Some(1);
            types.any(|kind| queue.resource_type == kind)
                && queue.status == QueueStatus::Online
                && (whole == (queue.cores > 1))
        };
        let mut fit: Vec<&Queue> = self.queues.values().filter(fits).collect();
        fit.sort_by_key(|queue| self.waiting.get(&queue.unified).copied().unwrap_or_default());
        let each = task.jobs.div_ceil(5);
        let mut left = task.jobs;
        let mut ranked = Vec::new();
        for queue in fit {
            let jobs = each.min(left);
            left -= jobs;
            *self.waiting.entry(queue.unified.clone()).or_default() += i64::from(jobs);
            let (queue, unified) = (queue.name.clone(), queue.unified.clone());
            let (factors, platform) = (Vec::new(), String::new());
            ranked.push(Ranked { queue, unified, weight: 1.0, jobs, cores: 1, factors, platform });
        }
        decision(task, Outcome::Assign(ranked))
    }
}

fn decision(task: &Task, outcome: Outcome) -> Decision {
    Decision {
        task: task.task.clone(),
        epoch: 1,
        cycle: 1,
        now: task.asked_at,
        policy: task.policy.clone(),
        gshare: task.gshare.clone(),
        nucleus: task.nucleus.clone(),
        ..Decision::new(&task.domain, &task.subject, task.attempt, 1, outcome)
    }
}

/// Runs a grid with [`Always`] for some hours, a minute at a time.
fn run(seed: u64, scale: f64, arriving: u32, hours: i64) -> (Vec<Record>, Always, GridSummary) {
    let mut grid = Grid::new(plan(seed, scale, arriving)).unwrap();
    let mut always = Always::default();
    let (mut all, mut decisions) = (Vec::new(), Vec::new());
    for minute in 1..=hours * 60 {
        let mut published = Vec::new();
        grid.advance(START + minute * MINUTE, &decisions, &mut published);
        decisions = always.answer(&published);
        all.append(&mut published);
    }
    (all, always, grid.summary())
}

#[test]
fn the_same_seed_publishes_the_same_bytes() {
    let (one, _, summary) = run(7, 0.003, 3, 3);
    let (same, _, again) = run(7, 0.003, 3, 3);
    assert!(one == same && summary == again);
    assert!(one.len() > 5_000, "{}", one.len());
    assert!(one.windows(2).all(|two| two[0].at <= two[1].at));
    let (other, ..) = run(8, 0.003, 3, 3);
    assert!(one != other);
}

#[test]
fn how_time_is_cut_into_steps_is_nothing() {
    let steps = |step: Millis| {
        let mut grid = Grid::new(plan(7, 0.003, 2)).unwrap();
        let mut out = Vec::new();
        let mut now = START;
        while now < START + HOUR {
            now += step;
            grid.advance(now, &[], &mut out);
        }
        out
    };
    assert!(steps(MINUTE) == steps(HOUR));
}

#[test]
fn what_happens_to_the_grid_depends_on_the_seed_alone() {
    // One grid whose requests are all assigned, one whose requests are never answered.
    let (busy, ..) = run(7, 0.003, 3, 60);
    let mut idle = Vec::new();
    Grid::new(plan(7, 0.003, 3)).unwrap().advance(START + 60 * HOUR, &[], &mut idle);
    // Of a link all but what our own transfers make of it, of storage but what they fill.
    let facts = |records: &[Record]| {
        let mut facts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        each(records, |record, event| {
            let Event::Configuration(it) = event else { return };
            let (name, fact) = match *it {
                Configuration::Queue(queue) => (queue.name, format!("{:?}", queue.status)),
                Configuration::Link(link) => (
                    format!("{}:{}", link.source, link.destination),
                    format!("{:?} {:?}", link.mbps_1h, link.closeness),
                ),
                _ => return,
            };
            facts.entry(name).or_default().push(format!("{} {fact}", record.at));
        });
        facts
    };
    let (busy, idle) = (facts(&busy), facts(&idle));
    let is_outage = |fact: &&String| fact.contains("Offline") || fact.contains("Brokeroff");
    let outages = busy.values().flatten().filter(is_outage).count();
    assert!(outages > 3, "{outages}");
    assert!(busy == idle);
}

/// Records published of one try of a job.
#[derive(Default)]
struct Try {
    ends: BTreeSet<Status>,
    started: bool,
}

#[test]
fn every_job_ends_once_or_is_one_of_the_silent() {
    // Work arrives for 4 hours; after 100 more all of it is over.
    let (records, _, summary) = run(3, 0.003, 4, 104);
    let mut tries: BTreeMap<(String, u32), Try> = BTreeMap::new();
    let mut transfers: BTreeMap<String, TransferStatus> = BTreeMap::new();
    let (mut asked, mut ended) = (BTreeSet::new(), BTreeSet::new());
    each(&records, |_, event| match event {
        Event::JobState(job) => {
            let one = tries.entry((job.job.to_owned(), job.attempt)).or_default();
            one.started |= job.started_at != 0;
            if job.status.is_ended() {
                one.ends.insert(job.status);
            }
        }
        Event::Transfer(transfer) => {
            let state = transfers.entry(transfer.request.to_owned()).or_insert(transfer.state);
            *state = (*state).max(transfer.state);
        }
        Event::Task(task) if task.phase == TaskPhase::Asking => {
            asked.insert(task.subject.clone());
        }
        Event::Task(task) => {
            ended.insert(task.subject.clone());
        }
        _ => {}
    });
    assert_eq!((summary.live, summary.chunks_waiting, summary.transfers), (0, 0, 0));
    assert_eq!(tries.len() as u64, summary.generated);
    assert!(tries.values().all(|one| one.ends.len() <= 1), "an end was taken back");
    let of = |end| tries.values().filter(|one| one.ends.contains(&end)).count() as u64;
    assert_eq!(of(Status::Finished), summary.finished);
    assert_eq!(of(Status::Failed), summary.failed);
    assert_eq!(of(Status::Cancelled), summary.cancelled);
    assert_eq!(of(Status::Closed), summary.closed);
    let endless: Vec<_> = tries.values().filter(|one| one.ends.is_empty()).collect();
    assert!(endless.iter().all(|one| one.started), "a job vanished before it ran");
    assert_eq!(endless.len() as u64, summary.silent);
    assert!(summary.finished > 500 && summary.failed > 20 && summary.cancelled > 0, "{summary:?}");
    assert!(transfers.values().all(|state| state.is_ended()));
    assert!(asked.is_subset(&ended), "a chunk never ended");
    assert_eq!(summary.tasks.0, summary.tasks.1);
    assert!(asked.iter().all(|subject| ended.contains(subject.split('/').next().unwrap())));
}

#[test]
fn jobs_are_generated_as_decided_before_the_decision_is_called_accepted() {
    let (records, always, summary) = run(5, 0.01, 6, 6);
    let mut generated: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut accepted = 0;
    let mut refused = BTreeSet::new();
    let decisions: BTreeMap<DecisionId, &Decision> =
        always.published.iter().map(|decision| (decision.id, decision)).collect();
    each(&records, |_, event| match event {
        Event::JobState(job) => {
            let key = (job.request.to_owned(), job.queue.to_owned());
            generated.entry(key).or_default().insert(job.job.to_owned());
        }
        Event::Outcome(outcome) => {
            let decision = decisions[&outcome.decision];
            let request = request_name(&decision.subject, decision.attempt);
            let Outcome::Assign(ranked) = &decision.outcome else { panic!() };
            if outcome.kind != OutcomeKind::Accepted {
                refused.insert(request);
                return;
            }
            accepted += 1;
            for it in ranked.iter().filter(|it| it.jobs > 0) {
                let jobs = &generated[&(request.clone(), it.unified.clone())];
                assert_eq!(jobs.len() as u32, it.jobs, "{request} at {}", it.queue);
            }
        }
        _ => {}
    });
    assert_eq!(accepted, summary.accepted);
    assert!(accepted > 50, "{accepted}");
    assert_eq!(refused.len() as u64, summary.refused);
    assert!(generated.keys().all(|(request, _)| !refused.contains(request)));
}

#[test]
fn with_work_for_all_the_cores_are_busy() {
    let (_, _, summary) = run(1, 0.015, 6, 6);
    assert!(summary.cpu_use > 0.5, "{summary:?}");
    assert!(summary.cpu_use_recent > 0.6, "{summary:?}");
    assert!(summary.cores_busy <= summary.cores);
}

#[test]
fn late_doubled_and_foreign_answers_have_no_effect() {
    let mut grid = Grid::new(plan(7, 0.003, 2)).unwrap();
    let mut out = Vec::new();
    grid.advance(START + 20 * MINUTE, &[], &mut out);
    let mut always = Always::default();
    let published = always.answer(&out);
    let mut noise: Vec<Decision> = Vec::new();
    for decision in &published {
        noise.push(Decision { domain: "other".to_owned(), ..decision.clone() });
        noise.push(Decision { attempt: 9, ..decision.clone() });
        noise.push(Decision { subject: "1/1".to_owned(), ..decision.clone() });
    }
    let waiting = grid.summary().chunks_waiting;
    assert_eq!(waiting, published.len() as u64);
    grid.advance(START + 21 * MINUTE, &noise, &mut out);
    assert!(grid.summary().chunks_waiting >= waiting);
    assert_eq!(grid.summary().generated, 0);
    let mut twice = Grid::new(plan(7, 0.003, 2)).unwrap();
    let mut once = Grid::new(plan(7, 0.003, 2)).unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    twice.advance(START + 20 * MINUTE, &[], &mut a);
    once.advance(START + 20 * MINUTE, &[], &mut b);
    twice.advance(START + HOUR, &[published.clone(), published.clone()].concat(), &mut a);
    once.advance(START + HOUR, &published, &mut b);
    assert!(a == b);
}

#[test]
fn a_decision_that_names_no_queue_of_ours_fails_and_is_asked_again() {
    let mut grid = Grid::new(plan(7, 0.003, 2)).unwrap();
    let mut out = Vec::new();
    grid.advance(START + 20 * MINUTE, &[], &mut out);
    let mut published = Always::default().answer(&out);
    published.truncate(2);
    let subject = published[0].subject.clone();
    let Outcome::Assign(ranked) = &mut published[0].outcome else { panic!() };
    ranked[0].queue = "NOWHERE".to_owned();
    published[1].outcome = Outcome::Reject { reason: "never".to_owned() };
    out.clear();
    grid.advance(START + HOUR, &published, &mut out);
    let (mut failed, mut again, mut ended) = (0, 0, 0);
    each(&out, |_, event| match event {
        Event::Outcome(outcome) => {
            assert_eq!((outcome.kind, &outcome.subject), (OutcomeKind::Failed, &subject));
            assert!(outcome.reason.contains("NOWHERE"), "{}", outcome.reason);
            failed += 1;
        }
        Event::Task(task) if task.subject == subject => {
            assert_eq!((task.attempt, task.phase), (1, TaskPhase::Asking));
            again += 1;
        }
        Event::Task(task) if task.subject == published[1].subject => {
            assert_eq!(task.phase, TaskPhase::Ended);
            ended += 1;
        }
        _ => {}
    });
    assert_eq!((failed, again, ended), (1, 1, 1));
    assert_eq!((grid.summary().rejected, grid.summary().generated), (1, 0));
}

#[test]
fn every_kind_of_thing_happens() {
    let (records, _, summary) = run(2, 0.01, 24, 24);
    let mut topics: BTreeMap<Topic, u32> = BTreeMap::new();
    let mut statuses: BTreeMap<Status, u32> = BTreeMap::new();
    let mut queues: BTreeSet<QueueStatus> = BTreeSet::new();
    let mut attempts = 0;
    each(&records, |record, event| {
        *topics.entry(record.topic).or_default() += 1;
        match event {
            Event::JobState(job) => {
                *statuses.entry(job.status).or_default() += 1;
                attempts = attempts.max(job.attempt);
            }
            Event::Configuration(it) => {
                queues.extend(<&Queue>::try_from(&*it).map(|queue| queue.status));
            }
            _ => {}
        }
    });
    for topic in [
        Topic::JobState,
        Topic::Heartbeat,
        Topic::Transfer,
        Topic::Pilot,
        Topic::Task,
        Topic::Outcome,
        Topic::Queue,
        Topic::Site,
        Topic::Storage,
        Topic::Link,
    ] {
        assert!(topics.contains_key(&topic), "nothing on {}", topic.name());
    }
    for status in Status::ALL {
        let never = matches!(status, Status::Throttled | Status::Merging | Status::Held);
        assert_eq!(statuses.contains_key(&status), !never, "{}", status.name());
    }
    assert!(queues.contains(&QueueStatus::Brokeroff) && queues.contains(&QueueStatus::Offline));
    assert!(attempts > 0 && summary.silent > 0 && summary.refused > 0, "{summary:?}");
}

#[test]
fn facts_that_make_no_grid_are_refused() {
    let unfit = |plan: GridPlan| Grid::new(plan).err();
    assert_eq!(unfit(plan(1, 0.0, 1)), Some(Unfit::Scale(0.0)));
    let mut none = plan(1, 1.0, 1);
    none.facts.sites.clear();
    assert_eq!(unfit(none), Some(Unfit::Nuclei { found: 0 }));
    let mut idle = plan(1, 1.0, 1);
    idle.facts.queues.iter_mut().for_each(|queue| queue.production = false);
    assert!(matches!(unfit(idle), Some(Unfit::Queues { found: 40.. })));
}
