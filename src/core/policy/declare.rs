//! The declaration of a filter and of a weight.
//!
//! `filter!` and `weight!` write one with the struct of its parameters: the functions take that
//! struct, and the declaration holds functions that make it of the values in force. So
//!
//! ```text
//! filter!(Cap { name: "cap", .., applies: When(is_asked), judge: After(judge) })
//! ```
//!
//! becomes
//!
//! ```text
//! Filter {
//!     name: "cap",
//!     ..
//!     params: Cap::DECLARED,
//!     applies: {
//!         fn of_values(case: &Case<'_>, values: &Values) -> bool {
//!             is_asked(case, &read!(Cap, values))
//!         }
//!         Applies::ToCase(of_values)
//!     },
//!     judge: {
//!         fn of_values(
//!             case: &Case<'_>,
//!             candidate: &Candidate<'_>,
//!             weighed: &Weighed,
//!             values: &Values,
//!         ) -> Verdict {
//!             judge(case, candidate, weighed, &read!(Cap, values))
//!         }
//!         FilterFunction::After(of_values)
//!     },
//! }
//! ```

use super::candidate::{Candidate, Row};
use super::case::Case;
use super::cms::key::JobKey;
use super::cms::look::{Look, Pending};
use super::nordugrid::case::JobCase;
use super::nordugrid::figures::TargetFigures;
use super::nordugrid::staging::Staging;
use super::nordugrid::target::TargetCandidate;
use super::param::Param;
use super::rank::RankKey;
use super::task::{Course, NucleusCandidate, NucleusRow, TaskCase};
use super::values::{Reader, Values};
use super::verdict::{Reason, Verdict};
use super::weighed::Weighed;

/// A kind of facts that a filter reads of a candidate beyond its configuration, the task and the
/// policy: when one of these changes, a waiting request that the filter blocks is evaluated again.
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
    /// Its name: its file, its metric label, its name in the topology file (PanDA's criteria tag
    /// where there is one).
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator: see [`super::phrase`].
    pub help: &'static str,
    /// Its reasons.
    pub reasons: &'static [&'static Reason],
    /// Its parameters.
    pub params: &'static [Param],
    /// Kinds of facts that it reads beyond configuration.
    pub reads: &'static [Reads],
    /// Whether what it objects to may be over soon: filters behind it are asked too, and their
    /// objection is published in place of its own (spec atlas 0.2, temporary).
    pub temporary: bool,
    /// Whether it is asked for a case at all, whatever the candidate; where it is not, it passes
    /// all. Read in one place, when it is known which filters a case has.
    pub applies: Applies,
    /// How it judges.
    pub judge: FilterFunction,
}

