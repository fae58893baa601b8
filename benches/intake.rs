//! Intake of PanDA's JSON on one core: reading alone, and all of it (reading, joining, our record's
//! bytes). `cargo bench --no-default-features --bench intake`.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::collections::BTreeMap;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::Task;
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Intake, Origin, Records};
use yardmaster::sim::scenario::records::request;
use yardmaster::wire::dialect::{Dialect, read};
use yardmaster::wire::record::write_task;

fn main() {
    divan::main();
}

const JOBS: u64 = 200_000;
const TASKS: u64 = 2_000;
/// Messages between two transactions.
const BATCH: usize = 20_000;

/// A message as PanDA says it, of an ordinary job with two input files.
fn message(job: u64, status: &str, at: u64) -> String {
    format!(
        "{{\"msg_type\": \"job_status\", \"jobid\": {job}, \"taskid\": {}, \"status\": \"{status}\", \
         \"timestamp\": {at}, \"computingsite\": \"QUEUE_{:03}\", \
         \"inputs\": [\"EVNT.{job}._000001.pool.root.1\", \"EVNT.{job}._000002.pool.root.1\"], \
         \"piloterrorcode\": 0, \"piloterrordiag\": null, \"exeerrorcode\": 0, \"exeerrordiag\": null}}",
        45_000_000 + job % TASKS,
        job % 170,
    )
}

/// Four states of every job, jobs in between each other, as they come.
fn messages() -> Vec<String> {
    let states = ["defined", "activated", "running", "finished"];
    let mut all = Vec::new();
    for (at, status) in states.iter().enumerate() {
        let published = |job| message(6_500_000_000 + job, status, 1_760_000_000 + at as u64 * 600);
        all.extend((0..JOBS).map(published));
    }
    all
}

/// A stage that knows every task.
fn intake() -> Intake {
    let mut intake = Intake::new("atlas", BTreeMap::new(), &Limits::default());
    let mut bytes = Vec::new();
    for number in 0..TASKS {
        bytes.clear();
        write_task(&mut bytes, &task(&(45_000_000 + number).to_string()));
        intake.learn(Topic::Task, None, Some(&bytes), &mut Records::default());
    }
    intake.caught_up();
    intake
}

fn task(name: &str) -> Task {
    Task {
        user: "atlas-dpd-production".into(),
        gshare: "MC Default evgensimul".into(),
        resource_type: "MCORE".into(),
        nucleus: "CERN".into(),
        core_count: Some(8),
        ..request(name, 100, 1)
    }
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn read_panda(bencher: Bencher<'_, '_>) {
    let all = messages();
    bencher.counter(ItemsCount::new(all.len())).bench_local(|| {
        for message in &all {
            black_box(read(Dialect::Panda, black_box(message.as_bytes())).expect("a message"));
        }
    });
}

#[divan::bench(sample_count = 10, sample_size = 1)]
fn whole_panda(bencher: Bencher<'_, '_>) {
    let all = messages();
    bencher.counter(ItemsCount::new(all.len())).with_inputs(intake).bench_local_values(
        |mut intake| {
            let mut words = Records::default();
            for (offset, message) in all.iter().enumerate() {
                if words.len() >= BATCH {
                    black_box(&words);
                    words.clear();
                }
                let origin =
                    Origin { topic: "panda", partition: 0, offset: offset as u64, appended_at: 1 };
                intake.meet(Dialect::Panda, origin, None, Some(message.as_bytes()), &mut words);
            }
            black_box(&words);
            intake
        },
    );
}
