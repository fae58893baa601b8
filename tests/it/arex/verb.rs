//! `submit --wait` against a real Kafka (`YARDMASTER_TEST_KAFKA=host:port`), a `run` that leads, and
//! stubs of clusters.

use super::authority::{Authority, HOUR, now_s, text};
use super::stub::{Odd, Stub};
use crate::kill::bus::{Bus, now, parts};
use crate::kill::process::{Ending, PROGRAM, Process, wait_until};
use crate::kill::witness::in_order;
use crate::nordugrid::small::{cluster, queue, share};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use toml::Table;
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{Configured, Event};
use yardmaster::core::output::Output;
use yardmaster::wire::avro::{Arena, Codec};
use yardmaster::wire::{record, topology};

const LONG: Duration = Duration::from_secs(60);
/// Outputs of the first jobs that a stub makes.
const FILES: [&str; 2] = [
    "GET /arex/rest/1.0/jobs/006916068098/session/out.txt",
    "GET /arex/rest/1.0/jobs/006916068099/session/out.txt",
];

/// A grid of clusters that a process chooses among.
pub struct Place {
    pub bus: Bus,
    authority: Authority,
    proxy: PathBuf,
    run: Option<Process>,
}

/// How a verb ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn make() -> Option<Place> {
        let hasty = |limits: &mut Table, _: &mut Table| {
            limits.insert("takeover_s".into(), 1.into());
            limits.insert("takeover_jitter_ms".into(), 0.into());
        };
        let bus = Bus::real_of(topology::NORDUGRID, |file| parts(file, hasty))?;
        let authority = Authority::new();
        let proxy = authority.proxy("proxy", "Ann", now_s() + 10 * HOUR);
        Some(Place { bus, authority, proxy, run: None })
    }

    pub fn stub(&self) -> Stub {
        Stub::start(&self.authority, &self.authority.sign("localhost", true))
    }

    /// Publishes a cluster with one queue; it is chosen before those with no CPUs free.
    pub fn cluster(&self, name: &str, url: &str, free: &str) {
        let (at, target) = (now(), format!("{name}/q"));
        let mut site = cluster(name, &[], None, at);
        let facts = site.cluster.as_mut().unwrap();
        facts.submission_url = url.to_owned();
        facts.runtime_environments = vec!["ENV-1.2".to_owned(), "ENV-1.4".to_owned()];
        self.put(&site);
        self.put(&queue(&target, "active", at));
        self.put(&share(&target, free, 9_000, at));
        self.bus.flush();
    }

    fn put<T: Configured>(&self, record: &T) {
        self.bus.publish(T::TOPIC, &record.name(), |out| record::write(out, record));
    }

    /// Leads from here on.
    pub fn lead(mut self) -> Place {
        let store = self.bus.path("store");
        let run = Process::start(&self.bus.bootstrap, &self.bus.topology, &store);
        let is_leading = || run.ready().is_some_and(|it| it.leading && it.speaks);
        wait_until(LONG, || run.all_logged(), is_leading);
        self.run = Some(run);
        self
    }

    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.bus.path(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// Starts `submit --wait`.
    pub fn start(&self, name: &str, more: &[&str]) -> Waiter {
        let (out, err) =
            (self.bus.path(&format!("{name}.out")), self.bus.path(&format!("{name}.err")));
        let child = Command::new(PROGRAM)
            .args(["submit", "--wait", "--proxy", text(&self.proxy), "--ca"])
            .arg(self.authority.path("ca.pem"))
            .args(self.bus.place())
            .args(more)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(&out).unwrap())
            .stderr(std::fs::File::create(&err).unwrap())
            .spawn();
        Waiter { child: Ending(child.expect("the program")), out, err }
    }

    /// The same for a description.
    pub fn begin(&self, name: &str, xrsl: &str, more: &[&str]) -> Waiter {
        let file = self.write(&format!("{name}.xrsl"), xrsl);
        let args = ["--xrsl", text(&file), "--user", "ann", "--job-id", name];
        self.start(name, &[&args[..], more].concat())
    }

    /// The same until it ends.
    pub fn submit(&self, name: &str, xrsl: &str, more: &[&str]) -> Ended {
        self.begin(name, xrsl, more).end()
    }

    /// Outcomes about a job's decisions: the target of each, its kind, and why.
    pub fn outcomes(&self, job: &str) -> Vec<(String, &'static str, String)> {
        let (codec, mut targets) = (Codec::default(), BTreeMap::new());
        for (_, value) in in_order(&self.bus.bootstrap, &self.bus.topic(Topic::Decision)) {
            if let Ok(Output::Decision(it)) = codec.read_output(Topic::Decision, &value) {
                let first = it.outcome.ranked().first().map(|it| it.queue.clone());
                targets.insert(it.id, first.unwrap_or_default());
            }
        }
        let mut found = Vec::new();
        for (_, value) in in_order(&self.bus.bootstrap, &self.bus.topic(Topic::Outcome)) {
            let mut arena = Arena::default();
            let Event::Outcome(it) = codec.read(Topic::Outcome, None, Some(&value), &mut arena)
            else {
                panic!("no outcome")
            };
            if it.subject == job {
                let kind = match it.kind {
                    yardmaster::core::event::OutcomeKind::Accepted => "accepted",
                    yardmaster::core::event::OutcomeKind::Refused => "refused",
                    yardmaster::core::event::OutcomeKind::Failed => "failed",
                    yardmaster::core::event::OutcomeKind::Expired => "expired",
                };
                found.push((targets[&it.decision].clone(), kind, it.reason));
            }
        }
        found
    }

    /// States of a job as they are published: target, status, word, request, the cluster's id.
    pub fn states(&self, job: &str) -> Vec<String> {
        let (codec, mut found) = (Codec::default(), Vec::new());
        for (_, value) in in_order(&self.bus.bootstrap, &self.bus.topic(Topic::JobState)) {
            let mut arena = Arena::default();
            let Event::JobState(it) = codec.read(Topic::JobState, None, Some(&value), &mut arena)
            else {
                panic!("no state of a job")
            };
            if it.job == job {
                let id = if it.cluster_job.is_empty() { "none" } else { "id" };
                let batch = if it.activated_at > 0 { "batch" } else { "before" };
                let (queue, status, word) = (it.queue, it.status.name(), it.sub_status);
                found.push(format!("{queue} {status} {word} {} {id} {batch}", it.request));
            }
        }
        found
    }

    /// Whether the counters are right, as the process that leads has them.
    pub fn check(self) {
        let store = self.bus.path("store");
        self.bus.verb("audit", 0, &["--store", text(&store)]);
        self.bus.verb("replay", 0, &["--verify"]);
    }
}

