//! `TOPIC.KEY.FIELD=VALUE`: a configuration record that is supposed to have another value in a
//! field, for an answer to "what if".

use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;
use yardmaster_core::event::{Configuration, Event, each_configuration};
use yardmaster_core::policy::{PolicySpec, kind};
use yardmaster_core::state::State;
use yardmaster_core::state::supposed::Supposed;
use yardmaster_core::topic::Topic;
use yardmaster_wire::avro::{Arena, Codec, from_json};
use yardmaster_wire::json::record_json;

/// Names of records that a refusal lists.
const NAMED: usize = 5;
/// Applications that a parameter may be of, the first one first.
const PARAMETER_APP: &str = "jedi";

/// A field of a configuration record with the value that it is supposed to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupposedField {
    topic: Topic,
    /// The record's key and the way to the field, as they were given: a key may have dots in it.
    rest: String,
    value: Value,
    given: String,
}

impl SupposedField {
    /// Reads `TOPIC.KEY.FIELD=VALUE`; `None`: it does not begin with a topic of configuration.
    pub(crate) fn parse(text: &str) -> Option<SupposedField> {
        let (way, value) = text.split_once('=')?;
        let (topic, rest) = way.split_once('.')?;
        let topic = Topic::from_name(topic.trim()).filter(|topic| topic.is_configuration())?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let (rest, given) = (rest.trim().to_owned(), text.to_owned());
        Some(SupposedField { topic, rest, value, given })
    }

    /// Reads the value of a flag that takes nothing else.
    ///
    /// # Errors
    /// It is of another form.
    pub(crate) fn parse_only(text: &str) -> Result<SupposedField, String> {
        SupposedField::parse(text).ok_or_else(|| {
            let topics = Topic::ALL.iter().filter(|topic| topic.is_configuration());
            let topics: Vec<&str> = topics.map(|topic| topic.name()).collect();
            format!(
                "{text:?} is no TOPIC.KEY.FIELD=VALUE; give one as queue.CERN-PROD_UCORE.status=\
                 offline, site.T1_DE_KIT.slot_quota.status=drain of a pool, \
                 queue.CLUSTER/NAME.batch.status=inactive of a cluster, or parameter.NAME=VALUE; \
                 TOPIC is one of {}",
                topics.join(", ")
            )
        })
    }

    /// As it was given.
    pub(crate) fn given(&self) -> &str {
        &self.given
    }

    /// Its topic.
    pub(crate) fn topic(&self) -> Topic {
        self.topic
    }

    fn wrong(&self, why: &str) -> String {
        format!("--set {}: {why}", self.given)
    }
}

/// Configuration records that fields are found in.
pub(crate) trait Records {
    /// The names of a topic's records.
    fn names(&self, topic: Topic) -> Vec<String>;
    /// The record of a name.
    fn get(&self, topic: Topic, name: &str) -> Option<Configuration>;
}

/// Records that were read from a log.
pub(crate) type ReadRecords = BTreeMap<Topic, BTreeMap<String, Configuration>>;

impl Records for ReadRecords {
    fn names(&self, topic: Topic) -> Vec<String> {
        BTreeMap::get(self, &topic).into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    fn get(&self, topic: Topic, name: &str) -> Option<Configuration> {
        BTreeMap::get(self, &topic)?.get(name).cloned()
    }
}

impl Records for State {
    fn names(&self, topic: Topic) -> Vec<String> {
        self.configuration_names(topic)
    }

    fn get(&self, topic: Topic, name: &str) -> Option<Configuration> {
        self.configuration(topic, name)
    }
}

/// The records that fields are supposed to be in. `policies`: those that answer in the domain.
///
/// # Errors
/// There is no such record or field, or the value is none that the field may have; with what is
/// allowed.
pub(crate) fn supposed<'a>(
    fields: &[SupposedField],
    records: &impl Records,
    domain: &str,
    policies: impl Iterator<Item = &'a PolicySpec> + Clone,
) -> Result<Vec<Supposed>, String> {
    let mut all = Vec::new();
    for field in fields {
        all.extend(match field.topic {
            Topic::Parameter => parameter(field, records, domain, policies.clone())?,
            _ => of_records(field, records)?,
        });
    }
    Ok(all)
}

