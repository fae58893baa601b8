//! Versions of software, and conditions on it.

use crate::domain::nordugrid::xrsl::{Relation, Software, SoftwareCondition, compare_versions};
use std::cmp::Ordering::{Equal, Greater, Less};

#[test]
fn a_version_begins_at_the_first_dash_before_a_digit() {
    for (text, name, version) in [
        ("a-b-1.2-c", "a-b", "1.2-c"),
        ("a-b", "a-b", ""),
        ("a-1-2", "a", "1-2"),
        ("APPS/HEP/ROOT-6.20", "APPS/HEP/ROOT", "6.20"),
        ("é-", "é-", ""),
        ("", "", ""),
        ("-1", "", "1"),
    ] {
        let software = Software::parse(text);
        assert_eq!((software.name.as_str(), software.version.as_str()), (name, version));
    }
}

#[test]
fn versions_compare_token_by_token() {
    for (left, right, expected) in [
        ("6.20", "6.3", Some(Greater)),
        ("6.02", "6.2", Some(Equal)),
        ("6.20", "6.20.0", Some(Equal)),
        ("6.20", "6.20.1", Some(Less)),
        ("6.20", "", Some(Greater)),
        ("", "0.0", Some(Equal)),
        ("1.beta", "1.beta", Some(Equal)),
        ("1.beta", "1.alpha", None),
        ("6.x", "6.20", None),
        ("6", "6-rc", Some(Less)),
        ("7.x", "6.y", Some(Greater)),
        ("123456789012345678901234567890", "123456789012345678901234567891", Some(Less)),
    ] {
        assert_eq!(compare_versions(left, right), expected, "{left} {right}");
        let reversed = expected.map(std::cmp::Ordering::reverse);
        assert_eq!(compare_versions(right, left), reversed, "{right} {left}");
    }
}

#[test]
fn a_condition_holds_for_what_is_published() {
    let holds = |relation, asked: &str, published: &[&str]| {
        let Software { name, version } = Software::parse(asked);
        let published: Vec<Software> = published.iter().map(|it| Software::parse(it)).collect();
        SoftwareCondition { relation, name, version }.holds(&published)
    };
    assert!(holds(Relation::Equal, "B-2", &["A-1", "B-2"]));
    assert!(!holds(Relation::Equal, "B", &["B-2"]));
    assert!(holds(Relation::GreaterOrEqual, "arc-6.14", &["globus-5", "arc-6.15"]));
    assert!(!holds(Relation::Greater, "R-6.20", &["PYTHON-7", "R-6.20.0"]));
    assert!(holds(Relation::LessOrEqual, "R-6.20", &["R"]));
    assert!(holds(Relation::NotEqual, "R-6.20", &["PYTHON-6.20"]), "another name is not it");
    assert!(!holds(Relation::NotEqual, "R-6.20", &["R-6.20.0", "S-1"]), "one of them is it");
    for relation in [Relation::Equal, Relation::NotEqual, Relation::Less] {
        assert!(!holds(relation, "R-6.20", &[]), "nothing is published");
    }
}
