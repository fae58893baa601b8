//! The declaration of a filter and of a rank key of the kind: both are without parameters of their
//! own, since the kind's parameters serve several.

/// A filter of pending jobs: `job_filter!("cores", "C-52", "help", &CORES, judge)`.
macro_rules! job_filter {
    ($name:expr, $spec:expr, $help:expr, $reason:expr, $judge:expr $(,)?) => {
        $crate::policy::Filter {
            name: $name,
            spec: $spec,
            help: $help,
            reasons: &[$reason],
            params: &[],
            reads: &[],
            temporary: false,
            applies: $crate::policy::Applies::Always,
            judge: $crate::policy::FilterFunction::Job($judge),
        }
    };
}

/// A rank key of pending jobs: `job_key!("overflow", "C-13", "help", key)`.
macro_rules! job_key {
    ($name:expr, $spec:expr, $help:expr, $key:expr $(,)?) => {
        $crate::policy::Weight {
            name: $name,
            spec: $spec,
            help: $help,
            params: &[],
            figures: &[],
            reads: &[],
            weigh: $crate::policy::Weigh::JobKey($key),
        }
    };
}

pub(super) use {job_filter, job_key};
