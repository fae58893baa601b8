//! Findings of `topology check` in a file that is read without a mistake. Each case changes the
//! shipped file; the findings are in `tests/fixtures/findings.txt`, which `UPDATE=1` rewrites and a
//! review reads.

use crate::verbs::{printed, yardmaster};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;
use yardmaster::wire::topology::{ATLAS, Topology, findings};

/// One text of the shipped file and what stands in its place.
type Edit = (&'static str, &'static str);

/// The timeouts are about the jobs that PanDA's code selects.
const PANDA: Edit = (
    "(production, tests, users).\nrules = \"documented\"",
    "(production, tests, users).\nrules = \"panda\"",
);

/// A case: what an operator did, and the edits that do it.
const CASES: &[(&str, &[Edit])] = &[
    ("no budget for all rules together", &[("jobs = 5_000", "jobs = 0")]),
    ("no budget for a rule", &[("jobs_per_rule = 2_000", "jobs_per_rule = 0")]),
    (
        "no budget for a queue",
        &[
            ("jobs_per_queue = 100", "jobs_per_queue = 0"),
            ("percent_of_queue = 10", "percent_of_queue = 0"),
        ],
    ),
    ("a budget for large queues only", &[("jobs_per_queue = 100", "jobs_per_queue = 0")]),
    ("budgets above the one of all rules", &[("\njobs = 5_000", "\njobs = 50")]),
    ("jobs that are never moved", &[("moves_per_job = 3", "moves_per_job = 0")]),
    (
        "moves counted further back than commands are remembered",
        &[("command_lifetime_d = 30", "command_lifetime_d = 5")],
    ),
    (
        "a queue is gone before it is silent",
        &[("queue_silence_max_h = 48", "queue_silence_max_h = 1")],
    ),
    (
        "commands expire before they are repeated",
        &[("expires_after_min = 60", "expires_after_min = 10")],
    ),
    (
        "commands are valid longer than they are remembered",
        &[
            ("expires_after_min = 60", "expires_after_min = 40_000"),
            ("repeats = 6", "repeats = 20"),
            ("command_lifetime_d = 30", "command_lifetime_d = 7"),
        ],
    ),
    (
        "no silence limit for heartbeats",
        &[(
            HEARTBEAT,
            "[topics.heartbeat]\npartitions = 8\ncleanup = \"delete\"\nretention_hours = 336\n",
        )],
    ),
    (
        "no silence limit for heartbeats, and rules that act",
        &[
            (
                HEARTBEAT,
                "[topics.heartbeat]\npartitions = 8\ncleanup = \"delete\"\nretention_hours = 336\n",
            ),
            ("name = \"T9\"\nmode = \"dry_run\"", "name = \"T9\"\nmode = \"on\""),
            ("name = \"T10\"\nmode = \"dry_run\"", "name = \"T10\"\nmode = \"off\""),
        ],
    ),
    (
        "a rule that is due before its topic is late",
        &[(
            "name = \"T7\"\nmode = \"dry_run\"\nlimit_min = 30",
            "name = \"T7\"\nmode = \"on\"\nlimit_min = 10",
        )],
    ),
    ("jobs are forgotten before a rule is due", &[("limit_min = 30_240", "limit_min = 43_200")]),
    ("T8 is due before others", &[("limit_min = 30_240", "limit_min = 2_000"), PANDA]),
    (
        "nothing: T8 is about jobs that run, and no other rule's",
        &[("limit_min = 30_240", "limit_min = 2_000")],
    ),
    (
        "a rule of PanDA's code is on, and the timeouts are as documented",
        &[("name = \"age\"\nmode = \"dry_run\"", "name = \"age\"\nmode = \"on\"")],
    ),
    (
        "nothing: T8 is only shown, and the others act",
        &[
            PANDA,
            ("name = \"age\"\nmode = \"dry_run\"", "name = \"age\"\nmode = \"on\""),
            ("limit_min = 30_240", "limit_min = 2_800"),
            ("name = \"T5a\"\nmode = \"dry_run\"", "name = \"T5a\"\nmode = \"on\""),
            ("name = \"T4\"\nmode = \"dry_run\"", "name = \"T4\"\nmode = \"off\""),
            ("name = \"T5b\"\nmode = \"dry_run\"", "name = \"T5b\"\nmode = \"on\""),
            ("name = \"T11b\"\nmode = \"dry_run\"", "name = \"T11b\"\nmode = \"on\""),
            ("name = \"T12a\"\nmode = \"dry_run\"", "name = \"T12a\"\nmode = \"on\""),
            ("name = \"T12b\"\nmode = \"dry_run\"", "name = \"T12b\"\nmode = \"on\""),
        ],
    ),
    (
        "T6 is due after T5a and T5b",
        &[(
            "name = \"T6\"\nmode = \"dry_run\"\nlimit_min = 240",
            "name = \"T6\"\nmode = \"dry_run\"\nlimit_min = 3_000",
        )],
    ),
    ("T11a is due after T11b", &[("limit_min = 180", "limit_min = 3_000")]),
    (
        "priorities that neither T12a nor T12b is about",
        &[("limit_min = 2_880\npriority = 800", "limit_min = 2_880\npriority = 900")],
    ),
    (
        "priorities that both are about, and high ones wait longer",
        &[("limit_min = 2_880\npriority = 800", "limit_min = 9_000\npriority = 700")],
    ),
    (
        "rebrokerage that is never due, and never over",
        &[
            ("fraction = 0.3", "fraction = 1.0"),
            ("hysteresis_percent = 10", "hysteresis_percent = 100"),
        ],
    ),
    (
        "nothing of a limit",
        &[
            ("replicas_max = 200_000", "replicas_max = 0"),
            ("\nstubs_max = 100_000", "\nstubs_max = 0"),
            ("stored_counters_max = 300_000", "stored_counters_max = 0"),
            ("dead_letter_bytes = 65_536", "dead_letter_bytes = 0"),
            ("own_time_ahead_s = 300", "own_time_ahead_s = 0"),
        ],
    ),
    (
        "dead letters longer than any record",
        &[("dead_letter_bytes = 65_536", "dead_letter_bytes = 1_000_000")],
    ),
    (
        "progress keeps no full cut",
        &[
            (PROGRESS, "retention_hours = 36\ntimestamp = \"append\""),
            ("full_cut_interval_min = 10", "full_cut_interval_min = 1_440"),
        ],
    ),
    (
        "sites without a source",
        &[("# --- Limits:", "[intake.sites]\nXRD1 = \"SITE\"\n\n# --- Limits:")],
    ),
    (
        "intake that lets no job wait",
        &[
            (
                "# --- Limits:",
                "[[intake.source]]\ntopic = \"panda.jobs\"\ndialect = \"panda\"\n\n# --- Limits:",
            ),
            ("intake_waiting_max = 500_000", "intake_waiting_max = 0"),
        ],
    ),
    (
        "intake that lets more wait than it remembers",
        &[
            (
                "# --- Limits:",
                "[[intake.source]]\ntopic = \"panda.jobs\"\ndialect = \"panda\"\n\n# --- Limits:",
            ),
            ("intake_waiting_max = 500_000", "intake_waiting_max = 3_000_000"),
        ],
    ),
    (
        "a registry that nothing asks",
        &[("# --- Intake -", "[registry]\nurls = [\"http://127.0.0.1:8081\"]\n\n# --- Intake -")],
    ),
    ("topics without a replica", &[("replication = -1", "replication = 0")]),
    (
        "no filter, no weight",
        &[(
            "throttle_lapse_s = 3_600\nfilters = \"all\"\nweights = \"all\"",
            "throttle_lapse_s = 3_600\nfilters = []\nweights = []",
        )],
    ),
    ("no filter status", &[("    \"status\", \"nucleus_queue\"", "    \"nucleus_queue\"")]),
    (
        "cap after cap_rt",
        &[("\"cap\", \"network_weight\", \"cap_rt\"", "\"cap_rt\", \"network_weight\", \"cap\"")],
    ),
    (
        "bootstrap after min_weight",
        &[(
            "\"bootstrap\", \"min_weight\"",
            "\"min_weight\", { name = \"bootstrap\", active = true }",
        )],
    ),
    (
        "the lenient reading of one filter of two",
        &[("\"io\", \"io_second_chance\", ", "{ name = \"io\", reading = \"lenient\" }, ")],
    ),
    (
        "the strict reading of one filter of two",
        &[("\"io\", \"io_second_chance\", ", "\"io_second_chance\", ")],
    ),
    (
        "the two readings in the wrong places",
        &[(
            "\"io\", \"io_second_chance\", ",
            "\"io\", { name = \"io_second_chance\", reading = \"lenient\" }, ",
        )],
    ),
    (
        "a filter and a weight that are no more",
        &[
            ("\"network\"]", "\"network\", \"cpu_level\"]"),
            ("\"non_local\",", "\"lock\", \"non_local\","),
        ],
    ),
    (
        "a threshold of network weight, and no network weight",
        &[("\"nucleus\", \"network\"]", "\"nucleus\"]")],
    ),
    (
        "a threshold that no link reaches",
        &[("\"network_weight\",", "{ name = \"network_weight\", NW_THRESHOLD = 3 },")],
    ),
    (
        "deferred longer than requests live",
        &[("name = \"production-task\"", "name = \"production-task\"\ndefer_s = 1_300_000")],
    ),
    (
        "rests until the deadline",
        &[("name = \"production-task\"", "name = \"production-task\"\ndwell_s = 1_800")],
    ),
    (
        "room that no filter looks at",
        &[
            ("name = \"production-job\"", "name = \"production-job\"\nroom_per_running = 0.5"),
            ("\"nopilot\", \"room\",", "\"nopilot\","),
        ],
    ),
    (
        "room with timers",
        &[(
            "name = \"analysis-job\"",
            "name = \"analysis-job\"\nwake = \"timer\"\nroom_per_running = 0.5",
        )],
    ),
    (
        "no room where nothing runs",
        &[(
            "name = \"analysis-job\"",
            "name = \"analysis-job\"\nroom_least = 0\nroom_per_running = 0.5",
        )],
    ),
    (
        "throttles that lapse before they may be lifted",
        &[("throttle_lapse_s = 3_600", "throttle_dwell_s = 7_200\nthrottle_lapse_s = 3_600")],
    ),
    (
        "throttles that lapse between two cycles",
        &[
            ("throttle_lapse_s = 3_600", "throttle_lapse_s = 60"),
            ("\ntick_ms = 1_000", "\ntick_ms = 60_000"),
            ("takeover_s = 5", "takeover_s = 180"),
        ],
    ),
    (
        "ended jobs counted further back than they are known",
        &[("name = \"analysis-job\"", "name = \"analysis-job\"\nTW_DONE_JOB_STAT = 48")],
    ),
    (
        "thresholds in the wrong order",
        &[(
            "name = \"analysis-job\"",
            "name = \"analysis-job\"\nUSER_USAGE_THRESHOLD_A = 9_000\nsite_hi_wait = 20_000\nsite_hi_part = 0.9",
        )],
    ),
    (
        "a cap on jobs that the cap on cores makes void",
        &[(
            "name = \"analysis-job\"",
            "name = \"analysis-job\"\nCAP_RUNNING_USER_JOBS = 2_000\nCAP_RUNNING_USER_CORES = 1_000",
        )],
    ),
    (
        "values of zero",
        &[
            (
                "name = \"analysis-job\"",
                "name = \"analysis-job\"\nMAX_REM_JOBS_TO_BOOST_A = 0\nMAX_REM_JOBS_TO_BOOST_B = 0",
            ),
            (
                "\"link_blocked\", \"link\",",
                "\"link_blocked\", { name = \"link\", NQUEUED_SAT_CAP = 0, boundary = \"at_least\" },",
            ),
            (
                "\"status\", \"nucleus_queue\",",
                "\"status\", { name = \"nucleus_queue\", NQUEUED_NUC_CAP_FOR_JOBS = 0 },",
            ),
            ("\"transferring\",", "{ name = \"transferring\", default_limit = 0 },"),
            ("\"io\", ", "{ name = \"io\", NUM_CUTOFF_TO_MOVE_INPUT = 0 }, "),
            ("\"network\"]", "{ name = \"network\", at_nucleus = 0 }]"),
        ],
    ),
    (
        "one figure with two values",
        &[(
            "\"cap_rt\", \"bootstrap\"",
            "{ name = \"cap_rt\", NQUEUELIMITSITE = 50 }, \"bootstrap\"",
        )],
    ),
    (
        "more of the input than there is",
        &[(
            "rules = \"documented\"\nfilters = \"all\"\nweights = \"all\"\n\n# --- Commands",
            "rules = \"documented\"\nfilters = [\"status\", \"storage\", \"job\", { name = \"locality\", \
             INPUT_SIZE_FRACTION = 100 }]\nweights = [\"work\", { name = \"free_disk\", counted = true, \
             FREE_DISK_CUTOFF = 0 }]\n\n# --- Commands",
        )],
    ),
    (
        "nuclei judged by a policy that is tried",
        &[(
            "[[policy]]\nname = \"production-job\"",
            "[[policy]]\nname = \"trial\"\nkind = \"atlas-production-job\"\nmode = \"dry_run\"\n\
             filters = \"all\"\nweights = \"all\"\n\n[[policy]]\nname = \"production-job\"",
        )],
    ),
    (
        "parameters that nothing reads",
        &[
            ("name = \"production-job\"", "name = \"production-job\"\nMIN_INPUT_COMPLETENESS = 80"),
            (
                "rules = \"documented\"\n# Owners",
                "rules = \"documented\"\nroom_least = 50\n# Owners",
            ),
            (
                "\"cap_rt\", \"bootstrap\",",
                "\"cap_rt\", { name = \"bootstrap\", MAX_PRIO_TO_BOOTSTRAP = 150 },",
            ),
            ("\"network\"]", "{ name = \"network\", NQUEUED_SAT_CAP = 150, NW_ACTIVE = true }]"),
            (
                "\"running\", \"basic\"",
                "{ name = \"running\", MAX_PRIO_TO_BOOTSTRAP = 150 }, \"basic\"",
            ),
        ],
    ),
];

