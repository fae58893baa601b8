//! Sites of a pool of slots, of what is published of them together: the experiment's sites in CRIC,
//! the pledges of federations in WLCG's CRIC, capacities and statuses as CMS's site support writes
//! them, and settings by hand. Later texts hold over earlier ones.

use super::field::Fields;
use super::{Imported, name_of, parse};
use crate::loose;
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Site, SiteStatus, SlotQuota};
use yardmaster_core::unit::Millis;

/// Power of a core where none is stated; HS06.
const CORE_HS06: f64 = 10.0;
/// The experiment whose pledges count.
const VO: &str = "cms";
/// Ends of names of storage alone, which runs no jobs.
const STORAGE: [&str; 4] = ["_Disk", "_Buffer", "_Export", "_MSS"];

/// The things of a text, by their names.
type Things = Vec<(String, Value)>;

/// A site as it is known so far.
#[derive(Clone, Debug)]
struct Draft {
    /// Sites of WLCG that it consists of.
    rcsites: Vec<String>,
    federation: Option<String>,
    /// Its part of the federation's pledge.
    fraction: f64,
    pledge_hs06: Option<f64>,
    core_hs06: Option<f64>,
    quota: SlotQuota,
    pledged_slots: Option<i64>,
}

impl Default for Draft {
    /// With the defaults that the schema gives the fields of a quota set.
    fn default() -> Draft {
        let quota = SlotQuota {
            status: SiteStatus::Online,
            central_permille: 500,
            high_io_slots: 25,
            ..SlotQuota::default()
        };
        Draft {
            rcsites: Vec::new(),
            federation: None,
            fraction: 1.0,
            pledge_hs06: None,
            core_hs06: None,
            quota,
            pledged_slots: None,
        }
    }
}

/// Pledge of a federation.
#[derive(Clone, Debug, Default)]
struct Federation {
    rcsites: Vec<String>,
    hs06: f64,
}

/// Site records with quota sets from these texts: CRIC's `site/query` (`tier_level`,
/// `rcsite_state`, `rcsites`, `computeunits`), `federation/query` (`rcsites`, `pledges` by year and
/// quarter), capacities (`hs06_pledge`, `hs06_per_core`, `wlcg_federation_name` and `_fraction`),
/// statuses (`status`), and the fields of a quota set themselves. Pledged slots are the pledge over
/// the power of a core. All have revision 0, so that one published by hand with a higher revision
/// holds.
///
/// # Errors
/// A text that is no JSON object or list of things with names.
pub fn pool_sites(texts: &[&str], now: Millis) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let mut drafts: BTreeMap<String, Draft> = BTreeMap::new();
    let mut federations: BTreeMap<String, Federation> = BTreeMap::new();
    let mut is_listed = false;
    for text in texts {
        let things = things(text)?;
        let has = |field: &str| things.iter().any(|(_, thing)| thing.get(field).is_some());
        if has("pledges") {
            let read = |(name, it): &(String, Value)| federation(name, it, now, &mut imported);
            federations.extend(things.iter().filter_map(read));
        } else if has("tier_level") {
            is_listed = true;
            for (name, thing) in &things {
                list_site(name, thing, &mut drafts, &mut imported);
            }
        } else {
            for (name, thing) in &things {
                // One by hand states its tier. Where no list states the sites, those with a name of
                // CMS's are meant.
                let has_tier = thing.get("tier").is_some();
                let is_site = has_tier || !is_listed && tier_of(name).is_some();
                if !is_site && !drafts.contains_key(name) {
                    let why = "no site of the pool is known by that name; left out";
                    imported.complaints.push(format!("site {name}: {why}"));
                    continue;
                }
                settings(name, thing, drafts.entry(name.clone()).or_default(), &mut imported);
            }
        }
    }
    let sharing = sharing(&drafts, &federations);
    for (name, draft) in drafts {
        let record = record(&name, draft, &federations, &sharing, now, &mut imported);
        imported.records.push(Configuration::Site(record));
    }
    imported.notes.push(format!("{} sites", imported.records.len()));
    Ok(imported)
}

fn things(text: &str) -> Result<Things, String> {
    let found = parse(text).map_err(|error| format!("sites: not JSON: {error}"))?;
    // A record of a monitoring system has it in its `data`.
    let inner = |thing: Value| match thing.get("data") {
        Some(data) if data.is_object() => data.clone(),
        _ => thing,
    };
    let named = |thing: Value| {
        let thing = inner(thing);
        let name = thing.as_object().and_then(name_of).map(str::to_owned);
        name.map(|name| (name, thing)).ok_or("sites: an object without a `name` in the list")
    };
    match found {
        Value::Object(things) => Ok(things.into_iter().collect()),
        Value::Array(list) => {
            list.into_iter().map(named).collect::<Result<_, _>>().map_err(str::to_owned)
        }
        _ => {
            Err("sites: wants a JSON object by site, or a list of objects with a `name`".to_owned())
        }
    }
}

