//! Random values of every struct that has a record.

use super::dice::Dice;
use super::{facts, pool, targets};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::event::{
    ChunkKind, DecisionOutcome, Endpoints, Heartbeat, JobState, Link, LinkQueued, OutcomeAbout,
    OutcomeKind, Parameter, Pilot, Queue, QueueStatus, RamUnit, ReplicaSummary, Site, Status,
    Storage, Task, TaskPhase, Transfer, TransferStatus,
};
use yardmaster::core::output::decision::{
    Decision, DecisionId, Fate, FilterCount, Outcome, Ranked,
};
use yardmaster::core::output::progress::{LaneFlags, LastRead, Progress};
use yardmaster::core::output::repair::NowRepair;

/// How many texts a record borrows at most.
pub const TEXTS: usize = 16;

/// Texts that the borrowing structs borrow.
pub fn texts(dice: &mut Dice<'_>) -> Vec<String> {
    (0..TEXTS).map(|_| dice.text()).collect()
}

pub fn job_state<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> JobState<'a> {
    JobState {
        job: &text[0],
        status: dice.pick(&Status::ALL),
        changed_at: dice.long(),
        revision: dice.amount(),
        attempt: dice.count(),
        task: &text[1],
        request: &text[2],
        queue: &text[3],
        user: &text[4],
        group: &text[5],
        gshare: &text[6],
        resource_type: &text[7],
        nucleus: &text[8],
        workflow: &text[9],
        label: &text[10],
        processing_type: &text[12],
        sub_status: &text[11],
        cores: dice.count(),
        priority: dice.int(),
        created_at: dice.long(),
        activated_at: dice.long(),
        started_at: dice.long(),
        ended_at: dice.long(),
        input_bytes: dice.amount(),
        output_bytes: dice.amount(),
        cpu_time_s: dice.count(),
        wall_time_s: dice.count(),
        requirements: dice.option(|dice| Box::new(pool::requirements(dice, &text[13]))),
        cluster_job: &text[14],
    }
}

pub fn heartbeat<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> Heartbeat<'a> {
    Heartbeat {
        job: &text[0],
        at: dice.long(),
        attempt: dice.count(),
        cpu_s: dice.count(),
        disk_io_kbps: dice.count(),
        rss_mb: dice.count(),
        events: dice.count(),
    }
}

pub fn transfer<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> Transfer<'a> {
    Transfer {
        request: &text[0],
        state: dice.pick(&TransferStatus::ALL),
        changed_at: dice.long(),
        revision: dice.count(),
        activity: &text[1],
        source: &text[2],
        destination: &text[3],
        bytes: dice.amount(),
        files: dice.count(),
        error: &text[4],
        replica: &text[5],
    }
}

pub fn pilot<'a>(dice: &mut Dice<'_>, text: &'a [String]) -> Pilot<'a> {
    let (queue, resource_type, at) = (&text[0], &text[1], dice.long());
    match dice.roll(6) {
        4 => pool::pilot(dice, text),
        5 => Pilot::Nodes { queue, nodes_asked: dice.count(), nodes_updated: dice.count(), at },
        0 => Pilot::AskedJob { queue, node: &text[2], at },
        1 => Pilot::UpdatedJob { queue, node: &text[2], at },
        2 => Pilot::Workers {
            queue,
            harvester: &text[3],
            resource_type,
            submitted: dice.count(),
            running: dice.count(),
            at,
        },
        _ => Pilot::Slots {
            queue,
            gshare: &text[4],
            resource_type,
            slots: dice.long(),
            expires_at: dice.long(),
            at,
        },
    }
}

