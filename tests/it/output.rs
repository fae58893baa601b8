//! Output of verbs for people: tables on a terminal and elsewhere, progress, help, completions, man
//! pages. A terminal is a pseudo-terminal, made by util-linux's `script`.

mod past;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;
use unicode_width::UnicodeWidthStr;

const PROGRAM: &str = env!("CARGO_BIN_EXE_yardmaster");

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a verb without a terminal.
fn yardmaster(args: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(args).env_remove("YARDMASTER_LOG").env_remove("COLUMNS");
    command.stdin(Stdio::null()).output().unwrap()
}

/// Output of a verb on stdout; it must succeed.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = yardmaster(args);
    assert!(output.status.success(), "{args:?}: {output:?}");
    text(&output.stdout)
}

/// Complaint of a verb; it must be wrong use.
#[track_caller]
fn refused(args: &[&str]) -> String {
    let output = yardmaster(args);
    assert_eq!(output.status.code(), Some(2), "{args:?}: {output:?}");
    text(&output.stderr)
}

/// Output on a terminal of so many columns, stdout and stderr. `more` is put before the program:
/// redirections, variables.
fn on_terminal(columns: usize, more: &str, args: &[&str]) -> String {
    let quoted: Vec<String> = args.iter().map(|arg| format!("'{arg}'")).collect();
    let line = format!("stty rows 24 cols {columns}; {more} '{PROGRAM}' {}", quoted.join(" "));
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
    script.env_remove("YARDMASTER_LOG").env_remove("COLUMNS").env_remove("NO_COLOR");
    let output = script.env("TERM", "xterm").output().expect("`script` of util-linux");
    assert!(output.status.success(), "{line}: {output:?}");
    text(&output.stdout).replace("\r\n", "\n")
}

/// A demo in a directory, with its store.
fn demo(dir: &Path, hours: &str) {
    let dir = dir.to_str().unwrap();
    printed(&["demo", "--dir", dir, "--hours", hours, "--scale", "0.02", "--http", "127.0.0.1:0"]);
}

#[test]
fn tables_are_as_wide_as_the_terminal_and_whole_elsewhere() {
    let dir = TempDir::new().unwrap();
    demo(dir.path(), "2");
    let place = dir.path().to_str().unwrap();
    let by_queue = ["counters", "--dir", place, "--by", "queue"];
    let whole = printed(&by_queue);
    let head: Vec<&str> = whole.lines().next().unwrap().split_whitespace().collect();
    assert!(head.len() > 15 && head.contains(&"cores_running"), "{whole}");
    for columns in [60, 80, 200] {
        let shown = on_terminal(columns, "", &by_queue);
        let (table, left_out) = shown.split_once("no room for ").expect("some are left out");
        let wide = table.lines().map(|line| line.width()).max().unwrap();
        assert!(wide <= columns && wide > columns / 2, "{columns}: {shown}");
        let names = table.lines().next().unwrap().split_whitespace();
        assert!(names.clone().take(1).eq(["queue"]) && table.contains("jobs_running"), "{shown}");
        assert!(left_out.contains(" more; --columns NAME,...") || columns == 200, "{shown}");
        assert_eq!(table.lines().count(), whole.lines().count(), "each row is there");
    }
    let chosen = ["--columns", "cores_running,queue", "--sort", "cores_running", "--top", "3"];
    let table = printed(&[&by_queue[..], &chosen].concat());
    let rows: Vec<Vec<&str>> = table.lines().map(|it| it.split_whitespace().collect()).collect();
    assert_eq!((rows.len(), &rows[0][..]), (4, &["cores_running", "queue"][..]), "{table}");
    let cores: Vec<u64> = rows[1..].iter().map(|row| row[0].parse().unwrap()).collect();
    assert!(cores.is_sorted_by(|a, b| a >= b), "{table}");
    // Names of figures as JSON has them are taken, too; a moment is shown as one.
    let table = printed(&[&by_queue[..], &["--columns", "last_pilot_ms", "--top", "1"]].concat());
    assert!(
        table.trim_start().starts_with("last_pilot") && table.contains("2025-10-14T0"),
        "{table}"
    );

    let json =
        printed(&[&by_queue[..], &["--json", "--sort", "jobs_running", "--top", "1"]].concat());
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).expect("an object");
    assert!(first["last_pilot_ms"].is_i64(), "raw figures: {json}");
    let all = printed(&["counters", "--dir", place]);
    let headings: Vec<&str> = all.lines().filter(|line| line.starts_with("by ")).collect();
    assert!(headings.iter().any(|it| it.starts_with("by queue (24)")), "{headings:?}");
    assert!(headings.len() >= 6, "a table for each kind: {headings:?}");
    let links = printed(&["counters", "--dir", place, "--by", "link", "--sort", "queued_bytes"]);
    assert!(links.contains(" GB") && links.contains(" * "), "sizes have units: {links}");

    let error = refused(&[&by_queue[..], &["--columns", "queue,jobs_runing"]].concat());
    assert!(error.contains("jobs_runing") && error.contains("jobs_running, "), "{error}");
    assert!(error.contains("jobs_pending"), "figures that are 0 everywhere are known: {error}");
    let error = refused(&[&by_queue[..], &["--sort", "user"]].concat());
    assert!(error.contains("--sort user"), "{error}");
    refused(&[&by_queue[..], &["--columns", "queue", "--json"]].concat());
    every_figure_is_known(place);
}