/// Whether a filter is asked for a case.
#[derive(Clone, Copy)]
pub enum Applies {
    /// For every one.
    Always,
    /// Where this holds.
    ToCase(fn(&Case<'_>, &Values) -> bool),
    /// The same in a policy whose candidates are nuclei.
    ToTask(fn(&TaskCase<'_>, &Values) -> bool),
    /// The same in a policy whose candidates are targets.
    ToJob(fn(&JobCase<'_>, &Values) -> bool),
}

/// How a filter judges: before weighing, or with the weight known.
#[derive(Clone, Copy)]
pub enum FilterFunction {
    /// Before weighing.
    Before(Before),
    /// After weighing.
    After(After),
    /// Before weighing, all candidates at once: the verdict on one depends on the others.
    Whole(Whole),
    /// After weighing, all candidates at once.
    Last(Whole),
    /// Those that were taken as the best, at once: where it objects to one, none takes its place.
    Kept(Whole),
    /// All nuclei that are left, in a policy whose candidates are nuclei.
    Nuclei(Nuclei),
    /// One target, in a policy whose candidates are targets.
    Target(Target),
    /// One target with the sums of the job's input files there.
    Staged(Staged),
    /// A pending job before a slot offer, in a policy whose candidates are jobs.
    Job(JobJudge),
}

/// Of what the candidates of a kind of policy are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Candidacy {
    /// Queues.
    Queue,
    /// Nuclei.
    Nucleus,
    /// Targets: queues of clusters that take single jobs.
    Target,
    /// Jobs that wait.
    Job,
}

impl Candidacy {
    /// A word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Candidacy::Queue => "queues",
            Candidacy::Nucleus => "nuclei",
            Candidacy::Target => "targets",
            Candidacy::Job => "jobs",
        }
    }
}

impl FilterFunction {
    /// Which candidates the filter judges. In a policy of others it would be passed over.
    pub const fn candidacy(self) -> Candidacy {
        match self {
            FilterFunction::Before(_)
            | FilterFunction::After(_)
            | FilterFunction::Whole(_)
            | FilterFunction::Last(_)
            | FilterFunction::Kept(_) => Candidacy::Queue,
            FilterFunction::Nuclei(_) => Candidacy::Nucleus,
            FilterFunction::Target(_) | FilterFunction::Staged(_) => Candidacy::Target,
            FilterFunction::Job(_) => Candidacy::Job,
        }
    }

    /// Whether the filter sees all candidates: its verdict on one depends on the others.
    pub fn is_joint(self) -> bool {
        match self {
            FilterFunction::Before(_)
            | FilterFunction::After(_)
            | FilterFunction::Target(_)
            | FilterFunction::Staged(_)
            | FilterFunction::Job(_) => false,
            FilterFunction::Whole(_)
            | FilterFunction::Last(_)
            | FilterFunction::Kept(_)
            | FilterFunction::Nuclei(_) => true,
        }
    }
}

/// A judgement of all candidates at once.
pub type Whole = fn(&Case<'_>, &mut [Row<'_>], &Values);

/// A judgement before weighing.
pub type Before = fn(&Case<'_>, &Candidate<'_>, &Values) -> Verdict;

/// A judgement with the weight known.
pub type After = fn(&Case<'_>, &Candidate<'_>, &Weighed, &Values) -> Verdict;

/// A judgement of all nuclei that are left.
pub type Nuclei = fn(&TaskCase<'_>, &mut [NucleusRow<'_>], &mut Course, &Values);

/// A judgement of one target.
pub type Target = fn(&JobCase<'_>, &TargetCandidate<'_>, &Values) -> Verdict;

/// A judgement of one target by the job's input files there.
pub type Staged = fn(&JobCase<'_>, &TargetCandidate<'_>, &Staging, &Values) -> Verdict;

/// A key of a target's rank.
pub type RankWeigh = fn(&TargetFigures, &Values) -> RankKey;

/// A judgement of a pending job before a slot offer.
pub type JobJudge = fn(&Look<'_>, &Pending<'_>) -> Verdict;

/// A factor of a nucleus's weight: finite, not negative.
pub type NucleusFactor = fn(&TaskCase<'_>, &NucleusCandidate<'_>, &Course, &Values) -> f64;

/// One weight there may be.
pub struct Weight {
    /// Its name: its file and its name in the topology file.
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
    /// Kinds of facts that it reads beyond configuration.
    pub reads: &'static [Reads],
    /// How it weighs.
    pub weigh: Weigh,
}

/// Function of a weight. It leaves exactly its declared figures behind, all of them finite; -1
/// stands for "not known".
#[derive(Clone, Copy)]
pub enum Weigh {
    /// Figures that later weights and the filters after weighing use; no factor.
    Figure(fn(&Case<'_>, &Candidate<'_>, &Values, &mut Weighed)),
    /// A factor of the weight: finite, not negative.
    Factor(fn(&Case<'_>, &Candidate<'_>, &Values, &mut Weighed) -> f64),
    /// A factor that depends on all candidates; each row's `factor` is set: finite, not negative.
    Whole(Whole),
    /// A factor of a nucleus's weight, in a policy whose candidates are nuclei.
    Nucleus(NucleusFactor),
    /// A key of a target's rank, in a policy whose candidates are targets.
    Rank(RankWeigh),
    /// A key of the rank vector of a pending job, in a policy whose candidates are jobs; smaller
    /// goes first.
    JobKey(JobKey),
}

impl Weigh {
    /// Which candidates the weight weighs.
    pub const fn candidacy(self) -> Candidacy {
        match self {
            Weigh::Figure(_) | Weigh::Factor(_) | Weigh::Whole(_) => Candidacy::Queue,
            Weigh::Nucleus(_) => Candidacy::Nucleus,
            Weigh::Rank(_) => Candidacy::Target,
            Weigh::JobKey(_) => Candidacy::Job,
        }
    }
}

/// The parameters of a filter or a weight that has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct NoParams;

impl NoParams {
    /// Of no value.
    pub(super) const COUNT: usize = 0;

    /// Nothing.
    pub(super) const DECLARED: &'static [Param] = &[];

