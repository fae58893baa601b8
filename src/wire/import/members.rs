//! Members of a virtual organisation: users with their groups and roles, of INDIGO IAM (SCIM), of
//! VOMS Admin, or of a list by hand.

use super::field::Fields;
use super::{Imported, parse};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{Configuration, User, UserKind};
use yardmaster_core::unit::Millis;

/// Mark of a group of IAM that is a role of the group above it.
const ROLE_LABEL: &str = "voms.role";
/// Extension of a group in SCIM.
const IAM_GROUP: &str = "urn:indigo-dc:scim:schemas:IndigoGroup";
/// Before the login in a subject of CERN's.
const LOGIN: &str = "/OU=Users/CN=";

/// User records from texts given together: answers to `/scim/Users` of IAM, each a page, and to
/// `/scim/Groups`, of which labels name roles; users of VOMS Admin (`fqans`, `certificates`); or a
/// list of {name, groups, roles}. Groups are paths that begin with a slash, as VOMS has them
/// (`/cms/dcms`); a part `Role=X` is the role X. Users that are not active are left out.
///
/// # Errors
/// A text that is no list of users or groups.
pub fn members(texts: &[&str], now: Millis) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let lists = texts.iter().map(|text| list(text)).collect::<Result<Vec<_>, _>>()?;
    let things = || lists.iter().flat_map(|list| &list.things);
    note_lacking(&lists, &mut imported);
    let roles: BTreeSet<String> = things().filter_map(role_group).collect();
    let mut users: BTreeMap<String, User> = BTreeMap::new();
    let mut inactive = 0;
    for (at, thing) in things().enumerate().filter(|(_, thing)| !is_group(thing)) {
        let stated = ["userName", "name", "username"].iter().find_map(|it| thing[*it].as_str());
        let is_voms = thing.get("fqans").is_some();
        let name = if is_voms { login(thing) } else { stated.map(str::to_owned) };
        let what = stated.map_or(format!("user number {}", at + 1), |name| format!("user {name}"));
        let Some(fields) = Fields::of(what.clone(), None, thing, &mut imported) else { continue };
        // A list of other things has names too.
        let of_user = ["userName", "fqans", "groups", "roles"];
        if of_user.iter().all(|field| thing.get(*field).is_none()) {
            let why = format!("{what}: wants `groups` or `roles`; left out");
            imported.leave_out(None, why);
            continue;
        }
        let is_out = thing["active"] == false || thing["suspended"] == true;
        let paths = paths(&fields);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let wants = if is_voms { "a certificate whose subject has a login" } else { "a name" };
            imported.leave_out(None, format!("{what}: wants {wants}; left out"));
            continue;
        };
        if is_out {
            inactive += 1;
            continue;
        }
        let user = users.entry(name.clone()).or_insert_with(|| User {
            kind: UserKind::User,
            name,
            changed_at: now,
            ..User::default()
        });
        for path in paths {
            add(user, &path, &roles);
        }
        let stated = thing["roles"].as_array().into_iter().flatten().filter_map(Value::as_str);
        user.roles.extend(stated.map(str::to_owned));
    }
    for (_, mut user) in users {
        for names in [&mut user.groups, &mut user.roles] {
            names.sort_unstable();
            names.dedup();
        }
        imported.records.push(Configuration::User(user));
    }
    let count = imported.records.len();
    imported.notes.push(format!("{count} users, {inactive} that are not active left out"));
    Ok(imported)
}

/// Users or groups of a text.
struct Things {
    things: Vec<Value>,
    /// How many there are with those of other pages, where it is a page.
    total: Option<u64>,
}

fn list(text: &str) -> Result<Things, String> {
    match parse(text).map_err(|error| format!("members: not JSON: {error}"))? {
        Value::Array(things) => Ok(Things { things, total: None }),
        Value::Object(mut answer) => {
            let total = answer.get("totalResults").and_then(Value::as_u64);
            let things = ["Resources", "result", "users"].iter().find_map(|field| {
                match answer.get_mut(*field)?.take() {
                    Value::Array(list) => Some(list),
                    _ => None,
                }
            });
            let wants = "members: wants a list, or an answer with `Resources` or `result`";
            Ok(Things { things: things.ok_or(wants)?, total })
        }
        _ => Err("members: wants a list of users, or an answer of IAM or VOMS Admin".to_owned()),
    }
}

/// Names pages of users that were not given: IAM gives 100 at most in one. Nobody is known to be
/// gone then.
fn note_lacking(lists: &[Things], imported: &mut Imported) {
    let pages = || lists.iter().filter(|list| list.things.iter().any(|it| !is_group(it)));
    let total = pages().filter_map(|page| page.total).max().unwrap_or(0);
    let given: usize = pages().filter(|page| page.total.is_some()).map(|it| it.things.len()).sum();
    if (given as u64) < total {
        let why = format!(
            "members: {given} of {total} users are given: add the other pages (startIndex)"
        );
        imported.leave_out(None, why);
    }
}

fn is_group(thing: &Value) -> bool {
    thing.get("displayName").is_some() && thing.get("userName").is_none()
}

/// The path of a group that is a role.
fn role_group(thing: &Value) -> Option<String> {
    let labels = thing[IAM_GROUP]["labels"].as_array()?;
    let is_role = labels.iter().any(|label| label["name"] == ROLE_LABEL);
    let name = thing["displayName"].as_str()?;
    is_role.then(|| name.trim_start_matches('/').to_owned())
}

/// Groups of a user, with or without a slash before them.
fn paths(fields: &Fields<'_>) -> Vec<String> {
    let groups = ["fqans", "groups"].iter().find_map(|it| fields.field(it)?.as_array());
    let path = |group: &Value| {
        let stated = group.as_str().or_else(|| group["display"].as_str());
        stated.or_else(|| group["value"].as_str()).map(str::to_owned)
    };
    groups.into_iter().flatten().filter_map(path).collect()
}

/// A path of groups, or one that ends with a role.
fn add(user: &mut User, path: &str, roles: &BTreeSet<String>) {
    let path = path.trim_matches('/');
    if let Some((above, role)) = path.rsplit_once('/').filter(|_| roles.contains(path)) {
        user.roles.push(role.to_owned());
        user.groups.push(format!("/{above}"));
        return;
    }
    let mut group = String::new();
    for part in path.split('/') {
        match part.split_once('=') {
            Some(("Role", role)) if role != "NULL" => user.roles.push(role.to_owned()),
            Some(("Role" | "Capability", _)) => {}
            _ => group = format!("{group}/{part}"),
        }
    }
    if group.len() > 1 {
        user.groups.push(group);
    }
}

/// The login in a certificate's subject, as CERN writes it.
fn login(thing: &Value) -> Option<String> {
    let certificates = thing["certificates"].as_array()?;
    certificates.iter().find_map(|certificate| {
        let subject =
            ["subjectString", "subject", "dn"].iter().find_map(|it| certificate[*it].as_str())?;
        let (_, rest) = subject.split_once(LOGIN)?;
        let login = rest.split('/').next()?;
        Some(login.to_owned())
    })
}
