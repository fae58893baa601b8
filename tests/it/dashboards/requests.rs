//! Panels that ask the JSON API, through Grafana's Infinity data source.

use super::text;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The data source, as Grafana names its kind.
pub const INFINITY: &str = "yesoreyeram-infinity-datasource";

/// Request of a panel to the JSON API, and the columns that it reads in the answer.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub params: Vec<(String, String)>,
    /// Name of the list in the answer.
    pub root: String,
    /// Names of fields of each thing in the list, by the columns they are shown as.
    pub columns: BTreeMap<String, String>,
}

/// The texts of a key, of each thing in a list.
fn pairs(list: &Value, [first, second]: [&str; 2]) -> Vec<(String, String)> {
    let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
    list.as_array().into_iter().flatten().map(|it| (text(it, first), text(it, second))).collect()
}

impl Request {
    /// Request of a panel's target; `None` for one of another data source.
    pub fn of(target: &Value, panel: &Value) -> Option<Request> {
        let shown = |selector: &str| {
            let renamed = &panel["transformations"][0]["options"]["renameByName"][selector];
            renamed.as_str().unwrap_or(selector).to_owned()
        };
        let columns = pairs(&target["columns"], ["selector", "text"]).into_iter();
        (target["datasource"]["type"] == INFINITY).then(|| Request {
            path: target["url"].as_str().unwrap_or_default().to_owned(),
            params: pairs(&target["url_options"]["params"], ["key", "value"]),
            root: target["root_selector"].as_str().unwrap_or_default().to_owned(),
            columns: columns.map(|(selector, _)| (shown(&selector), selector)).collect(),
        })
    }

    /// Defects that a reader would meet: a path that the data source does not join to its address,
    /// nothing to read, columns without a place, a column that is sorted or coloured and that there
    /// is not. The data source sorts columns by their names, and versions of it differ in how they
    /// rename them: a transformation does both.
    pub fn complaints(&self, panel: &Value) -> Vec<String> {
        let mut found = Vec::new();
        if !self.path.starts_with("/api/v1/") || self.path.contains(['?', '$']) {
            found.push(format!("path `{}`", self.path));
        }
        if self.root.is_empty() || self.columns.is_empty() {
            found.push("nothing is read of the answer".to_owned());
        }
        let columns = pairs(&panel["targets"][0]["columns"], ["selector", "text"]);
        let places = &panel["transformations"][0]["options"]["indexByName"];
        for (place, (selector, text)) in columns.iter().enumerate() {
            if selector != text || places[selector].as_u64() != Some(place as u64) {
                found.push(format!("column `{selector}` is renamed, or has no place"));
            }
        }
        let overrides = panel["fieldConfig"]["overrides"].as_array().into_iter().flatten();
        let named = overrides.map(|it| &it["matcher"]["options"]);
        let sorted = panel["options"]["sortBy"].as_array().into_iter().flatten();
        let named = named.chain(sorted.map(|it| &it["displayName"]));
        for name in named.filter_map(Value::as_str) {
            if !self.columns.contains_key(name) {
                found.push(format!("there is no column `{name}`"));
            }
        }
        found
    }
}

/// The addresses that a panel and its fields lead to.
pub fn links(panel: &Value) -> Vec<String> {
    let overrides = panel["fieldConfig"]["overrides"].as_array().into_iter().flatten();
    let properties = overrides.flat_map(|it| it["properties"].as_array().into_iter().flatten());
    let links = properties.filter(|it| it["id"] == "links");
    let links = links.flat_map(|it| it["value"].as_array().into_iter().flatten());
    let own = [&panel["links"], &panel["fieldConfig"]["defaults"]["links"]];
    let links = links.chain(own.into_iter().flat_map(|it| it.as_array().into_iter().flatten()));
    links.filter_map(|it| it["url"].as_str().map(str::to_owned)).collect()
}

/// The environment variables in a text, as Grafana's provisioning writes them.
fn environment(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let parts = lines.flat_map(|line| line.split('$').skip(1));
    let is_part = |it: char| it.is_ascii_uppercase() || it == '_';
    parts
        .map(|part| {
            let part = part.strip_prefix('{').unwrap_or(part);
            &part[..part.find(|it| !is_part(it)).unwrap_or(part.len())]
        })
        .collect()
}

#[test]
fn the_data_sources_of_boards_are_provisioned_and_their_variables_explained() {
    let (prometheus, infinity) = (
        text("provisioning/datasources/prometheus.yaml"),
        text("provisioning/datasources/infinity.yaml"),
    );
    assert!(prometheus.contains("type: prometheus\n"), "{prometheus}");
    assert!(infinity.contains(&format!("type: {INFINITY}\n")), "{infinity}");
    let names: BTreeSet<&str> =
        [&prometheus, &infinity].into_iter().flat_map(|text| environment(text)).collect();
    let all: Vec<&str> = names.iter().copied().collect();
    assert_eq!(all, ["PROMETHEUS_URL", "YARDMASTER_TOKEN", "YARDMASTER_URL"]);
    let readme = text("README.md");
    for name in names {
        assert!(readme.contains(&format!("| `{name}` |")), "README.md does not explain {name}");
    }
}
