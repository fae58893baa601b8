//! Parameters of the kind.

use crate::policy::typed::{params, read, words};
use crate::policy::{Param, Unit, Values};

words! {
    /// Treatment of an input of unknown size (N-15).
    SizeUnknown {
        Zero = "zero",
        Reject = "reject",
    }
}

params! {
    /// Parameters of the kind.
    Own {
        info_ttl_s: f64 = Param::int("info_ttl_s", 1800, 1800)
            .unit(Unit::Seconds)
            .help("a queue whose facts are older is not used (N-06)"),
        size_unknown: SizeUnknown =
            SizeUnknown::param("size_unknown", SizeUnknown::Zero, SizeUnknown::Zero).help(
                "what an input of unknown size counts as: nothing, with a flag, or a reason to \
                 reject every queue (N-15)",
            ),
        tag_ttl_s: f64 = Param::int("tag_ttl_s", 86_400, 86_400)
            .unit(Unit::Seconds)
            .help("how long a file that a job brings into a cache counts as there (N-27)"),
        registration_min_ttl_s: f64 = Param::int("registration_min_ttl_s", 600, 600)
            .unit(Unit::Seconds)
            .help("least time to live of a registration that states none (N-04)"),
        default_clock_mhz: f64 = Param::int("default_clock_mhz", 1000, 1000)
            .at_least(1)
            .help("clock of nodes, in MHz, where the cluster publishes none (N-14)"),
        reference_clock_mhz: f64 = Param::int("reference_clock_mhz", 2800, 2800)
            .at_least(1)
            .help("clock, in MHz, that the attribute gridtime is stated for (N-14)"),
    }
}

/// The age from which on the facts of a queue are not used (N-06); s.
pub(crate) fn info_ttl_s(own: &Values) -> i64 {
    let own: Own = read!(Own, own);
    own.info_ttl_s as i64
}
