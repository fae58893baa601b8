//! Which outputs are shown.

use clap::Args;
use clap::builder::PossibleValuesParser;
use yardmaster_core::cut::Topic;
use yardmaster_core::output::{About, Output};

/// Conditions on the outputs that are shown; of several flags all must hold.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Filter {
    /// Only these kinds; several separated by commas.
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(kinds())
    )]
    kind: Vec<String>,
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

fn kinds() -> impl Iterator<Item = &'static str> {
    Output::TOPICS.iter().map(|topic| topic.name())
}

fn whats() -> impl Iterator<Item = &'static str> {
    Output::TOPICS.iter().copied().flat_map(Output::effects)
}

impl Filter {
    /// Topics that can hold what is wanted; empty if none can, as with a throttle that is assigned.
    pub fn topics(&self) -> Vec<Topic> {
        let is_of_kind = |topic: &Topic| {
            self.kind.is_empty() || self.kind.iter().any(|kind| kind == topic.name())
        };
        let has_effect = |topic: &Topic| {
            let effects = Output::effects(*topic);
            self.what.is_empty() || self.what.iter().any(|it| effects.contains(&it.as_str()))
        };
        Output::TOPICS.iter().copied().filter(is_of_kind).filter(has_effect).collect()
    }

    /// Whether every output is shown.
    pub fn is_open(&self) -> bool {
        let names =
            [&self.queue, &self.gshare, &self.user, &self.group, &self.task, &self.job, &self.rule];
        self.what.is_empty() && !self.dry_run && names.iter().all(|name| name.is_none())
    }

    /// Whether an output is shown.
    pub fn wants(&self, output: &Output) -> bool {
        let Filter { queue, gshare, user, group, task, job, rule, .. } = self;
        let about = [
            (queue, About::Queue),
            (gshare, About::Share),
            (user, About::User),
            (group, About::Group),
            (task, About::Task),
            (job, About::Job),
            (rule, About::Rule),
        ];
        let is = |(name, what): &(&Option<String>, About)| {
            name.as_deref().is_none_or(|name| output.is_about(*what, name))
        };
        (self.what.is_empty() || self.what.iter().any(|it| it == output.effect()))
            && (!self.dry_run || output.is_dry_run())
            && about.iter().all(is)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use yardmaster_core::output::command::{Command, CommandKind};
    use yardmaster_core::output::decision::{Decision, Outcome, Ranked};
    use yardmaster_core::output::throttle::{Action, SubjectKind, Throttle};

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
        outputs.iter().filter(is_shown).map(|it| it.effect()).collect()
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
    fn a_queue_is_shown_with_what_was_sent_there_and_not_with_what_came_to_no_job() {
        let ranked = |queue: &str, jobs| Ranked {
            queue: queue.into(),
            unified: format!("{queue}/SCORE"),
            weight: 1.0,
            jobs,
            cores: 1,
            factors: Vec::new(),
            platform: String::new(),
        };
        let wants = |flags: &str, ranked: &[Ranked]| {
            let outcome = Outcome::Assign(ranked.to_vec());
            filter(flags).wants(&Decision::new("atlas", "12/3", 0, 1, outcome).into())
        };
        let jobs = [ranked("ash", 5), ranked("elm", 0)];
        assert!(wants("--queue ash", &jobs) && wants("--queue ash/SCORE", &jobs));
        assert!(!wants("--queue elm", &jobs) && !wants("--queue oak", &jobs));
        // A nucleus comes to no number of jobs.
        assert!(wants("--queue elm", &[ranked("elm", 0)]));
    }

    #[test]
    fn a_topic_that_cannot_hold_what_is_wanted_is_not_read() {
        assert_eq!(filter("--what set").topics(), [Topic::Throttle]);
        assert!(filter("--what set --kind decision").topics().is_empty());
        assert!(filter("--kind decision").is_open() && !filter("--user x").is_open());
        assert!(Line::try_parse_from(["tail", "--what", "dance"]).is_err());
    }
}
