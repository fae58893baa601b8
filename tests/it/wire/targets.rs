//! Records of NorduGrid's clusters, descriptions of users, and placements of jobs, drawn by
//! [`Dice`].

use super::dice::Dice;
use yardmaster::core::domain::nordugrid::output::{Draw, DrawWeight, Placed};
use yardmaster::core::event::{
    BatchFacts, ChildKind, ClusterFacts, JobDescription, Registration, RegistrationStatus, Upload,
    UserShare,
};
use yardmaster::core::output::limit_use::LimitUse;

pub fn cluster(dice: &mut Dice<'_>) -> ClusterFacts {
    ClusterFacts {
        answered: dice.flag(),
        alias: dice.text(),
        total_slots: dice.option(Dice::amount),
        node_memory_mb: dice.option(Dice::amount),
        clock_mhz: dice.option(Dice::amount),
        architecture: dice.text(),
        middleware: dice.list(Dice::text),
        runtime_environments: dice.list(Dice::text),
        operating_systems: dice.list(Dice::text),
        inbound: dice.flag(),
        outbound: dice.flag(),
        local_storage: dice.list(Dice::text),
        cache_free_bytes: dice.option(Dice::amount),
        submission_url: dice.text(),
    }
}

pub fn batch(dice: &mut Dice<'_>) -> BatchFacts {
    BatchFacts {
        status: dice.text(),
        total_slots: dice.option(Dice::amount),
        max_slots_per_job: dice.option(Dice::amount),
        max_queuable_jobs: dice.option(Dice::amount),
        grid_queued_jobs: dice.amount(),
        local_queued_jobs: dice.amount(),
        min_cpu_time_s: dice.option(Dice::amount),
        max_cpu_time_s: dice.option(Dice::amount),
        max_total_cpu_time_s: dice.option(Dice::amount),
        default_cpu_time_s: dice.option(Dice::amount),
        default_wall_time_s: dice.option(Dice::amount),
        min_wall_time_s: dice.option(Dice::amount),
        max_wall_time_s: dice.option(Dice::amount),
        max_memory_mb: dice.option(Dice::amount),
    }
}

pub fn registration(dice: &mut Dice<'_>) -> Registration {
    Registration {
        registry: dice.text(),
        child: dice.text(),
        changed_at: dice.long(),
        kind: dice.pick(&ChildKind::ALL),
        status: dice.pick(&RegistrationStatus::ALL),
        addressed: dice.flag(),
        expires: dice.flag(),
        ttl_s: dice.option(Dice::amount),
        announced_refresh_s: dice.amount(),
    }
}

pub fn user_share(dice: &mut Dice<'_>) -> UserShare {
    UserShare {
        queue: dice.text(),
        user: dice.text(),
        changed_at: dice.long(),
        authorised: dice.flag(),
        free_slots: dice.text(),
        disk_free_bytes: dice.option(Dice::amount),
    }
}

pub fn description(dice: &mut Dice<'_>) -> JobDescription {
    JobDescription {
        text: dice.text(),
        server_dialect: dice.flag(),
        job: dice.count(),
        clusters: dice.list(Dice::text),
        index_servers: dice.list(Dice::text),
        uploads: dice.list(|dice| Upload { name: dice.text(), bytes: dice.option(Dice::amount) }),
    }
}

pub fn placed(dice: &mut Dice<'_>) -> Placed {
    Placed {
        alternative: dice.count(),
        count: dice.amount(),
        time_s: dice.option(Dice::amount),
        disk_bytes: dice.amount(),
        cache_bytes: dice.amount(),
        tags: dice.list(Dice::text),
        rule: dice.text(),
        draw: dice.option(|dice| Draw {
            algorithm: dice.text(),
            cut_id: dice.text(),
            round: dice.count(),
            digest: dice.text(),
            x: dice.amount(),
            weights: dice.list(|dice| DrawWeight { name: dice.text(), weight: dice.amount() }),
        }),
    }
}

pub fn limit(dice: &mut Dice<'_>) -> LimitUse {
    LimitUse {
        name: dice.text(),
        of: dice.text(),
        before: dice.amount(),
        after: dice.amount(),
        max: dice.amount(),
    }
}
