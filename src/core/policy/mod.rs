//! Candidates, filters, weights, selection: how one case is judged.
//!
//! A filter sees one case and one candidate; it looks nothing up, counts nothing, remembers
//! nothing. A policy is data: which filters may object, in which order, with which parameters.
//!
//! From below: parameters (`param`, `typed`), what is judged (`case`, `candidate`), how (`declare`,
//! `queues`, `filter/`, `weight/`), the kinds of policy (`flavour`, `atlas`, `analysis`, `task/`;
//! `domain` for those that programs bring) and their list (`kinds`), a policy that is ready to
//! judge (`compile`, `picked`) and judging with it (`applicable`, `walk`, `joint`, `pipeline`).

mod analysis;
mod applicable;
mod atlas;
mod candidate;
mod caps;
mod case;
mod class;
pub mod cms;
mod compile;
mod declare;
mod divide;
mod domain;
mod filter;
mod flavour;
mod holder;
mod joint;
mod judgement;
mod kinds;
mod lists;
pub mod locality;
mod make;
pub mod nordugrid;
pub mod note;
mod offers;
pub mod owner;
mod param;
pub mod phrase;
mod picked;
mod pipeline;
mod queues;
pub mod rank;
mod resolved;
pub mod room;
pub mod rule;
pub mod site;
pub mod software;
mod spec;
mod stabilizer;
pub mod task;
pub mod throttling;
mod typed;
mod values;
mod verdict;
mod wait;
mod walk;
mod weighed;
mod weight;

#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;

pub use crate::state::ledger::Totals;
pub use applicable::Applicable;
pub use candidate::{Candidate, LinkView, Row, Stores};
pub use case::{Asked, Bare, Case, Known, Nucleus, Preassigned, Times, WholeCopies};
pub use class::{TASK_CLASSES, task_class_name};
pub use compile::Policy;
pub use declare::{
    Applies, Before, Filter, FilterFunction, FilterOf, Judged, Never, Reads, RuleBook, RulesOf,
    Weigh, Weight, WeightOf,
};
pub use domain::{
    Domain, DomainAnswer, DomainChoice, DomainCommand, DomainFacts, DomainQuestion, DomainRules,
    DomainTile, DomainView,
};
pub use flavour::{Flavour, NucleusStyle, Plan, QueueStyle, Select, Style};
pub use judgement::{Candidates, Chosen, Judgement, Refused};
pub use kinds::{factors, kind, kinds, register};
pub use lists::ListParam;
pub use locality::{Locality, Source};
pub use make::{Make, OneByOne};
pub use owner::{CLASSED, Owner, Slots, UserView};
pub use param::{Arg, Kind, ListedStep, Mistake, Param, Rules, Unit};
pub use queues::{QueueFilter, QueueWeight, Queues};
pub use resolved::Resolved;
pub use room::Room;
pub use site::SiteRules;
pub use software::Wanted;
pub use spec::{PolicySpec, Wake};
use typed::read;
pub use values::Values;
pub use verdict::{Objection, Reason, Verdict};
pub use wait::{Wait, WaitReason};
pub use weighed::Weighed;
