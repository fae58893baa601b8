//! Every metric there is. The only place where a name is written.

/// How a metric behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows, from 0 at the start of the process.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts observations into fixed buckets, whose upper bounds these are.
    Histogram(&'static [Bound]),
}

/// Upper bound of a bucket, in millionths of the unit, so that bounds compare exactly.
pub type Bound = u64;

/// So many millionths are one.
const ONE: Bound = 1_000_000;

/// From one microsecond to a second: steps of the core.
const STEP: &[Bound] =
    &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 50_000, 100_000, 1_000_000];
/// From a millisecond to a minute: what waits for disk or broker.
const WAIT: &[Bound] = &[
    1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000, 2_000_000,
    5_000_000, 10_000_000, 60_000_000,
];

/// From a thousandth to a million: weights and their factors, of which 1 changes nothing.
const WEIGHT: &[Bound] = &[
    ONE / 1_000,
    ONE / 100,
    ONE / 10,
    ONE / 2,
    ONE,
    2 * ONE,
    5 * ONE,
    10 * ONE,
    100 * ONE,
    1_000 * ONE,
    1_000_000 * ONE,
];
/// Ratios from 1, of what differs little to what differs beyond all measure.
const SPREAD: &[Bound] = &[
    ONE,
    ONE + ONE / 10,
    ONE + ONE / 2,
    2 * ONE,
    5 * ONE,
    10 * ONE,
    100 * ONE,
    1_000 * ONE,
    1_000_000 * ONE,
];

/// Ratios around 1.
const RATIO: &[Bound] =
    &[ONE / 10, ONE / 4, ONE / 2, 3 * ONE / 4, ONE, 3 * ONE / 2, 2 * ONE, 4 * ONE, 10 * ONE];

/// Parts of a whole, from 0 to 1.
const PART: &[Bound] =
    &[0, ONE / 10, ONE / 4, ONE / 2, 3 * ONE / 4, 9 * ONE / 10, 99 * ONE / 100, ONE];

macro_rules! metrics {
    ($($variant:ident $kind:expr, $name:literal [$($label:literal),*] $help:literal;)*) => {
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Metric { $(#[doc = $help] $variant,)* }

        impl Metric {
            /// Every metric.
            pub const ALL: &'static [Metric] = &[$(Metric::$variant,)*];

            /// Its name: `yardmaster_<what>_<unit>[_total]`.
            pub const fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name,)* }
            }

            /// How it behaves.
            pub const fn kind(self) -> Kind {
                match self { $(Metric::$variant => $kind,)* }
            }

            /// Names of its labels.
            pub const fn labels(self) -> &'static [&'static str] {
                match self { $(Metric::$variant => &[$($label),*],)* }
            }

            /// Its meaning, with its unit.
            pub const fn help(self) -> &'static str {
                match self { $(Metric::$variant => $help,)* }
            }
        }
    };
}

