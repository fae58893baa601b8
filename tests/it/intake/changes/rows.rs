//! The records that are made of rows.

use super::Run;
use super::source::{Message, Panda, T0};
use serde_json::{Value, json};
use yardmaster::core::cut::Topic;
use yardmaster::core::limits::Limits;
use yardmaster::drive::intake::{Noted, Taken};
use yardmaster::wire::dialect::Dialect;

fn played(panda: &mut Panda) -> Run {
    let mut run = Run::new(&panda.take());
    run.read_all();
    run
}

#[test]
fn a_life_is_published_state_by_state_and_a_repeated_row_is_not() {
    let mut panda = Panda::new();
    panda.run(7);
    let mut run = played(&mut panda);
    assert_eq!(run.count(Topic::JobState), 7, "pending to running");
    let job = run.job(7);
    for part in [
        "status: Running",
        "cores: 8",
        "task: \"45000000\"",
        "queue: \"SYNTH_ALPHA\"",
        "user: \"Ann Example\"",
        "gshare: \"User Analysis\"",
        "resource_type: \"SCORE\"",
        "label: \"user\"",
        "processing_type: \"panda-client-1.5\"",
        "priority: 999",
        "created_at: 1760000000000",
        "activated_at: 1760000003997",
        "started_at: 1760000006997",
        "changed_at: 1760000006997",
        "input_bytes: 123456789",
    ] {
        assert!(job.contains(part), "{part} is not in {job}");
    }
    // Before the payload starts its start is not known, though the column is set at `sent`.
    let sent = run.texts(Topic::JobState).into_iter().find(|it| it.contains("status: Sent"));
    assert!(sent.is_some_and(|it| it.contains("started_at: 0") && it.contains("cores: 4")));
    assert_eq!(run.noted(Noted::Equal), 5, "each state that was set wrote its row twice");
    panda.finish(7);
    run.append(&panda.take());
    run.read_all().settle();
    let job = run.job(7);
    assert!(job.contains("status: Finished") && job.contains("activated_at: 1760000003997"));
    assert_eq!(run.counts.of(Dialect::PandaCdc, Taken::DeadLetter), 0);
    assert_eq!(run.noted(Noted::EndedByDelete), 0, "its row moved");
}

/// Renamed in the database while changes flow: the job keeps what was known, and the column is named
/// once, however many rows lack it.
#[test]
fn a_column_that_is_in_no_row_any_more_is_named_and_jobs_keep_what_was_known() {
    let mut panda = Panda::new();
    panda.run(7);
    let mut run = played(&mut panda);
    assert_eq!((run.noted(Noted::ColumnMissing), run.notices()), (0, String::new()));
    panda.set(7, "holding");
    panda.pending(8);
    let mut rest = panda.take();
    for message in &mut rest {
        let value = message.value.as_mut().unwrap();
        *value = value.replace("\"gshare\":", "\"fair_share\":");
        assert!(value.contains("fair_share"), "{value}");
    }
    run.append(&rest);
    run.read_all().settle();
    let job = run.job(7);
    assert!(job.contains("status: Holding") && job.contains("gshare: \"User Analysis\""), "{job}");
    assert!(run.job(8).contains("gshare: \"\""), "{}", run.job(8));
    assert_eq!(run.noted(Noted::ColumnMissing), rest.len() as u64);
    let notices = run.notices();
    assert_eq!(notices.lines().count(), 2, "one for each table: {notices}");
    assert!(notices.contains("a row of PanDA's jobsactive4 lacks gshare: "), "{notices}");
}

