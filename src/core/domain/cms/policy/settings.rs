//! The parameters of the kind (spec cms-nordugrid A.6, A.13 7; the choices CD-01..CD-11
//! are among them).

use super::bounds::{MAX_KAPPA_MILLI, whole};
use super::exit_codes::ExitCodes;
use super::facts::{MilliWeight, PerClass, Seconds};
use crate::policy::typed::{params, read, words};
use crate::policy::{ListParam, Param, Unit, Values};

words! {
    /// How cores are weighed (C-32).
    Accounting {
        Hs06 = "hs06",
        Cores = "cores",
    }
}

words! {
    /// Treatment of a HighIO job without a whitelist (C-04).
    HighIoBare {
        Reject = "reject",
        IgnoreFlag = "ignore_flag",
    }
}

words! {
    /// In what overflow slots are counted (C-38, CD-07).
    OverflowUnit {
        Jobs = "jobs",
        Cores = "cores",
    }
}

/// A whole number that is the same under both readings of the rules.
const fn int(name: &'static str, default: i64) -> Param {
    Param::int(name, default, default)
}

/// A truth value that is the same under both readings of the rules.
const fn flag(name: &'static str, default: bool) -> Param {
    Param::flag(name, default, default)
}

params! {
    /// Parameters of the kind `cms`.
    Own {
        accounting_mode: Accounting =
            Accounting::param("accounting_mode", Accounting::Hs06, Accounting::Hs06)
                .help("C-32: whether a core weighs its benchmark or 1"),
        reference_mhs06: f64 = int("reference_mhs06", 10_000).at_least(1)
            .help("F-1: the power of a core of weight 1, in thousandths of HS06"),
        half_life_s: f64 = int("half_life_s", 86_400).at_least(1).unit(Unit::Seconds)
            .help("F-2, CD-05: the time in which past usage counts half"),
        fifo_bucket_s: f64 = int("fifo_bucket_s", 21_600).unit(Unit::Seconds)
            .help("C-23, CD-01, CD-04: jobs queued within one bucket are ordered by closeness; 0: \
                   first come, first served"),
        tail_fraction_permille: f64 = int("tail_fraction_permille", 950)
            .help("C-16: the part of a workflow that is done when its tail begins"),
        tail_priority: f64 = int("tail_priority", 900_000)
            .help("C-16: the least priority of a tail"),
        max_tail_workflows: f64 = int("max_tail_workflows", 5)
            .help("C-16: most workflows boosted at once"),
        regional_level: f64 = int("regional_level", 10)
            .help("C-31: the level of a group on the analysis part of its block"),
        system_overflow: bool = flag("system_overflow", false)
            .help("C-06: whether system jobs may overflow"),
        highio_without_whitelist: HighIoBare =
            HighIoBare::param("highio_without_whitelist", HighIoBare::Reject, HighIoBare::Reject)
                .help("C-04: what becomes of a HighIO job without a whitelist"),
        highio_overflow: bool = flag("highio_overflow", false)
            .help("C-45, CD-11: whether HighIO jobs may overflow"),
        overflow_idle_s: f64 = int("overflow_idle_s", 1200).unit(Unit::Seconds)
            .help("C-41, CD-08: how long a job waits before it may overflow"),
        overflow_unit: OverflowUnit =
            OverflowUnit::param("overflow_unit", OverflowUnit::Jobs, OverflowUnit::Jobs)
                .help("C-38, CD-07: in what overflow slots are counted"),
        max_overflow_sites_central: f64 = int("max_overflow_sites_central", 5).at_least(-1)
            .help("C-40: most sites a central workflow overflows to; -1: no limit"),
        max_overflow_sites_analysis: f64 = int("max_overflow_sites_analysis", -1).at_least(-1)
            .help("C-40: most sites a workflow of analysis overflows to; -1: no limit"),
        test_jobs_central: f64 = int("test_jobs_central", 10).unit(Unit::Jobs)
            .help("C-47: test jobs of a central workflow"),
        test_jobs_analysis: f64 = int("test_jobs_analysis", 5).unit(Unit::Jobs)
            .help("C-47: test jobs of a workflow of analysis"),
        auto_kill_central: bool = flag("auto_kill_central", true)
            .help("C-49, CD-09: whether a central workflow whose tests failed is killed"),
        auto_kill_analysis: bool = flag("auto_kill_analysis", true)
            .help("C-49, CD-09: whether a workflow of analysis whose tests failed is killed"),
        kill_if_impossible: bool = flag("kill_if_impossible", false)
            .help("C-50: whether a workflow that no site can host is killed; it is reported in any \
                   case"),
        system_cap_user: f64 = int("system_cap_user", 0).unit(Unit::Jobs)
            .help("C-05: most system jobs at once of a user without a role for them; 0: they are \
                   rejected"),
        t1_first_s: f64 = int("t1_first_s", 300).unit(Unit::Seconds)
            .help("C-17: how long a central job that may run at a T1 waits for it before it takes \
                   other slots; 0: it does not wait"),
        test_band_user_cap: f64 = int("test_band_user_cap", 50).unit(Unit::Jobs)
            .help("C-51: most test jobs of a user at once"),
        profile_shrink: bool = flag("profile_shrink", false)
            .help("C-50: whether learnt needs may be below the stated ones"),
        restricted_charge_permille: f64 = int("restricted_charge_permille", 1000)
            .help("CD-10: the part of use of a restricted pool that counts in a fair share"),
        reservation_ttl_s: f64 = int("reservation_ttl_s", 900).unit(Unit::Seconds)
            .help("C-58: how long a reservation waits for the job's start"),
        workflow_hold_s: f64 = int("workflow_hold_s", 900).unit(Unit::Seconds)
            .help("C-02: how long a job waits for its workflow's record"),
        drain_wait_s: f64 = int("drain_wait_s", 3600).unit(Unit::Seconds)
            .help("C-55: how long a job fits nowhere before a node is drained for it"),
        max_draining: f64 = int("max_draining", 10)
            .help("C-55: most nodes drained at once"),
        drain_rate_per_hour: f64 = int("drain_rate_per_hour", 1)
            .help("C-55: most drains begun at a site within an hour"),
        backfill_margin_s: f64 = int("backfill_margin_s", 300).unit(Unit::Seconds)
            .help("C-56: how long before a drain is over jobs that fill it must end"),
        default_wall_time_s: f64 = int("default_wall_time_s", 43_200).unit(Unit::Seconds)
            .help("C-08: run time of a job that states none"),
        default_rss_mb_per_core: f64 = int("default_rss_mb_per_core", 2000).unit(Unit::Mb)
            .help("C-08: memory per core of a job that states none"),
        extra_mb_per_core: f64 = int("extra_mb_per_core", 500).unit(Unit::Mb)
            .help("F-6: memory of each core above those at which memory is stated"),
        resize_overhead_s: f64 = int("resize_overhead_s", 900).unit(Unit::Seconds)
            .help("F-6: time added where a job does not get the cores its run time is stated for"),
        fixed_wall_time_s: f64 = int("fixed_wall_time_s", 0).unit(Unit::Seconds)
            .help("F-6: the part of a stated run time that is the same on any number of cores; 900 \
                   where WMAgent states it, with resize_overhead_s = 0"),
        memory_step_mb: f64 = int("memory_step_mb", 1).at_least(1).unit(Unit::Mb)
            .help("a job takes memory in steps of this size; 128 where HTCondor's startd has its \
                   default"),
    }
}

