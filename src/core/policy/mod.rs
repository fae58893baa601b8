//! Candidates, filters, weights, selection: how one case is judged.
//!
//! A filter sees one case and one candidate; it looks nothing up, counts nothing, remembers
//! nothing. A policy is data: which filters may object, in which order, with which parameters.

mod analysis;
mod atlas;
mod candidate;
mod class;
mod compile;
mod divide;
mod filter;
mod flavour;
mod hold;
pub mod locality;
pub mod owner;
mod param;
mod pipeline;
pub mod rule;
pub mod site;
mod slate;
pub mod software;
mod spec;
mod stabilizer;
pub mod task;
mod walk;
mod weight;

#[cfg(test)]
pub mod sample;
#[cfg(test)]
mod tests;

pub use crate::core::state::ledger::Totals;
pub use candidate::{Candidate, LinkView, Row, Stores};
pub use compile::{Policy, Resolved};
pub use flavour::{Flavour, Plan, Select, kind, kinds};
pub use locality::{Locality, Source};
pub use owner::{CLASSED, Owner, Slots, UserView};
pub use param::{Arg, Args, Kind, Mistake, Param, Rules, Step};
pub use pipeline::{Candidates, Chosen, Judgement, Refused};
pub use site::SiteRules;
pub use software::Wanted;
pub use spec::{PolicySpec, Wake};

use crate::core::event::{Queue, Scope, Task};
use crate::core::unit::Millis;

/// The fixed part of a judgement: what is asked, when, and what holds for every candidate.
#[derive(Clone)]
pub struct Case<'a> {
    /// The request.
    pub task: &'a Task,
    /// The cycle's now.
    pub now: Millis,
    /// Express chunk: processing type `urgent` or high priority (spec atlas 0.3, DIFF-1).
    pub express: bool,
    /// Names in `task.site`: none, one (sitePre) or several (listPre) (spec atlas 2.1).
    pub preassigned: Preassigned,
    /// Files queued to the nucleus from all sources (spec atlas F3).
    pub queued_to_nucleus: u64,
    /// When the newest figure in `queued_to_nucleus` becomes too old to count; `None`: never.
    pub queued_to_nucleus_until: Option<Millis>,
    /// What is known of the task's nucleus.
    pub nucleus: Nucleus,
    /// Whether the input may be read from afar: some whole copy is open over the WAN (spec atlas
    /// F1).
    pub remote_source: bool,
    /// Whether every part of the input has a copy that can be read at all (spec atlas F1).
    pub readable_source: bool,
    /// What the task wants of software and hardware; made once, asked for each candidate.
    pub wanted: Wanted,
    /// Which pass over the candidates it is, from 1 (spec atlas 8.3).
    pub pass: u8,
    /// Which of a queue's endpoints count.
    pub scope: Scope,
    /// By dataset of the input and by copy of it: how it may be read there.
    pub sources: Vec<Vec<Source>>,
    /// Which queues hold the input; `None`: it is not asked, or not yet.
    pub locality: Option<Locality>,
    /// Queues it may use; empty: all (spec atlas G14).
    pub included: Vec<String>,
    /// Whose work it is.
    pub owner: Owner,
    /// How sites are classified.
    pub sites: SiteRules,
}

/// What is known of a nucleus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nucleus {
    /// Whether there is such a site.
    pub known: bool,
    /// Whether it takes full chains (spec atlas 7).
    pub bare: Bare,
    /// Whether its default output endpoint may be written over the WAN.
    pub write_wan: bool,
}

impl Nucleus {
    /// A nucleus of which nothing is known.
    pub const UNKNOWN: Nucleus = Nucleus { known: false, bare: Bare::No, write_wan: true };
}

/// Whether a queue or nucleus takes full chains (spec atlas 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bare {
    /// As any other.
    #[default]
    No,
    /// Full chains beside other work.
    Allow,
    /// Full chains alone.
    Only,
}

impl Bare {
    /// What a queue's flags say.
    pub fn of(queue: &Queue) -> Bare {
        match queue.flag("bareNucleus") {
            Some("only") => Bare::Only,
            Some("allow") => Bare::Allow,
            _ => Bare::No,
        }
    }
}

/// How the candidate list was given (spec atlas 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preassigned {
    /// All production-capable queues.
    No,
    /// One queue: `sitePre`.
    One,
    /// A list: `listPre`.
    List,
}

/// What a filter says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// No objection.
    Pass,
    /// An objection, with its numbers.
    Object(Objection),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objection {
    /// One of the words the filter declares.
    pub reason: &'static str,
    /// What was measured.
    pub measured: f64,
    /// What would have passed.
    pub limit: f64,
    /// When the objection may fall by the passing of time alone.
    pub recheck_at: Option<Millis>,
}

/// What a filter reads of a candidate beyond its configuration, the task and the policy: when one
/// of these changes, a waiting request that hangs on the filter is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// Jobs at the queue.
    Load,
    /// Nodes, workers and slots of the queue.
    Pilot,
    /// The link from the queue's storage site to the nucleus.
    Link,
    /// Files queued to the nucleus.
    Nucleus,
    /// Storage endpoints of the queue, or of the task's input.
    Storage,
    /// Work that remains at the nucleus.
    Work,
}

