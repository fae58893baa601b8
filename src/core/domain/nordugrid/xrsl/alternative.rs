//! One alternative of a job, from the conditions that hold in it; and what of them does not go
//! together.

use super::error::{ErrorCode, Fault};
use super::evaluate::Evaluated;
use super::known::Repetition;
use super::term::{FileEntry, Term};
use super::{Alternative, CacheOption, InputFile, NameCondition, NoteCode, Relation};
use std::collections::{BTreeMap, BTreeSet};

/// Highest priority; a higher one is cut.
const PRIORITY_MAX: i128 = 100;

/// An alternative and what is noticed only once all its conditions are seen.
#[derive(Default)]
struct Draft<'a> {
    made: Alternative,
    files: Vec<&'a FileEntry>,
    executables: Vec<(&'a [String], usize)>,
    cache: Option<CacheOption>,
    /// Where each known attribute stands first, or last if that one holds.
    seen: BTreeMap<&'static str, &'a Evaluated>,
    faults: Vec<Fault>,
}

/// Makes an alternative of its conditions, in written order. Where it is to run it names a program.
///
/// # Errors
/// The first place in the text at which two conditions do not go together, or one that another
/// needs is missing.
pub(super) fn alternative<'a>(
    conditions: impl Iterator<Item = &'a Evaluated>,
    is_to_run: bool,
) -> Result<Alternative, Fault> {
    let mut draft = Draft::default();
    let mut unknown = BTreeSet::new();
    let mut first = None;
    for condition in conditions {
        first.get_or_insert(condition.at);
        let name = &condition.attribute.name;
        if condition.known.is_none() && unknown.insert(name) {
            draft.made.unknown_attributes.push(name.clone());
        }
        draft.add(condition);
        condition.notes.iter().for_each(|code| draft.made.note(*code, name));
        draft.made.attributes.push(condition.attribute.clone());
    }
    draft.check();
    if is_to_run && draft.text("executable").is_empty() {
        let at = first.unwrap_or(0);
        draft.faults.push(Fault::new(ErrorCode::ExecutableMissing, at));
    }
    match draft.faults.iter().min_by_key(|fault| fault.at) {
        Some(first) => Err(*first),
        None => Ok(draft.finish()),
    }
}

impl<'a> Draft<'a> {
    fn add(&mut self, condition: &'a Evaluated) {
        let Some(known) = condition.known else { return };
        match (self.seen.contains_key(known.name), known.again) {
            (true, Repetition::Fails) => {
                self.faults.push(Fault::new(ErrorCode::MultiplyDefined, condition.at));
                return;
            }
            (true, Repetition::Adds) => {}
            (true, Repetition::Replaces) => {
                self.made.note(NoteCode::LastHolds, known.name);
                self.seen.insert(known.name, condition);
            }
            (false, _) => drop(self.seen.insert(known.name, condition)),
        }
        match &condition.term {
            Term::Number(number) => self.number(known.name, *number),
            Term::Time(seconds) => self.time(known.name, *seconds),
            Term::Name(name) => match known.name {
                "cluster" => self.made.cluster.push(name.clone()),
                "queue" => self.queue(name),
                _ => self.made.architecture.push(name.clone()),
            },
            Term::Software(software) => match known.name {
                "middleware" => self.made.middleware.push(software.clone()),
                "opsys" => self.made.operating_system.push(software.clone()),
                _ => self.made.runtime_environment.push(software.clone()),
            },
            Term::Flag(flag) if known.name == "exclusiveexecution" => {
                self.made.exclusive_execution = Some(*flag);
            }
            Term::Access(access) if !access.is_empty() => {
                self.made.node_access.get_or_insert_default().extend(access);
            }
            Term::Files(files) if known.name == "inputfiles" => self.files.extend(files),
            Term::Texts(names) if known.name == "executables" => {
                self.executables.push((names, condition.at));
            }
            Term::Cache(option) => self.cache = Some(*option),
            Term::Nothing
            | Term::Text(_)
            | Term::Texts(_)
            | Term::Flag(_)
            | Term::Access(_)
            | Term::Files(_) => {}
        }
    }

