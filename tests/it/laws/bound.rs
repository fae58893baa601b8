//! Output on its way to where it cannot be written (spec atlas F18).

use super::counters::assert_audit_clean;
use crate::drive::yard::{queue, storage};
use crate::world::*;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Event, JobState, Site, Status, Storage, Task};
use yardmaster::core::judge::view::Grid;
use yardmaster::core::policy::Rules;
use yardmaster::core::state::State;

fn site(state: &mut State, name: &str, output: &str) {
    let site = Site {
        name: name.into(),
        changed_at: DAWN,
        nucleus: true,
        active: true,
        tier: 1,
        output_endpoint: output.into(),
        cluster: None,
        slot_quota: None,
    };
    fold(state, &published(lane(Topic::Site, 0), Event::from(site)));
}

fn endpoint(state: &mut State, name: &str, site: &str, write_wan: bool, at: i64) {
    let storage = Storage { write_wan, ..storage(name, site, at) };
    fold(state, &published(lane(Topic::Storage, 0), Event::from(storage)));
}

/// Stuck jobs that are counted of the first queue.
fn stuck(state: &mut State, grid: &mut Grid) -> u32 {
    close(state, state.now.max(DAWN) + 1);
    grid.update(state, None, grid.world().queues.is_empty());
    state.touched = Default::default();
    let (policy, resolved) = policy("atlas-production-job", Rules::Panda);
    let task = Task::default();
    let view = grid.view(state);
    let (case, survey) = view.case(&policy, &resolved, &task);
    view.look(&case, &survey).one(0).stuck_transferring
}

#[test]
fn jobs_bound_for_a_nucleus_that_cannot_be_written_are_stuck() {
    let (mut state, mut grid) = (state(), Grid::default());
    fold(&mut state, &published(lane(Topic::Queue, 0), Event::from(queue("ash", DAWN))));
    site(&mut state, "CERN", "CERN_DISK");
    site(&mut state, "DESY", "DESY_DISK");
    endpoint(&mut state, "CERN_DISK", "CERN", true, DAWN);
    endpoint(&mut state, "DESY_DISK", "DESY", false, DAWN);
    let mut names = 100..;
    let mut feed = |state: &mut State, nucleus, status, count| {
        for _ in 0..count {
            let name = text(names.next().expect("a number").to_string());
            let job = JobState { nucleus, status, ..job(name) };
            fold(state, &published(lane(Topic::JobState, 0), Event::JobState(job)));
        }
    };
    feed(&mut state, "CERN", Status::Transferring, 3);
    feed(&mut state, "DESY", Status::Transferring, 5);
    feed(&mut state, "DESY", Status::Holding, 7);
    feed(&mut state, "", Status::Transferring, 11);
    assert_eq!(stuck(&mut state, &mut grid), 5);
    endpoint(&mut state, "CERN_DISK", "CERN", false, DAWN + 1);
    assert_eq!(stuck(&mut state, &mut grid), 8);
    endpoint(&mut state, "DESY_DISK", "DESY", true, DAWN + 1);
    assert_eq!(stuck(&mut state, &mut grid), 3);
    let over =
        JobState { nucleus: "CERN", status: Status::Finished, changed_at: DAWN + 2, ..job("100") };
    fold(&mut state, &published(lane(Topic::JobState, 0), Event::JobState(over)));
    assert_eq!(stuck(&mut state, &mut grid), 2);
    assert_audit_clean(&state, "stuck");
}
