//! `submit` as a user calls it, on a directory log.

use super::small::{cluster, queue, registration, share};
use crate::verbs::{printed, yardmaster};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;
use yardmaster::core::cut::Lane;
use yardmaster::core::event::Configured;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, DirWriter, Mode};
use yardmaster::wire::record;
use yardmaster::wire::topology::Topology;

/// Ended when the test ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

pub fn put<T: Configured>(writer: &mut DirWriter, record: &T) {
    let mut value = Vec::new();
    record::write(&mut value, record);
    let (lane, key) = (Lane::new(T::TOPIC, 0), record.name());
    writer.append(lane, Some(key.as_bytes()), Some(&value), &[], now()).unwrap();
}

/// A directory log with one cluster, which is registered at an index server.
pub fn grid(dir: &Path) {
    let topology = Topology::default_nordugrid();
    let topics: Vec<DirTopic> = topology
        .read_topics()
        .map(|topic| {
            let settings = topology.topic(topic);
            DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
        })
        .collect();
    let log = DirLog::open(dir, Mode::Write, &topics, DirOptions::default()).unwrap();
    let mut writer = log.writer().unwrap();
    put(&mut writer, &registration("ce-a", now()));
    put(&mut writer, &cluster("ce-a", &[], Some(9000), now()));
    put(&mut writer, &queue("ce-a/q", "active", now()));
    put(&mut writer, &share("ce-a/q", "10", 9000, now()));
    writer.flush().unwrap();
}

pub fn submit(dir: &Path, file: &Path, more: &[&str]) -> (Option<i32>, String, String) {
    let (dir, file) = (dir.to_str().unwrap(), file.to_str().unwrap());
    let args = ["submit", "--xrsl", file, "--user", "ann", "--topology", "nordugrid", "--dir", dir];
    printed(&yardmaster(&[&args, more].concat()))
}

/// All decisions, as `tail` shows them.
pub fn decisions(dir: &Path) -> Vec<serde_json::Value> {
    let dir = dir.to_str().unwrap();
    let args = ["tail", "--json", "--no-follow", "--from", "1000000000000", "--dir", dir];
    let (_, shown, _) = printed(&yardmaster(&[&args[..], &["--topology", "nordugrid"]].concat()));
    shown.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Leads the log until it has so many decisions.
pub fn run_until(dir: &Path, count: usize) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_yardmaster"));
    run.args(["run", "--topology", "nordugrid", "--http", "127.0.0.1:0", "--log", "warn"]);
    let process = Process(run.arg("--dir").arg(dir).stderr(Stdio::null()).spawn().unwrap());
    let until = Instant::now() + Duration::from_secs(120);
    while decisions(dir).len() < count {
        assert!(Instant::now() < until, "no decision came");
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(process);
}

#[test]
fn a_user_submits_two_jobs_and_reads_where_they_go() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("jobs.xrsl"));
    grid(&dir);
    fs::write(scratch.path().join("in.dat"), "12345").unwrap();
    let job = "(&(executable=a)(inputfiles=(\"in.dat\" \"\")))";
    fs::write(&file, format!("+{job}{job}")).unwrap();
    let (code, shown, errors) = submit(&dir, &file, &["-g", "index", "--job-id", "mine"]);
    assert_eq!((code, shown.as_str()), (Some(0), "mine/0\nmine/1\n"), "{errors}");
    run_until(&dir, 2);
    for decision in decisions(&dir) {
        assert!(decision.to_string().contains("ce-a/q"), "{decision}");
    }
    let (topology, at) = (["--topology", "nordugrid", "--dir"], dir.to_str().unwrap());
    let args = [&["replay", "--verify"], &topology[..], &[at]].concat();
    let (code, shown, errors) = printed(&yardmaster(&args));
    assert_eq!(code, Some(0), "{shown}{errors}");

    // A dry run shows a decision and publishes none.
    let (code, shown, errors) = submit(&dir, &file, &["-c", "ce-a", "--dry-run"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(shown.matches("ce-a/q").count() >= 2, "{shown}");
    assert_eq!(decisions(&dir).len(), 2);
    let (code, shown, _) = submit(&dir, &file, &["-c", "-ce-a", "-g", "index", "--dry-run"]);
    assert!(code == Some(0) && shown.contains("no_target_left"), "{shown}");
}

#[test]
fn a_mistake_in_a_submission_is_named_with_its_place_and_nothing_is_published() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    grid(&dir);
    let wrong = |text: &str, more: &[&str], says: &[&str]| {
        fs::write(&file, text).unwrap();
        let (code, shown, errors) = submit(&dir, &file, more);
        assert_eq!((code, shown.as_str()), (Some(2), ""), "{errors}");
        says.iter().for_each(|part| assert!(errors.contains(part), "{part} is not in {errors}"));
    };
    wrong("&(executable=a)\n(count=x)", &["-c", "ce-a"], &["job.xrsl:2:"]);
    wrong("&(executable=a", &["-c", "ce-a"], &["job.xrsl:1:", "missing_parenthesis"]);
    let upload = "&(executable=a)(inputfiles=(\"gone\" \"\"))";
    wrong(upload, &["-c", "ce-a"], &["\"gone\"", "put the file there"]);
    wrong("&(executable=a)", &["-c", "ce-a", "--job-id", "a/b"], &["--job-id"]);
    wrong("&(executable=a)", &["-C", "/no/such/list"], &["-C /no/such/list"]);
    let (text, at) = (file.to_str().unwrap(), dir.to_str().unwrap());
    let atlas = ["submit", "--xrsl", text, "--user", "ann", "-c", "ce-a", "--dir", at];
    let (code, _, errors) = printed(&yardmaster(&[&atlas[..], &["--dry-run"]].concat()));
    assert_eq!(code, Some(2), "{errors}");
    assert!(decisions(&dir).is_empty());
    let (code, _, errors) = submit(&dir, &file, &["-c", "ce-a", "--dry-run"]);
    assert!(code == Some(1) && errors.contains("no cycle"), "{errors}");
}

