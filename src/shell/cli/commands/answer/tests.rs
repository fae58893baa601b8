//! How the end of a program is understood.

use super::*;

fn command() -> Command {
    Command { now: 1_000, ..Command::new("atlas", "T1", "4711", 0, Some(7)) }
}

fn of(exit: Exit, stderr: &str, stdout: &str) -> (OutcomeKind, String) {
    let finished = Finished { exit, stderr: stderr.into(), stdout: stdout.into() };
    let answer = answer(&command(), &finished, Duration::from_secs(9), 2_000);
    assert_eq!(answer.at, 2_000);
    (answer.kind, answer.reason)
}

#[test]
fn an_exit_code_is_an_outcome_and_the_last_line_its_reason() {
    use OutcomeKind::{Accepted, Failed, Refused};
    let cases = [
        (of(Exit::Code(0), "", "killed\n\n"), Accepted, "killed"),
        (of(Exit::Code(0), "", ""), Accepted, ""),
        (of(Exit::Code(3), "no such job\r\n \n", "x"), Refused, "no such job"),
        (of(Exit::Code(1), "a\nb\u{1b}[31mred", ""), Failed, r"exit code 1: b\u{1b}[31mred"),
        (of(Exit::Code(127), "", ""), Failed, "exit code 127"),
        (of(Exit::Signal(9), "", "half"), Failed, "ended by signal 9: half"),
        (of(Exit::TimedOut, "still at it", ""), Failed, "ended after 9 s (--timeout): still at it"),
        (of(Exit::NotStarted("gone".into()), "", ""), Failed, "cannot be started: gone"),
    ];
    for ((kind, reason), wanted, text) in cases {
        assert_eq!((kind, reason.as_str()), (wanted, text));
    }
}

#[test]
fn a_reason_is_cut_between_characters() {
    let (_, reason) = of(Exit::Code(4), &"\u{e9}".repeat(10_000), "");
    assert_eq!(reason.chars().count(), REASON_CHARS + 3);
    assert!(reason.ends_with("\u{e9}..."), "{reason}");
}

#[test]
fn an_outcome_is_never_older_than_the_command_it_is_about() {
    let finished = Finished { exit: Exit::Code(1), stderr: Vec::new(), stdout: Vec::new() };
    let early = answer(&command(), &finished, Duration::from_secs(9), 5);
    assert_eq!((early.at, expired(&command(), 5).at), (1_000, 1_000));
}
