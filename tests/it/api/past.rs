//! Questions about the past and about a task: what they answer is counted in the log here.

use super::{Run, first, get, wait_for};
use crate::demo::Demo;
use crate::http::ask;
use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use yardmaster::core::cut::{Cut, Lane, Topic};
use yardmaster::core::event::{Configured, Event, Parameter, Queue, QueueStatus, Status};
use yardmaster::drive::port::{Batch, Log};
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, Topology};

const HOUR: i64 = 3_600_000;

/// A state of a job, as its record has it.
#[derive(Clone, Debug)]
pub struct Reported {
    came_at: i64,
    job: String,
    pub task: String,
    pub queue: String,
    pub gshare: String,
    pub user: String,
    pub group: String,
    order: (u32, bool, i64, u64, Status),
    pub status: Status,
    pub started_at: i64,
}

fn topics(of: &Topology) -> Vec<DirTopic> {
    let topic = |topic: Topic| {
        let settings = of.topic(topic);
        DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
    };
    of.read_topics().map(topic).collect()
}

/// The states of jobs in a log, in the order in which they came.
pub fn reported(dir: &Path, of: &Topology) -> Vec<Reported> {
    let mut log = DirLog::open(dir, Mode::Read, &topics(of), DirOptions::default()).unwrap();
    let spans = log.lanes().unwrap();
    let mut left: BTreeMap<Lane, u64> = BTreeMap::new();
    let mut cut = Cut::default();
    for span in spans.iter().filter(|it| it.lane.topic == Topic::JobState && it.first < it.end) {
        cut.advance(span.lane, span.first);
        left.insert(span.lane, span.end);
    }
    log.assign(&cut).unwrap();
    let (codec, mut all) = (Codec::default(), Vec::new());
    let mut batch = Batch::default();
    while !left.is_empty() {
        batch.clear();
        log.take(&mut batch, 10_000, Duration::from_millis(100)).unwrap();
        for raw in &batch.records {
            let mut arena = Arena::default();
            left.retain(|lane, end| *lane != raw.lane || raw.offset + 1 < *end);
            let event = codec.read(Topic::JobState, None, batch.value(raw), &mut arena);
            let Event::JobState(it) = event else { continue };
            all.push(Reported {
                came_at: raw.appended_at,
                job: it.job.to_owned(),
                task: it.task.to_owned(),
                queue: it.queue.to_owned(),
                gshare: it.gshare.to_owned(),
                user: it.user.to_owned(),
                group: it.group.to_owned(),
                // A time that lies ahead of the log's own stamp is none.
                order: (
                    it.attempt,
                    it.status.is_ended(),
                    it.changed_at.min(raw.appended_at),
                    it.revision,
                    it.status,
                ),
                status: it.status,
                started_at: it.started_at,
            });
        }
    }
    all.sort_by_key(|it| it.came_at);
    all
}

/// The newest state of each job that had come by a moment.
pub fn newest(all: &[Reported], until: i64) -> BTreeMap<&str, &Reported> {
    let mut newest: BTreeMap<&str, &Reported> = BTreeMap::new();
    for it in all.iter().filter(|it| it.came_at <= until) {
        let held = newest.entry(&it.job).or_insert(it);
        if it.order >= held.order {
            *held = it;
        }
    }
    newest
}

fn millis(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("no moment: {value}"))
}

/// The values of a curve.
fn curve(answer: &Value, name: &str, what: &str) -> Vec<Option<f64>> {
    let series = answer["series"].as_array().unwrap();
    let found = series.iter().find(|it| it["name"] == name && it["what"] == what);
    let found = found.unwrap_or_else(|| panic!("no curve of {name:?} {what}: {answer}"));
    found["values"].as_array().unwrap().iter().map(Value::as_f64).collect()
}