    /// Of two queues that are asked for the last one holds; of those refused all do.
    fn queue(&mut self, name: &NameCondition) {
        let conditions = &mut self.made.queue;
        let before = conditions.len();
        if name.relation == Relation::Equal {
            conditions.retain(|it| it.relation != Relation::Equal);
        }
        let is_replaced = conditions.len() < before;
        conditions.push(name.clone());
        if is_replaced {
            self.made.note(NoteCode::LastHolds, "queue");
        }
    }

    fn number(&mut self, name: &str, number: i128) {
        let amount = u64::try_from(number).unwrap_or(u64::MAX);
        match name {
            "count" => self.made.count = amount,
            "countpernode" => self.made.count_per_node = Some(amount),
            "memory" => self.made.memory_mb = Some(amount),
            "disk" => self.made.disk_bytes = amount << 20,
            "priority" => {
                let priority = number.min(PRIORITY_MAX);
                self.made.priority = Some(i64::try_from(priority).unwrap_or(i64::MIN));
            }
            _ => {}
        }
    }

    fn time(&mut self, name: &str, seconds: u64) {
        match name {
            "cputime" | "benchmarks" => self.made.cpu_time_s = Some(seconds),
            "walltime" => self.made.wall_time_s = Some(seconds),
            "gridtime" => self.made.grid_time_s = Some(seconds),
            _ => {}
        }
    }

    fn check(&mut self) {
        let has = |name: &str| self.seen.contains_key(name);
        let mut faults = Vec::new();
        let mut fault_at = |name: &str, code: ErrorCode| {
            faults.extend(self.seen.get(name).map(|it| Fault::new(code, it.at)));
        };
        if self.made.cpu_time_s.is_some() || has("cputime") || has("walltime") {
            fault_at("gridtime", ErrorCode::GridtimeConflict);
        }
        if !has("count") {
            fault_at("countpernode", ErrorCode::CountMissing);
        }
        if self.is_join_in_conflict() {
            fault_at("join", ErrorCode::JoinConflict);
        }
        let names: BTreeSet<&str> = self.files.iter().map(|file| file.name.as_str()).collect();
        if names.len() < self.files.len() {
            fault_at("inputfiles", ErrorCode::DuplicateInput);
        }
        self.faults.append(&mut faults);
        let missing = self.executables.iter().find(|(executables, _)| {
            executables.iter().any(|executable| !names.contains(executable.as_str()))
        });
        let missing = missing.map(|(_, at)| Fault::new(ErrorCode::ExecutableNotStaged, *at));
        self.faults.extend(missing);
    }

    /// Whether stderr is to be joined to stdout and there is no stdout, or another stderr.
    fn is_join_in_conflict(&self) -> bool {
        let is_joined = self.seen.get("join").is_some_and(|it| it.term == Term::Flag(true));
        let (stdout, stderr) = (self.text("stdout"), self.text("stderr"));
        is_joined && (stdout.is_empty() || !stderr.is_empty() && stderr != stdout)
    }

    /// The text of an attribute; empty where it is not there.
    fn text(&self, name: &str) -> &'a str {
        match self.seen.get(name).map(|it| &it.term) {
            Some(Term::Text(text)) => text.as_str(),
            _ => "",
        }
    }

    /// The program and its standard input, if they are relative paths that no input has.
    fn implied_uploads(&self) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for path in [self.text("executable"), self.text("stdin")] {
            let is_listed = || self.files.iter().any(|file| file.name == path);
            let is_upload = !path.is_empty() && !path.starts_with('/') && !is_listed();
            if is_upload && !found.iter().any(|it| it == path) {
                found.push(path.to_owned());
            }
        }
        found
    }

    fn finish(mut self) -> Alternative {
        let executables = self.executables.iter().flat_map(|(names, _)| names.iter());
        let executables: BTreeSet<&str> = executables.map(String::as_str).collect();
        let general = self.cache;
        let staged = |file: &&FileEntry| {
            let executable = executables.contains(file.name.as_str());
            let general = general.filter(|_| !executable);
            let cache = file.cache.or(general).or(file.url_cache).unwrap_or_default();
            let (name, source, path) = (file.name.clone(), file.source.clone(), file.path.clone());
            InputFile { name, source, path, executable, cache, local: file.is_local }
        };
        self.made.input_files = self.files.iter().map(staged).collect();
        self.made.implied_uploads = self.implied_uploads();
        self.made.count_given = self.seen.contains_key("count");
        if !self.made.count_given {
            self.made.count = 1;
        }
        self.made
    }
}
