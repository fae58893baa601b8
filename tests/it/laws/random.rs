//! Large random logs. Each seed draws its own weights first, so that some logs are nearly all of
//! one kind and others dwell in corners that an even mixture hardly meets.

use crate::world::*;
use std::collections::BTreeMap;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{
    DataKind, Event, Heartbeat, JobState, Location, OutcomeKind, Pilot, Quota, QuotaKind, Release,
    Replica, Share, Status, TaskPhase, Transfer, TransferStatus, User, UserKind,
};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::decision::Decision;
use yardmaster::core::state::State;
use yardmaster::core::unit::{DAY, HOUR, MINUTE, Millis};

/// A log, cycle by cycle.
pub struct Story {
    pub limits: Limits,
    pub cycles: Vec<Cycle>,
}

/// Weights of a seed's choices.
struct Taste {
    kinds: [usize; 8],
    statuses: Vec<usize>,
    jobs: usize,
    late: Millis,
    step: Millis,
}

const QUEUES: [&str; 4] = ["ash", "oak", "elm", "fir"];
const USERS: [&str; 5] = ["ann", "bob", "cat", "gangarbt", ""];
const GROUPS: [&str; 3] = ["top", "higgs", ""];
const SHARES: [&str; 3] = ["MC", "User Analysis", ""];
const NUCLEI: [&str; 3] = ["CERN", "DESY", ""];
const TASKS: [&str; 4] = ["70", "71", "72", ""];
const SITES: [&str; 4] = ["CERN", "DESY", "BNL", ""];

impl Story {
    pub fn drawn(seed: u64) -> Story {
        let mut chance = Chance(seed.wrapping_mul(0x1234_5678_9ABC_DEF1));
        let mut weight = |_| if chance.below(3) == 0 { 0 } else { 1 + chance.below(20) };
        let kinds = std::array::from_fn(&mut weight);
        let statuses = (0..Status::COUNT).map(weight).collect();
        let taste = Taste {
            kinds,
            statuses,
            jobs: chance.of(&[5, 40, 400]),
            late: chance.of(&[MINUTE, HOUR, 2 * DAY]),
            step: chance.of(&[1_000, 7 * MINUTE, 3 * HOUR, DAY]),
        };
        Story::generate(&taste, &mut chance)
    }

    fn generate(taste: &Taste, chance: &mut Chance) -> Story {
        let limits = Limits {
            stubs_max: chance.of(&[0, 3, 1000]),
            ended_job_lifetime_ms: chance.of(&[HOUR, DAY]),
            stub_lifetime_ms: chance.of(&[HOUR, 6 * HOUR]),
            silent_job_lifetime_ms: chance.of(&[DAY, 30 * DAY]),
            done_jobs_window_ms: chance.of(&[HOUR, 2 * DAY]),
            transfer_ended_lifetime_ms: chance.of(&[HOUR, DAY]),
            silent_transfer_lifetime_ms: chance.of(&[DAY, 30 * DAY]),
            answered_request_lifetime_ms: chance.of(&[HOUR, DAY]),
            request_lifetime_ms: chance.of(&[2 * DAY, 14 * DAY]),
            ..Limits::default()
        };
        let mut now = DAWN;
        let mut published_before: Vec<Decision> = Vec::new();
        let mut cycles = Vec::new();
        for _ in 0..24 {
            now += 1 + chance.below(taste.step as usize) as Millis;
            let mut lanes: BTreeMap<Lane, Vec<Entry>> = BTreeMap::new();
            for _ in 0..chance.below(120) {
                // Any lane will do: records of one thing meet out of order.
                let (topic, event) = event(taste, chance, now, &published_before);
                let lane = lane(topic, chance.below(3) as u32);
                let appended_at = if chance.below(20) == 0 { now - HOUR } else { now };
                lanes.entry(lane).or_default().push(Entry { lane, appended_at, event });
            }
            let decisions = random_decisions(chance, now, &mut published_before);
            cycles.push(Cycle { lanes: lanes.into_values().collect(), now, decisions });
        }
        Story { limits, cycles }
    }
}

fn random_decisions(chance: &mut Chance, now: Millis, before: &mut Vec<Decision>) -> Vec<Decision> {
    let mut decisions = Vec::new();
    for _ in 0..chance.below(3) {
        let subject = chance.of(&["70/1", "70/2", "71/1"]);
        let attempt = before.iter().filter(|it| it.subject == subject).count();
        let attempt = attempt_of(attempt);
        let decision = match chance.below(4) {
            0 => defer(subject, attempt, 1, now),
            _ => owned(
                assign(subject, attempt, chance.of(&QUEUES), chance.below(30) as u32, now),
                chance,
            ),
        };
        before.push(decision.clone());
        decisions.push(decision);
    }
    decisions
}

/// Attempts: 0, 1, and others that 32 bits do not hold.
fn attempt_of(number: usize) -> u64 {
    let number = number as u64;
    if number < 2 { number } else { number << 31 }
}

