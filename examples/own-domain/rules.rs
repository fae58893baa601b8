//! The rules: which partitions a job may go to, and which of them is the best.

use crate::facts::{Job, Partition};
use yardmaster::core::policy::{
    Applies, Filter, FilterOf, Judged, Never, Objection, Reason, Verdict, Weight, WeightOf,
};

/// A pending job, and the partitions that it names.
pub enum Partitions {}

impl Judged for Partitions {
    type Case<'a> = Job<'a>;
    type Candidate<'a> = &'a Partition;
    type Weighed = Never;
    type After = Never;
    type Whole = Never;
    type Figure = Never;
    type Factor = Never;
    /// The greatest is the best.
    type Key = fn(&Partition) -> i64;
}

type PartitionFilter = FilterOf<Partitions>;
type PartitionKey = WeightOf<Partitions>;

/// All filters, in the order in which they are asked.
pub static FILTERS: &[&PartitionFilter] = &[&READY, &UP, &ACCOUNT, &TIME, &NODES, &MEMORY, &FIT];
pub static KEYS: &[&PartitionKey] = &[&FREE_CORES];

const HELD: Reason = Reason::new("held", "the job is held");
const DEPENDENCY: Reason = Reason::new("dependency", "the job waits for others");
const LIMIT: Reason = Reason::new("limit", "a limit of account, array or licence holds the job");
const BEGIN_TIME: Reason = Reason::new("begin_time", "the job may begin in {measured} s");
const WAITS: &[&Reason] = &[&HELD, &DEPENDENCY, &LIMIT, &BEGIN_TIME];

static READY: PartitionFilter = PartitionFilter::before(
    filter("ready", "the job waits for nothing but a partition", WAITS),
    Applies::Always,
    |job, _, _| match job.record.text("waits_for") {
        Some("held") => object(&HELD, 0, 0),
        Some("dependency") => object(&DEPENDENCY, 0, 0),
        Some("limit") => object(&LIMIT, 0, 0),
        _ => job
            .begins_at()
            .map_or(Verdict::Pass, |at| object(&BEGIN_TIME, (at - job.now + 999) / 1_000, 0)),
    },
);

const STATE: Reason = Reason::new("state", "the partition is not up");

static UP: PartitionFilter = PartitionFilter::before(
    filter("up", "the partition is up", &[&STATE]),
    Applies::Always,
    |_, partition, _| pass_if(partition.record.text("state") == Some("UP"), &STATE, 0, 1),
);

const ACCOUNT_REASON: Reason = Reason::new("account", "the partition is not for the job's account");

static ACCOUNT: PartitionFilter = PartitionFilter::before(
    filter("account", "the partition is for the job's account", &[&ACCOUNT_REASON]),
    Applies::Always,
    |job, partition, _| {
        let accounts = partition.record.list("accounts");
        let account = job.record.text("account").unwrap_or("");
        let is_in = accounts.is_empty() || accounts.iter().any(|it| it == account);
        pass_if(is_in, &ACCOUNT_REASON, 0, 1)
    },
);

const TOO_LONG: Reason = Reason::new("time", "the job wants {measured} min of {limit}");

static TIME: PartitionFilter = PartitionFilter::before(
    filter("time", "the partition gives the time that the job wants", &[&TOO_LONG]),
    Applies::Always,
    |job, partition, _| {
        let stated = job.record.whole("minutes");
        let wanted = stated.or(partition.record.whole("default_minutes")).unwrap_or(i64::MAX);
        within(wanted, partition.record.whole("most_minutes"), &TOO_LONG)
    },
);

const TOO_MANY_NODES: Reason =
    Reason::new("nodes", "the job wants {measured} nodes, the partition gives {limit}");

static NODES: PartitionFilter = PartitionFilter::before(
    filter("nodes", "the partition gives the nodes that the job wants", &[&TOO_MANY_NODES]),
    Applies::Always,
    |job, partition, _| within(job.nodes, partition.record.whole("most_nodes"), &TOO_MANY_NODES),
);

const TOO_MUCH_MEMORY: Reason =
    Reason::new("memory", "the job wants {measured} MB for each core, the partition gives {limit}");

static MEMORY: PartitionFilter = PartitionFilter::before(
    filter("memory", "the partition gives the memory for each core", &[&TOO_MUCH_MEMORY]),
    Applies::Always,
    |job, partition, _| {
        within(
            job.record.whole("mb_per_cpu").unwrap_or(0),
            partition.record.whole("most_mb_per_cpu"),
            &TOO_MUCH_MEMORY,
        )
    },
);

const NO_NODE: Reason =
    Reason::new("fit", "{measured} nodes in service could run the job, it wants {limit}");

static FIT: PartitionFilter = PartitionFilter::before(
    filter("fit", "enough nodes in service could run the job, if they were idle", &[&NO_NODE]),
    Applies::Always,
    |job, partition, _| {
        let fit = partition.nodes.iter().filter(|node| job.fits(node)).count() as i64;
        pass_if(fit >= job.nodes, &NO_NODE, fit, job.nodes)
    },
);

static FREE_CORES: PartitionKey = PartitionKey::key(
    Weight {
        name: "free_cores",
        spec: "docs/own-domain.md",
        help: "the most cores that are free, less those reserved",
        params: &[],
        figures: &[],
        reads: &[],
    },
    |partition| partition.free,
);

const fn filter(
    name: &'static str,
    help: &'static str,
    reasons: &'static [&'static Reason],
) -> Filter {
    let spec = "docs/own-domain.md";
    Filter { name, spec, help, reasons, params: &[], reads: &[], temporary: false }
}

fn within(wanted: i64, most: Option<i64>, reason: &'static Reason) -> Verdict {
    pass_if(most.is_none_or(|most| wanted <= most), reason, wanted, most.unwrap_or(0))
}

fn pass_if(passes: bool, reason: &'static Reason, measured: i64, limit: i64) -> Verdict {
    if passes { Verdict::Pass } else { object(reason, measured, limit) }
}

fn object(reason: &'static Reason, measured: i64, limit: i64) -> Verdict {
    let (measured, limit) = (measured as f64, limit as f64);
    Verdict::Object(Objection { reason, measured, limit, recheck_at: None })
}
