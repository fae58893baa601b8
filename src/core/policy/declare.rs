//! The declaration of a filter and of a weight.
//!
//! A kind of candidates is a [`Judged`] type; a filter or weight is one of that kind, and its
//! functions take a case and candidates of the kind, so that none of another kind fits its list.
//!
//! `filter!` and `weight!` write one with the struct of its parameters: the functions take that
//! struct, and the declaration holds functions that make it of the values in force. So
//!
//! ```text
//! filter!(Cap of Queues, (Case<'_>, Candidate<'_>, Weighed) {
//!     name: "cap", .., applies: When(is_asked), judge: After(judge)
//! })
//! ```
//!
//! becomes
//!
//! ```text
//! FilterOf::<Queues> {
//!     filter: Filter { name: "cap", .., params: Cap::DECLARED },
//!     applies: {
//!         fn of_values(case: &Case<'_>, values: &Values) -> bool {
//!             is_asked(case, &read!(Cap, values))
//!         }
//!         Applies::To(of_values)
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

use super::param::Param;
use super::values::{Reader, Values};
use super::verdict::{Reason, Verdict};
use std::convert::Infallible;

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

/// A kind of case and of candidates, with the functions that its filters and weights may have. A
/// filter or weight is declared for one kind, so that none of another fits into its list, nor one
/// that judges in a manner that the kind has not: [`Never`] stands for such a function.
pub trait Judged: 'static {
    /// A case: what asks for an answer, with what is known of it.
    type Case<'a>;
    /// A candidate of a case.
    type Candidate<'a>;
    /// What weighing finds of a candidate.
    type Weighed;
    /// Judgement of one candidate with the weight known.
    type After: Copy + Send + Sync;
    /// Judgement, or weighing, of all candidates that are left, at once.
    type Whole: Copy + Send + Sync;
    /// Figures of a candidate that later weights and the filters after weighing use.
    type Figure: Copy + Send + Sync;
    /// A factor of a candidate's weight: finite, not negative.
    type Factor: Copy + Send + Sync;
    /// A key of a candidate's rank.
    type Key: Copy + Send + Sync;
}

/// A function that filters and weights of a kind do not have: there is none.
pub type Never = Infallible;

/// Description of an objection that there may be.
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
}

/// A filter with its functions for a kind of candidates.
pub struct FilterOf<K: Judged> {
    /// Its description.
    pub filter: Filter,
    /// Whether it is asked for a case at all, whatever the candidate; where it is not, it passes
    /// all. Read in one place, when it is known which filters a case has.
    pub applies: Applies<K>,
    /// How it judges.
    pub judge: FilterFunction<K>,
}

impl<K: Judged> FilterOf<K> {
    /// A filter that judges one candidate after the other, before these are weighed.
    pub const fn before(filter: Filter, applies: Applies<K>, judge: Before<K>) -> FilterOf<K> {
        FilterOf { filter, applies, judge: FilterFunction::Before(judge) }
    }
}

