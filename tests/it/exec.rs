//! `commands --follow` and `--exec`, against a real Kafka (`YARDMASTER_TEST_KAFKA=host:port`): what is
//! handed to a program, and what is published of it.

pub mod leader;
mod obey;

mod whole;

use crate::kill::bus::{Bus, now, text};
use crate::kill::process::{Ending, PROGRAM, wait_until, yardmaster};
use crate::kill::witness::glance;
use leader::{Leader, command};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, ExitStatus, Stdio};
use std::time::Duration;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{DecisionOutcome, Event, OutcomeAbout, OutcomeKind, Parameter};
use yardmaster::core::output::command::Command;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::record;

const LONG: Duration = Duration::from_secs(60);

/// `commands --follow`, killed when it is dropped.
pub struct Follower {
    child: Ending,
    out: PathBuf,
    log: PathBuf,
}

impl Follower {
    /// Starts one under a name of its own.
    pub fn start(bus: &Bus, name: &str, more: &[&str]) -> Follower {
        Follower::start_at(bus, &bus.place(), name, more)
    }

    /// The same with other flags that name the log.
    pub fn start_at(bus: &Bus, place: &[&str], name: &str, more: &[&str]) -> Follower {
        let (out, log) = (bus.path(&format!("{name}.out")), bus.path(&format!("{name}.log")));
        let child = Process::new(PROGRAM)
            .args(["commands", "--follow", "--json"])
            .args(place)
            .args(more)
            .stdin(Stdio::null())
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&log).unwrap())
            .spawn();
        Follower { child: Ending(child.expect("the program")), out, log }
    }

    pub fn logged(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The commands that it printed, by their subjects.
    pub fn printed(&self) -> BTreeMap<String, Value> {
        let out = std::fs::read_to_string(&self.out).unwrap();
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.map(|line| (line["subject"].as_str().unwrap().to_owned(), line)).collect()
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.0.id().to_string();
        assert!(Process::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// How it ended.
    pub fn end(&mut self) -> ExitStatus {
        let mut ended = None;
        let log = self.log.clone();
        let logged = || std::fs::read_to_string(&log).unwrap_or_default();
        wait_until(LONG, logged, || {
            ended = self.child.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

/// A script that notes what it is handed in the file `ran`, and ends as the subject has it.
fn script(bus: &Bus) -> PathBuf {
    let (script, ran) = (bus.path("obey.sh"), bus.path("ran"));
    let dir = ran.parent().unwrap().display().to_string();
    let body = format!(
        r#"#!/bin/sh
read -r line
echo "$YARDMASTER_COMMAND_ID $YARDMASTER_COMMAND_KIND $(date +%s%3N) $$ $line" >> {dir}/ran
echo "to the executor, not to its reader"
case "$line" in
*'"subject":"refuse'*) echo 'never in my life' >&2; exit 3 ;;
*'"subject":"once-bad'*) [ -e {dir}/bad ] || {{ : > {dir}/bad; echo 'not today' >&2; exit 4; }} ;;
*'"subject":"once-slow'*) [ -e {dir}/slow ] || {{ : > {dir}/slow; exec sleep 300; }} ;;
*'"subject":"too-slow'*) echo begun >&2; sleep 300 ;;
*'"subject":"a-second'*) sleep 1 ;;
esac
echo "done with $1" >&2
"#
    );
    std::fs::write(&script, body).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script
}

/// Lines that the script noted: id, kind, when in ms, pid, and the command.
fn ran(bus: &Bus) -> Vec<(String, String, i64, String, Value)> {
    let noted = std::fs::read_to_string(bus.path("ran")).unwrap_or_default();
    let one = |line: &str| {
        let mut parts = line.splitn(5, ' ').map(str::to_owned);
        let mut part = || parts.next().expect("five parts");
        let (id, kind, at, pid) = (part(), part(), part().parse().unwrap(), part());
        (id, kind, at, pid, serde_json::from_str(&part()).expect("JSON"))
    };
    noted.lines().map(one).collect()
}

/// How often the script was handed a command about a subject.
fn times(bus: &Bus, subject: &str) -> usize {
    ran(bus).iter().filter(|it| it.4["subject"] == subject).count()
}

/// The outcomes about commands on the topic, by subject; the newest last.
pub fn outcomes(bus: &Bus) -> BTreeMap<String, Vec<DecisionOutcome>> {
    let codec = Codec::default();
    let mut found: BTreeMap<String, Vec<DecisionOutcome>> = BTreeMap::new();
    for (key, value) in glance(&bus.bootstrap, &bus.topic(Topic::Outcome)) {
        let mut arena = Arena::default();
        let Event::Outcome(outcome) = codec.read(Topic::Outcome, None, Some(&value), &mut arena)
        else {
            panic!("no outcome")
        };
        assert_eq!(outcome.subject.as_bytes(), key, "the key is the subject");
        assert_eq!(outcome.about, OutcomeAbout::Command);
        found.entry(outcome.subject.clone()).or_default().push(outcome);
    }
    found.values_mut().for_each(|all| all.sort_by_key(|it| it.at));
    found
}

/// Waits for so many outcomes about a subject; gives the newest.
#[track_caller]
pub fn wait_for(bus: &Bus, follower: &Follower, subject: &str, count: usize) -> DecisionOutcome {
    let of = || outcomes(bus).remove(subject).unwrap_or_default();
    let what = || format!("{subject}: {:?}\n{}", of(), follower.logged());
    wait_until(LONG, what, || of().len() >= count);
    of().pop().unwrap()
}

#[track_caller]
fn is(outcome: &DecisionOutcome, kind: OutcomeKind, reason: &str) {
    assert_eq!((outcome.kind, outcome.reason.as_str()), (kind, reason), "{outcome:?}");
}

fn quick(bus: &Bus, name: &str, script: &Path) -> Follower {
    let log = ["--timeout", "3", "--exec", text(script), "--timeout"];
    Follower::start(bus, name, &log)
}

fn turn_switch(bus: &Bus, value: &str) {
    let [app, component, key] = ["yardmaster", "governor", "kill_switch"].map(str::to_owned);
    let (vo, value, changed_at) = (bus.domain.clone(), value.to_owned(), now());
    let name = format!("{app}/{component}/{key}/{vo}");
    let parameter = Parameter { app, component, key, vo, value, changed_at };
    bus.publish(Topic::Parameter, &name, |out| record::write(out, &parameter));
    bus.flush();
}

#[test]
fn open_commands_are_handed_to_a_program_and_what_became_of_them_is_published() {
    use OutcomeKind::{Accepted, Expired, Failed, Refused};
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let (script, mut leader) = (script(&bus), Leader::new(&bus));
    let of = |subject: &str| command(&bus, subject);
    // One that nobody lists, before those of the same cycle that are.
    leader.forge(of("forged"));
    let dry = Command { dry_run: true, ..of("dry") };
    let over = Command { expires_at: 1, ..of("expired before") };
    let first: Vec<Command> = ["accept", "refuse", "once-bad", "too-slow"].map(&of).into();
    leader.publish(&[first.clone(), vec![dry, over]].concat());
    let mut reader = Follower::start(&bus, "reader", &["--state", "all"]);
    let mut executor = quick(&bus, "executor", &script);
    is(&wait_for(&bus, &executor, "accept", 1), Accepted, "done with --timeout");
    is(&wait_for(&bus, &executor, "refuse", 1), Refused, "never in my life");
    let failed = wait_for(&bus, &executor, "once-bad", 1);
    is(&failed, Failed, "exit code 4: not today");
    is(&wait_for(&bus, &executor, "too-slow", 1), Failed, "ended after 3 s (--timeout): begun");
    for (id, kind, _, _, handed) in ran(&bus) {
        let sent = first.iter().find(|it| it.id.to_string() == id).expect("one of the first");
        assert_eq!((kind.as_str(), &handed["subject"]), ("kill", &sent.subject.clone().into()));
        assert_eq!((&handed["id"], &handed["policy"]), (&id.into(), &"governor".into()));
        assert_eq!(handed["jobs"], serde_json::json!([sent.subject]));
    }

    // While it follows: a repeat of one that failed, none of one that was refused; a copy; one that
    // has expired when it comes.
    let again = |first: &Command| Command { repeat: 1, now: failed.at + 1, ..first.clone() };
    leader.copy(&first[0]);
    leader.forge(of("forged, too"));
    let over = Command { expires_at: 1, ..of("expired") };
    leader.publish(&[again(&first[1]), again(&first[2]), over]);
    is(&wait_for(&bus, &executor, "once-bad", 2), Accepted, "done with --timeout");
    is(&wait_for(&bus, &executor, "expired", 1), Expired, "it expired before its turn came");

    turn_switch(&bus, "stop it all");
    let logged = |part: &'static str, follower: &Follower| {
        let log = follower.log.clone();
        let text = move || std::fs::read_to_string(&log).unwrap_or_default();
        wait_until(LONG, text.clone(), || text().contains(part));
    };
    logged("the kill switch is on", &executor);
    leader.publish(&[of("a-second, late")]);
    std::thread::sleep(Duration::from_millis(400));
    let off_at = now();
    turn_switch(&bus, "off");
    wait_until(LONG, || executor.logged(), || times(&bus, "a-second, late") == 1);
    assert!(ran(&bus).last().unwrap().2 >= off_at, "it ran while the switch was on");

    // What is under way when it is stopped is waited for.
    executor.signal("TERM");
    assert_eq!(executor.end().code(), Some(0), "{}", executor.logged());
    is(&outcomes(&bus)["a-second, late"][0], Accepted, "done with --timeout");
    let all: Vec<(String, usize)> =
        outcomes(&bus).into_iter().map(|(subject, all)| (subject, all.len())).collect();
    let once = ["a-second, late", "accept", "expired", "refuse", "too-slow"].map(|it| (it, 1));
    let wanted: BTreeMap<&str, usize> = once.into_iter().chain([("once-bad", 2)]).collect();
    assert_eq!(all, wanted.into_iter().map(|(it, n)| (it.to_owned(), n)).collect::<Vec<_>>());
    assert_eq!(times(&bus, "accept") + times(&bus, "refuse") + times(&bus, "once-bad"), 4);
    assert!(executor.logged().contains("not listed by the progress record"));
    let printed = executor.printed();
    assert_eq!(printed["once-bad"]["state"], "done");
    assert_eq!(printed["too-slow"]["outcome"]["kind"], "failed");

    // A reader saw the same commands come, and none that no cycle lists.
    wait_until(LONG, || reader.logged(), || reader.printed().contains_key("a-second, late"));
    reader.signal("INT");
    assert_eq!(reader.end().code(), Some(0), "{}", reader.logged());
    let printed = reader.printed();
    assert!(!printed.contains_key("forged, too"), "{printed:?}");
    assert_eq!(
        (&printed["dry"]["state"], &printed["once-bad"]["repeat"]),
        (&"dry-run".into(), &1.into())
    );
}