    /// Made of nothing.
    #[inline(always)]
    pub(super) fn read(_: &mut Reader<'_>) -> NoParams {
        NoParams
    }
}

/// Declares a [`Filter`] of a parameter struct and functions that take it. The functions of values
/// are items beside those of typed parameters, so that the compiler makes one of both.
macro_rules! filter {
    (@applies $kind:ident $params:ident Always) => {
        $crate::policy::Applies::Always
    };
    (@applies Nuclei $params:ident When($applies:expr)) => {{
        fn of_values(
            case: &$crate::policy::task::TaskCase<'_>,
            values: &$crate::policy::Values,
        ) -> bool {
            $applies(case, &$crate::policy::read!($params, values))
        }
        $crate::policy::Applies::ToTask(of_values)
    }};
    (@applies $kind:ident $params:ident When($applies:expr)) => {{
        fn of_values(
            case: &$crate::policy::Case<'_>,
            values: &$crate::policy::Values,
        ) -> bool {
            $applies(case, &$crate::policy::read!($params, values))
        }
        $crate::policy::Applies::ToCase(of_values)
    }};
    (@judge Before $params:ident $judge:expr) => {{
        fn of_values(
            case: &$crate::policy::Case<'_>,
            candidate: &$crate::policy::Candidate<'_>,
            values: &$crate::policy::Values,
        ) -> $crate::policy::Verdict {
            $judge(case, candidate, &$crate::policy::read!($params, values))
        }
        $crate::policy::FilterFunction::Before(of_values)
    }};
    (@judge After $params:ident $judge:expr) => {{
        fn of_values(
            case: &$crate::policy::Case<'_>,
            candidate: &$crate::policy::Candidate<'_>,
            weighed: &$crate::policy::Weighed,
            values: &$crate::policy::Values,
        ) -> $crate::policy::Verdict {
            $judge(case, candidate, weighed, &$crate::policy::read!($params, values))
        }
        $crate::policy::FilterFunction::After(of_values)
    }};
    (@judge Nuclei $params:ident $judge:expr) => {
        $crate::policy::FilterFunction::Nuclei(|case, rows, course, values| {
            $judge(case, rows, course, &$crate::policy::read!($params, values))
        })
    };
    (@judge $together:ident $params:ident $judge:expr) => {
        $crate::policy::FilterFunction::$together(|case, rows, values| {
            $judge(case, rows, &$crate::policy::read!($params, values))
        })
    };
    ($params:ident {
        name: $name:expr,
        spec: $spec:expr,
        help: $help:expr,
        reasons: $reasons:expr,
        reads: $reads:expr,
        temporary: $temporary:expr,
        applies: $when:ident $(($applies:expr))?,
        judge: $kind:ident($judge:expr) $(,)?
    }) => {
        $crate::policy::Filter {
            name: $name,
            spec: $spec,
            help: $help,
            reasons: $reasons,
            params: $params::DECLARED,
            reads: $reads,
            temporary: $temporary,
            applies: filter!(@applies $kind $params $when $(($applies))?),
            judge: filter!(@judge $kind $params $judge),
        }
    };
}

/// Declares a [`Weight`] of a parameter struct and a function that takes it.
macro_rules! weight {
    (@weigh Whole $params:ident $weigh:expr) => {
        $crate::policy::Weigh::Whole(|case, rows, values| {
            $weigh(case, rows, &$crate::policy::read!($params, values))
        })
    };
    (@weigh Nucleus $params:ident $weigh:expr) => {
        $crate::policy::Weigh::Nucleus(|case, nucleus, course, values| {
            $weigh(case, nucleus, course, &$crate::policy::read!($params, values))
        })
    };
    (@weigh Figure $params:ident $weigh:expr) => { weight!(@alone Figure (()) $params $weigh) };
    (@weigh Factor $params:ident $weigh:expr) => { weight!(@alone Factor (f64) $params $weigh) };
    (@alone $kind:ident ($gives:ty) $params:ident $weigh:expr) => {{
        fn of_values(
            case: &$crate::policy::Case<'_>,
            candidate: &$crate::policy::Candidate<'_>,
            values: &$crate::policy::Values,
            weighed: &mut $crate::policy::Weighed,
        ) -> $gives {
            $weigh(case, candidate, &$crate::policy::read!($params, values), weighed)
        }
        $crate::policy::Weigh::$kind(of_values)
    }};
    ($params:ident {
        name: $name:expr,
        spec: $spec:expr,
        help: $help:expr,
        figures: $figures:expr,
        reads: $reads:expr,
        weigh: $kind:ident($weigh:expr) $(,)?
    }) => {
        $crate::policy::Weight {
            name: $name,
            spec: $spec,
            help: $help,
            params: $params::DECLARED,
            figures: $figures,
            reads: $reads,
            weigh: weight!(@weigh $kind $params $weigh),
        }
    };
}

/// A function of typed parameters as one of the values they are made of:
/// `typed!(Own: lists(queue))` becomes `|queue, values| lists(queue, &read!(Own, values))`.
macro_rules! typed {
    ($params:ident: $function:ident($($argument:ident),*)) => {
        |$($argument,)* values| {
            $function($($argument,)* &$crate::policy::read!($params, values))
        }
    };
}

pub(in crate::policy) use {filter, typed, weight};
