//! The part of `topology check` that needs no broker: what was read without a mistake and cannot be
//! meant.

use crate::cli::log_args::Read;
use crate::kafka::KafkaConf;
use yardmaster_wire::topology::{Finding, Severity, findings};

/// Prints what is found in a file, and gives whether it may be used: nothing but warnings, and with
/// `strict` none of those either.
pub(super) fn check(read: &Read, strict: bool) -> bool {
    let mut found = findings(&read.name, &read.text, &read.topology);
    found.extend(properties(read));
    found.sort_by_key(|finding| finding.line);
    if found.is_empty() {
        println!("{}: no mistake found", read.name);
        return true;
    }
    found.iter().for_each(|finding| println!("{finding}"));
    let errors = found.iter().filter(|it| it.severity == Severity::Error).count();
    let warnings = found.len() - errors;
    println!("{}: {}, {}", read.name, amount(errors, "error"), amount(warnings, "warning"));
    if errors == 0 && warnings > 0 && !strict {
        println!("warnings do not fail the check; with --strict they do");
    }
    errors == 0 && !(strict && warnings > 0)
}

fn amount(number: usize, of: &str) -> String {
    format!("{number} {of}{}", if number == 1 { "" } else { "s" })
}

/// Properties of `[kafka.properties]` that librdkafka does not take: it is asked for each.
fn properties(read: &Read) -> Vec<Finding> {
    let mut found = Vec::new();
    // What stands for the contents of a file or a variable is known where the process starts.
    let plain = |(_, value): &&(String, String)| !value.contains("${");
    for (name, value) in read.topology.kafka.properties.iter().filter(plain) {
        let Err(complaint) = KafkaConf::check_property(name, value) else { continue };
        found.push(Finding {
            file: read.name.clone(),
            line: line_of(&read.text, name),
            severity: Severity::Error,
            code: "unknown-property",
            found: format!("property {name} of [kafka.properties]"),
            why: format!("{complaint}; no process starts with it"),
            remedy: "correct it, or leave it out".to_owned(),
        });
    }
    found
}

/// The line that states a property: quoted as it is, or by the last part of its name in a table.
fn line_of(text: &str, name: &str) -> usize {
    let last = name.rsplit('.').next().unwrap_or(name);
    let states = |line: &str, key: &str| {
        let before = line.split('=').next().unwrap_or("").trim();
        line.contains('=') && before.trim_matches(['"', '\'']) == key
    };
    let line = |key: &str| text.lines().position(|line| states(line, key));
    line(name).or_else(|| line(last)).map_or(1, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_property_is_found_however_it_is_written() {
        let text = "[kafka.properties]\n\"linger.ms\" = 1\nqueue.kbytes = 2\nfetch.a = 3\n";
        assert_eq!(line_of(text, "linger.ms"), 2);
        assert_eq!(line_of(text, "queue.kbytes"), 3);
        assert_eq!(line_of(text, "not.there"), 1);
    }
}
