//! From the tree to conditions with their values: variables put in, each attribute understood by
//! itself. What has no meaning is noted and the reading goes on, so that the first error in the
//! text can be reported.

use super::error::{ErrorCode, Fault};
use super::known;
use super::known::{Form, KnownAttribute};
use super::note::NoteCode;
use super::term;
use super::term::Term;
use super::tree::{Condition, Item, Operator};
use super::variables::Variables;
use super::{Attribute, Dialect, Value};

/// A condition with its values.
#[derive(Debug)]
pub(super) struct Evaluated {
    pub(super) attribute: Attribute,
    /// Name and form of the attribute; `None`: it is ignored, with a note.
    pub(super) known: Option<&'static KnownAttribute>,
    pub(super) term: Term,
    /// Notes on how it is read.
    pub(super) notes: Vec<NoteCode>,
    /// Where its name stands in the text; bytes.
    pub(super) at: usize,
    /// Memory that its values take; bytes.
    pub(super) bytes: usize,
}

/// A branch of a job.
#[derive(Debug)]
pub(super) enum Branch {
    /// A condition, by its place among all that were evaluated.
    One(usize),
    /// All of these hold.
    All(Vec<Branch>),
    /// One of these holds; and where the operator stands in the text; bytes.
    Any(Vec<Branch>, usize),
}

/// Result of an evaluation.
#[derive(Default)]
pub(super) struct DescriptionEvaluation {
    /// Conditions in written order, those that define variables left out.
    pub(super) conditions: Vec<Evaluated>,
    /// Errors of single attributes, in any order.
    pub(super) faults: Vec<Fault>,
    variables: Variables,
    dialect: Dialect,
}

impl DescriptionEvaluation {
    /// The branches of each job, in written order; a `+` in a `+` is flattened.
    pub(super) fn jobs(item: &Item, dialect: Dialect) -> (Vec<Branch>, DescriptionEvaluation) {
        let mut evaluation = DescriptionEvaluation { dialect, ..DescriptionEvaluation::default() };
        let mut jobs = Vec::new();
        evaluation.split(item, &mut jobs);
        (jobs, evaluation)
    }

    fn split(&mut self, item: &Item, jobs: &mut Vec<Branch>) {
        match item {
            Item::Joined { operator: Operator::Jobs, items, .. } => {
                items.iter().for_each(|item| self.split(item, jobs));
            }
            job => jobs.push(self.alone(job)),
        }
    }

    /// A branch whose variables end with it.
    fn alone(&mut self, item: &Item) -> Branch {
        let mark = self.variables.enter();
        let branch = self.branch(item);
        self.variables.leave(mark);
        branch
    }

    fn branch(&mut self, item: &Item) -> Branch {
        match item {
            Item::Condition(condition) => self.condition(condition),
            Item::Joined { operator: Operator::Any, items, at } => {
                Branch::Any(items.iter().map(|item| self.alone(item)).collect(), *at)
            }
            // Below `&` a condition defines variables for its siblings, an operator for nothing
            // outside.
            Item::Joined { items, .. } => Branch::All(
                items
                    .iter()
                    .map(|item| match item {
                        Item::Condition(condition) => self.condition(condition),
                        Item::Joined { .. } => self.alone(item),
                    })
                    .collect(),
            ),
        }
    }

    fn condition(&mut self, condition: &Condition) -> Branch {
        let known = known::known(&condition.attribute);
        let before = self.variables.bytes;
        if known.is_some_and(|known| known.form == Form::Substitution) {
            let defined = self.variables.define(&condition.values);
            self.note(defined, condition.at);
            return Branch::All(Vec::new());
        }
        if self.dialect == Dialect::User && condition.attribute == "action" {
            self.faults.push(Fault::new(ErrorCode::ActionNotAllowed, condition.at));
        }
        let values = condition.values.iter().map(|it| self.variables.evaluate(it));
        let values: Result<Vec<Value>, ErrorCode> = values.collect();
        let values = self.note(values, condition.at);
        let mut notes = Vec::new();
        let term = known.zip(values.as_ref()).and_then(|(known, values)| {
            let unit_s = self.dialect.unit_s();
            let term = term::term(known, condition.relation, values, unit_s, &mut notes);
            self.note(term, condition.at)
        });
        let attribute = Attribute {
            name: condition.attribute.clone(),
            relation: condition.relation,
            values: values.unwrap_or_default(),
        };
        self.conditions.push(Evaluated {
            attribute,
            known,
            term: term.unwrap_or(Term::Nothing),
            notes,
            at: condition.at,
            bytes: self.variables.bytes - before,
        });
        Branch::One(self.conditions.len() - 1)
    }

    fn note<T>(&mut self, result: Result<T, ErrorCode>, at: usize) -> Option<T> {
        result.map_err(|code| self.faults.push(Fault::new(code, at))).ok()
    }
}