/// Whether a filter is asked for a case.
pub enum Applies<K: Judged> {
    /// For every one.
    Always,
    /// Where this holds.
    To(fn(&K::Case<'_>, &Values) -> bool),
}

/// How a filter judges: before weighing, or with the weight known.
pub enum FilterFunction<K: Judged> {
    /// Before weighing.
    Before(Before<K>),
    /// After weighing.
    After(K::After),
    /// Before weighing, all candidates at once: the verdict on one depends on the others.
    Whole(K::Whole),
    /// After weighing, all candidates at once.
    Last(K::Whole),
    /// Those that were taken as the best, at once: where it objects to one, none takes its place.
    Kept(K::Whole),
}

impl<K: Judged> FilterFunction<K> {
    /// Whether the filter sees all candidates: its verdict on one depends on the others.
    pub const fn is_joint(&self) -> bool {
        match self {
            FilterFunction::Before(_) | FilterFunction::After(_) => false,
            FilterFunction::Whole(_) | FilterFunction::Last(_) | FilterFunction::Kept(_) => true,
        }
    }
}

impl<K: Judged> Clone for Applies<K> {
    fn clone(&self) -> Applies<K> {
        *self
    }
}

impl<K: Judged> Copy for Applies<K> {}

/// A judgement before weighing.
pub type Before<K> =
    for<'a, 'b> fn(&<K as Judged>::Case<'a>, &<K as Judged>::Candidate<'b>, &Values) -> Verdict;

/// Description of a weight that there may be.
pub struct Weight {
    /// Its name: its file and its name in the topology file.
    pub name: &'static str,
    /// The rule's place in the specification.
    pub spec: &'static str,
    /// One line for an operator.
    pub help: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// The figures it leaves behind in [`Weighed::factors`](super::Weighed::factors), in order,
    /// each with its meaning and unit.
    pub figures: &'static [(&'static str, &'static str)],
    /// Kinds of facts that it reads beyond configuration.
    pub reads: &'static [Reads],
}

/// A weight with its function for a kind of candidates.
pub struct WeightOf<K: Judged> {
    /// Its description.
    pub weight: Weight,
    /// How it weighs.
    pub weigh: Weigh<K>,
}

impl<K: Judged> WeightOf<K> {
    /// A factor of the weight.
    pub const fn factor(weight: Weight, factor: K::Factor) -> WeightOf<K> {
        WeightOf { weight, weigh: Weigh::Factor(factor) }
    }

    /// A key of the rank.
    pub const fn key(weight: Weight, key: K::Key) -> WeightOf<K> {
        WeightOf { weight, weigh: Weigh::Key(key) }
    }

    /// The function of a key of the rank; `None`: it is none.
    pub(crate) fn key_function(&self) -> Option<K::Key> {
        match self.weigh {
            Weigh::Key(key) => Some(key),
            Weigh::Figure(_) | Weigh::Factor(_) | Weigh::Whole(_) => None,
        }
    }
}

/// Function of a weight. It leaves exactly its declared figures behind, all of them finite; -1
/// stands for "not known".
pub enum Weigh<K: Judged> {
    /// Figures that later weights and the filters after weighing use; no factor.
    Figure(K::Figure),
    /// A factor of the weight: finite, not negative.
    Factor(K::Factor),
    /// A factor that depends on all candidates; each row's `factor` is set: finite, not negative.
    Whole(K::Whole),
    /// A key of the rank.
    Key(K::Key),
}

/// Filters and weights of a kind, in the order of the specification.
pub struct RuleBook<K: Judged> {
    /// The filters.
    pub filters: &'static [&'static FilterOf<K>],
    /// The weights.
    pub weights: &'static [&'static WeightOf<K>],
}

impl<K: Judged> RuleBook<K> {
    /// The rules of some names, in their order.
    pub(crate) fn of(&self, filters: &[&Filter], weights: &[&Weight]) -> RulesOf<K> {
        let filter = |named: &&Filter| self.filters.iter().find(|it| it.filter.name == named.name);
        let weight = |named: &&Weight| self.weights.iter().find(|it| it.weight.name == named.name);
        RulesOf {
            filters: filters.iter().filter_map(filter).copied().collect(),
            weights: weights.iter().filter_map(weight).copied().collect(),
        }
    }
}

/// Filters and weights of a policy, in its order, with their functions.
pub struct RulesOf<K: Judged> {
    /// The filters.
    pub(crate) filters: Vec<&'static FilterOf<K>>,
    /// The weights.
    pub(crate) weights: Vec<&'static WeightOf<K>>,
}

/// Descriptions of filters and weights, whatever their candidates are.
pub trait DescribedRules: Sync {
    /// The filters.
    fn filters(&self) -> Vec<&'static Filter>;
    /// The weights.
    fn weights(&self) -> Vec<&'static Weight>;
    /// Whether a weight leaves figures alone, and is no factor.
    fn is_figure(&self, weight: &str) -> bool;
}

impl<K: Judged> DescribedRules for RuleBook<K> {
    fn filters(&self) -> Vec<&'static Filter> {
        self.filters.iter().map(|it| &it.filter).collect()
    }

    fn weights(&self) -> Vec<&'static Weight> {
        self.weights.iter().map(|it| &it.weight).collect()
    }

    fn is_figure(&self, weight: &str) -> bool {
        let is_it = |it: &&&WeightOf<K>| it.weight.name == weight;
        self.weights.iter().find(is_it).is_some_and(|it| matches!(it.weigh, Weigh::Figure(_)))
    }
}

/// The parameters of a filter or a weight that has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NoParams;

impl NoParams {
    /// Of no value.
    pub(crate) const COUNT: usize = 0;

    /// Nothing.
    pub(crate) const DECLARED: &'static [Param] = &[];

    /// Made of nothing.
    #[inline(always)]
    pub(crate) fn read(_: &mut Reader<'_>) -> NoParams {
        NoParams
    }
}

