//! Actions become commands in their order, within the budgets, once; what nobody answers is
//! repeated while it stands.

use crate::command::{CommandRule, CommandSetting, Governor, Mode, RuleSetting};
use crate::domain::cms::policy::cut::Step;
use crate::domain::cms::policy::decision::PoolAction;
use crate::domain::cms::policy::scaling::Needs;
use crate::event::{Class, OutcomeKind, Status, WorkflowFacts};
use crate::govern::CommandEvaluation;
use crate::output::command::{Command, CommandKind};
use crate::state::commands::CommandAnswer;
use crate::state::{Setting, State};

use crate::domain::cms::state::{
    PoolDrain, PoolJob, PoolJobState, PoolNode, PoolWorkflow, PoolWorkflowRecord,
};
use crate::state::signs::QueueSigns;
use crate::unit::{DAY, HOUR, MINUTE, Millis, SECOND};

const T0: Millis = 1_760_000_000_000;

struct World {
    state: State,
    evaluation: CommandEvaluation,
}

impl World {
    fn new(governor: Governor) -> World {
        let rules = CommandRule::of_pool().map(RuleSetting::default_of).collect();
        let hash = "h".to_owned();
        let commands = CommandSetting { rules, governor, hash, ..CommandSetting::default() };
        let setting = Setting { domain: "cms".into(), commands, ..Setting::default() };
        let mut state = State::new(setting);
        state.now = T0;
        World { state, evaluation: CommandEvaluation::default() }
    }

    fn with_mode(rule: CommandRule, mode: Mode) -> World {
        let mut world = World::new(Governor::default());
        world.set_mode(rule, mode);
        world
    }

    fn set_mode(&mut self, rule: CommandRule, mode: Mode) {
        let mut rules = self.state.setting.commands.rules.iter_mut();
        rules.find(|it| it.rule == rule).unwrap().mode = mode;
    }

    /// A cycle so long after the one before; gives what is published in it, folded.
    fn pass(&mut self, millis: Millis, actions: &[PoolAction]) -> Vec<Command> {
        self.state.before = self.state.now;
        self.state.now += millis;
        self.state.number += 1;
        self.state.look_at_commands();
        self.evaluation.begin_cycle(&self.state, self.state.number == 1);
        let elsewhere = |_: &State, _: &str, _| None;
        let commands = self.evaluation.evaluate(
            &mut self.state,
            &[],
            &elsewhere,
            &mut |_, step, _| match step {
                Step::Verdicts => actions.to_vec(),
                _ => Vec::new(),
            },
        );
        commands.iter().for_each(|it| self.state.fold_command(it));
        self.state.touched = Default::default();
        commands.into()
    }

    /// The same; what is held back is left out. Kinds and subjects.
    fn given(&mut self, millis: Millis, actions: &[PoolAction]) -> Vec<(CommandKind, String)> {
        let commands = self.pass(millis, actions).into_iter();
        let given = commands.filter(|it| it.held_back().is_none());
        given.map(|it| (it.kind, it.subject)).collect()
    }

    fn workflow(&mut self, name: &str, closed: bool) {
        let facts = WorkflowFacts { class: Class::Analysis, ..WorkflowFacts::default() };
        let record = PoolWorkflowRecord { closed, facts, ..PoolWorkflowRecord::default() };
        let workflow = self.state.pool.workflows.at(name, PoolWorkflow::default).unwrap();
        workflow.record = Some(record);
    }

    fn job(&mut self, name: &str, workflow: &str, status: Status) {
        let job = self.state.pool.jobs.at(name, PoolJob::default).unwrap();
        let workflow = workflow.to_owned();
        job.state = Some(PoolJobState { workflow, status, ..PoolJobState::default() });
    }

    fn node(&mut self, name: &str, drained_for: Option<&str>) {
        let since = self.state.now;
        let node = self.state.pool.nodes.at(name, PoolNode::default).unwrap();
        node.site = "T2_X".into();
        node.drain = drained_for.map(|job| PoolDrain { job: job.into(), until_s: 0, since });
    }

    fn answer(&mut self, command: &Command, kind: OutcomeKind) {
        let answer = CommandAnswer { at: self.state.now, kind, reason: String::new() };
        assert!(self.state.commands.answer(command.id, answer));
        self.state.arm_command(command.id);
    }
}

