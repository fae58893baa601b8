//! As much of LDAP (RFC 4511) as an anonymous search needs: its request, and the answers to it. No
//! bind is sent, which version 3 allows, and no referral is followed.

use super::entry::LdapEntry;

/// Number of the one request on a connection.
const REQUEST: u8 = 1;
const SEQUENCE: u8 = 0x30;
const OCTETS: u8 = 0x04;
/// Longest message; bytes. An entry of a cluster with hundreds of environments has 100 kB.
const MESSAGE_MAX: usize = 4 << 20;
/// Most values of one entry.
const VALUES_MAX: usize = 100_000;

/// A filter of a search (RFC 4515 writes them as text).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LdapFilter {
    /// The attribute is there.
    Has(&'static str),
    /// It has this value.
    Is(&'static str, String),
    /// A value begins so.
    Begins(&'static str, String),
    /// A value ends so.
    Ends(&'static str, String),
    /// All of these.
    All(Vec<LdapFilter>),
    /// Any of these.
    Any(Vec<LdapFilter>),
    /// Not this.
    Not(Box<LdapFilter>),
}

/// A search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LdapSearch<'a> {
    /// The entry it begins at.
    pub base: &'a str,
    /// Whether entries below the base are searched: 0 none, 1 those directly below it, 2 all and
    /// the base.
    pub scope: u8,
    /// Which entries.
    pub filter: LdapFilter,
    /// Which of their attributes; none: all.
    pub attributes: &'a [&'a str],
    /// How long the server may take; s.
    pub limit_s: u32,
}

/// A message of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LdapMessage {
    /// An entry that was found.
    Entry(LdapEntry),
    /// The search is over.
    Done,
    /// Another one, which is passed over: a referral.
    Other,
}

/// The request for a search.
pub fn ldap_search(search: &LdapSearch<'_>) -> Vec<u8> {
    let attributes = search.attributes.iter().flat_map(|it| element(OCTETS, it.as_bytes()));
    let limit = search.limit_s.min(i32::MAX as u32).to_be_bytes();
    let body = [
        element(OCTETS, search.base.as_bytes()),
        element(0x0a, &[search.scope]),
        element(0x0a, &[0]),
        element(0x02, &[0]),
        element(0x02, &limit),
        element(0x01, &[0]),
        filter(&search.filter),
        element(SEQUENCE, &attributes.collect::<Vec<u8>>()),
    ];
    element(SEQUENCE, &[element(0x02, &[REQUEST]), element(0x63, &body.concat())].concat())
}

fn filter(it: &LdapFilter) -> Vec<u8> {
    let all = |of: &[LdapFilter]| of.iter().flat_map(filter).collect::<Vec<u8>>();
    let part = |tag: u8, name: &str, value: &str| {
        let parts = element(SEQUENCE, &element(tag, value.as_bytes()));
        element(0xa4, &[element(OCTETS, name.as_bytes()), parts].concat())
    };
    match it {
        LdapFilter::Has(name) => element(0x87, name.as_bytes()),
        LdapFilter::Is(name, value) => {
            let both = [element(OCTETS, name.as_bytes()), element(OCTETS, value.as_bytes())];
            element(0xa3, &both.concat())
        }
        LdapFilter::Begins(name, value) => part(0x80, name, value),
        LdapFilter::Ends(name, value) => part(0x82, name, value),
        LdapFilter::All(of) => element(0xa0, &all(of)),
        LdapFilter::Any(of) => element(0xa1, &all(of)),
        LdapFilter::Not(of) => element(0xa2, &filter(of)),
    }
}

/// An element of BER: tag, length, body.
fn element(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match u8::try_from(body.len()) {
        Ok(length) if length < 0x80 => bytes.push(length),
        _ => {
            bytes.push(0x84);
            bytes.extend((body.len() as u32).to_be_bytes());
        }
    }
    bytes.extend(body);
    bytes
}

/// The first message of bytes, and how many of them it has; `None`: it is not whole yet.
///
/// # Errors
/// The bytes are no message of LDAP, it is too long, or the search failed; the text has the result
/// that the server states.
pub fn ldap_message(bytes: &[u8]) -> Result<Option<(LdapMessage, usize)>, String> {
    let Some((tag, length, head)) = header(bytes)? else { return Ok(None) };
    if tag != SEQUENCE {
        return Err("no LDAP message; give the address of an information system".to_owned());
    }
    let end = head + length;
    let Some(message) = bytes.get(head..end) else { return Ok(None) };
    let (_, operation) = whole(message, None)?;
    let (tag, body) = (operation.first().copied().unwrap_or(0), whole(operation, None)?.0);
    let message = match tag {
        0x64 => LdapMessage::Entry(entry(body)?),
        0x65 => {
            let (code, rest) = whole(body, Some(0x0a))?;
            let text = || {
                let (_, rest) = whole(rest, Some(OCTETS)).ok()?;
                whole(rest, Some(OCTETS)).ok().map(|(text, _)| String::from_utf8_lossy(text))
            };
            match code {
                [0] => LdapMessage::Done,
                _ => return Err(result(code, &text().unwrap_or_default())),
            }
        }
        _ => LdapMessage::Other,
    };
    Ok(Some((message, end)))
}

