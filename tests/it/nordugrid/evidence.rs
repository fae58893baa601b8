//! Statements of decisions on targets that were not chosen, and on missing facts.

use super::small::*;
use sha2::{Digest, Sha256};
use yardmaster::core::cut::Topic;
use yardmaster::core::event::{
    BatchFacts, ClusterFacts, DataKind, Location, Queue, Replica, Site, UserShare,
};
use yardmaster::core::explain::{Context, explain};
use yardmaster::core::oddity::Oddity;
use yardmaster::core::output::decision::{Decision, Outcome, Ranked};
use yardmaster::core::policy::kind;
use yardmaster::core::state::audit::audit;
use yardmaster::drive::report::Report;

fn all_ranked(decision: &Decision) -> &[Ranked] {
    match &decision.outcome {
        Outcome::Assign(ranked) => ranked,
        other => panic!("{other:?}"),
    }
}

fn text(decision: &Decision) -> String {
    let kinds = [kind("nordugrid").unwrap()];
    explain(decision, &Context::of_kinds(&kinds))
}

fn has_note(decision: &Decision, note: &str) {
    assert!(decision.notes.iter().any(|it| it == note), "{note}: {:?}", decision.notes);
}

/// A note, and its sentence in the text.
fn has_sentence(decision: &Decision, note: &str, sentence: &str) {
    has_note(decision, note);
    let text = text(decision);
    assert!(text.contains(&format!("note: {sentence}\n")), "{sentence:?} is not in:\n{text}");
}

fn has_no_note(decision: &Decision, name: &str) {
    assert!(!decision.notes.iter().any(|it| it.starts_with(name)), "{:?}", decision.notes);
}