#[test]
fn a_heartbeat_is_published_once_and_no_state_with_it() {
    let mut panda = Panda::new();
    panda.run(7);
    let mut run = played(&mut panda);
    let (states, beats) = (run.count(Topic::JobState), run.count(Topic::Heartbeat));
    assert_eq!(beats, 3, "sent, starting, running");
    panda.beat(7);
    run.append(&panda.take());
    run.read_all();
    assert_eq!(run.count(Topic::JobState), states);
    let all = run.texts(Topic::Heartbeat);
    assert_eq!(all.len(), beats + 1);
    let last = all.last().unwrap();
    for part in ["job: \"7\"", "cpu_s: 60", "disk_io_kbps: 102", "rss_mb: 1370", "events: 300"] {
        assert!(last.contains(part), "{part} is not in {last}");
    }
    assert!(last.contains(&format!("at: {}", T0 + 7_998)), "{last}");
    // Nodes: one asked for a job, one updated it, once a minute each.
    let pilots = run.texts(Topic::Pilot);
    assert_eq!(pilots.len(), 2, "{pilots:?}");
    assert!(pilots[0].contains("AskedJob") && pilots[0].contains("node: \"wn7\""), "{pilots:?}");
    assert!(pilots[1].contains("UpdatedJob"), "{pilots:?}");
    (0..60).for_each(|_| panda.beat(7));
    run.append(&panda.take());
    run.read_all();
    assert_eq!(run.count(Topic::Pilot), 3);
    assert_eq!(run.count(Topic::Heartbeat), beats + 61);
}

#[test]
fn a_row_that_is_deleted_and_not_inserted_again_ends_its_job() {
    for insert_first in [false, true] {
        let mut panda = Panda::new();
        panda.pending(3);
        panda.shift(3, "jobsactive4", "activated", insert_first);
        panda.pending(6);
        let mut run = played(&mut panda);
        assert!(run.job(3).contains("status: Activated"), "it moved");
        panda.begin().delete(3, "jobsactive4");
        run.append(&panda.take());
        run.read_all();
        assert!(run.job(3).contains("status: Activated"), "not known yet");
        panda.set(6, "defined");
        run.append(&panda.take());
        run.read_all();
        let job = run.job(3);
        assert!(job.contains("status: Closed") && job.contains("\"row_gone\""), "{job}");
        assert_eq!(run.noted(Noted::EndedByDelete), 1);
    }
}

#[test]
fn a_delete_at_the_end_of_a_partition_ends_its_job_when_that_stays_quiet() {
    let mut panda = Panda::new();
    panda.run(3);
    panda.begin().delete(3, "jobsactive4");
    let mut run = played(&mut panda);
    let settle = Limits::default().intake_settle_ms;
    run.pass(settle - 1_000);
    run.pass(2 * settle);
    assert!(run.job(3).contains("Running"), "no later commit was seen: the connector may be down");
    // A later commit in another partition shows that it is not.
    panda.pending(4);
    run.append(&panda.take());
    run.read_all().pass(0);
    assert!(run.job(3).contains("status: Closed"), "{}", run.job(3));
    // With nothing else at all it takes longer.
    let mut panda = Panda::new();
    panda.run(3);
    panda.begin().delete(3, "jobsactive4");
    let mut run = played(&mut panda);
    run.pass(settle * 30);
    assert!(run.job(3).contains("status: Closed"));
}

#[test]
fn what_is_not_known_yet_is_read_again_by_another_life() {
    let mut panda = Panda::new();
    panda.run(3);
    panda.begin().delete(3, "jobsactive4");
    let mut run = played(&mut panda);
    let end = panda_end(&run);
    assert_eq!(run.committed()[0], end - 1, "the delete is not passed");
    run.restart();
    run.read_all();
    assert!(run.job(3).contains("Running"));
    run.settle();
    assert!(run.job(3).contains("status: Closed"));
    assert_eq!(run.committed()[0], end);
    // An ended job whose row is cleaned from the archive stays as it ended.
    panda.run(6);
    panda.finish(6);
    panda.begin().delete(6, "jobsarchived4");
    run.append(&panda.take());
    run.read_all().settle();
    assert!(run.job(6).contains("status: Finished"));
}

fn panda_end(run: &Run) -> usize {
    run.next[0]
}

#[test]
fn a_job_that_is_retried_begins_another_attempt() {
    let mut panda = Panda::new();
    panda.run(3);
    panda.set(3, "failed");
    let now = panda.begin().now;
    panda.update(3, |job| {
        (job.status, job.attempt) = ("activated", 1);
        (job.changed_at, job.modified_at) = (now, now);
    });
    let run = played(&mut panda);
    let job = run.job(3);
    for part in ["status: Activated", "attempt: 1", &format!("activated_at: {now}")] {
        assert!(job.contains(part), "{part} is not in {job}");
    }
    // A row of the older attempt has no effect, nor one that lives after its end.
    panda.update(3, |job| (job.attempt, job.status) = (0, "running"));
    panda.update(3, |job| (job.attempt, job.status) = (1, "failed"));
    panda.update(3, |job| job.status = "running");
    let mut run = run;
    run.append(&panda.take());
    run.read_all();
    assert!(run.job(3).contains("status: Failed"), "{}", run.job(3));
    assert_eq!(run.noted(Noted::Overtaken), 2);
}

