//! A case through the whole engine: its facts are folded, the cycle is closed, what is asked is
//! judged, and the answers are explained as the verb `explain` explains them.

use super::config::config;
use super::grid::{Base, Grid, Made, Subject, subject};
use super::read::Line;
use super::value::{Known, span};
use crate::wire::CODEC;
use crate::world::{close, lane};
use std::collections::BTreeMap;
use yardmaster::core::engine::Engine;
use yardmaster::core::event::{Event, Heartbeat, JobState};
use yardmaster::core::explain::{
    Context, explain, explain_command, explain_fates, explain_throttle, join,
};
use yardmaster::core::output::Output;
use yardmaster::core::output::decision::Decision;
use yardmaster::core::policy::{Flavour, kind, kinds};
use yardmaster::core::state::State;
use yardmaster::core::unit::Millis;
use yardmaster::wire::avro::Arena;
use yardmaster::wire::record;

/// The now of a case's first cycle: 2025-10-15T12:00:00Z.
const NOW: Millis = 1_760_529_600_000;

/// Result of a case.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The expected part, by rules.
    pub texts: Vec<(String, String)>,
    /// Kind of policy, filter and reason of each rejection, and of each hold.
    pub reasons: Vec<[String; 3]>,
}

/// Runs the lines of a case under each of its rules; rules that lead to the same text are shown
/// together.
///
/// # Errors
/// A line that cannot be read.
pub fn run(base: &Base, lines: &[Line]) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let named = lines.iter().rfind(|line| line.words[0] == "rules");
    let documented = Line { words: vec!["rules".into(), "documented".into()], ..Line::default() };
    for rules in &named.unwrap_or(&documented).words[1..] {
        let mut case_run = CaseRun::new(base, lines, rules)?;
        for line in lines {
            case_run.read(line)?;
        }
        case_run.cycle();
        // An editor takes spaces off the ends of lines.
        let lines = case_run.text.lines().map(|line| format!("{}\n", line.trim_end()));
        case_run.text = lines.collect();
        match outcome.texts.iter_mut().find(|(_, text)| *text == case_run.text) {
            Some((same, _)) => *same += &format!(" {rules}"),
            None => outcome.texts.push((rules.clone(), case_run.text)),
        }
        outcome.reasons.append(&mut case_run.reasons);
    }
    Ok(outcome)
}

struct CaseRun<'a> {
    grid: Grid<'a>,
    engine: Engine,
    now: Millis,
    /// Records of this cycle, by what they are about; those stated last hold.
    facts: Vec<(Option<Subject>, Vec<Made>)>,
    /// Decisions by subject, in order: what a deferral repeats is joined from those before.
    decisions: BTreeMap<String, Vec<Decision>>,
    text: String,
    reasons: Vec<[String; 3]>,
}

