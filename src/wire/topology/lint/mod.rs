//! Findings on values that are read without a mistake and still cannot be meant: rules that are
//! never due, caps that hold everything back, thresholds that contradict each other, parameters
//! that nothing reads.
//!
//! A mistake ends the reading of a file; a finding does not, since a file with findings runs. What
//! is found follows from the code that reads each value, not from what is usual.

mod commands;
mod finding;
mod inert;
mod limits;
mod overlap;
mod part;
mod places;
mod policies;
mod pool;
mod pool_rules;
mod task;
mod values;

pub use finding::{Finding, Severity};

use super::Topology;
use finding::Findings;
use places::Places;

/// Everything that is found in a file that was read without a mistake, in the order of its lines.
/// `file` is its name, for the findings, and `text` what the topology was read from.
pub fn findings(file: &str, text: &str, topology: &Topology) -> Vec<Finding> {
    let mut found = Findings::new(file, Places::of(text));
    commands::look(&mut found, topology);
    overlap::look(&mut found, topology);
    pool_rules::look(&mut found, topology);
    limits::look(&mut found, topology);
    for policy in &topology.policies {
        policies::look(&mut found, topology, policy);
        values::look(&mut found, policy);
        pool::look(&mut found, topology, policy);
        task::look(&mut found, topology, policy);
        inert::look(&mut found, policy);
    }
    found.in_order()
}
