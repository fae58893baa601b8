//! The alerts, as far as their file's layout shows them: promtool checks the rest.

use std::collections::BTreeSet;

/// An alert.
pub struct Rule {
    pub name: String,
    pub expr: String,
    /// All of its text.
    pub text: String,
}

impl Rule {
    /// Every alert of a file.
    pub fn all(file: &str) -> Vec<Rule> {
        let blocks = file.split("- alert: ").skip(1).map(|block| {
            let end = block.find("\n  - name:").unwrap_or(block.len());
            &block[..end]
        });
        let rule = |text: &str| Rule {
            name: text.lines().next().unwrap_or_default().trim().to_owned(),
            expr: value(text, "expr").unwrap_or_default(),
            text: text.to_owned(),
        };
        blocks.map(rule).collect()
    }

    /// Labels that the annotations show.
    pub fn shown_labels(&self) -> BTreeSet<&str> {
        let parts = self.text.split("$labels.").skip(1);
        let name = |part: &'_ str| part.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        parts.map(|part| &part[..name(part).unwrap_or(part.len())]).collect()
    }

    /// Parts that an operator would miss.
    pub fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        for key in ["expr", "severity", "summary", "description", "runbook"] {
            if value(&self.text, key).is_none_or(|it| it.is_empty()) {
                found.push(format!("{}: no {key}", self.name));
            }
        }
        let severity = value(&self.text, "severity").unwrap_or_default();
        if !["critical", "warning"].contains(&severity.as_str()) {
            found.push(format!("{}: severity `{severity}`", self.name));
        }
        let runbook = value(&self.text, "runbook").unwrap_or_default();
        let sentences = runbook.matches(". ").count() + runbook.matches("? ").count() + 1;
        if !(2..=5).contains(&sentences) || !runbook.ends_with('.') {
            found.push(format!("{}: a runbook of {sentences} sentences", self.name));
        }
        found
    }
}

/// The value of a key: what follows it in its line, or the block that is indented below it, as one
/// line.
pub fn value(text: &str, key: &str) -> Option<String> {
    let mut lines = text.lines().skip_while(|line| {
        let line = line.trim_start();
        !line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'))
    });
    let first = lines.next()?;
    let depth = |line: &str| line.len() - line.trim_start().len();
    let (_, rest) = first.split_once(':')?;
    if !["|", ">-"].contains(&rest.trim()) {
        return Some(rest.trim().trim_matches('"').to_owned());
    }
    let block = lines.take_while(|line| depth(line) > depth(first) && !line.trim().is_empty());
    Some(block.map(str::trim).collect::<Vec<_>>().join(" "))
}

/// The alerts that a file of cases expects to fire, and those that it expects not to.
pub fn cases(file: &str) -> BTreeSet<(String, bool)> {
    let parts = file.split("- expr: ALERTS{alertname=\"").skip(1);
    let case = |part: &str| {
        let (name, rest) = part.split_once('"')?;
        let (_, samples) = rest.split_once("exp_samples:")?;
        Some((name.to_owned(), !samples.trim_start().starts_with("[]")))
    };
    parts.filter_map(case).collect()
}
