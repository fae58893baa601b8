//! Dashboards as Grafana reads them, as far as the tests ask.

use super::requests::{INFINITY, Request, links};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Version of Grafana's schema of a dashboard that the files are written in.
const SCHEMA: u64 = 42;

/// Kinds of panels of Grafana itself that show numbers.
const KINDS: [&str; 6] = ["timeseries", "stat", "bargauge", "table", "heatmap", "gauge"];

/// Units of Grafana that the boards use; `count:` and what is counted is one, too.
const UNITS: [&str; 8] =
    ["short", "none", "s", "bytes", "percentunit", "recps", "bool_yes_no", "dateTimeAsIso"];

/// How a description states that a panel may be empty.
pub const MAY_BE_EMPTY: &str = "Empty while ";

/// A dashboard.
pub struct Board {
    /// Its file's, without the ending.
    pub name: String,
    pub text: String,
    pub json: Value,
    pub uid: String,
    pub title: String,
    pub links: Vec<String>,
    pub panels: Vec<Panel>,
    pub variables: Vec<Variable>,
    annotations: Vec<Query>,
}

/// A variable that a reader chooses.
pub struct Variable {
    pub name: String,
    /// Series, and the label whose values it offers.
    pub values_of: Option<(String, String)>,
}

/// A panel.
#[derive(Clone)]
pub struct Panel {
    pub id: u64,
    pub kind: String,
    pub title: String,
    pub description: String,
    pub unit: Option<String>,
    pub queries: Vec<Query>,
    pub requests: Vec<Request>,
    /// Column, row, width and height.
    pub place: (u64, u64, u64, u64),
    /// The row that it is folded in, by its id.
    folded_in: Option<u64>,
    json: Value,
}

/// A query, and what is shown with it.
#[derive(Clone)]
pub struct Query {
    pub expr: String,
    legend: String,
}

impl Query {
    /// Labels whose values are shown.
    pub fn legend_labels(&self) -> Vec<&str> {
        let parts = self.legend.split("{{").skip(1);
        parts.filter_map(|part| Some(part.split_once("}}")?.0.trim())).collect()
    }
}

fn string(json: &Value, key: &str) -> String {
    json[key].as_str().unwrap_or_default().to_owned()
}

fn list<'a>(json: &'a Value, what: &str) -> &'a [Value] {
    json.as_array().unwrap_or_else(|| panic!("{what} is no list")).as_slice()
}

impl Board {
    /// Reads one.
    pub fn read(path: &Path) -> Board {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(path).expect("a text");
        let json: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        let links = list(&json["links"], "links").iter().map(|link| string(link, "url"));
        let annotations = list(&json["annotations"]["list"], "annotations").iter();
        let annotations = annotations.filter(|it| it["builtIn"] != 1).map(|it| Query {
            expr: string(&it["target"], "expr"),
            legend: string(it, "titleFormat") + &string(it, "textFormat"),
        });
        Board {
            uid: string(&json, "uid"),
            title: string(&json, "title"),
            links: links.collect(),
            panels: list(&json["panels"], "panels").iter().flat_map(Panel::with_folded).collect(),
            variables: list(&json["templating"]["list"], "variables")
                .iter()
                .map(Variable::new)
                .collect(),
            annotations: annotations.collect(),
            name,
            text,
            json,
        }
    }

    /// Every query: of its panels, and of its annotations.
    pub fn queries(&self) -> Vec<Query> {
        let panels = self.panels.iter().flat_map(|panel| &panel.queries);
        panels.chain(&self.annotations).cloned().collect()
    }

    /// Texts in which variables stand, beside those of queries: of requests, and of links.
    pub fn other_texts(&self) -> Vec<String> {
        let requests = self.panels.iter().flat_map(|panel| &panel.requests);
        let params = requests.flat_map(|it| it.params.iter().map(|(_, value)| value.clone()));
        let sources = self.panels.iter().map(|it| string(&it.json["datasource"], "uid"));
        let links = self.panels.iter().flat_map(|panel| links(&panel.json));
        params.chain(sources).chain(links).collect()
    }

    /// The query of an annotation of a name; empty if there is none.
    pub fn annotation(&self, name: &str) -> &str {
        let all = list(&self.json["annotations"]["list"], "annotations");
        let found = all.iter().find(|it| it["name"] == name);
        found.and_then(|it| it["target"]["expr"].as_str()).unwrap_or_default()
    }

    /// Queries of its annotations.
    pub fn annotations(&self) -> &[Query] {
        &self.annotations
    }

    /// Defects that Grafana or a reader would meet.
    pub fn complaints(&self) -> Vec<String> {
        let mut found: Vec<String> = self.panels.iter().flat_map(Panel::complaints).collect();
        let ids: BTreeSet<u64> = self.panels.iter().map(|panel| panel.id).collect();
        if ids.len() != self.panels.len() || ids.contains(&0) {
            found.push("ids of panels are not unique".to_owned());
        }
        for (at, panel) in self.panels.iter().enumerate() {
            let over = self.panels[..at].iter().filter(|it| it.folded_in == panel.folded_in);
            let over = over.filter(|other| panel.overlaps(other));
            found.extend(over.map(|it| format!("`{}` lies over `{}`", panel.title, it.title)));
        }
        let is_object = |key: &str| self.json[key].is_object();
        if self.json["schemaVersion"].as_u64() != Some(SCHEMA) || !is_object("time") {
            found.push(format!("not of schema {SCHEMA}"));
        }
        if self.annotations.is_empty() || string(&self.json, "description").is_empty() {
            found.push("no annotations, or no description".to_owned());
        }
        found.into_iter().map(|why| format!("{}: {why}", self.name)).collect()
    }
}