pub fn task(dice: &mut Dice<'_>) -> Task {
    Task {
        subject: dice.text(),
        attempt: dice.amount(),
        task: dice.text(),
        domain: dice.text(),
        policy: dice.text(),
        phase: dice.pick(&[TaskPhase::Asking, TaskPhase::Ended]),
        asked_at: dice.long(),
        changed_at: dice.long(),
        revision: dice.count(),
        chunk: dice.pick(&[ChunkKind::Normal, ChunkKind::Scout, ChunkKind::Merge]),
        jobs: dice.count(),
        priority: dice.int(),
        task_priority: dice.int(),
        label: dice.text(),
        processing_type: dice.text(),
        working_group: dice.text(),
        campaign: dice.text(),
        trans_path: dice.text(),
        user: dice.text(),
        gshare: dice.text(),
        resource_type: dice.text(),
        nucleus: dice.text(),
        site: dice.text(),
        core_count: dice.option(Dice::count),
        merge_core_count: dice.option(Dice::count),
        max_core_count: dice.option(Dice::count),
        ram_count_mb: dice.option(Dice::count),
        ram_unit: dice.pick(&[RamUnit::Mb, RamUnit::MbPerCore]),
        base_ram_mb: dice.option(Dice::count),
        merge_ram_mb: dice.option(Dice::count),
        cpu_hs06s_per_event: dice.option(Dice::quantity),
        cpu_efficiency: dice.option(Dice::count),
        base_walltime_s: dice.option(Dice::count),
        walltime_s_per_mb: dice.option(Dice::quantity),
        output_per_event: dice.option(Dice::quantity),
        output_per_mb: dice.option(Dice::quantity),
        work_bytes: dice.option(Dice::amount),
        disk_io_kbps: dice.option(Dice::count),
        io_intensity_kbps: dice.option(Dice::count),
        atom_bytes: dice.amount(),
        atom_effective_mb: dice.quantity(),
        atom_events: dice.amount(),
        total_bytes: dice.amount(),
        total_files: dice.count(),
        allow_input_lan: dice.flag(),
        use_local_io: dice.flag(),
        options: facts::options(dice),
        input: facts::input(dice),
        output: facts::output(dice),
        replicas: dice.list(|dice| ReplicaSummary {
            endpoint: dice.text(),
            files: dice.count(),
            bytes: dice.amount(),
            tape: dice.flag(),
        }),
        description: dice.option(targets::description),
        workflow: dice.option(pool::workflow),
        impossible: Vec::new(),
    }
}

fn id(dice: &mut Dice<'_>) -> DecisionId {
    DecisionId(std::array::from_fn(|_| dice.roll(256) as u8))
}

pub fn outcome(dice: &mut Dice<'_>) -> DecisionOutcome {
    use OutcomeKind::*;
    DecisionOutcome {
        subject: dice.text(),
        decision: id(dice),
        about: dice.pick(&OutcomeAbout::ALL),
        kind: dice.pick(&[Accepted, Refused, Failed, Expired]),
        at: dice.long(),
        reason: dice.text(),
    }
}

pub fn queue(dice: &mut Dice<'_>) -> Queue {
    Queue {
        name: dice.text(),
        unified: dice.text(),
        resource_type: dice.text(),
        changed_at: dice.long(),
        status: dice.pick(&QueueStatus::ALL),
        production: dice.flag(),
        analysis: dice.flag(),
        cloud: dice.text(),
        site: dice.text(),
        storage_site: dice.text(),
        cores: dice.count(),
        core_power_mhs06: dice.count(),
        max_rss_mb: dice.count(),
        min_rss_mb: dice.count(),
        max_time_s: dice.count(),
        min_time_s: dice.count(),
        max_wdir_mb: dice.count(),
        max_input_mb: dice.int(),
        max_disk_io_kbps: dice.count(),
        transferring_limit: dice.count(),
        pledged_cpu: dice.int(),
        fairshare_policy: dice.text(),
        workflow: dice.text(),
        ucore: dice.flag(),
        wn_connectivity: dice.text(),
        direct_access_lan: dice.flag(),
        direct_access_wan: dice.flag(),
        releases: dice.list(Dice::text),
        jobseed: dice.text(),
        catchall: dice.text(),
        endpoints: Endpoints { read: dice.list(Dice::text), write: dice.list(Dice::text) },
        analysis_endpoints: Endpoints { read: dice.list(Dice::text), write: dice.list(Dice::text) },
        unified_cores: dice.count(),
        facility: dice.text(),
        batch: dice.option(targets::batch),
        space_gb: dice.count(),
        faults: dice.list(Dice::text),
    }
}

pub fn site(dice: &mut Dice<'_>) -> Site {
    Site {
        name: dice.text(),
        changed_at: dice.long(),
        nucleus: dice.flag(),
        active: dice.flag(),
        tier: dice.count(),
        output_endpoint: dice.text(),
        cluster: dice.option(targets::cluster),
        slot_quota: dice.option(pool::quota),
    }
}

pub fn storage(dice: &mut Dice<'_>) -> Storage {
    Storage {
        name: dice.text(),
        changed_at: dice.long(),
        site: dice.text(),
        kind: dice.text(),
        tape: dice.flag(),
        total_bytes: dice.amount(),
        free_bytes: dice.amount(),
        expired_bytes: dice.amount(),
        min_free_bytes: dice.amount(),
        unavailable_bytes: dice.amount(),
        read_lan: dice.flag(),
        write_lan: dice.flag(),
        read_wan: dice.flag(),
        write_wan: dice.flag(),
    }
}

