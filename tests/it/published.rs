//! Texts and hashes of policies as they were published: a log written before names them, so they
//! stay byte for byte. `UPDATE=1` writes the file again; a difference needs a new engine revision.

use std::fmt::Write;
use yardmaster::core::policy::{Policy, PolicySpec, Rules, kinds};
use yardmaster::wire::topology::{ATLAS, Topology};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/policies.txt");

fn write(text: &mut String, title: &str, spec: &PolicySpec) {
    let policy = Policy::compile(spec).expect("allowed");
    writeln!(text, "=== {title}: {}", policy.hash()).expect("a String");
    text.push_str(policy.text());
}

/// Every policy of every kind with all its filters and weights, and the shipped ones.
fn all() -> String {
    let mut text = String::new();
    for flavour in kinds() {
        for rules in [Rules::Documented, Rules::Panda] {
            let spec = PolicySpec::full("full", flavour, rules);
            write(&mut text, &format!("{} {}", flavour.name, rules.name()), &spec);
        }
    }
    let shipped = Topology::parse("atlas.toml", ATLAS).expect("the shipped topology");
    for spec in &shipped.policies {
        write(&mut text, &format!("shipped {}", spec.name), spec);
    }
    text
}

#[test]
fn texts_and_hashes_stay_as_they_were_published() {
    let made = all();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, &made).expect("written");
    }
    let stored = std::fs::read_to_string(FILE).expect("the stored texts");
    assert!(made == stored, "the text or the hash of a policy changed:\n{made}");
}
