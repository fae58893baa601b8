//! Entries of LDAP: from LDIF, the text in which they are saved (RFC 2849).

use super::base64;
use std::collections::BTreeMap;

/// An entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LdapEntry {
    /// Its distinguished name.
    pub dn: String,
    /// Values by the name of their attribute in small letters.
    attributes: BTreeMap<String, Vec<String>>,
}

impl LdapEntry {
    /// One without attributes.
    pub fn new(dn: impl Into<String>) -> LdapEntry {
        LdapEntry { dn: dn.into(), ..LdapEntry::default() }
    }

    /// Adds a value of an attribute.
    pub fn add(&mut self, attribute: &str, value: impl Into<String>) {
        self.attributes.entry(attribute.to_ascii_lowercase()).or_default().push(value.into());
    }

    /// Values of an attribute, in whatever case it is written, in their order.
    pub fn all(&self, attribute: &str) -> &[String] {
        self.attributes.get(&attribute.to_ascii_lowercase()).map_or(&[], Vec::as_slice)
    }

    /// The first of them; empty without one.
    pub fn one(&self, attribute: &str) -> &str {
        self.all(attribute).first().map_or("", String::as_str)
    }

    /// Whether it is of an object class.
    pub fn is_of(&self, class: &str) -> bool {
        self.all("objectClass").iter().any(|it| it.eq_ignore_ascii_case(class))
    }

    /// The value of an attribute in its distinguished name; empty without one.
    pub fn in_dn(&self, attribute: &str) -> &str {
        let parts = self.dn.split(',').filter_map(|part| part.split_once('='));
        let mut named = parts.filter(|(name, _)| name.trim().eq_ignore_ascii_case(attribute));
        named.next().map_or("", |(_, value)| value.trim())
    }

    /// The name and value that stand first in its distinguished name.
    pub fn first_of_dn(&self) -> (&str, &str) {
        let first = self.dn.split(',').next().unwrap_or("");
        let (name, value) = first.split_once('=').unwrap_or(("", ""));
        (name.trim(), value.trim())
    }
}

/// The entries of a text in LDIF. Comments and what is no entry are passed over.
///
/// # Errors
/// A text without an entry, or a line of one that is neither an attribute nor the rest of the line
/// before.
pub fn ldif(text: &str) -> Result<Vec<LdapEntry>, String> {
    let (mut entries, mut open) = (Vec::new(), None);
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, first)) = lines.next() {
        let mut line = first.trim_end_matches('\r').to_owned();
        while let Some((_, rest)) = lines.next_if(|(_, next)| next.starts_with(' ')) {
            line.push_str(rest.trim_end_matches('\r').get(1..).unwrap_or(""));
        }
        if line.is_empty() {
            entries.extend(open.take());
            continue;
        }
        if line.starts_with('#') {
            continue;
        }
        let wrong = || {
            format!("LDIF: line {number}: wants `attribute: value`; save the output of ldapsearch")
        };
        let (attribute, value) = line.split_once(':').ok_or_else(wrong)?;
        let value = match value.strip_prefix(':') {
            Some(packed) => {
                let bytes = base64::decoded(packed.trim()).ok_or_else(wrong)?;
                String::from_utf8_lossy(&bytes).into_owned()
            }
            None => value.trim_start().to_owned(),
        };
        match &mut open {
            _ if attribute.eq_ignore_ascii_case("dn") => {
                entries.extend(open.replace(LdapEntry::new(value)));
            }
            Some(entry) => entry.add(attribute, value),
            // The version of LDIF, or counts of a search.
            None => {}
        }
    }
    entries.extend(open);
    match entries.is_empty() {
        true => Err("LDIF: found no entry (`dn:`); save the output of ldapsearch".to_owned()),
        false => Ok(entries),
    }
}

#[cfg(test)]
mod tests {
    use super::ldif;

    #[test]
    fn lines_are_joined_and_packed_values_unpacked() {
        let text = "version: 1\r\n\r\n# a comment\n of two lines\ndn: a=1,\n  b = 2\n\
                    ObjectClass: X\nobjectclass: Y\nname:: w5hyc3RlZA==\n\nsearch: 2\n\n\
                    dn: c=3\n";
        let entries = ldif(text).unwrap();
        assert_eq!(entries.len(), 2, "{entries:?}");
        assert_eq!((entries[0].dn.as_str(), entries[0].in_dn("B")), ("a=1, b = 2", "2"));
        assert!(entries[0].is_of("x") && entries[0].is_of("y") && !entries[1].is_of("x"));
        assert_eq!(entries[0].one("name"), "Ørsted");
        assert_eq!(entries[0].first_of_dn(), ("a", "1"));
    }

    #[test]
    fn a_text_that_is_no_ldif_is_refused_with_its_line() {
        assert!(ldif("").unwrap_err().contains("no entry"));
        assert!(ldif("dn: a=1\nwhat\n").unwrap_err().contains("line 2"));
        assert!(ldif("dn: a=1\nb:: ?\n").unwrap_err().contains("line 2"));
    }
}
