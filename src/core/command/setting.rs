//! Rules and governor as the topology file has them.

use super::rule::{CommandRule, Mode, Reading};
use crate::unit::{DAY, HOUR, MINUTE, Millis};

/// One rule with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleSetting {
    /// The rule.
    pub rule: CommandRule,
    /// Whether it is evaluated, and whether its commands are to be carried out.
    pub mode: Mode,
    /// Values of its parameters, in the order of [`CommandRule::params`].
    pub values: Vec<f64>,
}

impl RuleSetting {
    /// A rule as it is if nothing is stated.
    pub fn default_of(rule: CommandRule) -> RuleSetting {
        RuleSetting::new(rule, rule.default_mode())
    }

    /// A rule with its default parameters.
    pub fn new(rule: CommandRule, mode: Mode) -> RuleSetting {
        let values = rule.params().filter_map(|param| (param.default)(rule)).collect();
        RuleSetting { rule, mode, values }
    }

    /// The value of a parameter; 0 for one that the rule does not have.
    pub fn value(&self, name: &str) -> f64 {
        let at = self.rule.params().position(|param| param.key == name);
        at.and_then(|at| self.values.get(at)).copied().unwrap_or(0.0)
    }

    /// How long after its clock a job is due, where nothing overrides it.
    pub fn limit(&self) -> Millis {
        self.minutes("limit_min")
    }

    /// Sets a parameter that the rule has.
    pub fn set(&mut self, key: &str, value: f64) {
        if let Some(at) = self.rule.params().position(|param| param.key == key) {
            self.values[at] = value;
        }
    }

    /// A parameter in minutes; ms.
    pub fn minutes(&self, name: &str) -> Millis {
        (self.value(name) as Millis).saturating_mul(MINUTE)
    }

    /// A parameter in hours; ms.
    pub fn hours(&self, name: &str) -> Millis {
        (self.value(name) as Millis).saturating_mul(HOUR)
    }

    /// From which priority on a job is of high priority.
    pub fn priority(&self) -> i32 {
        self.value("priority") as i32
    }
}

macro_rules! governor {
    ($($doc:literal
       $field:ident: $type:ty = $key:literal * $scale:expr,
       $default:literal in $min:literal..=$max:literal;)*) => {
        /// Bounds of all commands together, in the units the core counts in.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Governor { $(#[doc = $doc] pub $field: $type,)* }

        impl Default for Governor {
            fn default() -> Governor {
                Governor { $($field: $default as $type * $scale as $type,)* }
            }
        }

        impl Governor {
            /// Every bound, in the order of the fields.
            pub const ALL: &'static [Bound] = &[$(Bound {
                key: $key,
                help: $doc,
                default: $default,
                min: $min,
                max: $max,
                get: |it| it.$field as i64 / $scale as i64,
                set: |it, value| it.$field = value as $type * $scale as $type,
            },)*];
        }
    };
}

/// Key, meaning and range of one bound of the governor. Figures are in the unit that the key ends
/// in.
#[derive(Clone, Copy)]
pub struct Bound {
    /// Its key in the topology file.
    pub key: &'static str,
    /// Meaning.
    pub help: &'static str,
    /// Value if the file states none.
    pub default: i64,
    /// Smallest value allowed.
    pub min: i64,
    /// Largest value allowed.
    pub max: i64,
    /// Reads the bound in the unit of its key.
    pub get: fn(&Governor) -> i64,
    /// Sets the bound from a value in the unit of its key. The caller has checked the range.
    pub set: fn(&mut Governor, i64),
}