/// C.4, TS-06.
#[test]
fn the_best_ten_targets_are_listed_with_their_ranks_and_one_is_chosen() {
    let mut grid = Small::new();
    for at in 0..13 {
        let near: &[&str] = if at == 5 { &["se1"] } else { &[] };
        grid.add(&format!("ce-{at:02}/q"), near, Some(9000), ("10", 9000), "active");
    }
    grid.add("ce-99/q", &[], Some(9000), ("3", 9000), "active");
    grid.add("ce-closed/q", &[], Some(9000), ("10", 9000), "inactive");
    grid.file("rls://f1", 2000, "se1", &["ce-07"]);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let job = "&(executable=a)(count=4)(inputfiles=(\"f1\" \"rls://f1\"))";
    grid.ask("one", job, &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    let ranked = all_ranked(&decision);
    let names: Vec<&str> = ranked.iter().map(|it| &*it.queue).collect();
    let expected = [7, 5, 0, 1, 2, 3, 4, 6, 8, 9].map(|at| format!("ce-{at:02}/q"));
    assert_eq!(names, expected);
    assert_eq!(decision.factor_names[..3], ["not_free", "remote_bytes", "local_bytes"]);
    let size = (2000 * MB) as f64;
    assert_eq!(ranked[0].factors[..3], [0.0, 0.0, 0.0]);
    assert_eq!(ranked[1].factors[..3], [0.0, 0.0, size]);
    assert_eq!(ranked[2].factors[..3], [0.0, size, 0.0]);
    assert!(ranked.iter().all(|it| it.weight == 10.0 && it.cores == 4), "{ranked:?}");
    assert!(ranked.windows(2).all(|two| two[0].factors <= two[1].factors), "{ranked:?}");
    let jobs: Vec<u32> = ranked.iter().map(|it| it.jobs).collect();
    assert_eq!(jobs, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    has_sentence(
        &decision,
        "passed(14 targets, 10 listed)",
        "14 targets passed, 10 listed with their ranks (passed)",
    );
    let refused: Vec<&str> = decision.fates.iter().map(|it| &*it.queue).collect();
    assert_eq!(refused, ["ce-closed/q"]);
    let shown = text(&decision);
    for part in [
        "1. ce-07/q",
        "10. ce-09/q",
        "remote_bytes 2.1 GB",
        "chosen by local_bytes: bytes from close by",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }

    // Only the chosen one is held.
    assert_eq!(audit(drive.state()), vec![]);
    grid.ask("two", "&(executable=a)", &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("two");
    let weights = decision.placed.unwrap().draw.unwrap().weights;
    let held: Vec<(String, u64)> =
        weights.into_iter().filter(|it| it.weight != 10).map(|it| (it.name, it.weight)).collect();
    assert_eq!(held, [("ce-07/q".to_owned(), 6), ("ce-99/q".to_owned(), 3)]);
}

/// B.9, N-15, N-19.
#[test]
fn what_is_not_known_is_noted() {
    let mut grid = Small::new();
    grid.two_clusters();
    grid.yard.configure(&UserShare {
        disk_free_bytes: None,
        ..share("ce-a/q", "10", 0, grid.yard.now + 1)
    });
    let far = Location { endpoint: "far".into(), files: 1, complete: true, ..Location::default() };
    grid.yard.configure(&Replica {
        name: "rls://u".into(),
        changed_at: grid.yard.now,
        kind: DataKind::File,
        files: 1,
        locations: vec![far],
        ..Replica::default()
    });
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let job = "&(executable=a)(foo=bar)(Count_t=4)(foo=more)\
        (inputfiles=(\"up\" \"\")(\"f\" \"rls://u\"))";
    grid.ask("one", job, &["ce-a"], &[("up", 1)]);
    grid.ask("two", "&(executable=a)(inputfiles=(\"up\" \"\"))", &["ce-d"], &[]);
    grid.ask("three", "&(executable=a)(inputfiles=(\"up\" \"\"))", &["ce-d"], &[("up", 1)]);
    grid.ask("four", "&(executable=a)(foo=bar)(queue=none)", &["ce-d"], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    has_sentence(
        &decision,
        "unknown_attribute(foo, countt)",
        "attributes that nothing reads: foo, countt (unknown_attribute)",
    );
    has_sentence(&decision, "size_unknown(f)", "the size is not known of f (size_unknown)");
    has_sentence(
        &decision,
        "disk_unknown(ce-a/q)",
        "free disk is not known of ce-a/q (disk_unknown)",
    );
    has_note(&grid.last("two"), "size_unknown(up)");
    for name in ["unknown_attribute", "size_unknown", "disk_unknown"] {
        has_no_note(&grid.last("three"), name);
    }
    assert_eq!(rejected(&grid.last("four")), "no_target_left");
    has_note(&grid.last("four"), "unknown_attribute(foo)");
}

/// N-26: why an earlier alternative was not taken.
#[test]
fn every_alternative_that_was_tried_leaves_its_reasons() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("one", "&(executable=a)(|(count=99999)(queue=nope))", &[], &[]);
    let taken = "&(executable=a)(|(count=99999)(&(queue=nope)(cluster=ce-a))(queue=q))";
    grid.ask("two", taken, &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    has_note(&decision, "alternative(0, match_count 2: ce-a/q measured 100, limit 99999)");
    let filters: Vec<&str> = decision.fates.iter().map(|it| it.filter.as_ref()).collect();
    assert_eq!(filters, ["match_queue", "match_queue"]);
    let decision = grid.last("two");
    assert_eq!(decision.placed.as_ref().unwrap().alternative, 2);
    has_note(&decision, "alternative(0, match_count 2: ce-a/q measured 100, limit 99999)");
    let second = decision.notes.iter().find(|it| it.starts_with("alternative(1, ")).unwrap();
    assert!(second.contains("match_cluster 1: ce-d/q"), "{second}");
    assert!(second.contains("match_queue 1: ce-a/q"), "{second}");
}

#[test]
fn notes_count_what_they_have_no_room_for() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let queues: String = (0..13).map(|at| format!("(queue=n{at})")).collect();
    let names: Vec<String> = (0..30).map(|at| format!("ce-{at:02}")).collect();
    let clusters: Vec<&str> = names.iter().map(String::as_str).collect();
    grid.ask("one", &format!("&(executable=a)(|{queues})"), &clusters, &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    assert_eq!(rejected(&decision), "no_target_left");
    has_note(&decision, &format!("no_information({} and 10 more)", names[..20].join(", ")));
    has_sentence(
        &decision,
        "alternative(9, no target)",
        "alternative 9 found no target (alternative)",
    );
    has_no_note(&decision, "alternative(10");
    has_sentence(
        &decision,
        "alternatives_cut(2)",
        "2 more alternatives found none (alternatives_cut)",
    );
}

/// N-02, N-05: names ignore case, and a second name is one.
#[test]
fn clusters_are_named_in_any_case_and_by_their_second_names() {
    let mut grid = Small::new();
    grid.two_clusters();
    let facts = ClusterFacts {
        alias: "The Grid of A".into(),
        ..cluster("ce-a", &[], Some(9000), 0).cluster.unwrap()
    };
    let now = grid.yard.now + 1;
    let renamed = Site { cluster: Some(facts), ..cluster("ce-a", &[], None, now) };
    grid.yard.configure(&renamed);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let cases: [(&str, &[&str], &str); 6] = [
        ("one", &["CE-A"], "ce-a/q"),
        ("two", &["the grid of a"], "ce-a/q"),
        ("three", &["-CE-A"], "ce-d/q"),
        ("four", &["-THE GRID OF A"], "ce-d/q"),
        ("five", &["-cE-D", "-ce-x", "-se1"], "ce-a/q"),
        ("six", &["ce-A", "CE-D", "-Ce-D"], "ce-a/q"),
    ];
    for (job, clusters, _) in cases {
        grid.ask(job, "&(executable=a)", clusters, &[]);
    }
    grid.ask("seven", "&(executable=a)", &["Ce-a", "-the Grid of A"], &[]);
    grid.lead(&mut drive);
    for (job, clusters, expected) in cases {
        let decision = grid.last(job);
        assert_eq!(target(&decision), expected, "{clusters:?}");
        if job != "five" {
            has_no_note(&decision, "rejected_unknown");
        }
    }
    has_sentence(
        &grid.last("five"),
        "rejected_unknown(ce-x, se1)",
        "not to be used, and not known: ce-x, se1 (rejected_unknown)",
    );
    assert_eq!(rejected(&grid.last("seven")), "no_target_left");
}

/// N-03, N-04.
#[test]
fn an_index_server_without_registrations_is_named() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask_at("indx", "one", "&(executable=a)", &[], &[]);
    grid.ask_at("index", "two", "&(executable=a)", &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    assert_eq!(rejected(&decision), "no_target_left");
    has_sentence(
        &decision,
        "no_registrations(indx)",
        "index servers without a cluster: indx (no_registrations)",
    );
    has_no_note(&grid.last("two"), "no_registrations");
}

/// B.10: of a draw among very many the sum, the number and the digest of the list.
#[test]
fn a_draw_among_very_many_targets_can_be_made_again() {
    let mut grid = Small::new();
    let now = grid.yard.now;
    let facts = || ClusterFacts { answered: true, ..ClusterFacts::default() };
    grid.yard.configure(&registration("ce-a", now));
    let ce = Site { name: "ce-a".into(), changed_at: now, ..Site::default() };
    grid.yard.configure(&Site { cluster: Some(facts()), ..ce });
    let names: Vec<String> = (0..1001).map(|at| format!("ce-a/q{at:04}")).collect();
    for name in &names {
        let (status, total_slots) = ("active".into(), Some(100));
        let batch = BatchFacts { status, total_slots, ..BatchFacts::default() };
        let queue = Queue { name: name.clone(), changed_at: now, ..Queue::default() };
        grid.yard.configure(&Queue { batch: Some(batch), ..queue });
        grid.yard.configure(&share(name, "10", 9000, now));
    }
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("one", "&(executable=a)", &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    let draw = decision.placed.as_ref().unwrap().draw.clone().unwrap();
    assert_eq!(draw.weights.len(), 1000);
    let seed = u128::from_str_radix(&draw.digest, 16).unwrap();
    let drawn = seed % 10_010;
    assert_eq!(u128::from(draw.x), drawn);
    assert_eq!(target(&decision), names[(drawn / 10) as usize]);
    let list: String = names.iter().map(|name| format!("{name}\u{1f}10\n")).collect();
    let digest = hex::encode(Sha256::digest(list.as_bytes()));
    let note = format!("draw(1001 targets, total 10010, drawn {drawn}, sha256 {digest})");
    has_note(&decision, &note);
}

/// B.11: a cache is the cluster's.
#[test]
fn a_file_in_the_cache_of_a_queue_is_an_oddity() {
    let mut grid = Small::new();
    grid.two_clusters();
    grid.file("rls://f1", 10, "se1", &["ce-a"]);
    grid.file("rls://f2", 10, "ce-a/q", &[]);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let odd = |report: Report| -> Vec<u64> {
        let bad = report.oddities.into_iter();
        bad.filter(|it| (it.0, it.1) == (Topic::Replica, Oddity::BadValue)).map(|it| it.2).collect()
    };
    assert_eq!(odd(drive.take_report()), Vec::<u64>::new());
    grid.file("rls://f3", 10, "se1", &["ce-a/q"]);
    grid.lead(&mut drive);
    assert_eq!(odd(drive.take_report()), [1]);
}

/// What an attribute asks for, and what each target has of it, with units.
#[test]
fn a_requirement_that_is_not_met_is_noted_beside_what_targets_have() {
    let mut grid = Small::new();
    grid.two_clusters();
    let facts = |architecture: &str, environment: &str| ClusterFacts {
        answered: true,
        total_slots: Some(100),
        node_memory_mb: Some(2_000),
        architecture: architecture.into(),
        runtime_environments: vec![environment.into(), "ENV/PROXY".into()],
        outbound: true,
        ..ClusterFacts::default()
    };
    for (name, facts) in
        [("ce-a", facts("aarch64", "ROOT-6.3")), ("ce-d", facts("", "PYTHON-3.11"))]
    {
        let changed_at = grid.yard.now + 1;
        let site = Site { name: name.into(), changed_at, cluster: Some(facts), ..Site::default() };
        grid.yard.configure(&site);
    }
    let batch = BatchFacts {
        max_cpu_time_s: Some(3_600),
        max_total_cpu_time_s: Some(7_200),
        ..queue("ce-a/q", "active", 0).batch.unwrap()
    };
    let changed_at = grid.yard.now + 1;
    grid.yard.configure(&Queue { batch: Some(batch), ..queue("ce-a/q", "active", changed_at) });
    let mut drive = grid.start();
    grid.lead(&mut drive);
    for (job, attribute, code, figures) in [
        (
            "1",
            "(architecture=x86_64)",
            "match_architecture",
            "=x86_64: ce-a/q has aarch64, ce-d/q has nothing",
        ),
        (
            "2",
            "(runtimeenvironment>=ROOT-6.20)",
            "match_runtimeenvironment",
            ">=ROOT-6.20: ce-a/q has ROOT-6.3, ce-d/q has none of that name",
        ),
        ("3", "(memory=4000)", "match_memory", "4000 MB: ce-a/q has 2000 MB, ce-d/q has 2000 MB"),
        (
            "4",
            "(nodeaccess=inbound)",
            "match_nodeaccess",
            "inbound: ce-a/q has outbound, ce-d/q has outbound",
        ),
        ("5", "(count=200)", "match_count", "200 CPUs: ce-a/q has 100 CPUs, ce-d/q has 100 CPUs"),
        (
            "6",
            "(cputime=120)(queue=q)(cluster=ce-a)",
            "match_cputime",
            "7200 s: ce-a/q has at most 3600 s a CPU, at most 7200 s in all",
        ),
        (
            "7",
            "(queue=long)",
            "match_queue",
            "=long: ce-a/q has another name, ce-d/q has another name",
        ),
    ] {
        grid.ask(job, &format!("&(executable=a){attribute}"), &[], &[]);
        grid.lead(&mut drive);
        let decision = grid.last(job);
        assert_eq!(rejected(&decision), "no_target_left");
        let note = format!("{code}(wanted {figures})");
        has_sentence(&decision, &note, &format!("wanted is {figures} ({code})"));
        let text = text(&decision);
        for word in ["nucleus", "share", "task", "candidate"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
    }
}

/// Which file, from where, and why not.
#[test]
fn a_file_that_cannot_come_is_named_with_its_url_and_its_class() {
    let mut grid = Small::new();
    grid.two_clusters();
    grid.file("rls://h/there", 10, "se1", &[]);
    let mut drive = grid.start();
    grid.lead(&mut drive);
    let job = "&(executable=a)(inputfiles=(x \"rls://h/lost\")(y \"rls://h/there\" \"local=yes\")\
        (z \"http://h/far\"))";
    grid.ask("one", job, &["ce-a"], &[]);
    grid.lead(&mut drive);
    has_note(
        &grid.last("one"),
        "no_location(wanted every input file: ce-a/q has no way to x from rls://h/lost \
         (NOLOCATION: no replica is known) and no way to y from rls://h/there (NOLOCATION: \
         local=yes, and no copy is near))",
    );
}

/// What ARC shrugs at is read as it reads it, and noted.
#[test]
fn what_is_read_otherwise_than_it_may_be_meant_is_noted() {
    let mut grid = Small::new();
    grid.two_clusters();
    let mut drive = grid.start();
    grid.lead(&mut drive);
    grid.ask("one", "&(executable=a)(count>=2)(disk=1)(disk=2)(cputime=\"1 month\")", &[], &[]);
    grid.ask("two", "&(jobname=a)", &[], &[]);
    grid.lead(&mut drive);
    let decision = grid.last("one");
    for note in ["read_as_equal(count)", "last_holds(disk)", "month_is_minute(cputime)"] {
        has_note(&decision, note);
    }
    assert_eq!(decision.placed.unwrap().time_s, Some(60));
    assert!(rejected(&grid.last("two")).contains("executable_missing"));
}
