//! Which outputs are shown.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use yardmaster_core::cut::Topic;
use yardmaster_core::output::Output;
use yardmaster_core::output::command::CommandKind;
use yardmaster_core::output::throttle::{SubjectKind, Throttle};

/// Conditions on the outputs that are shown; of several flags all must hold.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Filter {
    /// Only these kinds; several separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KIND")]
    kind: Vec<Kind>,
    /// Only these: assign, defer, reject of decisions, set, lift of throttles, and kinds of
    /// commands; several separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "WHAT",
        value_parser = PossibleValuesParser::new(whats())
    )]
    what: Vec<String>,
    /// Only assignments to this queue, throttles of it, commands about its jobs.
    #[arg(long, value_name = "QUEUE")]
    queue: Option<String>,
    /// Only what is decided or commanded for this share.
    #[arg(long, value_name = "SHARE")]
    gshare: Option<String>,
    /// Only decisions for this user, and throttles of it.
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    /// Only decisions for this working group, and throttles of it.
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// Only decisions about this task or subject (task/chunk), throttles of it, commands about it.
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Only commands about this job, and decisions that match or reject it.
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Only decisions of this policy, throttles and commands of this rule.
    #[arg(long, value_name = "RULE")]
    rule: Option<String>,
    /// Only what is published for people to see, and not to be carried out.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Answers to requests.
    Decision,
    /// Users, groups, tasks and queues that are throttled, or no longer.
    Throttle,
    /// Orders about jobs.
    Command,
}

impl Kind {
    const fn topic(self) -> Topic {
        match self {
            Kind::Decision => Topic::Decision,
            Kind::Throttle => Topic::Throttle,
            Kind::Command => Topic::Command,
        }
    }
}

/// Effects that an output of a topic may have.
fn whats_of(topic: Topic) -> Vec<&'static str> {
    match topic {
        Topic::Decision => vec!["assign", "defer", "reject"],
        Topic::Throttle => vec!["set", "lift"],
        _ => CommandKind::ALL.iter().map(|kind| kind.name()).collect(),
    }
}

fn whats() -> Vec<&'static str> {
    Kind::value_variants().iter().flat_map(|kind| whats_of(kind.topic())).collect()
}

fn what(output: &Output) -> &'static str {
    match output {
        Output::Decision(it) => it.outcome.name(),
        Output::Throttle(it) => it.action.name(),
        Output::Command(it) => it.kind.name(),
    }
}

impl Filter {
    /// Topics that can hold what is wanted; empty if none can, as with a throttle that is assigned.
    pub fn topics(&self) -> Vec<Topic> {
        let mut topics: Vec<Topic> = match self.kind.as_slice() {
            [] => Kind::value_variants().iter().map(|kind| kind.topic()).collect(),
            kinds => kinds.iter().map(|kind| kind.topic()).collect(),
        };
        topics.sort_unstable();
        topics.dedup();
        let is_of =
            |topic: Topic| self.what.iter().any(|it| whats_of(topic).contains(&it.as_str()));
        topics.retain(|topic| self.what.is_empty() || is_of(*topic));
        topics
    }

    /// Whether every output is shown.
    pub fn is_open(&self) -> bool {
        let names =
            [&self.queue, &self.gshare, &self.user, &self.group, &self.task, &self.job, &self.rule];
        self.what.is_empty() && !self.dry_run && names.iter().all(|name| name.is_none())
    }

    /// Whether an output is shown.
    pub fn wants(&self, output: &Output) -> bool {
        let is_dry = match output {
            Output::Decision(it) => it.dry_run,
            Output::Throttle(it) => it.dry_run,
            Output::Command(it) => it.dry_run,
        };
        (self.what.is_empty() || self.what.iter().any(|it| it == what(output)))
            && (!self.dry_run || is_dry)
            && holds(&self.queue, |name| queue(output, name))
            && holds(&self.gshare, |name| match output {
                Output::Decision(it) => it.gshare == name,
                Output::Throttle(_) => false,
                Output::Command(it) => it.gshare == name,
            })
            && holds(&self.user, |name| match output {
                Output::Decision(it) => it.user == name,
                Output::Throttle(it) => is_of(it, SubjectKind::User, name),
                Output::Command(_) => false,
            })
            && holds(&self.group, |name| match output {
                Output::Decision(it) => it.working_group == name,
                Output::Throttle(it) => is_of(it, SubjectKind::Group, name),
                Output::Command(_) => false,
            })
            && holds(&self.task, |name| match output {
                Output::Decision(it) => it.task == name || it.subject == name,
                Output::Throttle(it) => is_of(it, SubjectKind::Task, name),
                Output::Command(it) => it.subject == name,
            })
            && holds(&self.job, |name| match output {
                Output::Decision(it) => {
                    it.subject == name || it.matched.as_ref().is_some_and(|it| it.job == name)
                }
                Output::Throttle(_) => false,
                Output::Command(it) => it.about().iter().any(|job| job == name),
            })
            && holds(&self.rule, |name| match output {
                Output::Decision(it) => it.policy == name,
                Output::Throttle(it) => it.rule == name,
                Output::Command(it) => it.rule == name,
            })
    }
}

