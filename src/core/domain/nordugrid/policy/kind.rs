//! The kind of policy of NorduGrid jobs.

use super::params::Own;
use super::{attributes, prechecks, ranking, space};
use crate::policy::declare::RuleBook;
use crate::policy::flavour::{Flavour, Style};
use crate::unit::MINUTE;

/// Brokering of NorduGrid jobs: the first target by rank, ties by a seeded weighted draw.
pub(crate) static NORDUGRID: Flavour = Flavour {
    name: "nordugrid",
    spec: "cms-nordugrid B",
    help: "the queue of a cluster for a NorduGrid job",
    params: Own::DECLARED,
    defer: MINUTE,
    style: Style::Targets(RuleBook {
        filters: &[
            &prechecks::INFORMATION,
            &prechecks::STATUS,
            &prechecks::AUTHORISED,
            &prechecks::FULL,
            &prechecks::CPUS,
            &attributes::CLUSTER,
            &attributes::QUEUE,
            &attributes::COUNT,
            &attributes::CPU_TIME,
            &attributes::GRID_TIME,
            &attributes::MEMORY,
            &attributes::ARCHITECTURE,
            &attributes::MIDDLEWARE,
            &attributes::RUNTIME_ENVIRONMENT,
            &attributes::OPERATING_SYSTEM,
            &attributes::NODE_ACCESS,
            &attributes::WALL_TIME,
            &space::LOCATION,
            &space::SIZES,
            &space::CACHE,
            &space::DISK,
            &prechecks::NOT_EXCLUDED,
        ],
        weights: &[
            &ranking::NOT_FREE,
            &ranking::REMOTE_BYTES,
            &ranking::LOCAL_BYTES,
            &ranking::QUEUE_RATIO,
        ],
    }),
};
