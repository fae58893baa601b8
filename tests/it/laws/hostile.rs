//! Fold is total: whatever is said, in whatever lane and at whatever time, it has its effect, and
//! every counter stays what a recount gives.

use super::counters::assert_audit_clean;
use crate::wire::dice::Dice;
use crate::wire::facts;
use crate::world::*;
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{
    Endpoints, Event, Garbled, Heartbeat, JobState, Link, LinkQueued, Outcome, OutcomeKind, Pilot,
    Queue, QueueStatus, Quota, Release, Share, Site, Status, Storage, TaskPhase, Transfer,
    TransferStatus, User,
};
use yardmaster::core::judge::share::{Balance, Tree, executing_and_queued};
use yardmaster::core::limits::Limits;
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::{Decision, Outcome as Answer};
use yardmaster::core::output::progress::LaneFlags;
use yardmaster::core::state::close::Closing;
use yardmaster::core::state::digest::digest;

const TIMES: [i64; 10] =
    [i64::MIN, i64::MIN + 1, -1, 0, 1, DAWN, DAWN + 5_000, DAWN * 2, i64::MAX - 1, i64::MAX];
const COUNTS: [u32; 5] = [0, 1, 7, u32::MAX - 1, u32::MAX];
const AMOUNTS: [u64; 5] = [0, 1, 1 << 52, u64::MAX / 2, u64::MAX];

struct Foe {
    chance: Chance,
    names: Vec<&'static str>,
}

impl Foe {
    fn new(seed: u64) -> Foe {
        let long = |letter: &str, times| text(letter.repeat(times));
        let names = vec![
            "",
            "x",
            "ash",
            "70",
            "70/1",
            "0",
            "00",
            "-1",
            "18446744073709551615",
            ":",
            "/",
            "a:b",
            "9223372036854775807",
            "\0",
            "test",
            long("x", 5_000),
            long("\u{1F682}", 700),
            long("x", 5_001),
            long("\u{e9}", 513),
        ];
        Foe { chance: Chance(seed), names }
    }

