//! The rules that give commands: their names, what each looks at, and what it asks for (spec atlas
//! 5 and 6; cms-nordugrid C-16, C-49, C-50, C-55).

use crate::cut::Topic;
use crate::output::command::CommandKind;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandRule {
    /// Pending for too long.
    T1,
    /// Defined for too long.
    T2,
    /// Not activated for too long.
    T3,
    /// Throttled for too long.
    T4,
    /// Activated for too long.
    T5a,
    /// Starting for too long.
    T5b,
    /// Of high priority, and not started at a queue where nothing starts.
    T6,
    /// Handed to a pilot that never answered.
    T7,
    /// Older than any job may be.
    T8,
    /// No heartbeat for too long.
    T9,
    /// No heartbeat for too long while output is transferred.
    T10,
    /// Holding for too long, of high priority.
    T11a,
    /// Holding for too long.
    T11b,
    /// Transferring for too long, of high priority.
    T12a,
    /// Transferring for too long.
    T12b,
    /// A user's job that no pilot takes.
    AnalysisTimeout,
    /// Not begun, or untouched, for so long that nobody will miss it.
    Age,
    /// Of event service, and running for too long.
    EventService,
    /// More queued at a queue than it will start.
    FastRebrokerage,
    /// A workflow of a pool is nearly done.
    Boost,
    /// All test jobs of a workflow of a pool failed, and it is ended by itself.
    KillWorkflow,
    /// The same where operations are to decide.
    Alert,
    /// The test jobs of a workflow of a pool show what its jobs need.
    Profile,
    /// A job of a pool needs more cores than any node has free.
    Drain,
    /// The job that a node was kept free for needs it no longer.
    Undrain,
    /// A domain that a program brings asks for it.
    Domain,
}

/// Name, effect, inputs and documentation of a command rule.
pub struct CommandRuleText {
    /// Its name in the specification, in the topology file, on the bus and in metrics.
    pub name: &'static str,
    /// Kind of its commands; a rule may command another kind for some jobs, see `govern::timeout`.
    pub kind: CommandKind,
    /// Topics that could have prevented it: it waits while one of them is late, or has just come
    /// back. Reports of the queue's jobs and pilots could have prevented every rule.
    pub needs: &'static [Topic],
    /// Place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
}

/// A parameter that some rules have.
pub struct RuleParam {
    /// Its name in the topology file; figures are in the unit that it ends in.
    pub key: &'static str,
    /// Meaning.
    pub help: &'static str,
    /// Whether it takes whole numbers only.
    pub is_whole: bool,
    /// Smallest value allowed.
    pub min: f64,
    /// Largest value allowed.
    pub max: f64,
    /// Value if the file states none; `None` for a rule that does not have it.
    pub default: fn(CommandRule) -> Option<f64>,
}

/// A parameter of fast rebrokerage alone.
macro_rules! of_rebrokerage {
    ($default:expr) => {
        |rule| (rule == CommandRule::FastRebrokerage).then_some($default)
    };
}

/// Every parameter.
pub const PARAMS: &[RuleParam] = &[
    RuleParam {
        key: "limit_min",
        help: "how long after its clock a job is due",
        is_whole: true,
        min: 1.0,
        max: 86_400.0,
        default: |rule| rule.limit_min().map(f64::from),
    },
    RuleParam {
        key: "priority",
        help: "jobs of this priority and higher are of high priority",
        is_whole: true,
        min: -1_000_000.0,
        max: 1_000_000.0,
        default: |rule| {
            let is_of_events = rule == CommandRule::EventService;
            rule.has_priority().then_some(if is_of_events { 900.0 } else { 800.0 })
        },
    },
    RuleParam {
        key: "no_start_min",
        help: "how long no job may have started at the queue",
        is_whole: true,
        min: 1.0,
        max: 500_000.0,
        default: |rule| (rule == CommandRule::T6).then_some(120.0),
    },
    RuleParam {
        key: "dwell_min",
        help: "how long there must have been too many",
        is_whole: true,
        min: 0.0,
        max: 10_080.0,
        default: of_rebrokerage!(40.0),
    },
    RuleParam {
        key: "hysteresis_percent",
        help: "there are no longer too many so far below the thresholds",
        is_whole: true,
        min: 0.0,
        max: 100.0,
        default: of_rebrokerage!(10.0),
    },
    RuleParam {
        key: "ratio",
        help: "queued jobs beyond so many times the running ones \
               (FAST_REBRO_THRESHOLD_NQNR_RATIO)",
        is_whole: false,
        min: 0.0,
        max: 1e6,
        default: of_rebrokerage!(3.0),
    },
    RuleParam {
        key: "fraction",
        help: "queued jobs beyond this part of all that the share has queued \
               (FAST_REBRO_THRESHOLD_NQUEUE_FRAC)",
        is_whole: false,
        min: 0.0,
        max: 1.0,
        default: of_rebrokerage!(0.3),
    },
    RuleParam {
        key: "rest_h",
        help: "how long jobs of a task stay at a queue from which some of them were taken back",
        is_whole: true,
        min: 0.0,
        max: 720.0,
        default: of_rebrokerage!(6.0),
    },
    RuleParam {
        key: "batch_jobs",
        help: "jobs named in one command",
        is_whole: true,
        min: 1.0,
        max: 10_000.0,
        default: |rule| {
            matches!(rule, CommandRule::FastRebrokerage | CommandRule::KillWorkflow)
                .then_some(100.0)
        },
    },
];

