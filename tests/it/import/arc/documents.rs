//! The records that the first importer, a prototype, made of the same documents. It published a
//! share for each user; here a share is for a virtual organisation, and the user's is found as a
//! decision finds it. With `YARDMASTER_ARC_FIXTURES=FOLDER` the whole documents of a folder are read
//! instead of those that are kept here.

use super::{document, folder, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use yardmaster::core::event::{ChildKind, Configuration, RegistrationStatus};
use yardmaster::wire::import::arc::{
    ArcCluster, ArcJob, IndexServer, IndexWalk, arc_records, archery, giis, glue2, joined, ldif,
    nordugrid,
};
use yardmaster::wire::json::bytes_json;
use yardmaster::wire::record::write_configuration;

/// Later than all documents.
pub(super) const NOW: i64 = 1_800_000_000_000;
/// Virtual organisations of users.
const USERS: [(&str, &[&str]); 2] = [("CN=Ann Example", &["example"]), ("CN=Eve Outsider", &[])];

fn recorded(name: &str) -> String {
    let whole = std::env::var_os("YARDMASTER_ARC_FIXTURES").map(PathBuf::from);
    read(&whole.unwrap_or_else(folder).join(name))
}

pub(super) fn by_rest(name: &str) -> ArcCluster {
    glue2(&recorded(&format!("{name}.info.xml"))).unwrap().cluster
}

pub(super) fn by_ldap(name: &str) -> ArcCluster {
    nordugrid(&ldif(&recorded(&format!("{name}.ng.ldif"))).unwrap()).unwrap()
}

fn cluster(fixture: &str) -> ArcCluster {
    match fixture.rsplit_once(' ').unwrap() {
        (name, "rest") => by_rest(name),
        (name, "ldap") => by_ldap(name),
        (name, _) => joined(by_rest(name), by_ldap(name)),
    }
}

/// Records by topic and key.
pub(super) fn records(cluster: &ArcCluster) -> BTreeMap<(String, String), Value> {
    let record = |record: Configuration| {
        let mut bytes = Vec::new();
        write_configuration(&mut bytes, &record);
        let value = bytes_json(record.topic(), &bytes).unwrap();
        ((record.topic().name().to_owned(), record.name()), value)
    };
    arc_records(cluster, NOW).into_iter().map(record).collect()
}

/// The share that holds for a user at a queue: its own, else that of its organisations, else that
/// of all.
fn share(records: &BTreeMap<(String, String), Value>, queue: &str, user: &str) -> Value {
    let (_, vos) = USERS.iter().find(|(name, _)| user.ends_with(name)).unwrap();
    let names = std::iter::once(user.to_owned()).chain(vos.iter().map(|vo| format!("vo:{vo}")));
    let mut names = names.chain(["*".to_owned()]);
    let found = names.find_map(|name| {
        records.get(&("user-share".to_owned(), format!("{queue} {name}"))).cloned()
    });
    let mut share = found.unwrap_or_else(
        || json!({"queue": queue, "authorised": false, "free_slots": "", "disk_free_bytes": null}),
    );
    share["user"] = user.into();
    share
}

/// The places in which a value lacks what is expected; more fields do no harm.
fn lacks(expected: &Value, found: &Value, place: &str) -> Vec<String> {
    match (expected, found) {
        (Value::Object(fields), Value::Object(_)) => {
            let of = |(name, value): (&String, &Value)| {
                lacks(value, &found[name], &format!("{place}.{name}"))
            };
            fields.iter().flat_map(of).collect()
        }
        // Names are in no order.
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let all = one.iter().all(|it| other.contains(it));
            if all { Vec::new() } else { vec![format!("{place}: {expected} is {found}")] }
        }
        _ if expected == found => Vec::new(),
        _ => vec![format!("{place}: {expected} is {found}")],
    }
}

