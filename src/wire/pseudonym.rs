//! Pseudonyms of users: `user-` and 16 hex digits of HMAC-SHA-256 of the name, under a key that is
//! not in the topology.
//!
//! A record that names a person is rewritten before it is read: whatever is folded from it carries
//! the pseudonym. Working groups are no persons.

use crate::record::person;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use yardmaster_core::cut::Topic;

/// How short a key may be; bytes.
pub const KEY_BYTES_MIN: usize = 32;
/// How long a pseudonym is; bytes.
const PSEUDONYM_BYTES: usize = 5 + 16;
/// Most pseudonyms that are kept; then the keeping begins again.
const KNOWN_MAX: usize = 100_000;
/// Text whose pseudonym is a key's fingerprint. No user has a name with a zero in it.
const OF_KEY: &[u8] = b"\0key of pseudonyms";

/// Maker of pseudonyms under one key.
#[derive(Clone)]
pub struct Pseudonyms {
    /// SHA-256 after the key's inner block, and after its outer block.
    inner: Sha256,
    outer: Sha256,
    fingerprint: String,
}

/// Pseudonyms that were made, by the name.
#[derive(Clone, Default)]
pub struct KnownPseudonyms {
    /// Of the key that they were made under.
    fingerprint: String,
    known: HashMap<Box<str>, [u8; PSEUDONYM_BYTES]>,
}

/// The pseudonym of a person, and where it belongs.
pub(crate) struct Renamed {
    /// Where the name lies in the datum, its length included; bytes.
    pub at: Range<usize>,
    pseudonym: [u8; PSEUDONYM_BYTES],
}

impl Renamed {
    /// The pseudonym.
    pub fn pseudonym(&self) -> &str {
        text(&self.pseudonym)
    }
}

/// A key that is too short; with its length in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a key of {0} bytes; allowed: at least {KEY_BYTES_MIN}, such as `openssl rand -hex 32` prints"
)]
pub struct KeyTooShort(pub usize);

impl Pseudonyms {
    /// Pseudonyms under a key.
    ///
    /// # Errors
    /// The key is shorter than [`KEY_BYTES_MIN`].
    pub fn new(key: &[u8]) -> Result<Pseudonyms, KeyTooShort> {
        if key.len() < KEY_BYTES_MIN {
            return Err(KeyTooShort(key.len()));
        }
        Ok(Pseudonyms::of_key(key))
    }

    fn of_key(key: &[u8]) -> Pseudonyms {
        let (inner, outer) = blocks(key);
        let start = |block: [u8; BLOCK]| Sha256::new().chain_update(block);
        let (inner, outer) = (start(inner), start(outer));
        let mut pseudonyms = Pseudonyms { inner, outer, fingerprint: String::new() };
        pseudonyms.fingerprint = hex::encode(&pseudonyms.mac(OF_KEY)[..8]);
        pseudonyms
    }

    /// Fingerprint of the key, which does not show the key itself: 16 hex digits.
    pub fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// The pseudonym of a name; an empty name stays empty.
    pub fn of(&self, name: &str) -> String {
        if name.is_empty() { String::new() } else { text(&self.make(name)).to_owned() }
    }

    /// Whether a name has the form of a pseudonym.
    pub fn is_pseudonym(name: &str) -> bool {
        let digits = name.strip_prefix(PREFIX).filter(|_| name.len() == PSEUDONYM_BYTES);
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        digits.is_some_and(|digits| digits.bytes().all(is_digit))
    }

    /// Where a datum of a topic's current schema names a person, and the pseudonym that belongs
    /// there; `None` if it names none, or cannot be read so far.
    #[inline]
    pub(crate) fn find(
        &self,
        topic: Topic,
        datum: &[u8],
        names: &mut KnownPseudonyms,
    ) -> Option<Renamed> {
        let person = person(topic, datum)?;
        Some(Renamed { at: person.at, pseudonym: self.known(person.name, names) })
    }

    /// Appends the key of a record that is removed, with the pseudonym of the person it names.
    /// Returns `false`, with nothing appended, if it names none.
    pub(crate) fn rewrite_key(
        &self,
        topic: Topic,
        key: &str,
        names: &mut KnownPseudonyms,
        out: &mut Vec<u8>,
    ) -> bool {
        let found = match topic {
            Topic::User => key.strip_prefix(USER).map(|name| (USER, name, "")),
            // An expression has no blanks, a name may.
            Topic::Quota => key.strip_prefix(USER).map(|rest| {
                let (name, after) = rest.rfind(' ').map_or((rest, ""), |at| rest.split_at(at));
                (USER, name, after)
            }),
            // Nor has a queue.
            Topic::UserShare => key.split_inclusive(' ').next().map(|queue| {
                let name = key.get(queue.len()..).unwrap_or_default();
                (queue, name, "")
            }),
            _ => None,
        };
        let Some((before, name, after)) = found.filter(|(_, name, _)| !name.is_empty()) else {
            return false;
        };
        for part in [before, text(&self.known(name, names)), after] {
            out.extend_from_slice(part.as_bytes());
        }
        true
    }

    fn known(&self, name: &str, names: &mut KnownPseudonyms) -> [u8; PSEUDONYM_BYTES] {
        if names.fingerprint != self.fingerprint || names.known.len() >= KNOWN_MAX {
            names.known.clear();
            names.fingerprint.clone_from(&self.fingerprint);
        }
        if let Some(known) = names.known.get(name) {
            return *known;
        }
        let made = self.make(name);
        names.known.insert(name.into(), made);
        made
    }

    fn make(&self, name: &str) -> [u8; PSEUDONYM_BYTES] {
        let mut made = *b"user-0000000000000000";
        let digits = hex::encode(&self.mac(name.as_bytes())[..8]);
        made[USER.len()..].copy_from_slice(digits.as_bytes());
        made
    }

    fn mac(&self, message: &[u8]) -> [u8; 32] {
        let inner = self.inner.clone().chain_update(message).finalize();
        self.outer.clone().chain_update(inner).finalize().into()
    }
}

/// Prefix of a pseudonym.
const PREFIX: &str = "user-";
/// Prefix of the key of a user's record; as long as that of a pseudonym.
const USER: &str = "user/";
/// The length of SHA-256's blocks; bytes.
const BLOCK: usize = 64;

/// The blocks of a key that HMAC puts before what is hashed first and last (RFC 2104). Written out
/// here, since it is all there is to it and midstates are kept; RFC 4231 has the tests.
fn blocks(key: &[u8]) -> ([u8; BLOCK], [u8; BLOCK]) {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    (block.map(|byte| byte ^ 0x36), block.map(|byte| byte ^ 0x5c))
}

fn text(made: &[u8; PSEUDONYM_BYTES]) -> &str {
    // cannot fail: it is made of ASCII.
    std::str::from_utf8(made).unwrap_or_default()
}

impl PartialEq for Pseudonyms {
    fn eq(&self, other: &Pseudonyms) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl fmt::Debug for Pseudonyms {
    /// Without the key.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Pseudonyms").field("fingerprint", &self.fingerprint).finish()
    }
}

impl fmt::Debug for KnownPseudonyms {
    /// Without the names.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Names").field("count", &self.known.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
