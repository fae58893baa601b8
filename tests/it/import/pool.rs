//! Sites and members of a pool: what CRIC, CMS's site support, IAM and VOMS Admin publish.

use super::{NOW, of};
use serde_json::json;
use yardmaster::core::event::{Site, SiteStatus, User};
use yardmaster::wire::import::{members, pool_sites};

/// As of October 2025: the third quarter of the year of pledges that began in April.
fn sites(texts: &[serde_json::Value]) -> yardmaster::wire::import::Imported {
    let texts: Vec<String> = texts.iter().map(serde_json::Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    pool_sites(&texts, NOW).expect("texts of sites")
}

fn cric() -> serde_json::Value {
    json!({
        "T1_DE_KIT": {"name": "T1_DE_KIT", "tier_level": 1, "rcsite_state": "ACTIVE",
            "rcsites": ["FZK-LCG2"], "computeunits": {"a": {}}},
        "T1_DE_KIT_Disk": {"name": "T1_DE_KIT_Disk", "tier_level": 1, "rcsites": ["FZK-LCG2"]},
        "T2_DE_DESY": {"name": "T2_DE_DESY", "tier_level": 2, "rcsites": ["DESY-HH"]},
        "T2_DE_RWTH": {"name": "T2_DE_RWTH", "tier_level": 2, "rcsites": ["RWTH-Aachen"]},
        "T2_GONE": {"name": "T2_GONE", "tier_level": 2, "rcsite_state": "CLOSED"},
        "T3_DE_UHH": {"name": "T3_DE_UHH", "tier_level": 3, "computeunits": {}},
    })
}

fn federations() -> serde_json::Value {
    json!({
        "DE-KIT": {"name": "DE-KIT", "rcsites": ["FZK-LCG2"],
            "pledges": {"2025": {"Q3": {"cms": {"CPU": 120_000, "Disk": 1}}}}},
        "DE-DESY-RWTH-CMS-T2": {"rcsites": ["DESY-HH", "RWTH-Aachen"],
            "pledges": {"2025": {"Q2": {"cms": {"CPU": 1}}, "Q3": {"cms": {"CPU": "90000"}}},
                "2026": {"Q3": {"cms": {"CPU": 2}}}}},
        "ATLAS-ALONE": {"name": "ATLAS-ALONE", "rcsites": ["X"],
            "pledges": {"2025": {"Q3": {"atlas": {"CPU": 5}}}}},
    })
}

type Row<'a> = (&'a str, &'a str, SiteStatus, i64, i64);

fn rows(imported: &yardmaster::wire::import::Imported) -> Vec<Row<'_>> {
    of::<Site>(imported)
        .into_iter()
        .map(|site| {
            let quota = site.slot_quota.as_ref().expect("a quota set");
            let figures = (quota.pledged_slots, quota.corepower_mhs06);
            (&*site.name, &*quota.tier, quota.status, figures.0, figures.1)
        })
        .collect()
}

#[test]
fn a_pledge_is_divided_by_the_fractions_of_capacities_else_equally() {
    let imported = sites(&[cric(), federations()]);
    let wanted = [
        ("T1_DE_KIT", "T1", SiteStatus::Online, 12_000, 0),
        ("T2_DE_DESY", "T2", SiteStatus::Online, 4_500, 0),
        ("T2_DE_RWTH", "T2", SiteStatus::Online, 4_500, 0),
        ("T2_GONE", "T2", SiteStatus::Offline, 0, 0),
    ];
    assert_eq!(rows(&imported), wanted);
    assert!(imported.complaints[0].starts_with("site T2_GONE: no pledge is known"));
    assert!(imported.notes[0].contains("divided equally among 2 sites"), "{:?}", imported.notes);
    let capacities = json!([
        {"name": "T2_DE_DESY", "wlcg_federation_name": "DE-DESY-RWTH-CMS-T2",
            "wlcg_federation_fraction": 0.6, "hs06_pledge": 1, "hs06_per_core": 12.0},
        {"name": "T2_DE_RWTH", "wlcg_federation_name": "DE-DESY-RWTH-CMS-T2",
            "wlcg_federation_fraction": 0.4, "hs06_per_core": 10.0},
        {"name": "T1_DE_KIT", "wlcg_federation_name": null, "hs06_pledge": 30_000,
            "hs06_per_core": 15},
        {"name": "T2_UNHEARD", "hs06_pledge": 5},
    ]);
    let wanted = [
        ("T1_DE_KIT", "T1", SiteStatus::Online, 2_000, 15_000),
        ("T2_DE_DESY", "T2", SiteStatus::Online, 4_500, 12_000),
        ("T2_DE_RWTH", "T2", SiteStatus::Online, 3_600, 10_000),
        ("T2_GONE", "T2", SiteStatus::Offline, 0, 0),
    ];
    let imported = sites(&[cric(), federations(), capacities.clone()]);
    assert_eq!(rows(&imported), wanted);
    assert!(imported.complaints.iter().any(|it| it.starts_with("site T2_UNHEARD: no site")));
    // Capacities alone name the sites.
    let names: Vec<String> =
        of::<Site>(&sites(&[capacities])).iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, ["T1_DE_KIT", "T2_DE_DESY", "T2_DE_RWTH", "T2_UNHEARD"]);
}

