//! Filters that ask how large: cores, memory, scratch space, walltime.

use super::{BOTH, both, task};
use crate::core::event::{ChunkKind, RamUnit};
use crate::core::policy::sample::{candidate, case, queue};
use crate::core::policy::{Arg, Policy, PolicySpec, Preassigned, Step};
use crate::core::unit::{GIB, MIB};

#[test]
fn core_count() {
    let mut queue = queue("A");
    let wrong = Some("cpucore");
    for (wanted, cores, expected) in [
        (Some(8), 8, None),
        (Some(8), 4, None),
        (Some(2), 8, None),
        (Some(8), 1, wrong),
        (None, 1, None),
        (None, 0, None),
        (None, 8, wrong),
        (Some(1), 8, wrong),
        (Some(0), 1, None),
        (Some(0), 8, None),
    ] {
        queue.cores = cores;
        let task = task(|task| task.core_count = wanted);
        both("cpucore", &case(&task), &candidate(&queue), expected, expected);
    }
    queue.cores = 1;
    for (priority, chunk, expected) in [
        (899, ChunkKind::Normal, None),
        (900, ChunkKind::Normal, wrong),
        (0, ChunkKind::Scout, wrong),
    ] {
        let task = task(|task| {
            (task.core_count, task.priority, task.chunk) = (Some(0), priority, chunk);
        });
        both("cpucore", &case(&task), &candidate(&queue), expected, expected);
    }
}

#[test]
fn core_count_of_merge_jobs_most_cores_and_preassigned_queues() {
    let mut queue = queue("A");
    queue.cores = 1;
    let merge = task(|task| {
        (task.chunk, task.merge_core_count) = (ChunkKind::Merge, Some(1));
    });
    both("cpucore", &case(&merge), &candidate(&queue), None, None);
    let plain = task(|_| {});
    let mut one = case(&plain);
    both("cpucore", &one, &candidate(&queue), Some("cpucore"), Some("cpucore"));
    one.preassigned = Preassigned::One;
    both("cpucore", &one, &candidate(&queue), None, None);
    queue.cores = 8;
    for (most, expected) in [(8, None), (7, Some("max_cpucore"))] {
        let task = task(|task| task.max_core_count = Some(most));
        both("cpucore", &case(&task), &candidate(&queue), expected, expected);
    }
}

/// Worked example 13.4, memory.
#[test]
fn memory() {
    let mut queue = queue("A");
    let check = |queue: &_, ram, unit, base, documented, panda| {
        let task = task(|task| {
            (task.ram_count_mb, task.ram_unit, task.base_ram_mb) = (ram, unit, base);
        });
        both("memory", &case(&task), &candidate(queue), documented, panda);
    };
    let (low, high) = (Some("lowmemory"), Some("highmemory"));
    let per_core = RamUnit::MbPerCore;
    for (most, expected) in [(15_300, None), (15_299, low), (0, None)] {
        queue.max_rss_mb = most;
        check(&queue, Some(2_000), per_core, Some(1_000), expected, expected);
    }
    queue.max_rss_mb = 0;
    for (least, expected) in [(15_300, None), (15_301, high)] {
        queue.min_rss_mb = least;
        check(&queue, Some(2_000), per_core, Some(1_000), expected, expected);
    }
    // One core: 1800 MB.
    (queue.cores, queue.min_rss_mb) = (1, 0);
    for (most, expected) in [(1_800, None), (1_799, low)] {
        queue.max_rss_mb = most;
        check(&queue, Some(2_000), per_core, None, expected, expected);
    }
    // 4000 MB for the whole job and a base of 500: 4050 in the seed, 3600 in PanDA.
    for (most, documented, panda) in [(4_050, None, None), (4_049, low, None), (3_599, low, low)] {
        queue.max_rss_mb = most;
        check(&queue, Some(4_000), RamUnit::Mb, Some(500), documented, panda);
    }
    queue.max_rss_mb = 1;
    check(&queue, Some(0), per_core, Some(500), None, None);
    check(&queue, None, per_core, Some(500), None, None);
}

#[test]
fn memory_of_merge_jobs() {
    let mut queue = queue("A");
    for (merge, most, expected) in [
        (Some(4_000), 3_600, None),
        (Some(4_000), 3_599, Some("lowmemory")),
        (None, 1_800, None),
        (Some(5), 1_799, Some("lowmemory")),
    ] {
        queue.max_rss_mb = most;
        let task = task(|task| {
            (task.chunk, task.merge_ram_mb) = (ChunkKind::Merge, merge);
        });
        both("memory", &case(&task), &candidate(&queue), expected, expected);
    }
    // PanDA asks nothing of merge jobs that state no memory.
    queue.max_rss_mb = 1_799;
    let silent = task(|task| (task.chunk, task.merge_ram_mb) = (ChunkKind::Merge, None));
    both("memory", &case(&silent), &candidate(&queue), Some("lowmemory"), None);
}

