//! `import arc` on servers of loopback: what is published, what is ended and what stays.

use super::document;
use super::servers::{Dns, Ldap, Rest};
use crate::import::standing::{Standing, printed, verb};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;
use yardmaster::core::cut::Topic;
use yardmaster::drive::port::Log;
use yardmaster::shell::dirlog::{DirLog, DirOptions, DirTopic, Mode};
use yardmaster::wire::json::bytes_json;
use yardmaster::wire::topology::{NORDUGRID, Topology};

const A: &str = "ce-a.arc7.2.some";
const B: &str = "ce-b.arc7.2.queued";
const OLD: &str = "ce-old.authuser";

/// The newest record of each key on a topic; null: it is gone.
fn held(dir: &Path, topic: Topic) -> BTreeMap<String, Value> {
    let topology = Topology::parse("nordugrid.toml", NORDUGRID).unwrap();
    let topics = topology.read_topics().map(|topic| {
        let settings = topology.topic(topic);
        DirTopic { topic, name: settings.name.clone(), partitions: settings.partitions }
    });
    let topics: Vec<DirTopic> = topics.collect();
    let mut log = DirLog::open(dir, Mode::Read, &topics, DirOptions::default()).unwrap();
    let mut held = BTreeMap::new();
    for span in log.lanes().unwrap().into_iter().filter(|span| span.lane.topic == topic) {
        log.scan(span.lane, 0, span.stable_end, &mut |record| {
            let key = String::from_utf8(record.key.unwrap().to_vec()).unwrap();
            let value = record.value.map(|value| bytes_json(topic, value).unwrap());
            held.insert(key, value.unwrap_or(Value::Null));
            Ok(())
        })
        .unwrap();
    }
    held
}

/// A cluster at an address of loopback, which is its name.
struct Cluster {
    ip: &'static str,
    rest: Rest,
    ldap: Ldap,
    name: &'static str,
}

impl Cluster {
    fn start(ip: &'static str, name: &'static str) -> Cluster {
        let cluster = Cluster { ip, rest: Rest::start(ip), ldap: Ldap::start(ip, ""), name };
        cluster.ldap.show(&cluster.ldif(&[]));
        if name != OLD {
            cluster.rest.show(200, &cluster.xml(&[]));
        }
        cluster
    }

    /// A document of the cluster, with its address in place of the host's name.
    fn of(&self, text: &str, changes: &[(&str, &str)]) -> String {
        let host = format!("{}.example.org", self.name.split('.').next().unwrap());
        let port = text.split(&format!("https://{host}:")).nth(1);
        let port = port.and_then(|it| it.split('/').next()).unwrap_or("none").to_owned();
        let ldap = format!("ldap://{host}:");
        let ldap = text.split(&ldap).nth(1).and_then(|it| it.split('/').next()).unwrap_or("none");
        let text = text.replace(&format!("https://{host}:{port}/arex"), &self.rest.url());
        let own = format!("ldap://{host}:{}", self.ldap.port);
        let text = text.replace(&format!("ldap://{host}:{ldap}"), &own).replace(&host, self.ip);
        changes.iter().fold(text, |text, (from, to)| {
            assert!(text.contains(from), "{from}");
            text.replace(from, to)
        })
    }

    fn xml(&self, changes: &[(&str, &str)]) -> String {
        self.of(&document(&format!("{}.info.xml", self.name)), changes)
    }

    fn ldif(&self, changes: &[(&str, &str)]) -> String {
        self.of(&document(&format!("{}.ng.ldif", self.name)), changes)
    }
}

/// Index servers and clusters: A and B in an ARCHERY whose groups name each other, the old one and
/// one that is purged at a GIIS.
struct Grid {
    a: Cluster,
    b: Cluster,
    old: Cluster,
    giis: Ldap,
    dns: Dns,
    place: TempDir,
}