metrics! {
    Events Kind::Counter, "yardmaster_folded_events_total" ["topic", "outcome"]
        "Records read, by topic and by what became of them.";
    Oddities Kind::Counter, "yardmaster_seen_oddities_total" ["topic", "kind"]
        "What was unexpected in the log and had no effect or another one than stated, by topic and kind.";
    Strays Kind::Counter, "yardmaster_stray_records_total" ["topic", "reason"]
        "Records on our own topics that are no output of a cycle and were passed over.";
    Fold Kind::Histogram(STEP), "yardmaster_fold_seconds" []
        "Time to decode and fold one record: the mean of a batch, one observation a batch.";
    Judge Kind::Histogram(STEP), "yardmaster_judge_seconds" []
        "Time to judge one request over all its candidates.";
    Answer Kind::Histogram(WAIT), "yardmaster_answer_seconds" []
        "Time from the append of a request to the confirmed commit of its first answer.";
    Cycle Kind::Histogram(WAIT), "yardmaster_cycle_seconds" []
        "Time of one cycle: read, fold, judge, begin to publish.";
    Commit Kind::Histogram(WAIT), "yardmaster_commit_seconds" []
        "Time from the first output of a cycle to the confirmed commit of its transaction.";
    Checkpoint Kind::Histogram(WAIT), "yardmaster_checkpoint_seconds" []
        "Time from handing a checkpoint to the store to its being durable.";
    Decisions Kind::Counter, "yardmaster_published_decisions_total" ["policy", "outcome"]
        "Decisions published, by policy and outcome.";
    AssignedJobs Kind::Counter, "yardmaster_assigned_jobs_total" ["queue"]
        "Jobs that decisions to be carried out gave to queues, by the name under which a queue's jobs are counted.";
    RepeatedAssignments Kind::Counter, "yardmaster_repeated_assignments_total" []
        "Work that goes in circles: queues to which decisions to be carried out gave jobs of a task although jobs of the task had been taken back from there by fast rebrokerage, as far as its commands are remembered. Each queue of a decision counts as one.";
    NucleusAssignments Kind::Counter, "yardmaster_nucleus_assignments_total" ["nucleus"]
        "Tasks that were given a nucleus by decisions to be carried out, by nucleus.";
    ChosenWeight Kind::Histogram(WEIGHT), "yardmaster_chosen_weight" ["policy"]
        "Weights of the queues that decisions to be carried out gave jobs to, and of the nuclei that they gave tasks, by policy.";
    ChosenFactor Kind::Histogram(WEIGHT), "yardmaster_chosen_factor" ["policy", "factor"]
        "Factors of the weights of yardmaster_chosen_weight, by policy and factor; a weight is the product of its factors, so 1 changes nothing.";
    FactorSpread Kind::Histogram(SPREAD), "yardmaster_factor_spread_ratio" ["policy", "factor"]
        "Largest value of a factor among the queues that a decision ranks, divided by the smallest one, by policy and factor: 1 for a factor that is the same for all and thus decides nothing; 1000000 where one is 0. One observation a decision that ranks two queues or more.";
    ClassedDecisions Kind::Counter, "yardmaster_classed_decisions_total" ["class", "outcome"]
        "Decisions on requests of shares whose tasks have classes (User Analysis, Express Analysis), by the class of the task when it was judged and by outcome: class S is for tasks that are nearly done, A for users with little running, B and C for those with more.";
    ExceededBudgets Kind::Counter, "yardmaster_exceeded_budgets_total" ["loop"]
        "How often a cycle had more work than the budget of one of its loops, which left the rest for later cycles, by loop; docs/sizing.md names the limit of each.";
    PolicyInfo Kind::Gauge, "yardmaster_policy_info" ["policy", "hash"]
        "1 for each policy by which this process decides, by the hash of its list and parameters in the topology file. Shown by the process that leads.";
    ParametersChanged Kind::Gauge, "yardmaster_parameters_changed_timestamp_seconds" ["component"]
        "When a run-time parameter of the component was last changed, as its record states, or was seen to be removed, in seconds since 1970. What imports and intake note for themselves is left out. Shown by the process that leads; looked at every 10 s.";
    UserCaps Kind::Gauge, "yardmaster_user_cap_used_ratio" ["user", "rule"]
        "What a throttling rule measures of the user, of its limit: above 1 the user is held. Of the users of yardmaster_user_jobs; rules without a limit are left out. Shown by the process that leads; counted every 10 s.";
    WaitingRequests Kind::Gauge, "yardmaster_waiting_requests" ["policy", "reason"]
        "Requests without a final answer, by policy and by a filter that rejected candidates at their last answer: of those whose figures move by themselves the one that rejected most, and where none of these objects the one that candidates meet last; or `not_judged` if this attempt has no answer yet, `throttled` if a throttle holds the owner or task, `deferred_as_whole` if another reason made it wait before any candidate was looked at. Shown by the process that leads; counted every 10 s over at most 20000 requests, those to be judged now first, and those beyond as `other`.";
    WaitingAge Kind::Gauge, "yardmaster_waiting_request_age_seconds" ["policy"]
        "Age of the oldest request without a final answer since it was asked, by policy, in seconds; 0 if none waits. Counted with yardmaster_waiting_requests.";
    OverdueRequests Kind::Gauge, "yardmaster_overdue_requests" ["policy"]
        "Requests without a final answer whose time to be judged passed more than 60 s ago, by policy: that is when a deferral ends, or when the request was made if it has no answer yet. Counted with yardmaster_waiting_requests.";
    ShareUse Kind::Gauge, "yardmaster_share_use_ratio" ["gshare"]
        "Part of the power (HS06) of all running jobs that the leaf share has, from 0 to 1; jobs sent to pilots count as running. Counted every 10 s.";
    ShareTarget Kind::Gauge, "yardmaster_share_target_ratio" ["gshare"]
        "Part of the power of all running jobs that the leaf share is due by the tree of shares, from 0 to 1.";
    AttentionItems Kind::Gauge, "yardmaster_attention_items" ["severity", "rule"]
        "Things that need a person, as `attention` and the page list them, by how urgent they are and by the rule that found them; thresholds are in the table `attention` of the topology. Not there where there is none. Shown by the process that leads; counted every 30 s.";
    Throttles Kind::Counter, "yardmaster_published_throttles_total" ["rule", "action"]
        "Throttles published, by rule and by whether it is set (again) or lifted.";
    Standing Kind::Gauge, "yardmaster_standing_throttles" ["rule"]
        "Owners, tasks and shares that are held as a whole now, by rule.";
    Commands Kind::Counter, "yardmaster_published_commands_total" ["rule", "record"]
        "Records on topic command, by rule and by what they are: the first of a command that is to be carried out, a repeat of it, a dry run, or a report on what is held back.";
    OpenCommands Kind::Gauge, "yardmaster_open_commands" ["rule"]
        "Commands that are to be carried out, were not answered and have not expired, by rule.";
    HeldBackJobs Kind::Gauge, "yardmaster_held_back_jobs" ["rule", "reason"]
        "Jobs for which a rule is due and gives no command, by rule and reason, as last published.";
    BudgetUsed Kind::Gauge, "yardmaster_command_budget_used_ratio" ["rule"]
        "Jobs commanded by the rule within the governor's window, of those that one rule may command (jobs_per_rule); 1 if none may be. A rule in mode dry_run has a budget of its own. Counted every 10 s.";
    Rejections Kind::Counter, "yardmaster_filter_rejections_total" ["policy", "filter"]
        "Candidates rejected, by policy and the filter that objected first.";
    Comparisons Kind::Counter, "yardmaster_comparisons_total" ["queue_type", "gshare", "result"]
        "Requests that another broker answered as well, by the kind of queues, the leaf share, and in what the two answers agree: same; other_queues: two assignments with the same queue first, others behind it; other_first: another one, and not of equal weight; outcome: one assigns and the other does not, or one defers and the other rejects; absent: a side gave no answer in time; failed: a side failed. This and all other metrics of comparisons are counted by the process that leads, from topic comparison, while it runs.";
    ComparedAnswers Kind::Counter, "yardmaster_compared_answers_total" ["side", "outcome"]
        "Answers in comparisons, by side (yardmaster, or the other broker) and outcome.";
    ComparedAnswer Kind::Histogram(WAIT), "yardmaster_compared_answer_seconds" ["side"]
        "Time from the question to the answer as the client measured it, by side, of answers that came.";
    Overlap Kind::Histogram(PART), "yardmaster_compared_overlap_ratio" []
        "Part of a request that both sides send to the same queues, from 0 to 1, of requests that both assign: the sum over queues of the smaller of the two parts.";
    ComparedRejections Kind::Counter, "yardmaster_compared_rejections_total" ["side", "filter"]
        "Comparisons in which a side did not choose a queue that the other chose, by that side and by its filter that objected; `not_rejected` if it lists no rejection of the queue. A comparison counts once for each filter.";
    AssignedComparisons Kind::Counter, "yardmaster_assigned_comparisons_total" ["choice", "figures"]
        "Comparisons in which both sides assign, by whether the first queue and the set of queues are the same, and by whether the running or queued jobs that both went by are more than 10 % apart at a queue by which the choice differs (where it is the same: at a queue that was chosen).";
    UnreadableComparisons Kind::Counter, "yardmaster_unreadable_comparisons_total" []
        "Records on topic comparison that cannot be read; they are passed over.";
    QueueJobs Kind::Gauge, "yardmaster_queue_jobs" ["queue", "status"]
        "Live jobs, by queue and status; queues beyond the limit are summed as `other`.";
    QueueCores Kind::Gauge, "yardmaster_queue_cores" ["queue", "status"]
        "Cores of live jobs, by queue and status; queues beyond the limit are summed as `other`.";
    QueueWorkers Kind::Gauge, "yardmaster_queue_workers" ["queue", "state"]
        "Workers (pilots) by queue: submitted to the batch system and not running, or running, as last reported; queues beyond the limit are summed as `other`.";
    QueueSlots Kind::Gauge, "yardmaster_queue_slots" ["queue"]
        "Slots to fill as reported for the queue: the figure for any share and resource type, else the sum of the others. Not there for a queue without a figure that holds; queues beyond the limit are summed as `other`.";
    IdleJobs Kind::Gauge, "yardmaster_idle_jobs" ["reason"]
        "Jobs of a pool of slots that wait, by what the offer at hand lacks that is nearest to taking them, or by why they are looked at before none; in sum all of them. A look makes 50000 comparisons, jobs beyond count as `not_looked_at`. This and all other metrics of a pool are shown by the process that leads one; counted every 10 s.";
    PoolCores Kind::Gauge, "yardmaster_pool_cores" ["state"]
        "Cores of a pool of slots: pledged by its sites, used by jobs that run, offered (left of live offers), and wanted (the fewest that idle jobs take).";
    FreeCores Kind::Gauge, "yardmaster_queue_free_cores" ["queue"]
        "Cores that are left of live offers of slots, by site; sites beyond the limit are summed as `other`.";
    PoolSites Kind::Gauge, "yardmaster_pool_sites" ["status"]
        "Sites of a pool of slots, by the status of their slot quota; `invalid` if that cannot be in force, `unknown` without one.";
    LiveOffers Kind::Gauge, "yardmaster_live_offers" []
        "Offers of slots that hold now and have cores left.";
    OldestOffer Kind::Gauge, "yardmaster_oldest_offer_age_seconds" []
        "Time since the oldest live offer with cores left was announced, in seconds. Not there while there is none.";
    OfferAge Kind::Gauge, "yardmaster_newest_offer_age_seconds" []
        "Time since the newest offer of slots of any site, in seconds. Not there before the first.";
    Workflows Kind::Gauge, "yardmaster_open_workflows" ["state"]
        "Workflows of a pool that neither ended nor were killed: served (jobs of it have slots), waiting (jobs are idle and none has a slot), empty (no job of it runs or is idle).";
    Drains Kind::Gauge, "yardmaster_open_drains" []
        "Nodes of a pool that are kept free for a job.";
    ClassUse Kind::Gauge, "yardmaster_class_use_ratio" ["class"]
        "Part of the power in use of a pool that a class of jobs has, from 0 to 1.";
    ClassQuota Kind::Gauge, "yardmaster_class_quota_ratio" ["class"]
        "Part of the quotas of all sites of a pool that a class of jobs has, from 0 to 1.";
    Clusters Kind::Gauge, "yardmaster_clusters" ["status"]
        "Clusters of a NorduGrid grid, by the best status of their queues. This and the next four are shown by the process that leads one; counted every 10 s.";
    ClusterQueues Kind::Gauge, "yardmaster_cluster_queues" ["status"]
        "Queues of clusters, by status: as published up to the first comma; `silent` if the cluster did not answer or the facts are too old to be used.";
    Cpus Kind::Gauge, "yardmaster_cluster_cpus" ["state"]
        "CPUs of clusters: total and free as they publish them (of each cluster the most that a queue of it has free), used by jobs that run and are known.";
    ClusterJobs Kind::Gauge, "yardmaster_cluster_jobs" ["state"]
        "Jobs at clusters that are known: accepted (before the batch system), queued in it, running, finishing (behind it).";
    ClusterFree Kind::Gauge, "yardmaster_cluster_free_bytes" ["cluster", "storage"]
        "What clusters publish as free: disk (of the queue and the user that have the most) and cache; of each the clusters with the least, as many as the limit, and those that publish it.";
    UserJobs Kind::Gauge, "yardmaster_user_jobs" ["user", "state"]
        "Running and queued jobs of the 20 users with the most running jobs, and among equals with the most queued ones. Jobs for a working group count for the group and not here. Counted every 10 s from counters.";
    Links Kind::Gauge, "yardmaster_links" ["state"]
        "Links between sites that are known, by whether they are blocked (closeness -1) or open.";
    LagRecords Kind::Gauge, "yardmaster_lag_records" ["topic"]
        "Offsets between what was folded and the topic's end at the broker, over its partitions.";
    LagSeconds Kind::Gauge, "yardmaster_lag_seconds" ["topic"]
        "How far the time of the topic's slowest lane is behind now, in seconds.";
    LaneTime Kind::Gauge, "yardmaster_lane_time_seconds" ["topic"]
        "Time of the topic's slowest lane, in seconds since 1970.";
    StuckLanes Kind::Gauge, "yardmaster_stuck_lanes" ["topic"]
        "Partitions of the topic, ours or a source of intake, that cannot be read on: an open transaction, or no leader.";
    FactsAge Kind::Gauge, "yardmaster_facts_age_seconds" ["topic"]
        "Age of what is known of a configuration topic: since its newest record, or since an import found all unchanged, in seconds. Not there while it has no record.";
    AuditDrifted Kind::Gauge, "yardmaster_audit_drifted_counters" []
        "Counters that were not what a recount gave, in the last recount: each hour, and whenever one is asked for. Not there before the first.";
    AuditAge Kind::Gauge, "yardmaster_audit_age_seconds" []
        "Time since the last recount of all counters, in seconds. Not there before the first.";
    EstimatedStarts Kind::Counter, "yardmaster_estimated_starts_total" ["result"]
        "Tasks that began after their start was estimated, by where the start lies: inside the range, in which eight of ten are to lie, earlier, or later. Looked at with each recount.";
    EstimateRatio Kind::Histogram(RATIO), "yardmaster_estimated_start_ratio" []
        "Of the same tasks: the wait from the estimate to the start, divided by the wait that was likely; 1: half of all are to lie below.";
    ImportAge Kind::Gauge, "yardmaster_import_age_seconds" ["import"]
        "Age of what an import found last: since the newest time that its source states, or since it was read, in seconds.";
    ImportRecords Kind::Counter, "yardmaster_import_records_total" ["import", "outcome"]
        "Records of an import, by whether they were written, removed, unchanged, or kept because the source could not be read there; and what of the source was unreadable.";
    ImportReads Kind::Counter, "yardmaster_import_reads_total" ["import", "outcome"]
        "How often an import read its sources, by whether it succeeded or failed.";
    HeldBack Kind::Gauge, "yardmaster_held_back_records" []
        "Records held back until the schema registry has answered what they are written with.";
    Leading Kind::Gauge, "yardmaster_leading" []
        "Whether this process leads its domain (1) or not (0).";
    Publishing Kind::Gauge, "yardmaster_publishing" []
        "Whether this process leads and nothing that it knows keeps it from publishing (1) or not (0).";
    Ready Kind::Gauge, "yardmaster_ready" []
        "Whether /readyz answers that this process is ready (1) or not (0).";
    DomainUp Kind::Gauge, "yardmaster_domain_up" []
        "Whether the process works for the domain (1), or stopped to with an error that a person has to mend (0) while it goes on with its other domains.";
    ResidentMemory Kind::Gauge, "yardmaster_resident_memory_bytes" []
        "Memory of this process that is resident, in bytes: the same figure in each of its domains. Not there where the system does not state it.";
    LeadChanges Kind::Counter, "yardmaster_lead_changes_total" []
        "How often this process saw the lead change.";
    RestoreRatio Kind::Gauge, "yardmaster_restore_ratio" []
        "How much of the log to be replayed at the start has been, from 0 to 1.";
    RestoredRecords Kind::Counter, "yardmaster_restored_records_total" []
        "Records replayed at the start.";
    IntakeRecords Kind::Counter, "yardmaster_intake_records_total" ["dialect", "outcome"]
        "Foreign messages read, by dialect and by what became of them.";
    IntakeDropped Kind::Counter, "yardmaster_intake_dropped_jobs_total" []
        "Jobs that a limit made intake forget, or kept from waiting for their task's facts.";
    IntakeWaiting Kind::Gauge, "yardmaster_intake_waiting_jobs" []
        "Jobs that wait in intake for their task's facts.";
    IntakeQueued Kind::Gauge, "yardmaster_intake_queued_jobs" []
        "Jobs that intake is to publish again, since their task is known now or its facts changed.";
    IntakeChanges Kind::Counter, "yardmaster_intake_changes_total" ["outcome"]
        "Of changes of PanDA's tables: rows that had nothing new, by why, jobs that ended without a state of their own or are there again, restored databases, and rows that lack a column.";
    IntakeGone Kind::Gauge, "yardmaster_intake_gone_jobs" []
        "Jobs whose row was deleted in a transaction that may not be whole, so that it may have moved.";
    IntakeHeld Kind::Gauge, "yardmaster_intake_held_partitions" []
        "Partitions of sources whose committed offset is held back, since a transaction or a snapshot in them may not be whole.";
    IntakeAbsent Kind::Gauge, "yardmaster_intake_absent_sources" []
        "Sources of dialect panda-cdc of which the broker has no topic yet: a connector makes it with the first row of its table.";
}

macro_rules! outcomes {
    ($($variant:ident $text:literal $doc:literal,)*) => {
        /// Outcome of reading a record.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum EventOutcome { $(#[doc = $doc] $variant,)* }

        impl EventOutcome {
            /// Every outcome.
            pub const ALL: &'static [EventOutcome] = &[$(EventOutcome::$variant,)*];

            /// Its name in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(EventOutcome::$variant => $text,)* }
            }
        }
    };
}

outcomes! {
    Folded "folded" "It had its effect.",
    Odd "odd" "It was counted as an oddity.",
    Garbled "garbled" "Nobody could read it; it went to the dead letters.",
    Skipped "skipped" "It was of no concern: another domain's, or read before.",
}