/// Job states, queues (exemptions) and parameters that operators set (limits, kill switch).
const STATES: &[Topic] = &[Topic::JobState, Topic::Queue, Topic::Parameter];
/// The same, with what a task states of its jobs: priority, and that they stay.
const TASKS: &[Topic] = &[Topic::JobState, Topic::Task, Topic::Queue, Topic::Parameter];
/// The same as `STATES`, with signs of life.
const SIGNS: &[Topic] = &[Topic::JobState, Topic::Heartbeat, Topic::Queue, Topic::Parameter];
/// The same as `STATES`, with slot figures.
const SLOTS: &[Topic] = &[Topic::JobState, Topic::Pilot, Topic::Queue, Topic::Parameter];
/// Job states, task records (a pool's workflows) and parameters that operators set.
const WORKFLOWS: &[Topic] = &[Topic::JobState, Topic::Task, Topic::Parameter];
/// Job states, a pool's nodes and sites, and parameters that operators set.
const NODES: &[Topic] = &[Topic::JobState, Topic::Pilot, Topic::Site, Topic::Parameter];
/// Records of a domain that a program brings, and parameters that operators set.
const RECORDS: &[Topic] = &[Topic::DomainRecord, Topic::Parameter];
/// Job states of a pool and parameters that operators set.
const JOBS: &[Topic] = &[Topic::JobState, Topic::Parameter];

macro_rules! rules {
    ($(
        $rule:ident $name:literal $kind:ident $needs:ident $limit:expr, $spec:literal $help:literal;
    )*) => {
        impl CommandRule {
            /// Every rule, in the order of the specification.
            pub const ALL: &'static [CommandRule] = &[$(CommandRule::$rule,)*];

            /// Its name, effect, inputs and documentation.
            pub const fn text(self) -> CommandRuleText {
                match self {
                    $(CommandRule::$rule => CommandRuleText {
                        name: $name,
                        kind: CommandKind::$kind,
                        needs: $needs,
                        spec: $spec,
                        help: $help,
                    },)*
                }
            }

            /// How long after its clock a job is due, if nothing else is stated; min.
            const fn limit_min(self) -> Option<u32> {
                match self {
                    $(CommandRule::$rule => $limit,)*
                }
            }
        }
    };
}

rules! {
    T1 "T1" Kill STATES Some(60), "atlas 5" "pending since it was created";
    T2 "T2" Reassign STATES Some(4 * 60), "atlas 5"
        "defined; panda: not of users";
    T3 "T3" Reassign STATES Some(12 * 60), "atlas 5"
        "assigned; panda: production that is not activated";
    T4 "T4" Kill STATES Some(7 * 24 * 60), "atlas 5" "throttled since it was created";
    T5a "T5a" Reassign TASKS Some(2 * 24 * 60), "atlas 5" "activated; panda: production";
    T5b "T5b" Reassign TASKS Some(48 * 60), "atlas 5" "starting; panda: production";
    T6 "T6" Reassign TASKS Some(4 * 60), "atlas 5"
        "of high priority, and activated or starting where nothing started lately";
    T7 "T7" Fail STATES Some(30), "atlas 5" "sent to a pilot";
    T8 "T8" Kill STATES Some(21 * 24 * 60), "atlas 5"
        "running; panda: not ended since it was created";
    T9 "T9" Fail SIGNS Some(2 * 60), "atlas 5"
        "running or starting, without a sign of life";
    T10 "T10" Fail SIGNS Some(2 * 60), "atlas 5"
        "transferring with a sub-state; panda: of users; without a sign of life";
    T11a "T11a" Fail TASKS Some(3 * 60), "atlas 5" "of high priority and holding";
    T11b "T11b" Fail STATES Some(48 * 60), "atlas 5" "holding";
    T12a "T12a" Fail TASKS Some(2 * 24 * 60), "atlas 5"
        "of high priority, and transferring; panda: not of users";
    T12b "T12b" Fail TASKS Some(6 * 24 * 60), "atlas 5" "transferring; panda: not of users";
    AnalysisTimeout "analysis_timeout" Reassign STATES Some(12 * 60), "atlas 5, copyArchive"
        "a user's job that no pilot takes, where nothing of its task finished for 3 h";
    Age "age" Kill SIGNS Some(7 * 24 * 60), "atlas 5, copyArchive"
        "not started since it was created, or a user's or test job that nothing is heard of";
    EventService "event_service" Kill TASKS Some(24 * 60), "atlas 5, copyArchive"
        "of event service and of high priority, or merging its output, and running or starting";
    FastRebrokerage "fast_rebrokerage" Rebroker SLOTS None, "atlas 6"
        "more jobs of a share are queued at a queue than it will start soon";
    Boost "boost" Boost WORKFLOWS None, "cms-nordugrid C-16"
        "a workflow of a pool is nearly done: its last jobs go first";
    KillWorkflow "kill_workflow" KillWorkflow WORKFLOWS None, "cms-nordugrid C-49"
        "every test job of a workflow of a pool failed, and the policy ends such workflows";
    Alert "alert" Alert WORKFLOWS None, "cms-nordugrid C-49, C-50"
        "every test job of a workflow of a pool failed, or no site can host it: operations decide";
    Profile "profile" Profile WORKFLOWS None, "cms-nordugrid C-50"
        "the test jobs of a workflow of a pool ended: what its jobs need is known";
    Drain "drain" Drain NODES None, "cms-nordugrid C-55"
        "a job of a pool waits for more cores than any node has free: a node is kept free for it";
    Undrain "undrain" Undrain JOBS None, "cms-nordugrid C-55"
        "the job that a node is kept free for started elsewhere, is gone or cannot have it";
    Domain "domain" Reassign RECORDS None, "docs/own-domain.md"
        "a domain that a program brings asks for it, by a rule of its own";
}