impl Grid {
    fn start() -> Grid {
        let a = Cluster::start("127.0.0.11", A);
        let b = Cluster::start("127.0.0.12", B);
        let old = Cluster::start("127.0.0.13", OLD);
        let group = |name: &str| format!("u=dns://{name}.example.org. t=archery.group");
        let dns = Dns::start(&[
            ("_archery.index.example.org", group("north")),
            ("_archery.index.example.org", group("south")),
            ("_archery.index.example.org", "o=group id=index".to_owned()),
            ("north.example.org", "u=dns://a.example.org. t=archery.service".to_owned()),
            ("north.example.org", group("south")),
            ("south.example.org", group("north")),
            ("south.example.org", "u=dns://gone.example.org. t=archery.service s=0".to_owned()),
            ("south.example.org", "u=dns://b.example.org. t=archery.service".to_owned()),
            ("a.example.org", "o=service t=org.nordugrid.arex id=a".to_owned()),
            ("a.example.org", format!("u={} t=org.nordugrid.arcrest", a.rest.url())),
            (
                "a.example.org",
                format!("u=ldap://{}:{}/o=glue t=org.nordugrid.ldapglue2", a.ip, a.ldap.port),
            ),
            ("b.example.org", format!("u={} t=org.nordugrid.arcrest", b.rest.url())),
        ]);
        let registered = |name: &str, port: u16, status: &str| {
            format!(
                "dn: nordugrid-cluster-name={name},Mds-Vo-name=NorduGrid,o=grid\nobjectClass: Mds\n\
                 Mds-Service-type: ldap\nMds-Service-hn: {name}\nMds-Service-port: {port}\n\
                 Mds-Service-Ldap-suffix: nordugrid-cluster-name={name},Mds-Vo-name=local,o=grid\n\
                 Mds-Service-Ldap-ttl: 120\nMds-Reg-status: {status}\n"
            )
        };
        let entries = [
            registered(old.ip, old.ldap.port, "VALID"),
            registered("127.0.0.99", 1, "PURGED"),
            registered("ce-odd", 1, "VALID").replace("Mds-Service-type: ldap\n", ""),
        ];
        let giis = Ldap::start("127.0.0.1", &entries.join("\n"));
        Grid { a, b, old, giis, dns, place: TempDir::new().unwrap() }
    }

    fn dir(&self) -> std::path::PathBuf {
        self.place.path().join("yard")
    }

    fn args(&self, more: &[&str]) -> Vec<String> {
        let giis = format!("ldap://127.0.0.1:{}/Mds-Vo-name=NorduGrid,o=grid", self.giis.port);
        let (dns, dir) = (self.dns.address.to_string(), self.dir());
        let args =
            ["import", "arc", "--archery", "index.example.org", "--dns", &dns, "--giis", &giis];
        let log = ["--topology", "nordugrid", "--dir", dir.to_str().unwrap()];
        args.iter().chain(&log).chain(more).map(|it| (*it).to_owned()).collect()
    }

    /// One round; exit code, stdout, stderr.
    fn round(&self, more: &[&str]) -> (Option<i32>, String, String) {
        let args = self.args(&[&["--prune", "--timeout", "5s"], more].concat());
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        printed(&verb(&args).output().unwrap())
    }

    /// Another publishes a record.
    fn publish(&self, topic: &str, record: &Value) {
        let (place, dir) = (self.place.path().join("record.json"), self.dir());
        std::fs::write(&place, record.to_string()).unwrap();
        let args = ["publish", topic, "--json", place.to_str().unwrap(), "--topology", "nordugrid"];
        let args = [&args[..], &["--dir", dir.to_str().unwrap()]].concat();
        let (code, _, errors) = printed(&verb(&args).output().unwrap());
        assert_eq!(code, Some(0), "{errors}");
    }

    fn held(&self, topic: Topic) -> BTreeMap<String, Value> {
        held(&self.dir(), topic)
    }

    fn job(&self, id: &str) -> Value {
        self.held(Topic::JobState)[&format!("{}:{id}", self.b.ip)].clone()
    }
}

const JOBS: [&str; 3] = ["6f5626525cff", "6f5683f84873", "6f5802091efb"];

/// Without the entry of a job.
fn without(ldif: &str, id: &str) -> String {
    let entries = ldif.split("\n\n").filter(|entry| !entry.contains(&format!("globalid={id}")));
    let id = format!("globalid=urn:idfe:{id}");
    entries.filter(|entry| !entry.contains(&id)).collect::<Vec<_>>().join("\n\n")
}

