//! Requests that were answered twice, as an operator sees them: `compare` and `explain` on a log in
//! a directory.

mod kafka;

use crate::verbs::{printed, yardmaster};
use serde_json::Value;
use tempfile::TempDir;
use yardmaster::core::comparison::{
    AnswerOutcome, ChosenQueue, Comparison, Figures, InCharge, RejectedQueue, SideAnswer,
};
use yardmaster::core::cut::{Lane, Topic};
use yardmaster::core::output::progress::Progress;
use yardmaster::shell::dirlog::envelope::{Envelope, Stamp};
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::wire::record;
use yardmaster::wire::topology::{ATLAS, Topology};

const T0: i64 = 1_760_000_000_000;

/// A directory log that is written to as a client does.
pub struct Compared {
    dir: TempDir,
    writer: DirWriter,
}

pub fn answer(outcome: AnswerOutcome) -> SideAnswer {
    SideAnswer {
        outcome,
        reason: String::new(),
        took_ms: 20,
        queues: vec![],
        fates: vec![],
        figures: vec![],
        notes: vec![],
    }
}

pub fn assign(queues: &[&str]) -> SideAnswer {
    let chosen = |queue: &&str| ChosenQueue { queue: (*queue).to_owned(), weight: 1.0, jobs: 0 };
    SideAnswer { queues: queues.iter().map(chosen).collect(), ..answer(AnswerOutcome::Assign) }
}

pub fn comparison(subject: &str, yardmaster: SideAnswer, other: SideAnswer) -> Comparison {
    let task = subject.split('/').next().unwrap_or_default();
    Comparison {
        domain: "atlas".into(),
        subject: subject.into(),
        attempt: 0,
        task: task.into(),
        policy: "production".into(),
        gshare: "MC".into(),
        queue_type: "production".into(),
        resource_type: "SCORE".into(),
        label: "managed".into(),
        asked_at: T0,
        compared_at: T0 + 1_000,
        in_charge: InCharge::Other,
        yardmaster,
        other,
    }
}

impl Compared {
    pub fn new() -> Compared {
        let dir = TempDir::new().unwrap();
        let topology = Topology::default_atlas();
        let topic = |topic: Topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        };
        let topics: Vec<DirTopic> = topology.topics.keys().copied().map(topic).collect();
        let log = DirLog::open(dir.path(), Mode::Write, &topics, DirOptions::default()).unwrap();
        let writer = log.writer().unwrap();
        Compared { dir, writer }
    }

    pub fn path(&self) -> &str {
        self.dir.path().to_str().unwrap()
    }

    pub fn bytes(&mut self, key: &str, value: &[u8]) {
        let lane = Lane::new(Topic::Comparison, 0);
        self.writer.append(lane, Some(key.as_bytes()), Some(value), &[], T0).unwrap();
        self.writer.flush().unwrap();
    }

    /// The same with one cycle, at the end.
    fn ended(self, now: i64) -> TempDir {
        let mut value = Vec::new();
        let domain = "atlas".to_owned();
        record::write(&mut value, &Progress { domain, now, ..Progress::default() });
        let Compared { dir, writer } = self;
        drop(writer);
        let topic = Topic::Progress;
        let name = Topology::default_atlas().topic(topic).name.clone();
        let topics = [DirTopic { topic, name, partitions: 1 }];
        let mut writer = DirWriter::archive(dir.path(), &topics, DirOptions::default()).unwrap();
        let (key, value) = (Some(&b"atlas"[..]), Some(&value[..]));
        let (offset, timestamp, stamp, headers) = (0, now, Stamp::Append, &[][..]);
        let envelope = Envelope { offset, timestamp, stamp, key, value, headers };
        writer.put(Lane::new(topic, 0), &envelope).unwrap();
        writer.flush().unwrap();
        dir
    }

    pub fn put(&mut self, comparison: &Comparison) {
        let mut value = Vec::new();
        record::write(&mut value, comparison);
        self.bytes(&comparison.subject, &value);
    }

    /// Seven of domain atlas: four of share MC and of these two agree, three of share User.
    fn seven(&mut self) {
        let mut rejecting = assign(&["A"]);
        let fate = |queue: &str, reason: &str| RejectedQueue {
            queue: queue.into(),
            filter: "queued_ratio".into(),
            reason: reason.into(),
        };
        rejecting.fates = vec![fate("B", "3100 for 900"), fate("C", "7 for 2")];
        let figures = |queued| Figures {
            queue: "B".into(),
            running: Some(900),
            queued: Some(queued),
            pilots: None,
        };
        rejecting.figures = vec![figures(3_100)];
        rejecting.took_ms = 1_000;
        let mut choosing = assign(&["B", "C"]);
        choosing.figures = vec![figures(1_200)];
        let deferred = SideAnswer { reason: "busy".into(), ..answer(AnswerOutcome::Defer) };
        self.put(&comparison("1/0", assign(&["A"]), assign(&["A"])));
        self.put(&comparison("1/1", assign(&["A", "B"]), assign(&["A"])));
        self.put(&comparison("1/2", rejecting, choosing));
        self.put(&comparison("1/3", deferred, assign(&["A"])));
        let user = |subject: &str, yardmaster: SideAnswer| Comparison {
            gshare: "User".into(),
            queue_type: "analysis".into(),
            in_charge: InCharge::Yardmaster,
            asked_at: T0 + 60_000,
            ..comparison(subject, yardmaster, assign(&["A"]))
        };
        self.put(&user("2/0", assign(&["A"])));
        self.put(&user("2/1", answer(AnswerOutcome::Absent)));
        self.put(&user("2/2", answer(AnswerOutcome::Failed)));
    }
}

