//! Facts of a simulated grid: configuration records, imported or built in.

use crate::dice::Dice;
use std::fmt;
use yardmaster_core::event::{Link, Queue, QueueStatus, Site, Storage};
use yardmaster_core::id::hash;

/// The configuration of a grid, as the records on the configuration topics have it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Queues and pseudo-queues. Those of one `unified` name share its cores.
    pub queues: Vec<Queue>,
    /// Sites; at least one active nucleus, unless `is_generic`.
    pub sites: Vec<Site>,
    /// Storage endpoints. Without any, no task has input.
    pub storages: Vec<Storage>,
    /// Links. One that is missing is as fast as a middling one.
    pub links: Vec<Link>,
    /// Whether it is of a PanDA outside ATLAS: tasks ask its generic broker for queues of a cloud.
    pub is_generic: bool,
}

/// Why no grid can be made of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unfit {
    /// The scale is no positive number.
    Scale(f64),
    /// No queue takes production jobs.
    Queues {
        /// Queues there are.
        found: usize,
    },
    /// No active site is a nucleus.
    Nuclei {
        /// Sites there are.
        found: usize,
    },
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Scale(scale) => {
                write!(f, "scale {scale}: give a number above 0 (1 is about ATLAS: 300,000 cores)")
            }
            Unfit::Queues { found } => {
                write!(f, "none of {found} queues is online and takes production jobs: import some")
            }
            Unfit::Nuclei { found } => {
                write!(f, "none of {found} sites is an active nucleus: import some")
            }
        }
    }
}

impl std::error::Error for Unfit {}

/// Whether jobs of production can be sent to a queue as it was configured.
pub(super) fn takes_production(queue: &Queue) -> bool {
    queue.production && !queue.cloud.is_empty() && takes_jobs(queue)
}

/// Whether any jobs can be sent to a queue as it was configured.
pub(super) fn takes_jobs(queue: &Queue) -> bool {
    let parent = queue.ucore && queue.resource_type.is_empty();
    let serves = match queue.status {
        QueueStatus::Online | QueueStatus::Standby => true,
        QueueStatus::Brokeroff | QueueStatus::Test | QueueStatus::Offline | QueueStatus::Paused => {
            false
        }
    };
    (queue.production || queue.analysis) && !parent && serves
}

/// Part of an ordinary queue's cores that one for tests has.
const TEST: f64 = 0.02;

/// How large a queue is beside others: a draw that depends on its name and the seed alone. A few
/// large ones, many small ones: of 24, the top one has about an eighth of all (of LCG's a
/// sixth), and the smallest still take a bunch of jobs.
pub(super) fn size(seed: u64, name: &str) -> f64 {
    let mut dice = Dice::new(seed ^ hash(name.as_bytes()), "size");
    let drawn = dice.measured(&[0.5, 0.75, 1.1, 1.7, 2.6, 3.4, 4.5]);
    let test = name.to_ascii_lowercase().contains("test");
    if test { drawn * TEST } else { drawn }
}

#[cfg(test)]
mod tests {
    use super::super::{Grid, GridPlan};
    use super::*;

    #[test]
    fn what_is_unfit_says_what_to_do() {
        let published = [
            Unfit::Scale(-1.0).to_string(),
            Unfit::Queues { found: 3 }.to_string(),
            Unfit::Nuclei { found: 0 }.to_string(),
        ];
        assert_eq!(
            published,
            [
                "scale -1: give a number above 0 (1 is about ATLAS: 300,000 cores)",
                "none of 3 queues is online and takes production jobs: import some",
                "none of 0 sites is an active nucleus: import some",
            ]
        );
    }

    /// A demo of a PanDA outside ATLAS may be given a dump that names no site.
    #[test]
    fn nuclei_are_wanted_by_atlas_alone() {
        let plan = |facts: Facts| GridPlan {
            seed: 1,
            scale: 0.01,
            start: 0,
            hours: 1,
            domain: "d".into(),
            facts: Facts { sites: Vec::new(), ..facts },
            speed: 1,
            series: 0,
        };
        let unfit = Grid::new(plan(Facts::built_in())).err();
        assert_eq!(unfit, Some(Unfit::Nuclei { found: 0 }));
        assert_eq!(Grid::new(plan(Facts::built_in_generic())).err(), None);
    }

    #[test]
    fn sizes_are_skewed_and_depend_on_seed_and_name() {
        let mut sizes: Vec<f64> = (0..200).map(|at| size(1, &format!("Q{at}"))).collect();
        sizes.sort_by(f64::total_cmp);
        assert!(sizes[190] > 2.0 * sizes[100]);
        assert_ne!(size(1, "Q1"), size(2, "Q1"));
    }
}
