//! Programs of a shell, each with an end of its own.

use super::*;

fn run(script: &str, timeout: Duration, input: &[u8]) -> (Exit, String, String) {
    let args = ["-c".to_owned(), script.to_owned()];
    let program = Program::find("sh", &args, timeout).unwrap();
    let finished = program.run(input.to_vec(), &[("YARDMASTER_COMMAND_ID", "07a1")]);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (finished.exit, text(&finished.stdout), text(&finished.stderr))
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_program_gets_its_input_and_its_environment_and_its_end_is_reported() {
    let (exit, stdout, stderr) = run("cat; echo $YARDMASTER_COMMAND_ID >&2; exit 3", LONG, b"{}\n");
    assert_eq!((exit, stdout.as_str(), stderr.as_str()), (Exit::Code(3), "{}\n", "07a1\n"));
    assert_eq!(run("kill -KILL $$", LONG, b"").0, Exit::Signal(9));
    // One that reads nothing of much, and prints much.
    let (exit, stdout, _) = run("yes word | head -100000; echo last", LONG, &[b'x'; 1_000_000]);
    assert_eq!((exit, stdout.len()), (Exit::Code(0), TAIL_BYTES));
    assert!(stdout.ends_with("word\nlast\n"));
}

#[test]
fn a_program_that_takes_too_long_is_ended_with_its_children() {
    let dir = tempfile::TempDir::new().unwrap();
    let file = dir.path().join("pid");
    let script = format!("sleep 300 & echo $! > {}; echo begun; wait", file.display());
    let began = Instant::now();
    let (exit, stdout, _) = run(&script, Duration::from_millis(300), b"");
    assert_eq!((exit, stdout.as_str()), (Exit::TimedOut, "begun\n"));
    // One that does not listen to SIGTERM gets SIGKILL.
    let deaf = run("trap '' TERM; sleep 300 & wait; sleep 300", Duration::from_millis(100), b"");
    assert_eq!(deaf.0, Exit::TimedOut);
    assert!(began.elapsed() < GRACE + KILL_WAIT + Duration::from_secs(20));
    let child: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    let began = Instant::now();
    let is_alive = || {
        let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains(") Z")
    };
    while cfg!(target_os = "linux") && is_alive() {
        assert!(began.elapsed() < LONG, "the child lives on");
        std::thread::sleep(TICK);
    }
}

#[test]
fn what_is_no_program_is_named_with_a_remedy() {
    let dir = tempfile::TempDir::new().unwrap();
    let plain = dir.path().join("plain");
    std::fs::write(&plain, "text").unwrap();
    let why = |name: &str| Program::find(name, &[], LONG).err().unwrap().to_string();
    assert!(why(plain.to_str().unwrap()).contains("chmod +x"));
    assert!(why("./nowhere/at-all").contains("no such file"));
    assert!(why("no-program-has-this-name").contains("PATH"));
    assert!(why("").contains("PATH"));
    // A script without an interpreter is found, and cannot be started.
    std::fs::set_permissions(&plain, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&plain, "#!/nowhere/at-all\n").unwrap();
    let program = Program::find(plain.to_str().unwrap(), &[], LONG).unwrap();
    let exit = program.run(Vec::new(), &[]).exit;
    assert!(matches!(exit, Exit::NotStarted(_)), "{exit:?}");
}