fn job(job: &ArcJob) -> Value {
    json!({"id": job.id, "queue": job.queue, "state": job.word, "count": job.slots,
        "cpu_s": job.cpu_time_s, "wall_s": job.wall_time_s, "submitted": job.submitted_at,
        "ended": job.ended_at})
}

#[test]
fn every_document_gives_the_records_of_the_prototype() {
    let expected = recorded("expected.jsonl");
    let (mut count, mut wrong) = (0, Vec::new());
    for line in expected.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let fixture = line["fixture"].as_str().unwrap();
        let cluster = cluster(fixture);
        let topic = line["topic"].as_str().unwrap();
        count += 1;
        if topic == "job-state" {
            let id = line["job"]["id"].as_str().unwrap();
            let found = cluster.jobs.iter().find(|job| job.id == id).expect(id);
            let mut wanted = line["job"].clone();
            // No field of a record has the exit code; an owner is published where it is a name.
            let wanted = wanted.as_object_mut().unwrap();
            wanted.remove("exit");
            let owner = wanted.remove("owner").unwrap();
            let word = wanted["state"].as_str().unwrap().replace(' ', "");
            wanted.insert("state".to_owned(), word.into());
            wrong.extend(lacks(&Value::Object(wanted.clone()), &job(found), fixture));
            wrong.extend(lacks(&line["status"], &json!(found.status().name()), fixture));
            let is_name = owner.as_str().unwrap().starts_with('/');
            assert_eq!(found.owner, if is_name { owner.as_str().unwrap() } else { "" });
            continue;
        }
        let (records, wanted) = (records(&cluster), &line["record"]);
        let text = |field: &str| wanted[field].as_str().unwrap();
        let found = match topic {
            "user-share" => {
                let mut found = share(&records, text("queue"), text("user"));
                if found["changed_at"].is_null() {
                    // None was published for the user: there is no time.
                    found["changed_at"] = wanted["changed_at"].clone();
                }
                found
            }
            _ => records[&(topic.to_owned(), text("name").to_owned())].clone(),
        };
        wrong.extend(lacks(wanted, &found, &format!("{fixture} {topic} {}", line["key"])));
    }
    println!("{count} records expected, {} differences", wrong.len());
    assert_eq!(wrong, [""; 0]);
    assert!(count >= 74, "{count}");
}

/// Fields that the records have since the prototype was written.
#[test]
fn where_jobs_are_handed_over_is_published() {
    let url = |fixture: &str| cluster(fixture).facts.submission_url;
    assert_eq!(url("ce-a.arc7.2.some both"), "https://ce-a.example.org:8443/arex");
    assert_eq!(url("ce-c.arc6.17.idle rest"), "https://ce-c.example.org:8445/arex");
    assert_eq!(url("ce-c.arc6.17.idle ldap"), "gsiftp://ce-c.example.org:2811/jobs");
    let ldap = glue2(&document("ce-b.arc7.2.queued.info.xml")).unwrap().ldap;
    assert_eq!(ldap.unwrap(), "ldap://ce-b.example.org:2136/Mds-Vo-Name=local,o=grid");
}

fn zone(name: &str) -> Vec<String> {
    let text = document("archery.zone");
    let records = text.lines().filter(|line| !line.starts_with(';'));
    let of = |line: &str| {
        let (owner, rest) = line.split_once(' ')?;
        let text = rest.split('"').nth(1)?.to_owned();
        (owner.trim_end_matches('.') == name).then_some(text)
    };
    records.filter_map(of).collect()
}