fn boost(workflow: &str) -> PoolAction {
    PoolAction::Boosted { workflow: workflow.into(), effective_priority: 900_000 }
}

fn kill(workflow: &str, jobs: &[&str]) -> PoolAction {
    let pending_jobs = jobs.iter().map(|job| (*job).into()).collect();
    PoolAction::Kill { workflow: workflow.into(), reason: "test_failed_100pct", pending_jobs }
}

fn alert(workflow: &str) -> PoolAction {
    PoolAction::Alert { workflow: workflow.into(), reason: "test_failed_100pct" }
}

fn profile(workflow: &str) -> PoolAction {
    let profile = Needs { wall_s: 5_400, rss_mb: 2_200 };
    PoolAction::ProfileUpdated { workflow: workflow.into(), profile }
}

fn drain(node: &str, job: &str, now: Millis) -> PoolAction {
    let drain = PoolDrain { job: job.into(), until_s: now / SECOND + 1_800, since: now };
    let (node, site) = (node.into(), "T2_X".into());
    PoolAction::DrainNode { node, site, drain, need_cores: 16, idle_core_s: 7_200 }
}

fn undrain(node: &str, job: &str) -> PoolAction {
    PoolAction::DrainCancelled { node: node.into(), job: job.into() }
}

#[test]
fn commands_come_in_the_order_of_the_actions_and_say_all_of_them() {
    let mut world = World::new(Governor::default());
    world.workflow("w1", false);
    world.job("j7", "w1", Status::Pending);
    world.node("n1", Some("j6"));
    let now = T0 + SECOND;
    let actions = [
        boost("w1"),
        kill("w2", &["j1", "j2"]),
        profile("w1"),
        alert("w3"),
        undrain("n1", "j6"),
        drain("n2", "j7", now),
    ];
    let commands = world.pass(SECOND, &actions);
    let subjects: Vec<(CommandKind, &str)> =
        commands.iter().map(|it| (it.kind, it.subject.as_str())).collect();
    let expected = [
        (CommandKind::Boost, "w1"),
        (CommandKind::KillWorkflow, "w2"),
        (CommandKind::Profile, "w1"),
        (CommandKind::Alert, "w3"),
        (CommandKind::Undrain, "n1"),
        (CommandKind::Drain, "n2"),
    ];
    assert_eq!(subjects, expected);
    for (number, it) in commands.iter().enumerate() {
        assert_eq!((it.number, it.rule.as_str()), (number as u32, it.kind.name()));
        assert!(it.is_order() && it.expires_at > now, "{it:?}");
    }
    let [boosted, killed, profiled, alerted, undrained, drained] = &commands[..] else {
        panic!("{commands:?}")
    };
    assert_eq!((boosted.measured, boosted.unit.as_str()), (900_000.0, "priority"));
    assert_eq!((boosted.gshare.as_str(), boosted.queue.as_str()), ("analysis", ""));
    assert_eq!((&killed.jobs[..], killed.amount), (&["j1".to_owned(), "j2".to_owned()][..], 2));
    assert_eq!(killed.notes[0], "test_failed_100pct");
    assert_eq!((profiled.measured, profiled.limit), (5_400.0, 2_200.0));
    assert_eq!((&alerted.jobs[..], &alerted.notes[0]), (&[][..], &killed.notes[0]));
    assert_eq!((undrained.queue.as_str(), &undrained.jobs[0][..]), ("T2_X", "j6"));
    assert_eq!((drained.queue.as_str(), &drained.jobs[0][..]), ("T2_X", "j7"));
    assert_eq!((drained.measured, drained.limit, drained.clock_at), (1_800.0, 16.0, Some(now)));
    assert_eq!((drained.gshare.as_str(), &drained.notes[0][..]), ("analysis", "idle_core_s(7200)"));
}