/// The tier in a name as CMS gives them: T2_DE_DESY. The first is T1 to a pool too.
fn tier_of(name: &str) -> Option<u32> {
    let mut letters = name.strip_prefix('T')?.chars();
    let tier = letters.next()?.to_digit(10).filter(|tier| *tier <= 3)?;
    (letters.next() == Some('_')).then_some(tier)
}

/// A site of the experiment, but for those of storage alone.
fn list_site(
    name: &str,
    thing: &Value,
    drafts: &mut BTreeMap<String, Draft>,
    imported: &mut Imported,
) {
    let units = thing.get("computeunits");
    let is_empty = |it: &Value| {
        it.as_object().is_some_and(Map::is_empty) || it.as_array().is_some_and(Vec::is_empty)
    };
    if STORAGE.iter().any(|end| name.ends_with(end)) || units.is_some_and(is_empty) {
        return;
    }
    let Some(mut fields) = Fields::of(format!("site {name}"), Some(name), thing, imported) else {
        return;
    };
    let tier = match fields.whole_if_set("tier_level", 0..=3) {
        Some(tier) => Some(tier as u32),
        None => tier_of(name),
    };
    if fields.is_left_out(name) {
        return;
    }
    let Some(tier) = tier else {
        fields.wrong("tier_level", &Value::Null, "a whole number 0..=3");
        fields.is_left_out(name);
        return;
    };
    let state = ["rcsite_state", "state"].iter().find_map(|it| thing.get(*it)?.as_str());
    let is_active = state.is_none_or(|state| state.eq_ignore_ascii_case("ACTIVE"));
    let draft = drafts.entry(name.to_owned()).or_default();
    draft.quota.tier = format!("T{}", tier.max(1));
    draft.quota.status = if is_active { SiteStatus::Online } else { SiteStatus::Offline };
    draft.rcsites = names(thing, &["rcsites", "rcsite", "rc_site", "rcsite_name"]);
}

/// Names in the first of these fields that is there: a list, the keys of an object, or one.
fn names(thing: &Value, fields: &[&str]) -> Vec<String> {
    match fields.iter().find_map(|it| thing.get(*it)) {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        Some(Value::Object(names)) => names.keys().cloned().collect(),
        _ => Vec::new(),
    }
}

/// A federation's pledge of the quarter: a year of pledges begins in April.
fn federation(
    key: &str,
    thing: &Value,
    now: Millis,
    imported: &mut Imported,
) -> Option<(String, Federation)> {
    // Of a text as 2025-10-09T08:53:20Z.
    let date = Timestamp::from_millisecond(now).ok()?.to_string();
    let number = |from: usize, until: usize| date.get(from..until)?.parse::<i64>().ok();
    let (year, month) = (number(0, 4)?, number(5, 7)?);
    let (year, month) = (year - i64::from(month < 4), (month + 8) % 12);
    let quarter = format!("Q{}", month / 3 + 1);
    let name = thing.get("name").and_then(Value::as_str).unwrap_or(key).to_owned();
    let pledge = &thing["pledges"][&year.to_string()][&quarter][VO];
    let cpu = pledge.get("CPU").filter(|cpu| !cpu.is_null())?;
    let Some(hs06) = loose::number_in(cpu).filter(|hs06| *hs06 >= 0.0) else {
        imported.complaints.push(format!(
            "federation {name}: field `pledges.{year}.{quarter}.{VO}.CPU`: found {cpu}, wants a \
             number, 0 or more; taken as not set"
        ));
        return None;
    };
    Some((name, Federation { rcsites: names(thing, &["rcsites"]), hs06 }))
}