/// The same decision for somebody's work.
fn owned(decision: Decision, chance: &mut Chance) -> Decision {
    Decision {
        user: chance.of(&USERS).into(),
        working_group: chance.of(&GROUPS).into(),
        gshare: chance.of(&SHARES).into(),
        merge: chance.below(4) == 0,
        ..decision
    }
}

fn event(
    taste: &Taste,
    chance: &mut Chance,
    now: Millis,
    before: &[Decision],
) -> (Topic, Event<'static>) {
    let at = now - chance.below(taste.late as usize) as Millis;
    let number = chance.below(taste.jobs);
    match chance.weighed(&taste.kinds) {
        0..=2 => (Topic::JobState, Event::JobState(job_state(taste, chance, number, at))),
        3 => {
            let beat = Heartbeat {
                attempt: chance.below(3) as u32,
                disk_io_kbps: chance.below(4) as u32 * 10,
                events: chance.below(2) as u32,
                ..beat(job_name(number), at)
            };
            (Topic::Heartbeat, Event::Heartbeat(beat))
        }
        4 => {
            let state = chance.of(&TransferStatus::ALL);
            let moved = Transfer {
                source: chance.of(&SITES),
                destination: chance.of(&SITES),
                bytes: chance.below(4) as u64 * 1000,
                files: chance.below(3) as u32,
                ..transfer(job_name(number), state, at)
            };
            (Topic::Transfer, Event::Transfer(moved))
        }
        5 => (Topic::Pilot, Event::Pilot(pilot(chance, at))),
        6 => {
            let subject = chance.of(&["70/1", "70/2", "71/1", "70", "71"]);
            let phase = chance.of(&[TaskPhase::Asking, TaskPhase::Asking, TaskPhase::Ended]);
            let mut asked = task(subject, phase, at);
            asked.attempt = attempt_of(chance.below(3));
            (Topic::Task, Event::Task(Box::new(asked)))
        }
        _ if number.is_multiple_of(3) => fact(chance, at),
        _ if number % 3 == 1 => {
            let (topic, name) = chance.of(&FACTS);
            (topic, Event::Removed { topic, name })
        }
        _ => {
            let kind = chance.of(&[OutcomeKind::Accepted, OutcomeKind::Refused]);
            let decision = match before.len() {
                0 => assign("70/1", 0, "ash", 1, at),
                len => before[chance.below(len)].clone(),
            };
            (Topic::Outcome, Event::Outcome(outcome(&decision, kind, at)))
        }
    }
}

/// Slowly changing facts that stories tell of, and the key of one of each.
const FACTS: [(Topic, &str); 6] = [
    (Topic::Parameter, "jedi/jobbroker/K/atlas"),
    (Topic::Release, "ash"),
    (Topic::Share, "MC"),
    (Topic::Quota, "user/ann type=SCRATCHDISK"),
    (Topic::User, "group/top"),
    (Topic::Replica, "mc:set|DISK"),
];

fn fact(chance: &mut Chance, at: Millis) -> (Topic, Event<'static>) {
    let (topic, _) = chance.of(&FACTS);
    let number = chance.below(4) as u64;
    let event = match topic {
        Topic::Release => Event::from(Release {
            queue: chance.of(&QUEUES).into(),
            changed_at: at,
            cmtconfigs: vec![chance.of(&["x86_64-el9-gcc13-opt", "aarch64-el9-gcc13-opt"]).into()],
            ..Release::default()
        }),
        Topic::Share => Event::from(Share {
            name: chance.of(&SHARES).into(),
            parent: chance.of(&SHARES).into(),
            changed_at: at,
            value: number as f64,
            ..Share::default()
        }),
        Topic::Quota => Event::from(Quota {
            kind: chance.of(&[QuotaKind::User, QuotaKind::Group]),
            subject: chance.of(&USERS).into(),
            expression: "type=SCRATCHDISK".into(),
            changed_at: at,
            used_bytes: number,
            ..Quota::default()
        }),
        Topic::Replica => {
            let kind = chance.of(&[DataKind::Dataset, DataKind::File]);
            let endpoint = chance.of(&["DISK", "TAPE", ""]).to_owned();
            let location =
                Location { endpoint: "DISK".into(), files: number, ..Location::default() };
            Event::from(Replica {
                name: if kind == DataKind::Dataset { "mc:set".into() } else { "mc:file".into() },
                changed_at: at,
                kind,
                dataset: if number == 1 { "mc:set".into() } else { String::new() },
                locations: if number > 1 { vec![location] } else { Vec::new() },
                endpoint,
                ..Replica::default()
            })
        }
        Topic::User => Event::from(User {
            kind: chance.of(&[UserKind::User, UserKind::Group]),
            name: chance.of(&["ann", "top"]).into(),
            changed_at: at,
            cap_running_jobs: Some(number),
            ..User::default()
        }),
        _ => {
            let value = chance.of(&["a", "b"]);
            Event::from(parameter(chance.of(&["K", "L"]), value, at))
        }
    };
    (topic, event)
}

