//! Storage endpoints from what PanDA's Configurator reads: CRIC's endpoints (`ddmendpoint`) and
//! their status (`ddmendpointstatus`), Rucio's usage (`rse_usage`); or sizes by queue
//! (`site_info`).

use super::field::{Fields, show};
use super::services::Services;
use super::{Imported, Sites, lower, object, rows};
use crate::loose;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{Configuration, Storage};
use yardmaster_core::unit::{Bytes, Millis};

/// Bytes in the TB that storage services publish.
const TB: f64 = 1e12;
/// Remedy where no space is known.
const REMEDY: &str = "add Rucio's usage (the dump rse_usage, or rows of {rse, source, used, free})";

/// Space of an endpoint.
#[derive(Clone, Copy, Default)]
struct Space {
    total: Bytes,
    free: Bytes,
    expired: Bytes,
    min_free: Bytes,
    unavailable: Bytes,
}

/// An endpoint that a dump names.
#[derive(Default)]
struct Endpoint {
    /// Its size; TB.
    tb: Option<f64>,
    kind: Option<String>,
    tape: Option<bool>,
    site: Option<String>,
}

/// Content of the dumps.
#[derive(Default)]
struct Dumps {
    endpoints: BTreeMap<String, Endpoint>,
    /// Rucio's usage, of those endpoints of which it can be read.
    usage: BTreeMap<String, Space>,
    has_usage: bool,
    /// Whether there is a dump other than those of usage and status.
    has_names: bool,
    services: BTreeMap<String, Services>,
    /// Endpoints of which one of the dumps has an entry that cannot be read.
    unreadable: BTreeSet<String>,
    /// Endpoints that their dump does not call active.
    inactive: BTreeSet<String>,
    imported: Imported,
}

/// Storage records from one or more dumps, each recognised by its shape. Read them together: a
/// record replaces the one before it.
///
/// Endpoints are those of the dump of endpoints, as far as it calls them active, and those whose
/// size is stated; Rucio's usage alone names them where there is neither. With Rucio's usage, one
/// whose space it does not have is without space, as PanDA has it. A size by queue is taken as both
/// total and free, since nothing says what is used. An endpoint of which neither is given is left
/// out.
pub fn storage(texts: &[&str], now: Millis, sites: &Sites) -> Result<Imported, String> {
    let mut dumps = Dumps::default();
    let mut sites = sites.clone();
    for text in texts {
        let dump = dump(text, &mut dumps.imported)?;
        sites.learn_from(&dump);
        dumps.read(&dump);
    }
    Ok(dumps.records(now, &sites))
}

/// The entries of a text by endpoint or queue. Rows of Rucio's usage, with columns in any case,
/// become entries as its dump has them.
fn dump(text: &str, imported: &mut Imported) -> Result<Map<String, Value>, String> {
    let rows: Vec<Value> = rows("storage", text).unwrap_or_default().iter().map(lower).collect();
    let place =
        |row: &Value| Some((row["rse"].as_str()?.to_owned(), row["source"].as_str()?.to_owned()));
    if !rows.iter().any(|row| place(row).is_some()) {
        return object("storage", text);
    }
    let mut dump: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for (at, row) in rows.into_iter().enumerate() {
        match place(&row) {
            Some((rse, source)) => drop(dump.entry(rse).or_default().insert(source, row)),
            None => {
                let complaint =
                    format!("row number {}: wants `rse` and `source`; left out", at + 1);
                imported.leave_out(None, complaint);
            }
        }
    }
    Ok(dump.into_iter().map(|(rse, sources)| (rse, Value::Object(sources))).collect())
}

/// Whether an entry is one of Rucio's usage: what each source has measured.
fn is_usage(entry: &Value) -> bool {
    ["storage", "expired", "min_free_space", "unavailable", "rucio"]
        .iter()
        .any(|source| entry[source].get("used").is_some() || entry[source].get("free").is_some())
}

/// Whether an entry is one of the status of endpoints: by activity.
fn is_status(entry: &Value) -> bool {
    let mut activities = entry.as_object().into_iter().flat_map(Map::values);
    activities.any(|activity| activity["status"].get("value").is_some())
}