#[test]
fn curves_a_task_and_compared_counters_are_what_the_log_says() {
    let dir = TempDir::new().unwrap();
    let yard = dir.path().join("demo");
    let demo = Demo::start(&yard, &[]);
    let kept = |it: &Value| it["to"].as_i64() > it["from"].as_i64().map(|from| from + 3 * HOUR);
    let history = wait_for(demo.address, "/api/v1/history", kept);
    let task = first(demo.address, "assign")["task"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/task?name={task}");
    let answer = wait_for(demo.address, &path, |it| it["jobs"]["total"].as_u64() > Some(0));
    let to = millis(&history["to"]) / (HOUR / 2) * (HOUR / 2);
    let span = format!("from={}&to={to}&step=1800", to - 2 * HOUR);
    let all = get(demo.address, &format!("/api/v1/series?{span}"));
    let queues =
        get(demo.address, &format!("/api/v1/series?of=queue&{span}&what=running,finished"));
    let moments: Vec<i64> = all["at"].as_array().unwrap().iter().map(millis).collect();
    assert_eq!(moments.len(), 5, "{all}");
    let counted = |at: &i64| {
        let then = get(demo.address, &format!("/api/v1/counters?by=queue&at={at}"));
        (millis(&then["now"]), then)
    };
    let taken: Vec<(i64, Value)> = moments.iter().map(counted).collect();
    let (early, late) = (taken[1].0, taken[4].0);
    let against =
        get(demo.address, &format!("/api/v1/counters?at={late}&against={early}&by=share"));
    let [before, after] = [early, late].map(|at| {
        get(demo.address, &format!("/api/v1/counters?at={at}&by=share"))["counters"].clone()
    });
    compared(&against, &before, &after);
    drop(demo);

    let log = reported(&yard, &Topology::default_atlas());
    assert!(log.len() > 1_000);
    let running = |at: i64| {
        newest(&log, at).values().filter(|it| it.status == Status::Running).count() as f64
    };
    let expected: Vec<Option<f64>> = taken.iter().map(|(at, _)| Some(running(*at))).collect();
    assert_eq!(curve(&all, "", "running"), expected);
    rates(&log, &all, &taken);
    of_queues(&log, &queues, taken[4].0);
    of_task(&log, &task, &answer);
    let explained = printed(&yardmaster(&[
        "explain",
        &task,
        "--dir",
        yard.to_str().unwrap(),
        "--at",
        &answer["now"].to_string(),
    ]));
    // Made again from the log, it begins with the same lines.
    let lines = |text: &str| text.lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(lines(&explained.1), lines(answer["text"].as_str().unwrap()), "{}", explained.2);
    let json = ["--at", &late.to_string(), "--against", &early.to_string()].map(str::to_owned);
    let verb = yardmaster(
        &[
            &["counters", "--dir", yard.to_str().unwrap(), "--by", "share", "--json"][..],
            &json.each_ref().map(String::as_str)[..],
        ]
        .concat(),
    );
    let (code, lines, errors) = printed(&verb);
    assert_eq!(code, Some(0), "{errors}");
    let lines: BTreeSet<String> = lines.lines().map(str::to_owned).collect();
    let of_api = against["counters"].as_array().unwrap().iter().map(ToString::to_string);
    assert_eq!(lines, of_api.collect());
}

/// Rates between two points add up to what came between them.
fn rates(log: &[Reported], all: &Value, taken: &[(i64, Value)]) {
    let [finished, failed, starts] =
        ["finished", "failed", "starts"].map(|what| curve(all, "", what));
    for (number, pair) in taken.windows(2).enumerate() {
        let (from, to) = (pair[0].0, pair[1].0);
        let ended = |status| {
            let of = |at| {
                let newest = newest(log, at);
                let jobs = newest.values().filter(|it| it.status == status);
                jobs.map(|it| it.job.clone()).collect::<BTreeSet<_>>()
            };
            of(to).difference(&of(from)).count() as f64
        };
        let jobs = |rates: &[Option<f64>]| {
            let rate = rates[number + 1].unwrap_or_else(|| panic!("no rate at {to}: {all}"));
            (rate * (to - from) as f64 / HOUR as f64).round()
        };
        assert_eq!(jobs(&finished), ended(Status::Finished), "finished from {from} to {to}");
        assert_eq!(jobs(&failed), ended(Status::Failed), "failed from {from} to {to}");
        // One that fails at once after its start does not count as started.
        let started = |at: i64| {
            let all = log.iter().filter(|it| it.came_at <= at && it.started_at > 0);
            all.map(|it| (it.job.clone(), it.started_at)).collect::<BTreeSet<_>>()
        };
        let came = started(to).difference(&started(from)).count() as f64;
        let counted = jobs(&starts);
        assert!(counted <= came && counted >= 0.8 * came, "{counted} starts of {came}");
    }
}

fn of_queues(log: &[Reported], queues: &Value, at: i64) {
    let mut running: BTreeMap<&str, f64> = BTreeMap::new();
    for it in newest(log, at).values().filter(|it| it.status == Status::Running) {
        *running.entry(&it.queue).or_default() += 1.0;
    }
    let series = queues["series"].as_array().unwrap().iter();
    let of_running = series.filter(|it| it["what"] == "running");
    let shown: BTreeMap<&str, f64> = of_running
        .map(|it| (it["name"].as_str().unwrap(), it["values"][4].as_f64().unwrap()))
        .filter(|(_, jobs)| *jobs > 0.0)
        .collect();
    assert_eq!(shown, running);
}

fn of_task(log: &[Reported], task: &str, answer: &Value) {
    let mut expected: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for it in newest(log, millis(&answer["now"])).values().filter(|it| it.task == task) {
        let what = match it.status {
            Status::Running => "running",
            Status::Finished => "finished",
            Status::Failed => "failed",
            Status::Closed | Status::Cancelled => "closed",
            status if status < Status::Running => "queued",
            _ => "ending",
        };
        *expected.entry((&it.queue, what)).or_default() += 1;
    }
    let mut shown: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for queue in answer["queues"].as_array().unwrap() {
        for what in ["queued", "running", "ending", "finished", "failed", "closed"] {
            let jobs = queue[what].as_u64().unwrap();
            if jobs > 0 {
                shown.insert((queue["queue"].as_str().unwrap(), what), jobs);
            }
        }
    }
    assert_eq!(shown, expected, "{answer}");
    assert_eq!(answer["jobs"]["total"].as_u64(), Some(expected.values().sum()));
}

/// What is compared is what both moments have, and nothing that differs is left out.
fn compared(against: &Value, before: &Value, after: &Value) {
    type Figures = BTreeMap<String, Value>;
    let figures = |it: &Value| -> Figures {
        let fields = it.as_object().unwrap().iter();
        let figures = fields.filter(|(_, value)| value.is_i64());
        figures.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    let key = |it: &Value| format!("{} {}", it["queue"], it["gshare"]);
    let all = |list: &Value| -> BTreeMap<String, Figures> {
        list.as_array().unwrap().iter().map(|it| (key(it), figures(it))).collect()
    };
    let (before, after) = (all(before), all(after));
    let mut names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.retain(|name| before.get(*name) != after.get(*name));
    assert!(!names.is_empty());
    let shown = against["counters"].as_array().unwrap();
    assert_eq!(
        shown.iter().map(key).collect::<BTreeSet<_>>(),
        names.into_iter().cloned().collect()
    );
    for it in shown {
        let of = |all: &BTreeMap<String, Figures>| all.get(&key(it)).cloned().unwrap_or_default();
        assert_eq!((figures(it), figures(&it["before"])), (of(&after), of(&before)), "{it}");
    }
}

#[test]
fn after_a_restart_counters_are_kept_at_their_interval_and_what_is_missing_is_stated() {
    let dir = TempDir::new().unwrap();
    let yard = dir.path().join("demo");
    let demo = Demo::start(&yard, &[]);
    let kept = |it: &Value| it["to"].as_i64() > it["from"].as_i64().map(|from| from + HOUR);
    let before = wait_for(demo.address, "/api/v1/history", kept);
    drop(demo);
    let topology = dir.path().join("topology.toml");
    let text = ATLAS.replace("\nhistory_h = 192", "\nhistory_h = 87_600");
    let text = text.replace("\nhistory_interval_s = 60", "\nhistory_interval_s = 1");
    std::fs::write(&topology, text).unwrap();
    let run = Run::start(yard.to_str().unwrap(), topology.to_str().unwrap());
    let of_today = |it: &Value| it["to"].as_i64() > before["to"].as_i64().map(|to| to + 24 * HOUR);
    wait_for(run.address, "/api/v1/history", of_today);
    let (begun, mut seen) = (Instant::now(), BTreeSet::new());
    while begun.elapsed() < Duration::from_secs(8) {
        seen.insert(millis(&get(run.address, "/api/v1/history")["to"]));
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(seen.len() >= 5, "counters of {} moments in 8 s: {seen:?}", seen.len());
    let history = get(run.address, "/api/v1/history");
    // Nobody was there in between.
    let middle = (millis(&before["to"]) + seen.first().unwrap()) / 2;
    assert!(states_what_is_missing(run.address, &history, middle), "{middle}: {history}");
    run.stop();

    // All is made again from the log, by a process that has nothing else.
    std::fs::remove_dir_all(yard.join("store")).unwrap();
    let text = ATLAS.replace("\nhistory_h = 192", "\nhistory_h = 87_600");
    std::fs::write(&topology, text).unwrap();
    let run = Run::start(yard.to_str().unwrap(), topology.to_str().unwrap());
    let history = wait_for(run.address, "/api/v1/history", of_today);
    let (from, to) = (millis(&history["from"]), millis(&before["to"]));
    assert!(from < to, "{history}");
    // At the begin of a gap nothing is missing yet.
    let moments = (from..to).step_by(60_000).map(|at| at + 1);
    let missing = moments.filter(|at| states_what_is_missing(run.address, &history, *at)).count();
    let all = (to - from) / 60_000;
    assert!((missing as i64) < all, "{missing} of {all} minutes are missing: {history}");
}

/// A look back shows counters that are no older than two intervals, or states that none are kept.
/// Returns whether it states that.
fn states_what_is_missing(address: SocketAddr, history: &Value, at: i64) -> bool {
    let then = get(address, &format!("/api/v1/queues?at={at}"));
    let listed = history["counter_gaps"].as_array().unwrap().contains(&then["gap"]);
    let age = at - millis(&then["now"]);
    assert_eq!(then["gap"].is_null(), !listed, "{at}: {} {history}", then["gap"]);
    assert!(listed || age <= 120_000, "{at}: {age} ms old: {history}");
    listed
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

fn put(writer: &mut DirWriter, it: &impl Configured) {
    let (topic, name) = (topic_of(it), it.name());
    let mut value = Vec::new();
    record::write(&mut value, it);
    let (lane, key) = (Lane::new(topic, 0), name.as_bytes());
    writer.append(lane, Some(key), Some(&value), &[], now()).unwrap();
    writer.flush().unwrap();
}

fn writer_of(dir: &Path) -> DirWriter {
    let log =
        DirLog::open(dir, Mode::Write, &topics(&Topology::default_atlas()), DirOptions::default())
            .unwrap();
    log.writer().unwrap()
}

fn topic_of<T: Configured>(_: &T) -> Topic {
    T::TOPIC
}

#[test]
fn the_process_and_the_log_agree_on_what_changed() {
    let dir = TempDir::new().unwrap();
    let yard = dir.path().join("log");
    let mut writer = writer_of(&yard);
    let queue =
        Queue { name: "oak".into(), unified: "oak".into(), changed_at: now(), ..Queue::default() };
    let limit = |value: &str| Parameter {
        app: "jedi".into(),
        component: "jobbroker".into(),
        key: "MAX".into(),
        value: value.into(),
        changed_at: now(),
        ..Parameter::default()
    };
    put(&mut writer, &queue);
    put(&mut writer, &limit("5"));
    drop(writer);
    let topology = dir.path().join("topology.toml");
    let text = ATLAS.replace("\nhistory_interval_s = 60", "\nhistory_interval_s = 1");
    std::fs::write(&topology, &text).unwrap();
    let (place, file) = (yard.to_str().unwrap(), topology.to_str().unwrap());
    let run = Run::start(place, file);
    let has = |kind: &'static str, count: usize| {
        move |it: &Value| {
            let all = it["changes"].as_array().unwrap();
            all.iter().filter(|it| it["kind"] == kind).count() >= count
        }
    };
    wait_for(run.address, "/api/v1/changes", has("limit", 1));
    run.stop();
    // A log has one writer.
    let begun = now();
    let mut writer = writer_of(&yard);
    put(&mut writer, &Queue { status: QueueStatus::Brokeroff, changed_at: now(), ..queue.clone() });
    put(&mut writer, &limit("7"));
    drop(writer);
    // Another topology: another process leads by it.
    let other = text.replace("\ncounters_interval_s = 5", "\ncounters_interval_s = 9");
    std::fs::write(&topology, other).unwrap();
    let run = Run::start(place, file);
    wait_for(run.address, "/api/v1/changes?name=oak", has("status", 1));
    wait_for(run.address, "/api/v1/changes", has("limit", 3));
    let answer = wait_for(run.address, "/api/v1/changes?from=0", has("lead", 2));
    assert_eq!(answer["complete"], false, "nothing is kept since 1970");
    let changes = answer["changes"].as_array().unwrap();
    let mut texts: Vec<(&str, &str)> = changes
        .iter()
        .map(|it| (it["kind"].as_str().unwrap(), it["text"].as_str().unwrap()))
        .collect();
    texts.sort_unstable();
    let is_there = |kind: &str, text: &str| {
        assert!(texts.contains(&(kind, text)), "{kind}: {text}: {texts:#?}");
    };
    is_there("fact", "queue oak is new: online");
    is_there("status", "queue oak is brokeroff; it was online");
    is_there("limit", "parameter jedi/jobbroker/MAX/ is new: 5");
    is_there("limit", "parameter jedi/jobbroker/MAX/ is 7; it was 5");
    is_there("limit", "limits: counters_interval_s is 9; it was 5");
    let status = changes.iter().find(|it| it["kind"] == "status").unwrap();
    assert_eq!((&status["before"], &status["after"]), (&"online".into(), &"brokeroff".into()));
    assert!(millis(&status["at"]) >= begun && millis(&status["at"]) < begun + 60_000);
    let (head, body) = ask(run.address, "/api/v1/changes?kind=weather");
    assert!(head.starts_with("HTTP/1.1 400") && body.contains("status, limit"), "{body}");
    // The log says the same, to the letter.
    let (code, lines, errors) = printed(&yardmaster(&["changes", "--dir", place]));
    assert_eq!(code, Some(0), "{errors}");
    let mut of_log: Vec<(&str, &str)> = lines
        .lines()
        .map(|line| {
            let (kind, text) = line.split_at(22).1.split_once("  ").unwrap();
            (kind.trim(), text.trim())
        })
        .collect();
    of_log.sort_unstable();
    assert_eq!(of_log, texts, "{lines}");
    let named =
        yardmaster(&["changes", "--dir", place, "--name", "oak", "--kind", "status", "--json"]);
    let named: Value = serde_json::from_str(&printed(&named).1).unwrap();
    assert_eq!(named["text"], "queue oak is brokeroff; it was online");
    let (code, _, errors) =
        printed(&yardmaster(&["changes", "--dir", place, "--from", "2h", "--to", "3h"]));
    assert!(code == Some(2) && errors.contains("--from"), "{errors}");
}
