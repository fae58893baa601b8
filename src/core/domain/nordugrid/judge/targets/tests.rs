//! Targets that are updated bit by bit equal those that are made from the whole state.

use super::*;
use crate::cut::Lane;
use crate::domain::nordugrid::output::Placed;
use crate::domain::nordugrid::policy::decide::JobSubmission;
use crate::domain::nordugrid::policy::discovery::Start;
use crate::domain::nordugrid::policy::target::TargetCandidate;
use crate::domain::nordugrid::xrsl::{Dialect, read};
use crate::event::{BatchFacts, ChildKind, ClusterFacts, OutcomeKind, Replica, Status};
use crate::event::{DecisionOutcome, Event, JobState, Location, OutcomeAbout};
use crate::event::{Queue, Registration as Registered, Site, Task, User, UserShare as Shared};
use crate::judge::draws::Draws;
use crate::limits::Limits;
use crate::output::decision::{Decision, Outcome, Ranked};
use crate::policy::{Policy, PolicySpec, Rules, kind};
use crate::state::Setting;
use crate::state::close::Closing;
use crate::unit::{DAY, HOUR};

const T0: i64 = 1_760_000_000_000;
const CLUSTERS: [&str; 3] = ["ce-a", "ce-b", "ce-c"];
const TARGETS: [&str; 4] = ["ce-a/q", "ce-a/r", "ce-b/q", "ce-c/q"];
const JOBS: [&str; 4] = ["job-1", "job-2", "17", "urn:1"];
/// The record that lists all copies of the second has the name of the one about the first at ce-a.
const FILES: [&str; 3] = ["rls://x/f", "rls://x/f|ce-a", "rls://y/g"];

struct Grid {
    state: State,
    kept: KeptTargets,
    draws: Draws,
    now: i64,
    attempts: u64,
}

impl Grid {
    fn new(seed: u64) -> Grid {
        let domain = "nordugrid".to_owned();
        // Of every other grid records of files are evicted.
        let replicas_max = if seed.is_multiple_of(2) { 3 } else { 200 };
        let limits = Limits { replicas_max, ..Limits::default() };
        let setting = Setting { domain, limits, judges_targets: true, ..Setting::default() };
        let state = State::new(setting);
        Grid { state, kept: KeptTargets::default(), draws: Draws(seed), now: T0, attempts: 0 }
    }

    fn fold(&mut self, topic: Topic, event: Event<'_>) {
        let lane = Lane::new(topic, self.draws.below(2) as u32);
        let offset = self.state.next(lane);
        self.state.fold(lane, offset, self.now, &event);
    }

    /// Something changes; it is stamped at most a minute before now.
    fn step(&mut self) {
        let at = self.now - 1_000 * self.draws.below(60) as i64;
        match self.draws.below(10) {
            0 => self.registration(at),
            1 => self.cluster(at),
            2 => self.queue(at),
            3 | 4 => self.share(at),
            5 => self.file(at),
            6 => self.job(at),
            7 => self.placement(),
            8 => self.user(at),
            _ => self.removal(),
        }
    }

    fn registration(&mut self, at: i64) {
        let kinds = [ChildKind::Computing, ChildKind::Registry, ChildKind::Unknown];
        let registered = Registered {
            registry: self.draws.of(&["index-1", "index-2"]).into(),
            child: self.draws.of(&["ce-a", "ce-b", "ce-c", "index-2"]).into(),
            changed_at: at,
            kind: self.draws.of(&kinds),
            addressed: self.draws.below(8) > 0,
            ..Registered::default()
        };
        self.fold(Topic::Registration, registered.into());
    }

    fn cluster(&mut self, at: i64) {
        let cluster = ClusterFacts {
            answered: self.draws.below(6) > 0,
            local_storage: vec![self.draws.of(&["se-1", "se-2"]).into()],
            cache_free_bytes: self.draws.of(&[None, Some(50), Some(500)]),
            ..ClusterFacts::default()
        };
        let name = self.draws.of(&CLUSTERS).into();
        let site = Site { name, changed_at: at, cluster: Some(cluster), ..Site::default() };
        self.fold(Topic::Site, site.into());
    }

    fn queue(&mut self, at: i64) {
        let batch = BatchFacts {
            status: "active".into(),
            total_slots: Some(self.draws.of(&[4, 8])),
            grid_queued_jobs: self.draws.below(3) as u64,
            ..BatchFacts::default()
        };
        let name: String = self.draws.of(&TARGETS).into();
        let batch = Some(batch).filter(|_| self.draws.below(8) > 0);
        let unified = name.clone();
        self.fold(
            Topic::Queue,
            Queue { name, unified, changed_at: at, batch, ..Queue::default() }.into(),
        );
    }

