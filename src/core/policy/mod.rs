//! Candidates, filters, weights, selection: how one case is judged.
//!
//! A filter sees one case and one candidate; it looks nothing up, counts nothing, remembers
//! nothing. A policy is data: which filters may object, in which order, with which parameters.
//!
//! Here is what the policies of all domains have in common; the rules of each are in
//! `domain/*/policy/`.
//!
//! From below: parameters (`param`, `typed`), how rules are declared (`declare`), what a kind of
//! policy brings (`flavour`; `domain` for those that programs bring) and the list of kinds
//! (`kinds`), a policy that is ready to judge (`compile`, `picked`) and which of its filters a case
//! has (`applicable`).

pub(crate) mod applicable;
pub(crate) mod compile;
pub(crate) mod declare;
pub(crate) mod flavour;
mod kinds;
mod lists;
pub mod note;
pub(crate) mod param;
pub mod phrase;
mod picked;
pub(crate) mod resolved;
pub mod rule;
mod spec;
pub(crate) mod typed;
pub(crate) mod values;
pub(crate) mod verdict;
pub(crate) mod wait;

#[cfg(test)]
mod tests;

pub use crate::domain::atlas::policy::{
    Candidate, Case, Preassigned, QueueFilter, QueueWeight, Room, Weighed, WholeCopies,
};
pub use crate::domain::own::policy::{
    Domain, DomainAnswer, DomainChoice, DomainCommand, DomainFacts, DomainQuestion, DomainRules,
    DomainTile, DomainView, FilterIndex,
};
pub use crate::state::ledger::Totals;
pub use applicable::Applicable;
pub use compile::Policy;
pub use declare::{
    Applies, Before, Filter, FilterFunction, FilterOf, Judged, Never, Reads, RuleBook, RulesOf,
    Weigh, Weight, WeightOf,
};
pub use flavour::{Flavour, NucleusStyle, Plan, QueueStyle, Select, Style};
pub use kinds::{factors, kind, kinds, register};
pub use lists::ListParam;
pub use param::{Arg, Kind, ListedStep, Mistake, Param, Rules, Unit};
pub use resolved::Resolved;
pub use spec::{PolicySpec, Wake};
pub(crate) use typed::read;
pub use values::Values;
pub use verdict::{Objection, Reason, Verdict};
pub use wait::{Wait, WaitReason};