#[test]
fn clusters_are_found_asked_and_published() {
    let grid = Grid::start();
    let (code, out, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    let counts = |out: &str| -> Vec<String> {
        out.lines().map(|line| line.split(',').next().unwrap().to_owned()).collect()
    };
    let clusters = [grid.a.ip, grid.b.ip, grid.old.ip];
    let expected = ["registration: 12", "site: 3", "queue: 5", "user-share: 7", "job-state: 5"];
    assert_eq!(counts(&out), expected.map(|it| format!("{it} written")), "{errors}");
    let sites = grid.held(Topic::Site);
    assert_eq!(sites.keys().map(String::as_str).collect::<Vec<_>>(), clusters);
    let a = &sites[grid.a.ip]["cluster"];
    assert_eq!(a["submission_url"], grid.a.rest.url());
    // Of LDAP, which its document names.
    assert_eq!(
        a["local_storage"],
        json!(["http://se-ce-a.example.org/data".replace("ce-a.example.org", grid.a.ip)])
    );
    assert_eq!(sites[grid.old.ip]["cluster"]["inbound"], true, "found at a GIIS");
    let shares = grid.held(Topic::UserShare);
    assert!(shares.contains_key(&format!("{}/main vo:other", grid.b.ip)), "{shares:?}");
    let registrations = grid.held(Topic::Registration);
    assert_eq!(registrations["a.example.org 127.0.0.11"]["ttl_s"], 3600);
    let purged = registrations.iter().find(|(key, _)| key.ends_with(" 127.0.0.99")).unwrap().1;
    assert_eq!((&purged["status"], &purged["kind"]), (&json!("purged"), &json!("computing")));
    let odd = registrations.iter().find(|(key, _)| key.ends_with(" ce-odd")).unwrap().1;
    assert_eq!(odd["addressed"], false);
    let job = grid.job(JOBS[0]);
    for (field, value) in [
        ("status", json!("assigned")),
        ("sub_status", json!("PREPARED")),
        ("queue", json!("127.0.0.12/main")),
        ("cluster_job", json!(JOBS[0])),
        ("cores", json!(3)),
        ("cpu_time_s", json!(600)),
        ("wall_time_s", json!(3600)),
        ("activated_at", json!(0)),
        ("user", json!("")),
    ] {
        assert_eq!(job[field], value, "{field}");
    }
    // What did not change is not published again, but for registrations, which would lapse.
    let (_, out, _) = grid.round(&[]);
    let expected = ["registration: 12", "site: 0", "queue: 0", "user-share: 0", "job-state: 0"];
    assert_eq!(counts(&out), expected.map(|it| format!("{it} written")));
}

#[test]
fn a_job_that_is_in_no_answer_any_more_is_ended() {
    let grid = Grid::start();
    assert_eq!(grid.round(&[]).0, Some(0));
    let changed = |changes: &[(&str, &str)]| {
        // A provider ran again.
        let now = ("Mds-validfrom: 2026112523", "Mds-validfrom: 2026112623");
        grid.b.ldap.show(&grid.b.ldif(&[&[now], changes].concat()));
    };
    // One reaches the batch system, one failed and is listed as such for a week, one is gone.
    changed(&[("nordugrid-job-status: PREPARED", "nordugrid-job-status: INLRMS: R")]);
    let (code, _, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    let running = grid.job(JOBS[0]);
    assert_eq!(
        (&running["status"], &running["sub_status"]),
        (&json!("running"), &json!("INLRMS:R"))
    );
    let activated_at = running["activated_at"].as_i64().unwrap();
    assert!(activated_at > 0);
    let failed = ("nordugrid-job-status: SUBMITTING", "nordugrid-job-status: FAILED");
    let ended = ("nordugrid-job-status: PREPARED", "nordugrid-job-status: EXECUTED");
    changed(&[failed, ended]);
    let ldif = grid.b.ldif(&[failed, ended]);
    grid.b.ldap.show(&without(&ldif, JOBS[2]));
    let searches = grid.b.ldap.searches();
    let (code, out, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(grid.b.ldap.searches() - searches, 2, "one for those that it no longer lists");
    assert!(out.contains("job-state: 2 written, 1 removed, 2 unchanged"), "{out}");
    let states = JOBS.map(|id| grid.job(id));
    let word = |at: usize| states[at]["sub_status"].as_str().unwrap();
    let status = |at: usize| states[at]["status"].as_str().unwrap();
    assert_eq!((status(0), word(0)), ("transferring", "EXECUTED"));
    assert_eq!(states[0]["activated_at"], activated_at, "carried on");
    assert_eq!((status(1), word(1)), ("failed", "FAILED"));
    assert_eq!((status(2), word(2)), ("closed", "DELETED"));
    assert!(states[2]["ended_at"].as_i64().unwrap() > 0);
    // They are over, and nothing is published of them again.
    let (_, out, _) = grid.round(&[]);
    assert!(out.contains("job-state: 0 written, 0 removed, 3 unchanged"), "{out}");
}

#[test]
fn a_cluster_that_does_not_answer_keeps_its_facts_and_is_marked() {
    let grid = Grid::start();
    assert_eq!(grid.round(&[]).0, Some(0));
    let (queues, shares) = (grid.held(Topic::Queue), grid.held(Topic::UserShare));
    let jobs = grid.held(Topic::JobState);
    // LDAP goes on for hours when the door is shut.
    grid.b.rest.show(503, "");
    let (code, out, errors) = grid.round(&[]);
    assert_eq!(code, Some(1), "{errors}");
    let named =
        "127.0.0.12: gives no answer that can be used, and keeps its facts: http://127.0.0.12";
    assert!(errors.contains(named) && errors.contains("the server answers 503"), "{errors}");
    assert!(out.contains("site: 1 written, 0 removed, 2 unchanged"), "{out}");
    let site = grid.held(Topic::Site)[grid.b.ip].clone();
    assert_eq!(
        (&site["cluster"]["answered"], &site["cluster"]["clock_mhz"]),
        (&json!(false), &json!(3700))
    );
    assert_eq!((grid.held(Topic::Queue), grid.held(Topic::UserShare)), (queues, shares));
    assert_eq!(grid.held(Topic::JobState), jobs);
    // It is not published again, until it answers again.
    let (_, out, _) = grid.round(&[]);
    assert!(out.contains("site: 0 written"), "{out}");
    grid.b.rest.show(200, &grid.b.xml(&[]));
    assert_eq!(grid.round(&[]).0, Some(0));
    assert_eq!(grid.held(Topic::Site)[grid.b.ip]["cluster"]["answered"], true);
}

#[test]
fn jobs_stay_where_ldap_alone_does_not_answer() {
    let grid = Grid::start();
    assert_eq!(grid.round(&[]).0, Some(0));
    let jobs = grid.held(Topic::JobState);
    let answers: [(&[u8], &str); 3] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "no LDAP message"),
        (&[0x30, 0x84, 0x7f, 0xff, 0xff, 0xff], "a message of 2147483647 bytes"),
        (&[0x30, 0x0c, 2, 1, 1, 0x65, 7, 10, 1, 4, 4, 0, 4, 0], "size limit exceeded"),
    ];
    for (garbage, why) in answers {
        grid.b.ldap.break_off(garbage);
        let (code, _, errors) = grid.round(&[]);
        assert_eq!(code, Some(1), "{errors}");
        let named = "127.0.0.12: LDAP does not answer, its jobs stay: ldap://127.0.0.12:";
        assert!(errors.contains(named) && errors.contains(why), "{errors}");
        assert_eq!(grid.held(Topic::JobState), jobs);
        assert_eq!(grid.held(Topic::Site)[grid.b.ip]["cluster"]["answered"], true);
    }
}

#[test]
fn what_is_gone_is_removed_and_a_share_too() {
    let grid = Grid::start();
    assert_eq!(grid.round(&[]).0, Some(0));
    let xml = grid.b.xml(&[("<Rule>vo:other", "<Rule>vo:third")]);
    grid.b.rest.show(200, &xml);
    let entries = grid.giis.port;
    let (code, out, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("user-share: 1 written, 1 removed, 6 unchanged"), "{out}");
    let shares = grid.held(Topic::UserShare);
    assert_eq!(shares["127.0.0.12/main vo:other"], Value::Null);
    assert_eq!(shares["127.0.0.12/main vo:third"]["authorised"], true);
    // A cluster that is registered nowhere any more.
    grid.giis.show("");
    let (code, _, errors) = grid.round(&[]);
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("nothing is registered there"), "{entries} {errors}");
    assert_ne!(grid.held(Topic::Site)[grid.old.ip], Value::Null, "what is not known to be gone");
    let entry = "dn: nordugrid-cluster-name=x,Mds-Vo-name=NorduGrid,o=grid\nobjectClass: Mds\n\
                 Mds-Service-hn: x\nMds-Service-port: 1\nMds-Reg-status: PURGED\n";
    grid.giis.show(entry);
    let (code, _, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(grid.held(Topic::Site)[grid.old.ip], Value::Null);
    let job = &grid.held(Topic::JobState)["127.0.0.13:111"];
    assert_eq!(job["status"], "closed");
}

/// A decision compares whole names of endpoints; a cluster lists the beginning of an address.
/// `submit --wait` publishes a job with the id that its cluster gave it: it is one job, and counts
/// once.
#[test]
fn a_job_that_its_submitter_publishes_is_not_published_again() {
    let grid = Grid::start();
    let (queue, changed_at) = (format!("{}/main", grid.b.ip), 1_795_000_000_000_i64);
    let job = json!({"job": "ng-1", "status": "assigned", "sub_status": "ACCEPTED", "user": "ann",
        "queue": queue, "cluster_job": JOBS[0], "changed_at": changed_at});
    grid.publish("job-state", &job);
    let (code, out, errors) = grid.round(&[]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("job-state: 4 written, 0 removed"), "{out}");
    let jobs = grid.held(Topic::JobState);
    let names: Vec<&str> = jobs.keys().map(String::as_str).filter(|it| !it.contains(':')).collect();
    assert_eq!((names, jobs.len()), (vec!["ng-1"], 5));
    // One that was published by its id first ends under it, once its submitter states the id.
    let other = json!({"job": "ng-2", "status": "assigned", "sub_status": "ACCEPTED",
        "queue": queue, "cluster_job": JOBS[1], "changed_at": changed_at});
    grid.publish("job-state", &other);
    let (_, out, _) = grid.round(&[]);
    assert!(out.contains("job-state: 0 written, 1 removed, 3 unchanged"), "{out}");
    assert_eq!(grid.job(JOBS[1])["status"], "closed");
}

#[test]
fn a_replica_below_what_a_cluster_lists_is_local_to_it() {
    let grid = Grid::start();
    let endpoint = "http://se-127.0.0.11/data/deep";
    let other = "http://se-127.0.0.11/database";
    let location = |endpoint: &str| json!({"endpoint": endpoint});
    let replica = json!({"name": "http://h/f", "locations": [location(endpoint), location(other)]});
    grid.publish("replica", &replica);
    assert_eq!(grid.round(&[]).0, Some(0));
    let local = &grid.held(Topic::Site)[grid.a.ip]["cluster"]["local_storage"];
    assert_eq!(*local, json!(["http://se-127.0.0.11/data", endpoint]));
}

#[test]
fn rounds_go_on_and_a_malformed_answer_stops_none() {
    let grid = Grid::start();
    let args = grid.args(&["--every", "1s", "--timeout", "5s"]);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let standing = Standing::start(&args);
    standing.wait("site: 3 written, 0 removed, 0 unchanged");
    standing.wait("job-state: 5 written");
    standing.wait("site: 0 written, 0 removed, 3 unchanged");
    for (body, why) in [
        ("<html>", "no XML"),
        ("<a></a>", "no ComputingService in the document"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "no XML"),
    ] {
        grid.a.rest.show(200, body);
        let logged = standing.wait(why);
        assert!(
            logged.contains("127.0.0.11: gives no answer that can be used, and keeps its facts"),
            "{logged}"
        );
        standing.wait("give the address of A-REX");
    }
    grid.a.rest.show(200, &grid.a.xml(&[]));
    standing.wait("site: 1 written, 0 removed, 2 unchanged");
    let site = grid.held(Topic::Site)[grid.a.ip].clone();
    assert_eq!(site["cluster"]["answered"], true);
}

#[test]
fn saved_documents_are_joined_and_need_no_network() {
    let place = TempDir::new().unwrap();
    let path = |name: &str| {
        let path = place.path().join(name);
        std::fs::write(&path, document(name)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (xml, ldif) = (path("ce-b.arc7.2.queued.info.xml"), path("ce-b.arc7.2.queued.ng.ldif"));
    let dir = place.path().join("yard");
    let log = ["--topology", "nordugrid", "--dir", dir.to_str().unwrap()];
    let args = [&["import", "arc", "--from", &xml, &ldif][..], &log].concat();
    let (code, out, errors) = printed(&verb(&args).output().unwrap());
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("queue: 1 records published\nuser-share: 2 records published"), "{out}");
    let queue = held(&dir, Topic::Queue)["ce-b.example.org/main"].clone();
    assert_eq!(
        (&queue["batch"]["total_slots"], &queue["batch"]["max_slots_per_job"]),
        (&json!(64), &json!(16))
    );
    // Jobs that were over before they were seen hold nothing.
    let ended = path("ce-a.arc7.2.some.ng.ldif");
    let args = ["import", "arc", "--from", &ended, "--topology", "nordugrid", "--dry-run"];
    let (code, out, errors) = printed(&verb(&args).output().unwrap());
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("job-state: 0 records would be published"), "{out}");
    std::fs::write(place.path().join("bad"), "what").unwrap();
    let bad = place.path().join("bad");
    let args =
        ["import", "arc", "--from", bad.to_str().unwrap(), "--topology", "nordugrid", "--dry-run"];
    let (code, _, errors) = printed(&verb(&args).output().unwrap());
    assert_eq!(code, Some(1), "{errors}");
    assert!(errors.contains("bad: LDIF: line 1"), "{errors}");
}

#[test]
fn wrong_use_is_refused_with_the_remedy() {
    for (args, why) in [
        (&[][..], "no index server and no cluster: give --archery NAME"),
        (&["--giis", "index1"], "wants ldap://HOST:PORT/BASE"),
        (&["--ldap", "https://ce"], "--ldap https://ce: wants ldap://"),
        (&["--rest", "ce-a"], "--rest ce-a: wants https://HOST:PORT/arex"),
        (&["--rest", "https://ce", "--ca", "/nowhere"], "--ca /nowhere: "),
        (&["--archery", "x", "--dns", "127.0.0.1:dns"], "wants HOST:PORT of a name server"),
        (&["--rest", "https://ce", "--timeout", "soon"], "30s or 10m"),
    ] {
        let all = [&["import", "arc"], args, &["--topology", "nordugrid", "--dry-run"]].concat();
        let (code, _, errors) = printed(&verb(&all).output().unwrap());
        assert_eq!(code, Some(2), "{errors}");
        assert!(errors.contains(why), "{args:?}: {errors}");
    }
    // The topology of ATLAS has no clusters.
    let args = ["import", "arc", "--rest", "http://127.0.0.1:1/arex", "--dir", "yard"];
    let (code, _, errors) = printed(&verb(&args).output().unwrap());
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("[topics.registration]"), "{errors}");
}