#[test]
fn what_a_budget_holds_back_is_reported_and_comes_when_there_is_room() {
    let mut world = World::new(Governor { jobs_per_rule: 1, ..Governor::default() });
    let actions = [boost("w1"), boost("w2"), profile("w1")];
    let commands = world.pass(SECOND, &actions);
    let given: Vec<&str> = commands.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(given, ["w1", "w1", ""]);
    assert_eq!(commands[2].held_back(), Some("rule_budget, 1 of 1 jobs"));
    assert_eq!((commands[2].rule.as_str(), commands[2].amount), ("boost", 1));
    world.answer(&commands[0], OutcomeKind::Accepted);
    assert_eq!(world.given(MINUTE, &[boost("w2")]), []);
    assert_eq!(world.given(HOUR, &[boost("w2")]), [(CommandKind::Boost, "w2".to_owned())]);
}

#[test]
fn the_budget_of_a_queue_bounds_drains_and_no_workflow() {
    let governor = Governor { jobs_per_queue: 1, percent_of_queue: 0, ..Governor::default() };
    let mut world = World::new(governor);
    let now = T0 + SECOND;
    let actions =
        [drain("n1", "j1", now), drain("n2", "j2", now), boost("w1"), alert("w1"), boost("w2")];
    let given = world.given(SECOND, &actions);
    let kinds: Vec<CommandKind> = given.iter().map(|(kind, _)| *kind).collect();
    use CommandKind::{Alert, Boost, Drain};
    assert_eq!(kinds, [Drain, Boost, Alert, Boost]);
}

#[test]
fn a_workflow_is_ended_as_a_whole_and_uses_the_budget_up() {
    let mut world = World::new(Governor { jobs_per_rule: 2, ..Governor::default() });
    let mut rules = world.state.setting.commands.rules.iter_mut();
    rules.find(|it| it.rule == CommandRule::KillWorkflow).unwrap().set("batch_jobs", 2.0);
    let commands = world.pass(SECOND, &[kill("w1", &["j1", "j2", "j3"]), kill("w2", &["j4"])]);
    assert_eq!(commands[0].jobs, ["j1", "j2"]);
    assert_eq!((commands[0].amount, commands[0].measured), (3, 3.0));
    assert_eq!(commands[1].held_back(), Some("rule_budget, 3 of 2 jobs"));
    assert_eq!(commands.len(), 2);
}

#[test]
fn what_is_beyond_a_cycle_is_for_the_next() {
    let mut world = World::new(Governor { commands_per_cycle: 2, ..Governor::default() });
    let actions = [boost("w1"), boost("w2"), boost("w3")];
    assert_eq!(world.given(SECOND, &actions).len(), 2);
    assert_eq!(world.given(SECOND, &actions[2..]), [(CommandKind::Boost, "w3".to_owned())]);
}

#[test]
fn a_rule_that_is_off_gives_nothing_and_a_dry_run_shows_each_once() {
    let mut world = World::with_mode(CommandRule::Boost, Mode::Off);
    assert_eq!(world.pass(SECOND, &[boost("w1")]), []);
    world.set_mode(CommandRule::Boost, Mode::DryRun);
    let shown = world.pass(SECOND, &[boost("w1")]);
    assert_eq!((shown.len(), shown[0].dry_run), (1, true));
    assert_eq!(world.pass(SECOND, &[boost("w1")]), []);
    assert_eq!(world.pass(2 * HOUR, &[boost("w1")]), [], "nobody is to answer it");
    world.set_mode(CommandRule::Boost, Mode::On);
    let given = world.pass(SECOND, &[boost("w1")]);
    assert_eq!((given.len(), given[0].is_order(), given[0].repeat), (1, true, 1));
    assert_eq!(world.pass(SECOND, &[boost("w1")]), [], "it is on its way");
}

#[test]
fn what_is_shown_of_a_workflow_is_remembered_while_it_lives() {
    let mut world = World::with_mode(CommandRule::Alert, Mode::DryRun);
    world.workflow("w1", false);
    assert_eq!(world.given(SECOND, &[alert("w1")]).len(), 1);
    for _ in 0..3 {
        assert_eq!(world.given(DAY + SECOND, &[alert("w1")]), []);
    }
    world.workflow("w1", true);
    assert_eq!(world.given(DAY + SECOND, &[alert("w1")]).len(), 1, "it ended, and was forgotten");
}

