//! The schema registry as the topology file gives it: where it is, how subjects are named, and
//! where the password lies. The password itself is never in the file.

use super::read::{Reader, Value};
use toml::de::DeValue;

/// How a schema's subject is named in a registry (Confluent's serializers have the same three).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// `<topic>-value`.
    TopicName,
    /// The record's full name.
    RecordName,
    /// `<topic>-<record's full name>`.
    TopicRecordName,
}

impl Strategy {
    const WORDS: [(&'static str, Strategy); 3] = [
        ("TopicNameStrategy", Strategy::TopicName),
        ("RecordNameStrategy", Strategy::RecordName),
        ("TopicRecordNameStrategy", Strategy::TopicRecordName),
    ];

    /// The subject of a record's schema on a topic, both by their full names.
    pub fn subject(self, topic: &str, record: &str) -> String {
        match self {
            Strategy::TopicName => format!("{topic}-value"),
            Strategy::RecordName => record.to_owned(),
            Strategy::TopicRecordName => format!("{topic}-{record}"),
        }
    }
}

/// A schema registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Base addresses of one registry's servers, tried in turn; without a slash at the end.
    pub urls: Vec<String>,
    /// How subjects are named.
    pub strategy: Strategy,
    /// For basic authentication.
    pub username: Option<String>,
    /// File that holds the password, alone.
    pub password_file: Option<String>,
    /// Environment variable that holds it instead.
    pub password_env: Option<String>,
    /// File of PEM certificates to trust instead of the system's.
    pub ca_file: Option<String>,
}

const KEYS: [&str; 6] =
    ["urls", "strategy", "username", "password_file", "password_env", "ca_file"];

const URL: &str = "http:// or https://, a host, perhaps a port and a path; no user or password, \
                   which belong into username and password_file";

/// Reads the table; every mistake is a complaint.
pub(super) fn registry(reader: &mut Reader, value: &Value<'_>) -> Option<Registry> {
    let table = reader.table(value, "registry")?;
    let line = reader.line(&value.span());
    reader.only(table, "[registry]", &KEYS);
    let mut registry = Registry {
        urls: Vec::new(),
        strategy: Strategy::TopicName,
        username: None,
        password_file: None,
        password_env: None,
        ca_file: None,
    };
    match table.get("urls") {
        Some(value) => registry.urls = urls(reader, value),
        None => reader.complain(line, "no `urls` in [registry]", "a list of addresses"),
    }
    if let Some(value) = table.get("strategy") {
        let strategy = reader.word(value, "registry.strategy", &Strategy::WORDS);
        registry.strategy = strategy.unwrap_or(registry.strategy);
    }
    let Registry { username, password_file, password_env, ca_file, .. } = &mut registry;
    for (key, place, allowed) in [
        ("username", username, "a name"),
        ("password_file", password_file, "the name of a file that holds the password, alone"),
        ("password_env", password_env, "the name of an environment variable"),
        ("ca_file", ca_file, "the name of a file of PEM certificates"),
    ] {
        if let Some(value) = table.get(key) {
            let text =
                reader.text(value, &format!("registry.{key}"), allowed, |text| !text.is_empty());
            *place = text.map(str::to_owned);
        }
    }
    let passwords = [&registry.password_file, &registry.password_env];
    let passwords = passwords.into_iter().flatten().count();
    if passwords != usize::from(registry.username.is_some()) {
        let found = format!(
            "username {}, passwords {passwords}",
            if registry.username.is_some() { "given" } else { "not given" }
        );
        let allowed = "a username with one of password_file and password_env, or none of the three";
        reader.complain(line, found, allowed);
    }
    Some(registry)
}

fn urls(reader: &mut Reader, value: &Value<'_>) -> Vec<String> {
    let DeValue::Array(list) = value.get_ref() else {
        reader.complain_at(value, "registry.urls", format!("a list of addresses: {URL}"));
        return Vec::new();
    };
    if list.is_empty() {
        reader.complain_at(value, "registry.urls", "at least one address");
    }
    let mut urls = Vec::new();
    for value in list {
        match value.get_ref().as_str() {
            Some(url) if is_url(url) => urls.push(url.trim_end_matches('/').to_owned()),
            // What is wrong with it may be a password in it.
            Some(url) if url.contains('@') => {
                let line = reader.line(&value.span());
                reader.complain(line, "registry.urls: an address with `@`", URL);
            }
            _ => reader.complain_at(value, "registry.urls", URL),
        }
    }
    urls
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"@?#\"<>\\".contains(&byte);
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && rest.bytes().all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_named_as_confluents_serializers_name_them() {
        let named = |strategy: Strategy| strategy.subject("jobs", "yardmaster.JobState");
        assert_eq!(named(Strategy::TopicName), "jobs-value");
        assert_eq!(named(Strategy::RecordName), "yardmaster.JobState");
        assert_eq!(named(Strategy::TopicRecordName), "jobs-yardmaster.JobState");
    }

    #[test]
    fn an_address_has_a_host_and_no_password() {
        for url in ["http://a", "https://a.b:8081/apis/ccompat/v7", "http://[::1]:80/"] {
            assert!(is_url(url), "{url}");
        }
        for url in ["", "a:8081", "http://", "http:///x", "http://u:p@h", "http://a b", "ftp://a"] {
            assert!(!is_url(url), "{url}");
        }
    }
}