#[test]
fn a_walk_through_archery_ends_and_passes_over_what_is_out_of_service() {
    let mut walk = IndexWalk::from([IndexServer::archery("index.example.org")]);
    let mut asked = Vec::new();
    loop {
        let servers = walk.unread();
        if servers.is_empty() {
            break;
        }
        for server in servers {
            let IndexServer::Archery { asked: name, .. } = &server else { panic!("{server:?}") };
            asked.push(name.clone());
            walk.put(&server, &archery(&zone(name), 3600), NOW, 360);
        }
    }
    asked.sort();
    let names = ["2ed65e4627", "9c01b2aa10", "f8582b35f5", "north", "south"];
    let mut expected = names.map(|name| format!("{name}.index.example.org")).to_vec();
    expected.insert(2, "_archery.index.example.org".to_owned());
    assert_eq!(asked, expected);
    let (registrations, clusters, notes) = walk.end();
    let rest: Vec<&str> = clusters.values().filter_map(|it| it.rest.as_deref()).collect();
    assert_eq!(
        rest,
        [8443, 8444, 8445].map(|port| {
            let name = ["a", "b", "c"][port - 8443];
            format!("https://ce-{name}.example.org:{port}/arex")
        })
    );
    assert_eq!(clusters["ce-c.example.org"].ldap.as_ref().map(|it| it.port), Some(2137));
    assert_eq!(notes, [""; 0]);
    let shown: Vec<(&str, &str, ChildKind, RegistrationStatus, Option<u64>)> = registrations
        .iter()
        .map(|it| (it.registry.as_str(), it.child.as_str(), it.kind, it.status, it.ttl_s))
        .collect();
    let registered = |child: &str| shown.iter().filter(|it| it.1 == child).count();
    assert_eq!((registered("ce-a.example.org"), registered("north.index.example.org")), (1, 2));
    let gone = shown.iter().find(|it| it.1 == "77aa00bb11.index.example.org").unwrap();
    assert_eq!(gone.3, RegistrationStatus::Purged);
    assert!(shown.contains(&(
        "f8582b35f5.index.example.org",
        "ce-a.example.org",
        ChildKind::Computing,
        RegistrationStatus::Valid,
        Some(3600)
    )));
}

#[test]
fn a_walk_through_giis_ends_and_passes_over_incomplete_entries() {
    let entries = ldif(&document("giis.ldif")).unwrap();
    let root = IndexServer::giis("ldap://index1.example.org:2170/mds-vo-name=nordugrid,o=Grid");
    let mut walk = IndexWalk::from([root.unwrap()]);
    let mut asked = Vec::new();
    loop {
        let servers = walk.unread();
        if servers.is_empty() {
            break;
        }
        for server in servers {
            let IndexServer::Giis(url) = &server else { panic!("{server:?}") };
            asked.push(url.port);
            let base = url.base.to_ascii_lowercase();
            let is_below =
                |dn: &str| dn.to_ascii_lowercase().split_once(',').is_some_and(|it| it.1 == base);
            let found: Vec<_> = entries.iter().filter(|it| is_below(&it.dn)).cloned().collect();
            walk.put(&server, &giis(&found), NOW, 360);
        }
    }
    assert_eq!(asked, [2170, 2171], "index2 registers index1 back");
    let (registrations, clusters, _) = walk.end();
    let hosts: Vec<&str> = clusters.keys().map(String::as_str).collect();
    assert_eq!(hosts, ["a", "b", "c"].map(|name| format!("ce-{name}.example.org")));
    let of = |child: &str| {
        let found = registrations.iter().find(|it| it.child == child).unwrap();
        (found.kind, found.status, found.addressed, found.ttl_s)
    };
    let (computing, valid) = (ChildKind::Computing, RegistrationStatus::Valid);
    assert_eq!(of("ce-a.example.org"), (computing, valid, true, Some(360)), "three rounds");
    assert_eq!(of("ce-gone.example.org").1, RegistrationStatus::Purged);
    assert_eq!(of("ce-odd.example.org"), (computing, valid, false, None));
    assert_eq!(of("se-a.example.org").0, ChildKind::Storage);
    let index = of("ldap://index2.example.org:2171/Mds-Vo-name=Sweden,o=grid");
    assert_eq!(index.0, ChildKind::Registry);
}
