//! Sites of a pool of slots, of what is published of them together: the experiment's sites in CRIC,
//! the pledges of federations in WLCG's CRIC, capacities and statuses as CMS's site support writes
//! them, and settings by hand. Later texts hold over earlier ones.

use super::field::Fields;
use super::pledges::{Federations, federation, names};
use super::{Imported, name_of, parse};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use yardmaster_core::event::{Configuration, Site, SiteStatus, SlotQuota};
use yardmaster_core::unit::Millis;

/// Power of a core where none is stated; HS06.
const CORE_HS06: f64 = 10.0;
/// Most power of a core; HS06.
const CORE_HS06_MAX: f64 = 1e6;
/// Most slots of a site, and most HS06 of them.
const SLOTS_MAX: u32 = u32::MAX;
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
    /// Something that a text states of it cannot be read: what was published of it holds.
    is_wrong: bool,
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
            is_wrong: false,
        }
    }
}

/// Site records with quota sets from these texts: CRIC's `site/query` (`tier_level`,
/// `rcsite_state`, `rcsites`, `computeunits`), `federation/query` (`rcsites`, `pledges` by year and
/// quarter), capacities (`hs06_pledge`, `hs06_per_core`, `wlcg_federation_name` and `_fraction`),
/// statuses (`status`), and the fields of a quota set themselves. Pledged slots are the pledge over
/// the power of a core. All have revision 0, so that one published by hand with a higher revision
/// holds. A site of which any text states something that cannot be read is left out.
///
/// # Errors
/// A text that is no JSON object or list of things with names.
pub fn pool_sites(texts: &[&str], now: Millis) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let mut drafts: BTreeMap<String, Draft> = BTreeMap::new();
    let mut federations = Federations::new();
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
        if draft.is_wrong {
            if !imported.left_out.contains(&name) {
                imported.note_left_out(Some(name));
            }
            continue;
        }
        match record(&name, draft, &federations, &sharing, now, &mut imported) {
            Ok(record) => imported.records.push(Configuration::Site(record)),
            Err(why) => {
                imported.leave_out(Some(name.clone()), format!("site {name}: {why}; left out"))
            }
        }
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
    let draft = drafts.entry(name.to_owned()).or_default();
    let Some(mut fields) = Fields::of(format!("site {name}"), Some(name), thing, imported) else {
        draft.is_wrong = true;
        return;
    };
    let stated = fields.whole_if_set("tier_level", 0..=3).map(|tier| tier as u32);
    match stated.or_else(|| tier_of(name)) {
        Some(tier) => draft.quota.tier = format!("T{}", tier.max(1)),
        None => fields.wrong("tier_level", &Value::Null, "a whole number 0..=3"),
    }
    let state = ["rcsite_state", "state"].iter().find_map(|it| fields.word_if_set(it));
    let is_active = state.is_none_or(|state| state.eq_ignore_ascii_case("ACTIVE"));
    draft.quota.status = if is_active { SiteStatus::Online } else { SiteStatus::Offline };
    match names(thing, &["rcsites", "rcsite", "rc_site", "rcsite_name"]) {
        Ok(rcsites) => draft.rcsites = rcsites,
        Err((field, found, wants)) => fields.wrong(&field, found, wants),
    }
    draft.is_wrong |= fields.has_wrong();
}

