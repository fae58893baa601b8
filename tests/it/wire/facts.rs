//! A task's details, software, shares, quotas and users, drawn by [`Dice`].

use super::dice::Dice;
use yardmaster::core::event::{
    DataKind, Dataset, DatasetReplica, DomainRecord, DomainValue, FilePlacement, FullChain, Gpu,
    Hardware, HardwareKind, Input, Location, Options, OutputDataset, Quota, QuotaKind, Release,
    Replica, ReplicaState, Share, SoftwareTag, User, UserKind,
};
use yardmaster::core::output::command::{Command, CommandId, CommandKind};
use yardmaster::core::output::throttle::{Action, SubjectKind, Throttle, ThrottleId};

pub fn options(dice: &mut Dice<'_>) -> Options {
    Options {
        t1_weight: dice.int(),
        merge_output: dice.flag(),
        architecture: dice.text(),
        trans_home: dice.text(),
        trans_uses: dice.text(),
        container_name: dice.text(),
        only_tags: dice.flag(),
        ip_connectivity: dice.text(),
        input_lan_only: dice.flag(),
        input_wan: dice.flag(),
        full_chain: dice.pick(&FullChain::ALL),
        parent_task: dice.text(),
        input_prestaging: dice.flag(),
        primary_only: dice.flag(),
        event_service: dice.flag(),
        job_cloning: dice.flag(),
        es_consumers: dice.option(Dice::count),
        es_attempts_max: dice.option(Dice::count),
        dynamic_events: dice.option(Dice::amount),
        events_per_job_max: dice.option(Dice::amount),
        longest_event_run: dice.amount(),
        jumbo: dice.flag(),
        ready_events: dice.option(Dice::amount),
        walltime_unknown: dice.flag(),
        frozen_at: dice.option(Dice::long),
        chunk_site: dice.text(),
        excluded_sites: dice.list(Dice::text),
        included_sites: dice.list(Dice::text),
        avoid_vp: dice.flag(),
        cloud: dice.text(),
        incomplete_input: dice.flag(),
        sites_per_job: dice.option(Dice::count),
        gb_per_job: dice.option(Dice::count),
        used_queues: dice.list(Dice::text),
        remaining_events: dice.amount(),
        finished_files: dice.amount(),
        remaining_files: dice.amount(),
        remaining_jobs: dice.amount(),
        events_per_job: dice.option(Dice::amount),
        disable_reassign: dice.flag(),
        jumbo_chunk: dice.flag(),
        merge_scout: dice.flag(),
        scouts_due: dice.flag(),
        hpo_workflow: dice.flag(),
        cpu_in_hs06: dice.flag(),
        panda_site: dice.text(),
        walltime_s: dice.int(),
    }
}

pub fn input(dice: &mut Dice<'_>) -> Input {
    Input {
        datasets: dice.list(|dice| Dataset {
            name: dice.text(),
            container: dice.text(),
            primary: dice.flag(),
            pseudo: dice.flag(),
            distributed: dice.flag(),
            files: dice.amount(),
            bytes: dice.amount(),
            created_at: dice.long(),
            modified_at: dice.long(),
            replicas: dice.list(|dice| DatasetReplica {
                endpoint: dice.text(),
                files: dice.amount(),
                bytes: dice.amount(),
                files_total: dice.amount(),
                is_virtual: dice.flag(),
            }),
        }),
        placements: dice.list(|dice| FilePlacement {
            dataset: dice.count(),
            files: dice.count(),
            bytes: dice.amount(),
            endpoints: dice.list(Dice::text),
        }),
    }
}

pub fn output(dice: &mut Dice<'_>) -> Vec<OutputDataset> {
    dice.list(|dice| OutputDataset { name: dice.text(), log: dice.flag(), token: dice.text() })
}

pub fn release(dice: &mut Dice<'_>) -> Release {
    Release {
        queue: dice.text(),
        changed_at: dice.long(),
        cmtconfigs: dice.list(Dice::text),
        containers: dice.list(Dice::text),
        cvmfs: dice.list(Dice::text),
        hardware: dice.list(|dice| Hardware {
            kind: dice.pick(&[HardwareKind::Cpu, HardwareKind::Gpu]),
            arch: dice.list(Dice::text),
            vendor: dice.list(Dice::text),
            instr: dice.list(Dice::text),
            model: dice.list(Dice::text),
        }),
        tags: dice.list(|dice| SoftwareTag {
            tag: dice.text(),
            cmtconfig: dice.text(),
            project: dice.text(),
            release: dice.text(),
            container_name: dice.text(),
            sources: dice.list(Dice::text),
        }),
        gpus: dice.list(|dice| Gpu {
            vendor: dice.text(),
            model: dice.text(),
            vram_mb: dice.amount(),
            microarchitecture: dice.text(),
            framework_version: dice.text(),
            driver_version: dice.text(),
        }),
    }
}

