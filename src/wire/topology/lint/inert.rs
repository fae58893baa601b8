//! Parameters that the file states and that nothing reads, given the others.

use super::finding::{Findings, Report};
use super::part::{Part, parts};
use yardmaster_core::domain::atlas::policy::RETIRED;
use yardmaster_core::policy::PolicySpec;

/// Parameters that are read only where another one of the same part has a value.
struct Gate {
    list: &'static str,
    /// Name of the filter or weight; empty: of the policy itself, or of every part of the list.
    name: &'static str,
    /// The parameters; none: all others of the part.
    params: &'static [&'static str],
    gate: &'static str,
    /// The values of the gate, as the file has them, under which the parameters are not read.
    shut: &'static [&'static str],
}

const fn gate(
    list: &'static str,
    name: &'static str,
    params: &'static [&'static str],
    gate: &'static str,
    shut: &'static [&'static str],
) -> Gate {
    Gate { list, name, params, gate, shut }
}

const FALSE: &[&str] = &["false"];

const GATES: &[Gate] = &[
    gate("", "", &["MAX_MISSING_INPUT_FILES", "MIN_INPUT_COMPLETENESS"], "completeness", FALSE),
    gate("", "", &["room_least", "room_assigned"], "room_per_running", &["0"]),
    gate("filters", "", &[], "active", FALSE),
    gate("filters", "", &[], "checked", FALSE),
    gate("filters", "cpucore", &["multi_core_priority"], "multi_core_urgent", FALSE),
    gate("filters", "io", &[], "reading", &["\"lenient\""]),
    gate("filters", "io_second_chance", &[], "reading", &["\"strict\""]),
    gate("filters", "network_weight", &["NW_ACTIVE"], "always", &["true"]),
    gate("filters", "locality", &["DATA_LOCATION_CHECK_PERIOD"], "gives_up", FALSE),
    gate("filters", "storage", &["STORAGE_MIN_FREE_SIZE"], "input_space", FALSE),
    gate(
        "filters",
        "storage",
        &["MAX_MISSING_INPUT_FILES", "MIN_INPUT_COMPLETENESS"],
        "nucleus_receives",
        FALSE,
    ),
    gate("filters", "storage", &["nucleus_receives"], "wan", &["\"ignored\""]),
    gate("filters", "link_blocked", &["NQUEUED_NUC_CAP_FOR_JOBS"], "nucleus_first", FALSE),
    gate("filters", "link", &["NQUEUED_NUC_CAP_FOR_JOBS"], "nucleus_first", FALSE),
    gate("weights", "nucleus", &[], "active", FALSE),
    gate("weights", "network", &["NW_ACTIVE"], "active", &["\"always\""]),
    gate("weights", "network", &["NW_QUEUED_SPAN"], "span", &["\"NQUEUED_SAT_CAP\""]),
    gate("weights", "network", &["NQUEUED_SAT_CAP"], "span", &["\"NW_QUEUED_SPAN\""]),
    gate("weights", "running", &["MAX_PRIO_TO_BOOTSTRAP"], "rule", &["\"largest\""]),
    gate("weights", "classes", &[], "version", &["\"off\""]),
    gate("weights", "classes", &["least_rest"], "version", &["\"seed\""]),
    gate("weights", "free_disk", &[], "counted", FALSE),
];

/// Looks at every filter, weight and parameter that the file states.
pub(super) fn look(found: &mut Findings, policy: &PolicySpec) {
    for part in parts(policy) {
        let is_ours = policy.kind == "atlas-production-job";
        if is_ours && RETIRED.contains(&part.name) && found.states(&part.path("")) {
            retired(found, &part);
        }
        for gate in GATES.iter().filter(|gate| gate.is_of(&part)) {
            for param in part.given().filter(|param| gate.shuts(param)) {
                if found.states(&part.path(param)) {
                    gate.report(found, &part, param);
                }
            }
        }
    }
}

fn retired(found: &mut Findings, part: &Part<'_>) {
    found.warning(
        &part.path(""),
        Report {
            code: "retired",
            found: format!("{} is listed", part.place("")),
            why: "the rule is no more: no record brings what it asked for".to_owned(),
            remedy: format!("leave {} out of {}", part.name, part.list),
        },
    );
}

/// Whether anything reads a parameter of a part, given the others.
pub(super) fn is_read(part: &Part<'_>, param: &str) -> bool {
    !GATES.iter().any(|gate| gate.is_of(part) && gate.shuts(param))
}

impl Gate {
    fn is_of(&self, part: &Part<'_>) -> bool {
        let is_named = self.name.is_empty() && !self.list.is_empty() || self.name == part.name;
        let is_shut = self.shut.iter().any(|value| part.is(self.gate, value));
        self.list == part.list && is_named && is_shut
    }

    fn shuts(&self, param: &str) -> bool {
        let is_one = self.params.is_empty() || self.params.contains(&param);
        is_one && param != self.gate
    }

    fn report(&self, found: &mut Findings, part: &Part<'_>, param: &str) {
        let gate = self.gate;
        let value = part.shown(gate).unwrap_or_default();
        found.warning(
            &part.path(param),
            Report {
                code: "not-read",
                found: format!("{} is stated, and {gate} is {value}", part.place(param)),
                why: format!("with {gate} = {value} nothing reads {param}"),
                remedy: format!("another {gate}, or leave {param} out"),
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::policy::{PolicySpec, Rules, kinds};

    #[test]
    fn every_gate_names_what_there_is() {
        for gate in GATES {
            let specs = kinds().iter().map(|kind| PolicySpec::full("p", kind, Rules::Documented));
            let specs: Vec<PolicySpec> = specs.collect();
            let mut fits = specs.iter().flat_map(parts).filter(|part| {
                let has = |name: &&&str| part.param(name).is_some();
                let is_named = gate.name.is_empty() || gate.name == part.name;
                let shows = |value: &&str| {
                    let param = part.param(gate.gate);
                    param.is_some_and(|param| (0..4).any(|at| param.show(f64::from(at)) == **value))
                };
                gate.list == part.list
                    && is_named
                    && gate.params.iter().all(|name| has(&name))
                    && gate.shut.iter().all(shows)
            });
            assert!(fits.next().is_some(), "{} {} {}", gate.list, gate.name, gate.gate);
        }
    }
}
