//! What a source states and cannot be read: of a pool's sites and members no figure becomes
//! another, and a source that is nothing of its kind at all is a failure, not wrong use.

use super::standing::{Web, held, printed, verb};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;
use yardmaster::core::cut::Topic;

/// Texts of a kind that are given together, with the log that they are published to.
struct Texts {
    place: TempDir,
    kind: &'static str,
    topic: Topic,
    texts: Vec<Value>,
}

impl Texts {
    /// They are well, and published.
    fn new(kind: &'static str, topic: Topic, texts: Vec<Value>) -> Texts {
        let all = Texts { place: TempDir::new().unwrap(), kind, topic, texts };
        let (code, out, errors) = all.import(&all.texts);
        assert_eq!(
            (code, errors.contains("; left out")),
            (Some(0), false),
            "{kind}: {out}{errors}"
        );
        all
    }

    fn dir(&self) -> PathBuf {
        self.place.path().join("yard")
    }

    fn import(&self, texts: &[Value]) -> (Option<i32>, String, String) {
        let file = |(at, text): (usize, &Value)| {
            let path = self.place.path().join(format!("{at}.json"));
            std::fs::write(&path, text.to_string()).unwrap();
            path.to_str().unwrap().to_owned()
        };
        let files: Vec<String> = texts.iter().enumerate().map(file).collect();
        let (dir, flags) = (self.dir(), ["--topology", "cms", "--prune", "--verbose", "--dir"]);
        let mut args = vec!["import", self.kind];
        args.extend(files.iter().map(String::as_str).chain(flags).chain(dir.to_str()));
        printed(&verb(&args).output().unwrap())
    }

    /// With another value at a place of a text: what was published stays as it was, and it fails.
    fn change(&self, text: usize, place: &str, value: &Value) {
        let before = held(&self.dir(), self.topic);
        let mut texts = self.texts.clone();
        let (above, field) = place.rsplit_once('/').unwrap();
        let within = texts[text].pointer_mut(above).unwrap_or_else(|| panic!("no {above}"));
        match within {
            Value::Array(list) => list[field.parse::<usize>().unwrap()] = value.clone(),
            within => within[field] = value.clone(),
        }
        let (code, out, errors) = self.import(&texts);
        let shown = format!("{place} {value}: {out}{errors}");
        assert_eq!(code, Some(1), "{shown}");
        assert!(out.contains(": 0 written, 0 removed"), "{shown}");
        assert!(out.contains(", 1 kept as they were"), "{shown}");
        assert!(errors.contains("; left out"), "{shown}");
        assert_eq!(held(&self.dir(), self.topic), before, "{shown}");
    }
}

/// A pledge of every quarter: which of them is asked for depends on the day.
fn federation(rcsite: &str, figure: &Value) -> Value {
    let quarters = || ["Q1", "Q2", "Q3", "Q4"].map(|it| (it, json!({"cms": {"CPU": figure}})));
    let year = || quarters().map(|(name, it)| (name.to_owned(), it)).into_iter().collect::<Value>();
    let years: Value = (2020..2100).map(|at| (at.to_string(), year())).collect();
    json!({"rcsites": [rcsite], "pledges": years})
}

fn sites() -> Texts {
    let listed = |rcsite: &str| json!({"tier_level": 2, "state": "ACTIVE", "rcsites": [rcsite]});
    let own = json!({"status": "enabled", "tier": "T2", "region": "XX", "overflow_slots": 1,
        "high_io_slots": 2, "central_permille": 3, "central_slots": 4, "hs06_pledge": 50,
        "hs06_per_core": 10, "wlcg_federation_name": "FED-A", "wlcg_federation_fraction": 0.5});
    Texts::new(
        "pool-sites",
        Topic::Site,
        vec![
            json!({"T2_XX_A": listed("A"), "T2_XX_B": listed("B"), "T2_XX_C": listed("C")}),
            json!({"FED-A": federation("A", &json!(1_000)), "FED-B": federation("B", &json!(1))}),
            json!({"T2_XX_A": own, "T2_XX_C": {"pledged_slots": 10, "tier": "T2"}}),
        ],
    )
}