#[test]
fn a_drain_is_shown_once_for_each_job_whichever_node_is_best() {
    let mut world = World::with_mode(CommandRule::Drain, Mode::DryRun);
    let now = T0 + SECOND;
    let both = [drain("n1", "j1", now), drain("n2", "j2", now)];
    assert_eq!(world.given(SECOND, &both).len(), 2);
    let now = now + SECOND;
    let others = [drain("n3", "j1", now), drain("n2", "j3", now)];
    assert_eq!(world.given(SECOND, &others), [(CommandKind::Drain, "n2".to_owned())]);
}

#[test]
fn each_drain_of_a_node_has_its_own_commands() {
    let mut world = World::new(Governor::default());
    let mut ids = Vec::new();
    for _ in 0..2 {
        let now = world.state.now + MINUTE;
        ids.push(world.pass(MINUTE, &[drain("n1", "j1", now)])[0].id);
        world.node("n1", Some("j1"));
        let undrained = world.pass(MINUTE, &[undrain("n1", "j1")]);
        assert_eq!(undrained[0].clock_at, Some(now), "since when it was drained");
        ids.push(undrained[0].id);
        world.node("n1", None);
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[test]
fn a_silent_site_holds_a_drain_back_and_not_its_end() {
    let mut world = World::new(Governor::default());
    let site = world.state.name("T2_X");
    let signs = QueueSigns { at: T0 - 2 * HOUR, ..QueueSigns::default() };
    world.state.queue_signs.insert(site, signs);
    world.node("n1", Some("j1"));
    let actions = [undrain("n1", "j1"), drain("n2", "j2", T0 + SECOND)];
    let commands = world.pass(SECOND, &actions);
    assert_eq!((commands[0].kind, commands[0].held_back()), (CommandKind::Undrain, None));
    assert_eq!(commands[1].held_back(), Some("queue_silent(7201 s)"));
    assert_eq!((commands[1].queue.as_str(), commands.len()), ("T2_X", 2));
}

#[test]
fn what_nobody_answers_is_repeated_while_it_stands() {
    let mut world = World::new(Governor::default());
    ["w1", "w2", "w3"].iter().for_each(|name| world.workflow(name, false));
    ["j1", "j2"].iter().for_each(|name| world.job(name, "w2", Status::Pending));
    let now = T0 + SECOND;
    let actions = [
        boost("w1"),
        kill("w2", &["j1", "j2"]),
        alert("w3"),
        drain("n1", "j8", now),
        drain("n2", "j9", now),
    ];
    let first = world.pass(SECOND, &actions);
    assert_eq!(first.len(), 5);
    world.node("n1", Some("j8"));
    world.node("n2", Some("another"));
    world.job("j1", "w2", Status::Cancelled);
    world.answer(&first[2], OutcomeKind::Accepted);
    assert_eq!(world.pass(MINUTE, &[]), []);
    let again = world.pass(15 * MINUTE, &[]);
    let subjects: Vec<&str> = again.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(again.len(), 3, "{subjects:?}");
    for subject in ["w1", "w2", "n1"] {
        let before = first.iter().find(|it| it.subject == subject).unwrap();
        let after = again.iter().find(|it| it.subject == subject).unwrap();
        assert_eq!((after.id, after.repeat), (before.id, 1));
        assert_eq!((after.clock_at, after.measured), (before.clock_at, before.measured));
        assert_eq!(after.notes.first(), before.notes.first());
    }
    let killed = again.iter().find(|it| it.subject == "w2").unwrap();
    assert_eq!((&killed.jobs[..], killed.amount), (&["j2".to_owned()][..], 1));
    ["w1", "w2"].iter().for_each(|name| world.workflow(name, true));
    world.node("n1", None);
    assert_eq!(world.pass(HOUR, &[]), []);
}

#[test]
fn repeats_end() {
    let governor = Governor { repeats: 2, ..Governor::default() };
    let mut world = World::new(governor);
    world.workflow("w1", false);
    assert_eq!(world.given(SECOND, &[boost("w1")]).len(), 1);
    let repeats: usize = (0..20).map(|_| world.given(HOUR, &[]).len()).sum();
    assert_eq!(repeats, 2);
}

#[test]
fn a_workflow_of_the_name_of_a_job_is_not_that_job() {
    let mut world = World::new(Governor::default());
    let command = &world.pass(SECOND, &[boost("7"), alert("7"), profile("7")])[0];
    assert_eq!(command.about(), [""; 0]);
    assert_eq!(world.state.commands.of_job.len(), 0);
}