impl<'a> CaseRun<'a> {
    fn new(base: &'a Base, lines: &[Line], rules: &str) -> Result<CaseRun<'a>, String> {
        let epoch_config = config(rules, lines)?;
        let engine = Engine::new(State::new(epoch_config.setting), epoch_config.policies);
        let grid = Grid::new(base, lines)?;
        let (facts, decisions, text, reasons) = Default::default();
        let mut case_run = CaseRun { grid, engine, now: NOW, facts, decisions, text, reasons };
        let made = case_run.grid.always(Known { now: NOW, ..Known::default() })?;
        case_run.facts.push((None, made));
        Ok(case_run)
    }

    fn read(&mut self, line: &Line) -> Result<(), String> {
        match line.words[0].as_str() {
            "case" | "rules" | "set" => Ok(()),
            "cycle" => {
                let text = line.words.get(1).ok_or_else(|| line.error("wants cycle +10m"))?;
                self.cycle();
                self.now += span(text).map_err(|error| line.error(error))?;
                Ok(())
            }
            _ => {
                let known = Known { now: self.now, id: self.last_id(line) };
                let mut made = self.grid.read(line, known)?;
                let about = subject(line);
                let before = self.facts.iter_mut().find(|it| about.is_some() && it.0 == about);
                match before {
                    Some((_, before)) => before[0] = made.swap_remove(0),
                    None => self.facts.push((about, made)),
                }
                Ok(())
            }
        }
    }

    /// The id of the last decision about what a line names.
    fn last_id(&self, line: &Line) -> [u8; 16] {
        let subject = line.names().get(1).copied().unwrap_or_default();
        let last = self.decisions.get(subject).and_then(|all| all.last());
        last.map_or([0; 16], |decision| decision.id.0)
    }

    fn fold(&mut self, made: &Made) {
        let mut arena = Arena::default();
        let event = CODEC.read(made.topic, None, Some(&made.bytes), &mut arena);
        match &event {
            Event::Garbled(why) => panic!("a record of {} is {why:?}", made.topic.name()),
            Event::JobState(job) if !made.jobs.is_empty() => {
                for name in &made.jobs {
                    self.fold_event(made, &Event::JobState(JobState { job: name, ..job.clone() }));
                }
            }
            Event::Heartbeat(beat) => {
                for name in &made.jobs {
                    self.fold_event(made, &Event::Heartbeat(Heartbeat { job: name, ..*beat }));
                }
            }
            _ => self.fold_event(made, &event),
        }
    }

    fn fold_event(&mut self, made: &Made, event: &Event<'_>) {
        let (state, lane) = (&mut self.engine.state, lane(made.topic, 0));
        let offset = state.next(lane);
        // A heartbeat counts as of the log's stamp, whatever time it states.
        let appended_at = if let Event::Heartbeat(beat) = event { beat.at } else { self.now };
        state.fold(lane, offset, appended_at, event);
    }

    /// Closes the cycle, and explains its decisions and throttles.
    fn cycle(&mut self) {
        for (_, made) in std::mem::take(&mut self.facts) {
            made.iter().for_each(|made| self.fold(made));
        }
        close(&mut self.engine.state, self.now);
        self.engine.settle();
        let mut texts = Vec::new();
        while let Some(output) = self.engine.next_output() {
            self.engine.fold_output(&output);
            texts.push(match read_back(&output) {
                Output::Decision(decision) => self.explain(*decision),
                Output::Throttle(it) => {
                    explain_throttle(&it, self.now).replace(&it.policy_hash, HASH)
                }
                Output::Command(it) => explain_command(&it, None, self.now),
            });
        }
        if texts.is_empty() {
            texts.push(format!("no answer in cycle {}\n", self.engine.state.number));
        }
        if !self.text.is_empty() {
            self.text += "\n";
        }
        self.text += &texts.join("\n");
    }

    fn explain(&mut self, decision: Decision) -> String {
        let policy = self.engine.policies().iter().find(|it| it.spec.name == decision.policy);
        // The kinds whose sentences explain a policy's rejections, as in the verb: its own first.
        let own = policy.and_then(|policy| kind(&policy.spec.kind));
        let kinds: Vec<&Flavour> = own.into_iter().chain(kinds().iter().copied()).collect();
        let limits = Some(&self.engine.state.setting.limits);
        let context = Context { kinds: &kinds, limits, policy };
        let flavour = kinds[0].name;
        let reason =
            |filter: &str, reason: &str| [flavour.to_owned(), filter.to_owned(), reason.to_owned()];
        let fates = decision.fates.iter();
        self.reasons.extend(fates.map(|fate| reason(&fate.filter, &fate.reason)));
        let notes = decision.notes.iter().filter_map(|note| note.strip_prefix("held("));
        self.reasons.extend(notes.map(|note| reason("held", note.trim_end_matches(')'))));
        let all = self.decisions.entry(decision.subject.clone()).or_default();
        all.push(decision);
        let mut joined = all.clone();
        join(&mut joined);
        let Some(last) = joined.last() else { return String::new() };
        format!("{}{}", without_head(&explain(last, &context)), explain_fates(last, &context))
    }
}

/// Stands for the hash of a policy, which changes with every parameter there is.
const HASH: &str = "(hash)";

/// The text of a decision with one line of what stands above its outcome: which request it answers.
fn without_head(text: &str) -> String {
    let (head, rest) = text.split_at(text.find("\n  cycle ").expect("a cycle") + 1);
    let request = head.lines().find(|line| line.starts_with("  request ")).expect("a request");
    let rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
    format!("{}\n{rest}", request.trim_start())
}

/// An output as it is read back from the log.
fn read_back(output: &Output) -> Output {
    let mut bytes = Vec::new();
    record::write_output(&mut bytes, output);
    match CODEC.read(output.topic(), None, Some(&bytes), &mut Arena::default()) {
        Event::Output(output) => output,
        other => panic!("no output: {other:?}"),
    }
}