const HEARTBEAT: &str = "[topics.heartbeat]\npartitions = 8\ncleanup = \"delete\"\nretention_hours = \
                         336\nsilence_limit_s = 600\n";
const PROGRESS: &str = "retention_hours = 336\ntimestamp = \"append\"";

fn edited(edits: &[Edit]) -> String {
    edits.iter().fold(ATLAS.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from:?} is not in the shipped file");
        text.replacen(from, to, 1)
    })
}

fn found(text: &str) -> Vec<String> {
    let topology = Topology::parse("my.toml", text).unwrap_or_else(|complaints| {
        panic!("a case is to be read without a mistake: {complaints:#?}")
    });
    findings("my.toml", text, &topology).iter().map(ToString::to_string).collect()
}

#[test]
fn nothing_is_found_in_the_shipped_file() {
    assert_eq!(found(ATLAS), Vec::<String>::new());
    let panda = ATLAS.replace("rules = \"documented\"", "rules = \"panda\"");
    assert_eq!(found(&panda), Vec::<String>::new());
    let on = panda.replace("mode = \"dry_run\"", "mode = \"on\"");
    assert_eq!(found(&on), Vec::<String>::new());
}

#[test]
fn what_cannot_be_meant_is_found_with_its_line_its_consequence_and_a_remedy() {
    let mut text = String::new();
    for (case, edits) in CASES {
        let found = found(&edited(edits));
        assert_eq!(found.is_empty(), case.starts_with("nothing:"), "{case}: {found:#?}");
        let _ = writeln!(text, "== {case}\n{}\n", found.join("\n"));
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/findings.txt");
    if std::env::var("UPDATE").is_ok_and(|it| it == "1") {
        return std::fs::write(path, text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    for (line, (is, was)) in text.lines().zip(expected.lines()).enumerate() {
        assert_eq!(is, was, "line {} of findings.txt; UPDATE=1 rewrites it", line + 1);
    }
    assert_eq!(text, expected);
}

#[test]
fn every_kind_of_finding_is_explained() {
    let all: String = CASES.iter().flat_map(|(_, edits)| found(&edited(edits))).collect();
    let parts = all.split('[').skip(1).filter_map(|rest| rest.split_once("]\n"));
    let codes: BTreeSet<&str> = parts.map(|(code, _)| code).collect();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/topology.md");
    let docs = std::fs::read_to_string(docs).unwrap();
    for code in codes.into_iter().chain(["unknown-property"]) {
        assert!(docs.contains(&format!("| `{code}` |")), "docs/topology.md has no row for {code}");
    }
}

#[test]
fn errors_fail_the_check_and_warnings_with_strict() {
    let dir = TempDir::new().unwrap();
    let check = |name: &str, edits: &[Edit], flags: &[&str]| {
        let path = dir.path().join(name);
        std::fs::write(&path, edited(edits)).unwrap();
        let file = path.to_str().unwrap();
        let given = [&["topology", "check", "--topology", file], flags].concat();
        let (code, out, errors) = printed(&yardmaster(&given));
        assert!(errors.is_empty(), "{errors}");
        (code, out)
    };
    let (code, out) = check("right.toml", &[], &["--strict"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("no mistake found"), "{out}");
    let error: &[Edit] = &[("jobs = 5_000", "jobs = 0")];
    let (code, out) = check("error.toml", error, &[]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains(": error: governor.jobs is 0 [cap-of-zero]"), "{out}");
    assert!(out.contains("1 error, 0 warnings"), "{out}");
    let warning: &[Edit] = &[("\nstubs_max = 100_000", "\nstubs_max = 0")];
    let (code, out) = check("warning.toml", warning, &[]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("0 errors, 1 warning\n") && out.contains("--strict"), "{out}");
    let (code, out) = check("warning.toml", warning, &["--strict"]);
    assert_eq!(code, Some(1), "{out}");
    let unknown: &[Edit] = &[("\"linger.ms\" = 20", "\"lingre.ms\" = 20")];
    let (code, out) = check("property.toml", unknown, &[]);
    assert_eq!(code, Some(1), "{out}");
    let line = ATLAS.lines().position(|line| line.starts_with("\"linger.ms\"")).unwrap() + 1;
    assert!(out.contains(&format!("property.toml:{line}: error: property lingre.ms")), "{out}");
}

#[test]
fn whose_jobs_the_timeouts_are_about_is_part_of_the_hash_of_commands() {
    let hash = |text: &str| Topology::parse("my.toml", text).unwrap().commands.hash;
    assert_ne!(hash(ATLAS), hash(&edited(&[PANDA])));
}