    fn name(&mut self) -> &'static str {
        let at = self.chance.below(self.names.len());
        self.names[at]
    }

    fn time(&mut self) -> i64 {
        self.chance.of(&TIMES)
    }

    fn count(&mut self) -> u32 {
        self.chance.of(&COUNTS)
    }

    fn amount(&mut self) -> u64 {
        self.chance.of(&AMOUNTS)
    }

    /// What further choices are made of.
    fn bytes(&mut self) -> Vec<u8> {
        (0..self.chance.below(300)).map(|_| self.chance.word() as u8).collect()
    }

    fn number(&mut self) -> f64 {
        self.chance.of(&[0.0, -0.0, 1.0, -1.0, f64::MAX, f64::MIN, f64::MIN_POSITIVE, 1e-300])
    }

    fn event(&mut self) -> Event<'static> {
        match self.chance.below(14) {
            0..=2 => Event::JobState(self.job()),
            3 => Event::Heartbeat(Heartbeat {
                job: self.name(),
                at: self.time(),
                attempt: self.count(),
                cpu_s: self.count(),
                disk_io_kbps: self.count(),
                rss_mb: self.count(),
                events: self.count(),
            }),
            4 => Event::Transfer(Transfer {
                request: self.name(),
                state: self.chance.of(&TransferStatus::ALL),
                changed_at: self.time(),
                revision: self.count(),
                activity: self.name(),
                source: self.name(),
                destination: self.name(),
                bytes: self.amount(),
                files: self.count(),
                error: self.name(),
            }),
            5 | 6 => Event::Pilot(self.pilot()),
            7 => {
                let phase = self.chance.of(&[TaskPhase::Asking, TaskPhase::Ended]);
                let mut asked = task(self.name(), phase, self.time());
                asked.task = self.name().into();
                asked.attempt = self.count();
                asked.asked_at = self.time();
                asked.jobs = self.count();
                let bytes = self.bytes();
                let mut dice = Dice::new(&bytes);
                asked.options = facts::options(&mut dice);
                asked.input = facts::input(&mut dice);
                asked.output = facts::output(&mut dice);
                Event::Task(Box::new(asked))
            }
            8 => Event::Outcome(Outcome {
                subject: self.name().into(),
                decision: self.word().id,
                kind: OutcomeKind::Failed,
                at: self.time(),
                reason: String::new(),
            }),
            9 => Event::Garbled(self.chance.of(&Garbled::ALL)),
            10 => {
                let topic = self.chance.of(Topic::ALL);
                Event::Removed { topic, name: self.name() }
            }
            11 => Event::Output(Output::from(self.word())),
            _ => self.fact(),
        }
    }

    fn job(&mut self) -> JobState<'static> {
        JobState {
            job: self.name(),
            status: self.chance.of(&Status::ALL),
            changed_at: self.time(),
            revision: self.count(),
            attempt: self.count(),
            task: self.name(),
            request: self.name(),
            queue: self.name(),
            user: self.name(),
            group: self.name(),
            gshare: self.name(),
            resource_type: self.name(),
            nucleus: self.name(),
            workflow: self.name(),
            label: self.name(),
            processing_type: self.chance.of(&["", "pmerge", "simul"]),
            sub_status: self.name(),
            cores: self.count(),
            priority: self.chance.of(&[i32::MIN, 0, i32::MAX]),
            created_at: self.time(),
            activated_at: self.time(),
            started_at: self.time(),
            ended_at: self.time(),
            input_bytes: self.amount(),
            output_bytes: self.amount(),
        }
    }

    fn pilot(&mut self) -> Pilot<'static> {
        let (queue, resource_type, at) = (self.name(), self.name(), self.time());
        let (node, gshare) = (self.name(), self.name());
        let (submitted, running) = (self.count(), self.count());
        let (slots, expires_at) = (self.time(), self.time());
        match self.chance.below(4) {
            0 => Pilot::AskedJob { queue, node, at },
            1 => Pilot::UpdatedJob { queue, node, at },
            2 => Pilot::Workers { queue, harvester: node, resource_type, submitted, running, at },
            _ => Pilot::Slots { queue, gshare, resource_type, slots, expires_at, at },
        }
    }

    fn word(&mut self) -> Decision {
        let mut word = assign(self.name(), self.count(), self.name(), self.count(), self.time());
        word.task = self.name().into();
        word.gshare = self.name().into();
        if let Answer::Assign(ranked) = &mut word.outcome {
            ranked.push(ranked[0].clone());
        }
        if self.chance.below(3) == 0 {
            word.outcome = Answer::Defer { until: self.time() };
        }
        word
    }

    fn fact(&mut self) -> Event<'static> {
        let changed_at = self.time();
        match self.chance.below(9) {
            0 => Event::from(parameter(self.name(), self.name(), changed_at)),
            1 => Event::from(Site {
                name: self.name().into(),
                changed_at,
                nucleus: true,
                active: true,
                tier: self.count(),
                output_endpoint: self.name().into(),
            }),
            2 => Event::from(Storage {
                name: self.name().into(),
                changed_at,
                site: self.name().into(),
                kind: "DATADISK".into(),
                tape: false,
                total_bytes: self.amount(),
                free_bytes: self.amount(),
                expired_bytes: self.amount(),
                min_free_bytes: self.amount(),
                unavailable_bytes: self.amount(),
                read_lan: true,
                write_lan: true,
                read_wan: true,
                write_wan: true,
            }),
            3 => Event::from(Link {
                source: self.name().into(),
                destination: self.name().into(),
                changed_at,
                closeness: Some(self.chance.of(&[i32::MIN, -1, 0, 11, i32::MAX])),
                mbps_1h: Some(self.number()),
                mbps_1d: Some(self.number()),
                mbps_1w: None,
                queued: vec![
                    LinkQueued {
                        activity: "Production Output".into(),
                        files: self.amount(),
                        bytes: self.amount(),
                    };
                    2
                ],
                queued_known: true,
            }),
            4 => Event::from(self.queue(changed_at)),
            _ => self.detail(changed_at),
        }
    }

    /// Software, a share, a quota or a user, its name among those that others have too.
    fn detail(&mut self, changed_at: i64) -> Event<'static> {
        let (bytes, name) = (self.bytes(), self.name().to_owned());
        let dice = &mut Dice::new(&bytes);
        match self.chance.below(4) {
            0 => {
                let release = facts::release(dice);
                Event::from(Release { queue: name, changed_at, ..release })
            }
            1 => {
                let (parent, value) = (self.name().to_owned(), self.number());
                let share = facts::share(dice);
                Event::from(Share { name, parent, value, changed_at, ..share })
            }
            2 => {
                let limit_bytes = Some(self.amount());
                let quota = facts::quota(dice);
                Event::from(Quota { subject: name, limit_bytes, changed_at, ..quota })
            }
            _ => {
                let cap_running_jobs = Some(self.amount());
                let user = facts::user(dice);
                Event::from(User { name, cap_running_jobs, changed_at, ..user })
            }
        }
    }

    fn queue(&mut self, changed_at: i64) -> Queue {
        Queue {
            name: self.name().into(),
            unified: self.name().into(),
            resource_type: String::new(),
            changed_at,
            status: self.chance.of(&QueueStatus::ALL),
            production: true,
            analysis: false,
            cloud: "DE".into(),
            site: self.name().into(),
            storage_site: self.name().into(),
            cores: self.count(),
            core_power_mhs06: self.count(),
            max_rss_mb: self.count(),
            min_rss_mb: self.count(),
            max_time_s: self.count(),
            min_time_s: self.count(),
            max_wdir_mb: self.count(),
            max_input_mb: self.chance.of(&[i32::MIN, -1, 0, i32::MAX]),
            max_disk_io_kbps: self.count(),
            transferring_limit: self.count(),
            pledged_cpu: self.chance.of(&[i32::MIN, -1, 0, i32::MAX]),
            fairshare_policy: String::new(),
            workflow: String::new(),
            ucore: false,
            wn_connectivity: String::new(),
            direct_access_lan: true,
            direct_access_wan: false,
            releases: Vec::new(),
            jobseed: "std".into(),
            catchall: self.name().into(),
            endpoints: Endpoints {
                read: vec![self.name().into()],
                write: vec![self.name().into()],
            },
            analysis_endpoints: Endpoints { read: Vec::new(), write: vec![self.name().into()] },
            unified_cores: 0,
            facility: String::new(),
        }
    }

    fn lane(&mut self) -> Lane {
        Lane::new(self.chance.of(Topic::ALL), self.chance.of(&[0, 1, 3, u32::MAX - 1, u32::MAX]))
    }

    fn closing(&mut self, number: u64) -> Closing {
        let flags = LaneFlags {
            at_end: self.chance.below(3) > 0,
            unreadable: self.chance.below(9) == 0,
            blocked_at: (self.chance.below(9) == 0).then(|| self.time()),
        };
        let now = match self.chance.below(4) {
            0 => self.time(),
            _ => DAWN + number as i64 * 3_600_000,
        };
        Closing { epoch: 1, number, now, flags: vec![(self.lane(), flags)] }
    }
}

#[test]
fn nothing_that_can_be_said_panics_or_makes_a_counter_drift() {
    for seed in 0..40 {
        let mut foe = Foe::new(seed);
        let limits = Limits { stubs_max: 3, names_max: 1_000, ..Limits::default() };
        let mut state = state_with(limits);
        let silence = foe.chance.of(&[None, Some(0), Some(i64::MAX), Some(600_000)]);
        state.setting.silence = [silence; Topic::ALL.len()];
        for number in 1..40u64 {
            for _ in 0..foe.chance.below(80) {
                let (event, lane) = (foe.event(), foe.lane());
                let offset = match foe.chance.below(200) {
                    0 => u64::MAX - 1,
                    _ => state.next(lane),
                };
                let appended_at = foe.time();
                state.fold(lane, offset, appended_at, &event);
            }
            state.close(&foe.closing(number));
            if number % 8 == 0 {
                assert_audit_clean(&state, &format!("seed {seed}, cycle {number}"));
                digest(&state);
                let tree = Tree::of(&state);
                let balance = Balance::new(&tree, &executing_and_queued(&state));
                let leaves = balance.order(&tree);
                assert_eq!(leaves.len(), tree.leaves().count(), "seed {seed}, cycle {number}");
            }
        }
    }
}
