//! Limits: every bound of the engine, with a name and a unit. What hits one is reported, counted,
//! survivable. The topology file may change them within the ranges given here.

use crate::unit::{DAY, HOUR, MIB, MINUTE, Millis, SECOND};

/// Key, meaning, default and range of one limit in the topology file. Figures are in the unit that
/// the key ends in.
#[derive(Clone, Copy)]
pub struct Limit {
    /// Its key in the topology file, ending in the unit.
    pub key: &'static str,
    /// Meaning.
    pub help: &'static str,
    /// Value if the file states none.
    pub default: i64,
    /// Smallest value allowed.
    pub min: i64,
    /// Largest value allowed.
    pub max: i64,
    /// Reads the limit in the unit of its key.
    pub get: fn(&Limits) -> i64,
    /// Sets the limit from a value in the unit of its key. The caller has checked the range.
    pub set: fn(&mut Limits, i64),
}

/// Most repairs of `now` that a log can have; repairs. Every `progress` record names all of them,
/// in at most 30 bytes each.
pub const NOW_REPAIRS_MAX: usize = 64;
/// No more is added to a batch that was read once it holds so many bytes of keys and values.
pub const BATCH_BYTES: usize = 8 << 20;
/// Most memory of batches that were folded and wait to be used again; bytes.
pub const FREE_BATCHES_BYTES: usize = 128 << 20;

/// Most bytes that `progress` takes to name one unreadable record.
const UNREADABLE_BYTES: usize = 28;

macro_rules! limits {
    ($($doc:literal
       $field:ident: $type:ty = $key:literal * $scale:expr,
       $default:literal in $min:literal..=$max:literal;)*) => {
        /// The limits in the units the core counts in.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Limits { $(#[doc = $doc] pub $field: $type,)* }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($field: $default as $type * $scale as $type,)* }
            }
        }

        impl Limits {
            /// Most records folded in one cycle: `batch_records`, or fewer if the `progress` record
            /// of the cycle could not name them all should none be readable.
            pub fn records_per_cycle(&self) -> usize {
                self.batch_records.min(self.max_output_bytes / UNREADABLE_BYTES / 2).max(1)
            }

            /// Every limit, in the order of the fields.
            pub const ALL: &'static [Limit] = &[$(Limit {
                key: $key,
                help: $doc,
                default: $default,
                min: $min,
                max: $max,
                get: |limits| (limits.$field / $scale as $type) as i64,
                set: |limits, value| limits.$field = value as $type * $scale as $type,
            },)*];
        }
    };
}