    fn share(&mut self, at: i64) {
        let shared = Shared {
            queue: self.draws.of(&TARGETS).into(),
            user: self.draws.of(&["ann", "ann", "vo:atlas", "*"]).into(),
            changed_at: at,
            authorised: self.draws.below(6) > 0,
            free_slots: self.draws.of(&["4", "2:60 6:10", "0"]).into(),
            disk_free_bytes: self.draws.of(&[None, Some(40), Some(400)]),
        };
        self.fold(Topic::UserShare, shared.into());
    }

    fn user(&mut self, at: i64) {
        let vos: &[&str] = self.draws.of(&[&[], &["bio"], &["bio", "atlas"]]);
        let vos = vos.iter().map(|vo| (*vo).to_owned()).collect();
        let name = self.draws.of(&["ann", "bob"]).into();
        self.fold(Topic::User, User { name, changed_at: at, vos, ..User::default() }.into());
    }

    fn file(&mut self, at: i64) {
        let endpoint = self.draws.of(&["se-1", "se-2", "ce-a", "ce-b"]);
        let location = Location {
            endpoint: endpoint.into(),
            complete: true,
            cache: endpoint.starts_with("ce") && self.draws.below(4) > 0,
            ..Location::default()
        };
        let is_of_one = self.draws.below(2) == 0;
        let replica = Replica {
            name: self.draws.of(&FILES).into(),
            changed_at: at,
            bytes: self.draws.of(&[0, 20, 30]),
            locations: [location].into_iter().filter(|_| self.draws.below(4) > 0).collect(),
            endpoint: if is_of_one { endpoint.into() } else { String::new() },
            ..Replica::default()
        };
        self.fold(Topic::Replica, replica.into());
    }

    fn job(&mut self, at: i64) {
        let states = [
            (Status::Defined, "ACCEPTED"),
            (Status::Sent, "INLRMS:Q"),
            (Status::Running, ""),
            (Status::Finished, "FINISHED"),
            (Status::Failed, "FAILED"),
        ];
        let (status, sub_status) = self.draws.of(&states);
        let job = JobState {
            job: self.draws.of(&JOBS),
            queue: self.draws.of(&TARGETS),
            status,
            sub_status,
            changed_at: at,
            activated_at: if status == Status::Sent { at } else { 0 },
            cores: 2,
            wall_time_s: self.draws.of(&[0, 600]),
            cluster_job: self.draws.of(&["", "", "urn:1", "17"]),
            attempt: self.attempts as u32,
            ..JobState::default()
        };
        self.attempts += 1;
        self.fold(Topic::JobState, Event::JobState(job));
    }

    /// A job is asked for, placed, and perhaps refused.
    fn placement(&mut self) {
        let (job, target) = (self.draws.of(&JOBS), self.draws.of(&TARGETS));
        let task = Task {
            subject: job.into(),
            task: job.into(),
            domain: "nordugrid".into(),
            attempt: self.attempts,
            asked_at: self.now,
            changed_at: self.now,
            ..Task::default()
        };
        let ranked = Ranked {
            queue: target.into(),
            unified: target.into(),
            weight: 1.0,
            jobs: 1,
            cores: 2,
            factors: Vec::new(),
            platform: String::new(),
        };
        let placed = Placed {
            count: 2,
            time_s: Some(600),
            disk_bytes: 20,
            cache_bytes: 30,
            tags: vec![self.draws.of(&FILES).into(), "rls://y/g".into()],
            ..Placed::default()
        };
        let outcome = Outcome::Assign(vec![ranked]);
        let decision = Decision {
            now: self.now,
            placed: Some(placed),
            ..Decision::new("nordugrid", job, self.attempts, 1, outcome)
        };
        self.attempts += 1;
        self.fold(Topic::Task, Event::Task(Box::new(task)));
        self.state.fold_decision(&decision);
        let kinds = [None, Some(OutcomeKind::Accepted), Some(OutcomeKind::Refused)];
        if let Some(kind) = self.draws.of(&kinds) {
            let became = DecisionOutcome {
                subject: job.into(),
                decision: decision.id,
                about: OutcomeAbout::Decision,
                kind,
                at: self.now,
                reason: String::new(),
            };
            self.fold(Topic::Outcome, Event::Outcome(became));
        }
    }

    /// A record is removed from one of the lanes.
    fn removal(&mut self) {
        let target = self.draws.of(&TARGETS);
        let share = format!("{target} ann");
        let (topic, name) = self.draws.of(&[
            (Topic::Queue, target),
            (Topic::UserShare, share.as_str()),
            (Topic::Site, "ce-a"),
            (Topic::Registration, "index-1 ce-b"),
            (Topic::Replica, "rls://x/f"),
            (Topic::Replica, "rls://x/f|ce-a"),
            (Topic::Replica, "rls://x/f|ce-a|se-1"),
            (Topic::Replica, "rls://y/g"),
            (Topic::Site, "another"),
            (Topic::UserShare, "ce-a/q *"),
            (Topic::UserShare, "ce-b/q vo:atlas"),
            (Topic::User, "user/ann"),
        ]);
        self.fold(topic, Event::Removed { topic, name });
    }

