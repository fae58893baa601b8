//! Copies that do not count since they are not whole (spec atlas F13).

use crate::domain::atlas::policy::WholeCopies;
use crate::event::{Dataset, Task};
use std::collections::BTreeMap;

/// Datasets of a task's input, each with an endpoint whose copy of it does not count; in order. A
/// container counts with its parts: it has a whole copy where one of them has.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PartialCopies(Vec<(u32, String)>);

impl PartialCopies {
    /// Those of a task, by the rule for its datasets.
    pub(crate) fn of(task: &Task, rule: WholeCopies) -> PartialCopies {
        let wants_whole = |dataset: &Dataset| match rule {
            WholeCopies::OfNone => false,
            WholeCopies::OfSecondary => !dataset.primary,
            WholeCopies::OfAll => true,
        };
        let datasets = || (0u32..).zip(&task.input.datasets);
        let whole = |it: &(u32, &Dataset)| it.1.container.is_empty() && wants_whole(it.1);
        let roots = datasets().filter(whole).map(|(at, dataset)| (dataset.name.as_str(), at));
        let roots: BTreeMap<&str, u32> = roots.collect();
        // By dataset and endpoint, whether there is a whole copy.
        let mut found: BTreeMap<(u32, &str), bool> = BTreeMap::new();
        for (_, dataset) in datasets().filter(|_| !roots.is_empty()) {
            let root = match dataset.container.as_str() {
                "" => dataset.name.as_str(),
                container => container,
            };
            let Some(root) = roots.get(root) else { continue };
            for replica in &dataset.replicas {
                let is_whole = replica.files >= replica.files_total;
                *found.entry((*root, &replica.endpoint)).or_default() |= is_whole;
            }
        }
        let partial = found.into_iter().filter(|(_, is_whole)| !is_whole);
        PartialCopies(partial.map(|((at, endpoint), _)| (at, endpoint.to_owned())).collect())
    }

    /// Whether a copy of a dataset at an endpoint counts.
    pub(crate) fn counts(&self, dataset: u32, endpoint: &str) -> bool {
        let is_it = |(at, name): &(u32, String)| (*at, name.as_str()).cmp(&(dataset, endpoint));
        self.0.is_empty() || self.0.binary_search_by(is_it).is_err()
    }
}