/// One objection there may be.
pub struct Filter {
    /// Its name: its file, its metric label, its word in the topology file (PanDA's criteria tag
    /// where there is one).
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
    /// Its reasons, each with the sentence that explains it; `{measured}` and `{limit}` stand for
    /// the numbers.
    pub reasons: &'static [(&'static str, &'static str)],
    /// Its parameters.
    pub params: &'static [Param],
    /// What it reads beyond configuration.
    pub reads: &'static [Reads],
    /// Whether what it objects to may be over soon: filters behind it are asked too, and their
    /// objection is told in place of its own (spec atlas 0.2, temporary).
    pub temporary: bool,
    /// Whether it has anything to say of a case, whatever the candidate; `None`: always. Where it
    /// says no, the filter passes all.
    pub applies: Option<fn(&Case<'_>, &Args) -> bool>,
    /// How it judges.
    pub judge: Judge,
}

/// How a filter judges: before weighing, or with the weight known.
#[derive(Clone, Copy)]
pub enum Judge {
    /// Before weighing.
    Before(Before),
    /// After weighing.
    After(After),
    /// Before weighing, all candidates at once: what is said of one hangs on the others.
    Whole(Whole),
    /// After weighing, all candidates at once.
    Last(Whole),
    /// All nuclei that are left, in a policy whose candidates are nuclei.
    Nuclei(task::Nuclei),
}

impl Judge {
    /// Whether the filter sees all candidates: its verdict on one depends on the others.
    pub fn is_joint(self) -> bool {
        match self {
            Judge::Before(_) | Judge::After(_) => false,
            Judge::Whole(_) | Judge::Last(_) | Judge::Nuclei(_) => true,
        }
    }
}

/// A judgement of all candidates at once.
pub type Whole = fn(&Case<'_>, &mut [Row<'_>], &Args);

/// A judgement before weighing.
pub type Before = fn(&Case<'_>, &Candidate<'_>, &Args) -> Verdict;

/// A judgement with the weight known.
pub type After = fn(&Case<'_>, &Candidate<'_>, &Weighed, &Args) -> Verdict;

/// One weight there may be.
pub struct Weight {
    /// Its name: its file and its word in the topology file.
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The figures it leaves behind in [`Weighed::factors`], in order, each with its meaning and
    /// unit.
    pub figures: &'static [(&'static str, &'static str)],
    /// What it reads beyond configuration.
    pub reads: &'static [Reads],
    /// How it weighs.
    pub weigh: Weigh,
}

/// What a weight gives. It leaves exactly its declared figures behind, all of them finite; -1
/// stands for "not known".
#[derive(Clone, Copy)]
pub enum Weigh {
    /// Figures that later weights and the filters after weighing use; no factor.
    Figure(fn(&Case<'_>, &Candidate<'_>, &Args, &mut Weighed)),
    /// A factor of the weight: finite, not negative.
    Factor(fn(&Case<'_>, &Candidate<'_>, &Args, &mut Weighed) -> f64),
    /// A factor that hangs on all candidates; each row's `factor` is set: finite, not negative.
    Whole(Whole),
    /// A factor of a nucleus's weight, in a policy whose candidates are nuclei.
    Nucleus(task::NucleusFactor),
}

/// The figures behind a candidate's weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighed {
    /// Number of running jobs used, R (spec atlas 2.5.1); the jobs running in the share when no
    /// weight on the policy's list says otherwise.
    pub running: f64,
    /// Network weight (spec atlas 4.2); 1 when no such weight is on the policy's list.
    pub network: f64,
    /// The product of all factors.
    pub total: f64,
    /// The factors, in the order of the policy's list, then the figures behind them; empty when
    /// they are not kept.
    pub factors: Vec<f64>,
    /// Whether `factors` are kept: they are for the few that are chosen.
    kept: bool,
}

impl Weighed {
    /// One whose factors are kept.
    fn kept() -> Weighed {
        Weighed { kept: true, ..Weighed::default() }
    }

    /// Leaves figures behind, in the order a weight declares them.
    #[inline]
    fn leave<const N: usize>(&mut self, figures: impl FnOnce() -> [f64; N]) {
        if self.kept {
            self.factors.extend(figures());
        }
    }
}

impl Case<'_> {
    /// Whether the whole input lies on disk at the candidate already, or there is none: jobs that
    /// wait for data are then not in the way (spec atlas 2.5.2).
    #[inline]
    pub fn is_local(&self, candidate: &Candidate<'_>) -> bool {
        candidate.available_bytes >= self.task.total_bytes
    }

    /// Whether the candidate belongs to the nucleus or shares its output storage.
    pub fn in_nucleus(&self, candidate: &Candidate<'_>) -> bool {
        let nucleus = self.task.nucleus.as_str();
        candidate.at_nucleus
            || (!nucleus.is_empty()
                && (candidate.queue.site == nucleus
                    || candidate.output.is_some_and(|storage| storage.site == nucleus)))
    }
}