/// The columns that are named when one is unknown are all that counters have.
fn every_figure_is_known(place: &str) {
    let error = refused(&["counters", "--dir", place, "--columns", "none"]);
    let known = error.split("give some of ").nth(1).unwrap();
    let known: Vec<&str> = known.split([',', ' ']).filter(|it| !it.is_empty()).collect();
    for by in ["queue", "user", "group", "share", "load", "nucleus", "task", "link"] {
        let error = refused(&["counters", "--dir", place, "--by", by, "--columns", "none"]);
        let of_kind = error.split("give some of ").nth(1).unwrap().trim();
        let table = printed(&["counters", "--dir", place, "--by", by]);
        for name in table.lines().next().into_iter().flat_map(str::split_whitespace) {
            assert!(known.contains(&name) && of_kind.contains(name), "{by} {name}: {error}");
        }
    }
}

#[test]
fn audit_prints_an_object_for_each_drift_and_a_summary() {
    let dir = TempDir::new().unwrap();
    demo(dir.path(), "1");
    let place = dir.path().to_str().unwrap();
    let json = printed(&["audit", "--dir", place, "--json"]);
    let summary: Value = serde_json::from_str(&json).expect("one object");
    assert_eq!(summary["drifted"], 0);
    assert!(summary["counters"].as_u64() > Some(50) && summary["cycle"].as_u64() > Some(100));
    assert!(printed(&["audit", "--dir", place]).contains(" 0 drifted"));
    refused(&["audit", "--dir", place, "--columns", "counters"]);
    // The store of another log drifts from this one.
    let other = TempDir::new().unwrap();
    demo(other.path(), "2");
    let store = other.path().join("store");
    let args = ["audit", "--dir", place, "--store", store.to_str().unwrap()];
    let output = yardmaster(&args);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("counter") && shown.contains("the log ends at cycle"), "{shown}");
    let output = yardmaster(&[&args[..], &["--json"]].concat());
    let objects: Vec<Value> =
        text(&output.stdout).lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let (summary, drifts) = objects.split_last().unwrap();
    assert_eq!(summary["drifted"].as_u64(), Some(drifts.len() as u64));
    assert_eq!(drifts[0]["drift"], "store cycle");
}