    fn close(&mut self) {
        // Now and then long enough for jobs and requests to be forgotten.
        let long = match self.draws.below(8) {
            0 => DAY * (1 + self.draws.below(40) as i64),
            1 => HOUR * (1 + self.draws.below(3) as i64),
            _ => 0,
        };
        self.now += 1_000 * (1 + self.draws.below(600) as i64) + long;
        let number = self.state.number + 1;
        let closing = Closing { epoch: 1, number, now: self.now, flags: Vec::new() };
        self.state.close(&closing);
        self.kept.update(&mut self.state, false);
        self.state.touched = Default::default();
    }

    /// All that judging a job shows of what is known, by names.
    fn shown(&self, targets: &KeptTargets) -> String {
        let flavour = kind("nordugrid").expect("built in");
        let spec = PolicySpec::full("p", flavour, Rules::Documented);
        let policy = Policy::compile(&spec).expect("allowed");
        FILES.iter().map(|file| self.shown_for(targets, &policy, file)).collect()
    }

    fn shown_for(&self, targets: &KeptTargets, policy: &Policy, file: &str) -> String {
        let asks = "&(executable=a)(count=3)(cputime=20)(disk=0)";
        let text = &format!("{asks}(inputfiles=(f \"{file}\"))");
        let submission = JobSubmission {
            job_id: "asked".into(),
            now: self.now,
            user: "ann".into(),
            alternatives: read(text, Dialect::User).expect("a description").jobs.remove(0),
            start: Start { index_servers: vec!["index-1".into()], ..Start::default() },
            ..JobSubmission::default()
        };
        let found = policy.decide_target(&targets.facts, &submission, &policy.unchanged());
        let name = |target: u32| targets.facts.targets.name(target).to_owned();
        let mut shown = format!("{:?} {:?}\n", found.rejection, found.no_information);
        let resolved = policy.unchanged();
        let case = submission.case(&targets.facts, &submission.alternatives[0], &resolved);
        for choice in &found.tried {
            for refused in &choice.refused {
                shown += &format!("{} {:?}\n", name(refused.target), refused.objection);
            }
            for (at, figures) in choice.ranked.iter().enumerate() {
                shown += &format!("{} {:?}", name(figures.target), choice.rank(at));
                shown += &format!(" {} {}\n", figures.free_slots, figures.queued_jobs);
                let share = targets.facts.share(figures.target).expect("a queue");
                let candidate = TargetCandidate::of(&case, share).expect("a cluster");
                shown += &format!("{:?}\n", candidate.ahead);
            }
        }
        shown
    }
}

#[test]
fn what_is_kept_is_what_is_made_from_the_state() {
    let mut assigned = 0;
    for seed in 0..60 {
        let mut grid = Grid::new(seed);
        for round in 0..40 {
            (0..6).for_each(|_| grid.step());
            grid.close();
            let ahead = &grid.kept.facts.ahead;
            assert!(ahead.has_sums_of(&ahead.recount()), "seed {seed}, round {round}");
            let mut made = KeptTargets::default();
            made.make(&grid.state);
            let (kept, made) = (grid.shown(&grid.kept), grid.shown(&made));
            assert_eq!(kept, made, "seed {seed}, round {round}");
            assigned += usize::from(kept.starts_with("None"));
        }
    }
    assert!(assigned > 100, "{assigned} rounds in which a target was found");
}

/// A fact that goes, or that is about no target, takes away itself and nothing else; only
/// after many is all made again.
#[test]
fn a_fact_that_goes_takes_only_itself_away() {
    let mut grid = Grid::new(1);
    let site = |name: &str, cluster| Site { name: name.into(), cluster, ..Site::default() };
    grid.fold(Topic::Site, site("ce-a", Some(ClusterFacts::default())).into());
    grid.close();
    let lanes = [0, 1].map(|partition| Lane::new(Topic::Site, partition));
    let remove = |grid: &mut Grid, name: &str| {
        for lane in lanes {
            let (offset, now) = (grid.state.next(lane), grid.now);
            grid.state.fold(lane, offset, now, &Event::Removed { topic: Topic::Site, name });
        }
    };
    let number = |grid: &Grid| grid.kept.facts.names.find("ce-a");
    let is_known =
        |grid: &Grid| number(grid).is_some_and(|at| grid.kept.facts.cluster(at).is_some());
    assert!(is_known(&grid));
    grid.fold(Topic::Site, site("another", None).into());
    grid.close();
    assert!(is_known(&grid));
    remove(&mut grid, "ce-a");
    grid.close();
    assert!(!is_known(&grid) && number(&grid).is_some(), "its name is still known");
    (0..GONE_MIN).for_each(|at| remove(&mut grid, &format!("site-{at}")));
    grid.close();
    assert_eq!(number(&grid), None, "all was made again");
}
