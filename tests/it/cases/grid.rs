//! From lines to records: what each kind of line states, on top of the base values.

use super::read::{CaseFile, Line};
use super::value::{Known, has_field, record, symbols};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;

/// Fields with their values, as they are written.
type Fields = Vec<(String, String)>;

/// A kind of line: its word, the topic of its records, the fields that its words without `=` stand
/// for, and fields that it sets.
struct Kind {
    word: &'static str,
    topic: Topic,
    names: &'static [&'static str],
    sets: &'static [(&'static str, &'static str)],
}

const fn kind(word: &'static str, topic: Topic, names: &'static [&'static str]) -> Kind {
    Kind { word, topic, names, sets: &[] }
}

impl Kind {
    /// Whether a later line of the same names is about the same thing, and changes what was stated
    /// of it; if not, it states one thing more.
    fn is_named(&self) -> bool {
        !matches!(self.topic, Topic::Pilot | Topic::Outcome)
    }
}

/// The kind of line that asks the policy of a PanDA outside ATLAS.
pub const GENERIC: &str = "generic-request";

const KINDS: [Kind; 22] = [
    kind("queue", Topic::Queue, &["name"]),
    kind("site", Topic::Site, &["name"]),
    kind("storage", Topic::Storage, &["name"]),
    kind("link", Topic::Link, &["source", "destination"]),
    kind("release", Topic::Release, &["queue"]),
    kind("share", Topic::Share, &["name"]),
    kind("replica", Topic::Replica, &["name", "endpoint"]),
    kind("quota", Topic::Quota, &["subject", "expression"]),
    kind("user", Topic::User, &["name"]),
    Kind { sets: &[("kind", "group")], ..kind("group", Topic::User, &["name"]) },
    kind("parameter", Topic::Parameter, &["component", "key", "value"]),
    kind("request", Topic::Task, &["subject"]),
    kind("user-request", Topic::Task, &["subject"]),
    kind("task-request", Topic::Task, &["subject"]),
    kind(GENERIC, Topic::Task, &["subject"]),
    kind("job", Topic::JobState, &["job"]),
    kind("user-job", Topic::JobState, &["job"]),
    kind("transfer", Topic::Transfer, &["request"]),
    Kind { sets: &[("kind", "workers")], ..kind("workers", Topic::Pilot, &["queue"]) },
    Kind { sets: &[("kind", "slots")], ..kind("slots", Topic::Pilot, &["queue"]) },
    kind("pilot", Topic::Pilot, &["queue"]),
    kind("outcome", Topic::Outcome, &["subject"]),
];

/// Kinds of lines that stand for many jobs: `jobs QUEUE running=10 activated=5 ...`.
const JOBS: [&str; 2] = ["jobs", "user-jobs"];
/// The kind of line that stands for many nodes: `pilots QUEUE 3`.
const PILOTS: &str = "pilots";

/// A record; with names, one for each job of that name.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    pub topic: Topic,
    pub bytes: Vec<u8>,
    pub jobs: Vec<String>,
}

/// Values that hold where a case states none: `tests/cases/base.facts`.
#[derive(Clone, Debug, Default)]
pub struct Base {
    values: BTreeMap<String, Fields>,
    /// Lines that go with each line of a kind.
    every: Vec<(String, Line)>,
    always: Vec<Line>,
}

impl Base {
    /// Reads the base values.
    ///
    /// # Errors
    /// A line that is none of `base`, `every`, `always`.
    pub fn read(name: &str, text: &str) -> Result<Base, String> {
        let file = CaseFile::read(name, &format!("case base\n{text}"))?;
        let mut base = Base::default();
        for mut line in file.cases.into_iter().flat_map(|case| case.lines).skip(1) {
            line.place.line -= 1;
            let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
            match words.as_slice() {
                ["base", kind, ..] => {
                    base.values.insert((*kind).to_owned(), line.assignments());
                }
                ["every", kind, ..] => {
                    let of = (*kind).to_owned();
                    let words = line.words[2..].to_vec();
                    base.every.push((of, Line { words, ..line }));
                }
                ["always", ..] => {
                    base.always.push(Line { words: line.words[1..].to_vec(), ..line });
                }
                _ => return Err(line.error("wants base, every or always")),
            }
        }
        Ok(base)
    }
}

/// Facts that a case has stated so far.
#[derive(Clone)]
pub struct Grid<'a> {
    base: &'a Base,
    /// Fields by kind and name: a later line on the same thing changes them.
    stated: BTreeMap<Subject, Fields>,
    /// Kind and name of each line of the case.
    written: BTreeSet<Subject>,
    jobs: u64,
}

