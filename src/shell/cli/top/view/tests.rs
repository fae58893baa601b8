//! Frames of several sizes.

use super::*;
use crate::cli::top::data::{
    Drain, Event, Explained, IdleReason, Offers, Pool, PoolUser, ProcessStatus, Queue, Share,
    Workflow,
};
use crate::cli::top::model::{Answered, News};
use crate::trouble::Trouble;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const NOW: Millis = 1_795_514_400_000;

fn model(queues: usize) -> Model {
    let mut model = Model::new();
    let queue = |at: usize| Queue {
        queue: format!("SITE_{at:03}"),
        site: "SITE".into(),
        status: if at.is_multiple_of(2) { "online" } else { "offline" }.into(),
        running: 1_000 - at as u64,
        queued: at as u64,
        last_pilot_at: Some(NOW - 65_000),
        ..Queue::default()
    };
    let event = |sequence| Event {
        sequence,
        kind: "decision".into(),
        what: "defer".into(),
        at: NOW,
        subject: format!("{sequence}/1"),
        user: "ann".into(),
        text: "Pending: all 712 queues were rejected".into(),
        ..Event::default()
    };
    let status = ProcessStatus {
        domain: "atlas".into(),
        ready: true,
        leading: true,
        cycle: 123,
        now: NOW - 3_000,
        requests_open: Some(17),
        ..ProcessStatus::default()
    };
    let answered = Answered {
        status,
        queues: (0..queues).map(queue).collect(),
        shares: vec![Share { gshare: "MC".into(), used: Some(0.31), target: Some(0.35) }],
        events: (1..=40).map(event).collect(),
        ..Answered::default()
    };
    model.take(News::Answered(Box::new(answered)), NOW);
    model
}

fn frame(model: &Model, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let area = Rect::new(0, 0, width, height);
    let plan = Plan::new(area, model, None);
    let look = TerminalStyles { has_colours: true };
    let drawn = terminal.draw(|frame| draw(frame, model, &plan, look, NOW)).unwrap();
    let line = |y: u16| (0..width).map(|x| drawn.buffer.cell((x, y)).unwrap().symbol()).collect();
    (0..height).map(line).map(|line: String| line.trim_end().to_owned()).collect()
}

fn key(model: &mut Model, code: KeyCode) {
    model.key(KeyEvent::new(code, KeyModifiers::NONE), 10);
}

#[test]
fn a_wide_terminal_shows_header_queues_shares_decisions_and_keys() {
    let frame = frame(&model(100), 180, 40);
    assert!(
        frame[0].starts_with("atlas  leading, ready  open requests 17  cycle 123"),
        "{}",
        frame[0]
    );
    assert!(frame[0].ends_with("(3s old)"), "{}", frame[0]);
    assert!(frame[1].contains("queues 100  running 95050"), "{}", frame[1]);
    assert!(frame[3].starts_with("Queues 100 of 100, by running down"), "{}", frame[3]);
    assert!(frame[3].contains("Shares 1"), "{}", frame[3]);
    let words: Vec<&str> = frame[5].split_whitespace().collect();
    assert_eq!(words[..4], ["SITE_000", "online", "1000", "0"]);
    assert_eq!(words[words.len() - 5..], ["MC", "31.0", "35.0", "89", "%"]);
    let decisions = frame.iter().position(|line| line.starts_with("Decisions")).unwrap();
    assert!(frame[decisions + 2].contains("40/1"), "the newest first: {}", frame[decisions + 2]);
    assert!(frame[39].starts_with("q quit  ? help"), "{}", frame[39]);
}

#[test]
fn columns_and_lists_go_where_there_is_no_room_and_nothing_breaks_at_any_size() {
    let mut model = model(50);
    let narrow = frame(&model, 40, 24);
    assert!(narrow[4].contains("running") && !narrow[4].contains("pilots"), "{}", narrow[4]);
    assert!(!narrow.iter().any(|line| line.contains("Shares")));
    assert!(narrow.iter().any(|line| line.starts_with("Decisions")));
    let low = frame(&model, 80, 10);
    assert!(!low.iter().any(|line| line.starts_with("Decisions")), "one list alone");
    key(&mut model, KeyCode::Tab);
    assert!(frame(&model, 80, 10).iter().any(|line| line.starts_with("Decisions")));
    for typed in ["", "?", "\n"] {
        for c in typed.chars() {
            key(&mut model, if c == '\n' { KeyCode::Enter } else { KeyCode::Char(c) });
        }
        for (width, height) in (1..140).step_by(7).flat_map(|w| (1..45).map(move |h| (w, h))) {
            frame(&model, width, height);
        }
        key(&mut model, KeyCode::Char('x'));
    }
}

#[test]
fn the_chosen_queue_stays_in_sight() {
    let mut model = model(100);
    key(&mut model, KeyCode::End);
    let lines = frame(&model, 120, 30);
    assert!(lines.iter().any(|line| line.starts_with("SITE_099")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("SITE_000")));
}

