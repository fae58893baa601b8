//! `docs/openapi.json`: every path, parameter and field of the HTTP API, from the routes and the types
//! of the answers. `UPDATE=1 cargo test --test it docs` writes it again.

use super::root;
use yardmaster::shell::api::openapi;

const FILE: &str = "docs/openapi.json";

#[test]
fn the_api_is_described_as_its_types_have_it() {
    let path = root().join(FILE);
    if std::env::var("UPDATE").is_ok_and(|it| it == "1") {
        std::fs::write(&path, openapi()).expect("written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let lines = (1..).zip(openapi().lines().zip(found.lines().chain(std::iter::repeat(""))));
    let first = lines.into_iter().find(|(_, (made, found))| made != found);
    assert!(
        found == openapi(),
        "{FILE} is not what the types of the answers say, first at {first:?}; write it again with \
         UPDATE=1 cargo test --test it docs"
    );
}