impl<'a> Grid<'a> {
    /// A grid of which some lines will be read.
    ///
    /// # Errors
    /// A line of a queue that cannot be read.
    pub fn new(base: &'a Base, lines: &[Line]) -> Result<Grid<'a>, String> {
        let written = lines.iter().map(key).collect();
        let mut grid = Grid { base, stated: BTreeMap::new(), written, jobs: 0 };
        for line in &base.always {
            let Some(kind) = of_word(&line.words[0]) else { continue };
            let fields = grid.fields(kind, line)?;
            grid.stated.insert(key(line), fields);
        }
        let mut ahead = grid.clone();
        for line in lines {
            let Some(kind) = of_word(&line.words[0]) else { continue };
            let fields = ahead.fields(kind, line)?;
            for (_, more) in base.every.iter().filter(|(of, _)| *of == line.words[0]) {
                let more = filled(more, &fields);
                if let Some(kind) = of_word(&more.words[0]) {
                    let fields = grid.fields(kind, &more)?;
                    grid.stated.insert(key(&more), fields);
                }
            }
            ahead.stated.insert(key(line), fields);
        }
        Ok(grid)
    }

    /// The records that hold in every case.
    ///
    /// # Errors
    /// A line that cannot be read.
    pub fn always(&mut self, known: Known) -> Result<Vec<Made>, String> {
        let lines = self.base.always.iter().filter(|line| !self.written.contains(&key(line)));
        let lines: Vec<Line> = lines.cloned().collect();
        let made: Result<Vec<_>, _> = lines.iter().map(|line| self.read(line, known)).collect();
        Ok(made?.into_iter().flatten().collect())
    }

    /// The records of a line.
    ///
    /// # Errors
    /// A word, field or value that is not known.
    pub fn read(&mut self, line: &Line, known: Known) -> Result<Vec<Made>, String> {
        let word = line.words.first().map_or("", String::as_str);
        if JOBS.contains(&word) {
            return self.jobs(word, line, known);
        }
        if word == PILOTS {
            return self.pilots(line, known);
        }
        let Some(kind) = of_word(word) else {
            let words: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
            let words = words.join(", ");
            return Err(line.error(format!(
                "{word:?} is no kind of line; there are {words}, jobs, user-jobs, pilots, \
                 and the directives rules, set, cycle"
            )));
        };
        let fields = self.fields(kind, line)?;
        let mut is_first = false;
        if kind.is_named() {
            is_first = self.stated.insert(key(line), fields.clone()).is_none();
        }
        let made = record(kind.topic, &resolved(&fields), known);
        let bytes = made.map_err(|error| line.error(error))?;
        let mut all = vec![Made { topic: kind.topic, bytes, jobs: Vec::new() }];
        for (of, more) in self.base.every.iter().filter(|(of, _)| is_first && of == word) {
            let more = filled(more, &fields);
            let (key, of) = (key(&more), of.clone());
            if !self.written.contains(&key) {
                self.written.insert(key);
                let made = self.read(&more, known);
                all.extend(made.map_err(|error| line.error(format!("with every {of}: {error}")))?);
            }
        }
        Ok(all)
    }

    /// All fields of a line: the base's, those stated before of the same thing or of the one it is
    /// like, its own.
    fn fields(&self, kind: &Kind, line: &Line) -> Result<Fields, String> {
        let names = &line.names()[1..];
        if names.len() > kind.names.len() {
            let wanted = kind.names.join(", ");
            let message = format!("{} takes {wanted} and then field=value", kind.word);
            return Err(line.error(format!("{:?}: {message}", names[kind.names.len()])));
        }
        let owned = |(field, value): (&str, &str)| (field.to_owned(), value.to_owned());
        let named: Fields =
            kind.names.iter().copied().zip(names.iter().copied()).map(owned).collect();
        let (like, own): (Fields, Fields) =
            line.assignments().into_iter().partition(|(field, _)| field == "like");
        let mut fields: Fields = kind.sets.iter().copied().map(owned).collect();
        lay(&mut fields, self.base.values.get(kind.word).cloned().unwrap_or_default());
        if let Some((_, name)) = like.first() {
            let key = (kind.word.to_owned(), name.clone());
            let other = self.stated.get(&key);
            let other = other.ok_or_else(|| line.error(format!("there is no {name} above")))?;
            lay(&mut fields, other.clone());
        }
        // Of kinds without names nothing is kept.
        lay(&mut fields, self.stated.get(&key(line)).cloned().unwrap_or_default());
        lay(&mut fields, named);
        lay(&mut fields, own);
        Ok(fields)
    }

    /// Many jobs: of each state so many, all else alike.
    fn jobs(&mut self, word: &str, line: &Line, known: Known) -> Result<Vec<Made>, String> {
        let states = symbols(Topic::JobState, "status");
        let [name, queue] = line.names()[..] else {
            return Err(line.error("wants a queue, then states and fields"));
        };
        let (counts, own): (Fields, Fields) =
            line.assignments().into_iter().partition(|(field, _)| states.contains(field));
        let is_beat =
            |field: &str| has_field(Topic::Heartbeat, field) && !has_field(Topic::JobState, field);
        let (beats, own): (Fields, Fields) = own.into_iter().partition(|(field, _)| is_beat(field));
        let mut fields = self.base.values.get(name).cloned().unwrap_or_default();
        lay(&mut fields, vec![("queue".to_owned(), queue.to_owned())]);
        lay(&mut fields, own);
        if counts.is_empty() {
            return Err(line.error(format!("{word}: how many? wants running=3, activated=2 ...")));
        }
        let mut all = Vec::new();
        for (state, count) in counts {
            let count: u64 = count
                .replace('_', "")
                .parse()
                .map_err(|_| line.error(format!("{state}={count}: wants a number of jobs")))?;
            let first = self.jobs + 1;
            self.jobs += count;
            let jobs: Vec<String> = (first..first + count).map(|job| job.to_string()).collect();
            let mut fields = fields.clone();
            lay(&mut fields, vec![("status".into(), state), ("job".into(), "0".into())]);
            let made = record(Topic::JobState, &resolved(&fields), known);
            let bytes = made.map_err(|error| line.error(error))?;
            all.push(Made { topic: Topic::JobState, bytes, jobs: jobs.clone() });
            if !beats.is_empty() {
                let mut fields = beats.clone();
                let more = [("job", "0"), ("at", "now")];
                lay(&mut fields, more.map(|(a, b)| (a.to_owned(), b.to_owned())).to_vec());
                let made = record(Topic::Heartbeat, &fields, known);
                let bytes = made.map_err(|error| line.error(error))?;
                all.push(Made { topic: Topic::Heartbeat, bytes, jobs });
            }
        }
        Ok(all)
    }

    /// So many nodes that asked for a job.
    fn pilots(&mut self, line: &Line, known: Known) -> Result<Vec<Made>, String> {
        let [_, queue, count] = line.names()[..] else {
            return Err(line.error("wants pilots QUEUE COUNT"));
        };
        let count: u32 = count.parse().map_err(|_| line.error("wants a number of nodes"))?;
        let mut all = Vec::new();
        for node in 1..=count {
            let mut fields = self.base.values.get(PILOTS).cloned().unwrap_or_default();
            let node = format!("node{node}");
            lay(&mut fields, vec![("queue".to_owned(), queue.to_owned()), ("node".into(), node)]);
            lay(&mut fields, line.assignments());
            let bytes = record(Topic::Pilot, &fields, known).map_err(|error| line.error(error))?;
            all.push(Made { topic: Topic::Pilot, bytes, jobs: Vec::new() });
        }
        Ok(all)
    }
}

fn of_word(word: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.word == word)
}

