//! Software and hardware that queues publish: CRIC's JSON of tags (spec atlas 3.1).

use super::field::Fields;
use super::{Imported, object};
use serde_json::Value;
use yardmaster_core::event::{Configuration, Hardware, HardwareKind, Release, SoftwareTag};
use yardmaster_core::unit::Millis;

/// The entry that holds the tags of all queues, by which container names are resolved.
const ALL: &str = "ALL";

/// Release records from CRIC's JSON: by queue `cmtconfigs`, `containers`, `cvmfs`, `architectures`,
/// `tags`. Where the dump has no entry `ALL` it is made: the tags with a container, of all queues.
pub fn releases(text: &str, now: Millis) -> Result<Imported, String> {
    let dump = object("releases", text)?;
    let mut imported = Imported::default();
    let mut all: Vec<SoftwareTag> = Vec::new();
    for (name, value) in &dump {
        let thing = format!("queue {name}");
        let Some(mut fields) = Fields::of(thing, Some(name), value, &mut imported) else {
            continue;
        };
        let release = release(name, &mut fields, now);
        if fields.is_left_out(name) {
            continue;
        }
        all.extend(release.tags.iter().filter(|tag| !tag.container_name.is_empty()).cloned());
        imported.records.push(Configuration::from(release));
    }
    let read = imported.records.len();
    imported.notes.push(format!("{read} of {} queues", dump.len()));
    if !dump.contains_key(ALL) && !imported.left_out.is_empty() {
        // Made without the tags of these it would have less than before.
        imported.left_out.push(ALL.to_owned());
        imported.notes.push(format!("entry {ALL} is not made: it needs all queues"));
    } else if !dump.contains_key(ALL) && !all.is_empty() {
        let order = |tag: &SoftwareTag| (tag.container_name.clone(), tag.tag.clone());
        all.sort_by_key(order);
        all.dedup();
        imported.notes.push(format!("entry {ALL} made of {} tags with a container", all.len()));
        let (queue, changed_at) = (ALL.to_owned(), now);
        let release = Release { queue, changed_at, tags: all, ..Release::default() };
        imported.records.push(Configuration::from(release));
    }
    Ok(imported)
}

fn release(name: &str, fields: &mut Fields<'_>, now: Millis) -> Release {
    Release {
        queue: name.to_owned(),
        changed_at: now,
        cmtconfigs: fields.words("cmtconfigs"),
        containers: fields.words("containers"),
        cvmfs: fields.words("cvmfs"),
        hardware: each(fields, "architectures", hardware),
        tags: each(fields, "tags", tag),
        ..Release::default()
    }
}

/// The objects of a list, each read by itself.
fn each<T>(fields: &mut Fields<'_>, field: &str, read: impl Fn(&mut Part<'_, '_>) -> T) -> Vec<T> {
    let Some(list) = fields.objects(field) else { return Vec::new() };
    let parts = list.iter().enumerate().map(|(at, value)| {
        let path = format!("{field}[{at}]");
        read(&mut Part { fields, value, path })
    });
    parts.collect()
}

/// One object of a list.
struct Part<'a, 'b> {
    fields: &'a mut Fields<'b>,
    value: &'b Value,
    path: String,
}

impl Part<'_, '_> {
    fn wrong(&mut self, field: &str, wants: &str) {
        let path = format!("{}.{field}", self.path);
        self.fields.wrong(&path, &self.value[field], wants);
    }

    /// Text; empty when not set.
    fn text(&mut self, field: &str) -> String {
        match &self.value[field] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            _ => {
                self.wrong(field, "text");
                String::new()
            }
        }
    }

    /// A list of words; empty when not set.
    fn words(&mut self, field: &str) -> Vec<String> {
        let words = match &self.value[field] {
            Value::Null => Some(Vec::new()),
            value => super::field::words_of(value),
        };
        words.unwrap_or_else(|| {
            self.wrong(field, "a list of words");
            Vec::new()
        })
    }
}

fn hardware(part: &mut Part<'_, '_>) -> Hardware {
    let kind = match part.value["type"].as_str() {
        Some("cpu") => HardwareKind::Cpu,
        Some("gpu") => HardwareKind::Gpu,
        _ => {
            part.wrong("type", "cpu or gpu");
            HardwareKind::Cpu
        }
    };
    Hardware {
        kind,
        arch: part.words("arch"),
        vendor: part.words("vendor"),
        instr: part.words("instr"),
        model: part.words("model"),
    }
}

fn tag(part: &mut Part<'_, '_>) -> SoftwareTag {
    SoftwareTag {
        tag: part.text("tag"),
        cmtconfig: part.text("cmtconfig"),
        project: part.text("project"),
        release: part.text("release"),
        container_name: part.text("container_name"),
        sources: part.words("sources"),
    }
}