pub fn link(dice: &mut Dice<'_>) -> Link {
    Link {
        source: dice.text(),
        destination: dice.text(),
        changed_at: dice.long(),
        closeness: dice.option(Dice::int),
        mbps_1h: dice.option(Dice::quantity),
        mbps_1d: dice.option(Dice::quantity),
        mbps_1w: dice.option(Dice::quantity),
        queued: dice.list(|dice| LinkQueued {
            activity: dice.text(),
            files: dice.amount(),
            bytes: dice.amount(),
        }),
        queued_known: dice.flag(),
    }
}

pub fn parameter(dice: &mut Dice<'_>) -> Parameter {
    Parameter {
        app: dice.text(),
        component: dice.text(),
        key: dice.text(),
        vo: dice.text(),
        value: dice.text(),
        changed_at: dice.long(),
    }
}

fn answer(dice: &mut Dice<'_>) -> Outcome {
    match dice.roll(3) {
        0 => Outcome::Defer { until: dice.long() },
        1 => Outcome::Reject { reason: dice.text() },
        _ => Outcome::Assign(dice.list(|dice| Ranked {
            queue: dice.text(),
            unified: dice.text(),
            weight: dice.float(),
            jobs: dice.count(),
            cores: dice.count(),
            factors: dice.list(Dice::float),
            platform: dice.text(),
        })),
    }
}

pub fn decision(dice: &mut Dice<'_>) -> Decision {
    Decision {
        id: id(dice),
        domain: dice.text(),
        subject: dice.text(),
        attempt: dice.amount(),
        task: dice.text(),
        ordinal: dice.count(),
        epoch: dice.amount(),
        cycle: dice.amount(),
        number: dice.count(),
        now: dice.long(),
        first_answered_at: dice.long(),
        policy: dice.text(),
        policy_hash: dice.text(),
        gshare: dice.text(),
        user: dice.text(),
        working_group: dice.text(),
        merge: dice.flag(),
        nucleus: dice.text(),
        outcome: answer(dice),
        factor_names: dice.list(Dice::text),
        counts: dice.list(|dice| FilterCount { filter: dice.text(), rejected: dice.count() }),
        fates: dice.list(|dice| Fate {
            queue: dice.text().into(),
            filter: dice.text().into(),
            reason: dice.text().into(),
            measured: dice.float(),
            limit: dice.float(),
        }),
        full: dice.flag(),
        fates_cut: dice.count(),
        notes: dice.list(Dice::text),
        dry_run: dice.flag(),
        placed: dice.option(targets::placed),
        matched: dice.option(pool::matched),
        limits: dice.list(targets::limit),
    }
}

fn lane(dice: &mut Dice<'_>) -> Lane {
    Lane::new(dice.pick(Topic::ALL), dice.count() >> 1)
}

pub fn progress(dice: &mut Dice<'_>) -> Progress {
    Progress {
        domain: dice.text(),
        epoch: dice.amount(),
        number: dice.amount(),
        now: dice.long(),
        instance: dice.text(),
        lanes: dice.list(|dice| (lane(dice), dice.amount())),
        full: dice.flag(),
        flags: dice.list(|dice| {
            let flags = LaneFlags {
                at_end: dice.flag(),
                unreadable: dice.flag(),
                blocked_at: dice.option(Dice::long),
            };
            (lane(dice), flags)
        }),
        outputs: dice.list(|dice| (lane(dice), dice.count())),
        policies: dice.option(Dice::text),
        policy_hash: dice.text(),
        engine: dice.count(),
        garbled: dice.list(|dice| (lane(dice), u64::from(dice.count()))),
        quiet: dice.flag(),
        farewell: dice.flag(),
        output_hashes: dice.list(|dice| dice.long() as u64),
        counters_continue: dice.flag(),
        counters_follow: dice.flag(),
        now_repairs: dice.list(|dice| NowRepair {
            from_cycle: dice.amount(),
            until_cycle: dice.amount(),
            now: dice.long(),
        }),
        topic_ids: dice.list(|dice| (dice.pick(Topic::ALL), dice.text())),
        last_read: dice.list(|dice| {
            (lane(dice), LastRead { offset: dice.amount(), check: dice.long() as u64 })
        }),
    }
}
