//! PanDA's attributes of a task and its chunk as fields of a `task` record, by the table that the
//! client for JEDI reads them by too.

use super::super::json::{entries, items};
use serde_json::{Value, json};
use std::sync::LazyLock;
use yardmaster_wire::stamp;

static TABLE: LazyLock<Value> = LazyLock::new(|| {
    let text = include_str!("../../../../schemas/panda-task.json");
    serde_json::from_str(text).unwrap_or_default()
});

/// The fields that the table has and those that are code in both readers, those of `options` in an
/// object of their own. `of`: objects `task`, `chunk`, `master` (the primary dataset) and `params`,
/// with PanDA's names.
pub fn task_fields(of: &Value) -> Value {
    let mut record = json!({"options": {}});
    for row in items(&TABLE["fields"]) {
        let field = row["field"].as_str().unwrap_or_default();
        let value = read(row, of);
        match field.strip_prefix("options.") {
            Some(name) => record["options"][name] = value,
            None => record[field] = value,
        }
    }
    let (is_merging, is_scout) = (of["chunk"]["isMerging"] == true, is_scout(of));
    record["chunk"] = match (is_merging, is_scout) {
        (true, _) => json!("merge"),
        (false, true) => json!("scout"),
        (false, false) => json!("normal"),
    };
    let (task, cpu) = (&of["task"], record["cpu_hs06s_per_event"].as_f64());
    let is_zero = |number: Option<f64>| number.is_none_or(|number| number == 0.0);
    let options = &mut record["options"];
    options["merge_scout"] = json!(is_merging && is_scout);
    options["walltime_unknown"] = json!(match is_set(&task["cpuTimeUnit"]) {
        true => is_zero(cpu),
        false => is_zero(number(&task["walltime"])) && !is_set(&task["walltimeUnit"]),
    });
    let is_dynamic = is_given(&find("rule.dynamicNumEvents", of));
    options["longest_event_run"] = json!(if is_dynamic { longest_run(&of["master"]) } else { 0 });
    record
}

/// A split rule of options by their names.
pub(super) fn split_rule(options: &Value) -> String {
    let token = |name: &String| TABLE["rules"][name].as_str();
    let rules = entries(options)
        .filter_map(|(name, value)| Some(format!("{}={}", token(name)?, text(value)?)));
    rules.collect::<Vec<String>>().join(",")
}

/// Whether the jobs of a chunk are scouts.
fn is_scout(of: &Value) -> bool {
    let (flag, master) = (&of["chunk"]["useScoutFlag"], &of["master"]);
    match flag.as_bool() {
        Some(flag) if master.is_object() => flag,
        _ => number(&master["nFiles"])
            .zip(number(&master["nFilesToBeUsed"]))
            .is_some_and(|(all, used)| all > used),
    }
}

/// Events of the longest run without a gap in the files of a dataset: a run ends where events are
/// left out, and with a file of which not all events are used.
fn longest_run(master: &Value) -> u64 {
    let (mut longest, mut run) = (0_u64, 0_u64);
    let (mut next, mut last_file) = (None, &Value::Null);
    for file in items(&master["Files"]) {
        let event = |name: &str| file[name].as_u64();
        let (start, end) = (event("startEvent"), event("endEvent").unwrap_or(0));
        if let Some(start) = start {
            let is_cut = next.is_some_and(|next| next > 0) && *last_file != file["lfn"];
            if next.is_some_and(|next| next != start) || is_cut {
                longest = run.max(longest);
                run = 0;
            }
            let after = end.saturating_add(1);
            next = Some(if event("nEvents") == Some(after) { 0 } else { after });
            run = run.saturating_add(after.saturating_sub(start));
        } else {
            run = run.saturating_add(end);
        }
        last_file = &file["lfn"];
    }
    run.max(longest)
}

/// The value of a row.
fn read(row: &Value, of: &Value) -> Value {
    let holds = |name: &Value| name.as_str().map(|name| holds(&TABLE["conditions"][name], of));
    let is_meant = holds(&row["when"]) != Some(false) && holds(&row["unless"]) != Some(true);
    let found = if is_meant { value(row, of) } else { None };
    found.filter(|found| !items(&row["none"]).any(|none| none == found)).unwrap_or_else(
        || match row["kind"].as_str() {
            _ if !row["default"].is_null() => row["default"].clone(),
            Some("text" | "id") => json!(""),
            Some("integer") => json!(0),
            Some("list") => json!([]),
            Some("given" | "flag" | "true") => json!(false),
            _ => Value::Null,
        },
    )
}

fn holds(condition: &Value, of: &Value) -> bool {
    let stated = find(condition["from"].as_str().unwrap_or_default(), of);
    let text = text(&stated);
    let is_in = |text: &String| items(&condition["in"]).any(|it| it.as_str() == Some(text));
    match condition["has"].as_str() {
        Some(part) => text.is_some_and(|text| text.contains(part)),
        None if condition["in"].is_array() => text.is_some_and(|text| is_in(&text)),
        None => is_given(&stated),
    }
}