governor! {
    "Budgets count the jobs of commands over so long, and of those that nobody answered for longer."
    window: Millis = "window_min" * MINUTE, 60 in 1..=1_440;
    "Most jobs of a queue that are commanded within the window, unless percent_of_queue is more."
    jobs_per_queue: u64 = "jobs_per_queue" * 1, 100 in 0..=1_000_000;
    "Most jobs of a queue that are commanded within the window, as a part of its live jobs; %."
    percent_of_queue: u64 = "percent_of_queue" * 1, 10 in 0..=100;
    "Most jobs that one rule commands within the window."
    jobs_per_rule: u64 = "jobs_per_rule" * 1, 2_000 in 0..=10_000_000;
    "Most jobs that all rules command within the window."
    jobs: u64 = "jobs" * 1, 5_000 in 0..=10_000_000;
    "Most commands published in one cycle; further ones are for the next. A number, never a time."
    commands_per_cycle: usize = "commands_per_cycle" * 1, 1_000 in 1..=100_000;
    "Most tasks for which one cycle judges whether another queue would take jobs that fast \
     rebrokerage would take back; further ones take turns; tasks. A number, never a time."
    rebrokered_tasks: usize = "rebrokered_tasks_per_cycle" * 1, 100 in 1..=100_000;
    "Most moves of a job (reassign, rebroker) within moves_window_d."
    moves_per_job: u32 = "moves_per_job" * 1, 3 in 0..=1_000;
    "Moves of a job are counted over so long."
    moves_window: Millis = "moves_window_d" * DAY, 7 in 1..=30;
    "A command without an answer is repeated after so long, then after twice as long, and so on."
    repeat_after: Millis = "repeat_after_min" * MINUTE, 15 in 1..=1_440;
    "Most repeats of a command."
    repeats: u32 = "repeats" * 1, 6 in 0..=100;
    "A command is not to be carried out so long after it was published, nor once it is repeated."
    expires_after: Millis = "expires_after_min" * MINUTE, 60 in 1..=43_200;
    "A queue from which neither jobs nor pilots report for so long may be cut off: its jobs are left \
     alone."
    queue_silence: Millis = "queue_silence_min" * MINUTE, 60 in 1..=10_080;
    "A queue that was silent for so long counts as gone."
    queue_silence_max: Millis = "queue_silence_max_h" * HOUR, 48 in 1..=8_760;
    "What is held back is published again after so long, if it changed or lasts."
    report_interval: Millis = "report_interval_min" * MINUTE, 30 in 1..=1_440;
}

/// Rules and governor of a domain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommandSetting {
    /// Rules that the topology file has, in the order of the catalogue.
    pub rules: Vec<RuleSetting>,
    /// Bounds of their commands.
    pub governor: Governor,
    /// Whose jobs the timeouts are about: those of the documents, or those of PanDA's code.
    pub reading: Reading,
    /// Hash of all; 16 hex digits.
    pub hash: String,
}

impl CommandSetting {
    /// A rule that is looked at.
    pub fn rule(&self, rule: CommandRule) -> Option<&RuleSetting> {
        self.rules.iter().find(|it| it.rule == rule && it.mode != Mode::Off)
    }

    /// Rules that are looked at.
    pub fn active(&self) -> impl Iterator<Item = &RuleSetting> {
        self.rules.iter().filter(|it| it.mode != Mode::Off)
    }

    /// How long jobs that were taken back from a queue, and given to it again, wait there at least
    /// before a rule is due for them once more: moves that are less apart are of different jobs.
    pub fn round(&self) -> Millis {
        let waiting = self.active().filter(|it| it.rule.waits_for_start());
        let least = waiting.map(|it| match it.rule {
            CommandRule::FastRebrokerage => it.hours("rest_h"),
            // At a queue that is out of service they wait no longer, whatever is stated.
            CommandRule::AnalysisTimeout => it.limit().min(3 * HOUR),
            _ => it.limit(),
        });
        least.min().unwrap_or(0)
    }

    /// Whether no rule is looked at.
    pub fn is_idle(&self) -> bool {
        self.active().next().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_have_their_defaults_in_range() {
        let governor = Governor::default();
        for bound in Governor::ALL {
            let value = (bound.get)(&governor);
            assert_eq!(value, bound.default, "{}", bound.key);
            assert!((bound.min..=bound.max).contains(&value), "{}", bound.key);
        }
    }
}