pub fn share(dice: &mut Dice<'_>) -> Share {
    Share {
        name: dice.text(),
        changed_at: dice.long(),
        parent: dice.text(),
        value: dice.float(),
        position: dice.count(),
        label: dice.option(Dice::text),
        working_group: dice.option(Dice::text),
        campaign: dice.option(Dice::text),
        processing_type: dice.option(Dice::text),
        trans_path: dice.option(Dice::text),
        resource_type: dice.option(Dice::text),
        vo: dice.text(),
        queue_id: dice.amount(),
        throttled: dice.flag(),
    }
}

pub fn quota(dice: &mut Dice<'_>) -> Quota {
    Quota {
        kind: dice.pick(&[QuotaKind::User, QuotaKind::Group]),
        subject: dice.text(),
        expression: dice.text(),
        changed_at: dice.long(),
        limit_bytes: dice.option(Dice::amount),
        used_bytes: dice.amount(),
        used_files: dice.amount(),
    }
}

pub fn replica(dice: &mut Dice<'_>) -> Replica {
    Replica {
        name: dice.text(),
        changed_at: dice.long(),
        kind: dice.pick(&[DataKind::File, DataKind::Dataset]),
        dataset: dice.text(),
        bytes: dice.amount(),
        files: dice.amount(),
        checksum: dice.text(),
        locations: dice.list(|dice| Location {
            endpoint: dice.text(),
            files: dice.amount(),
            bytes: dice.amount(),
            complete: dice.flag(),
            tape: dice.flag(),
            cache: dice.flag(),
            state: dice.pick(&[
                ReplicaState::Available,
                ReplicaState::Copying,
                ReplicaState::Unavailable,
            ]),
        }),
        endpoint: dice.text(),
    }
}

pub fn domain_record(dice: &mut Dice<'_>) -> DomainRecord {
    let value = |dice: &mut Dice<'_>| match dice.roll(5) {
        0 => DomainValue::Flag(dice.flag()),
        1 => DomainValue::Whole(dice.long()),
        2 => DomainValue::Number(dice.float()),
        3 => DomainValue::Text(dice.text()),
        _ => DomainValue::List(dice.list(Dice::text)),
    };
    DomainRecord {
        kind: dice.text(),
        name: dice.text(),
        changed_at: dice.long(),
        values: dice.list(|dice| (dice.text(), value(dice))).into_iter().collect(),
    }
}

pub fn user(dice: &mut Dice<'_>) -> User {
    User {
        kind: dice.pick(&[UserKind::User, UserKind::Group]),
        name: dice.text(),
        changed_at: dice.long(),
        groups: dice.list(Dice::text),
        country: dice.text(),
        cap_running_jobs: dice.option(Dice::amount),
        cap_running_cores: dice.option(Dice::amount),
        roles: dice.list(Dice::text),
        past_usage_milli: dice.long(),
        past_usage_at: dice.long(),
        vos: dice.list(Dice::text),
    }
}

pub fn throttle(dice: &mut Dice<'_>) -> Throttle {
    Throttle {
        id: ThrottleId(std::array::from_fn(|_| dice.roll(256) as u8)),
        domain: dice.text(),
        kind: dice.pick(&SubjectKind::ALL),
        subject: dice.text(),
        action: dice.pick(&Action::ALL),
        rule: dice.text(),
        ordinal: dice.count(),
        counter: dice.text(),
        measured: dice.float(),
        limit: dice.float(),
        unit: dice.text(),
        until: dice.option(Dice::long),
        epoch: dice.amount(),
        cycle: dice.amount(),
        number: dice.count(),
        now: dice.long(),
        policy: dice.text(),
        policy_hash: dice.text(),
        notes: dice.list(Dice::text),
        since: dice.option(Dice::long),
        lift_limit: dice.float(),
        lift_from: dice.option(Dice::long),
        dry_run: dice.flag(),
    }
}

pub fn command(dice: &mut Dice<'_>) -> Command {
    Command {
        id: CommandId(std::array::from_fn(|_| dice.roll(256) as u8)),
        repeat: dice.count(),
        domain: dice.text(),
        kind: dice.pick(&CommandKind::ALL),
        rule: dice.text(),
        subject: dice.text(),
        attempt: dice.count(),
        queue: dice.text(),
        gshare: dice.text(),
        jobs: dice.list(Dice::text),
        amount: dice.amount(),
        clock: dice.text(),
        clock_at: dice.option(Dice::long),
        measured: dice.float(),
        limit: dice.float(),
        unit: dice.text(),
        expires_at: dice.long(),
        epoch: dice.amount(),
        cycle: dice.amount(),
        number: dice.count(),
        now: dice.long(),
        policy: dice.text(),
        policy_hash: dice.text(),
        dry_run: dice.flag(),
        notes: dice.list(Dice::text),
        task: dice.text(),
    }
}
