//! Traps that the first readers of these documents fell into, one test each.

use super::document;
use super::documents::{NOW, by_ldap, by_rest, records};
use yardmaster::core::event::{Configuration, Site};
use yardmaster::wire::import::arc::{
    ArcCluster, arc_records, glue2, joined, ldif, nordugrid, unanswered,
};

const A: &str = "ce-a.arc7.2.some";
const C: &str = "ce-c.arc6.17.idle";

/// A document with other words in it.
fn rest(name: &str, changes: &[(&str, &str)]) -> ArcCluster {
    let text = changes.iter().fold(document(&format!("{name}.info.xml")), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    glue2(&text).unwrap().cluster
}

fn ldap(name: &str, changes: &[(&str, &str)]) -> ArcCluster {
    let text = changes.iter().fold(document(&format!("{name}.ng.ldif")), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    nordugrid(&ldif(&text).unwrap()).unwrap()
}

#[test]
fn fork_states_one_waiting_job_and_takes_more() {
    let most = |cluster: &ArcCluster| cluster.queues["short"].max_queuable_jobs;
    assert_eq!((most(&by_rest(A)), most(&by_ldap(A))), (None, None));
    assert_eq!(most(&rest(A, &[("<ProductName>fork", "<ProductName>slurm")])), Some(1));
    assert_eq!(most(&ldap(A, &[("lrms-type: fork", "lrms-type: slurm")])), Some(1));
}

#[test]
fn an_architecture_has_the_name_that_users_ask_for() {
    let of = |platform: &str| {
        rest(A, &[("<Platform>amd64", &format!("<Platform>{platform}"))]).facts.architecture
    };
    assert_eq!(
        [of("amd64"), of("arm64"), of("ppc64le"), of("UNDEFINEDVALUE")],
        ["x86_64", "aarch64", "ppc64le", ""]
    );
}

#[test]
fn times_are_minutes_in_ldap_and_seconds_in_rest() {
    for cluster in [by_rest(A), by_ldap(A)] {
        let queue = &cluster.queues["long"];
        assert_eq!((queue.max_cpu_time_s, queue.max_wall_time_s), (Some(86_400), Some(90_000)));
    }
    let free = |cluster: &ArcCluster| {
        cluster.shares[&("long".to_owned(), "vo:example".to_owned())].free_slots.clone()
    };
    let text = "<FreeSlotsWithDuration>2</";
    let with = rest(A, &[(text, "<FreeSlotsWithDuration>2:3600 1:7200</")]);
    assert_eq!((free(&with), free(&by_ldap(A))), ("2:60 1:120".to_owned(), "2".to_owned()));
}

#[test]
fn nodes_are_reached_as_rest_states_since_ldap_never_does() {
    let reached = |cluster: &ArcCluster| (cluster.facts.inbound, cluster.facts.outbound);
    assert_eq!((reached(&by_rest(A)), reached(&by_ldap(A))), ((false, true), (false, false)));
    assert_eq!(reached(&joined(by_rest(A), by_ldap(A))), (false, true));
    assert_eq!(
        reached(&rest(A, &[("<ConnectivityIn>false", "<ConnectivityIn>true")])),
        (true, true)
    );
    assert_eq!(reached(&by_ldap("ce-old.authuser")), (true, true));
}

#[test]
fn a_memory_of_nines_is_not_known() {
    assert_eq!(by_rest(A).facts.node_memory_mb, None);
    assert_eq!(joined(by_rest(A), by_ldap(A)).facts.node_memory_mb, Some(4_000));
    let with = rest(A, &[("<MainMemorySize>999999999", "<MainMemorySize>64000")]);
    assert_eq!(with.facts.node_memory_mb, Some(64_000));
    // That of a share is the queue's limit, and no node's memory.
    assert_eq!(with.queues["long"].max_memory_mb, Some(16_000));
    let without = rest(A, &[("<MaxVirtualMemory>4000", "<MaxVirtualMemory>999999999")]);
    assert_eq!(without.queues["short"].max_memory_mb, None);
}

#[test]
fn sizes_of_rest_are_rounded_up_to_gb_and_those_of_ldap_are_not() {
    let rest = by_rest(A);
    assert_eq!(rest.facts.cache_free_bytes, Some(5 << 30));
    let both = joined(rest, by_ldap(A));
    assert_eq!(both.facts.cache_free_bytes, Some(5_000 << 20));
    let disk = both.shares.values().map(|share| share.disk_free_bytes);
    assert!(disk.into_iter().all(|bytes| bytes == Some(2_999 << 20)));
    assert_eq!(by_rest("ce-b.arc7.2.queued").facts.cache_free_bytes, None, "it has no cache");
}

/// `allownew=no`: REST goes on to say production.
#[test]
fn a_queue_that_takes_no_jobs_is_closed_by_ldap_alone() {
    let closed = "ce-a.arc7.2.closed";
    assert_eq!(by_rest(closed).queues["short"].status, "active");
    let both = joined(by_rest(closed), by_ldap(closed));
    assert_eq!(both.queues["short"].status, "inactive, a-rex does not accept new jobs");
}

#[test]
fn a_gridftp_that_is_down_closes_no_queue_that_rest_serves() {
    let down = ("queue-status: active", "queue-status: inactive, gridftpd is down");
    let ldap = ldap(C, &[down]);
    assert_eq!(ldap.queues["grid"].status, "inactive, gridftpd is down");
    assert_eq!(joined(by_rest(C), ldap).queues["grid"].status, "active");
}

#[test]
fn a_door_that_is_shut_closes_every_queue() {
    let shut = [("<HealthState>ok", "<HealthState>critical")];
    let status = |cluster: ArcCluster| cluster.queues["short"].status.clone();
    assert_eq!(status(rest(A, &shut)), "inactive, production, critical");
    let drained = rest(A, &[("<ServingState>production", "<ServingState>draining")]);
    assert_eq!(status(drained), "inactive, draining, ok");
    let warned = rest(A, &[("<HealthState>ok", "<HealthState>warning")]);
    assert_eq!(status(warned), "active");
}

#[test]
fn a_queue_has_one_record_and_a_share_for_each_virtual_organisation() {
    let cluster = by_rest("ce-b.arc7.2.queued");
    let names: Vec<&str> = cluster.queues.keys().map(String::as_str).collect();
    assert_eq!(names, ["main"]);
    let users: Vec<&str> = cluster.shares.keys().map(|(_, user)| user.as_str()).collect();
    assert_eq!(users, ["vo:example", "vo:other"]);
    // Where no share names an organisation, the queue is for all.
    let open = rest(A, &[("<Rule>vo:example", "<Rule>group:x")]);
    let users: Vec<&str> = open.shares.keys().map(|(_, user)| user.as_str()).collect();
    assert_eq!(users, ["*", "*"]);
    // The queue's figures are those of the share of its name, in whatever order they stand.
    let text = document(&format!("{A}.info.xml"));
    let text =
        text.replace("<Name>short<", "<Name>own<").replace("<Name>short_example<", "<Name>short<");
    let (head, other) = text.split_once("<Name>own<").unwrap();
    let other = other.replacen("<MaxWallTime>3600", "<MaxWallTime>60", 1);
    let swapped = glue2(&format!("{head}<Name>own<{other}")).unwrap().cluster;
    assert_eq!(swapped.queues["short"].max_wall_time_s, Some(3600));
}

#[test]
fn a_cluster_that_lists_its_users_is_for_them_alone() {
    let cluster = by_ldap("ce-old.authuser");
    let of = |queue: &str| -> Vec<&str> {
        let shares = cluster.shares.iter().filter(|((name, _), _)| name == queue);
        shares.map(|((_, user), _)| user.rsplit('/').next().unwrap()).collect()
    };
    assert_eq!(of("long"), ["CN=Ann Example", "CN=Bob Example"]);
    assert_eq!(of("closed"), ["*"]);
    let ann = cluster.shares.iter().find(|((_, user), _)| user.ends_with("Ann Example")).unwrap();
    assert_eq!(ann.1.free_slots, "10:60 6:600", "minutes, as they are");
    assert_eq!(ann.1.disk_free_bytes, Some(3_000 << 20));
}

#[test]
fn software_without_a_version_is_its_name() {
    let fresh = "ce-a.arc7.0.fresh";
    for cluster in [by_rest(fresh), by_ldap(fresh), joined(by_rest(fresh), by_ldap(fresh))] {
        assert_eq!(cluster.facts.middleware, ["nordugrid-arc"]);
    }
    assert_eq!(by_rest(A).facts.operating_systems, ["debian"]);
    assert_eq!(by_rest(A).facts.runtime_environments.last().unwrap(), "ENV/PROXY");
}

#[test]
fn jobs_before_the_batch_system_are_all_users_and_none_by_rest() {
    let queued = "ce-b.arc7.2.queued";
    let (rest, ldap) = (by_rest(queued), by_ldap(queued));
    assert!(rest.jobs.is_empty() && rest.notes[0].contains("12 jobs before the batch system"));
    let both = joined(rest, ldap);
    assert!(both.jobs.len() >= 3 && both.notes.is_empty(), "{:?}", both.notes);
    let waiting = &both.queues["main"];
    // Those before the batch system are not added to those that wait in it.
    assert_eq!((waiting.grid_queued_jobs, waiting.local_queued_jobs), (0, 0));
}

#[test]
fn facts_are_as_of_when_the_provider_ran_and_never_of_the_future() {
    let at = |now: i64| arc_records(&by_rest(A), now)[0].changed_at();
    assert_eq!((at(NOW), at(5)), (1_795_649_386_000, 5));
    let key = ("site".to_owned(), "ce-a.example.org".to_owned());
    assert_eq!(records(&by_rest(A))[&key]["active"], true);
}

#[test]
fn a_cluster_that_does_not_answer_keeps_its_facts() {
    let records = arc_records(&by_rest(A), NOW);
    let Configuration::Site(site) = &records[0] else { panic!("{records:?}") };
    let silent = unanswered(&site.name, Some(site), NOW);
    let facts = silent.cluster.clone().unwrap();
    assert_eq!((silent.changed_at, facts.answered, facts.total_slots), (NOW, false, Some(2)));
    // It is not published again while that lasts.
    assert_eq!(unanswered(&site.name, Some(&silent), NOW + 5), silent);
    let unknown = unanswered("ce", None, 7);
    assert_eq!((unknown.name.as_str(), unknown.changed_at, unknown.active), ("ce", 7, true));
    assert_eq!(unknown.cluster.map(|it| it.answered), Some(false));
    assert_eq!(Site::default().cluster, None);
}

#[test]
fn a_text_of_another_kind_names_the_remedy() {
    for text in ["<html><body>", "no XML", "<a/>", "<!DOCTYPE a><a/>"] {
        let why = glue2(text).unwrap_err();
        assert!(why.contains("https://HOST:PORT/arex"), "{text}: {why}");
    }
    let deep = format!("{}{}", "<a>".repeat(65), "</a>".repeat(65));
    assert!(glue2(&deep).unwrap_err().contains("deeper"));
    let wide = format!("<a>{}</a>", "<b/>".repeat(300_001));
    assert!(glue2(&wide).unwrap_err().contains("more"));
    let why = nordugrid(&ldif("dn: a=1\nb: c\n").unwrap()).unwrap_err();
    assert!(why.contains("ldap://HOST:2135"), "{why}");
    let id = [("urn:ogf:ComputingService:ce-a.example.org:arex", "x")];
    let text = document(&format!("{A}.info.xml")).replace(id[0].0, id[0].1);
    assert!(glue2(&text).unwrap_err().contains("urn:ogf:ComputingService:HOST:NAME"));
}
