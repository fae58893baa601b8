//! The rooms of the core stand above each other: each names only those before it in one list. A
//! domain's part of a room, `domain/cms/judge`, stands as high as the room. That files in one room
//! import one way is seen by `circles`.

use super::circles::paths;
use super::{File, code_of, is_test_file, without_tests};

/// The rooms of the core, from the lowest. Those of one line may name each other: an event may be an
/// output that was read back.
const ROOMS: [&[&str]; 29] = [
    &["unit"],
    &["topic"],
    &["copy"],
    &["dice"],
    &["draw"],
    &["math"],
    &["xml"],
    &["xrsl"],
    &["budget"],
    &["id"],
    &["turns"],
    &["cut"],
    &["record"],
    &["content"],
    &["limits"],
    &["oddity"],
    &["event", "output"],
    &["plain"],
    &["command", "comparison"],
    &["difference"],
    &["state"],
    &["fold"],
    &["policy"],
    &["judge"],
    &["request", "govern"],
    &["engine"],
    &["explain", "view"],
    &["estimate"],
    &["lib"],
];

/// How high a room stands.
fn height(room: &str) -> Option<usize> {
    ROOMS.iter().position(|rooms| rooms.contains(&room))
}

/// The room of a file of the core; `None` for those that list the domains, or the rooms of one.
fn room(path: &str) -> Option<&str> {
    let path = path.strip_prefix("src/core/")?.strip_suffix(".rs")?;
    let mut parts = path.split('/');
    match parts.next()? {
        "domain" => parts.nth(1).filter(|room| *room != "mod"),
        room => Some(room),
    }
}

/// The room that a path names, as seen from `src`; `None`: it is of another crate.
fn named_room(path: &[String]) -> Option<&str> {
    let in_core = path.strip_prefix(&["core".to_owned()])?;
    let room = match in_core.first()?.as_str() {
        "domain" => in_core.get(2).filter(|room| *room != "self").map_or("domain", String::as_str),
        room => room,
    };
    Some(room)
}

/// Imports of the core from a room above their own, imports of a domain that name no room of it,
/// and files in a room that the list does not have.
pub(super) fn arrows_up(files: &[File]) -> Vec<String> {
    let mut found = Vec::new();
    for file in files.iter().filter(|file| !is_test_file(&file.path, files)) {
        let Some(own) = room(&file.path) else { continue };
        let Some(at) = height(own) else {
            found.push(file.complaint(0, format!("room `{own}` has no place in tidy/rooms.rs")));
            continue;
        };
        for path in paths(&file.path, &without_tests(&code_of(&file.text))) {
            let Some(named) = named_room(&path) else { continue };
            if named == "domain" {
                found.push(file.complaint(0, format!("`{own}` names a domain, and no room of it")));
            }
            if height(named).is_some_and(|height| height > at) {
                found
                    .push(file.complaint(0, format!("`{own}` names `{named}`, which is above it")));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

fn arrows_of(path: &str, text: &str) -> Vec<String> {
    arrows_up(&[File { path: path.to_owned(), text: text.to_owned() }])
}

#[test]
fn a_room_that_names_one_above_it_is_seen() {
    let up = arrows_of("src/core/state/model.rs", "use crate::request::Requests;");
    assert!(up[0].contains("`state` names `request`"), "{up:?}");
    let spelled =
        arrows_of("src/core/fold/mod.rs", "fn f() -> crate::judge::A { crate::judge::A }");
    assert!(spelled[0].contains("`fold` names `judge`"), "{spelled:?}");
    assert_eq!(arrows_of("src/core/judge/mod.rs", "use crate::state::State;"), [""; 0]);
    assert_eq!(arrows_of("src/core/event/mod.rs", "use crate::output::Output;"), [""; 0]);
    let own = "#[cfg(test)]\nmod tests { use crate::judge::A; }";
    assert_eq!(arrows_of("src/core/state/model.rs", own), [""; 0]);
    assert!(arrows_of("src/core/attic.rs", "")[0].contains("`attic`"));
    assert!(arrows_of("src/core/domain/cms/attic.rs", "")[0].contains("`attic`"));
    assert_eq!(arrows_of("src/drive/lead.rs", "use crate::follow::F;"), [""; 0]);
}

#[test]
fn a_room_of_a_domain_stands_as_high_as_the_room() {
    let state = "src/core/domain/cms/state/due.rs";
    let up = arrows_of(state, "use crate::judge::view::Grid;");
    assert!(up[0].contains("`state` names `judge`"), "{up:?}");
    let own = arrows_of(state, "use crate::domain::cms::{policy::Pool, state::PoolJob};");
    assert!(own.len() == 1 && own[0].contains("`state` names `policy`"), "{own:?}");
    let general = arrows_of("src/core/state/model.rs", "use crate::domain::cms::judge::Pool;");
    assert!(general[0].contains("`state` names `judge`"), "{general:?}");
    let below = "use crate::{domain::cms::state::PoolJob, policy::Policy};";
    assert_eq!(arrows_of("src/core/domain/cms/judge.rs", below), [""; 0]);
    let whole = arrows_of("src/core/engine.rs", "use crate::domain::cms;");
    assert!(whole[0].contains("names a domain, and no room of it"), "{whole:?}");
    let lists = ["src/core/domain/mod.rs", "src/core/domain/cms/mod.rs"];
    assert!(lists.iter().all(|path| arrows_of(path, "pub mod judge;").is_empty()));
}