/// Declares a [`Filter`] of a parameter struct and functions that take it. The functions of values
/// are items beside those of typed parameters, so that the compiler makes one of both.
macro_rules! filter {
    (@applies ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident Always) => {
        $crate::policy::Applies::<$kind>::Always
    };
    (
        @applies ($kind:ty, $case:ty, $candidate:ty, $weighed:ty)
        $params:ident When($applies:expr)
    ) => {{
        fn of_values(
            case: &$case,
            values: &$crate::policy::Values,
        ) -> bool {
            $applies(case, &$crate::policy::read!($params, values))
        }
        $crate::policy::Applies::<$kind>::To(of_values)
    }};
    (@judge Before ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident $judge:expr) => {{
        fn of_values(
            case: &$case,
            candidate: &$candidate,
            values: &$crate::policy::Values,
        ) -> $crate::policy::Verdict {
            $judge(case, candidate, &$crate::policy::read!($params, values))
        }
        $crate::policy::FilterFunction::<$kind>::Before(of_values)
    }};
    (@judge After ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident $judge:expr) => {{
        fn of_values(
            case: &$case,
            candidate: &$candidate,
            weighed: &$weighed,
            values: &$crate::policy::Values,
        ) -> $crate::policy::Verdict {
            $judge(case, candidate, weighed, &$crate::policy::read!($params, values))
        }
        $crate::policy::FilterFunction::<$kind>::After(of_values)
    }};
    (
        @judge $together:ident ($kind:ty, $case:ty, $candidate:ty, $weighed:ty)
        $params:ident $judge:expr
    ) => {
        $crate::policy::FilterFunction::<$kind>::$together(|case, rows, values| {
            $judge(case, rows, &$crate::policy::read!($params, values))
        })
    };
    ($params:ident of $kind:ty, ($case:ty, $candidate:ty, $weighed:ty) {
        name: $name:expr,
        spec: $spec:expr,
        help: $help:expr,
        reasons: $reasons:expr,
        reads: $reads:expr,
        temporary: $temporary:expr,
        applies: $when:ident $(($applies:expr))?,
        judge: $how:ident($judge:expr) $(,)?
    }) => {
        $crate::policy::FilterOf::<$kind> {
            filter: $crate::policy::Filter {
                name: $name,
                spec: $spec,
                help: $help,
                reasons: $reasons,
                params: $params::DECLARED,
                reads: $reads,
                temporary: $temporary,
            },
            applies: $crate::policy::declare::filter!(
                @applies ($kind, $case, $candidate, $weighed) $params $when $(($applies))?
            ),
            judge: $crate::policy::declare::filter!(
                @judge $how ($kind, $case, $candidate, $weighed) $params $judge
            ),
        }
    };
}

/// Declares a [`WeightOf`] of a parameter struct and a function that takes it.
macro_rules! weight {
    (@weigh Whole ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident $weigh:expr) => {
        $crate::policy::Weigh::<$kind>::Whole(|case, rows, values| {
            $weigh(case, rows, &$crate::policy::read!($params, values))
        })
    };
    (@weigh Figure ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident $weigh:expr) => {
        $crate::policy::declare::weight!(
            @alone Figure (()) ($kind, $case, $candidate, $weighed) $params $weigh
        )
    };
    (@weigh Factor ($kind:ty, $case:ty, $candidate:ty, $weighed:ty) $params:ident $weigh:expr) => {
        $crate::policy::declare::weight!(
            @alone Factor (f64) ($kind, $case, $candidate, $weighed) $params $weigh
        )
    };
    (
        @alone $how:ident ($gives:ty) ($kind:ty, $case:ty, $candidate:ty, $weighed:ty)
        $params:ident $weigh:expr
    ) => {{
        fn of_values(
            case: &$case,
            candidate: &$candidate,
            values: &$crate::policy::Values,
            weighed: &mut $weighed,
        ) -> $gives {
            $weigh(case, candidate, &$crate::policy::read!($params, values), weighed)
        }
        $crate::policy::Weigh::<$kind>::$how(of_values)
    }};
    ($params:ident of $kind:ty, ($case:ty, $candidate:ty, $weighed:ty) {
        name: $name:expr,
        spec: $spec:expr,
        help: $help:expr,
        figures: $figures:expr,
        reads: $reads:expr,
        weigh: $how:ident($weigh:expr) $(,)?
    }) => {
        $crate::policy::WeightOf::<$kind> {
            weight: $crate::policy::Weight {
                name: $name,
                spec: $spec,
                help: $help,
                params: $params::DECLARED,
                figures: $figures,
                reads: $reads,
            },
            weigh: $crate::policy::declare::weight!(
                @weigh $how ($kind, $case, $candidate, $weighed) $params $weigh
            ),
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

pub(crate) use {filter, typed, weight};