#[cfg(feature = "tls")]
#[test]
fn a_clusters_certificate_is_checked_by_the_authorities_of_the_grid() {
    let xml = document("ce-b.arc7.2.queued.info.xml");
    let xml = xml.replace("org.nordugrid.ldapng", "none");
    let path = "arex/rest/1.0/info?schema=glue2";
    let Some(server) = crate::registry::client::Secure::of(path, &xml) else { return };
    let url = format!("{}/arex", server.url);
    let ask = |authority: &str| {
        let authority = server.dir.path().join(authority);
        let args = ["import", "arc", "--rest", &url, "--ca", authority.to_str().unwrap()];
        let args = [&args[..], &["--topology", "nordugrid", "--dry-run"]].concat();
        printed(&verb(&args).output().unwrap())
    };
    let (code, out, errors) = ask("other-ca.pem");
    assert_eq!(code, Some(1), "{out}{errors}");
    assert!(errors.to_lowercase().contains("certificate"), "{errors}");
    let (code, out, errors) = ask("ca.pem");
    assert_eq!(code, Some(0), "{errors}");
    assert!(out.contains("user-share: 2 records would be published"), "{out}");
    let grid = server.dir.path().join("certificates");
    std::fs::create_dir(&grid).unwrap();
    for (name, text) in [("a.signing_policy", "access_id_CA"), ("1234abcd.r0", "a list")] {
        std::fs::write(grid.join(name), text).unwrap();
    }
    for (from, to) in [("other-ca.pem", "0.pem"), ("ca.pem", "1234abcd.0")] {
        std::fs::copy(server.dir.path().join(from), grid.join(to)).unwrap();
    }
    assert_eq!(ask("certificates").0, Some(0));
}