#[test]
fn an_executor_that_was_killed_hands_the_same_command_over_again() {
    let Some(bus) = Bus::real(|_, _| {}) else { return };
    let (script, mut leader) = (script(&bus), Leader::new(&bus));
    leader.publish(&[command(&bus, "once-slow")]);
    let executor = Follower::start(&bus, "first", &["--exec", text(&script)]);
    wait_until(LONG, || executor.logged(), || times(&bus, "once-slow") == 1);
    drop(executor);
    let pid = ran(&bus)[0].3.clone();
    assert!(Process::new("kill").args(["-s", "KILL", &pid]).status().unwrap().success());

    let mut executor = quick(&bus, "second", &script);
    is(&wait_for(&bus, &executor, "once-slow", 1), OutcomeKind::Accepted, "done with --timeout");
    let all = ran(&bus);
    assert_eq!((all.len(), &all[0].0), (2, &all[1].0), "the same id, twice");
    executor.signal("TERM");
    assert_eq!(executor.end().code(), Some(0));
    // A third one finds it settled.
    let executor = quick(&bus, "third", &script);
    leader.publish(&[command(&bus, "accept")]);
    wait_for(&bus, &executor, "accept", 1);
    assert_eq!(times(&bus, "once-slow"), 2);
}

#[test]
fn the_broker_may_restart_while_a_program_is_under_way() {
    let Some(bus) = Bus::own(|_| {}) else { return };
    let (script, mut leader) = (script(&bus), Leader::new(&bus));
    leader.publish(&[command(&bus, "a-second")]);
    let mut executor = quick(&bus, "executor", &script);
    wait_until(LONG, || executor.logged(), || times(&bus, "a-second") == 1);
    bus.restart_broker().join().expect("the broker came back");
    is(&wait_for(&bus, &executor, "a-second", 1), OutcomeKind::Accepted, "done with --timeout");
    leader.publish(&[command(&bus, "accept")]);
    is(&wait_for(&bus, &executor, "accept", 1), OutcomeKind::Accepted, "done with --timeout");
    assert_eq!((times(&bus, "a-second"), times(&bus, "accept")), (1, 1));
    executor.signal("TERM");
    assert_eq!(executor.end().code(), Some(0), "{}", executor.logged());
}