#[test]
fn clocks_of_two_servers_do_not_turn_states_round() {
    let mut panda = Panda::new();
    panda.run(3);
    panda.begin();
    panda.update(3, |job| (job.status, job.changed_at) = ("transferring", job.changed_at - 900));
    let mut run = played(&mut panda);
    assert!(run.job(3).contains("status: Transferring"), "{}", run.job(3));
    run.restart();
    panda.begin();
    panda.update(3, |job| (job.status, job.changed_at) = ("finished", job.changed_at + 1));
    run.append(&panda.take());
    run.read_all();
    assert!(run.job(3).contains("status: Finished"), "{}", run.job(3));
}

#[test]
fn the_rows_of_one_transaction_are_one_report_of_workers() {
    let mut panda = Panda::new();
    let of = |resource: &str, status: &str, kind: &str| {
        json!({"harvester_id": "h1", "computingsite": "Q", "resourcetype": resource,
               "status": status, "jobtype": kind})
    };
    let replace = |panda: &mut Panda, old: &[Value], new: &[(Value, u32)]| {
        let at = panda.begin().now;
        let mut emit = |before: Value, after: Value, op: &str| {
            let key = json!({"harvester_id": "h1", "computingsite": "Q"});
            let value = json!({"before": before, "after": after, "op": op});
            panda.emit(key, 0, value, "harvester_worker_stats");
        };
        old.iter().for_each(|it| emit(it.clone(), Value::Null, "d"));
        for (it, count) in new {
            let mut after = it.clone();
            (after["n_workers"], after["lastupdate"]) = (json!(count), json!((at - 1) * 1_000));
            emit(Value::Null, after, "c");
        }
    };
    let first = [
        (of("SCORE", "running", "managed"), 3),
        (of("SCORE", "running", "user"), 4),
        (of("SCORE", "submitted", "user"), 2),
        (of("MCORE", "running", "managed"), 9),
        (of("MCORE", "idle", "managed"), 70),
    ];
    replace(&mut panda, &[], &first);
    let report = panda.messages.clone();
    let mut run = played(&mut panda);
    assert_eq!(run.count(Topic::Pilot), 0, "more rows may follow");
    let old: Vec<Value> = first.iter().map(|it| it.0.clone()).collect();
    replace(&mut panda, &old, &[(of("SCORE", "running", "user"), 1)]);
    // The connector died, and sends the last report again.
    run.append(&report);
    run.append(&panda.take());
    run.read_all();
    let wanted =
        |submitted: u32, running: u32| format!("submitted: {submitted}, running: {running}");
    let reports = run.finals();
    assert!(reports["pilot Q/h1/SCORE"].contains(&wanted(2, 7)), "{reports:?}");
    assert!(reports["pilot Q/h1/MCORE"].contains(&wanted(0, 9)), "{reports:?}");
    run.restart();
    run.read_all().settle();
    let reports = run.finals();
    assert!(reports["pilot Q/h1/SCORE"].contains(&wanted(0, 1)), "{reports:?}");
    assert!(reports["pilot Q/h1/MCORE"].contains(&wanted(0, 0)), "deleted, and no more: 0");
}

#[test]
fn a_task_ends_and_other_states_of_it_are_ignored() {
    let mut panda = Panda::new();
    for (task, status) in [(45u64, "running"), (45, "exhausted"), (46, "broken"), (47, "ready")] {
        let at = panda.begin().now;
        let after = json!({"jeditaskid": task, "status": status, "statechangetime": at * 1_000,
                           "modificationtime": at * 1_000});
        let value = json!({"before": null, "after": after, "op": "u"});
        panda.emit(json!({"jeditaskid": task}), 0, value, "jedi_tasks");
    }
    let run = played(&mut panda);
    let finals = run.finals();
    assert_eq!(finals.keys().collect::<Vec<_>>(), ["task 45", "task 46"]);
    assert!(finals["task 45"].contains("phase: Ended"), "{finals:?}");
    assert_eq!(run.counts.of(Dialect::PandaCdc, Taken::Ignored), 2);
}