/// A round over 100 clusters with five queues each, 16 at a time; prints how long it took and how
/// much memory.
#[test]
#[expect(clippy::zombie_processes, reason = "it is waited for by a call that counts its memory")]
fn a_hundred_clusters_fit_into_a_round() {
    const CLUSTERS: usize = 100;
    let share = |queue: usize, name: &str, rule: &str| {
        format!(
            "<ComputingShare><Name>{name}</Name>{rule}<MappingQueue>q{queue}</MappingQueue>\
             <MaxWallTime>90000</MaxWallTime><ServingState>production</ServingState>\
             <FreeSlots>64</FreeSlots></ComputingShare>"
        )
    };
    let mut shares = String::new();
    for queue in 0..5 {
        shares += &share(queue, &format!("q{queue}"), "");
        for vo in ["a", "b", "c"] {
            let rule = format!("<MappingPolicy><Rule>vo:{vo}</Rule></MappingPolicy>");
            shares += &share(queue, &format!("q{queue}_{vo}"), &rule);
        }
    }
    let environments: String = (0..50)
        .map(|at| {
            format!(
                "<ApplicationEnvironment><AppName>APPS/X{at}</AppName><AppVersion>1.{at}\
                 </AppVersion></ApplicationEnvironment>"
            )
        })
        .collect();
    let servers: Vec<(Rest, Ldap)> = (0..CLUSTERS)
        .map(|at| {
            let ip = format!("127.0.1.{}", at + 1);
            let (rest, ldap) = (Rest::start(&ip), Ldap::start(&ip, ""));
            let text = document("ce-b.arc7.2.queued.info.xml");
            let head = &text[..text.find("<ComputingShare ").unwrap()];
            let tail = &text[text.find("<ComputingManager ").unwrap()..];
            let list = format!("<ApplicationEnvironments>{environments}</ApplicationEnvironments>");
            let tail = tail.replace("</ComputingManager>", &format!("{list}</ComputingManager>"));
            let text = format!("{head}{shares}{tail}");
            let text =
                text.replace("ldap://ce-b.example.org:2136", &format!("ldap://{ip}:{}", ldap.port));
            rest.show(200, &text.replace("ce-b.example.org", &ip));
            let ldif = document("ce-b.arc7.2.queued.ng.ldif").replace("ce-b.example.org", &ip);
            ldap.show(
                &ldif.replace("name: main", "name: q0").replace("execqueue: main", "execqueue: q0"),
            );
            (rest, ldap)
        })
        .collect();
    let place = TempDir::new().unwrap();
    let dir = place.path().join("yard");
    let urls: Vec<String> = servers.iter().map(|(rest, _)| rest.url()).collect();
    let mut args = vec!["import", "arc", "--prune", "--topology", "nordugrid", "--dir"];
    args.push(dir.to_str().unwrap());
    urls.iter().for_each(|url| args.extend(["--rest", url]));
    let begun = std::time::Instant::now();
    let mut child = verb(&args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut out = String::new();
    std::io::Read::read_to_string(child.stdout.as_mut().unwrap(), &mut out).unwrap();
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: a child that was not waited for, and room for what the call writes.
    assert_eq!(unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) }, pid);
    // SAFETY: the call succeeded, and all zeros are a value of it as well.
    let peak_mb = unsafe { usage.assume_init() }.ru_maxrss / 1024;
    let took = begun.elapsed();
    assert_eq!(status, 0, "{out}");
    for line in ["site: 100 written", "queue: 500 written", "user-share: 1500 written"] {
        assert!(out.contains(line), "{out}");
    }
    let jobs = format!("job-state: {} written", CLUSTERS * JOBS.len());
    assert!(out.contains(&jobs), "{out}");
    println!("{CLUSTERS} clusters: {} ms, {peak_mb} MB", took.as_millis());
    assert!(peak_mb < 100, "{peak_mb} MB");
}