#[test]
fn wrong_use_of_follow_and_exec_is_reported_and_exits_2() {
    let kafka = ["commands", "--bootstrap-server", "127.0.0.1:1"];
    let exec = |program| [&kafka[..], &["--follow", "--exec", program]].concat();
    for (args, part) in [
        (exec("./nowhere/at-all"), "there is no such file"),
        (exec("no-program-has-this-name"), "PATH"),
        (exec("/etc/passwd"), "chmod +x"),
        (vec!["commands", "--dir", "yard", "--follow", "--exec", "true"], "one writer"),
        ([&kafka[..], &["--exec", "true"]].concat(), "--follow"),
        ([&kafka[..], &["--follow", "--timeout", "5"]].concat(), "--exec"),
        ([&kafka[..], &["--follow", "--parallel", "65", "--exec", "true"]].concat(), "1..=64"),
        ([&kafka[..], &["--follow", "--timeout", "0", "--exec", "true"]].concat(), "1..=86400"),
        ([&kafka[..], &["--follow", "--state", "done"]].concat(), "held-back"),
        ([&kafka[..], &["--follow", "--state", "open", "--exec", "true"]].concat(), "--state"),
    ] {
        let output = yardmaster(&args);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {error}");
        assert!(error.contains(part), "{args:?} does not name {part:?}: {error}");
    }
}