#[test]
fn no_figure_of_a_site_that_cannot_be_read_becomes_another() {
    let sites = sites();
    sites.change(2, "/T2_XX_C/pledged_slots", &json!("x"));
    sites.change(2, "/T2_XX_C/pledged_slots", &json!(-1));
    for figure in [
        "overflow_slots",
        "high_io_slots",
        "central_permille",
        "central_slots",
        "hs06_pledge",
        "hs06_per_core",
        "wlcg_federation_fraction",
    ] {
        for wrong in [json!("x"), json!(-1), json!([1])] {
            sites.change(2, &format!("/T2_XX_A/{figure}"), &wrong);
        }
    }
    sites.change(2, "/T2_XX_A/central_permille", &json!(1_001));
    sites.change(2, "/T2_XX_A/wlcg_federation_fraction", &json!(50));
    for word in ["status", "tier", "region", "wlcg_federation_name"] {
        sites.change(2, &format!("/T2_XX_A/{word}"), &json!(7));
    }
    sites.change(2, "/T2_XX_A/status", &json!("offlin"));
    sites.change(2, "/T2_XX_A", &json!(7));
}

#[test]
fn no_list_of_sites_that_cannot_be_read_makes_another_site() {
    let sites = sites();
    for (field, wrong) in [
        ("tier_level", json!("x")),
        ("tier_level", json!(9)),
        ("state", json!(7)),
        ("rcsites", json!(7)),
        ("rcsites", json!([7])),
    ] {
        sites.change(0, &format!("/T2_XX_B/{field}"), &wrong);
    }
    // What is set by hand makes no site of one whose place in the list cannot be read.
    sites.change(0, "/T2_XX_A", &json!(7));
    sites.change(0, "/T2_XX_A/tier_level", &json!("x"));
}

#[test]
fn a_pledge_of_a_federation_that_cannot_be_read_is_no_pledge_of_none() {
    let sites = sites();
    for wrong in [json!("x"), json!(-1)] {
        sites.change(1, "/FED-A", &federation("A", &wrong));
        sites.change(1, "/FED-B", &federation("B", &wrong));
    }
    for wrong in [json!(7), json!({"rcsites": ["B"], "pledges": "none"})] {
        sites.change(1, "/FED-B", &wrong);
    }
    sites.change(1, "/FED-B/rcsites", &json!(7));
    sites.change(1, "/FED-A/pledges", &json!(7));
}

#[test]
fn no_member_loses_groups_or_roles_that_cannot_be_read() {
    let group = |name: &str| json!({"display": name});
    let members = Texts::new(
        "members",
        Topic::User,
        vec![
            json!({"totalResults": 2, "Resources": [
                {"userName": "ann", "active": true, "groups": [group("cms"), group("cms/t1")]},
                {"userName": "bob", "active": true, "groups": [group("cms")]}]}),
            json!([{"name": "eve", "groups": ["/cms"], "roles": ["production"],
                "suspended": false}]),
        ],
    );
    members.change(0, "/Resources/0/groups", &json!("cms"));
    members.change(0, "/Resources/0/groups/1", &json!(7));
    members.change(0, "/Resources/0/active", &json!("false"));
    members.change(1, "/0/suspended", &json!("yes"));
    members.change(1, "/0/roles", &json!("production"));
    members.change(1, "/0/roles/0", &json!(7));
    members.change(1, "/0/name", &json!(7));
    members.change(0, "/Resources/0", &json!(7));
}

/// Whether a group is a role is of all of its users, and how many there are of all of them.
#[test]
fn groups_and_pages_that_cannot_be_read_fail_the_import_of_members() {
    let group = json!({"displayName": "cms/production",
        "urn:indigo-dc:scim:schemas:IndigoGroup": {"labels": [{"name": "voms.role"}]}});
    let user = json!({"userName": "ann", "groups": [{"display": "cms/production"}]});
    let texts = vec![json!({"totalResults": 1, "Resources": [user]}), json!([group])];
    let members = Texts::new("members", Topic::User, texts);
    let mut labels = members.texts.clone();
    labels[1][0]["urn:indigo-dc:scim:schemas:IndigoGroup"]["labels"] = json!("voms.role");
    let mut total = members.texts.clone();
    total[0]["totalResults"] = json!("many");
    for (texts, what) in [(labels, "`labels`"), (total, "`totalResults`")] {
        let (code, out, errors) = members.import(&texts);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{errors}");
        assert!(errors.contains(what), "{errors}");
    }
}