/// The declarations of the kind's parameters.
pub const PARAMS: &[Param] = Own::DECLARED;

/// The lists among the kind's parameters.
pub const LISTS: &[ListParam] = &[SYSTEM_ROLES, GROUP_ORDER, EXIT_CODES];

const SYSTEM_ROLES: ListParam = ListParam {
    name: "system_roles",
    default: &["production"],
    help: "C-05: roles of users whose jobs may be flagged as system jobs",
    fault: |_| None,
};

const GROUP_ORDER: ListParam = ListParam {
    name: "group_order",
    default: &[],
    help: "working groups whose jobs go before those of their class, the first of them first; a \
           group that is not listed comes after them",
    fault: |_| None,
};

const EXIT_CODES: ListParam = ListParam {
    name: "exit_codes",
    default: &[
        "remote_open=8020,8021,8028",
        "site=10000-19999,50513,60000-69999",
        "payload=1-255,7000-9000,50660-50669,80000-89999",
    ],
    help: "C-42, C-49: the class of failure of an exit code, where the class itself is not stated; \
           the first line that has the code holds, any other code is infrastructure",
    fault: ExitCodes::fault,
};

/// The parameters in force, as whole numbers: none of them decides as a float.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether a core weighs 1 whatever its power (C-32).
    pub counts_cores: bool,
    /// Thousandths of HS06 of a core of weight 1 (F-1).
    pub reference_mhs06: i64,
    /// Half-life of usage (F-2).
    pub half_life_s: Seconds,
    /// Length of a FIFO bucket; 0: none (C-23).
    pub fifo_bucket_s: Seconds,
    /// Where a tail begins, in thousandths (C-16).
    pub tail_permille: i64,
    /// Least priority of a tail (C-16).
    pub tail_priority: i64,
    /// Most tails at once (C-16).
    pub max_tail_workflows: i64,
    /// Level of a group on its block (C-31).
    pub regional_level: i64,
    /// Roles that may flag system jobs (C-05).
    pub system_roles: Vec<String>,
    /// Whether system jobs may overflow (C-06).
    pub system_overflow: bool,
    /// Whether the flag of a HighIO job without a whitelist is ignored; else it is rejected (C-04).
    pub ignores_bare_high_io: bool,
    /// Whether HighIO jobs may overflow (C-45).
    pub high_io_overflow: bool,
    /// Wait before overflow; 0: none (C-41).
    pub overflow_idle_s: Seconds,
    /// Whether overflow slots are cores, else jobs (C-38).
    pub overflow_in_cores: bool,
    /// Most sites a workflow overflows to (C-40).
    pub max_overflow_sites: PerClass<Option<i64>>,
    /// Test jobs of a workflow (C-47).
    pub test_jobs: PerClass<i64>,
    /// Whether a workflow whose tests failed is killed (C-49).
    pub auto_kill: PerClass<bool>,
    /// Whether a workflow that no site can host is killed (C-50).
    pub kill_if_impossible: bool,
    /// Most system jobs at once of a user whose role does not allow them; 0: none (C-05).
    pub system_cap_user: i64,
    /// How long a central job waits for a T1 (C-17).
    pub t1_first_s: Seconds,
    /// Most test jobs of a user at once (C-51).
    pub test_band_user_cap: i64,
    /// Whether learnt needs may be smaller (C-50).
    pub profile_shrink: bool,
    /// Thousandths of the use of a restricted pool that count in a fair share (CD-10).
    pub restricted_charge_permille: i64,
    /// Life of a reservation (C-58).
    pub reservation_ttl_s: Seconds,
    /// Wait for a workflow's record (C-02).
    pub workflow_hold_s: Seconds,
    /// Wait before a node is drained (C-55).
    pub drain_wait_s: Seconds,
    /// Most nodes drained at once (C-55).
    pub max_draining: i64,
    /// Most drains begun at a site within an hour (C-55).
    pub drain_rate_per_hour: i64,
    /// Margin before a drain is over (C-56).
    pub backfill_margin_s: Seconds,
    /// Run time where none is stated (C-08).
    pub default_wall_time_s: Seconds,
    /// Memory per core where none is stated, MB (C-08).
    pub default_rss_mb_per_core: i64,
    /// Memory of a further core, MB (F-6).
    pub extra_mb_per_core: i64,
    /// Time added to a resized job (F-6).
    pub resize_overhead_s: Seconds,
    /// The part of a stated run time that does not scale with cores (F-6).
    pub fixed_wall_time_s: Seconds,
    /// The step in which a job takes memory, MB.
    pub memory_step_mb: i64,
    /// Working groups in the order in which they go.
    pub group_order: Vec<String>,
    /// Classes of failure by exit code (C-42, C-49).
    pub exit_codes: ExitCodes,
}

