//! `examples/arc/hand_over.py`, run against a real broker and the program: a submitter of a site's own
//! needs decisions alone. `YARDMASTER_TEST_PYTHON` is a Python that has what it needs.

use super::verb::Place;
use crate::ask::python;
use crate::kill::process::{Ending, wait_until};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

#[test]
fn a_program_in_python_hands_jobs_over_by_a_submitter_of_a_sites_own() {
    let Some(python) = python() else { return };
    let Some(place) = Place::make() else { return };
    place.cluster("ce-a", "https://ce-a/arex", "50");
    place.cluster("ce-b", "https://ce-b/arex", "0");
    let place = place.lead();
    let body = "#!/bin/sh\ncat > /dev/null\n[ $2/$3 = ce-b/q ] || { echo full >&2; exit 3; }\n\
                echo id-of-$1-$4\n";
    let program = place.write("submitter.sh", body);
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/arc/hand_over.py");
    let (domain, out) = (&place.bus.domain, place.bus.path("example.out"));
    let file = std::fs::File::create(&out).unwrap();
    let child = Command::new(python)
        .arg("-B")
        .arg(script)
        .args(["--bootstrap-server", &place.bus.bootstrap, "--user", "ann"])
        .args(["--topics", &format!("{domain}."), "--group", domain])
        .arg(program)
        .stdin(Stdio::null())
        .stdout(file.try_clone().unwrap())
        .stderr(file)
        .spawn();
    let _child = Ending(child.expect("Python"));
    let xrsl = place.write("job.xrsl", "&(executable=/bin/true)");
    let more = ["--xrsl", xrsl.to_str().unwrap(), "--user", "ann", "--job-id", "job"];
    place.bus.verb("submit", 0, &[&more[..], &["-c", "ce-a", "-c", "ce-b"]].concat());
    let printed = || std::fs::read_to_string(&out).unwrap();
    wait_until(Duration::from_secs(60), printed, || printed().contains("accepted"));
    assert_eq!(printed(), "job ce-a/q refused\njob ce-b/q accepted\n");
    let outcome = |target: &str, kind, why: &str| (target.to_owned(), kind, why.to_owned());
    let expected = [outcome("ce-a/q", "refused", "full"), outcome("ce-b/q", "accepted", "")];
    assert_eq!(place.outcomes("job"), expected);
    assert_eq!(place.states("job"), ["ce-b/q assigned ACCEPTED job:1 id before"]);
    place.check();
}