#[test]
fn statuses_and_what_is_set_by_hand_hold_over_cric() {
    let statuses = json!([
        {"name": "T1_DE_KIT", "status": "waiting_room", "mode": "oneday"},
        {"name": "T2_DE_RWTH", "status": "test"},
    ]);
    let own = json!({
        "T2_DE_DESY": {"overflow_slots": 200, "high_io_slots": 40, "central_permille": 600,
            "region": "DE", "pledged_slots": 77},
        "T2_GONE": {"status": "online", "tier": "OPP", "central_slots": 9},
        "Cloud": {"tier": "CLOUD", "central_slots": 500, "pledged_slots": 600},
        "T2_TYPO": {"overflow_slots": 1},
    });
    let imported = sites(&[cric(), statuses, own]);
    let status =
        |name: &str| rows(&imported).into_iter().find(|row| row.0 == name).map(|row| row.2);
    assert_eq!(status("T1_DE_KIT"), Some(SiteStatus::Drain));
    assert_eq!(status("T2_DE_RWTH"), Some(SiteStatus::Test));
    assert_eq!(status("T2_DE_DESY"), Some(SiteStatus::Online));
    let sites = of::<Site>(&imported);
    let quota = |at: usize| sites[at].slot_quota.clone().expect("a quota set");
    let names: Vec<&str> = sites.iter().map(|site| &*site.name).collect();
    assert_eq!(names, ["Cloud", "T1_DE_KIT", "T2_DE_DESY", "T2_DE_RWTH", "T2_GONE"]);
    assert!(imported.complaints.iter().any(|it| it.starts_with("site T2_TYPO: no site")));
    let desy = quota(2);
    assert_eq!((desy.overflow_slots, desy.high_io_slots, desy.central_permille), (200, 40, 600));
    assert_eq!((desy.region.as_deref(), desy.pledged_slots, desy.revision), (Some("DE"), 77, 0));
    let gone = quota(4);
    assert_eq!(
        (&*gone.tier, gone.central_slots, gone.status),
        ("OPP", Some(9), SiteStatus::Online)
    );
    for text in ["", "7", "[{}]", "{"] {
        assert!(pool_sites(&[text], NOW).is_err(), "{text}");
    }
}

#[test]
fn a_site_of_which_a_text_is_wrong_is_left_out_whatever_the_others_state() {
    let wrong = json!({
        "T1_DE_KIT": {"overflow_slots": -5, "central_permille": 2_000},
        "T2_DE_DESY": {"status": "strange"},
        "T2_DE_RWTH": {"hs06_pledge": 1e9, "hs06_per_core": 1e-3},
    });
    let well = json!({"T1_DE_KIT": {"overflow_slots": 5}, "T2_DE_DESY": {"status": "test"}});
    let imported = sites(&[cric(), wrong, well]);
    let names: Vec<&str> = rows(&imported).iter().map(|row| row.0).collect();
    assert_eq!((names, imported.unreadable), (vec!["T2_GONE"], 3));
    assert_eq!(imported.left_out, ["T1_DE_KIT", "T2_DE_DESY", "T2_DE_RWTH"]);
    for complaint in [
        "site T1_DE_KIT: field `overflow_slots`: found -5, wants a whole number 0..=",
        "site T1_DE_KIT: field `central_permille`: found 2000, wants a whole number 0..=1000",
        "site T2_DE_DESY: field `status`: found \"strange\", wants enabled, drain",
        "site T2_DE_RWTH: a pledge of 1000000000 HS06 at 0.001 for a core is 1000000000000 slots",
    ] {
        let is_there = |it: &String| it.starts_with(complaint) && it.ends_with("; left out");
        assert!(imported.complaints.iter().any(is_there), "{:?}", imported.complaints);
    }
    // A site's part of a pledge is not larger because another is left out.
    let wrong = json!({"T2_DE_RWTH": {"region": 7}});
    let imported = sites(&[cric(), federations(), wrong]);
    let desy = rows(&imported).into_iter().find(|row| row.0 == "T2_DE_DESY");
    assert_eq!(desy.map(|row| row.3), Some(4_500));
}

