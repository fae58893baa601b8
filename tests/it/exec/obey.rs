//! `clients/panda/obey.py`, with a stub in place of PanDA's client.

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Notes its calls, and answers for each job whether its number is even.
const STUB: &str = "
import json, os

def note(name, ids, **more):
    with open(os.environ['CALLS'], 'a') as file:
        file.write(json.dumps([name, ids, more]) + chr(10))
    return int(os.environ.get('STATUS', '0'))

def killJobs(ids, code=None, useMailAsID=False, keepUnmerged=False, jobSubStatus=None):
    status = note('killJobs', ids, code=code, keepUnmerged=keepUnmerged)
    return status, [number % 2 == 0 for number in ids] if status == 0 else 'no route to host'

def reassignJobs(ids, forPending=False, firstSubmission=None):
    return note('reassignJobs', ids), True
";

/// The same as panda-server has it since 0.6.8: other names, and a reply of its API.
const STUB_OF_API: &str = "
import json, os

def note(name, ids, **more):
    with open(os.environ['CALLS'], 'a') as file:
        file.write(json.dumps([name, ids, more]) + chr(10))

def reply(data):
    status = int(os.environ.get('STATUS', '0'))
    if status == 255:
        return status, 'no route to host'
    if status == 1:
        return 0, {'success': False, 'message': 'production role required', 'data': None}
    return 0, {'success': True, 'message': '', 'data': data}

def kill_jobs(job_ids, code=None, keep_unmerged=False, job_sub_status=None):
    note('killJobs', job_ids, code=code, keepUnmerged=keep_unmerged)
    return reply([number % 2 == 0 for number in job_ids])

def reassign_jobs(job_ids):
    note('reassignJobs', job_ids)
    return reply(None)
";

/// Calls of the client, exit code, and the last line on stderr.
fn obey(dir: &Path, command: &Value, status: &str, args: &[&str]) -> (Vec<Value>, i32, String) {
    let calls = dir.join("calls");
    let _ = std::fs::remove_file(&calls);
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/clients/panda/obey.py");
    let mut child = Command::new("python3")
        .arg(program)
        .args(args)
        .env("PYTHONPATH", dir)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("CALLS", &calls)
        .env("STATUS", status)
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("python3");
    writeln!(child.stdin.take().unwrap(), "{command}").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = std::fs::read_to_string(&calls).unwrap_or_default();
    let calls = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let error =
        String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned();
    (calls, output.status.code().unwrap(), error)
}

#[test]
fn each_kind_of_command_is_a_call_of_pandas_client() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("left out: there is no python3");
        return;
    }
    each_kind_is_a_call(STUB);
    let dir = each_kind_is_a_call(STUB_OF_API);
    let command = json!({"kind": "kill", "rule": "T8", "jobs": ["8"]});
    let (_, exit, reason) = obey(dir.path(), &command, "1", &[]);
    assert!(exit == 1 && reason.contains("production role required"), "{exit}: {reason}");
}

/// Has each kind of command carried out with a client, and gives the directory that it lies in.
fn each_kind_is_a_call(stub: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    let package = dir.path().join("pandaserver/userinterface");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("Client.py"), stub).unwrap();
    let of =
        |kind: &str, rule: &str, jobs: &[&str]| json!({"kind": kind, "rule": rule, "jobs": jobs});
    let go = |command: &Value| obey(dir.path(), command, "0", &[]);
    for (kind, rule, code) in [
        ("reassign", "T3", 51),
        ("rebroker", "fast_rebrokerage", 10),
        ("kill", "T1", 4),
        ("kill", "T8", 2),
        ("fail", "T9", 99),
    ] {
        let (calls, exit, reason) = go(&of(kind, rule, &["4711", "4712"]));
        let call = json!(["killJobs", [4711, 4712], {"code": code, "keepUnmerged": true}]);
        assert_eq!((calls, exit), (vec![call], 0), "{kind} {rule}: {reason}");
        assert_eq!(reason, "PanDA acted on 1 of 2 jobs");
    }
    let many: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (calls, exit, reason) = go(&of("rebroker", "fast_rebrokerage", &many));
    assert_eq!((calls.len(), exit, reason.as_str()), (3, 0, "PanDA acted on 125 of 250 jobs"));
    let (calls, exit, _) =
        obey(dir.path(), &of("reassign", "T3", &["7"]), "0", &["--without-jedi"]);
    assert_eq!((calls, exit), (vec![json!(["reassignJobs", [7], {}])], 0));

    for (command, status, code, part) in [
        (of("boost", "x", &["8"]), "0", 3, "boost"),
        (of("kill", "T8", &["8", "job-9"]), "0", 3, "not a PandaID"),
        (of("kill", "T8", &["7"]), "0", 1, "none of 1 jobs"),
        (of("kill", "T8", &["8"]), "255", 1, "no route to host"),
    ] {
        let (_, exit, reason) = obey(dir.path(), &command, status, &[]);
        assert_eq!(exit, code, "{command}: {reason}");
        assert!(reason.contains(part), "{command}: {reason}");
    }
    dir
}
