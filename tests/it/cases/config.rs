//! The topology that a case is judged by: the shipped one, with what the case sets otherwise.

use super::grid::GENERIC;
use super::read::Line;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use toml::{Table, Value};
use yardmaster::core::policy::kind;
use yardmaster::drive::epoch_config::EpochConfig;
use yardmaster::wire::topology;

/// The shipped topology of ATLAS, or with the policy of a PanDA outside ATLAS, under some rules,
/// without limits of silence, age and room, and with what lines set:
///
///     set production-job merge_frozen=true
///     set production-job weights=none
///     set production-job filter diskIO division=floor
///     set analysis-job weight classes version=seed
///     set limits request_lifetime_d=1
///     set topics.pilot silence_limit_s=60
///
/// # Errors
/// A line that sets what there is not, or to what it cannot be.
pub fn config(rules: &str, lines: &[Line]) -> Result<EpochConfig, String> {
    let mut table: Table = topology::ATLAS.parse().map_err(|error| format!("{error}"))?;
    if lines.iter().any(|line| line.words[0] == GENERIC) {
        let panda: Table = topology::PANDA.parse().map_err(|error| format!("{error}"))?;
        table.extend(panda.into_iter().filter(|(key, _)| key == "policy"));
    }
    let topics = table.get_mut("topics").and_then(Value::as_table_mut);
    for (_, topic) in topics.into_iter().flatten() {
        for key in ["silence_limit_s", "stale_after_s"] {
            topic.as_table_mut().map(|topic| topic.remove(key));
        }
    }
    for policy in policies(&mut table) {
        policy.insert("rules".to_owned(), Value::from(rules));
        policy.remove("room_per_running");
    }
    for line in lines.iter().filter(|line| line.words[0] == "set") {
        set(&mut table, line)?;
    }
    let text = table.to_string();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(epoch_config) = known.get(&text) {
        return Ok(epoch_config.clone());
    }
    let epoch_config = EpochConfig::of("case", &text).map_err(|mistakes| {
        let set = lines.iter().rfind(|line| line.words[0] == "set");
        let mistakes = mistakes.join("; ");
        set.map_or_else(|| mistakes.clone(), |line| line.error(&mistakes))
    })?;
    known.insert(text, epoch_config.clone());
    Ok(epoch_config)
}

/// Those made so far, by their text: most cases share one.
static KNOWN: Mutex<BTreeMap<String, EpochConfig>> = Mutex::new(BTreeMap::new());

fn policies(table: &mut Table) -> impl Iterator<Item = &mut Table> {
    let all = table.get_mut("policy").and_then(Value::as_array_mut);
    all.into_iter().flatten().filter_map(Value::as_table_mut)
}

fn set(table: &mut Table, line: &Line) -> Result<(), String> {
    let names = line.names();
    let values: Vec<(String, Value)> =
        line.assignments().into_iter().map(|(key, text)| (key, value(&text))).collect();
    let place = match names[1..] {
        [name] if !name.contains('.') && name != "limits" => policy(table, name),
        [name, list, step] => policy(table, name).and_then(|it| step_of(it, list, step)),
        [path] => path.split('.').try_fold(table, |table, key| table.get_mut(key)?.as_table_mut()),
        _ => None,
    };
    let place = place.ok_or_else(|| line.error("there is nothing of that name to set"))?;
    place.extend(values);
    Ok(())
}

fn policy<'a>(table: &'a mut Table, name: &str) -> Option<&'a mut Table> {
    policies(table).find(|it| it.get("name").and_then(Value::as_str) == Some(name))
}

/// A filter or weight of a policy, as a table of its name and parameters.
fn step_of<'a>(policy: &'a mut Table, list: &str, name: &str) -> Option<&'a mut Table> {
    let flavour = kind(policy.get("kind")?.as_str()?)?;
    let (key, all): (_, Vec<Value>) = match list {
        "filter" => ("filters", flavour.filters().iter().map(|it| it.name.into()).collect()),
        "weight" => ("weights", flavour.weights().iter().map(|it| it.name.into()).collect()),
        _ => return None,
    };
    let steps = policy.get_mut(key)?;
    if steps.as_str().is_some() {
        *steps = Value::Array(all);
    }
    let is_it = |step: &&mut Value| {
        let table = step.as_table().and_then(|table| table.get("name"));
        table.unwrap_or(step).as_str() == Some(name)
    };
    let step = steps.as_array_mut()?.iter_mut().find(is_it)?;
    if step.as_table().is_none() {
        let mut table = Table::new();
        table.insert("name".to_owned(), Value::from(name));
        *step = Value::Table(table);
    }
    step.as_table_mut()
}

fn value(text: &str) -> Value {
    let text = text.trim_matches('"');
    if text == "none" {
        return Value::Array(Vec::new());
    }
    if let Some(list) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        return Value::Array(list.split(',').map(|it| Value::from(it.trim())).collect());
    }
    let plain = text.replace('_', "");
    if let Ok(flag) = text.parse::<bool>() {
        return Value::Boolean(flag);
    }
    match (plain.parse::<i64>(), plain.parse::<f64>()) {
        (Ok(number), _) => Value::Integer(number),
        (_, Ok(number)) => Value::Float(number),
        _ => Value::from(text),
    }
}