/// The record whose name is the longest that the way begins with; else all those of that name and a
/// part behind a slash, as the pseudo-queues of a queue.
fn of_records(field: &SupposedField, records: &impl Records) -> Result<Vec<Supposed>, String> {
    let known = records.names(field.topic);
    let dots = || field.rest.match_indices('.');
    let split = || dots().map(|(at, _)| (&field.rest[..at], &field.rest[at + 1..]));
    let parts = |name: &str| {
        let is_part = |it: &&String| it.strip_prefix(name).is_some_and(|it| it.starts_with('/'));
        known.iter().filter(is_part).collect::<Vec<&String>>()
    };
    let whole = |(name, way)| Some((vec![known.iter().find(|it| *it == name)?], way));
    let in_parts = |(name, way)| Some((parts(name), way)).filter(|(names, _)| !names.is_empty());
    let found = split().rev().find_map(whole).or_else(|| split().rev().find_map(in_parts));
    let Some((names, way)) = found else {
        let topic = field.topic.name();
        // Sites of a pool, say, are no queues.
        let has = |topic: &&Topic| {
            let names = records.names(**topic);
            split().any(|(name, _)| names.iter().any(|known| known == name))
        };
        let others = Topic::ALL.iter().filter(|topic| topic.is_configuration()).find(has);
        let near = match others {
            Some(other) => format!("; there is a {} of that name", other.name()),
            None => near(&field.rest, known.iter()),
        };
        return Err(field.wrong(&format!(
            "the log has no such {topic}; give {topic}.KEY.FIELD with a key that it has{near}"
        )));
    };
    let one = |name: &String| {
        let record = records.get(field.topic, name);
        let record = record.ok_or_else(|| field.wrong("the record was just removed"))?;
        with_field(field, name, way, &record)?;
        let (given, way) = (field.clone(), way.to_owned());
        let change =
            move |record: Option<&Configuration>| with_field(&given, "", &way, record?).ok();
        Ok(Supposed { topic: field.topic, name: name.clone(), change: Arc::new(change) })
    };
    names.into_iter().map(one).collect()
}

/// The run-time parameter of a name: one of the log by its key, or one that a rule reads.
fn parameter<'a>(
    field: &SupposedField,
    records: &impl Records,
    domain: &str,
    policies: impl Iterator<Item = &'a PolicySpec>,
) -> Result<Vec<Supposed>, String> {
    let name = field.rest.strip_suffix(".value").unwrap_or(&field.rest);
    let known = records.names(Topic::Parameter);
    let is_it = |known: &&String| {
        let parts: Vec<&str> = known.split('/').collect();
        let [_, component, key, vo] = parts[..] else { return false };
        let is_ours = vo.is_empty() || vo == domain;
        *known == name || is_ours && (key == name || format!("{component}/{key}") == name)
    };
    let mut names: Vec<String> = known.iter().filter(is_it).cloned().collect();
    let specs = policies.filter_map(|spec| kind(&spec.kind));
    let declared: Vec<&str> = specs
        .flat_map(|kind| kind.filters().into_iter().flat_map(|it| it.params))
        .filter_map(|param| param.gdp)
        .collect();
    let is_read = |it: &&&str| **it == name || it.ends_with(&format!("/{name}"));
    if names.is_empty() {
        let found = declared.iter().find(is_read);
        names.extend(found.map(|it| format!("{PARAMETER_APP}/{it}/{domain}")));
    }
    if names.is_empty() {
        let declared: Vec<String> = declared.iter().map(|it| (*it).to_owned()).collect();
        let near = near(name, known.iter().chain(&declared));
        return Err(field.wrong(&format!(
            "no parameter of this name is in the log, and no rule reads one{near}"
        )));
    }
    let value = match &field.value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let one = |name: String| {
        let (record, value) = (name.clone(), value.clone());
        let change = move |_: Option<&Configuration>| {
            let parts: Vec<&str> = record.split('/').collect();
            let [app, component, key, vo] = parts[..] else { return None };
            let json = serde_json::json!({
                "app": app, "component": component, "key": key, "vo": vo, "value": value,
                "changed_at": 1,
            });
            record_of(Topic::Parameter, &json).ok()
        };
        Supposed { topic: Topic::Parameter, name, change: Arc::new(change) }
    };
    Ok(names.into_iter().map(one).collect())
}

/// A record with another value in a field.
fn with_field(
    field: &SupposedField,
    name: &str,
    way: &str,
    record: &Configuration,
) -> Result<Configuration, String> {
    macro_rules! shown {
        ($($kind:ident $field:ident,)*) => {
            match record { $(Configuration::$kind(it) => record_json(it),)* }
        };
    }
    let mut json = each_configuration!(shown);
    let parts: Vec<&str> = way.split('.').collect();
    let (last, before) = parts.split_last().unwrap_or((&"", &[]));
    let holder = part_with(&json, last).filter(|_| before.is_empty());
    if let Some(part) = holder.as_ref().filter(|_| json.get(last).is_some()) {
        return Err(field.wrong(&format!(
            "of this record {part}.{last} counts, not its own {last}; give {part}.{last}"
        )));
    }
    let mut at = &mut json;
    for part in before {
        let within = at.as_object_mut().ok_or_else(|| {
            field.wrong(&format!("{part} is within something that has no fields"))
        })?;
        at = within.entry(*part).or_insert_with(|| Value::Object(Map::new()));
        if at.is_null() {
            *at = Value::Object(Map::new());
        }
    }
    let within = at
        .as_object_mut()
        .ok_or_else(|| field.wrong(&format!("{last} is within something that has no fields")))?;
    within.insert((*last).to_owned(), field.value.clone());
    let changed = record_of(field.topic, &json);
    let changed = changed.map_err(|why| match holder {
        Some(part) => field.wrong(&format!("{why}; {part} has one, {part}.{last}")),
        None => field.wrong(&why),
    })?;
    if !name.is_empty() && changed.name() != name {
        return Err(field.wrong("it would be another record's name; set another field"));
    }
    Ok(changed)
}

