//! Recorded cases of xRSL: a text, and the tree and jobs or the error that it comes to.

use super::json::{show, text};
use super::{Judged, Recorded};
use serde_json::{Value, json};
use yardmaster_core::domain::nordugrid::xrsl::{
    Alternative, Condition, Description, Dialect, Expression, InputFile, Item, NameCondition,
    SoftwareCondition, Value as Literal, XrslError, read, read_to_run, tree,
};

/// Reads the text of a case.
///
/// # Errors
/// The case has no text, or an unknown dialect.
pub(super) fn judge(recorded: &Recorded) -> Result<Judged, String> {
    let whole = &recorded.whole;
    let source = whole["text"].as_str().ok_or_else(|| {
        format!("field `text`: found {}, wants a job description", show(&whole["text"]))
    })?;
    let dialect = dialect(&whole["dialect"])?;
    let parts = tree(source).and_then(|tree| read(source, dialect).map(|jobs| (tree, jobs)));
    let (verdict, result) = match parts {
        Ok((tree, jobs)) => {
            let run = read_to_run(source, dialect).err().map(|found| error(&found));
            let (tree, notes) = (item(&tree), notes(&jobs));
            let jobs = description(&jobs);
            ("read", json!({"ok": true, "tree": tree, "jobs": jobs, "notes": notes, "run": run}))
        }
        Err(found) => ("rejected", json!({"ok": false, "error": error(&found)})),
    };
    Ok(Judged { verdict, result: Some(result), ..Judged::default() })
}

/// The dialect that a case names.
///
/// # Errors
/// It is none.
pub(super) fn dialect(named: &Value) -> Result<Dialect, String> {
    match text(named).as_str() {
        "" | "user" => Ok(Dialect::User),
        "server" => Ok(Dialect::Server),
        other => Err(format!("field `dialect`: found {other:?}, wants user or server")),
    }
}

/// An error as cases have it.
pub(super) fn error(found: &XrslError) -> Value {
    let (kind, code) = (found.kind().name(), found.code.name());
    json!({"kind": kind, "code": code, "line": found.line, "column": found.column})
}

/// An alternative without the list of its attributes.
pub(super) fn alternative(it: &Alternative) -> Value {
    let access = it.node_access.as_ref();
    let access = access.map(|access| access.iter().map(|it| it.name()).collect::<Vec<_>>());
    json!({
        "count": it.count,
        "count_given": it.count_given,
        "cpu_time_s": it.cpu_time_s,
        "wall_time_s": it.wall_time_s,
        "grid_time_s": it.grid_time_s,
        "memory_mb": it.memory_mb,
        "disk_bytes": it.disk_bytes,
        "cluster": list(&it.cluster, name),
        "queue": list(&it.queue, name),
        "architecture": list(&it.architecture, name),
        "middleware": list(&it.middleware, software),
        "runtime_environment": list(&it.runtime_environment, software),
        "operating_system": list(&it.operating_system, software),
        "node_access": access,
        "input_files": list(&it.input_files, file),
        "count_per_node": it.count_per_node,
        "exclusive_execution": it.exclusive_execution,
        "priority": it.priority,
        "unknown_attributes": it.unknown_attributes,
    })
}

fn description(description: &Description) -> Value {
    list(&description.jobs, |job| list(job, with_attributes))
}

/// Notes on how attributes are read, each once, as decisions have them.
fn notes(description: &Description) -> Vec<String> {
    let mut notes = Vec::new();
    for it in description.jobs.iter().flatten().flat_map(|alternative| &alternative.notes) {
        let note = format!("{}({})", it.code.name(), it.attribute);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn with_attributes(it: &Alternative) -> Value {
    let mut shown = alternative(it);
    shown["attributes"] = list(&it.attributes, |it| {
        let values = list(&it.values, literal);
        json!({"attribute": it.name, "relation": it.relation.name(), "values": values})
    });
    shown
}

fn list<T>(items: &[T], shown: impl Fn(&T) -> Value) -> Value {
    items.iter().map(shown).collect()
}

fn name(it: &NameCondition) -> Value {
    json!({"relation": it.relation.name(), "name": it.name})
}

fn software(it: &SoftwareCondition) -> Value {
    json!({"relation": it.relation.name(), "name": it.name, "version": it.version})
}

fn file(it: &InputFile) -> Value {
    json!({
        "name": it.name,
        "source": it.source,
        "executable": it.executable,
        "cache": it.cache.name(),
        "local": it.local,
    })
}

fn literal(value: &Literal) -> Value {
    match value {
        Literal::Text(text) => json!(text),
        Literal::List(values) => list(values, literal),
    }
}

fn item(it: &Item) -> Value {
    match it {
        Item::Condition(condition) => self::condition(condition),
        Item::Joined { operator, items, .. } => {
            json!({"operator": operator.name(), "items": list(items, item)})
        }
    }
}

fn condition(it: &Condition) -> Value {
    json!({
        "attribute": it.attribute,
        "written": it.written,
        "relation": it.relation.name(),
        "values": list(&it.values, expression),
    })
}

fn expression(it: &Expression) -> Value {
    match it {
        Expression::Text(text) => json!(text),
        Expression::List(values) => list(values, expression),
        Expression::Variable(name) => json!({"variable": name}),
        Expression::Join(parts) => json!({"join": list(parts, expression)}),
    }
}
