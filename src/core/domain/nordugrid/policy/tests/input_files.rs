//! TN-21 to TN-25, TN-36 and TN-37: classes of input files, sums, caches.

use super::world::{World, at, mb, record};
use crate::domain::nordugrid::policy::job_state::{ClusterJobState, JobRecord};
use crate::policy::Arg;
use crate::unit::{DAY, MIB};

/// ce-a lists `se1` as local; `near` is there, `far` is at another element.
fn world() -> World {
    let mut world = World::new();
    world.open("ce-a/q", "10");
    world.cluster("ce-a", |it| it.local_storage = vec!["se1".to_owned()]);
    for (source, replicas) in [("u:near", &["se1"][..]), ("u:far", &["se9"]), ("u:nowhere", &[])] {
        world.file(source, mb(10), replicas);
    }
    world
}

fn job(inputs: &str) -> String {
    format!("&(executable=run)(inputfiles={inputs})")
}

/// The class of one input file.
fn class(world: &World, input: &str) -> &'static str {
    world.classes("ce-a/q", &job(input))[0]
}

#[test]
fn tn_21_the_class_of_each_kind_of_file() {
    let mut world = world();
    world.file("u:cached", mb(10), &["se9"]);
    world.cache("ce-a", "u:cached", true, None);
    let inputs = r#"("a" "")("b" "u:cached")("c" "u:near")("d" "u:near" "cache=no")("e" "u:far")
        ("f" "u:far" "cache=no")("g" "u:far" "local=yes")("h" "u:nowhere")"#;
    let expected = [
        "REMOTENOCACHE",
        "CACHED",
        "LOCAL",
        "LOCALNOCACHE",
        "REMOTE",
        "REMOTENOCACHE",
        "NOLOCATION",
        "NOLOCATION",
    ];
    assert_eq!(world.classes("ce-a/q", &job(inputs)), expected);
    assert_eq!(world.decide("gsid-0001", &job(inputs)).refused["ce-a/q"], "no_location");
}