/// The part of a record that has a field of a name.
fn part_with(json: &Value, name: &str) -> Option<String> {
    let record = json.as_object()?;
    record.iter().find(|(_, part)| part.get(name).is_some()).map(|(part, _)| part.clone())
}

fn record_of(topic: Topic, json: &Value) -> Result<Configuration, String> {
    let bytes = from_json(topic, json).map_err(|fault| fault.to_string())?;
    let mut arena = Arena::default();
    match Codec::default().read(topic, None, Some(&bytes), &mut arena) {
        Event::Configuration(record) => Ok(*record),
        _ => Err("the record cannot be read with this value; give another".to_owned()),
    }
}

/// Names that begin as a wrong one does, the longest beginning first.
pub(crate) fn near<'a>(wrong: &str, known: impl Iterator<Item = &'a String>) -> String {
    let wrong = wrong.to_lowercase();
    let common = |name: &str| {
        let letters = name.to_lowercase();
        letters.bytes().zip(wrong.bytes()).take_while(|(one, other)| one == other).count()
    };
    let holds = |name: &str| {
        let key = wrong.split('.').next().unwrap_or_default();
        !key.is_empty() && name.to_lowercase().contains(key)
    };
    let mut all: Vec<&String> = known.collect();
    all.sort_by_key(|name| (!holds(name), std::cmp::Reverse(common(name)), (*name).clone()));
    all.dedup();
    all.truncate(NAMED);
    let all: Vec<&str> = all.into_iter().map(String::as_str).collect();
    if all.is_empty() { String::new() } else { format!(", as {}", all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::event::{BatchFacts, Queue, QueueStatus};

    fn queues() -> ReadRecords {
        let one = |name: &str| {
            let (name, unified) = (name.to_owned(), name.to_owned());
            (name.clone(), Queue { name, unified, ..Queue::default() }.into())
        };
        let all = ["OAK", "OAK.OLD", "ELM", "ASH/SCORE", "ASH/MCORE"].map(one);
        [(Topic::Queue, all.into_iter().collect())].into()
    }

    fn found(text: &str) -> Result<Queue, String> {
        let field = SupposedField::parse(text).unwrap();
        let all = of_records(&field, &queues())?;
        let supposed = all.first().unwrap();
        let known = Records::get(&queues(), Topic::Queue, &supposed.name);
        let record = (supposed.change)(known.as_ref()).unwrap();
        Ok(<&Queue>::try_from(&record).unwrap().clone())
    }

    #[test]
    fn a_field_of_a_record_is_another_and_a_key_may_have_dots() {
        let queue = found("queue.OAK.OLD.status=offline").unwrap();
        assert_eq!((queue.name.as_str(), queue.status), ("OAK.OLD", QueueStatus::Offline));
        assert_eq!(found("queue.OAK.status=test").unwrap().name, "OAK");
        let field = SupposedField::parse("queue.ASH.status=test").unwrap();
        let names = of_records(&field, &queues()).unwrap().into_iter().map(|it| it.name);
        assert_eq!(names.collect::<Vec<_>>(), ["ASH/MCORE", "ASH/SCORE"], "all parts of a queue");
        assert!(SupposedField::parse("core_count=8").is_none(), "a field of a request");
        assert!(SupposedField::parse("options.cloud=US").is_none());
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is_near() {
        let unknown = found("queue.OAKS.status=offline").unwrap_err();
        assert!(unknown.contains("queue.OAKS.status") && unknown.contains("as OAK"), "{unknown}");
        let field = found("queue.OAK.statsu=offline").unwrap_err();
        assert!(field.contains("there is no such field") && field.contains("status"), "{field}");
        let other = found("site.OAK.slot_quota.status=drain").unwrap_err();
        assert!(
            other.contains("no such site") && other.contains("a queue of that name"),
            "{other}"
        );
        let value = found("queue.OAK.status=gone").unwrap_err();
        assert!(value.contains("\"gone\"") && value.contains("offline"), "{value}");
        let batch = Some(BatchFacts::default());
        let cluster = Configuration::from(Queue { name: "c/q".into(), batch, ..Queue::default() });
        let clusters: ReadRecords = [(Topic::Queue, [("c/q".into(), cluster)].into())].into();
        let field = SupposedField::parse("queue.c/q.status=inactive").unwrap();
        let own = of_records(&field, &clusters).unwrap_err();
        assert!(own.contains("give batch.status"), "{own}");
        let name = found("queue.OAK.name=ELM").unwrap_err();
        assert!(name.contains("another record's name"), "{name}");
        assert!(SupposedField::parse_only("core_count=8").unwrap_err().contains("queue"));
    }
}