fn holds(wanted: &Option<String>, is: impl Fn(&str) -> bool) -> bool {
    wanted.as_deref().is_none_or(is)
}

fn is_of(throttle: &Throttle, kind: SubjectKind, name: &str) -> bool {
    throttle.kind == kind && throttle.subject == name
}

fn queue(output: &Output, name: &str) -> bool {
    use yardmaster_core::output::decision::Outcome;
    match output {
        Output::Decision(it) => match &it.outcome {
            Outcome::Assign(ranked) => {
                ranked.iter().any(|it| it.queue == name || it.unified == name)
            }
            Outcome::Defer { .. } | Outcome::Reject { .. } => false,
        },
        Output::Throttle(it) => is_of(it, SubjectKind::Queue, name),
        Output::Command(it) => it.queue == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use yardmaster_core::output::command::Command;
    use yardmaster_core::output::decision::{Decision, Outcome};
    use yardmaster_core::output::throttle::Action;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        filter: Filter,
    }

    fn filter(flags: &str) -> Filter {
        Line::parse_from(["tail"].into_iter().chain(flags.split_whitespace())).filter
    }

    fn shown(flags: &str) -> Vec<&'static str> {
        let filter = filter(flags);
        let decision = |outcome| Decision {
            task: "12".into(),
            user: "ann".into(),
            working_group: "higgs".into(),
            gshare: "Group".into(),
            policy: "analysis-job".into(),
            ..Decision::new("atlas", "12/3", 0, 1, outcome)
        };
        let throttle = |kind, name| Throttle::new("atlas", "A1", (kind, name), 1, Action::Set);
        let outputs: Vec<Output> = vec![
            decision(Outcome::Reject { reason: "x".into() }).into(),
            Decision { dry_run: true, ..decision(Outcome::Defer { until: 1 }) }.into(),
            throttle(SubjectKind::User, "ann").into(),
            throttle(SubjectKind::Group, "higgs").into(),
            Command {
                queue: "ash".into(),
                kind: CommandKind::Drain,
                jobs: vec!["9".into()],
                ..Command::new("atlas", "T9", "4711", 0, None)
            }
            .into(),
        ];
        let topics = filter.topics();
        let is_shown = |it: &&Output| topics.contains(&it.topic()) && filter.wants(it);
        outputs.iter().filter(is_shown).map(what).collect()
    }

    #[test]
    fn each_flag_narrows_what_is_shown() {
        assert_eq!(shown(""), ["reject", "defer", "set", "set", "drain"]);
        assert_eq!(shown("--kind throttle,command"), ["set", "set", "drain"]);
        assert_eq!(shown("--what defer,drain"), ["defer", "drain"]);
        assert_eq!(shown("--user ann"), ["reject", "defer", "set"]);
        assert_eq!(shown("--group higgs --kind throttle"), ["set"]);
        assert_eq!(shown("--task 12 --dry-run"), ["defer"]);
        assert_eq!(shown("--task 12/3 --gshare Group"), ["reject", "defer"]);
        assert_eq!(shown("--rule A1"), ["set", "set"]);
        assert_eq!(shown("--queue ash --job 9"), ["drain"]);
        assert_eq!(shown("--job 12/3"), ["reject", "defer"]);
        assert!(shown("--queue ash --user ann").is_empty());
    }

    #[test]
    fn a_topic_that_cannot_hold_what_is_wanted_is_not_read() {
        assert_eq!(filter("--what set").topics(), [Topic::Throttle]);
        assert!(filter("--what set --kind decision").topics().is_empty());
        assert!(filter("--kind decision").is_open() && !filter("--user x").is_open());
        assert!(Line::try_parse_from(["tail", "--what", "dance"]).is_err());
    }
}
