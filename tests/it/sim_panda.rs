//! The demo of a PanDA outside ATLAS: queues of clouds, which the generic broker chooses among.

use crate::verbs::{printed, yardmaster};
use tempfile::TempDir;

/// Jobs run, nothing is rejected, the audit is clean and all of it can be made again; under the
/// rules of PanDA's own broker as under ours.
#[test]
fn a_demo_keeps_the_queues_of_clouds_busy() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().to_str().unwrap();
    let topology = ["--topology", "panda", "--dir", place];
    let demo = ["--hours", "4", "--scale", "0.01", "--seed", "2", "--http", "127.0.0.1:0"];
    let done = |words: &[&[&str]]| {
        let (code, text, errors) = printed(&yardmaster(&words.concat()));
        assert_eq!(code, Some(0), "{text}{errors}");
        text
    };
    let text = done(&[&["demo"], &topology, &demo]);
    let decisions = text.lines().find(|line| line.starts_with("decisions: ")).expect("decisions");
    assert!(decisions.contains(" assign") && !decisions.contains("reject"), "{text}");

    let verified = done(&[&["replay", "--verify"], &topology]);
    assert!(verified.contains(" 0 different, 0 not verifiable"), "{verified}");
    done(&[&["audit"], &topology]);
}