/// Capacity, status and settings of a site.
fn settings(name: &str, thing: &Value, draft: &mut Draft, imported: &mut Imported) {
    if draft.quota.tier.is_empty() {
        draft.quota.tier = format!("T{}", tier_of(name).unwrap_or(3).max(1));
    }
    let Some(mut fields) = Fields::of(format!("site {name}"), Some(name), thing, imported) else {
        draft.is_wrong = true;
        return;
    };
    let hs06 = fields.number_if_set("hs06_pledge", f64::from(SLOTS_MAX));
    draft.pledge_hs06 = hs06.or(draft.pledge_hs06);
    // A power of 0 is none.
    let core_hs06 = fields.number_if_set("hs06_per_core", CORE_HS06_MAX).filter(|it| *it > 0.0);
    draft.core_hs06 = core_hs06.or(draft.core_hs06);
    let fraction = fields.number_if_set("wlcg_federation_fraction", 1.0);
    if let Some(federation) = fields.word_if_set("wlcg_federation_name") {
        draft.federation = Some(federation.to_owned());
        draft.fraction = fraction.unwrap_or(1.0);
    }
    let quota = &mut draft.quota;
    if let Some(word) = fields.word_if_set("status") {
        match status(word) {
            Some(status) => quota.status = status,
            None => {
                let wants = "enabled, drain, test, disabled, or a word like these";
                fields.wrong("status", &thing["status"], wants);
            }
        }
    }
    let mut count = |field: &str, most: u32| fields.whole_if_set(field, 0..=i64::from(most));
    quota.overflow_slots = count("overflow_slots", SLOTS_MAX).unwrap_or(quota.overflow_slots);
    quota.high_io_slots = count("high_io_slots", SLOTS_MAX).unwrap_or(quota.high_io_slots);
    quota.central_permille = count("central_permille", 1_000).unwrap_or(quota.central_permille);
    draft.pledged_slots = count("pledged_slots", SLOTS_MAX).or(draft.pledged_slots);
    quota.central_slots = count("central_slots", SLOTS_MAX).or(quota.central_slots);
    if let Some(tier) = fields.word_if_set("tier") {
        tier.clone_into(&mut quota.tier);
    }
    if let Some(region) = fields.word_if_set("region") {
        quota.region = Some(region.to_owned());
    }
    draft.is_wrong |= fields.has_wrong();
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
fn sharing(drafts: &BTreeMap<String, Draft>, federations: &Federations) -> BTreeMap<String, usize> {
    let mut sharing = BTreeMap::new();
    for draft in drafts.values().filter(|draft| draft.federation.is_none()) {
        for (name, _) in of(draft, federations) {
            *sharing.entry(name.clone()).or_default() += 1;
        }
    }
    sharing
}

/// The federations that a site is of, each with its pledge if that can be read.
fn of<'a>(
    draft: &'a Draft,
    federations: &'a Federations,
) -> impl Iterator<Item = (&'a String, Option<f64>)> {
    let is_of = |rcsites: &Vec<String>| rcsites.iter().any(|it| draft.rcsites.contains(it));
    let found = federations.iter().filter(move |(_, it)| it.rcsites.as_ref().is_some_and(is_of));
    found.map(|(name, it)| (name, it.hs06))
}

/// A site's pledge, HS06; `None`: none is known. The error: it cannot be read.
fn pledge(
    name: &str,
    draft: &Draft,
    federations: &Federations,
    sharing: &BTreeMap<String, usize>,
    imported: &mut Imported,
) -> Result<Option<f64>, String> {
    let unread = |federation: &str| format!("the pledge of {federation} cannot be read");
    if let Some(federation) = &draft.federation {
        let Some(stated) = federations.get(federation) else { return Ok(draft.pledge_hs06) };
        let hs06 = stated.hs06.ok_or_else(|| unread(federation))?;
        return Ok(Some(hs06 * draft.fraction));
    }
    if draft.pledge_hs06.is_some() {
        return Ok(draft.pledge_hs06);
    }
    let mut sum = None;
    for (federation, hs06) in of(draft, federations) {
        let hs06 = hs06.ok_or_else(|| unread(federation))?;
        let sites = sharing.get(federation).copied().unwrap_or(1);
        if sites > 1 {
            imported.notes.push(format!(
                "site {name}: the pledge of {federation} is divided equally among {sites} sites; \
                 capacities state the fractions"
            ));
        }
        sum = Some(sum.unwrap_or(0.0) + hs06 / sites as f64);
    }
    let mut unread = federations.iter().filter(|(_, it)| it.rcsites.is_none());
    match unread.next() {
        Some((federation, _)) if sum.is_none() && !draft.rcsites.is_empty() => {
            Err(format!("no pledge is known, and the sites of {federation} cannot be read"))
        }
        _ => Ok(sum),
    }
}

/// The record of a site; the error: why none can be made.
fn record(
    name: &str,
    draft: Draft,
    federations: &Federations,
    sharing: &BTreeMap<String, usize>,
    now: Millis,
    imported: &mut Imported,
) -> Result<Site, String> {
    let pledged_slots = match draft.pledged_slots {
        Some(slots) => slots,
        None => match pledge(name, &draft, federations, sharing, imported)? {
            Some(hs06) => slots(hs06, draft.core_hs06.unwrap_or(CORE_HS06))?,
            None if draft.quota.tier == "T3" => 0,
            None => {
                imported.complaints.push(format!(
                    "site {name}: no pledge is known; taken as none: add WLCG's federations or \
                     capacities"
                ));
                0
            }
        },
    };
    let quota = SlotQuota {
        pledged_slots,
        corepower_mhs06: draft.core_hs06.map_or(0, |hs06| (hs06 * 1_000.0).round() as i64),
        ..draft.quota
    };
    Ok(Site {
        name: name.to_owned(),
        changed_at: now,
        active: true,
        slot_quota: Some(quota),
        ..Site::default()
    })
}

/// The slots of a pledge.
fn slots(hs06: f64, core_hs06: f64) -> Result<i64, String> {
    let slots = (hs06 / core_hs06).round();
    match slots <= f64::from(SLOTS_MAX) {
        true => Ok(slots as i64),
        false => Err(format!(
            "a pledge of {hs06} HS06 at {core_hs06} for a core is {slots} slots, wants at most \
             {SLOTS_MAX}"
        )),
    }
}