limits! {
    "Longest record that is read; a longer one becomes a dead letter."
    max_record_bytes: usize = "max_record_bytes" * 1, 1_048_576 in 1_024..=67_108_864;
    "Longest record that is published; fates beyond it become counts. At most what the broker takes."
    max_output_bytes: usize = "max_output_bytes" * 1, 900_000 in 16_384..=67_108_864;
    "Most rejected candidates that a decision names, each with its reason; further ones are counted, \
     by filter; candidates."
    fates_max: usize = "fates_max" * 1, 2_000 in 10..=1_000_000;
    "How many of an unreadable record's bytes its dead letter carries."
    dead_letter_bytes: usize = "dead_letter_bytes" * 1, 65_536 in 0..=1_048_576;
    "How many bytes the dead letters of one cycle carry in all; the last of a flood carry fewer, or \
     none."
    dead_letters_bytes: usize = "dead_letters_mb" * MIB, 16 in 1..=1_024;

    "An ended job is forgotten this long after its end; longer than reservations, or a late \
     record would count a job twice."
    ended_job_lifetime_ms: Millis = "ended_job_lifetime_h" * HOUR, 24 in 1..=8_760;
    "A job that gave no sign for so long is forgotten."
    silent_job_lifetime_ms: Millis = "silent_job_lifetime_d" * DAY, 30 in 1..=365;
    "A reservation of a decision counts at most this long. Generated jobs are seen within minutes; \
     two hours outlast a slow job generator and free the queue the same morning."
    reservation_lifetime_ms: Millis = "reservation_lifetime_h" * HOUR, 2 in 1..=168;
    "Most heartbeats of unknown jobs that are remembered; jobs. The oldest go first."
    stubs_max: usize = "stubs_max" * 1, 100_000 in 0..=100_000_000;
    "A heartbeat of an unknown job is remembered so long."
    stub_lifetime_ms: Millis = "stub_lifetime_h" * HOUR, 6 in 1..=168;
    "A transfer is forgotten this long after its end."
    transfer_ended_lifetime_ms: Millis = "transfer_ended_lifetime_h" * HOUR, 24 in 1..=8_760;
    "A transfer that gave no sign for so long is forgotten."
    silent_transfer_lifetime_ms: Millis = "silent_transfer_lifetime_d" * DAY, 30 in 1..=365;
    "A request that was not published again for so long is forgotten; one without a final answer \
     is rejected first."
    request_lifetime_ms: Millis = "request_lifetime_d" * DAY, 14 in 1..=365;
    "An answered request is forgotten this long after its end; at least the task topic's \
     retention, or the log could ask again."
    answered_request_lifetime_ms: Millis = "answered_request_lifetime_h" * HOUR, 360 in 1..=8_760;
    "Where data lies is forgotten this long after it was last changed, unless a request that is \
     remembered names the dataset; a request reads no record that is older than this was when it \
     asked. Where single jobs are placed on clusters, such records stand until they are removed."
    replica_lifetime_ms: Millis = "replica_lifetime_d" * DAY, 30 in 1..=3_650;
    "Most records of where data lies that are remembered; records. Those of files go first, the \
     oldest before others."
    replicas_max: usize = "replicas_max" * 1, 200_000 in 0..=100_000_000;
    "That a request was answered is remembered so long, whatever else is forgotten of it: published \
     again, it gets no second answer. No longer than the decision topic is kept."
    answer_lifetime_ms: Millis = "answer_lifetime_d" * DAY, 60 in 1..=3_650;
    "A throttle that was lifted or lapsed is forgotten so long after; the ordinals of its records \
     begin again then. No longer than its topic is kept."
    throttle_lifetime_ms: Millis = "throttle_lifetime_d" * DAY, 30 in 1..=365;
    "A command is remembered at most so long; one whose jobs are over, a day. No longer than its \
     topic is kept."
    command_lifetime_ms: Millis = "command_lifetime_d" * DAY, 30 in 1..=365;

    "Nodes that asked for or updated jobs are counted over so long (spec atlas F19e)."
    node_window_ms: Millis = "node_window_h" * HOUR, 3 in 1..=168;
    "Finished, failed and closed jobs per task and queue are counted over so long; rules look \
     back at most this far."
    done_jobs_window_ms: Millis = "done_jobs_window_h" * HOUR, 24 in 1..=168;
    "A worker report older than this does not count (spec atlas 2.5.1)."
    worker_report_age_ms: Millis = "worker_report_age_min" * MINUTE, 60 in 1..=10_080;
    "An offer of free slots holds so long after it was announced: at most, and where it states no \
     end itself."
    slot_offer_lifetime_ms: Millis = "slot_offer_lifetime_s" * SECOND, 3_600 in 1..=604_800;
    "Queued files of a link older than this do not count (spec atlas F3, 4.1)."
    link_sample_age_ms: Millis = "link_sample_age_min" * MINUTE, 60 in 1..=525_600;

    "Most judgements in one cycle; requests beyond wait for the next. A number, never a time, so \
     that it replays."
    judgements_per_cycle: usize = "judgements_per_cycle" * 1, 256 in 1..=1_000_000;
    "No further decision is made in a cycle once those made take so much; the others follow in the \
     next cycle."
    decision_bytes_per_cycle: usize = "decision_mb_per_cycle" * MIB, 32 in 1..=1_024;
    "Most requests that wait after a deferral; a new one beyond them is rejected with this reason."
    open_requests_max: usize = "open_requests_max" * 1, 200_000 in 1..=10_000_000;
    "Most candidates of waiting requests that one cycle evaluates to see which can be answered. If \
     more wait, requests take turns over so many cycles; candidates. A number, never a time."
    wake_candidates_per_cycle: usize =
        "wake_candidates_per_cycle" * 1, 100_000 in 1..=100_000_000;
    "Most throttles published in one cycle; further ones are for the next. A number, never a time."
    throttles_per_cycle: usize = "throttles_per_cycle" * 1, 1_000 in 10..=1_000_000;
    "Most comparisons that one cycle makes of a pool's offers with the kinds of jobs that wait: so \
     many for offers that are answered, and about as many for others, which take turns over some \
     cycles; and as many of nodes with jobs to drain them for; comparisons. A number, never a time."
    pool_comparisons_per_cycle: usize =
        "pool_comparisons_per_cycle" * 1, 1_000_000 in 1..=1_000_000_000;
    "Most records folded in one cycle."
    batch_records: usize = "batch_records" * 1, 10_000 in 1..=10_000_000;
    "Most of what was read and waits to be folded, all lanes together; beyond it the fullest lanes \
     are paused."
    read_ahead_bytes: usize = "read_ahead_mb" * MIB, 512 in 1..=65_536;
    "At so many distinct names (queues, users, shares, sites, nodes ...) a process starts again \
     from its store, which gives back those that no record refers to; names. Never below twice as \
     many as it started with. No decision depends on it."
    names_max: usize = "names_max" * 1, 5_000_000 in 1_000..=100_000_000;
    "Longest name; a record with a longer one is not read, and keys of dead letters are cut at it."
    name_bytes: usize = "name_bytes" * 1, 1_024 in 64..=65_536;

    "Most jobs that intake remembers; jobs. Those that ended go first."
    intake_jobs_max: usize = "intake_jobs_max" * 1, 2_000_000 in 1_000..=100_000_000;
    "Most jobs that wait in intake for their task to be known; jobs. Further ones are published \
     with the facts of their task when their next message arrives."
    intake_waiting_max: usize = "intake_waiting_max" * 1, 500_000 in 0..=100_000_000;
    "Most tasks whose facts intake remembers; tasks. The oldest go first."
    intake_tasks_max: usize = "intake_tasks_max" * 1, 200_000 in 100..=100_000_000;
    "How long a partition of change messages must be quiet at its end until a transaction in it \
     counts as whole, if later commits were seen elsewhere; 30 times as long if none was. A row \
     that is deleted ends its job only then. Longer than Kafka Connect takes to start again."
    intake_settle_ms: Millis = "intake_settle_ms" * 1, 10_000 in 10..=3_600_000;
    "Most jobs that a snapshot of PanDA's tables ends of a table of which it has no row; of more it \
     is taken that the table was not in the snapshot, and they stay; jobs."
    intake_absent_max: u64 = "intake_absent_max" * 1, 1_000 in 0..=100_000_000;
    "Most assignments whose places intake remembers, and most jobs that wait for one; the oldest go \
     first."
    intake_places_max: usize = "intake_places_max" * 1, 200_000 in 100..=100_000_000;
    "Most foreign messages that intake takes in one transaction."
    intake_batch_records: usize = "intake_batch_records" * 1, 20_000 in 1..=1_000_000;

    "Largest difference between our clock (or the last now found) and the broker's append time; \
     beyond it the leader publishes nothing and reports it."
    clock_skew_ms: Millis = "clock_skew_s" * SECOND, 5 in 1..=3_600;
    "A report whose own time lies further ahead of its append time than this has no effect, and a \
     request is taken as of that bound; a record stamped further ahead of the leader's clock is a \
     dead letter."
    own_time_ahead_ms: Millis = "own_time_ahead_s" * SECOND, 300 in 0..=86_400;
    "A start waits so long for partitions without a leader, then goes on without them; not for those \
     of task and of our own topics, for which it always waits."
    start_without_lane_ms: Millis = "start_without_lane_s" * SECOND, 20 in 0..=86_400;
    "A lane that cannot be read for so long counts as lagging at its cut."
    lane_unreadable_ms: Millis = "lane_unreadable_s" * SECOND, 60 in 1..=86_400;
    "Most schema ids that are remembered, for a minute, as missing in the registry; ids."
    missing_schemas_max: usize = "missing_schemas_max" * 1, 65_536 in 1_000..=10_000_000;
    "Shortest cycle while a request waits for an answer."
    cycle_min_ms: Millis = "cycle_min_ms" * 1, 10 in 1..=10_000;
    "Shortest cycle while no request waits."
    cycle_idle_ms: Millis = "cycle_idle_ms" * 1, 100 in 1..=10_000;
    "A cycle is published at least this often, idle or not."
    tick_ms: Millis = "tick_ms" * 1, 1_000 in 100..=60_000;
    "A full cut is published in progress at least this often: a rebuild begins at one."
    full_cut_interval_ms: Millis = "full_cut_interval_min" * MINUTE, 10 in 1..=1_440;
    "Every so-manyth deferral of a request carries all fates; deferrals."
    full_fates_every: u32 = "full_fates_every" * 1, 10 in 1..=1_000;
    "A standby takes over when progress was silent for so long while the broker answered."
    takeover_ms: Millis = "takeover_s" * SECOND, 5 in 1..=600;
    "Most that a standby adds to that, by its own jitter."
    takeover_jitter_ms: Millis = "takeover_jitter_ms" * 1, 1_000 in 0..=60_000;

    "How often the lead may change within lead_changes_window_min before every process reports it."
    lead_changes_max: usize = "lead_changes_max" * 1, 4 in 1..=1_000;
    "Changes of the lead are counted over so long; a process that was fenced by an installation \
     with other topics does not lead for so long."
    lead_changes_window_ms: Millis = "lead_changes_window_min" * MINUTE, 10 in 1..=1_440;

    "The store is written at most this often."
    checkpoint_interval_ms: Millis = "checkpoint_interval_ms" * 1, 1_000 in 10..=3_600_000;
    "Readable counters are written to the store at most this often, and less often where that takes \
     longer than a tenth of it."
    counters_interval_ms: Millis = "counters_interval_s" * SECOND, 5 in 1..=86_400;
    "Most readable counters in the store; counters. With more, the store holds none of them, since \
     the loop makes them in one piece; its records hold the same figures."
    stored_counters_max: usize = "stored_counters_max" * 1, 300_000 in 0..=10_000_000;
    "Counters that changed are published on their topic at most this often."
    tell_interval_ms: Millis = "tell_interval_s" * SECOND, 10 in 1..=86_400;
    "Most counters published on their topic in one cycle; counters (of jobs and of their cores). \
     Further ones are for the next cycles."
    counters_per_cycle: usize = "counters_per_cycle" * 1, 5_000 in 1..=1_000_000;
    "Counters are kept in the history so often, for looks back."
    history_interval_ms: Millis = "history_interval_s" * SECOND, 60 in 1..=86_400;
    "The history reaches back so far."
    history_span_ms: Millis = "history_h" * HOUR, 192 in 1..=87_600;
    "The history takes so much disk at most; its oldest hours go first."
    history_bytes: u64 = "history_mb" * MIB, 4_096 in 1..=1_048_576;
    "Most label values of one metric (queues, links ...); further ones are summed as `other`."
    metric_labels_max: usize = "metric_labels_max" * 1, 1_000 in 1..=100_000;
    "An HTTP request is answered within this, or given up."
    http_timeout_ms: Millis = "http_timeout_s" * SECOND, 10 in 1..=600;
    "Most HTTP connections at a time; fewer where the process may open few files. The oldest that \
     has asked nothing yet makes room for a new one."
    http_connections_max: usize = "http_connections_max" * 1, 64 in 4..=1_024;
    "Longest wait between two tries to reach the broker."
    backoff_max_ms: Millis = "backoff_max_s" * SECOND, 30 in 1..=3_600;
}