impl Settings {
    /// Of the values of [`PARAMS`] and of the lists of [`LISTS`].
    pub fn of(values: &Values, lists: &[Vec<String>]) -> Settings {
        let own = read!(Own, values);
        let limit = |value: f64| (value >= 0.0).then_some(value as i64);
        let list = |at: usize| lists.get(at).cloned().unwrap_or_default();
        Settings {
            counts_cores: own.accounting_mode == Accounting::Cores,
            reference_mhs06: own.reference_mhs06 as i64,
            half_life_s: own.half_life_s as Seconds,
            fifo_bucket_s: own.fifo_bucket_s as Seconds,
            tail_permille: own.tail_fraction_permille as i64,
            tail_priority: own.tail_priority as i64,
            max_tail_workflows: own.max_tail_workflows as i64,
            regional_level: own.regional_level as i64,
            system_roles: list(0),
            system_overflow: own.system_overflow,
            ignores_bare_high_io: own.highio_without_whitelist == HighIoBare::IgnoreFlag,
            high_io_overflow: own.highio_overflow,
            overflow_idle_s: own.overflow_idle_s as Seconds,
            overflow_in_cores: own.overflow_unit == OverflowUnit::Cores,
            max_overflow_sites: PerClass {
                central: limit(own.max_overflow_sites_central),
                analysis: limit(own.max_overflow_sites_analysis),
            },
            test_jobs: PerClass {
                central: own.test_jobs_central as i64,
                analysis: own.test_jobs_analysis as i64,
            },
            auto_kill: PerClass {
                central: own.auto_kill_central,
                analysis: own.auto_kill_analysis,
            },
            kill_if_impossible: own.kill_if_impossible,
            system_cap_user: own.system_cap_user as i64,
            t1_first_s: own.t1_first_s as Seconds,
            test_band_user_cap: own.test_band_user_cap as i64,
            profile_shrink: own.profile_shrink,
            restricted_charge_permille: own.restricted_charge_permille as i64,
            reservation_ttl_s: own.reservation_ttl_s as Seconds,
            workflow_hold_s: own.workflow_hold_s as Seconds,
            drain_wait_s: own.drain_wait_s as Seconds,
            max_draining: own.max_draining as i64,
            drain_rate_per_hour: own.drain_rate_per_hour as i64,
            backfill_margin_s: own.backfill_margin_s as Seconds,
            default_wall_time_s: own.default_wall_time_s as Seconds,
            default_rss_mb_per_core: own.default_rss_mb_per_core as i64,
            extra_mb_per_core: own.extra_mb_per_core as i64,
            resize_overhead_s: own.resize_overhead_s as Seconds,
            fixed_wall_time_s: own.fixed_wall_time_s as Seconds,
            memory_step_mb: own.memory_step_mb as i64,
            group_order: list(1),
            exit_codes: ExitCodes::of(&list(2)),
        }
    }

