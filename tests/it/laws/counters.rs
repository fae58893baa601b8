//! All counters of a state as plain numbers under plain names, zeroes left out.

use std::collections::BTreeMap;
use yardmaster::core::event::Status;
use yardmaster::core::id::Name;
use yardmaster::core::state::State;
use yardmaster::core::state::audit::audit;
use yardmaster::core::state::ledger::Count;

pub type Sums = BTreeMap<String, i128>;

pub fn add(sums: &mut Sums, name: String, amount: i128) {
    let sum = sums.entry(name).or_default();
    *sum += amount;
}

pub fn without_zeroes(mut sums: Sums) -> Sums {
    sums.retain(|_, sum| *sum != 0);
    sums
}

fn count(sums: &mut Sums, name: &str, count: &Count) {
    for status in Status::ALL {
        let word = status.name();
        add(sums, format!("{name} {word} jobs"), count.by[status.index()].jobs.into());
        add(sums, format!("{name} {word} cores"), count.by[status.index()].cores.into());
    }
}

pub fn counters(state: &State) -> Sums {
    let mut sums = Sums::new();
    let ledger = &state.ledger;
    let text = |name: u32| state.names.text(Name(name)).to_owned();
    for (key, load) in ledger.load.iter() {
        let name = format!("load {}/{}/{}", text(key[0]), text(key[1]), text(key[2]));
        count(&mut sums, &name, &load.count);
    }
    for (key, queue) in ledger.queue.iter() {
        let name = format!("queue {}", text(key[0]));
        count(&mut sums, &name, &queue.count);
        add(&mut sums, format!("{name} disk_io"), queue.disk_io.into());
        add(&mut sums, format!("{name} disk_io_jobs"), queue.disk_io_jobs.into());
        add(&mut sums, format!("{name} asked"), queue.asked.into());
        add(&mut sums, format!("{name} updated"), queue.updated.into());
        add(&mut sums, format!("{name} counts"), queue.counted.reports.into());
        add(&mut sums, format!("{name} counted asked"), queue.counted.asked.into());
        add(&mut sums, format!("{name} counted updated"), queue.counted.updated.into());
        add(&mut sums, format!("{name} submitted"), queue.workers_submitted.into());
        add(&mut sums, format!("{name} running"), queue.workers_running.into());
        add(&mut sums, format!("{name} reserved"), queue.reserved.into());
    }
    for (key, share) in ledger.share.iter() {
        let name = format!("share {}/{}", text(key[0]), text(key[1]));
        for status in Status::ALL {
            let jobs = share.jobs[status.index()];
            add(&mut sums, format!("{name} {}", status.name()), jobs.into());
        }
        add(&mut sums, format!("{name} reserved"), share.reserved.into());
        add(&mut sums, format!("{name} users"), share.users.into());
        add(&mut sums, format!("{name} merging"), share.merging.into());
    }
    for (key, who) in ledger.who.iter() {
        let names = [text(key[0]), text(key[1]), text(key[3])].join("/");
        count(&mut sums, &format!("who {} {names}", key[2]), who);
    }
    for (key, owner) in ledger.owner.iter() {
        let name = format!("owner {} {}", key[1], text(key[0]));
        add(&mut sums, format!("{name} reserved jobs"), owner.reserved_jobs.into());
        add(&mut sums, format!("{name} reserved cores"), owner.reserved_cores.into());
    }
    for (key, jobs) in ledger.reserved.iter() {
        let names = [0, 1, 2].map(|at| text(key[at])).join("/");
        add(&mut sums, format!("reserved {names}"), (*jobs).into());
    }
    for (key, level) in ledger.levels.iter() {
        let names = [text(key[0]), text(key[1]), key[2].cast_signed().to_string()].join("/");
        add(&mut sums, format!("level {names} jobs"), level.jobs.into());
        add(&mut sums, format!("level {names} reserved"), level.reserved.into());
    }
    for (key, starts) in ledger.starts.iter() {
        for bucket in starts.buckets() {
            let name = format!("starts {} {}", text(key[0]), bucket.number);
            add(&mut sums, name, bucket.amount.into());
        }
    }
    for (key, waits) in ledger.waits.iter() {
        let over = waits.over.iter().enumerate().map(|(at, window)| (at.to_string(), window));
        let queued = waits.queued.iter().enumerate();
        let queued = queued.map(|(at, window)| (format!("queued {at}"), window));
        for (what, window) in over.chain(queued) {
            for bucket in window.buckets() {
                let name = format!("waits {} {what} {}", text(key[0]), bucket.number);
                add(&mut sums, name, bucket.amount.into());
            }
        }
    }
    for (key, nucleus) in ledger.nucleus.iter() {
        count(&mut sums, &format!("nucleus {}", text(key[0])), nucleus);
    }
    for (key, jobs) in ledger.bound.iter() {
        add(&mut sums, format!("bound {}/{}", text(key[0]), text(key[1])), (*jobs).into());
    }
    for (key, jobs) in ledger.ended.iter() {
        let task = u64::from(key[0]) | u64::from(key[1]) << 32;
        for (which, window) in jobs.ended.iter().enumerate() {
            for bucket in window.buckets() {
                let name = format!("ended {task}/{} {which} {}", text(key[2]), bucket.number);
                add(&mut sums, name, bucket.amount.into());
            }
        }
    }
    for (key, work) in ledger.work.iter() {
        let task = u64::from(key[0]) | u64::from(key[1]) << 32;
        for bucket in work.buckets() {
            add(&mut sums, format!("work {task} {}", bucket.number), bucket.amount.into());
        }
    }
    for (key, flow) in ledger.flow.iter() {
        let name = format!("flow {}/{}/{}", text(key[0]), text(key[1]), text(key[2]));
        add(&mut sums, format!("{name} files"), flow.files.into());
        add(&mut sums, format!("{name} bytes"), flow.bytes.into());
    }
    for (key, flow) in ledger.into.iter() {
        let name = format!("into {}/{}", text(key[0]), text(key[1]));
        add(&mut sums, format!("{name} files"), flow.files.into());
        add(&mut sums, format!("{name} bytes"), flow.bytes.into());
    }
    for (key, rate) in ledger.rate.iter() {
        for (which, window) in [&rate.hour, &rate.day, &rate.week].into_iter().enumerate() {
            for bucket in window.buckets() {
                let name =
                    format!("rate {}/{} {which} {}", text(key[0]), text(key[1]), bucket.number);
                add(&mut sums, name, bucket.amount.into());
            }
        }
    }
    without_zeroes(sums)
}

#[track_caller]
pub fn assert_audit_clean(state: &State, when: &str) {
    let drifts = audit(state);
    assert!(drifts.is_empty(), "{when}: {} drifts, first {:?}", drifts.len(), drifts[0]);
}
