//! Certificate authorities that are not the system's: those of a grid lie in a directory such as
//! /etc/grid-security/certificates, beside policies and lists that are passed over.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

/// Where a grid's are usually kept.
const USUAL: &str = "/etc/grid-security/certificates";
/// The variable that names another place, as ARC's clients know it.
const PLACE: &str = "X509_CERT_DIR";

/// Longest file that is looked at; bytes.
const FILE_MAX: u64 = 1 << 20;
/// Stands before each certificate.
const BEGIN: &str = "-----BEGIN CERTIFICATE-----";

/// Authorities of a grid's servers.
#[derive(Clone, Debug)]
pub struct GridAuthorities {
    /// Where they are.
    pub place: PathBuf,
    /// Their certificates, texts in PEM.
    pub texts: Vec<String>,
}

impl GridAuthorities {
    /// Those of a place that is named by `--ca`, else by `X509_CERT_DIR`, else the usual one;
    /// `None`: no place is named, and there is no usual one.
    ///
    /// # Errors
    /// There are none at a place that is named; with the remedy.
    pub fn find(named: Option<&Path>) -> Result<Option<GridAuthorities>, String> {
        let of_environment = env::var_os(PLACE).filter(|place| !place.is_empty());
        let (source, place) = match (named, of_environment) {
            (Some(place), _) => ("--ca", place.to_owned()),
            (None, Some(place)) => (PLACE, PathBuf::from(place)),
            (None, None) => ("", PathBuf::from(USUAL)),
        };
        match authorities(&place) {
            Ok(texts) => Ok(Some(GridAuthorities { place, texts })),
            Err(_) if source.is_empty() => Ok(None),
            Err(why) => Err(format!("{source} {why}")),
        }
    }

    /// Where they are, for a message; of none, that there are none.
    pub fn shown(found: Option<&GridAuthorities>) -> String {
        match found {
            Some(it) => format!("{} and the system's", it.place.display()),
            None => format!("the system's alone, as there is no {USUAL}"),
        }
    }
}

/// The certificates of a PEM file, or of all PEM files of a directory, as texts in PEM, each once:
/// a directory may have each under two names.
///
/// # Errors
/// Nothing can be read there, or there is no certificate; with the remedy.
fn authorities(path: &Path) -> Result<Vec<String>, String> {
    let wrong = |why: String| {
        let remedy = "name a PEM file of certificates, or a directory of such files";
        format!("{}: {why}; {remedy}", path.display())
    };
    let mut texts = BTreeSet::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|why| wrong(why.to_string()))? {
            let file = entry.map_err(|why| wrong(why.to_string()))?.path();
            let is_small = file.metadata().is_ok_and(|it| it.is_file() && it.len() <= FILE_MAX);
            // One that cannot be read is an authority less, and the others are as good.
            texts.extend(is_small.then(|| std::fs::read_to_string(&file).ok()).flatten());
        }
    } else {
        texts.insert(std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?);
    }
    texts.retain(|text| text.contains(BEGIN));
    match texts.is_empty() {
        true => Err(wrong("no certificate there".to_owned())),
        false => Ok(texts.into_iter().collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_of_a_grid_has_its_certificates_each_once() {
        let dir = tempfile::TempDir::new().unwrap();
        let pem = |name: &str| format!("{BEGIN}\n{name}\n-----END CERTIFICATE-----\n");
        for (name, text) in [
            ("a.pem", pem("a")),
            ("1234abcd.0", pem("a")),
            ("b.pem", pem("b")),
            ("a.r0", "-----BEGIN X509 CRL-----".to_owned()),
            ("a.signing_policy", "access_id_CA X509 '/CN=a'".to_owned()),
        ] {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        std::fs::create_dir(dir.path().join("more")).unwrap();
        assert_eq!(authorities(dir.path()).unwrap(), [pem("a"), pem("b")]);
        assert_eq!(authorities(&dir.path().join("b.pem")).unwrap(), [pem("b")]);
        let none = authorities(&dir.path().join("more")).unwrap_err();
        assert!(none.contains("no certificate there") && none.contains("PEM file"), "{none}");
        assert!(authorities(&dir.path().join("gone")).unwrap_err().contains("gone"));
        let named = GridAuthorities::find(Some(dir.path())).unwrap().unwrap();
        assert_eq!((named.texts.len(), named.place.as_path()), (2, dir.path()));
        let gone = GridAuthorities::find(Some(&dir.path().join("gone"))).unwrap_err();
        assert!(gone.starts_with("--ca ") && gone.contains("gone"), "{gone}");
    }
}
