//! A question for the TXT records of a name, and its answer (RFC 1035, RFC 6891).

/// Type of TXT records.
const TXT: u16 = 16;
/// Longest answer over UDP that is asked for; bytes: what passes through any network whole.
const UDP_BYTES: u16 = 1232;
/// Longest name, and longest label of it; bytes.
const NAME_MAX: usize = 253;
const LABEL_MAX: usize = 63;

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TxtAnswer {
    /// The texts of the records.
    pub texts: Vec<String>,
    /// How long the shortest of them holds; s.
    pub ttl_s: u32,
    /// Whether there are more: they are to be asked for over TCP.
    pub is_cut: bool,
}

/// The question for a name, under a number that the answer repeats.
///
/// # Errors
/// Text that is no name of DNS.
pub fn txt_query(number: u16, name: &str) -> Result<Vec<u8>, String> {
    let name = name.trim_end_matches('.');
    let is_label = |label: &str| (1..=LABEL_MAX).contains(&label.len());
    if name.len() > NAME_MAX || !name.split('.').all(is_label) {
        return Err(format!("{name:?} is no name of DNS; give one such as index.example.org"));
    }
    let mut query = number.to_be_bytes().to_vec();
    // Recursion is wanted; one question, and one more record for the length of the answer.
    query.extend([1, 0, 0, 1, 0, 0, 0, 0, 0, 1]);
    for label in name.split('.') {
        query.push(label.len() as u8);
        query.extend(label.as_bytes());
    }
    query.extend([0, 0, TXT as u8, 0, 1]);
    query.extend([0, 0, 41]);
    query.extend(UDP_BYTES.to_be_bytes());
    query.extend([0; 6]);
    Ok(query)
}

/// Reads the answer to a question. One that says that there is no such name has no texts.
///
/// # Errors
/// Bytes that are no answer to it, or a failure that the server states.
pub fn txt_answer(query: &[u8], answer: &[u8]) -> Result<TxtAnswer, String> {
    let wrong = || "the name server's answer is none to the question".to_owned();
    let flags = answer.get(2..4).ok_or_else(wrong)?;
    if answer.get(..2) != query.get(..2) || flags[0] & 0x80 == 0 {
        return Err(wrong());
    }
    match flags[1] & 15 {
        0 => {}
        3 => return Ok(TxtAnswer::default()),
        code => {
            return Err(format!(
                "the name server answers with code {code} ({}); give another with --dns",
                match code {
                    2 => "it failed",
                    5 => "it refuses",
                    _ => "not asked as it wants",
                }
            ));
        }
    }
    let is_cut = flags[0] & 2 != 0;
    let read = records(answer);
    // One that was cut may end within a record.
    match read {
        Some((texts, ttl_s)) => Ok(TxtAnswer { texts, ttl_s, is_cut }),
        None if is_cut => Ok(TxtAnswer { is_cut, ..TxtAnswer::default() }),
        None => Err(wrong()),
    }
}

/// The texts of TXT records, of whatever name: it may stand for another, and the shortest time that
/// one of them holds; s. `None`: the bytes are no message.
fn records(data: &[u8]) -> Option<(Vec<String>, u32)> {
    let number = |at: usize| Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?));
    let mut at = 12;
    for _ in 0..number(4)? {
        at = after_name(data, at)? + 4;
    }
    let (mut texts, mut ttl_s) = (Vec::new(), u32::MAX);
    for _ in 0..number(6)? {
        at = after_name(data, at)?;
        let (kind, length) = (number(at)?, usize::from(number(at + 8)?));
        let body = data.get(at + 10..at + 10 + length)?;
        if kind == TXT {
            ttl_s = ttl_s.min(u32::from_be_bytes(data.get(at + 4..at + 8)?.try_into().ok()?));
            let (mut text, mut rest) = (Vec::new(), body);
            while let Some((length, more)) = rest.split_first() {
                let (part, left) = more.split_at_checked(usize::from(*length))?;
                text.extend(part);
                rest = left;
            }
            texts.push(String::from_utf8_lossy(&text).into_owned());
        }
        at += 10 + length;
    }
    let ttl_s = if texts.is_empty() { 0 } else { ttl_s };
    Some((texts, ttl_s))
}

/// Where a name ends; what it refers to is not followed.
fn after_name(data: &[u8], mut at: usize) -> Option<usize> {
    loop {
        match *data.get(at)? {
            0 => return Some(at + 1),
            length if length & 0xc0 == 0xc0 => return Some(at + 2),
            length if length & 0xc0 == 0 => at += 1 + usize::from(length),
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of a server to a question: its texts, each of parts, with their times.
    fn answer(query: &[u8], code: u8, records: &[(u32, &[&str])]) -> Vec<u8> {
        let question = &query[12..query.len() - 11];
        let count = (records.len() as u16).to_be_bytes();
        let mut bytes = [&query[..2], &[0x81, 0x80 | code, 0, 1], &count, &[0; 4]].concat();
        bytes.extend(question);
        for (ttl_s, parts) in records {
            let body: Vec<u8> =
                parts.iter().flat_map(|it| [&[it.len() as u8], it.as_bytes()].concat()).collect();
            bytes.extend([0xc0, 12, 0, 16, 0, 1]);
            bytes.extend(ttl_s.to_be_bytes());
            bytes.extend((body.len() as u16).to_be_bytes());
            bytes.extend(body);
        }
        bytes
    }

    #[test]
    fn texts_are_joined_of_their_parts() {
        let query = txt_query(7, "_archery.index.example.org.").unwrap();
        let bytes = answer(&query, 0, &[(3600, &["u=dns://a ", "t=archery"]), (60, &["o=group"])]);
        let read = txt_answer(&query, &bytes).unwrap();
        assert_eq!(read.texts, ["u=dns://a t=archery", "o=group"]);
        assert_eq!((read.ttl_s, read.is_cut), (60, false));
        assert_eq!(txt_answer(&query, &answer(&query, 3, &[])), Ok(TxtAnswer::default()));
        let refused = txt_answer(&query, &answer(&query, 5, &[])).unwrap_err();
        assert!(refused.contains("refuses") && refused.contains("--dns"), "{refused}");
        for end in 0..bytes.len() {
            assert!(txt_answer(&query, &bytes[..end]).is_err(), "{end}");
        }
        let mut cut = bytes[..60].to_vec();
        cut[2] |= 2;
        assert!(txt_answer(&query, &cut).unwrap().is_cut);
        let other = txt_query(8, "index.example.org").unwrap();
        assert!(txt_answer(&other, &bytes).is_err(), "the number of another question");
    }

    #[test]
    fn a_text_that_is_no_name_is_refused() {
        for name in ["", "a..b", &"a".repeat(64), &"a.".repeat(130)] {
            assert!(txt_query(1, name).unwrap_err().contains("index.example.org"), "{name}");
        }
    }
}