/// A `submit --wait`, killed when it is dropped.
pub struct Waiter {
    child: Ending,
    out: PathBuf,
    err: PathBuf,
}

impl Waiter {
    fn printed(&self) -> String {
        [&self.out, &self.err].map(|it| std::fs::read_to_string(it).unwrap_or_default()).concat()
    }

    pub fn wait_for(&self, part: &str) {
        self.wait_until(|| self.printed().contains(part));
    }

    pub fn wait_until(&self, holds: impl FnMut() -> bool) {
        wait_until(LONG, || self.printed(), holds);
    }

    pub fn signal(&self, name: &str) {
        let pid = self.child.0.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    pub fn end(mut self) -> Ended {
        let mut code = None;
        let (out, err) = (self.out.clone(), self.err.clone());
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        wait_until(
            LONG,
            || read(&out) + &read(&err),
            || {
                code = self.child.0.try_wait().unwrap();
                code.is_some()
            },
        );
        Ended { code: code.unwrap().code(), out: read(&out), err: read(&err) }
    }
}

#[track_caller]
pub fn has(text: &str, parts: &[&str]) {
    parts.iter().for_each(|part| assert!(text.contains(part), "{part:?} is not in {text}"));
}

#[test]
fn a_job_that_is_refused_is_handed_to_the_next_target_followed_and_fetched() {
    let Some(place) = Place::make() else { return };
    let (first, second) = (place.stub(), place.stub());
    place.cluster("ce-a", &first.url(), "50");
    place.cluster("ce-b", &(second.url() + "/"), "0");
    first.state().refuses = Some("Requested queue q does not match".to_owned());
    second.state().course = vec!["PREPARING", "QUEUING", "RUNNING", "EXECUTED", "FINISHED"];
    second.state().outputs = vec![("out.txt", "counted"), ("log/a", "b")];
    let place = place.lead();
    place.write("run.sh", "#!/bin/sh\n");
    place.write("words", "one two");
    let xrsl = "&(executable=run.sh)(inputfiles=(words \"\")(far http://h/far))(cputime=10)\
                (runtimeenvironment>=ENV-1.3)(stdout=out.txt)(count=2)";
    let folder = place.bus.path("results");
    let more = ["-c", "ce-a", "-c", "ce-b", "--get", text(&folder), "--clean"];
    let ended = place.submit("job", xrsl, &more);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let url = format!("{}/rest/1.0/jobs/006916068098", second.url());
    has(&ended.out, &["job\n", &format!("job: ce-b/q took it: {url}\n"), "job: FINISHED\n"]);
    has(&ended.err, &["job: ce-a/q does not take it: Requested queue q does not match"]);
    let outcome = |target: &str, kind, why: &str| (target.to_owned(), kind, why.to_owned());
    let refused = outcome("ce-a/q", "refused", "Requested queue q does not match");
    assert_eq!(place.outcomes("job"), [refused, outcome("ce-b/q", "accepted", "")]);
    let states = place.states("job");
    assert_eq!(
        states,
        [
            "ce-b/q assigned ACCEPTING job:1 id before",
            "ce-b/q assigned PREPARING job:1 id before",
            "ce-b/q activated INLRMS:Q job:1 id batch",
            "ce-b/q running INLRMS:R job:1 id batch",
            "ce-b/q transferring FINISHING job:1 id batch",
            "ce-b/q finished FINISHED job:1 id batch",
        ]
    );
    let read = |name: &str| std::fs::read_to_string(folder.join("job").join(name)).unwrap();
    assert_eq!((read("out.txt"), read("log/a")), ("counted".to_owned(), "b".to_owned()));
    let asked = second.state().asked.join("\n");
    has(&asked, &["session/words", "session/run.sh", "PUT /arex/rest/1.0/delegations/d1"]);
    assert!(second.state().jobs.is_empty(), "it is removed once its outputs are here");
    let again = place.start("again", &["--resume", "job", "--get", text(&folder)]).end();
    assert_eq!(again.code, Some(0), "{again:?}");
    has(&again.out, &["job: ce-b has it no more; what was fetched before is in"]);
    let other = place.bus.path("other");
    let never = place.start("never", &["--resume", "job", "--get", text(&other)]).end();
    assert_eq!(never.code, Some(1), "{never:?}");
    place.check();
}

/// What is handed over is ADL with the queue of the decision, in seconds, with the environment that
/// is there; nothing is delegated for a job that stages nothing.
#[test]
fn a_job_is_handed_over_in_adl_and_left_at_its_cluster() {
    let Some(place) = Place::make() else { return };
    let stub = place.stub();
    place.cluster("ce-a", &stub.url(), "50");
    stub.state().course = vec!["FINISHED"];
    let place = place.lead();
    let xrsl = "&(executable=/bin/true)(cputime=10)(runtimeenvironment>=ENV-1.3)";
    let ended = place.submit("job", xrsl, &["-c", "ce-a"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let adl = stub.job().adl;
    has(&adl, &["<QueueName>q</QueueName>", "<TotalCPUTime>600</TotalCPUTime>"]);
    has(&adl, &["<Name>ENV</Name><Version>1.4</Version>"]);
    assert!(!stub.state().asked.join("\n").contains("delegations"));
}

#[test]
fn a_cluster_that_is_gone_is_passed_over_and_without_a_target_the_code_is_three() {
    let Some(place) = Place::make() else { return };
    let stub = place.stub();
    place.cluster("ce-gone", "https://127.0.0.1:1/arex", "50");
    place.cluster("ce-bare", "", "50");
    place.cluster("ce-a", &stub.url(), "0");
    stub.state().course = vec!["FINISHED"];
    let place = place.lead();
    for (job, first, why) in [
        ("job", "ce-gone", "127.0.0.1:1: Connection refused"),
        ("other", "ce-bare", "no submission URL of it is published"),
    ] {
        let ended = place.submit(job, "&(executable=/bin/true)", &["-c", first, "-c", "ce-a"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let [failed, accepted] = &place.outcomes(job)[..] else { panic!("two outcomes") };
        assert_eq!((failed.0.as_str(), failed.1), (format!("{first}/q").as_str(), "failed"));
        assert_eq!((accepted.0.as_str(), accepted.1), ("ce-a/q", "accepted"));
        has(&failed.2, &[why]);
        has(&ended.err, &[why]);
    }
    let ended = place.submit("nowhere", "&(executable=/bin/true)", &["-c", "ce-gone"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    has(&ended.out, &["nowhere: no target takes it: no_target_left"]);
    has(&ended.err, &["explain nowhere --fates"]);
    let again = place.start("still", &["--resume", "nowhere"]).end();
    assert_eq!(again.code, Some(3), "{again:?}");
    has(&again.out, &["nowhere: no target takes it: no_target_left"]);
    place.check();
}

#[test]
fn a_job_of_which_nothing_ran_is_submitted_again_elsewhere_and_a_cancelled_one_is_not() {
    let Some(place) = Place::make() else { return };
    let (first, second) = (place.stub(), place.stub());
    place.cluster("ce-a", &first.url(), "50");
    place.cluster("ce-b", &second.url(), "0");
    first.state().course = vec!["PREPARING", "FAILED"];
    first.state().failed = ("PREPARING", "Failed in data staging: Not Found");
    second.state().course = vec!["FINISHED"];
    let place = place.lead();
    let both = ["-c", "ce-a", "-c", "ce-b"];
    let ended = place.submit("job", "&(executable=/bin/true)", &both);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    has(&ended.err, &["Failed in data staging: Not Found", "nothing of it ran; it is submitted"]);
    let states = place.states("job");
    has(&states[2], &["ce-a/q failed FAILED job:0 id before"]);
    has(states.last().unwrap(), &["ce-b/q finished FINISHED job:1 id batch"]);

    let ended =
        place.submit("once", "&(executable=/bin/true)", &[&both[..], &["--retries", "0"]].concat());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    has(&ended.err, &["`submit --wait --again once -k -ce-a` submits it to another cluster"]);
    let again = ["--again", "once", "-k", "ce-a", "-k", "ce-b", "-k", "-ce-a"];
    let ended = place.start("again", &again).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    has(place.states("once").last().unwrap(), &["ce-b/q finished FINISHED once:1 id"]);

    first.state().failed = ("PREPARING", "Job is canceled by external request");
    let ended = place.submit("cancelled", "&(executable=/bin/true)", &both);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    has(place.states("cancelled").last().unwrap(), &["ce-a/q cancelled KILLED cancelled:0 id"]);

    first.state().failed = ("INLRMS", "Job finished with wrong exit code - 3 != 0");
    let ended = place.submit("wrong", "&(executable=/bin/true)", &both);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    has(place.states("wrong").last().unwrap(), &["ce-a/q failed FAILED wrong:0 id batch"]);
    place.check();
}

#[test]
fn a_submission_that_was_ended_is_taken_up_again_wherever_it_stood() {
    let Some(place) = Place::make() else { return };
    let stub = place.stub();
    place.cluster("ce-a", &stub.url(), "50");
    stub.state().course = vec!["RUNNING"];
    stub.state().outputs = vec![("out.txt", "yes")];
    let file = place.write("two.xrsl", "+(&(executable=/bin/a))(&(executable=run.sh))");
    place.write("run.sh", "");
    let args = ["--xrsl", text(&file), "--user", "ann", "--job-id", "two", "-c", "ce-a"];
    let waiter = place.start("undecided", &[&args[..], &["--decide-within", "1"]].concat());
    let ended = waiter.end();
    assert_eq!(ended.code, Some(4), "nobody leads: {ended:?}");
    has(&ended.err, &["two/0: no decision within 1 s", "submit --wait --resume two/0"]);

    let place = place.lead();
    let nowhere = place.start("nowhere", &["--resume", "two"]).end();
    assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
    has(&nowhere.err, &["run.sh is to be uploaded and is not there", "--files DIR"]);
    let files = place.bus.path("");
    let resume = ["--resume", "two", "--files", text(&files)];
    let waiter = place.start("followed", &resume);
    waiter.wait_for("two/0: RUNNING at ce-a/q");
    waiter.wait_for("two/1: RUNNING at ce-a/q");
    waiter.signal("INT");
    let ended = waiter.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    has(&ended.err, &["ended by a signal", "two: its jobs go on; `submit --wait --resume two`"]);

    let submitted = |stub: &Stub| stub.state().jobs.len();
    assert_eq!(submitted(&stub), 2);
    stub.state().jobs.values_mut().for_each(|job| job.state = "FINISHED".to_owned());
    let folder = place.bus.path("results");
    for name in ["fetched", "fetched again, from jobs that are over"] {
        let more = ["--resume", "two", "--get", text(&folder)];
        let ended = place.start(name, &more).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for job in ["0", "1"] {
            let path = folder.join("two").join(job).join("out.txt");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "yes");
            std::fs::remove_file(path).unwrap();
        }
    }
    assert_eq!(submitted(&stub), 2, "none was handed over twice");
    // What is here stays if it cannot be fetched again, and what is not removed is here.
    let out = folder.join("two").join("0").join("out.txt");
    let clean = "POST /arex/rest/1.0/jobs?action=clean";
    stub.state().odd = vec![(clean, Odd::Refuses)];
    let more = ["--resume", "two", "--get", text(&folder), "--clean"];
    let kept = place.start("kept", &more).end();
    assert_eq!(kept.code, Some(0), "{kept:?}");
    has(&kept.err, &["two/0: it is not removed from ce-a: the cluster answers 503"]);
    stub.state().odd = FILES.map(|file| (file, Odd::Drops)).into();
    let torn = place.start("torn", &more).end();
    assert_eq!(torn.code, Some(1), "{torn:?}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), "yes");
    stub.state().odd.clear();
    has(place.states("two/1").last().unwrap(), &["ce-a/q finished FINISHED two/1:0 id"]);
    let other = place.start("other", &["--resume", "two", "--user", "bob"]).end();
    assert_eq!(other.code, Some(2), "{other:?}");
    has(&other.err, &["--resume two/0: it is a job of --user ann"]);
    let unknown = place.start("unknown", &["--resume", "three"]).end();
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    has(&unknown.err, &["--resume three: the log has no record of such a job"]);
    place.check();
}

/// A cluster that is silent for a while, or that has a job no more.
#[test]
fn a_silent_cluster_is_waited_for_and_a_job_that_is_gone_is_closed() {
    let Some(place) = Place::make() else { return };
    let stub = place.stub();
    place.cluster("ce-a", &stub.url(), "50");
    stub.state().course = vec!["RUNNING"];
    let place = place.lead();
    let file = place.write("job.xrsl", "&(executable=/bin/a)");
    let args = ["--xrsl", text(&file), "--user", "ann", "--job-id", "job", "-c", "ce-a"];
    let waiter = place.start("job", &args);
    waiter.wait_for("job: RUNNING at ce-a/q");
    stub.state().knows_nobody = true;
    waiter.wait_for("its jobs are looked at again later");
    stub.state().knows_nobody = false;
    waiter.wait_for("ce-a: answers again");
    stub.state().jobs.clear();
    let ended = waiter.end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    has(place.states("job").last().unwrap(), &["ce-a/q closed DELETED job:0 id batch"]);
    place.check();
}

/// A proxy that holds for seconds, and is renewed while the job runs.
#[test]
fn a_proxy_that_is_renewed_before_it_expires_is_used() {
    let Some(place) = Place::make() else { return };
    let stub = place.stub();
    place.cluster("ce-a", &stub.url(), "50");
    stub.state().course = vec!["RUNNING"];
    let place = place.lead();
    let until = now_s() + 20;
    place.authority.proxy("proxy", "Ann", until);
    let waiter = place.begin("job", "&(executable=/bin/a)", &["-c", "ce-a"]);
    waiter.wait_for("job: RUNNING at ce-a/q");
    std::fs::write(&place.proxy, "half").unwrap();
    waiter.wait_for("those of before are used until they expire");
    place.authority.proxy("proxy", "Ann", now_s() + HOUR);
    waiter.wait_until(|| now_s() > until + 1);
    stub.state().asked.clear();
    waiter.wait_until(|| !stub.state().asked.is_empty());
    stub.state().jobs.values_mut().for_each(|job| job.state = "FINISHED".to_owned());
    let ended = waiter.end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.matches("looked at again later").count(), 0, "{ended:?}");

    let until = now_s() + 8;
    place.authority.proxy("proxy", "Ann", until);
    let ended = place.submit("expired", "&(executable=/bin/a)", &["-c", "ce-a"]);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    has(&ended.err, &["it expired on", "`submit --wait --resume expired`"]);
}

#[test]
fn wrong_use_is_named_before_anything_is_published() {
    let authority = Authority::new();
    let file = authority.write("job.xrsl", &[b"&(executable=/bin/a)".to_vec()]);
    let file = text(&file);
    let submit = |more: &[&str]| {
        let args =
            ["submit", "--xrsl", file, "--user", "ann", "-c", "ce-a", "--topology", "nordugrid"];
        let output =
            Command::new(PROGRAM).args(args).args(more).env_remove("X509_USER_PROXY").output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let kafka = ["--wait", "--bootstrap-server", "127.0.0.1:1"];
    let refused = |more: &[&str], parts: &[&str]| {
        let (code, err) = submit(more);
        assert_eq!(code, Some(2), "{err}");
        has(&err, parts);
    };
    let gone = authority.path("gone");
    let expired = authority.proxy("expired", "Ann", now_s() - 10);
    refused(&[&kafka[..], &["--proxy", text(&gone)]].concat(), &["gone: No such file", "arcproxy"]);
    refused(&[&kafka[..], &["--proxy", text(&expired)]].concat(), &["it expired on"]);
    refused(&["--proxy", text(&gone), "--bootstrap-server", "127.0.0.1:1"], &["--wait"]);
    refused(&[&kafka[..], &["--dry-run"]].concat(), &["cannot be used with"]);
    refused(&[&kafka[..], &["--clean"]].concat(), &["--get"]);
}