/// A server that has a file need not be in anybody's index: the file is far away, its size not
/// known until somebody publishes it. A name in a catalogue that nobody has leads nowhere.
#[test]
fn a_plain_url_lies_at_its_server_and_a_name_that_nobody_has_nowhere() {
    let world = world();
    for scheme in ["http", "https", "ftp", "gsiftp", "srm", "root", "rucio"] {
        let input = |options: &str| format!(r#"("f" "{scheme}://h.example.org/p"{options})"#);
        assert_eq!(class(&world, &input("")), "REMOTE", "{scheme}");
        assert_eq!(class(&world, &input(r#" "cache=no""#)), "REMOTENOCACHE");
        assert_eq!(class(&world, &input(r#" "local=yes""#)), "NOLOCATION");
    }
    assert_eq!(class(&world, r#"("f" "http://h.example.org;cache=no/p")"#), "REMOTENOCACHE");
    assert_eq!(class(&world, r#"("f" "http://h.example.org;local=yes/p")"#), "NOLOCATION");
    for source in ["rls://rls.example.org/f", "lfc://lfc.example.org/grid/f", "u:f"] {
        assert_eq!(class(&world, &format!(r#"("f" "{source}")"#)), "NOLOCATION", "{source}");
    }
    for source in ["", "sub/f", "/etc/f", "file:///etc/f"] {
        assert_eq!(class(&world, &format!(r#"("f" "{source}")"#)), "REMOTENOCACHE", "{source}");
    }
}

/// A record about the file is found whatever options its URL has.
#[test]
fn options_are_no_part_of_the_name_of_a_file() {
    let mut world = world();
    world.file("http://h.example.org/p", mb(10), &["se1"]);
    assert_eq!(class(&world, r#"("f" "http://h.example.org;cache=no/p")"#), "LOCALNOCACHE");
    assert_eq!(class(&world, r#"("f" "http://h.example.org;threads=3/p")"#), "LOCAL");
}

#[test]
fn the_program_and_its_input_are_uploads_that_take_disk() {
    let mut world = world();
    world.uploads =
        [("run.sh", 7), ("in", 5), ("d", 3)].map(|(name, mb)| (name.to_owned(), mb * MIB)).into();
    let disk = |text: &str| world.decide("gsid-0001", text).changes.map(|it| it.disk_bytes / MIB);
    assert_eq!(disk("&(executable=run.sh)(stdin=in)(disk=100)"), Some(112));
    assert_eq!(disk("&(executable=run.sh)(inputfiles=(run.sh \"\")(d dir/d))"), Some(10));
    assert_eq!(disk("&(executable=/bin/run.sh)(stdin=other)"), Some(0));
}

#[test]
fn tn_22_a_file_that_must_not_use_the_cache_is_not_taken_from_it() {
    let mut world = world();
    world.cache("ce-a", "u:far", true, None);
    assert_eq!(class(&world, r#"("f" "u:far" "cache=no")"#), "REMOTENOCACHE");
    assert_eq!(class(&world, r#"("f" "u:far" "cache=renew")"#), "REMOTE");
    assert_eq!(class(&world, r#"("f" "u:far" "cache=copy")"#), "CACHED");
}

#[test]
fn tn_23_a_cached_copy_is_local_enough() {
    let mut world = world();
    world.cache("ce-a", "u:far", true, None);
    assert_eq!(class(&world, r#"("f" "u:far" "local=yes")"#), "CACHED");
}

#[test]
fn a_cluster_without_a_cache_has_nothing_cached() {
    let mut world = world();
    world.cache("ce-a", "u:far", true, None);
    world.cluster("ce-a", |it| it.cache_free_bytes = None);
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE");
    world.file("u:far", mb(10), &["ce-a"]);
    assert_eq!(class(&world, r#"("f" "u:far")"#), "LOCAL", "the cluster has it itself");
}

#[test]
fn tn_24_the_cache_may_be_filled_to_the_last_byte() {
    let mut world = world();
    let reason = |world: &World| {
        let answer = world.decide("gsid-0001", &job(r#"("f" "u:far")"#));
        answer.refused.get("ce-a/q").copied().unwrap_or_default()
    };
    world.cluster("ce-a", |it| it.cache_free_bytes = mb(10));
    assert_eq!(reason(&world), "");
    world.file("u:far", Some(10 * MIB + 1), &["se9"]);
    assert_eq!(reason(&world), "cache_space");
}

#[test]
fn tn_25_without_a_cache_all_goes_to_the_disk() {
    let mut world = world();
    world.cluster("ce-a", |it| it.cache_free_bytes = None);
    world.file("u:far", mb(100), &["se9"]);
    let with = |world: &mut World, disk| {
        world.user("ce-a/q", "10", |it| it.disk_free_bytes = disk);
        let xrsl = format!("{}(disk=50)", job(r#"("f" "u:far")"#));
        world.decide("gsid-0001", &xrsl).refused.get("ce-a/q").copied().unwrap_or_default()
    };
    assert_eq!((with(&mut world, mb(150)), with(&mut world, mb(149))), ("", "disk_space"));
    assert_eq!(with(&mut world, None), "", "what is not known holds nothing back");
}

#[test]
fn a_file_named_twice_counts_once_for_the_cache_and_twice_for_the_session() {
    let sums = |inputs: &str| {
        world().look("ce-a/q", &job(inputs), |_, staging, _| {
            [staging.cache_sum, staging.session_sum, staging.remote_bytes, staging.local_bytes]
                .map(|bytes| bytes / MIB)
        })
    };
    assert_eq!(sums(r#"("a" "u:far")("b" "u:far")"#), [10, 0, 10, 0]);
    assert_eq!(sums(r#"("a" "u:near")("b" "u:near" "cache=renew")"#), [10, 0, 0, 10]);
    assert_eq!(sums(r#"("a" "u:far" "cache=no")("b" "u:far" "cache=no")"#), [0, 20, 20, 0]);
    assert_eq!(sums(r#"("a" "u:far")("b" "u:far" "cache=no")("c" "u:far")"#), [10, 10, 20, 0]);
}

#[test]
fn a_size_that_is_not_known_is_nothing_or_a_reason() {
    let build = |parameters: &[(&str, Arg)]| {
        let mut world = World::with_parameters(parameters);
        world.open("ce-a/q", "10");
        world.file("u:far", None, &["se9"]);
        world.decide("gsid-0001", &job(r#"("f" "u:far")"#))
    };
    assert_eq!(build(&[]).verdict, "ce-a/q");
    let reject = ("size_unknown", Arg::Text("reject".to_owned()));
    assert_eq!(build(&[reject]).refused["ce-a/q"], "size_unknown");
}

/// The work grows with the files, not with their square: with that this test takes minutes.
#[test]
fn thousands_of_files_of_one_source_count_once_for_the_cache() {
    let mut world = world();
    world.file("u:one", Some(3), &["se9"]);
    let mut files = String::new();
    for at in 0..9_000 {
        files += &format!("(a{at} u:one \"cache=no\")");
    }
    for at in 0..9_000 {
        files += &format!("(b{at} u:one)");
    }
    let xrsl = job(&files);
    let sums = world.look("ce-a/q", &xrsl, |_, staging, _| {
        (staging.cache_sum, staging.session_sum, staging.remote_bytes)
    });
    assert_eq!(sums, (3, 3 * 9_000, 3 * 9_001));
}

#[test]
fn tn_36_the_next_job_finds_the_file_of_the_first_in_the_cache() {
    let mut world = world();
    let answer = world.submit("gsid-0001", &job(r#"("f" "u:far")"#));
    assert_eq!(answer.changes.expect("changes").tags.len(), 1);
    assert_eq!(class(&world, r#"("f" "u:far")"#), "CACHED");
}

#[test]
fn tn_37_a_job_that_ends_before_staging_takes_its_tag_with_it() {
    let ended = |is_staged| JobRecord { is_staged, ..record(ClusterJobState::Ended) };
    for (is_staged, expected) in [(false, "REMOTE"), (true, "CACHED")] {
        let mut world = world();
        world.submit("gsid-0001", &job(r#"("f" "u:far")"#));
        world.record("gsid-0001", "ce-a/q", ended(is_staged));
        assert_eq!(class(&world, r#"("f" "u:far")"#), expected);
    }
    // The other order: the job is known to be over before the decision is folded.
    let mut world = world();
    world.record("gsid-0001", "ce-a/q", ended(false));
    world.submit("gsid-0001", &job(r#"("f" "u:far")"#));
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE");
}

#[test]
fn a_refused_submission_takes_its_tag_with_it() {
    let mut world = world();
    world.submit("gsid-0001", &job(r#"("f" "u:far")"#));
    world.submit("gsid-0002", &job(r#"("f" "u:far" "cache=renew")"#));
    world.refuse("gsid-0001", 0);
    assert_eq!(class(&world, r#"("f" "u:far")"#), "CACHED", "the other job brings it, too");
    world.refuse("gsid-0002", 0);
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE");
}

#[test]
fn a_tag_ends_after_a_day_or_with_a_report_that_is_no_older() {
    let mut world = world();
    world.submit("gsid-0001", &job(r#"("f" "u:far")"#));
    world.cache("ce-a", "u:far", false, Some(at(-1)));
    assert_eq!(class(&world, r#"("f" "u:far")"#), "CACHED");
    world.now = at(0) + DAY - 1;
    assert_eq!(class(&world, r#"("f" "u:far")"#), "CACHED");
    world.now = at(0) + DAY;
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE");
    world.now = at(0);
    world.cache("ce-a", "u:far", false, Some(at(0)));
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE");
    world.cache("ce-a", "u:far", true, Some(at(-5)));
    assert_eq!(class(&world, r#"("f" "u:far")"#), "REMOTE", "an older report changes nothing");
}
