//! Which of the runtime environments of a target a job is handed over with: a cluster runs the one
//! that is named, and compares nothing (spec cms-nordugrid B.9, Versions).

use super::{Alternative, Relation, Software, SoftwareCondition, compare_versions};
use std::cmp::Ordering;

/// A runtime environment that a target has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChosenEnvironment {
    pub(super) software: Software,
    /// Place of the condition that asks for it, among those of the job: its options hold.
    pub(super) condition: usize,
}

/// For each environment that is asked for by its version, that one; for each that is asked for by
/// bounds, the highest that meets all of them. `published`: those of the target, each
/// `name[-version]`.
///
/// # Errors
/// The target has none that a condition is met by: the condition.
pub(super) fn environments<'a>(
    job: &'a Alternative,
    published: &[String],
) -> Result<Vec<ChosenEnvironment>, &'a SoftwareCondition> {
    let published: Vec<Software> = published.iter().map(|text| Software::parse(text)).collect();
    let conditions = &job.runtime_environment;
    let mut chosen: Vec<ChosenEnvironment> = Vec::new();
    let of = |relation: fn(Relation) -> bool| {
        conditions.iter().enumerate().filter(move |(_, it)| relation(it.relation))
    };
    let is_bound = |relation: Relation| !matches!(relation, Relation::Equal | Relation::NotEqual);
    for (condition, asked) in of(|relation| relation == Relation::Equal) {
        let found = published.iter().find(|it| is_met(asked, it)).ok_or(asked)?;
        if !chosen.iter().any(|it| it.software == *found) {
            chosen.push(ChosenEnvironment { software: found.clone(), condition });
        }
    }
    for (condition, asked) in of(is_bound) {
        let is_right = |it: &Software| {
            let of_name = conditions.iter().filter(|other| other.name == it.name);
            let mut bounds = of_name.filter(|other| other.relation != Relation::Equal);
            it.name == asked.name && bounds.all(|other| is_met(other, it))
        };
        if chosen.iter().any(|it| is_right(&it.software)) {
            continue;
        }
        let right = published.iter().filter(|it| is_right(it));
        let found = right.max_by(|a, b| higher(&a.version, &b.version)).ok_or(asked)?;
        chosen.push(ChosenEnvironment { software: found.clone(), condition });
    }
    Ok(chosen)
}

fn is_met(condition: &SoftwareCondition, by: &Software) -> bool {
    let SoftwareCondition { relation, name, version } = condition;
    let asked = Software { name: name.clone(), version: version.clone() };
    relation.holds(by.compare(&asked))
}

fn higher(a: &str, b: &str) -> Ordering {
    compare_versions(a, b).unwrap_or(Ordering::Equal)
}
