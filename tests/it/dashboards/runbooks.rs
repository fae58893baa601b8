//! The runbooks of `docs/runbooks.md`: one for each alert, with all that an operator asks; and the
//! figures of alerts, which have their reasons.

use super::rules::{Rule, value};
use super::{none, text};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster::core::cut::Topic;
use yardmaster::core::unit::{MINUTE, SECOND};
use yardmaster::wire::topology::{ATLAS, Topology};

const PAGE: &str = "../docs/runbooks.md";

/// How the parts of a section begin.
const PARTS: [&str; 4] = ["**Means.** ", "**Look at.** ", "**Do.** ", "**Resolves** "];

/// The sections of the page: their titles and texts.
fn sections(page: &str) -> BTreeMap<&str, &str> {
    let sections = page.split("\n## ").skip(1);
    sections
        .filter_map(|section| {
            let (title, rest) = section.split_once('\n')?;
            Some((title.trim(), rest.split("\n# ").next().unwrap_or_default()))
        })
        .collect()
}

/// Parts that an operator would miss.
fn complaints(rules: &[Rule], page: &str) -> Vec<String> {
    let sections = sections(page);
    let mut found = Vec::new();
    for rule in rules {
        let name = &rule.name;
        let url = value(&rule.text, "runbook_url").unwrap_or_default();
        if url != format!("https://yardmaster.invalid/docs/runbooks.md#{}", name.to_lowercase()) {
            found.push(format!("{name}: runbook_url `{url}`"));
        }
        if !rule.text.contains("        # why: ") {
            found.push(format!("{name}: no reason for its figures"));
        }
        let Some(section) = sections.get(name.as_str()) else {
            found.push(format!("docs/runbooks.md has no section `{name}`"));
            continue;
        };
        let places = PARTS.map(|part| section.find(&format!("\n{part}")));
        if !places.is_sorted() || places.contains(&None) {
            found.push(format!("docs/runbooks.md, {name}: not in four parts, {PARTS:?}"));
        }
    }
    let names: BTreeSet<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
    let unknown = sections.keys().filter(|title| !names.contains(*title));
    found.extend(unknown.map(|it| format!("docs/runbooks.md: there is no alert `{it}`")));
    found
}

#[test]
fn every_alert_has_its_runbook_and_every_runbook_its_alert() {
    let (rules, page) = (Rule::all(&text("alerts.yml")), text(PAGE));
    none(&complaints(&rules, &page));

    // Each rule, seen red.
    let count = |page: &str| complaints(&rules, page).len();
    assert_eq!(count(&page.replacen("## YardmasterLag\n", "## YardmasterLags\n", 1)), 2);
    assert_eq!(count(&page.replacen("**Do.** ", "**Does.** ", 1)), 1);
    let alerts = text("alerts.yml").replacen("#yardmasterlag\n", "#yardmasterlags\n", 1);
    assert_eq!(complaints(&Rule::all(&alerts), &page).len(), 1);
}

/// The verbs that runbooks name are verbs.
#[test]
fn runbooks_name_verbs_that_there_are() {
    let (page, verbs) = (text(PAGE), text("../docs/verbs.md"));
    let page = page.replace('\n', " ");
    let named = page.split("`yardmaster ").skip(1);
    let named: BTreeSet<&str> = named.filter_map(|it| it.split(['`', ' ']).next()).collect();
    assert!(named.contains("explain") && named.len() >= 5, "{named:?}");
    for verb in named {
        let is_listed = ["`", "` ", " "].iter().any(|end| verbs.contains(&format!("`{verb}{end}")));
        assert!(is_listed, "docs/verbs.md has no verb `{verb}`");
    }
}

/// The windows of the alerts on silence and age are those of the built-in topology file.
#[test]
fn figures_of_silence_and_age_are_those_of_the_topology() {
    let rules = Rule::all(&text("alerts.yml"));
    let expr = |name: &str| {
        let rule = rules.iter().find(|rule| rule.name == name).expect("a rule");
        rule.expr.replace(' ', "")
    };
    let topology = Topology::parse("atlas.toml", ATLAS).unwrap();
    let (silence, age) = (expr("YardmasterNoInput"), expr("YardmasterFactsOld"));
    let mut compared = 0;
    for topic in Topic::ALL {
        let settings = topology.topic(*topic);
        // Tasks that nobody asks for are no sign of trouble, nor are the topics without a limit.
        if let Some(limit) = settings.silence_limit_ms {
            let minutes = limit / MINUTE;
            assert!(has(&silence, topic.name(), &format!("[{minutes}m]")), "{topic:?}: {silence}");
            compared += 1;
        }
        if let Some(limit) = settings.stale_after_ms {
            let seconds = limit / SECOND;
            assert!(has(&age, topic.name(), &format!(">{seconds}")), "{topic:?}: {age}");
            compared += 1;
        }
    }
    assert!(compared >= 6, "{compared}");
}

/// Whether a topic is among those of a selector, and a figure is the next one after it.
fn has(expr: &str, topic: &str, figure: &str) -> bool {
    let parts: Vec<&str> = expr.split("topic").skip(1).collect();
    parts.iter().any(|part| {
        let names = part.split('"').nth(1).unwrap_or_default();
        let rest = part.splitn(3, '"').nth(2).unwrap_or_default();
        let first = figure.chars().next().unwrap_or_default();
        let at = rest.find(first).map_or("", |at| &rest[at..]);
        names.split('|').any(|it| it == topic) && at.starts_with(figure)
    })
}