impl Variable {
    fn new(json: &Value) -> Variable {
        let query = json["query"]["query"].as_str();
        let inner = query.and_then(|it| it.strip_prefix("label_values(")?.strip_suffix(')'));
        let values_of = inner.and_then(|inner| inner.rsplit_once(','));
        let kind = json["type"].as_str().unwrap_or_default();
        assert!(["datasource", "query", "custom", "textbox"].contains(&kind), "{json}");
        assert_eq!(values_of.is_some(), kind == "query", "{json}");
        Variable {
            name: string(json, "name"),
            values_of: values_of.map(|(of, label)| (of.to_owned(), label.trim().to_owned())),
        }
    }
}

impl Panel {
    /// A panel, and those that it folds: only a row does, and only a folded one.
    fn with_folded(json: &Value) -> Vec<Panel> {
        let panel = Panel::new(json);
        let folded = json["panels"].as_array().map_or(&[][..], Vec::as_slice);
        let folds = panel.kind == "row" && json["collapsed"] == true;
        assert_eq!(folds, !folded.is_empty(), "{}", panel.title);
        let row = Some(panel.id);
        let inner = folded.iter().map(|it| Panel { folded_in: row, ..Panel::new(it) });
        let inner: Vec<Panel> = inner.collect();
        [vec![panel], inner].concat()
    }

    fn new(json: &Value) -> Panel {
        let place = |key: &str| json["gridPos"][key].as_u64().unwrap_or(u64::MAX);
        let targets = || json["targets"].as_array().into_iter().flatten();
        let is_query = |target: &&Value| target["datasource"]["type"] == "prometheus";
        let query = |target: &Value| Query {
            expr: string(target, "expr"),
            legend: string(target, "legendFormat"),
        };
        Panel {
            id: json["id"].as_u64().unwrap_or(0),
            kind: string(json, "type"),
            title: string(json, "title"),
            description: string(json, "description"),
            unit: json["fieldConfig"]["defaults"]["unit"].as_str().map(str::to_owned),
            queries: targets().filter(is_query).map(query).collect(),
            requests: targets().filter_map(|target| Request::of(target, json)).collect(),
            place: (place("x"), place("y"), place("w"), place("h")),
            folded_in: None,
            json: json.clone(),
        }
    }

    fn overlaps(&self, other: &Panel) -> bool {
        let ((x, y, w, h), (ox, oy, ow, oh)) = (self.place, other.place);
        x < ox + ow && ox < x + w && y < oy + oh && oy < y + h
    }

    /// Defects that Grafana or a reader would meet.
    pub fn complaints(&self) -> Vec<String> {
        let mut found = Vec::new();
        let (x, y, w, h) = self.place;
        if x.checked_add(w).is_none_or(|end| end > 24) || w == 0 || h == 0 || y == u64::MAX {
            found.push("it does not fit into 24 columns".to_owned());
        }
        if self.title.is_empty() {
            found.push("no title".to_owned());
        }
        if self.kind != "row" {
            self.complain_of_numbers(&mut found);
        }
        found.into_iter().map(|why| format!("panel {} `{}`: {why}", self.id, self.title)).collect()
    }

    fn complain_of_numbers(&self, found: &mut Vec<String>) {
        if !KINDS.contains(&self.kind.as_str()) {
            found.push(format!("kind `{}`", self.kind));
        }
        let is_unit = |unit: &str| UNITS.contains(&unit) || unit.starts_with("count:");
        let unit = match self.kind.as_str() {
            "heatmap" => self.json["options"]["yAxis"]["unit"].as_str(),
            _ => self.unit.as_deref(),
        };
        if !unit.is_some_and(is_unit) {
            found.push(format!("unit {unit:?}"));
        }
        let has_full_stop = self.description.ends_with('.');
        let sentences = self.description.split(". ");
        let allowances = self.description.matches(MAY_BE_EMPTY).count();
        let own = sentences.filter(|it| it.starts_with(MAY_BE_EMPTY)).count();
        if self.description.len() < 10 || !has_full_stop || own != allowances {
            found.push(format!("description `{}`", self.description));
        }
        let asked = self.queries.len() + self.requests.len();
        if asked == 0 || self.queries.iter().any(|query| query.expr.is_empty()) {
            found.push("no query".to_owned());
        }
        found.extend(self.requests.iter().flat_map(|request| request.complaints(&self.json)));
        let sources = [&self.json["datasource"], &self.json["targets"][0]["datasource"]];
        let is_chosen = |source: &&Value| match source["type"].as_str() {
            Some(INFINITY) => source["uid"] == "${api}",
            _ => source["uid"] == "${datasource}",
        };
        if !sources.iter().all(is_chosen) {
            found.push("another data source than the one chosen".to_owned());
        }
        if !self.json["options"].is_object() || !self.json["fieldConfig"]["overrides"].is_array() {
            found.push("no options or overrides".to_owned());
        }
        let refs: BTreeSet<&str> =
            self.json["targets"].as_array().map_or_else(BTreeSet::new, |all| {
                all.iter().filter_map(|it| it["refId"].as_str()).collect()
            });
        if refs.len() < asked {
            found.push("refIds are not unique".to_owned());
        }
    }
}
