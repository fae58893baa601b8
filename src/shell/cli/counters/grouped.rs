//! Counters as tables: of each kind of thing one, its names and figures as columns.

use super::by::By;
use super::figures::{column_of, known_of, rank_of, text_of, text_of_change};
use crate::cli::Usage;
use crate::cli::table::{Column, TableArgs};
use clap::ValueEnum;
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Counters of one kind of thing.
pub struct CounterGroup {
    /// Of what they are.
    pub by: By,
    /// By their names.
    rows: Vec<Row>,
    /// The columns of figures, in order.
    figures: Vec<String>,
}

/// Counters of one thing.
#[derive(Default)]
struct Row {
    names: Vec<String>,
    /// Figures by column; those that are 0 are left out.
    figures: BTreeMap<String, Vec<(String, i64)>>,
    /// The same before, where it is compared.
    before: Option<BTreeMap<String, Vec<(String, i64)>>>,
    /// As they were read.
    lines: Vec<String>,
}

impl Row {
    /// Sort key: the sum of the figures in a column, or how much it changed.
    fn sum(&self, column: &str) -> i64 {
        let sum = |of: &BTreeMap<String, Vec<(String, i64)>>| {
            let figures = of.get(column).into_iter().flatten();
            figures.fold(0_i64, |sum, (_, value)| sum.saturating_add(*value))
        };
        let now = sum(&self.figures);
        self.before.as_ref().map_or(now, |before| now.saturating_sub(sum(before)).saturating_abs())
    }

    /// Whether it has, or had, figures in a column.
    fn has(&self, column: &str) -> bool {
        let had = self.before.as_ref().is_some_and(|before| before.contains_key(column));
        had || self.figures.contains_key(column)
    }

    /// Its figures in a column, as a cell.
    fn cell(&self, column: &str) -> String {
        let now = self.figures.get(column).map_or(&[][..], Vec::as_slice);
        match &self.before {
            None => text_of(now),
            Some(before) => text_of_change(now, before.get(column).map_or(&[], Vec::as_slice)),
        }
    }
}

/// Puts the figures of a counter to those of their columns.
fn add_figures(counter: &Value, to: &mut BTreeMap<String, Vec<(String, i64)>>) {
    for (figure, value) in counter.as_object().into_iter().flatten() {
        if let Some(value) = value.as_i64() {
            to.entry(column_of(figure)).or_default().push((figure.clone(), value));
        }
    }
}

/// Counters, those of each kind of thing together, in the order of [`By`].
pub fn grouped(counters: Vec<(Value, String)>) -> Vec<CounterGroup> {
    let mut groups: BTreeMap<By, BTreeMap<Vec<String>, Row>> = BTreeMap::new();
    for (counter, line) in counters {
        let kind = counter["counter"].as_str().unwrap_or_default();
        let by = By::value_variants().iter().find(|by| by.kinds().contains(&kind));
        let Some(by) = by else { continue };
        let name = |what: &&str| counter[*what].as_str().unwrap_or("*").to_owned();
        let names: Vec<String> = by.names().iter().map(name).collect();
        let row = groups.entry(*by).or_default().entry(names.clone()).or_default();
        row.names = names;
        row.lines.push(line);
        add_figures(&counter, &mut row.figures);
        if let Some(before) = counter.get("before") {
            add_figures(before, row.before.get_or_insert_default());
        }
    }
    let group = |(by, rows): (By, BTreeMap<Vec<String>, Row>)| {
        let rows: Vec<Row> = rows.into_values().collect();
        let has = |column: &&String| rows.iter().any(|row| row.has(column));
        let mut figures: Vec<String> = known_of(by);
        let known = figures.len();
        let before = rows.iter().flat_map(|row| row.before.iter().flat_map(BTreeMap::keys));
        let unknown = rows.iter().flat_map(|row| row.figures.keys()).chain(before);
        let unknown: Vec<String> = unknown.filter(|it| !figures.contains(it)).cloned().collect();
        figures.extend(unknown);
        figures[known..].sort_unstable();
        figures.dedup();
        let figures = figures.iter().filter(has).cloned().collect();
        CounterGroup { by, rows, figures }
    };
    groups.into_iter().map(group).collect()
}

/// The columns that a table of some kind could have.
fn columns_of(by: By) -> impl Iterator<Item = String> {
    by.names().iter().map(|name| (*name).to_owned()).chain(known_of(by))
}

/// Those that the tables asked for could have, each once.
pub fn all_columns(by: Option<By>) -> Vec<String> {
    let is_asked = |it: &&By| by.is_none_or(|by| by == **it);
    let kinds = By::value_variants().iter().filter(is_asked);
    let mut all: Vec<String> = Vec::new();
    kinds.flat_map(|by| columns_of(*by)).for_each(|name| {
        if !all.contains(&name) {
            all.push(name);
        }
    });
    all
}

impl CounterGroup {
    /// How many things are counted.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The greatest of a figure first; a name in the order of the alphabet. A group without such a
    /// column stays as it is.
    pub fn sort(&mut self, column: &str) {
        match self.by.names().iter().position(|name| *name == column) {
            Some(at) => self.rows.sort_by(|a, b| a.names.get(at).cmp(&b.names.get(at))),
            None => self.rows.sort_by_key(|row| Reverse(row.sum(column))),
        }
    }

    /// Leaves all but the first rows out.
    pub fn truncate(&mut self, rows: usize) {
        self.rows.truncate(rows);
    }

    /// The counters as they were read.
    pub fn lines(&self) -> impl Iterator<Item = &String> {
        self.rows.iter().flat_map(|row| &row.lines)
    }

    /// Columns: names, then the figures that some row has, or that are asked for.
    pub fn columns(&self, args: &TableArgs) -> Vec<Column> {
        let names = self.by.names().iter().enumerate();
        let names = names.map(|(rank, name)| Column::text(name, rank));
        let figures = self.shown(args);
        let ranks = figures.into_iter().enumerate().map(|(at, name)| Column {
            is_figure: name != "slots",
            is_whole: name != "slots",
            ..Column::figure(&name, self.by.names().len() + rank_of(&name, at))
        });
        names.chain(ranks).collect()
    }

    /// The rows with a cell for each column.
    pub fn rows(&self, args: &TableArgs) -> impl Iterator<Item = Vec<String>> {
        let figures = self.shown(args);
        self.rows.iter().map(move |row| {
            let cells = figures.iter().map(|column| row.cell(column));
            row.names.iter().cloned().chain(cells).collect()
        })
    }

    fn shown(&self, args: &TableArgs) -> Vec<String> {
        let asked = known_of(self.by).into_iter();
        let asked = asked.filter(|it| args.names(it) && !self.figures.contains(it));
        self.figures.iter().cloned().chain(asked).collect()
    }
}

/// An error that names the columns there are, if none has this name.
pub fn check_sort(column: &str, known: &[String]) -> Result<(), Usage> {
    if known.iter().any(|name| name == column) {
        return Ok(());
    }
    let known = known.join(", ");
    Err(Usage(format!("--sort {column}: there is no such column; give one of {known}")))
}