impl Limit {
    /// The limit of a key.
    pub fn of(key: &str) -> Option<&'static Limit> {
        Limits::ALL.iter().find(|limit| limit.key == key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_in_range_and_read_back_in_their_own_unit() {
        let defaults = Limits::default();
        for limit in Limits::ALL {
            assert!((limit.min..=limit.max).contains(&limit.default), "{}", limit.key);
            assert_eq!((limit.get)(&defaults), limit.default, "{}", limit.key);
            for value in [limit.min, limit.max] {
                let mut limits = defaults.clone();
                (limit.set)(&mut limits, value);
                assert_eq!((limit.get)(&limits), value, "{}", limit.key);
            }
        }
        assert_eq!(defaults.ended_job_lifetime_ms, 24 * HOUR);
    }

    #[test]
    fn keys_are_distinct() {
        for (index, limit) in Limits::ALL.iter().enumerate() {
            assert!(Limits::ALL[..index].iter().all(|other| other.key != limit.key));
            assert!(Limit::of(limit.key).is_some());
        }
    }

    #[test]
    fn what_is_remembered_outlasts_what_refers_to_it() {
        let limits = Limits::default();
        assert!(limits.ended_job_lifetime_ms > limits.reservation_lifetime_ms);
        assert!(limits.cycle_idle_ms < limits.tick_ms && limits.tick_ms < limits.takeover_ms);
    }
}