impl Dumps {
    fn read(&mut self, dump: &Map<String, Value>) {
        let has = |is_one: fn(&Value) -> bool| dump.values().any(is_one);
        let read = if has(|entry| entry.get("RSE").is_some()) {
            self.has_names = true;
            Dumps::read_sizes
        } else if has(is_usage) {
            self.has_usage = true;
            Dumps::read_usage
        } else if has(is_status) || dump.is_empty() {
            Dumps::read_status
        } else {
            self.has_names = true;
            Dumps::read_endpoint
        };
        for (name, entry) in dump {
            read(self, name, entry);
        }
    }

    /// Space by queue: the same endpoint stands under several queues.
    fn read_sizes(&mut self, queue: &str, value: &Value) {
        let Some(sizes) = value["RSE"].as_object() else {
            let found = show(&value["RSE"]);
            let complaint =
                format!("queue {queue}: field `RSE`: found {found}, wants an object; left out");
            return self.imported.leave_out(None, complaint);
        };
        for (name, size) in sizes {
            match loose::number_in(size).filter(|tb| *tb >= 0.0) {
                Some(tb) => {
                    let endpoint = self.endpoints.entry(name.clone()).or_default();
                    endpoint.tb = Some(endpoint.tb.map_or(tb, |known| known.max(tb)));
                }
                None => {
                    let complaint = format!(
                        "queue {queue}: field `RSE.{name}`: found {}, wants a size in TB; left out",
                        show(size)
                    );
                    self.imported.leave_out(Some(name.clone()), complaint);
                }
            }
        }
    }

    /// `{source: {used, free}}`; bytes. The space is known where what is used and what is free is.
    fn read_usage(&mut self, name: &str, entry: &Value) {
        let mut wrong = Vec::new();
        let mut bytes = |source: &str, field: &str| -> Option<Bytes> {
            let value = entry[source].get(field).filter(|value| !value.is_null())?;
            let found = loose::number_in(value).filter(|bytes| *bytes >= 0.0);
            if found.is_none() {
                let found = show(value);
                wrong.push(format!("field `{source}.{field}`: found {found}, wants bytes"));
            }
            found.map(|bytes| bytes as Bytes)
        };
        let (used, free) = (bytes("storage", "used"), bytes("storage", "free"));
        let mut of = |source: &str| bytes(source, "used").unwrap_or(0);
        let [expired, min_free, unavailable] =
            ["expired", "min_free_space", "unavailable"].map(&mut of);
        let is_stated = !entry.is_object() || entry.get("storage").is_some();
        if is_stated && (used.is_none() || free.is_none()) {
            wrong.push("wants `storage` with `used` and `free`".to_owned());
        }
        if let Some(wrong) = wrong.first() {
            return self.leave_out(name, format!("usage of {name}: {wrong}"));
        }
        if let (Some(used), Some(free)) = (used, free) {
            let total = used.saturating_add(free);
            let space = Space { total, free, expired, min_free, unavailable };
            self.usage.insert(name.to_owned(), space);
        }
    }

    /// `{activity: {status: {value}}}`.
    fn read_status(&mut self, name: &str, entry: &Value) {
        let mut services = Services::default();
        let Some(activities) = entry.as_object() else {
            let found = show(entry);
            return self
                .leave_out(name, format!("status of {name}: found {found}, wants an object"));
        };
        for (activity, it) in activities.iter().filter(|(name, _)| Services::has(name)) {
            let found = &it["status"]["value"];
            let Some(status) = found.as_str() else {
                let found = show(found);
                let field = format!("field `{activity}.status.value`: found {found}");
                return self.leave_out(name, format!("status of {name}: {field}, wants ON or OFF"));
            };
            services.take(activity, status);
        }
        self.services.insert(name.to_owned(), services);
    }

    fn leave_out(&mut self, name: &str, complaint: String) {
        self.unreadable.insert(name.to_owned());
        self.imported.leave_out(Some(name.to_owned()), format!("{complaint}; left out"));
    }

