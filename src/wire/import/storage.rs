//! Storage endpoints: space by queue (`site_info`), type and site by endpoint (`ddmendpoints`).

use super::field::{Fields, show};
use super::{Imported, Sites, object};
use crate::loose;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Storage};
use yardmaster_core::unit::{Bytes, Millis};

/// Bytes in the TB that storage services publish.
const TB: f64 = 1e12;

/// Figures of one endpoint in a dump.
#[derive(Default)]
struct Endpoint {
    tb: Option<f64>,
    kind: Option<String>,
    tape: Option<bool>,
    site: Option<String>,
    /// Whether its own entry cannot be read: of its size alone no record is made.
    is_wrong: bool,
}

/// Storage records from one or more dumps, each recognised by its shape: space by queue (`RSE`: TB
/// by endpoint) or a dump of endpoints (type, tape, site). Read them together: a record replaces
/// the one before it.
///
/// The space dump gives one figure for an endpoint, its size, and nothing of what is used: it is
/// taken as both total and free. An endpoint whose size is not stated (or is 0) is left out,
/// since a record without space would mean that it is full.
pub fn storage(texts: &[&str], now: Millis, sites: &Sites) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let mut endpoints: BTreeMap<String, Endpoint> = BTreeMap::new();
    let mut sites = sites.clone();
    for text in texts {
        let dump = object("storage", text)?;
        sites.learn_from(&dump);
        for (name, value) in &dump {
            if value.get("RSE").is_some() {
                read_space(name, value, &mut endpoints, &mut imported);
            } else {
                read_endpoint(name, value, &mut endpoints, &mut imported);
            }
        }
    }
    let known = endpoints.len();
    for (name, endpoint) in endpoints.into_iter().filter(|(_, endpoint)| !endpoint.is_wrong) {
        let Some(tb) = endpoint.tb.filter(|tb| *tb > 0.0) else {
            imported.left_out.push(name);
            continue;
        };
        imported.records.push(Configuration::Storage(record(name, endpoint, tb, now, &sites)));
    }
    let stated = imported.records.len();
    imported.notes.push(format!(
        "{stated} of {known} endpoints; the others have no figure for their size. The size is taken \
         as free space too: the dump does not have what is used"
    ));
    Ok(imported)
}

fn record(name: String, endpoint: Endpoint, tb: f64, now: Millis, sites: &Sites) -> Storage {
    let by_name = || name.rsplit_once('_').map_or("", |(_, kind)| kind).to_string();
    let kind = endpoint.kind.unwrap_or_else(by_name);
    let tape = endpoint.tape.unwrap_or(kind.contains("TAPE"));
    let found = || sites.of(&name).map(|(site, _)| site.to_string());
    let site = endpoint.site.or_else(found).unwrap_or_default();
    let size = (tb * TB).round() as Bytes;
    Storage {
        name,
        changed_at: now,
        site,
        kind,
        tape,
        total_bytes: size,
        free_bytes: size,
        read_lan: true,
        write_lan: true,
        read_wan: true,
        write_wan: true,
        ..Storage::default()
    }
}

/// Space by queue: the same endpoint stands under several queues.
fn read_space(
    queue: &str,
    value: &Value,
    endpoints: &mut BTreeMap<String, Endpoint>,
    imported: &mut Imported,
) {
    let empty = Map::new();
    let sizes = value["RSE"].as_object().unwrap_or_else(|| {
        let found = show(&value["RSE"]);
        let complaint =
            format!("queue {queue}: field `RSE`: found {found}, wants an object; left out");
        imported.leave_out(None, complaint);
        &empty
    });
    for (name, size) in sizes {
        match loose::number_in(size).filter(|tb| *tb >= 0.0) {
            Some(tb) => {
                let endpoint = endpoints.entry(name.clone()).or_default();
                endpoint.tb = Some(endpoint.tb.map_or(tb, |known| known.max(tb)));
            }
            None => {
                let complaint = format!(
                    "queue {queue}: field `RSE.{name}`: found {}, wants a size in TB; left out",
                    show(size)
                );
                imported.leave_out(Some(name.clone()), complaint);
            }
        }
    }
}

fn read_endpoint(
    name: &str,
    value: &Value,
    endpoints: &mut BTreeMap<String, Endpoint>,
    imported: &mut Imported,
) {
    let endpoint = endpoints.entry(name.to_string()).or_default();
    endpoint.is_wrong = true;
    let thing = format!("endpoint {name}");
    let Some(mut fields) = Fields::of(thing, Some(name), value, imported) else { return };
    let kind = fields.needed("type").to_string();
    let tape = fields.flag("is_tape");
    let site = fields.text("rc_site").to_string();
    if fields.is_left_out(name) {
        return;
    }
    endpoint.is_wrong = false;
    endpoint.kind = Some(kind);
    endpoint.tape = Some(tape);
    endpoint.site = Some(site).filter(|site| !site.is_empty() && site != "NULL");
}