fn job_name(number: usize) -> &'static str {
    // Every fifth name is no number.
    text(if number.is_multiple_of(5) { format!("job-{number}") } else { number.to_string() })
}

fn job_state(taste: &Taste, chance: &mut Chance, number: usize, at: Millis) -> JobState<'static> {
    let status = Status::ALL[chance.weighed(&taste.statuses)];
    // A chance of their own: what nothing counts draws nothing from the others.
    let beside = &mut Chance(at as u64 ^ number as u64);
    let state = JobState {
        workflow: beside.of(&["", "pull_ups", "push"]),
        label: beside.of(&["", "managed", "user"]),
        priority: beside.of(&[0, -5, 900]),
        input_bytes: beside.below(1 << 40) as u64,
        output_bytes: beside.below(1 << 40) as u64,
        cpu_time_s: beside.below(9) as u32,
        wall_time_s: beside.below(9) as u32,
        cluster_job: beside.of(&["", "", "urn:1"]),
        status,
        changed_at: at - at % chance.of(&[1, 60_000]),
        // Eras of a source: none, the first, a later life of a job in it, the second.
        revision: (chance.below(2) as u64) << 33
            | beside.of(&[0, 0, 0, 0, 1 << 56, 1 << 56 | 1 << 52, 2 << 56]),
        attempt: chance.weighed(&[8, 2, 1]) as u32,
        cores: chance.of(&[0, 1, 8]),
        created_at: at - chance.below(HOUR as usize) as Millis,
        activated_at: if chance.below(2) == 0 { at - chance.below(DAY as usize) as i64 } else { 0 },
        started_at: if chance.below(2) == 0 { at - 5 } else { 0 },
        ended_at: if status.is_ended() && chance.below(2) == 0 { at - 1 } else { 0 },
        sub_status: chance.of(&["", "toreassign", "killed"]),
        ..job(job_name(number))
    };
    // Most jobs keep the names they were made with, as they do in earnest.
    match chance.below(3) {
        0 => named(chance, state),
        _ => JobState { created_at: DAWN, ..named(&mut Chance(number as u64), state) },
    }
}

fn named(chance: &mut Chance, state: JobState<'static>) -> JobState<'static> {
    JobState {
        task: chance.of(&TASKS),
        request: chance.of(&["", "", "70/1:0", "70/2:0", "71/1:1"]),
        queue: chance.of(&QUEUES),
        user: chance.of(&USERS),
        group: chance.of(&GROUPS),
        gshare: chance.of(&SHARES),
        resource_type: chance.of(&["SCORE", "MCORE"]),
        nucleus: chance.of(&NUCLEI),
        processing_type: chance.of(&["pmerge", "simul", ""]),
        ..state
    }
}

fn pilot(chance: &mut Chance, at: Millis) -> Pilot<'static> {
    let (queue, node) = (chance.of(&QUEUES), chance.of(&["n1", "n2", "n3"]));
    let resource_type = chance.of(&["SCORE", ""]);
    let (submitted, running) = (chance.below(9) as u32, chance.below(9) as u32);
    match chance.below(5) {
        4 => Pilot::Nodes { queue, nodes_asked: submitted, nodes_updated: running, at },
        0 => Pilot::AskedJob { queue, node, at },
        1 => Pilot::UpdatedJob { queue, node, at },
        2 => Pilot::Workers { queue, harvester: "h1", resource_type, submitted, running, at },
        _ => {
            let slots = chance.below(5) as i64 - 1;
            Pilot::Slots { queue, gshare: "", resource_type, slots, expires_at: 0, at }
        }
    }
}

/// When a story is looked at.
#[derive(Clone, Copy, PartialEq)]
pub enum Moment {
    /// The cycle is closed.
    Closed,
    /// Our decisions at it are counted.
    Published,
}

/// Tells a story, merging the lanes of each cycle by the given seed; `look` sees the state at both
/// moments of each cycle.
pub fn feed_story(story: &Story, merge: u64, mut look: impl FnMut(&State, usize, Moment)) -> State {
    let mut state = state_with(story.limits.clone());
    let mut chance = Chance(merge);
    for (number, cycle) in story.cycles.iter().enumerate() {
        merged(cycle, &mut chance, |published| fold(&mut state, published));
        close(&mut state, cycle.now);
        look(&state, number, Moment::Closed);
        cycle.decisions.iter().for_each(|decision| fold_decision(&mut state, decision));
        look(&state, number, Moment::Published);
    }
    state
}

/// The records of a cycle, its lanes merged at random.
pub fn merged<'a>(cycle: &'a Cycle, chance: &mut Chance, mut each: impl FnMut(&'a Entry)) {
    let mut lanes: Vec<std::slice::Iter<'a, Entry>> =
        cycle.lanes.iter().map(|it| it.iter()).collect();
    while !lanes.is_empty() {
        let at = chance.below(lanes.len());
        match lanes[at].next() {
            Some(published) => each(published),
            None => drop(lanes.swap_remove(at)),
        }
    }
}