#[test]
fn an_answer_takes_the_place_of_the_lists_and_long_lines_go_on_below() {
    let mut model = model(3);
    key(&mut model, KeyCode::Enter);
    let asked = frame(&model, 60, 20);
    assert!(asked[3].starts_with("Why: SITE_000") && asked[5].contains("asking"), "{asked:#?}");
    let subject = model.why.as_ref().unwrap().subject.clone();
    let text = format!("first\n{}", "x".repeat(100));
    let explained = Explained { headline: "It is online".into(), text, queue: None };
    model.take(News::Explained(subject, Ok(explained)), NOW);
    let shown = frame(&model, 60, 20);
    assert_eq!((shown[5].as_str(), shown[7].as_str()), ("It is online", "first"));
    assert_eq!((shown[8].len(), shown[9].len()), (60, 40));
}

#[test]
fn a_process_that_does_not_answer_is_named_with_since_when_and_the_last_state_stays() {
    let mut model = model(3);
    model.take(News::Failed("nothing listens at http://127.0.0.1:1".into()), NOW - 35_000);
    let lines = frame(&model, 120, 24);
    let why =
        "no answer since 09:59:25 UTC (35s), asked again: nothing listens at http://127.0.0.1:1";
    assert_eq!(lines[1], why);
    assert!(lines.iter().any(|line| line.starts_with("SITE_001")));
    let unknown = frame(&Model::new(), 80, 24);
    assert_eq!(unknown[1], "waiting for an answer");
}

#[test]
fn a_process_that_is_not_ready_states_why() {
    let mut model = model(1);
    let mut answered = model.answered.clone();
    answered.status.ready = false;
    answered.status.reason = Some("restoring: 40 % of the cycles are replayed".into());
    answered.events.clear();
    model.take(News::Answered(Box::new(answered)), NOW);
    let lines = frame(&model, 120, 24);
    assert!(lines[0].contains("not ready"), "{}", lines[0]);
    assert!(lines[1].starts_with("not ready: restoring: 40 %"), "{}", lines[1]);
    assert!(lines[2].contains("queues 1  running 1000"), "{}", lines[2]);
}

#[test]
fn facts_that_are_too_old_are_as_loud_as_a_process_that_is_not_ready() {
    let mut model = model(1);
    let mut answered = model.answered.clone();
    let trouble = |severity: &str, text: &str| Trouble {
        severity: severity.into(),
        text: text.into(),
        ..Trouble::default()
    };
    answered.status.troubles = vec![trouble("watch", "topic transfer never had a record")];
    model.take(News::Answered(Box::new(answered.clone())), NOW);
    assert!(frame(&model, 160, 24)[1].contains("queues 1  running 1000"), "goes on");
    answered.status.troubles.push(trouble("act", "topic queue is stale: nothing new for 9000 s"));
    model.take(News::Answered(Box::new(answered)), NOW);
    let lines = frame(&model, 160, 24);
    assert!(lines[0].contains("leading, ready"), "{}", lines[0]);
    assert_eq!(
        lines[1],
        "topic queue is stale: nothing new for 9000 s  (and 1 more: /api/v1/status)"
    );
    assert!(lines[2].contains("queues 1  running 1000"), "{}", lines[2]);
}

/// A pool that has something in each of its lists.
fn pool(now: Millis) -> Pool {
    let reason = |title: &str, jobs| IdleReason { title: title.into(), jobs };
    Pool {
        idle: 4_700,
        on_hold: 12,
        workflows_open: 12,
        drains_open: 2,
        idle_by_reason: vec![reason("Too few cores left", 4_000), reason("Next in turn", 700)],
        workflows: vec![Workflow {
            workflow: "wf".into(),
            idle: 105,
            on_hold: 0,
            running: 4,
            finished: 5,
            failed: 1,
            last_match_at: Some(now - 7_200_000),
        }],
        users: vec![PoolUser {
            user: "ann".into(),
            share: 65.15,
            running: 48,
            idle: 240,
            on_hold: 0,
        }],
        drains: vec![Drain {
            node: "wn0005.T2_US_02".into(),
            site: "T2_US_02".into(),
            job: "node-000302-00002".into(),
            since: now - 2_400_000,
            until: now + 21_000_000,
            cores: 8,
        }],
        offers: Offers {
            live: 39,
            cores_free: 758,
            oldest_at: Some(now - 441_000),
            newest_at: Some(now - 2_000),
        },
        ..Pool::default()
    }
}

