//! Tests of reading xRSL (spec cms-nordugrid B.9; of B.14 the scenarios TN-41 and TN-42).

#[cfg(test)]
mod arc;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod handover;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod meaning;
#[cfg(test)]
mod times;
#[cfg(test)]
mod versions;

use super::{Alternative, Description, Dialect, Value, read};

/// Reads a user's description that is right.
fn jobs(text: &str) -> Description {
    read(text, Dialect::User).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Reads a user's description of one job without alternatives.
fn only(text: &str) -> Alternative {
    let mut alternatives = alternatives(text);
    assert_eq!(alternatives.len(), 1, "{text}");
    alternatives.remove(0)
}

/// Reads a user's description of one job.
fn alternatives(text: &str) -> Vec<Alternative> {
    let mut read = jobs(text).jobs;
    assert_eq!(read.len(), 1, "{text}");
    read.remove(0)
}

/// The strings of an attribute, in every mention.
fn strings<'a>(alternative: &'a Alternative, name: &str) -> Vec<&'a str> {
    let named = alternative.attributes.iter().filter(|it| it.name == name);
    let texts = named.flat_map(|it| &it.values).map(|value| match value {
        Value::Text(text) => text.as_str(),
        Value::List(_) => panic!("a list in {name}"),
    });
    texts.collect()
}