/// The value of a row whose condition holds; `None` where it is not set.
fn value(row: &Value, of: &Value) -> Option<Value> {
    let stated = items(&row["from"]).map(|from| find(from.as_str().unwrap_or_default(), of));
    let mut stated = stated.filter(is_set);
    if row["largest"] == true {
        return stated.filter_map(|it| count(&it)).max().map(Value::from);
    }
    let kind = row["kind"].as_str().unwrap_or_default();
    if kind == "joined" {
        let parts: Vec<String> =
            items(&row["of"]).filter_map(|part| text(&read(part, of))).collect();
        let is_empty = parts.iter().all(String::is_empty);
        return Some(json!(if is_empty { String::new() } else { parts.join(row["by"].as_str()?) }));
    }
    let stated = stated.next()?;
    let scaled = || scaled(number(&stated)?, &row["unit"], of);
    Some(match kind {
        "text" => json!(text(&stated)?),
        "id" => json!(whole(&stated).filter(|it| *it > 0)?.to_string()),
        "integer" => json!(whole(&stated)?.clamp(i32::MIN.into(), i32::MAX.into()) as i64),
        "count" => json!(count(&stated)?),
        "amount" => json!(scaled()? as i64),
        "real" => json!(scaled()?),
        "time" => json!(stated.as_str().and_then(stamp::parse).filter(|at| *at > 0)?),
        "list" => json!(list(&stated)),
        "given" => json!(is_given(&stated)),
        "flag" => json!(number(&stated)? > 0.0),
        "true" => json!(stated == true),
        "word" => row["words"].get(text(&stated)?)?.clone(),
        _ => return None,
    })
}

/// The attribute at a place.
fn find(place: &str, of: &Value) -> Value {
    match place.split_once('.') {
        Some(("rule", name)) => {
            let (rules, token) = (of["task"]["splitRule"].as_str(), TABLE["rules"][name].as_str());
            let found = rules.zip(token).and_then(|(rules, token)| rule(rules, token));
            found.map_or(Value::Null, Value::from)
        }
        Some((thing, name)) => of[thing][name].clone(),
        None => Value::Null,
    }
}

/// The first whole number that a split rule has for a token.
fn rule(rules: &str, token: &str) -> Option<i64> {
    let head = format!("{token}=");
    rules.match_indices(&head).find_map(|(at, _)| {
        let rest = &rules[at + head.len()..];
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then(|| rest[..sign + digits].parse().unwrap_or([i64::MAX, i64::MIN][sign]))
    })
}

/// No null, and no empty text.
fn is_set(value: &Value) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty())
}

/// Whether there is a value; a number below 0 is none of a split rule's.
fn is_given(value: &Value) -> bool {
    number(value).map_or(is_set(value), |number| number >= 0.0)
}

/// Text as it is, or a whole number.
fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(stated) if number(value)?.fract() == 0.0 => {
            Some(whole(value).map_or_else(|| stated.to_string(), |whole| whole.to_string()))
        }
        _ => None,
    }
}

/// A number, or text of one.
fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::String(text) => text.trim().parse().ok(),
        other => other.as_f64(),
    };
    number.filter(|number: &f64| number.is_finite())
}

/// A number without its fraction.
fn whole(value: &Value) -> Option<i128> {
    let exact = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from));
    exact.or_else(|| number(value).map(|number| number as i128))
}

/// A whole number of 32 bits, 0 or more.
fn count(value: &Value) -> Option<u32> {
    let is_below = number(value)? < 0.0;
    whole(value).filter(|_| !is_below).map(|it| it.min(u32::MAX.into()) as u32)
}

/// A number in the unit that its row has; 0 or more, finite.
fn scaled(number: f64, unit: &Value, of: &Value) -> Option<f64> {
    let stated = find(unit["from"].as_str().unwrap_or_default(), of);
    let stated = stated.as_str().unwrap_or_default();
    let starts = entries(&unit["starts"]).find(|(unit, _)| stated.starts_with(unit.as_str()));
    let is = entries(&unit["is"]).find(|(unit, _)| stated == unit.as_str());
    let factor = starts.or(is).and_then(|(_, factor)| factor.as_f64()).unwrap_or(1.0);
    let scaled = if unit["over"] == true { number / factor } else { number * factor };
    (scaled >= 0.0 && scaled.is_finite()).then_some(scaled)
}

/// Words of a list, or of text with commas; those that are blank are none.
fn list(value: &Value) -> Vec<String> {
    let words: Vec<String> = match value {
        Value::String(text) => text.split(',').map(str::to_owned).collect(),
        other => items(other).filter_map(text).collect(),
    };
    let words = words.iter().map(|word| word.trim().to_owned());
    words.filter(|word| !word.is_empty()).collect()
}
