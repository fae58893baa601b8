//! Secrets come from files and from the environment: a command line is seen by everybody on the
//! machine, a topology is shown around. No message shows one.

use crate::cli::Usage;
use crate::kafka::is_secret;
use std::collections::BTreeMap;

/// Variables of the environment that set a property where nothing else does.
const VARIABLES: [(&str, &str); 2] = [
    ("YARDMASTER_SASL_PASSWORD", "sasl.password"),
    ("YARDMASTER_SSL_KEY_PASSWORD", "ssl.key.password"),
];

/// Names of the variables of the environment that hold secrets.
pub fn variables() -> [&'static str; 2] {
    VARIABLES.map(|(variable, _)| variable)
}

/// Refuses a secret that stands where others read it. `source` is where it was found.
pub fn is_hidden(name: &str, value: &str, source: &str) -> Result<(), Usage> {
    if !is_secret(name) || reference(value).is_some() {
        return Ok(());
    }
    let variable = VARIABLES.iter().find(|(_, property)| *property == name);
    let variable = variable.map(|(variable, _)| format!(", or set {variable}"));
    Err(Usage(format!(
        "{source}: {name} is a secret, and others can read it there; put it into the file of \
         --command-config, or give {name}=${{file:PATH}} or ${{env:NAME}}{}",
        variable.unwrap_or_default()
    )))
}

/// Puts contents in place of `${file:PATH}` and `${env:NAME}`, and adds what the environment
/// says.
pub fn resolve(properties: &mut BTreeMap<String, String>) -> Result<(), Usage> {
    for (variable, property) in VARIABLES {
        if let Ok(value) = std::env::var(variable) {
            properties.entry(property.to_owned()).or_insert(value);
        }
    }
    for (name, value) in properties {
        if let Some(content) = content(name, value)? {
            *value = content;
        }
    }
    Ok(())
}

/// A header of HTTP as it is given on a command line, `NAME: VALUE`, with the content of what the
/// value refers to.
///
/// # Errors
/// No colon, a reference to what is not there, or a value that is secret and stands there as it is.
pub fn header(text: &str) -> Result<(String, String), Usage> {
    // What stands there may be half a secret, so it is not shown.
    let (name, value) = text.split_once(':').ok_or_else(|| {
        Usage("--header: found no `:` after a name; give 'NAME: VALUE'".to_owned())
    })?;
    let (name, value) = (name.trim(), value.trim());
    if let Some(content) = content(name, value)? {
        return Ok((name.to_owned(), content));
    }
    let small = name.to_ascii_lowercase();
    if ["auth", "token", "cookie", "key"].iter().any(|part| small.contains(part)) {
        return Err(Usage(format!(
            "--header: {name} is a secret, and others can read it there; give \
             '{name}: ${{file:PATH}}' or '{name}: ${{env:NAME}}'"
        )));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// The content of what a value refers to; `None`: it refers to nothing.
fn content(name: &str, value: &str) -> Result<Option<String>, Usage> {
    let content = match reference(value) {
        None => return Ok(None),
        Some(("file", path)) => std::fs::read_to_string(path).map_err(|error| {
            Usage(format!("{name} from the file {path}: {error}; name a readable file"))
        })?,
        Some((_, variable)) => std::env::var(variable).map_err(|_| {
            Usage(format!("{name} from the environment: {variable} is not set; set it"))
        })?,
    };
    Ok(Some(content.trim_end_matches(['\r', '\n']).to_owned()))
}

/// The reference in a value, `file` or `env` with a name, if it is one.
fn reference(value: &str) -> Option<(&str, &str)> {
    let inner = value.strip_prefix("${")?.strip_suffix('}')?;
    inner.split_once(':').filter(|(kind, _)| matches!(*kind, "file" | "env"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stands_in_no_place_that_others_read() {
        let refused = is_hidden("sasl.password", "hush", "-X").unwrap_err().0;
        for part in ["-X", "--command-config", "${file:PATH}", "YARDMASTER_SASL_PASSWORD"] {
            assert!(refused.contains(part), "{refused}");
        }
        assert!(!refused.contains("hush"), "{refused}");
        assert!(is_hidden("sasl.password", "${file:/run/secret}", "-X").is_ok());
        assert!(is_hidden("sasl.password", "${env:SECRET}", "-X").is_ok());
        assert!(is_hidden("sasl.password", "${else:SECRET}", "-X").is_err());
        assert!(is_hidden("sasl.username", "me", "-X").is_ok());
    }

    #[test]
    fn references_are_followed() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("secret");
        std::fs::write(&file, "hush\n").unwrap();
        let value = |name: &str, value: String| BTreeMap::from([(name.to_owned(), value)]);
        let mut one = value("sasl.password", format!("${{file:{}}}", file.display()));
        resolve(&mut one).unwrap();
        assert_eq!(one["sasl.password"], "hush");
        let gone = format!("${{file:{}}}", dir.path().join("gone").display());
        let error = resolve(&mut value("sasl.password", gone)).unwrap_err().0;
        assert!(error.contains("sasl.password") && error.contains("gone"), "{error}");
        let unset = "${env:YARDMASTER_NOBODY_SETS_THIS}".to_owned();
        let error = resolve(&mut value("ssl.key.password", unset)).unwrap_err().0;
        assert!(error.contains("YARDMASTER_NOBODY_SETS_THIS is not set"), "{error}");
    }
}
