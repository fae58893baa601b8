//! Members of a virtual organisation: users with their groups and roles, of INDIGO IAM (SCIM), of
//! VOMS Admin, or of a list by hand.

use super::field::{Fields, show};
use super::{Imported, parse};
use crate::loose;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::event::{Configuration, User, UserKind, user_name};
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
/// (`/cms/dcms`), of which the first part is the virtual organisation; a part `Role=X` is the role
/// X. Users that are not active are left out, and so is
/// one of which any text states something that cannot be read.
///
/// # Errors
/// A text that is no list of users or groups, or a group of which it cannot be read whether it is a
/// role: that is of all who are in it.
pub fn members(texts: &[&str], now: Millis) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let lists = texts.iter().map(|text| list(text)).collect::<Result<Vec<_>, _>>()?;
    let things = || lists.iter().flat_map(|list| &list.things);
    note_lacking(&lists, &mut imported);
    let roles = things().map(role_group).filter_map(Result::transpose);
    let roles: BTreeSet<String> = roles.collect::<Result<_, _>>()?;
    let mut users: BTreeMap<String, User> = BTreeMap::new();
    let mut inactive = 0;
    for (at, thing) in things().enumerate().filter(|(_, thing)| !is_group(thing)) {
        let Some(member) = member(at, thing, &mut imported) else { continue };
        if member.is_out {
            inactive += 1;
            continue;
        }
        let user = users.entry(member.name.clone()).or_insert_with(|| User {
            kind: UserKind::User,
            name: member.name,
            changed_at: now,
            ..User::default()
        });
        for path in member.paths {
            add(user, &path, &roles);
        }
        user.roles.extend(member.roles);
    }
    users.retain(|name, _| !imported.left_out.contains(&user_name(UserKind::User, name)));
    for (_, mut user) in users {
        // The first part of a group is the organisation that has it.
        let vo = |group: &String| group.split('/').find(|it| !it.is_empty()).map(str::to_owned);
        user.vos.extend(user.groups.iter().filter_map(vo));
        for names in [&mut user.groups, &mut user.roles, &mut user.vos] {
            names.sort_unstable();
            names.dedup();
        }
        imported.records.push(Configuration::User(user));
    }
    let count = imported.records.len();
    imported.notes.push(format!("users: {count}; not active, and not imported: {inactive}"));
    Ok(imported)
}

/// A user, as one text has it.
struct Member {
    name: String,
    /// Whether it is a member no longer.
    is_out: bool,
    paths: Vec<String>,
    roles: Vec<String>,
}

/// The user that a thing is; `None`: it is left out.
fn member(at: usize, thing: &Value, imported: &mut Imported) -> Option<Member> {
    let stated = ["userName", "name", "username"].iter().find_map(|it| thing[*it].as_str());
    let is_voms = thing.get("fqans").is_some();
    let name = if is_voms { login(thing) } else { stated.map(str::to_owned) };
    let what = stated.map_or(format!("user number {}", at + 1), |name| format!("user {name}"));
    let mut fields = Fields::of(what.clone(), None, thing, imported)?;
    // A list of other things has names too.
    let of_user = ["userName", "fqans", "groups", "roles"];
    if of_user.iter().all(|field| thing.get(*field).is_none()) {
        let why = format!("{what}: wants `groups` or `roles`; left out");
        imported.leave_out(None, why);
        return None;
    }
    let (active, suspended) = (fields.flag_if_set("active"), fields.flag_if_set("suspended"));
    let is_out = active == Some(false) || suspended == Some(true);
    let (paths, roles) = (paths(&mut fields), roles(&mut fields));
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        let wants = if is_voms { "a certificate whose subject has a login" } else { "a name" };
        imported.leave_out(None, format!("{what}: wants {wants}; left out"));
        return None;
    };
    // Whatever else is stated of one that is gone, it is gone.
    if !is_out && fields.is_left_out(&user_name(UserKind::User, &name)) {
        return None;
    }
    Some(Member { name, is_out, paths, roles })
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
            let total = total(answer.get("totalResults").unwrap_or(&Value::Null))?;
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

/// How many users or groups there are in all pages, where that is stated.
fn total(stated: &Value) -> Result<Option<u64>, String> {
    let count = loose::whole_in(stated).and_then(|count| u64::try_from(count).ok());
    match count {
        None if !stated.is_null() => Err(format!(
            "members: field `totalResults`: found {}, wants a whole number",
            show(stated)
        )),
        count => Ok(count),
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

/// The path of a group, if it is a role.
fn role_group(thing: &Value) -> Result<Option<String>, String> {
    let labels = &thing[IAM_GROUP]["labels"];
    let name = &thing["displayName"];
    let wrong = |field: &str, found: &Value, wants: &str| {
        let (name, found) = (name.as_str().unwrap_or("without a name"), show(found));
        Err(format!("members: group {name}: field `{field}`: found {found}, wants {wants}"))
    };
    let is_role = match labels {
        Value::Null => false,
        Value::Array(labels) => labels.iter().any(|label| label["name"] == ROLE_LABEL),
        other => return wrong("labels", other, "a list"),
    };
    match name.as_str() {
        Some(name) => Ok(is_role.then(|| name.trim_start_matches('/').to_owned())),
        None if is_role => wrong("displayName", name, "a path of groups"),
        None => Ok(None),
    }
}

/// Groups of a user, with or without a slash before them.
fn paths(fields: &mut Fields<'_>) -> Vec<String> {
    let is_there = |it: &&str| fields.deep(&[*it]).is_some();
    let Some(field) = ["fqans", "groups"].into_iter().find(is_there) else { return Vec::new() };
    let path = |group: &Value| {
        let stated = group.as_str().or_else(|| group["display"].as_str());
        stated.or_else(|| group["value"].as_str()).map(str::to_owned)
    };
    each(fields, field, "a list of groups", |group| path(group).map(Some))
}

/// Roles that are stated by themselves; those of SCIM, objects, are of no use here.
fn roles(fields: &mut Fields<'_>) -> Vec<String> {
    each(fields, "roles", "a list of words", |role| match role {
        Value::String(role) => Some(Some(role.clone())),
        other => other.is_object().then_some(None),
    })
}

/// Names of what a list has, which need not be there; nothing where the list or a thing in it is
/// wrong.
fn each(
    fields: &mut Fields<'_>,
    field: &str,
    wants: &str,
    name: impl Fn(&Value) -> Option<Option<String>>,
) -> Vec<String> {
    let Some(value) = fields.deep(&[field]) else { return Vec::new() };
    let names = value.as_array().and_then(|list| list.iter().map(name).collect::<Option<Vec<_>>>());
    match names {
        Some(names) => names.into_iter().flatten().collect(),
        None => {
            fields.wrong(field, value, wants);
            Vec::new()
        }
    }
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
