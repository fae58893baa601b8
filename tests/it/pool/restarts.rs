//! Data derived of a pool while it runs equals the data that a restart derives of the state: random
//! stories in which the leader is restarted, each verified by a process that never was.

use super::*;
use crate::kill::Dice;
use yardmaster::core::event::{PrincipalKind, SiteStatus};
use yardmaster::core::unit::DAY;

const SITES: [&str; 3] = ["T1_A", "T2_B", "T3_C"];
const WORKFLOWS: [&str; 4] = ["cen", "far", "ana", "late"];
const USERS: [&str; 3] = ["ops", "ann", "bob"];

/// A story: a world, and what is known of its jobs and offers.
pub(super) struct Story {
    pub(super) world: World,
    dice: Dice,
    jobs: u64,
    offers: u64,
    /// Attempt of each offer that is announced again.
    attempts: [u32; 3],
    revision: i64,
}

impl Story {
    /// With some lines of the topology written otherwise.
    pub(super) fn of(seed: u64, changes: &[(&str, &str)]) -> Story {
        let mut story = Story {
            world: World::with(changes),
            dice: Dice(seed),
            jobs: 0,
            offers: 0,
            attempts: [0; 3],
            revision: 0,
        };
        for at in 0..SITES.len() {
            story.site(at);
        }
        for at in 0..3 {
            story.workflow(at);
        }
        story.world.user("ops", &["production"], &[]);
        story.world.rounds(1);
        story
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.dice.below(bound)
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        let at = self.below(of.len() as u64);
        of[at as usize]
    }

    /// Quotas of a site: mostly of a new revision, some late, some that cannot be.
    fn site(&mut self, at: usize) {
        self.revision += 1;
        let late = if self.below(5) == 0 { 2 } else { 0 };
        let (slots, status) = (self.below(40) as i64 - 1, self.below(6));
        let (revision, overflow) = (self.revision - late, self.below(3) as i64);
        let tier = ["T1", "T2", "T3"][at];
        self.world.site(SITES[at], tier, slots, |it| {
            (it.revision, it.overflow_slots) = (revision, overflow);
            it.status = if status == 0 { SiteStatus::Drain } else { SiteStatus::Online };
            it.surplus_analysis = Some(true);
        });
    }

    fn workflow(&mut self, at: usize) {
        let class = if at == 2 { Class::Analysis } else { Class::Central };
        let is_closed = self.below(6) == 0;
        let facts = WorkflowFacts {
            class,
            priority: self.below(100) as i64,
            priority_revision: self.below(50) as i64,
            allow_overflow: at == 1,
            test_jobs: Some(self.below(3) as i64),
            total_jobs: Some(20),
            ..WorkflowFacts::default()
        };
        let user = if at == 2 { self.one(&USERS) } else { "ops" };
        let phase = if is_closed { TaskPhase::Ended } else { TaskPhase::Asking };
        self.world.task(WORKFLOWS[at], user, phase, facts);
    }

    fn wait_for_a_place(&mut self) {
        self.jobs += 1;
        let (job, workflow) = (format!("job-{}", self.jobs), self.one(&WORKFLOWS));
        let (seq, cores, place) = (self.below(8) as i64, self.below(4) as i64, self.below(5));
        let system = self.below(8) == 0;
        self.world.job(&job, workflow, Status::Activated, |_, wants| {
            (wants.seq, wants.cores_min, wants.system_job) = (Some(seq), cores, system);
            wants.site_whitelist = SITES.get(place as usize).copied();
            wants.max_wall_time_s = Some(600);
        });
    }

    /// The next thing that happens to a job that was matched.
    fn go_on(&mut self) {
        let matches = self.world.matches();
        if matches.is_empty() {
            return;
        }
        let at = self.below(matches.len() as u64) as usize;
        let (decision, matched) = &matches[at];
        let Outcome::Assign(ranked) = &decision.outcome else { panic!("{decision:#?}") };
        let statuses = [Status::Running, Status::Finished, Status::Failed, Status::Activated];
        let status = statuses[self.below(4) as usize];
        let (start, end) = (decision.now + S, self.world.yard.now);
        let later = u32::from(status == Status::Activated);
        self.world.job(&matched.job, &decision.task, status, |state, wants| {
            state.attempt = matched.job_attempt + later;
            if status != Status::Activated {
                (state.queue, state.started_at) = (&ranked[0].queue, start.min(end));
            }
            if status.is_ended() {
                state.ended_at = end;
            }
            wants.failure = (status == Status::Failed).then_some(FailureClass::Payload);
            wants.seq = Some(1 + at as i64 % 4);
        });
    }

    fn announce(&mut self) {
        let (site, cores) = (self.one(&SITES), self.below(5) as i64);
        if self.below(2) == 0 {
            self.offers += 1;
            return self.world.offer(&format!("offer-{}", self.offers), site, cores);
        }
        // One of a few that are announced again and again, some without a new attempt.
        let at = self.below(3) as usize;
        self.attempts[at] += self.below(2) as u32;
        let (name, attempt) = (format!("again-{at}"), self.attempts[at]);
        let node = if at == 0 { "node-0" } else { "" };
        self.world.offer_with(&name, SITES[at], |it| {
            (it.attempt, it.node) = (attempt, node);
            (it.cores_free, it.cores_total) = (cores, 4);
        });
    }

    fn somebody_else(&mut self) {
        let (at, user) = (self.world.yard.now, self.one(&USERS));
        match self.below(3) {
            0 => {
                let roles: &[&str] = if self.below(2) == 0 { &["production"] } else { &[] };
                self.world.user(user, roles, &["higgs"]);
            }
            1 => {
                let level = self.below(3) as i64;
                self.world.yard.configure(&Grant {
                    name: "higgs".into(),
                    changed_at: at,
                    principal_kind: PrincipalKind::Group,
                    principal: "higgs".into(),
                    level,
                    ..Grant::default()
                });
            }
            _ => {
                let offer = format!("again-{}", self.below(3));
                self.world.withdraw(&offer, "T2_B");
            }
        }
    }

    fn time_passes(&mut self) {
        let spans = [S, 60 * S, 700 * S, 1_300 * S, 4_000 * S, 2 * DAY, 40 * DAY];
        let long = u64::from(self.below(4) == 0);
        let at = self.below(6 + long) as usize;
        self.world.yard.pass(spans[at]);
    }

    pub(super) fn step(&mut self) {
        match self.below(20) {
            0..6 => self.wait_for_a_place(),
            6..10 => self.announce(),
            10..14 => self.go_on(),
            14 => {
                let at = self.below(3) as usize;
                self.site(at);
            }
            15 => {
                let at = self.below(4) as usize;
                self.workflow(at);
            }
            16 | 17 => self.somebody_else(),
            _ => self.time_passes(),
        }
        self.world.yard.pass(S);
        if self.below(2) == 0 {
            self.world.rounds(1);
        }
        if self.below(25) == 0 {
            self.world.rounds(2);
            let with_store = self.below(2) == 0;
            self.world.restart(with_store);
        }
    }
}

#[test]
fn a_pool_that_was_restarted_decides_as_one_that_never_was() {
    let mut matched = 0;
    for seed in 1..=8 {
        let mut story = Story::of(seed, &[]);
        for _ in 0..250 {
            story.step();
        }
        story.world.rounds(3);
        matched += story.world.matches().len();
        println!("seed {seed}: {} outputs", story.world.yard.outputs());
        story.world.check();
    }
    assert!(matched > 200, "{matched}");
}