#[test]
fn what_cannot_be_read_is_a_dead_letter_and_what_is_no_change_is_ignored() {
    let message = |value: Option<&str>| Message {
        partition: 0,
        at: T0,
        key: "{\"pandaid\": 3}".into(),
        value: value.map(str::to_owned),
    };
    let mut panda = Panda::new();
    panda.pending(3);
    let large =
        panda.take()[0].value.clone().unwrap().replace("\"lsn\":1108", "\"lsn\":36028797018963968");
    assert!(large.contains("36028797018963968"), "{large}");
    let long = "x".repeat(2_000);
    panda.pending(3);
    let name = panda.take()[0].value.clone().unwrap().replace("SYNTH_ALPHA", &long);
    let mut run = Run::new(&[
        message(None),
        message(Some("{\"ts_ms\": 1}")),
        message(Some("{\"op\": \"c\"}")),
        message(Some(&large)),
        message(Some(&name)),
    ]);
    run.read_all();
    let letters = |taken| run.counts.of(Dialect::PandaCdc, taken);
    assert_eq!((letters(Taken::Ignored), letters(Taken::DeadLetter)), (2, 3));
    assert_eq!(run.count(Topic::JobState), 0);
}

/// Pilots that ask and get nothing are counted in `sitedata` alone. Which rows of it count is read
/// in PanDA's code; a count that is set to 0 keeps the time that it had.
#[test]
fn pilots_that_ask_are_counted_as_sitedata_has_them() {
    let mut panda = Panda::new();
    let row = |site: &str, flag: &str, hours: u32, asked: u32, updated: u32| {
        json!({"site": site, "flag": flag, "hours": hours, "getjob": asked,
            "updatejob": updated, "nojob": asked, "lastmod": (T0 - 60_000) * 1_000})
    };
    let rows = [
        row("SYNTH_ALPHA", "production", 3, 12, 431),
        row("SYNTH_ALPHA", "pandaserver05", 3, 24, 1),
        row("SYNTH_ALPHA", "production", 1, 4, 100),
        row("SYNTH_ALPHA", "analysis", 3, 1, 1),
        row("ANALY_SYNTH", "analysis", 3, 2, 0),
        row("SYNTH_ALPHA", "production", 3, 0, 0),
    ];
    for after in rows {
        panda.begin();
        let key = json!({"site": after["site"], "flag": after["flag"], "hours": after["hours"]});
        panda.emit(key, 0, json!({"before": null, "after": after, "op": "u"}), "sitedata");
    }
    let run = played(&mut panda);
    let at = |commit: i64| T0 + 1_000 * commit;
    let nodes = |queue: &str, asked: u32, updated: u32, at: i64| {
        format!(
            "Pilot(Nodes {{ queue: {queue:?}, nodes_asked: {asked}, nodes_updated: {updated}, at: {at} }})"
        )
    };
    let wants = [
        nodes("SYNTH_ALPHA", 12, 431, at(1)),
        nodes("ANALY_SYNTH", 2, 0, at(5)),
        nodes("SYNTH_ALPHA", 0, 0, at(6)),
    ];
    assert_eq!(run.texts(Topic::Pilot), wants);
    assert_eq!(run.counts.of(Dialect::PandaCdc, Taken::DeadLetter), 0);
}

/// That single reports name only nodes that got a job is published once, by whichever life.
#[test]
fn what_jobs_alone_cannot_count_is_published_once() {
    let mut panda = Panda::new();
    (1..=6).for_each(|job| panda.run(job));
    let mut run = played(&mut panda);
    run.settle();
    let stated = |run: &Run| {
        let all = run.texts(Topic::Parameter);
        all.iter().filter(|it| it.contains("uncounted_nodes")).count()
    };
    assert_eq!(stated(&run), 1, "{:?}", run.texts(Topic::Parameter));
    run.restart();
    panda.now += 600_000;
    panda.beat(1);
    run.append(&panda.take());
    run.read_all().settle();
    assert_eq!(stated(&run), 1);
}