fn users(texts: &[serde_json::Value]) -> Vec<(String, Vec<String>, Vec<String>)> {
    let texts: Vec<String> = texts.iter().map(serde_json::Value::to_string).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let imported = members(&texts, NOW).expect("texts of members");
    let row = |user: &User| (user.name.clone(), user.groups.clone(), user.roles.clone());
    of::<User>(&imported).into_iter().map(row).collect()
}

fn row(name: &str, groups: &[&str], roles: &[&str]) -> (String, Vec<String>, Vec<String>) {
    let all = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    (name.to_owned(), all(groups), all(roles))
}

#[test]
fn pages_of_iam_are_read_together_and_its_labels_name_roles() {
    let group = |name: &str| json!({"display": name, "value": "1b2c", "$ref": "x"});
    let first = json!({"totalResults": 3, "itemsPerPage": 2, "Resources": [
        {"userName": "ann", "active": true, "groups": [group("cms"), group("cms/dcms"),
            group("cms/production")]},
        {"userName": "bob", "active": false, "groups": [group("cms")]},
    ]});
    let second = json!({"Resources": [{"userName": "eve", "active": true}]});
    let roles = json!({"Resources": [{"displayName": "cms/production",
        "urn:indigo-dc:scim:schemas:IndigoGroup": {"labels": [{"name": "voms.role"}]}}]});
    let eve = row("eve", &[], &[]);
    assert_eq!(
        users(&[first.clone(), second.clone(), roles]),
        [row("ann", &["/cms", "/cms/dcms"], &["production"]), eve.clone()]
    );
    assert_eq!(
        users(&[first, second]),
        [row("ann", &["/cms", "/cms/dcms", "/cms/production"], &[]), eve]
    );
}

/// IAM gives 100 users at most in an answer, whatever is asked for.
#[test]
fn a_page_that_is_lacking_is_named_and_nobody_is_gone() {
    let page = |names: &[&str]| {
        let users = names.iter().map(|name| json!({"userName": name, "active": true}));
        json!({"totalResults": 3, "Resources": users.collect::<Vec<_>>()}).to_string()
    };
    let (first, second) = (page(&["ann", "bob"]), page(&["eve"]));
    let alone = members(&[&first], NOW).expect("a page");
    assert_eq!((alone.records.len(), alone.unnamed), (2, 1));
    assert!(alone.complaints[0].contains("2 of 3 users are given"), "{:?}", alone.complaints);
    let both = members(&[&first, &second], NOW).expect("pages");
    assert_eq!((both.records.len(), both.unnamed, both.complaints.len()), (3, 0, 0));
}

#[test]
fn users_of_voms_have_the_login_of_their_certificate() {
    let subject = |text: &str| json!([{"subjectString": text}]);
    let voms = json!({"result": [
        {"name": "Ann", "surname": "Lee", "suspended": false,
            "fqans": ["/cms", "/cms/dcms/Role=NULL/Capability=NULL", "/cms/Role=production"],
            "certificates": subject("/DC=ch/DC=cern/OU=Organic Units/OU=Users/CN=alee/CN=1/CN=A")},
        {"name": "No", "surname": "Login", "fqans": ["/cms"], "certificates": subject("/CN=x")},
    ]});
    let text = voms.to_string();
    let imported = members(&[&text], NOW).expect("users of VOMS");
    assert_eq!((imported.unreadable, imported.unnamed), (1, 1), "nobody is known to be gone");
    assert!(imported.complaints[0].contains("wants a certificate whose subject has a login"));
    assert_eq!(users(&[voms]), [row("alee", &["/cms", "/cms/dcms"], &["production"])]);
    let by_hand = json!([{"name": "ann", "groups": ["/cms/b2g"], "roles": ["production"]}]);
    assert_eq!(users(&[by_hand]), [row("ann", &["/cms/b2g"], &["production"])]);
    let sites = json!([{"name": "T2_DE_DESY", "hs06_pledge": 5}]).to_string();
    let other = members(&[&sites], NOW).expect("a list");
    assert_eq!((other.records.len(), other.unnamed), (0, 1), "a file of another kind");
    let of_two = json!([{"name": "ann", "groups": ["/cms", "atlas/de/prod"]}]).to_string();
    let imported = members(&[&of_two], NOW).expect("a list");
    assert_eq!(of::<User>(&imported)[0].vos, ["atlas", "cms"]);
    for text in ["", "7", "{}", "{\"Resources\": 1}"] {
        assert!(members(&[text], NOW).is_err(), "{text}");
    }
}