impl CommandRule {
    /// Its name: see [`CommandRuleText::name`].
    pub const fn name(self) -> &'static str {
        self.text().name
    }

    /// The rule of a name.
    pub fn from_name(name: &str) -> Option<CommandRule> {
        CommandRule::ALL.iter().copied().find(|rule| rule.name() == name)
    }

    /// Whether it distinguishes jobs of high priority.
    const fn has_priority(self) -> bool {
        use CommandRule::{EventService, T6, T11a, T11b, T12a, T12b};
        matches!(self, T6 | T11a | T11b | T12a | T12b | EventService)
    }

    /// The parameters that it has.
    pub fn params(self) -> impl Iterator<Item = &'static RuleParam> {
        PARAMS.iter().filter(move |param| (param.default)(self).is_some())
    }

    /// Whether it is about workflows and nodes of a pool of slots: no effect elsewhere.
    pub const fn is_of_pool(self) -> bool {
        use CommandRule::{Alert, Boost, Drain, KillWorkflow, Profile, Undrain};
        matches!(self, Boost | KillWorkflow | Alert | Profile | Drain | Undrain)
    }

    /// Whether it is about jobs that wait to be started at their queue, where another one may start
    /// them sooner.
    pub const fn waits_for_start(self) -> bool {
        use CommandRule::{AnalysisTimeout, FastRebrokerage, T5a, T5b, T6};
        matches!(self, T5a | T5b | T6 | AnalysisTimeout | FastRebrokerage)
    }

    /// Whether it is about a job by its clocks and by its queue: not those of a pool, nor what a
    /// domain asks for.
    pub const fn is_of_jobs(self) -> bool {
        !self.is_of_pool() && !matches!(self, CommandRule::Domain)
    }

    /// Mode of the rule if the topology file states none: a pool cannot do without its own rules.
    pub const fn default_mode(self) -> Mode {
        if self.is_of_pool() { Mode::On } else { Mode::DryRun }
    }

    /// Rules about workflows and nodes of a pool of slots.
    pub fn of_pool() -> impl Iterator<Item = CommandRule> {
        CommandRule::ALL.iter().copied().filter(|rule| rule.is_of_pool())
    }
}

/// Whether a rule is evaluated, and whether its commands are to be carried out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The rule is not looked at.
    Off,
    /// Its commands are published for people to see, and nobody is to carry them out.
    #[default]
    DryRun,
    /// Its commands are to be carried out.
    On,
}

impl Mode {
    /// All modes.
    pub const ALL: [Mode; 3] = [Mode::Off, Mode::DryRun, Mode::On];

    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::DryRun => "dry_run",
            Mode::On => "on",
        }
    }
}

/// Whose jobs the timeouts are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// Those that the documents name: all in a state.
    #[default]
    Documented,
    /// Those that PanDA's copyArchive selects, by label; its further rules too.
    Panda,
}

impl Reading {
    /// Both.
    pub const ALL: [Reading; 2] = [Reading::Documented, Reading::Panda];

    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Reading::Documented => "documented",
            Reading::Panda => "panda",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_found_by_its_name() {
        for rule in CommandRule::ALL {
            assert_eq!(CommandRule::from_name(rule.name()), Some(*rule));
        }
    }

    #[test]
    fn a_rule_of_a_pool_has_the_name_of_what_it_asks_for_and_is_on() {
        for rule in CommandRule::of_pool() {
            assert_eq!(rule.name(), rule.text().kind.name());
            assert_eq!(rule.default_mode(), Mode::On);
        }
        assert_eq!(CommandRule::of_pool().count(), 6);
        assert_eq!(CommandRule::T8.default_mode(), Mode::DryRun);
    }
}