/// Worked example 13.4, scratch space: 2560 MB in the seed, 3848 in PanDA; directly read 512 and
/// 1800; the larger job 7668 and 7968.
#[test]
fn scratch_diff_13_14() {
    let mut queue = queue("A");
    queue.cores = 1;
    let small = task(|task| {
        (task.core_count, task.atom_bytes) = (None, 2 * GIB);
        (task.output_per_event, task.atom_events) = (Some(200.0 * MIB as f64), 1);
        task.work_bytes = Some(0);
    });
    let large = task(|task| {
        (task.core_count, task.atom_bytes) = (None, 2 * GIB);
        (task.output_per_mb, task.atom_effective_mb) = (Some(5.0 * MIB as f64), 1_024.0);
        task.work_bytes = Some(500 * MIB);
    });
    let disk = Some("disk");
    for (task, input, seed, code) in
        [(&small, 1_000, 2_560, 3_848), (&small, -1, 512, 1_800), (&large, 1_000, 7_668, 7_968)]
    {
        queue.max_input_mb = input;
        for (wdir, documented, panda) in [
            (seed - 1, disk, disk),
            (seed, None, disk),
            (code - 1, None, disk),
            (code, None, None),
            (0, None, None),
        ] {
            queue.max_wdir_mb = wdir;
            both("scratch", &case(task), &candidate(&queue), documented, panda);
        }
    }
}

/// Both readings divide for single-core tasks alone; the seed's sentence is there to be chosen.
#[test]
fn scratch_is_divided_by_cores_diff_15() {
    let mut queue = queue("A");
    let need = |cores| {
        task(|task| {
            (task.core_count, task.atom_bytes, task.work_bytes) =
                (cores, 2 * GIB, Some(4_608 * MIB));
        })
    };
    let disk = Some("disk");
    let step = |scaling: &str| Step {
        name: "scratch".into(),
        args: vec![("scaling".into(), Arg::Text(scaling.into()))],
    };
    let under = |scaling, cores, queue: &_| {
        let filters = vec![step(scaling)];
        let spec =
            PolicySpec { filters, ..PolicySpec::empty("production-job", "atlas-production-job") };
        let policy = Policy::compile(&spec).expect("allowed");
        let (task, resolved) = (need(cores), policy.unchanged().clone());
        let said = policy.ask(0, &case(&task), &candidate(queue), &resolved);
        said.map(|objection| objection.reason.name)
    };
    queue.max_wdir_mb = 20_000;
    both("scratch", &case(&need(None)), &candidate(&queue), disk, disk);
    both("scratch", &case(&need(Some(8))), &candidate(&queue), None, None);
    assert_eq!(under("single_core", Some(8), &queue), None);
    assert_eq!(under("always", Some(8), &queue), disk);
    queue.max_wdir_mb = 8 * 7_168;
    assert_eq!(under("always", Some(8), &queue), None);
    both("scratch", &case(&need(None)), &candidate(&queue), None, disk);
}

#[test]
fn input_is_read_directly_where_task_and_queue_allow_it() {
    let mut queue = queue("A");
    (queue.cores, queue.max_wdir_mb, queue.direct_access_lan) = (1, 1_800, true);
    let with = |lan, local_io, chunk| {
        task(|task| {
            (task.core_count, task.atom_bytes) = (None, 2 * GIB);
            (task.allow_input_lan, task.use_local_io, task.chunk) = (lan, local_io, chunk);
        })
    };
    let disk = Some("disk");
    let normal = ChunkKind::Normal;
    both("scratch", &case(&with(true, false, normal)), &candidate(&queue), None, None);
    both("scratch", &case(&with(true, true, normal)), &candidate(&queue), disk, disk);
    both("scratch", &case(&with(false, false, normal)), &candidate(&queue), disk, disk);
    both("scratch", &case(&with(true, false, ChunkKind::Merge)), &candidate(&queue), disk, disk);
    queue.direct_access_lan = false;
    both("scratch", &case(&with(true, false, normal)), &candidate(&queue), disk, disk);
}

/// Worked example 13.4, walltime: 28377.8 s on 8 cores; 1488.9 s on one core of 12.5 HS06.
#[test]
fn walltime() {
    let mut queue = queue("A");
    let check = |queue: &_, cpu, events, expected| {
        let task = task(|task| {
            (task.cpu_hs06s_per_event, task.atom_events) = (Some(cpu), events);
        });
        both("walltime", &case(&task), &candidate(queue), expected, expected);
    };
    let (short, long) = (Some("shortwalltime"), Some("longwalltime"));
    for (most, expected) in [(172_800, None), (28_378, None), (28_377, short)] {
        queue.max_time_s = most;
        check(&queue, 1_000.0, 2_000, expected);
    }
    queue.max_time_s = 0;
    for (least, expected) in [(36_000, long), (28_378, long), (28_377, None)] {
        queue.min_time_s = least;
        check(&queue, 1_000.0, 2_000, expected);
    }
    (queue.min_time_s, queue.cores, queue.core_power_mhs06) = (0, 1, 12_500);
    for (most, expected) in [(1_489, None), (1_488, short)] {
        queue.max_time_s = most;
        check(&queue, 100.0, 100, expected);
    }
    // An unknown core power counts as 10.
    queue.core_power_mhs06 = 0;
    for (most, expected) in [(1_712, None), (1_711, short)] {
        queue.max_time_s = most;
        check(&queue, 100.0, 100, expected);
    }
    // Shorter than the base time alone.
    queue.max_time_s = 599;
    check(&queue, 0.001, 1, short);
}

