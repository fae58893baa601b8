//! The filters after weighing, and the running figure they rest on.

use super::{both, says_with, task};
use crate::core::event::Status;
use crate::core::policy::Rules;
use crate::core::policy::sample::{candidate, case, counted, load, queue};

const LOCAL: u64 = 0;
const REMOTE: u64 = 1_000;

/// Asserts C1 and C2 for a queue with these jobs: running, activated, assigned, starting, defined.
fn caps(jobs: [u32; 5], total: u64, documented: [Option<&str>; 2], panda: [Option<&str>; 2]) {
    let task = task(|task| task.total_bytes = total);
    let queue = queue("A");
    let mut candidate = candidate(&queue);
    candidate.load = load(&[
        (Status::Running, jobs[0]),
        (Status::Activated, jobs[1]),
        (Status::Assigned, jobs[2]),
        (Status::Starting, jobs[3]),
        (Status::Defined, jobs[4]),
    ]);
    candidate.load_type = counted(candidate.load);
    candidate.load_task = counted(candidate.load);
    both("cap", &case(&task), &candidate, documented[0], panda[0]);
    both("cap_rt", &case(&task), &candidate, documented[1], panda[1]);
}

const C1: Option<&str> = Some("cap");
const C2: Option<&str> = Some("cap_rt");

/// Worked example 13.1: P1, P6 and the floor.
#[test]
fn worked_examples() {
    caps([200, 100, 150, 10, 20], REMOTE, [None, None], [None, None]);
    caps([200, 400, 100, 0, 0], REMOTE, [None, C2], [C1, C2]);
    caps([200, 400, 100, 0, 0], LOCAL, [None, None], [None, None]);
    caps([0, 5, 0, 0, 0], LOCAL, [None, None], [None, None]);
    caps([0, 21, 0, 0, 0], LOCAL, [C1, C2], [C1, C2]);
}

#[test]
fn boundaries() {
    caps([50, 90, 0, 10, 0], LOCAL, [None, None], [None, None]);
    caps([50, 90, 0, 11, 0], LOCAL, [C1, C2], [C1, C2]);
    caps([50, 60, 0, 0, 100], LOCAL, [None, C2], [None, C2]);
    caps([50, 60, 41, 0, 0], REMOTE, [None, C2], [C1, C2]);
}

#[test]
fn a_floor_of_zero_gives_the_letter_of_the_seed_diff_22() {
    let (task, queue) = (task(|_| {}), queue("A"));
    let mut candidate = candidate(&queue);
    candidate.load = load(&[(Status::Activated, 5)]);
    for (limit, objects) in [("0", true), ("4", true), ("5", false)] {
        let gdp = [("jobbroker/NQUEUELIMITSITE_MC Default", limit)];
        let said = says_with(Rules::Documented, &gdp, "cap", &case(&task), &candidate);
        assert_eq!(said.is_some(), objects, "{limit}");
    }
}

#[test]
fn panda_spares_express_chunks_and_for_c1_unified_queues() {
    let (task, mut queue) = (task(|_| {}), queue("A"));
    queue.ucore = true;
    let jobs = load(&[(Status::Activated, 101), (Status::Running, 50)]);
    let mut full = candidate(&queue);
    (full.load, full.load_type, full.load_task) = (jobs, counted(jobs), counted(jobs));
    both("cap", &case(&task), &full, C1, None);
    both("cap_rt", &case(&task), &full, C2, C2);
    let mut express = case(&task);
    express.express = true;
    both("cap_rt", &express, &full, C2, None);
    queue.ucore = false;
    let mut full = candidate(&queue);
    (full.load, full.load_type, full.load_task) = (jobs, counted(jobs), counted(jobs));
    both("cap", &express, &full, C1, None);
}

/// PanDA counts the resource type alone, against the larger running figure (recorded cases
/// `rt_queued_...`).
#[test]
fn panda_counts_the_resource_type() {
    let (task, queue) = (task(|_| {}), queue("A"));
    let mut candidate = candidate(&queue);
    candidate.load = load(&[(Status::Running, 240)]);
    for (running, activated, panda) in
        [(10, 480, None), (10, 481, C2), (400, 800, None), (400, 801, C2)]
    {
        let of_type = load(&[(Status::Running, running), (Status::Activated, activated)]);
        candidate.load_task = counted(of_type);
        both("cap_rt", &case(&task), &candidate, None, panda);
    }
}

#[test]
fn promised_jobs_count_as_defined() {
    let (task, queue) = (task(|_| {}), queue("A"));
    let mut candidate = candidate(&queue);
    candidate.promised = 20;
    both("cap_rt", &case(&task), &candidate, None, None);
    candidate.promised = 21;
    both("cap_rt", &case(&task), &candidate, C2, C2);
}

#[test]
fn the_running_figure_lifts_the_cap() {
    let (task, queue) = (task(|_| {}), queue("A"));
    let mut candidate = candidate(&queue);
    candidate.load = load(&[(Status::Activated, 150)]);
    candidate.slots = Some(600);
    // 600 slots are 75 jobs of 8 cores; PanDA looks at them only at low priority.
    both("cap", &case(&task), &candidate, None, C1);
    let low = super::task(|task| task.priority = 150);
    both("cap", &case(&low), &candidate, None, None);
}