/// Long work shows how far it is, and only to people.
#[test]
fn progress_is_drawn_on_a_terminal_and_nowhere_else() {
    let dir = TempDir::new().unwrap();
    demo(dir.path(), "1");
    let place = dir.path().to_str().unwrap();
    let replay = ["replay", "--dir", place];
    let shown = on_terminal(100, "", &replay);
    assert!(shown.contains("replaying [") && shown.contains(" cycles, "), "{shown:?}");
    // The bar is cleared before the answer: that stands on lines of its own.
    assert!(shown.lines().any(|line| line.ends_with("K") || line.contains("cycles ")), "{shown:?}");
    assert!(shown.contains("digest "), "{shown:?}");
    for quiet in ["NO_COLOR=1", "TERM=dumb", "2>/dev/null"] {
        let shown = on_terminal(100, quiet, &replay);
        assert!(!shown.contains("replaying") && shown.contains("digest "), "{quiet}: {shown:?}");
        assert!(!shown.contains('\u{1b}'), "{quiet}: {shown:?}");
    }
    let output = yardmaster(&replay);
    assert!(!text(&output.stderr).contains("replaying ["), "{output:?}");
}

/// The same of work that has no log.
#[test]
fn measuring_comparing_and_importing_show_how_far_they_are() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("yard");
    demo(&place, "1");
    let place = place.to_str().unwrap();
    let bench = ["bench", "--only", "replay", "--rounds", "2", "--dir", place];
    let shown = on_terminal(100, "", &bench);
    assert!(shown.contains("replaying [") && shown.contains(" of 2 rounds, "), "{shown:?}");
    assert!(shown.contains("replay_events_per_second"), "{shown:?}");
    let other = dir.path().join("compared");
    let compare = ["demo", "--compare", "--hours", "1", "--seeds", "1", "--scale", "0.01", "--dir"];
    let compare = [&compare[..], &[other.to_str().unwrap()]].concat();
    let shown = on_terminal(200, "", &compare);
    assert!(shown.contains("comparing [") && shown.contains(" of 4 hours, "), "{shown:?}");
    // Each run has a line of its own beside the bar.
    let runs = shown.lines().filter(|line| line.ends_with(" jobs finished"));
    assert_eq!(runs.filter(|line| line.contains("seed 1, ")).count(), 4, "{shown:?}");
    // More lines than are read before a bar is shown.
    let jobs = dir.path().join("jobs.json");
    let line = |id: u32| {
        format!("{{\"PANDAID\": {id}, \"JOBSTATUS\": \"running\", \"MODIFICATIONTIME\": 9}}\n")
    };
    std::fs::write(&jobs, (1..500_000).map(line).collect::<String>()).unwrap();
    let import = ["import", "jobs", jobs.to_str().unwrap(), "--dry-run", "--dir", place];
    let shown = on_terminal(100, "", &import);
    assert!(shown.contains("parsing [") && shown.contains(" bytes, "), "{shown:?}");
    assert!(shown.contains("499999 records would be published"), "{shown:?}");
    for (args, bar) in [(&bench[..], "replaying ["), (&compare, "comparing [")] {
        let output = yardmaster(args);
        assert!(output.status.success() && !text(&output.stderr).contains(bar), "{output:?}");
    }
}

#[test]
fn help_has_groups_and_verbs_have_headings_and_examples() {
    let help = printed(&["--help"]);
    for heading in ["Serve:", "Look:", "Check and mend:", "Try:", "Set up:", "Options:"] {
        assert!(help.lines().any(|line| line == heading), "{heading}\n{help}");
    }
    assert!(help.lines().any(|line| line.starts_with("  counters")), "{help}");
    let help = printed(&["counters", "--help"]);
    for line in ["Log:", "Kafka:", "Store:", "Output:"] {
        assert!(help.lines().any(|it| it == line), "{line}\n{help}");
    }
    assert!(help.contains("\n  yardmaster counters --dir yard --by queue\n"), "{help}");
    let options = help.split("\nLog:").next().unwrap();
    assert!(options.contains("--by <BY>"), "a verb's own flags come first: {help}");
}