#[test]
fn a_slot_figure_or_a_limit_that_says_nothing_is_no_figure() {
    let log = TempDir::new().unwrap();
    let import = |kind: &str, row: &Value| {
        let (file, dir) = (log.path().join("source.json"), log.path().join(kind));
        std::fs::write(&file, json!([row]).to_string()).unwrap();
        let args = ["import", kind, file.to_str().unwrap(), "--dir", dir.to_str().unwrap()];
        printed(&verb(&args).output().unwrap())
    };
    let slots = |figure: Value| json!({"pandaqueuename": "Q", "numslots": figure});
    let quota = |limit: Value| json!({"account": "a", "rse_expression": "S", "bytes_limit": limit});
    for (kind, row, is_well) in [
        ("slots", slots(json!("5")), true),
        ("slots", slots(json!("")), false),
        ("slots", slots(json!("None")), false),
        ("quotas", quota(json!("Infinity")), true),
        ("quotas", quota(json!("inf")), true),
        ("quotas", quota(json!("info")), false),
    ] {
        let (code, out, errors) = import(kind, &row);
        assert_eq!(code == Some(0), is_well, "{kind} {row}: {out}{errors}");
        assert_eq!(errors.contains("; left out"), !is_well, "{kind} {row}: {errors}");
    }
}

const KINDS: [&str; 13] = [
    "cric",
    "netmetrics",
    "storage",
    "nuclei",
    "shares",
    "gdpconfig",
    "quotas",
    "releases",
    "replicas",
    "slots",
    "pool-sites",
    "members",
    "domain-records",
];

/// A server's page of an error, half of a file, a file that is not there yet: cron asks again.
#[test]
fn a_source_that_cannot_be_read_is_a_failure_and_wrong_flags_are_wrong_use() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("source.json");
    let file = file.to_str().unwrap();
    let web = Web::start("<html>busy</html>");
    let url = web.url();
    let import = |kind: &str, source: &str, more: &[&str]| {
        let args = ["import", kind, source, "--dry-run"];
        printed(&verb(&[&args[..], more].concat()).output().unwrap())
    };
    for kind in KINDS {
        let import = |source: &str, more: &[&str]| import(kind, source, more);
        for text in ["<html><body>503</body></html>", "[{\"name\": \"A", "\u{1}"] {
            std::fs::write(file, text).unwrap();
            let (code, out, errors) = import(file, &[]);
            assert_eq!((code, out.as_str()), (Some(1), ""), "{kind} {text}: {errors}");
            assert!(errors.contains(file), "{kind} {text}: {errors}");
        }
        let (code, _, errors) = import(&url, &[]);
        assert!(
            code == Some(1) && errors.contains(url.split('?').next().unwrap()),
            "{kind}: {errors}"
        );
        let (code, _, errors) = import("/nowhere.json", &[]);
        assert!(code == Some(1) && errors.contains("name a readable file"), "{kind}: {errors}");
        let (code, _, errors) = import(file, &["--sites", "/nowhere.json"]);
        assert!(code == Some(1) && errors.contains("/nowhere.json"), "{kind}: {errors}");
        let (code, _, errors) = import(file, &["--header", "nonsense"]);
        assert_eq!(code, Some(2), "{kind}: {errors}");
        let (code, _, errors) = import(file, &["--topology", "/nowhere.toml"]);
        assert_eq!(code, Some(2), "{kind}: {errors}");
        // A line each, or nothing: no line is no thing.
        std::fs::write(file, "").unwrap();
        let is_of_lines = matches!(kind, "replicas" | "domain-records");
        let (code, _, errors) = import(file, &[]);
        assert_eq!(code, Some(if is_of_lines { 0 } else { 1 }), "{kind}: {errors}");
    }
    let (code, _, errors) = import("jobs", "/nowhere.json", &[]);
    assert!(code == Some(1) && errors.contains("/nowhere.json"), "{errors}");
    std::fs::write(file, "<html></html>").unwrap();
    let (code, _, errors) = import("jobs", file, &[]);
    assert_eq!(code, Some(1), "{errors}");
}