/// -k and -K of a resubmission replace what was named at first.
#[test]
fn a_job_is_submitted_again_to_other_clusters() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    grid(&dir);
    fs::write(&file, "&(executable=a)(count=2)").unwrap();
    let (code, _, errors) = submit(&dir, &file, &["-c", "ce-gone", "--job-id", "mine"]);
    assert_eq!(code, Some(0), "{errors}");
    let again = |more: &[&str]| {
        let args = ["submit", "--again", "mine", "--topology", "nordugrid", "--dir"];
        printed(&yardmaster(&[&args[..], &[dir.to_str().unwrap()], more].concat()))
    };
    let wait_for = |count: usize| {
        run_until(&dir, count);
        decisions(&dir).remove(count - 1)
    };
    let first = wait_for(1);
    let (subject, attempt) = (&first["subject"], &first["attempt"]);
    assert_eq!((&first["reason"], attempt), (&"no_target_left".into(), &0.into()), "{subject}");

    // A list of its own: of the first one nothing is left, and without a name the index is read.
    let names = scratch.path().join("names");
    fs::write(&names, "# not there\n-ce-a\n").unwrap();
    let (code, shown, errors) = again(&["-g", "index", "-K", names.to_str().unwrap(), "--dry-run"]);
    assert!(code == Some(0) && shown.contains("no_target_left"), "{shown}{errors}");
    let (code, shown, errors) = again(&["-g", "index", "-k", "-ce-b", "--dry-run"]);
    assert!(code == Some(0) && shown.contains("ce-a/q"), "{shown}{errors}");
    let (code, shown, errors) = again(&["-k", "ce-a"]);
    assert_eq!((code, shown.as_str()), (Some(0), "mine\n"), "{errors}");
    let second = wait_for(2);
    assert_eq!((&second["subject"], &second["attempt"]), (&"mine".into(), &1.into()));
    assert!(second["ranked"].to_string().contains("ce-a/q"), "{second}");

    for (more, says) in [
        (&["-c", "ce-a"][..], "--again"),
        (&["--user", "bob"], "--again"),
        (&["-k", "-"], "-k: an empty name"),
    ] {
        let (code, _, errors) = again(more);
        assert!(code == Some(2) && errors.contains(says), "{more:?}: {errors}");
    }
    let (code, _, errors) = submit(&dir, &file, &["-k", "ce-a"]);
    assert!(code == Some(2) && errors.contains("--again"), "{errors}");
    let at = dir.to_str().unwrap();
    let other = ["submit", "--again", "none", "-k", "ce-a", "--topology", "nordugrid", "--dir", at];
    let (code, _, errors) = printed(&yardmaster(&other));
    assert!(code == Some(1) && errors.contains("no record of such a job"), "{errors}");
}

