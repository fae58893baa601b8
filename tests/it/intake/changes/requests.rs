//! Jobs that are known of their rows take places of assignments, as others do.

use super::Run;
use super::source::{Panda, T0};
use crate::intake::places::assigned;
use yardmaster::core::cut::Topic;
use yardmaster::core::output::decision::Decision;
use yardmaster::wire::record;

/// Jobs 7 and 14 are of the same task.
const SUBJECT: &str = "45000000";

fn decision(jobs: u32) -> Vec<u8> {
    let made = assigned(SUBJECT, 3, &[("SYNTH_ALPHA", jobs)], T0 + 100);
    let mut value = Vec::new();
    record::write(&mut value, &Decision { task: SUBJECT.into(), ..made });
    value
}

fn decide(run: &mut Run, jobs: u32) {
    let value = decision(jobs);
    run.learn(Topic::Decision, SUBJECT, &value);
}

fn has(run: &Run, job: u64) -> bool {
    run.job(job).contains("request: \"45000000:3\"")
}

#[test]
fn a_job_takes_a_place_before_or_after_its_decision_is_read_and_keeps_it() {
    for reads_first in [false, true] {
        let mut panda = Panda::new();
        panda.pending(7);
        panda.pending(14);
        let mut run = Run::new(&panda.take());
        if reads_first {
            run.read_all();
        }
        decide(&mut run, 1);
        run.read_all();
        assert!(has(&run, 7) != has(&run, 14), "one place, one job");
        let job = if has(&run, 7) { 7 } else { 14 };
        run.restart();
        let published = run.published.len();
        panda.set(job, "defined");
        run.append(&panda.take());
        run.read_all().settle();
        assert!(run.published.len() > published);
        assert!(has(&run, job) && run.job(job).contains("status: Defined"), "{}", run.job(job));
        assert!(has(&run, 7) != has(&run, 14), "the place is taken still");
    }
}

#[test]
fn a_place_that_is_found_at_a_start_is_published() {
    let mut panda = Panda::new();
    panda.pending(7);
    let mut run = Run::new(&panda.take());
    run.read_all().settle();
    let value = decision(2);
    run.published.push((Topic::Decision, SUBJECT.as_bytes().to_vec(), value));
    assert!(!has(&run, 7));
    run.restart();
    assert!(has(&run, 7), "{}", run.job(7));
    let published = run.published.len();
    run.restart();
    assert_eq!(run.published.len(), published, "once");
}
