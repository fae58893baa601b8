//! From how many files on a copy of a dataset counts as whole for production jobs (spec atlas F1).

use super::locality::Enough;
use crate::event::{Dataset, Task};
use crate::policy::param::{Param, Unit};
use crate::policy::typed::params;

params! {
    /// The parameters of it.
    Completeness {
        missing_most: f64 = Param::int("MAX_MISSING_INPUT_FILES", 10, 10)
            .unit(Unit::Files)
            .gdp("jobbroker/MAX_MISSING_INPUT_FILES")
            .help("files that may be missing of a complete copy"),
        complete_percent: f64 = Param::float("MIN_INPUT_COMPLETENESS", (0.0, 100.0), 90.0, 90.0)
            .unit(Unit::Percent)
            .gdp("jobbroker/MIN_INPUT_COMPLETENESS")
            .help("part of the files that makes a copy complete"),
    }
}

impl Completeness {
    /// The same as a measure of copies.
    pub(super) fn enough(self) -> Enough {
        Enough { missing: self.missing_most, percent: self.complete_percent }
    }

    /// Whether the input of a task is whole enough at an endpoint: all of its datasets are, or
    /// there is no endpoint where all are, so that none is preferred.
    pub(super) fn holds(self, task: &Task, endpoint: &str) -> bool {
        let enough = self.enough();
        let is_at = |endpoint: &str| {
            asked_datasets(task).all(|dataset| {
                let mut copies = dataset.replicas.iter().filter(|it| it.endpoint == endpoint);
                copies.any(|copy| enough.is_met(copy))
            })
        };
        // An endpoint that has all of it has a copy of the first dataset.
        let first = || asked_datasets(task).next().into_iter().flat_map(|it| &it.replicas);
        is_at(endpoint) || !first().any(|copy| is_at(&copy.endpoint))
    }
}

/// The datasets that must be whole somewhere: those that are no stand-ins, neither spread over
/// endpoints on purpose nor a part of a container.
pub(super) fn asked_datasets(task: &Task) -> impl Iterator<Item = &Dataset> {
    let all = task.input.datasets.iter();
    all.filter(|it| !it.pseudo && !it.distributed && it.container.is_empty())
}
