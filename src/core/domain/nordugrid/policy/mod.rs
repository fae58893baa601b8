//! NorduGrid brokering (spec cms-nordugrid, Part B): for one job description, the best queue of a
//! cluster.
//!
//! From below: records of `event` and `state`, indexed for the rules (`names`, `discovery`,
//! `windows`, `job_state`, `ahead`, `software`, `files`, `grid_facts`); one job and one target
//! under judgement (`case`, `target`, `staging`, `figures`); filters (`prechecks`, `attributes`,
//! `limits`, `space`) and keys of the rank (`ranking`); the choice (`choice`), the whole decision
//! (`decide`) and what it changes (`changes`).

mod ahead;
mod attributes;
pub mod case;
pub mod changes;
pub mod choice;
pub mod decide;
mod declared;
pub mod discovery;
pub mod figures;
mod files;
pub mod grid_facts;
pub mod job_state;
mod kind;
mod limits;
pub mod names;
mod params;
mod prechecks;
pub mod rank;
mod ranking;
mod software;
mod space;
mod staged;
pub mod staging;
pub mod target;
pub mod windows;

#[cfg(test)]
mod tests;

pub use ahead::{
    Ahead, Amount, Held, KnownJob, TargetContribution, TimeNeeded, Until, contributions,
};
pub use declared::Targets;
pub(crate) use kind::NORDUGRID;
pub(crate) use params::info_ttl_s;