/// Subject of a line: its kind and names.
pub type Subject = (String, String);

/// Subject of a line, if later lines may have the same one.
pub fn subject(line: &Line) -> Option<Subject> {
    let kind = of_word(line.words.first()?)?;
    kind.is_named().then(|| key(line))
}

/// A line's kind, and the names by which later lines on the same thing are known.
fn key(line: &Line) -> Subject {
    let word = line.words.first().cloned().unwrap_or_default();
    let names = of_word(&word).map_or(1, |kind| match kind.topic {
        Topic::Parameter => 2,
        _ => kind.names.len(),
    });
    let names = line.names().into_iter().skip(1).take(names).collect::<Vec<_>>().join(" ");
    (word, names)
}

/// Lays fields over others: what is stated above replaces what is stated below.
fn lay(below: &mut Fields, above: Fields) {
    let is_replaced = |field: &str| {
        above.iter().any(|(other, _)| {
            other == field
                || field.strip_prefix(other.as_str()).is_some_and(|it| it.starts_with('.'))
        })
    };
    below.retain(|(field, _)| !is_replaced(field));
    below.extend(above);
}

/// Replaces `<field>` by the field's value.
fn fill(text: &str, fields: &[(String, String)]) -> String {
    let mut text = text.to_owned();
    for (field, value) in fields {
        text = text.replace(&format!("<{field}>"), value.trim_matches('"'));
    }
    text
}

/// Fields whose values name no others any more.
fn resolved(fields: &[(String, String)]) -> Fields {
    let mut fields = fields.to_vec();
    for _ in 0..3 {
        let known = fields.clone();
        fields.iter_mut().for_each(|(_, value)| *value = fill(value, &known));
    }
    fields
}

/// A line that goes with another, with its names in place.
fn filled(line: &Line, fields: &[(String, String)]) -> Line {
    let fields = resolved(fields);
    let words = line.words.iter().map(|word| fill(word, &fields)).collect();
    Line { words, ..line.clone() }
}
