//! A small grid for the tests of figures of the state.

use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::engine::Engine;
use yardmaster_core::event::{Configuration, Event, JobState, Link, Pilot, Share, Status, Task};
use yardmaster_core::output::decision::{Decision, Fate, Outcome};
use yardmaster_core::state::State;
use yardmaster_core::unit::{Millis, SECOND};
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_sim::scenario::{feed, records};
use yardmaster_wire::topology::{ATLAS, Topology};

/// The present moment.
pub(super) const NOW: Millis = 1_760_000_000_000;

pub(super) struct World {
    pub(super) engine: Engine,
}

impl World {
    /// The policies of ATLAS, two queues and two leaf shares.
    pub(super) fn new() -> World {
        let topology = Topology::parse("atlas.toml", ATLAS).unwrap();
        let mut engine = feed::engine(&topology);
        engine.state.setting.commands = topology.commands.clone();
        let mut world = World { engine };
        for name in ["CERN", "DESY"] {
            world.configure(records::queue(name, name, "DISK", NOW));
        }
        for (position, (name, value)) in [("MC", 60.0), ("Data", 40.0)].into_iter().enumerate() {
            let (name, position) = (name.to_owned(), position as u32);
            world.configure(Share { name, value, position, ..Share::default() });
        }
        world
    }

    /// The policies of a topology file, and nothing else.
    pub(super) fn of(file: &str, text: &str) -> World {
        let config = EpochConfig::of(file, text).unwrap();
        World { engine: Engine::new(State::new(config.setting), config.policies) }
    }

    pub(super) fn read(&mut self, topic: Topic, event: &Event<'_>) {
        feed::fold(&mut self.engine.state, Lane::new(topic, 0), NOW, event);
    }

    pub(super) fn configure(&mut self, it: impl Into<Configuration>) {
        let it = it.into();
        self.read(it.topic(), &it.into());
    }

    /// Jobs of a user of no working group, in a share at a queue.
    pub(super) fn jobs(&mut self, of: [&str; 3], status: Status, count: usize) {
        let [queue, gshare, user] = of;
        for number in 0..count {
            let name = format!("{queue} {gshare} {user} {status:?} {number}");
            let job =
                JobState { user, group: "", gshare, ..records::job(&name, queue, status, NOW) };
            self.read(Topic::JobState, &Event::JobState(job));
        }
    }

    pub(super) fn workers(&mut self, queue: &str, submitted: u32, running: u32) {
        let (harvester, resource_type, at) = ("H", "SCORE", NOW);
        let report = Pilot::Workers { queue, harvester, resource_type, submitted, running, at };
        self.read(Topic::Pilot, &Event::Pilot(report));
    }

    pub(super) fn slots(&mut self, queue: &str, gshare: &str, slots: i64, expires_at: Millis) {
        let report = Pilot::Slots { queue, gshare, resource_type: "", slots, expires_at, at: NOW };
        self.read(Topic::Pilot, &Event::Pilot(report));
    }

    pub(super) fn link(&mut self, destination: &str, closeness: Option<i32>) {
        let (source, destination) = ("CERN".to_owned(), destination.to_owned());
        self.configure(Link { source, destination, changed_at: NOW, closeness, ..Link::default() });
    }

    /// A request of a policy, asked so many seconds ago.
    pub(super) fn ask(&mut self, subject: &str, policy: &str, seconds: Millis) -> Task {
        let policy = policy.to_owned();
        let task = Task { policy, ..records::request(subject, 10, NOW - seconds * SECOND) };
        self.read(Topic::Task, &Event::Task(Box::new(task.clone())));
        task
    }

    /// A request of a policy that was asked just now, with something of its own.
    pub(super) fn ask_of(&mut self, subject: &str, policy: &str, change: impl Fn(&mut Task)) {
        let mut task = records::request(subject, 10, NOW);
        task.policy = policy.to_owned();
        change(&mut task);
        self.read(Topic::Task, &Event::Task(Box::new(task)));
    }

    /// The deferral of a request until so many seconds from now; these queues were rejected, each
    /// by a filter.
    pub(super) fn defer(
        &mut self,
        task: &Task,
        seconds: Millis,
        rejected: &[(&str, &'static str)],
    ) {
        let fate = |(queue, filter): &(&str, &'static str)| Fate {
            queue: (*queue).into(),
            filter: (*filter).into(),
            reason: "why".into(),
            measured: 1.0,
            limit: 0.0,
        };
        let outcome = Outcome::Defer { until: NOW + seconds * SECOND };
        let decision = Decision {
            now: NOW - 600 * SECOND,
            policy: task.policy.clone(),
            fates: rejected.iter().map(fate).collect(),
            ..Decision::new("atlas", &task.subject, task.attempt, 1, outcome)
        };
        self.engine.state.fold_decision(&decision);
    }

    /// Closes the cycle, and finds which requests wait.
    pub(super) fn cycle(&mut self) {
        feed::close_at_end(&mut self.engine.state, NOW);
        self.engine.settle();
    }
}