#[test]
fn completions_are_accepted_by_the_shell_and_complete_a_verb() {
    let dir = TempDir::new().unwrap();
    let script = dir.path().join("yardmaster.bash");
    std::fs::write(&script, printed(&["completions", "bash"])).unwrap();
    let script = script.to_str().unwrap();
    let bash = |args: &[&str]| {
        let output = Command::new("bash").args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        text(&output.stdout)
    };
    bash(&["-n", script]);
    let complete = |words: &str, last: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        let (count, words) = (words.len() - 1, (words[words.len() - 2], words.join(" ")));
        let (before, words) = words;
        bash(&[
            "-c",
            &format!(
                "source '{script}'; COMP_WORDS=({words}); COMP_CWORD={count}; \
                 _yardmaster yardmaster '{last}' '{before}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            ),
        ])
    };
    assert_eq!(complete("yardmaster coun", "coun"), "counters\n");
    assert!(complete("yardmaster counters --colu", "--colu").contains("--columns"));
    assert!(complete("yardmaster counters --by nucl", "nucl").contains("nucleus"));
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        assert!(printed(&["completions", shell]).contains("dead-letters"), "{shell}");
    }
    assert!(refused(&["completions", "tcsh"]).contains("zsh"));
}

#[test]
fn man_pages_are_there_for_the_program_and_each_verb() {
    let dir = TempDir::new().unwrap();
    let place = dir.path().join("man1");
    let shown = printed(&["man", "--dir", place.to_str().unwrap()]);
    let pages: Vec<_> = std::fs::read_dir(&place).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(shown.starts_with(&format!("{} pages", pages.len())), "{shown}");
    for name in ["yardmaster.1", "yardmaster-counters.1", "yardmaster-dead-letters-show.1"] {
        assert!(place.join(name).is_file(), "{name}");
    }
    let has_man = Command::new("man").arg("--version").output().is_ok();
    for path in pages {
        let page = std::fs::read_to_string(&path).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        for part in [&format!(".TH {name} 1"), ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"] {
            assert!(page.contains(part), "{name}: {part}");
        }
        if has_man {
            let mut man = Command::new("man");
            man.args(["--warnings", "-E", "UTF-8", "-l"]).arg(&path).env("LC_ALL", "C.UTF-8");
            let output = man.env("MANWIDTH", "80").output().unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        }
    }
    let page = printed(&["man", "counters"]);
    assert_eq!(page, std::fs::read_to_string(place.join("yardmaster-counters.1")).unwrap());
    let error = refused(&["man", "dead-letters", "shaw"]);
    assert!(error.contains("shaw") && error.contains("show, redrive"), "{error}");
}

/// Of a grid of one's own the queues are enough.
#[test]
fn a_demo_of_a_cric_dump_makes_up_what_is_not_given() {
    let dir = TempDir::new().unwrap();
    let fixture = |name: &str| format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (cric, links) = (fixture("cric.json"), fixture("netmetrics.json"));
    let run = |name: &str, more: &[&str]| {
        let place = dir.path().join(name);
        let args = ["demo", "--cric", &cric, "--hours", "1", "--scale", "0.01"];
        let http = ["--http", "127.0.0.1:0", "--dir", place.to_str().unwrap()];
        printed(&[&args[..], &http, more].concat())
    };
    let shown = run("alone", &[]);
    for part in ["no --storage: space of ", "no --netmetrics: throughput of ", "no --nuclei: "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("audit: clean") && !shown.contains("space of 0"), "{shown}");
    let decisions = shown.lines().find(|line| line.starts_with("decisions: "));
    assert!(decisions.is_some_and(|line| line.contains(" assign")), "{shown}");
    let shown = run("with links", &["--netmetrics", &links]);
    assert!(shown.contains("no --storage") && !shown.contains("no --netmetrics"), "{shown}");
    let storage = fixture("ddmendpoints.json");
    assert!(refused(&["demo", "--storage", &storage]).contains("--cric"));
}