/// A failure of a search.
fn result(code: &[u8], text: &str) -> String {
    let code = code.iter().fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
    let known = match code {
        3 => " (time limit exceeded)",
        4 => " (size limit exceeded: raise that of the server)",
        10 => " (referral)",
        32 => " (there is no such base)",
        50 => " (not allowed)",
        51 | 52 => " (busy or unavailable)",
        _ => "",
    };
    let text: String = text.chars().filter(|sign| !sign.is_control()).take(200).collect();
    format!("LDAP result {code}{known} {text}").trim_end().to_owned()
}

fn entry(body: &[u8]) -> Result<LdapEntry, String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (name, rest) = whole(body, Some(OCTETS))?;
    let mut entry = LdapEntry::new(text(name));
    let (mut attributes, _) = whole(rest, Some(SEQUENCE))?;
    let mut count = 0;
    while !attributes.is_empty() {
        let (attribute, left) = whole(attributes, Some(SEQUENCE))?;
        let (name, values) = whole(attribute, Some(OCTETS))?;
        let (name, (mut values, _)) = (text(name), whole(values, None)?);
        while !values.is_empty() {
            let (value, left) = whole(values, Some(OCTETS))?;
            count += 1;
            if count > VALUES_MAX {
                return Err(format!("an LDAP entry with more than {VALUES_MAX} values"));
            }
            entry.add(&name, text(value));
            values = left;
        }
        attributes = left;
    }
    Ok(entry)
}

/// The body of the first element, which is whole and perhaps of a known tag, and what follows it.
fn whole(bytes: &[u8], wanted: Option<u8>) -> Result<(&[u8], &[u8]), String> {
    let wrong = || "bytes that are no LDAP; give the address of an information system".to_owned();
    let (tag, length, head) = header(bytes)?.ok_or_else(wrong)?;
    if wanted.is_some_and(|wanted| wanted != tag) {
        return Err(wrong());
    }
    let body = bytes.get(head..head + length).ok_or_else(wrong)?;
    Ok((body, &bytes[head + length..]))
}

/// Tag and length of the first element, and how many bytes they have; `None`: they are not whole
/// yet.
fn header(bytes: &[u8]) -> Result<Option<(u8, usize, usize)>, String> {
    let [tag, first, rest @ ..] = bytes else { return Ok(None) };
    let count = usize::from(first & 0x7f);
    let (length, head) = match first & 0x80 {
        0 => (count, 2),
        _ if count == 0 || count > 4 => return Err("a length that LDAP does not have".to_owned()),
        _ => {
            let Some(length) = rest.get(..count) else { return Ok(None) };
            let length = length.iter().fold(0_usize, |sum, byte| (sum << 8) | usize::from(*byte));
            (length, 2 + count)
        }
    };
    if length > MESSAGE_MAX {
        return Err(format!(
            "a message of {length} bytes, more than the {MESSAGE_MAX} that are read"
        ));
    }
    Ok(Some((*tag, length, head)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_written_as_the_standard_has_it() {
        let search = LdapSearch {
            base: "o=grid",
            scope: 2,
            filter: LdapFilter::Any(vec![
                LdapFilter::Is("objectClass", "x".to_owned()),
                LdapFilter::Not(Box::new(LdapFilter::Begins("a", "b".to_owned()))),
                LdapFilter::Has("c"),
            ]),
            attributes: &["cn"],
            limit_s: 20,
        };
        let expected = "3048020101634304066f3d677269640a01020a0100020100020400000014010100\
                        a121a310040b6f626a656374436c617373040178a20aa408040161300380016287\
                        016330040402636e";
        assert_eq!(hex::encode(ldap_search(&search)), expected);
    }

    #[test]
    fn answers_are_read_when_they_are_whole() {
        let value = |text: &str| element(OCTETS, text.as_bytes());
        let attribute = element(SEQUENCE, &[value("cn"), element(0x31, &value("x"))].concat());
        let body = [value("cn=x"), element(SEQUENCE, &attribute)].concat();
        let number = element(0x02, &[REQUEST]);
        let found = element(SEQUENCE, &[number.clone(), element(0x64, &body)].concat());
        for end in 0..found.len() {
            assert_eq!(ldap_message(&found[..end]), Ok(None), "{end}");
        }
        let (message, length) = ldap_message(&found).unwrap().unwrap();
        let LdapMessage::Entry(entry) = message else { panic!("{message:?}") };
        assert_eq!((length, entry.dn.as_str(), entry.one("CN")), (found.len(), "cn=x", "x"));
        let done = |code: u8, text: &str| {
            let body = [element(0x0a, &[code]), value(""), value(text)].concat();
            ldap_message(&element(SEQUENCE, &[number.clone(), element(0x65, &body)].concat()))
        };
        assert_eq!(done(0, "").unwrap().unwrap().0, LdapMessage::Done);
        assert_eq!(done(32, "o=x").unwrap_err(), "LDAP result 32 (there is no such base) o=x");
    }

    #[test]
    fn what_is_no_ldap_or_too_long_is_refused() {
        for bytes in [&b"HTTP/1.1 400"[..], b"0\x81", b"\x30\x84\x10\x00\x00\x00", b"\x30\x80\x00"]
        {
            let read = ldap_message(bytes);
            assert!(read.is_err() || read == Ok(None), "{bytes:?} {read:?}");
        }
        assert!(ldap_message(b"\x30\x84\x10\x00\x00\x00").unwrap_err().contains("4194304"));
        assert!(ldap_message(b"0\x03\x02\x01\x01").is_err());
    }
}