    /// Memory of a job that states none, MB (C-08).
    pub fn default_rss_mb(&self, base_cores: i64) -> i64 {
        self.default_rss_mb_per_core.saturating_mul(base_cores)
    }

    /// Memory as a job takes it: the next whole step.
    pub fn in_memory_steps(&self, mb: i64) -> i64 {
        let step = self.memory_step_mb.max(1);
        let steps = mb.div_euclid(step) + i64::from(mb.rem_euclid(step) > 0);
        steps.saturating_mul(step)
    }

    /// Thousandths that a core of a benchmark weighs (F-1); a missing benchmark is the reference
    /// (C-32).
    pub fn kappa_milli(&self, corepower_mhs06: i64) -> i64 {
        if self.counts_cores || corepower_mhs06 <= 0 {
            return 1000;
        }
        let kappa = round_half_up(1000 * i128::from(corepower_mhs06), self.reference_mhs06);
        kappa.min(MAX_KAPPA_MILLI)
    }

    /// The part of a weight that counts in a fair share (CD-10).
    pub fn charge_milli(&self, weight: MilliWeight, is_restricted: bool) -> MilliWeight {
        match is_restricted {
            true => {
                let permille = i128::from(self.restricted_charge_permille);
                round_half_up(i128::from(weight) * permille, 1000)
            }
            false => weight,
        }
    }
}

impl Default for Settings {
    fn default() -> Settings {
        let values = Values::defaults(PARAMS, crate::policy::Rules::Documented);
        Settings::of(&values, &LISTS.iter().map(ListParam::default_list).collect::<Vec<_>>())
    }
}

/// A ratio to the nearest whole number, a half up; the divisor is above 0.
pub fn round_half_up(dividend: i128, divisor: i64) -> i64 {
    let divisor = i128::from(divisor);
    whole(dividend.saturating_mul(2).saturating_add(divisor).div_euclid(2 * divisor))
}
