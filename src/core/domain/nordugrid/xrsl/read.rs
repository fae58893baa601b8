//! From text to description, and the first error in it.

use super::alternative::alternative;
use super::dialect::is_xml;
use super::error::Fault;
use super::evaluate::{Branch, DescriptionEvaluation, Evaluated};
use super::expand::Expansion;
use super::parser::parse;
use super::tree::Item;
use super::{Alternative, Description, Dialect, XrslError, adl};

/// Reads a job description.
///
/// # Errors
/// The first error in the text, those of syntax before those of meaning.
pub fn read(text: &str, dialect: Dialect) -> Result<Description, XrslError> {
    description(text, dialect, false).map_err(|fault| fault.located(text))
}

/// Reads a description of jobs that are to run: each names a program.
///
/// # Errors
/// See [`read`]; or a job without a program.
pub fn read_to_run(text: &str, dialect: Dialect) -> Result<Description, XrslError> {
    description(text, dialect, true).map_err(|fault| fault.located(text))
}

/// Reads a text as a tree, in which nothing is evaluated.
///
/// # Errors
/// The first error of syntax.
pub fn tree(text: &str) -> Result<Item, XrslError> {
    item(text, Dialect::User).map(|(item, _)| item).map_err(|fault| fault.located(text))
}

/// The tree of a text, in whichever language it is, and the dialect of its values.
fn item(text: &str, dialect: Dialect) -> Result<(Item, Dialect), Fault> {
    match is_xml(text) {
        true => Ok((adl::parse(text)?, Dialect::Server)),
        false => Ok((parse(text)?, dialect)),
    }
}

fn description(text: &str, dialect: Dialect, is_to_run: bool) -> Result<Description, Fault> {
    let (item, dialect) = item(text, dialect)?;
    let (jobs, evaluation) = DescriptionEvaluation::jobs(&item, dialect);
    let read = alternatives(&jobs, &evaluation.conditions, is_to_run);
    let of_single = evaluation.faults.iter().copied();
    let first = of_single.chain(read.as_ref().err().copied()).min_by_key(|fault| fault.at);
    match (first, read) {
        (None, Ok(jobs)) => Ok(Description { jobs }),
        (Some(fault), _) | (None, Err(fault)) => Err(fault),
    }
}

/// The alternatives of every job, or the first place at which any of them is wrong.
fn alternatives(
    jobs: &[Branch],
    conditions: &[Evaluated],
    is_to_run: bool,
) -> Result<Vec<Vec<Alternative>>, Fault> {
    let mut expansion = Expansion::new(conditions);
    let mut first: Option<Fault> = None;
    let mut read = Vec::new();
    for job in jobs {
        let mut alternatives = Vec::new();
        for choice in expansion.job(job)? {
            let held = choice.conditions.iter().filter_map(|place| conditions.get(*place));
            match alternative(held, is_to_run) {
                Ok(it) => alternatives.push(it),
                Err(fault) => first = first.into_iter().chain([fault]).min_by_key(|it| it.at),
            }
        }
        read.push(alternatives);
    }
    first.map_or(Ok(read), Err)
}
