//! Users by their names where what is shown has pseudonyms.

use crate::cli::Usage;
use std::path::Path;
use std::sync::Arc;
use yardmaster_wire::pseudonym::Pseudonyms;
use yardmaster_wire::topology::PseudonymSettings;

/// Maker of pseudonyms, if a topology asks for them.
///
/// # Errors
/// The key cannot be read, is too short, or is not the one that the topology names. The text shows
/// nothing of it.
pub fn pseudonyms(settings: &PseudonymSettings) -> Result<Option<Arc<Pseudonyms>>, Usage> {
    if !settings.users {
        return Ok(None);
    }
    let (source, key) = match (&settings.key_file, &settings.key_env) {
        (Some(file), _) => (format!("key_file {file}"), read(Path::new(file))?),
        (None, Some(variable)) => (format!("key_env {variable}"), read_variable(variable)?),
        (None, None) => {
            let what = "[pseudonyms]: no key; name it with key_file or key_env";
            return Err(Usage(what.to_owned()));
        }
    };
    let pseudonyms =
        Pseudonyms::new(&key).map_err(|wrong| Usage(format!("[pseudonyms]: {source}: {wrong}")))?;
    let fingerprint = pseudonyms.fingerprint();
    match &settings.key_fingerprint {
        Some(wanted) if !wanted.eq_ignore_ascii_case(fingerprint) => Err(Usage(format!(
            "[pseudonyms]: {source} holds the key {fingerprint}, and key_fingerprint is {wanted}; \
             give the key of that fingerprint, or leave key_fingerprint out"
        ))),
        _ => Ok(Some(Arc::new(pseudonyms))),
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Usage> {
    let key = std::fs::read(path).map_err(|error| {
        let path = path.display();
        Usage(format!("[pseudonyms]: key_file {path}: {error}; name a readable file"))
    })?;
    Ok(key.trim_ascii_end().to_vec())
}

fn read_variable(name: &str) -> Result<Vec<u8>, Usage> {
    let value = std::env::var(name)
        .map_err(|_| Usage(format!("[pseudonyms]: key_env: {name} is not set; set it")))?;
    Ok(value.trim_end().as_bytes().to_vec())
}

/// A name that is looked for: as it is given and, where users have pseudonyms, as that of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sought {
    given: String,
    pseudonym: Option<String>,
}

impl Sought {
    /// A name, `user/NAME` for that of a user.
    pub fn new(given: &str, pseudonyms: Option<&Pseudonyms>) -> Sought {
        let pseudonym = pseudonyms.and_then(|pseudonyms| {
            let (kind, name) = match given.split_once('/') {
                Some((kind @ "user", name)) => (kind, name),
                Some(("group" | "task", _)) => return None,
                _ => ("", given),
            };
            let name = Some(pseudonyms.of(name)).filter(|name| !name.is_empty())?;
            Some(if kind.is_empty() { name } else { format!("{kind}/{name}") })
        });
        Sought { given: given.to_owned(), pseudonym }
    }

    /// Whether something has the name.
    pub fn is(&self, name: &str) -> bool {
        name == self.given || self.pseudonym.as_deref() == Some(name)
    }

    /// Whether something is so of the name.
    pub fn is_one_of(&self, is: impl Fn(&str) -> bool) -> bool {
        is(&self.given) || self.pseudonym.as_deref().is_some_and(is)
    }

    /// Prints to stderr what a user of that name would be looked for as.
    pub fn note(&self) {
        if let Some(pseudonym) = &self.pseudonym {
            eprintln!(
                "users have pseudonyms here: {} is looked for as {pseudonym} too",
                self.given
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_a_wrong_one_named_but_not_shown() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("key");
        let settings = |fingerprint: Option<&str>| PseudonymSettings {
            users: true,
            key_file: Some(file.to_str().unwrap().to_owned()),
            key_env: None,
            key_fingerprint: fingerprint.map(str::to_owned),
        };
        let error = pseudonyms(&settings(None)).unwrap_err().0;
        assert!(error.contains("key_file") && error.contains("readable file"), "{error}");
        std::fs::write(&file, "short-and-secret\n").unwrap();
        let error = pseudonyms(&settings(None)).unwrap_err().0;
        assert!(error.contains("16 bytes") && !error.contains("secret"), "{error}");
        std::fs::write(&file, "0123456789abcdef0123456789abcdef\n").unwrap();
        let found = pseudonyms(&settings(None)).unwrap().unwrap();
        assert_eq!(*found, Pseudonyms::new(b"0123456789abcdef0123456789abcdef").unwrap());
        assert!(pseudonyms(&settings(Some(found.fingerprint()))).unwrap().is_some());
        let error = pseudonyms(&settings(Some("0000000000000000"))).unwrap_err().0;
        assert!(error.contains(found.fingerprint()), "{error}");
        let off = PseudonymSettings { users: false, ..settings(None) };
        assert!(pseudonyms(&off).unwrap().is_none());
    }

    #[test]
    fn a_name_is_looked_for_as_that_of_a_user_too() {
        let made = Pseudonyms::new(&[1; 32]).unwrap();
        let jane = made.of("Jane Physicist");
        let sought = Sought::new("Jane Physicist", Some(&made));
        assert!(sought.is(&jane) && sought.is("Jane Physicist") && !sought.is(""));
        let sought = Sought::new("user/Jane Physicist", Some(&made));
        assert!(sought.is(&format!("user/{jane}")) && !sought.is(&jane));
        assert_eq!(Sought::new("group/phys", Some(&made)).pseudonym, None);
        assert_eq!(Sought::new("Jane Physicist", None).pseudonym, None);
        // A subject of a request is no user's name, and is found as it is.
        assert!(Sought::new("12345/3", Some(&made)).is("12345/3"));
    }
}