    fn read_endpoint(&mut self, name: &str, entry: &Value) {
        let thing = format!("endpoint {name}");
        let Some(mut fields) = Fields::of(thing, Some(name), entry, &mut self.imported) else {
            self.unreadable.insert(name.to_owned());
            return;
        };
        let is_active = fields.text_if_set("state").is_none_or(|state| state == "ACTIVE");
        let kind = fields.needed("type").to_owned();
        let tape = fields.flag("is_tape");
        let site = fields.text("rc_site").to_owned();
        if fields.is_left_out(name) {
            self.unreadable.insert(name.to_owned());
            return;
        }
        if !is_active {
            self.inactive.insert(name.to_owned());
            return;
        }
        let endpoint = self.endpoints.entry(name.to_owned()).or_default();
        endpoint.kind = Some(kind);
        endpoint.tape = Some(tape);
        endpoint.site = Some(site).filter(|site| !site.is_empty() && site != "NULL");
    }

    fn records(mut self, now: Millis, sites: &Sites) -> Imported {
        if !self.has_names {
            let named = self.usage.keys().map(|name| (name.clone(), Endpoint::default()));
            self.endpoints = named.collect();
        }
        let (mut by_size, mut without, mut closed) = (0, 0, 0);
        self.imported.left_out.retain(|name| !self.inactive.contains(name));
        let mut endpoints = std::mem::take(&mut self.endpoints);
        endpoints.retain(|name, _| !self.inactive.contains(name));
        let known = endpoints.len();
        endpoints.retain(|name, _| !self.unreadable.contains(name));
        for (name, endpoint) in endpoints {
            let size = endpoint.tb.filter(|tb| *tb > 0.0).map(|tb| (tb * TB).round() as Bytes);
            let space = match (self.usage.get(&name), size) {
                (Some(space), _) => *space,
                (None, Some(size)) => {
                    by_size += 1;
                    Space { total: size, free: size, ..Space::default() }
                }
                (None, None) => {
                    without += 1;
                    if !self.has_usage {
                        self.imported.left_out.push(name);
                        continue;
                    }
                    Space::default()
                }
            };
            let services = self.services.get(&name).copied().unwrap_or_default();
            closed += usize::from(services != Services::default());
            let record = record(name, endpoint, space, services, now, sites);
            self.imported.records.push(Configuration::Storage(record));
        }
        if known == 0 && !self.services.is_empty() {
            let complaint = "a status alone names no endpoints: add CRIC's ddmendpoint";
            self.imported.complaints.push(complaint.to_owned());
        }
        let made = self.imported.records.len();
        let mut note = |note: String| self.imported.notes.push(note);
        note(format!("{made} of {known} endpoints; {closed} with a service that is closed"));
        if by_size > 0 {
            note(format!("{by_size} have a size alone, taken as free; {REMEDY}"));
        }
        match (without, self.has_usage) {
            (0, _) => {}
            (_, true) => note(format!("{without} are not in the usage: they have no free space")),
            (_, false) if made > 0 => note(format!("{without} have no size: left out; {REMEDY}")),
            (_, false) => self.imported.complaints.push(format!(
                "{without} endpoints, none with a figure of its space: none is written; {REMEDY}"
            )),
        }
        self.imported
    }
}

fn record(
    name: String,
    endpoint: Endpoint,
    space: Space,
    services: Services,
    now: Millis,
    sites: &Sites,
) -> Storage {
    let by_name = || name.rsplit_once('_').map_or("", |(_, kind)| kind).to_owned();
    let kind = endpoint.kind.unwrap_or_else(by_name);
    let tape = endpoint.tape.unwrap_or(kind.contains("TAPE"));
    let found = || sites.of(&name).map(|(site, _)| site.to_owned());
    let site = endpoint.site.or_else(found).unwrap_or_default();
    Storage {
        name,
        changed_at: now,
        site,
        kind,
        tape,
        total_bytes: space.total,
        free_bytes: space.free,
        expired_bytes: space.expired,
        min_free_bytes: space.min_free,
        unavailable_bytes: space.unavailable,
        read_lan: services.read_lan,
        write_lan: services.write_lan,
        read_wan: services.read_wan,
        write_wan: services.write_wan,
    }
}