#[track_caller]
fn run(code: i32, args: &[&str]) -> (String, String) {
    let (found, text, errors) = printed(&yardmaster(args));
    assert_eq!(found, Some(code), "{args:?}\n{text}\n{errors}");
    (text, errors)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn agreement_is_summed_up_and_its_lack_fails() {
    let mut log = Compared::new();
    log.seven();
    let dir = log.path().to_owned();
    let compare =
        |code: i32, more: &[&str]| run(code, &[&["compare", "--dir", &dir], more].concat());
    let sum = json(&compare(0, &["--json"]).0);
    assert_eq!(
        (&sum["requests"], &sum["answered"], &sum["led"]),
        (&7.into(), &5.into(), &3.into())
    );
    assert_eq!(sum["same_outcome"], 0.8);
    assert_eq!((&sum["agree"], &sum["same_first"]), (&0.6.into(), &0.6.into()));
    assert_eq!(sum["same_queues"], 0.4);
    assert_eq!(sum["sides"]["yardmaster"]["absent"], 1);
    assert_eq!(sum["sides"]["yardmaster"]["p99_ms"], 1_000);
    assert_eq!(sum["sides"]["other"]["p50_ms"], 20);
    let missed = sum["not_chosen"].as_array().unwrap();
    let queued = missed.iter().find(|it| it["filter"] == "queued_ratio").unwrap();
    assert_eq!(queued["reason"], "N for N");
    assert_eq!((&queued["requests"], &queued["queues"]), (&1.into(), &2.into()));
    assert_eq!(sum["figures"]["other_choice"]["differ"], 1);
    assert_eq!(sum["queues"][0]["queued"]["yardmaster"], 3_100.0);
    assert_eq!(sum["outcomes"][0]["yardmaster"]["reason"], "busy");

    let (text, _) = compare(0, &[]);
    for part in [
        "7 requests asked from 2025-10-09T08:53:20Z to 2025-10-09T08:54:20Z; 3 carried out",
        "agreement of the 5 with two answers",
        "and the same queue first    60.0%  (--measure)",
        "queued_ratio",
        "N for N",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }

    compare(0, &["--min-agreement", "60%"]);
    let (_, errors) = compare(1, &["--min-agreement", "61%"]);
    assert!(errors.contains("all: 60.0% agree, and --min-agreement is 61.0%"), "{errors}");
    compare(0, &["--min-agreement", "80%", "--measure", "outcome"]);
    compare(1, &["--min-agreement", "41%", "--measure", "queues"]);
    // Nothing to go by is not enough.
    let (_, errors) = compare(1, &["--to", "2020-01-01T00:00:00Z", "--min-agreement", "0%"]);
    assert!(errors.contains("no request has two answers"), "{errors}");
}

#[test]
fn groups_have_a_row_each_and_each_must_reach_the_agreement() {
    let mut log = Compared::new();
    log.seven();
    let dir = log.path().to_owned();
    let by = |by: &str| {
        let sum = json(&run(0, &["compare", "--dir", &dir, "--by", by, "--json"]).0);
        assert_eq!(sum["by"], by);
        let groups = sum["groups"].as_object().unwrap().clone();
        let counts = groups.into_iter().map(|(name, it)| (name, it["requests"].as_u64().unwrap()));
        counts.collect::<Vec<_>>()
    };
    let groups = |of: &[(&str, u64)]| -> Vec<(String, u64)> {
        of.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    assert_eq!(by("gshare"), groups(&[("MC", 4), ("User", 3)]));
    assert_eq!(by("queue_type"), groups(&[("analysis", 3), ("production", 4)]));
    assert_eq!(by("queue"), groups(&[("A", 7), ("B", 1)]));
    assert_eq!(by("filter"), groups(&[("yardmaster: queued_ratio", 1)]));
    assert_eq!(by("label"), groups(&[("managed", 7)]));
    assert_eq!(by("resource_type"), groups(&[("SCORE", 7)]));

    let args = ["compare", "--dir", &dir, "--by", "gshare", "--columns", "group,answered,agree"];
    let (text, _) = run(0, &args);
    let rows: Vec<Vec<&str>> = text.lines().map(|it| it.split_whitespace().collect()).collect();
    let wanted = [["group", "answered", "agree"], ["MC", "4", "50.0%"], ["User", "1", "100.0%"]];
    assert_eq!(rows, wanted);
    let args = ["compare", "--dir", &dir, "--by", "gshare", "--min-agreement", "90%"];
    let (_, errors) = run(1, &args);
    assert!(errors.contains("MC: 50.0% agree") && !errors.contains("User"), "{errors}");
}

#[test]
fn a_share_of_which_nobody_answered_reaches_no_agreement() {
    let mut log = Compared::new();
    log.put(&comparison("1/0", assign(&["A"]), assign(&["A"])));
    let absent = comparison("2/0", answer(AnswerOutcome::Absent), assign(&["A"]));
    log.put(&Comparison { gshare: "Silent".into(), ..absent });
    let dir = log.path().to_owned();
    let least = |code: i32, more: &[&str]| {
        run(code, &[&["compare", "--dir", &dir, "--min-agreement", "90%"], more].concat()).1
    };
    least(0, &[]);
    let errors = least(1, &["--by", "gshare"]);
    assert!(errors.contains("Silent: no request has two answers"), "{errors}");
    // Queues and filters of one side alone are no such.
    least(0, &["--by", "queue"]);
    let errors = least(1, &["--by", "queue", "--from", "2031-01-01T00:00:00Z"]);
    assert!(errors.contains("all: no request has two answers"), "{errors}");
}

#[test]
fn what_is_no_comparison_of_the_domain_and_time_is_passed_over() {
    let mut log = Compared::new();
    let first = comparison("1/0", assign(&["A"]), assign(&["A"]));
    log.put(&first);
    log.put(&first);
    log.put(&Comparison { domain: "cms".into(), ..first.clone() });
    log.put(&Comparison { asked_at: T0 + 5_000, ..first });
    log.bytes("odd", b"\0nothing that can be read");
    let dir = log.path().to_owned();
    let (text, errors) = run(0, &["compare", "--dir", &dir, "--json"]);
    assert_eq!(json(&text)["requests"], 2);
    assert!(errors.contains("passed over 1 records that are no comparisons"), "{errors}");
    assert!(errors.contains("passed over 1 records that are copies"), "{errors}");
    let (from, to) = ((T0 + 1).to_string(), (T0 + 5_000).to_string());
    let asked = |more: &[&str]| {
        json(&run(0, &[&["compare", "--dir", &dir, "--json"], more].concat()).0)["requests"].clone()
    };
    assert_eq!(asked(&["--from", &from]), 1);
    assert_eq!(asked(&["--to", &to]), 1);
    assert_eq!(asked(&["--since", &from, "--to", &to]), 0);
    // An age is one before the last cycle.
    let (_, errors) = run(2, &["compare", "--dir", &dir, "--from", "2s"]);
    assert!(errors.contains("--from: the log has no cycle"), "{errors}");
    let _dir = log.ended(T0 + 7_000);
    for (age, since) in [("8s", 2), ("7s", 2), ("6s", 1), ("2s", 1), ("1s", 0)] {
        assert_eq!(asked(&["--from", age]), since, "{age}");
        assert_eq!(asked(&["--to", age]), 2 - asked(&["--from", age]).as_u64().unwrap(), "{age}");
    }
    let (_, errors) = run(2, &["compare", "--dir", &dir, "--from", "1s", "--to", "2s"]);
    assert!(errors.contains("--from is not before --to"), "{errors}");
}

#[test]
fn one_is_shown_in_full_by_both_verbs() {
    let mut log = Compared::new();
    log.seven();
    let dir = log.path().to_owned();
    let (text, _) = run(0, &["compare", "--dir", &dir, "--subject", "1/2"]);
    for part in [
        "1/2 attempt 0, answered twice: asked 2025-10-09T08:53:20Z (task 1, policy production",
        "another queue first; 0 % go to the same queues; carried out: the other broker",
        "B: queued_ratio: 3100 for 900",
        "B: running 900, 900; queued 3100, 1200 (more than 10 % apart)",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    assert_eq!(text.matches("answered twice").count(), 1);
    let (explained, _) = run(0, &["explain", "1/2", "--dir", &dir]);
    assert!(explained.contains(text.trim_end()), "{explained}");
    let (explained, _) = run(0, &["explain", "1", "--dir", &dir]);
    assert_eq!(explained.matches("answered twice").count(), 4);
    let one = json(&run(0, &["compare", "--dir", &dir, "--subject", "2/1", "--json"]).0);
    assert_eq!(
        (&one["agreement"], &one["yardmaster"]["outcome"]),
        (&"absent".into(), &"absent".into())
    );
    let (_, errors) = run(1, &["compare", "--dir", &dir, "--subject", "3"]);
    assert!(errors.contains("no comparison of \"3\""), "{errors}");
}

/// An attempt whose comparison was published twice is shown once by `explain`, the last; with --all
/// both are.
#[test]
fn explain_shows_the_last_of_an_attempt() {
    let mut log = Compared::new();
    let first = comparison("1/0", assign(&["A"]), assign(&["A"]));
    log.put(&first);
    log.put(&Comparison { asked_at: T0 + 5_000, ..first.clone() });
    log.put(&Comparison { attempt: 1, ..first });
    let dir = log.path().to_owned();
    let (text, _) = run(0, &["explain", "1/0", "--dir", &dir]);
    assert_eq!(text.matches("answered twice").count(), 2, "{text}");
    assert!(text.contains("attempt 0, answered twice: asked 2025-10-09T08:53:25"), "{text}");
    let (text, _) = run(0, &["explain", "1/0", "--dir", &dir, "--all"]);
    assert_eq!(text.matches("answered twice").count(), 3, "{text}");
}

#[test]
fn wrong_use_is_named_with_the_remedy() {
    let log = Compared::new();
    let dir = log.path().to_owned();
    let wrong = |more: &[&str], part: &str| {
        let (_, errors) = run(2, &[&["compare", "--dir", &dir], more].concat());
        assert!(errors.contains(part), "{part:?} is not in {errors}");
    };
    wrong(&["--min-agreement", "0.95"], "as in 95%");
    wrong(&["--columns", "group"], "give --by too");
    wrong(&["--by", "queue", "--columns", "nothing"], "there is no such column");
    let later = T0.to_string();
    wrong(&["--from", &later, "--to", &later], "--from is not before --to");
    let (before, rest) = ATLAS.split_once("[topics.comparison]").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let place = TempDir::new().unwrap();
    let without = place.path().join("without.toml");
    std::fs::write(&without, format!("{before}\n{after}")).unwrap();
    let without = ["--topology", without.to_str().unwrap()];
    wrong(&without, "needs a [topics.comparison]");
    // Without the topic nothing else is missing.
    let explain = ["explain", "1/0", "--dir", &dir];
    let (_, errors) = run(1, &[&explain[..], &without].concat());
    assert!(errors.contains("no decision about"), "{errors}");
    let (text, _) = run(0, &["compare", "--dir", &dir]);
    assert_eq!(text, "no comparisons\n");
}