#[test]
fn walltime_without_cpu_time() {
    let mut queue = queue("A");
    let by_mb = task(|task| {
        task.cpu_hs06s_per_event = None;
        (task.walltime_s_per_mb, task.atom_effective_mb) = (Some(100.0), 2_048.0);
    });
    for (most, expected) in [(25_600, None), (25_599, Some("shortwalltime"))] {
        queue.max_time_s = most;
        both("walltime", &case(&by_mb), &candidate(&queue), expected, expected);
    }
    // Nothing known: no upper check, but a queue for long jobs does not take it.
    let unknown = task(|task| task.cpu_hs06s_per_event = None);
    (queue.max_time_s, queue.min_time_s) = (864_000, 0);
    both("walltime", &case(&unknown), &candidate(&queue), None, None);
    queue.min_time_s = 1;
    both(
        "walltime",
        &case(&unknown),
        &candidate(&queue),
        Some("longwalltime"),
        Some("longwalltime"),
    );
}

#[test]
fn walltime_with_an_efficiency_of_zero() {
    let mut queue = queue("A");
    let task = task(|task| task.cpu_efficiency = Some(0));
    let short = Some("shortwalltime");
    for (most, documented) in [(600, None), (599, short)] {
        queue.max_time_s = most;
        both("walltime", &case(&task), &candidate(&queue), documented, short);
    }
    (queue.max_time_s, queue.min_time_s) = (0, 600);
    both("walltime", &case(&task), &candidate(&queue), None, None);
    queue.min_time_s = 601;
    both("walltime", &case(&task), &candidate(&queue), Some("longwalltime"), None);
}

/// Worked example 13.4, 24 h for scouts, and the recorded cases of fast cores.
#[test]
fn scouts_and_merge_jobs_get_a_day_diff_19() {
    let mut queue = queue("A");
    for (chunk, reason) in
        [(ChunkKind::Scout, "scout_walltime"), (ChunkKind::Merge, "min_walltime")]
    {
        let scout = task(|task| (task.chunk, task.cpu_hs06s_per_event) = (chunk, Some(1.0)));
        let said = Some(reason);
        for (power, most, documented, panda) in [
            (10_000, 86_399, said, said),
            (10_000, 86_400, None, said),
            (10_000, 96_599, None, said),
            (10_000, 96_600, None, None),
            (15_000, 72_000, said, None),
            // Less the base time, a longest time of 0 is below nothing in PanDA.
            (10_000, 0, None, said),
        ] {
            (queue.core_power_mhs06, queue.max_time_s) = (power, most);
            both("walltime", &case(&scout), &candidate(&queue), documented, panda);
        }
    }
    // PanDA spares scouts of one pre-assigned queue; the seed spares none.
    queue.max_time_s = 86_399;
    let scout = task(|task| task.chunk = ChunkKind::Scout);
    let mut one = case(&scout);
    one.preassigned = Preassigned::One;
    both("walltime", &one, &candidate(&queue), Some("scout_walltime"), None);
}

/// In PanDA, jobs of unknown time need a day too (recorded cases `walltime_undefined`,
/// `cputime_zero`).
#[test]
fn jobs_of_unknown_time() {
    let mut queue = queue("A");
    let min = Some("min_walltime");
    let zero = task(|task| {
        (task.cpu_hs06s_per_event, task.cpu_efficiency) = (Some(0.0), Some(100));
        task.base_walltime_s = Some(0);
        task.options.walltime_unknown = true;
    });
    for (most, panda) in [(86_399, min), (86_400, None)] {
        queue.max_time_s = most;
        both("walltime", &case(&zero), &candidate(&queue), None, panda);
    }
    let undefined = task(|task| {
        task.cpu_hs06s_per_event = None;
        task.options.walltime_unknown = true;
    });
    for (most, panda) in [(863_999, min), (864_000, None)] {
        queue.max_time_s = most;
        both("walltime", &case(&undefined), &candidate(&queue), None, panda);
    }
}

#[test]
fn hostile_sizes_are_survived() {
    let mut queue = queue("A");
    (queue.max_time_s, queue.min_time_s, queue.max_wdir_mb) = (1, 1, 1);
    (queue.max_rss_mb, queue.min_rss_mb) = (1, u32::MAX);
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, f64::MAX] {
        let task = task(|task| {
            task.cpu_hs06s_per_event = Some(value);
            task.walltime_s_per_mb = Some(value);
            task.output_per_event = Some(value);
            task.atom_effective_mb = value;
            (task.atom_events, task.atom_bytes) = (u64::MAX, u64::MAX);
        });
        for rules in BOTH {
            for (filter, objects) in [("memory", true), ("scratch", true), ("walltime", false)] {
                let said = super::says(rules, filter, &case(&task), &candidate(&queue));
                assert!(said.is_some() || !objects, "{filter} with {value}");
            }
        }
    }
}