/// Capacity, status and settings of a site.
fn settings(name: &str, thing: &Value, draft: &mut Draft, imported: &mut Imported) {
    if draft.quota.tier.is_empty() {
        draft.quota.tier = format!("T{}", tier_of(name).unwrap_or(3).max(1));
    }
    let Some(mut fields) = Fields::of(format!("site {name}"), Some(name), thing, imported) else {
        return;
    };
    let figure =
        |fields: &mut Fields<'_>, field: &str| fields.figure(field).filter(|figure| *figure >= 0.0);
    if let Some(hs06) = figure(&mut fields, "hs06_pledge") {
        draft.pledge_hs06 = Some(hs06);
    }
    if let Some(hs06) = figure(&mut fields, "hs06_per_core").filter(|hs06| *hs06 > 0.0) {
        draft.core_hs06 = Some(hs06);
    }
    if let Some(federation) = thing.get("wlcg_federation_name").and_then(Value::as_str) {
        draft.federation = Some(federation.to_owned());
        draft.fraction = figure(&mut fields, "wlcg_federation_fraction").unwrap_or(1.0);
    }
    if let Some(word) = thing.get("status").and_then(Value::as_str) {
        match status(word) {
            Some(status) => draft.quota.status = status,
            None => {
                let wants = "enabled, drain, test, disabled, or a word like these";
                fields.not_set("status", &thing["status"], wants);
            }
        }
    }
    let mut set = |field: &str, most: u32, into: &mut i64| {
        let Some(count) = fields.figure(field) else { return };
        match (0.0..=f64::from(most)).contains(&count) {
            true => *into = count as i64,
            false => {
                fields.not_set(field, &thing[field], &format!("a whole number 0..={most}"));
            }
        }
    };
    let quota = &mut draft.quota;
    set("overflow_slots", u32::MAX, &mut quota.overflow_slots);
    set("high_io_slots", u32::MAX, &mut quota.high_io_slots);
    set("central_permille", 1_000, &mut quota.central_permille);
    let (mut pledged, mut central) = (-1, -1);
    set("pledged_slots", u32::MAX, &mut pledged);
    set("central_slots", u32::MAX, &mut central);
    draft.pledged_slots = (pledged >= 0).then_some(pledged).or(draft.pledged_slots);
    quota.central_slots = (central >= 0).then_some(central).or(quota.central_slots);
    if let Some(tier) = thing.get("tier").and_then(Value::as_str) {
        tier.clone_into(&mut quota.tier);
    }
    if let Some(region) = thing.get("region").and_then(Value::as_str) {
        quota.region = Some(region.to_owned());
    }
}

/// A status, in words of CRIC, of CMS's site support, or of our own.
fn status(word: &str) -> Option<SiteStatus> {
    match word.to_ascii_lowercase().as_str() {
        "online" | "enabled" | "ok" | "active" => Some(SiteStatus::Online),
        "drain" | "waiting_room" => Some(SiteStatus::Drain),
        "test" => Some(SiteStatus::Test),
        "offline" | "disabled" | "down" | "morgue" => Some(SiteStatus::Offline),
        _ => None,
    }
}

/// By federation: how many sites have a part of its pledge that nobody states.
fn sharing(
    drafts: &BTreeMap<String, Draft>,
    federations: &BTreeMap<String, Federation>,
) -> BTreeMap<String, usize> {
    let mut sharing = BTreeMap::new();
    for draft in drafts.values().filter(|draft| draft.federation.is_none()) {
        for name in of(draft, federations).map(|(name, _)| name) {
            *sharing.entry(name.clone()).or_default() += 1;
        }
    }
    sharing
}

/// The federations that a site is of.
fn of<'a>(
    draft: &'a Draft,
    federations: &'a BTreeMap<String, Federation>,
) -> impl Iterator<Item = (&'a String, &'a Federation)> {
    let is_of = |it: &Federation| it.rcsites.iter().any(|rcsite| draft.rcsites.contains(rcsite));
    federations.iter().filter(move |(_, it)| is_of(it))
}

fn record(
    name: &str,
    draft: Draft,
    federations: &BTreeMap<String, Federation>,
    sharing: &BTreeMap<String, usize>,
    now: Millis,
    imported: &mut Imported,
) -> Site {
    let stated = draft.federation.as_ref().and_then(|federation| federations.get(federation));
    let mut hs06 = stated.map(|it| it.hs06 * draft.fraction).or(draft.pledge_hs06);
    if hs06.is_none() && draft.federation.is_none() {
        let shares = of(&draft, federations).map(|(federation, it)| {
            let sites = sharing.get(federation).copied().unwrap_or(1);
            if sites > 1 {
                imported.notes.push(format!(
                    "site {name}: the pledge of {federation} is divided equally among {sites} \
                     sites; capacities state the fractions"
                ));
            }
            it.hs06 / sites as f64
        });
        hs06 = shares.reduce(|one, other| one + other);
    }
    let slots = hs06.map(|hs06| (hs06 / draft.core_hs06.unwrap_or(CORE_HS06)).round() as i64);
    if slots.is_none() && draft.pledged_slots.is_none() && draft.quota.tier != "T3" {
        imported.complaints.push(format!(
            "site {name}: no pledge is known; taken as none: add WLCG's federations or capacities"
        ));
    }
    let quota = SlotQuota {
        pledged_slots: draft.pledged_slots.or(slots).unwrap_or(0),
        corepower_mhs06: draft.core_hs06.map_or(0, |hs06| (hs06 * 1_000.0).round() as i64),
        ..draft.quota
    };
    Site {
        name: name.to_owned(),
        changed_at: now,
        active: true,
        slot_quota: Some(quota),
        ..Site::default()
    }
}