/// What the description leaves to `submit`: which files the user uploads, and how large they are.
#[test]
fn files_of_the_user_are_sought_where_their_sources_say() {
    let scratch = TempDir::new().unwrap();
    let (dir, file) = (scratch.path().join("yard"), scratch.path().join("job.xrsl"));
    grid(&dir);
    fs::create_dir(scratch.path().join("sub")).unwrap();
    fs::write(scratch.path().join("sub/data.txt"), vec![0; 3 << 20]).unwrap();
    fs::write(scratch.path().join("run.sh"), vec![0; 5 << 20]).unwrap();
    let whole = scratch.path().join("sub/data.txt");
    let whole = whole.display();
    let text = format!(
        "&(executable=run.sh)(stdin=gone.txt)(inputfiles=(\"d\" \"sub/data.txt\")\
         (\"e\" \"file://{whole}\")(\"f\" \"file:{whole}\")(\"g\" \"http://h/g\"))(count>=2)"
    );
    fs::write(&file, text).unwrap();
    let (code, _, errors) = submit(&dir, &file, &["-c", "ce-a", "--job-id", "mine"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(errors.contains("job.xrsl: count: the relation is read as `=`"), "{errors}");
    run_until(&dir, 1);
    let decision = decisions(&dir).remove(0);
    let placed = &decision["placed"];
    assert_eq!(placed["disk_bytes"], (3 * 3 + 5) << 20, "{decision}");
    let notes = decision["notes"].to_string();
    assert!(notes.contains("size_unknown(g)") && notes.contains("read_as_equal(count)"), "{notes}");

    // ARC takes ADL wherever it takes xRSL.
    let adl = "<ActivityDescription xmlns=\"http://www.eu-emi.eu/es/2010/12/adl\"><Application>\
        <Executable><Path>run.sh</Path></Executable></Application><Resources><SlotRequirement>\
        <NumberOfSlots>3</NumberOfSlots></SlotRequirement></Resources></ActivityDescription>";
    fs::write(&file, adl).unwrap();
    let (code, _, errors) = submit(&dir, &file, &["-c", "ce-a", "--job-id", "adl"]);
    assert_eq!(code, Some(0), "{errors}");
    run_until(&dir, 2);
    let all = decisions(&dir);
    let decision = all.iter().find(|it| it["subject"] == "adl").unwrap();
    assert_eq!(decision["placed"]["count"], 3, "{decision}");
    assert_eq!(decision["placed"]["disk_bytes"], 5 << 20, "{decision}");
    let wrong = |text: &str, part: &str| {
        fs::write(&file, text).unwrap();
        let (code, _, errors) = submit(&dir, &file, &["-c", "ce-a"]);
        assert!(code == Some(2) && errors.contains(part), "{part}: {errors}");
    };
    wrong("&(executable=a)(inputfiles=(\"d\" \"missing.dat\"))", "missing.dat");
    wrong("&(executable=a)(inputfiles=(\"d\" \"file://data.txt\"))", "bad_source");
    wrong("&(jobname=a)", "job.xrsl:1:3: ");
    wrong("<JobDefinition xmlns=\"http://schemas.ggf.org/jsdl\"/>", "JSDL");
    assert_eq!(decisions(&dir).len(), 2);
}
