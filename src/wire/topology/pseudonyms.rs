//! `[pseudonyms]`: whether users are shown by pseudonyms, and where the key lies. The key itself is
//! never in the file.

use super::read::{Reader, Value};

/// Who is shown by a pseudonym, and where the key lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PseudonymSettings {
    /// Whether users are.
    pub users: bool,
    /// File that holds the key, alone.
    pub key_file: Option<String>,
    /// Environment variable that holds it instead.
    pub key_env: Option<String>,
    /// The key's fingerprint. In a topology that is published it stands in place of the key; in a
    /// file the key must have it.
    pub key_fingerprint: Option<String>,
}

const KEYS: [&str; 4] = ["users", "key_file", "key_env", "key_fingerprint"];

/// Reads the table; every mistake is a complaint.
pub(super) fn pseudonyms(reader: &mut Reader, value: Option<&Value<'_>>) -> PseudonymSettings {
    let mut found = PseudonymSettings::default();
    let Some(value) = value else { return found };
    let line = reader.line(&value.span());
    let Some(table) = reader.table(value, "pseudonyms") else { return found };
    reader.only(table, "[pseudonyms]", &KEYS);
    match table.get("users").map(|value| (value, value.get_ref().as_bool())) {
        Some((_, Some(flag))) => found.users = flag,
        Some((value, None)) => reader.complain_at(value, "pseudonyms.users", "true or false"),
        None => reader.complain(line, "no `users` in [pseudonyms]", "true or false"),
    }
    let PseudonymSettings { key_file, key_env, key_fingerprint, .. } = &mut found;
    let digits = |text: &str| text.len() == 16 && text.bytes().all(|it| it.is_ascii_hexdigit());
    let is_given: fn(&str) -> bool = |text| !text.is_empty();
    for (key, place, allowed, accepts) in [
        ("key_file", key_file, "the name of a file that holds the key, alone", is_given),
        ("key_env", key_env, "the name of an environment variable", is_given),
        ("key_fingerprint", key_fingerprint, "16 hex digits", digits),
    ] {
        if let Some(value) = table.get(key) {
            let text = reader.text(value, &format!("pseudonyms.{key}"), allowed, accepts);
            *place = text.map(str::to_owned);
        }
    }
    let keys = usize::from(found.key_file.is_some()) + usize::from(found.key_env.is_some());
    let is_published = keys == 0 && found.key_fingerprint.is_some();
    if keys > 1 || found.users && keys != 1 && !is_published {
        let what = format!("{keys} keys in [pseudonyms]");
        let allowed = "one of key_file, the name of a file that holds the key, and key_env, of an \
                       environment variable";
        reader.complain(line, what, allowed);
    }
    found
}
