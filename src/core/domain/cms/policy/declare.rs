//! The declaration of a filter and of a rank key of the kind: both are without parameters of their
//! own, since the kind's parameters serve several.

use super::key::JobKey;
use super::look::{Look, Pending};
use crate::policy::declare::{FilterOf, Judged, Never, WeightOf};

/// A slot offer, and the pending jobs that may get it.
#[derive(Clone, Copy, Debug)]
pub enum Jobs {}

impl Judged for Jobs {
    type Case<'a> = Look<'a>;
    type Candidate<'a> = Pending<'a>;
    type Weighed = Never;
    type After = Never;
    type Whole = Never;
    type Figure = Never;
    type Factor = Never;
    type Key = JobKey;
}

/// A filter of pending jobs.
pub type JobFilter = FilterOf<Jobs>;
/// A rank key of pending jobs.
pub type JobRankKey = WeightOf<Jobs>;

/// A filter of pending jobs: `job_filter!("cores", "C-52", "help", &CORES, judge)`.
macro_rules! job_filter {
    ($name:expr, $spec:expr, $help:expr, $reason:expr, $judge:expr $(,)?) => {
        $crate::domain::cms::policy::declare::JobFilter::before(
            $crate::policy::Filter {
                name: $name,
                spec: $spec,
                help: $help,
                reasons: &[$reason],
                params: &[],
                reads: &[],
                temporary: false,
            },
            $crate::policy::Applies::Always,
            |look, pending, _| $judge(look, pending),
        )
    };
}

/// A rank key of pending jobs: `job_key!("overflow", "C-13", "help", key)`.
macro_rules! job_key {
    ($name:expr, $spec:expr, $help:expr, $key:expr $(,)?) => {
        $crate::domain::cms::policy::declare::JobRankKey::key(
            $crate::policy::Weight {
                name: $name,
                spec: $spec,
                help: $help,
                params: &[],
                figures: &[],
                reads: &[],
            },
            $key,
        )
    };
}

pub(super) use {job_filter, job_key};