#[test]
fn of_a_pool_each_list_beside_the_sites_is_reached_on_a_low_terminal_too() {
    let mut answered = Answered { words: Words::Sites, ..model(1).answered.clone() };
    answered.pool = Some(pool(answered.status.now));
    let mut model = Model::new();
    model.take(News::Answered(Box::new(answered)), NOW);
    let lists: [&[&[&str]]; 4] = [
        &[&["Why 4700 jobs are idle"], &["Too few cores left", "4000"]],
        &[&["Workflows 12"], &["idle", "run", "fin", "fail/rm"], &["wf", "105", "4", "5", "1"]],
        &[&["Users"], &["ann", "65.2", "48", "240"]],
        &[
            &["Drained nodes 2"],
            &["wn0005.T2_US_02", "8", "40m", "5h"],
            &["for node-000302-00002, T2_US_02"],
        ],
    ];
    for (width, height) in [(100, 24), (180, 24)] {
        for list in lists {
            let lines = frame(&model, width, height);
            for parts in list {
                let has = |line: &&String| parts.iter().all(|part| line.contains(part));
                assert!(lines.iter().any(|it| has(&it)), "{parts:?} in {lines:#?}");
            }
            key(&mut model, KeyCode::Char('b'));
        }
    }
    key(&mut model, KeyCode::Char('?'));
    assert!(frame(&model, 100, 40).iter().any(|it| it.starts_with("b ")), "the key is named");
}

/// A column of jobs on hold is there where a row has any.
#[test]
fn jobs_on_hold_are_a_column_of_workflows_and_users_that_have_them() {
    let mut answered = Answered { words: Words::Sites, ..model(1).answered.clone() };
    let (none, mut held) = (pool(NOW), pool(NOW));
    (held.workflows[0].on_hold, held.users[0].on_hold) = (12, 11);
    let mut words = |pool: Pool, list: usize, name: &str| {
        answered.pool = Some(pool);
        let mut model = Model::new();
        model.take(News::Answered(Box::new(answered.clone())), NOW);
        (0..list).for_each(|_| key(&mut model, KeyCode::Char('b')));
        let lines = frame(&model, 100, 24);
        let line = lines.iter().find(|it| it.contains(name)).unwrap_or_else(|| panic!("{lines:?}"));
        let figures = line.split(name).nth(1).unwrap();
        figures.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(words(none.clone(), 1, "most idle first"), "idle run fin fail/rm");
    assert_eq!(words(held.clone(), 1, "most idle first"), "idle hold run fin");
    assert_eq!(words(none, 2, "largest first"), "share run idle");
    assert_eq!(words(held.clone(), 2, "largest first"), "share run idle hold");
    assert_eq!(words(held, 2, "ann"), "65.2 48 240 11");
}

#[test]
fn a_pool_and_clusters_are_shown_in_their_own_words() {
    let mut answered = Answered { words: Words::Sites, ..model(1).answered.clone() };
    answered.queues[0].pledged_cores = Some(2_000);
    (answered.queues[0].running_cores, answered.queues[0].offers) = (500, Some(3));
    answered.pool = Some(pool(answered.status.now));
    answered.status.requests_open = Some(4_700);
    let mut model = Model::new();
    model.take(News::Answered(Box::new(answered.clone())), NOW);
    let lines = frame(&model, 180, 40);
    assert!(lines[0].contains("idle jobs 4700"), "{}", lines[0]);
    let jobs = "sites 1  running 1000 (500 cores of 2000 pledged)  idle 4700  on hold 12";
    let sums = format!("{jobs}  offers 39 (758 cores), 2s to 7m old  workflows 12  drains 2");
    assert!(lines[1].contains(&sums), "{}", lines[1]);
    assert!(lines[3].starts_with("Sites 1 of 1"), "{}", lines[3]);
    let words: Vec<&str> = lines[5].split_whitespace().collect();
    assert_eq!(words[..7], ["SITE_000", "online", "1000", "500", "2000", "25", "3"]);
    let has = |parts: &[&str]| lines.iter().any(|it| parts.iter().all(|part| it.contains(part)));
    assert!(has(&["Why 4700 jobs are idle"]) && has(&["Too few cores left", "4000"]), "{lines:#?}");
    assert!(has(&["wf", "105", "4", "5", "1", "2h"]), "{lines:#?}");
    assert!(has(&["Users"]) && has(&["largest first", "share", "run", "idle"]), "{lines:#?}");
    assert!(!lines[..20].iter().any(|it| it.contains("pilots") || it.contains("Shares")));

    (answered.words, answered.pool) = (Words::Clusters, None);
    answered.queues[0].status = "inactive, the job manager is down".into();
    (answered.queues[0].free_cores, answered.queues[0].local_queued) = (Some(7), Some(31));
    (answered.queues[0].assigned, answered.queues[0].disk_free_bytes) =
        (13, Some(2_999_000_000_000));
    model.take(News::Answered(Box::new(answered)), NOW);
    let lines = frame(&model, 240, 40);
    assert!(
        lines[1].contains("cluster queues 1") && lines[1].contains("inactive 1"),
        "{}",
        lines[1]
    );
    for part in ["prep", "finish", "CPUs", "local q", "disk GB", "cache GB", "cluster", "country"] {
        assert!(lines[4].contains(part), "{part}: {}", lines[4]);
    }
    let words: Vec<&str> = lines[5].split_whitespace().collect();
    assert_eq!(words[1], "inactive");
    for figure in ["31", "7", "13", "2999", "-"] {
        assert!(words.contains(&figure), "{figure}: {words:?}");
    }
}
