//! What a simulated grid is made of: configuration records, imported or built in.

use crate::core::event::{Link, Queue, QueueStatus, Site, Storage};
use crate::core::id::hash;
use std::fmt;

/// The configuration of a grid, as the records on the configuration topics say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Queues and pseudo-queues. Those of one `unified` name share its cores.
    pub queues: Vec<Queue>,
    /// Sites; at least one active nucleus.
    pub sites: Vec<Site>,
    /// Storage endpoints. Without any, no task has input.
    pub storages: Vec<Storage>,
    /// Links. One that is missing is as fast as a middling one.
    pub links: Vec<Link>,
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

/// Whether jobs can be sent to a queue as it was configured.
pub(super) fn takes_production(queue: &Queue) -> bool {
    let parent = queue.ucore && queue.resource_type.is_empty();
    let serves = match queue.status {
        QueueStatus::Online | QueueStatus::Standby => true,
        QueueStatus::Brokeroff | QueueStatus::Test | QueueStatus::Offline | QueueStatus::Paused => {
            false
        }
    };
    queue.production && !parent && serves && !queue.cloud.is_empty()
}

/// How large a queue is beside others: a draw that depends on its name and the seed alone. A few
/// large ones, many small ones, about as the sites of LCG: the top one has a sixth of all.
pub(super) fn size(seed: u64, name: &str) -> f64 {
    let mut dice = crate::sim::dice::Dice::new(seed ^ hash(name.as_bytes()), "size");
    dice.measured(&[0.15, 0.4, 1.0, 2.2, 4.5, 7.0, 14.0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unfit_says_what_to_do() {
        let said = [
            Unfit::Scale(-1.0).to_string(),
            Unfit::Queues { found: 3 }.to_string(),
            Unfit::Nuclei { found: 0 }.to_string(),
        ];
        assert_eq!(
            said,
            [
                "scale -1: give a number above 0 (1 is about ATLAS: 300,000 cores)",
                "none of 3 queues is online and takes production jobs: import some",
                "none of 0 sites is an active nucleus: import some",
            ]
        );
    }

    #[test]
    fn sizes_are_skewed_and_depend_on_seed_and_name() {
        let mut sizes: Vec<f64> = (0..200).map(|at| size(1, &format!("Q{at}"))).collect();
        sizes.sort_by(f64::total_cmp);
        assert!(sizes[190] > 5.0 * sizes[100]);
        assert_ne!(size(1, "Q1"), size(2, "Q1"));
    }
}
