//! Where an input file comes from: the submitter, or a URL with its options (spec cms-nordugrid
//! N-16).

use super::error::ErrorCode;

/// A source as it is written, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct InputSource {
    /// The URL without its options; empty: the submitter uploads the file.
    pub(super) url: String,
    /// Where the submitter has it; empty: it is not uploaded.
    pub(super) path: String,
    /// Options inside the URL, `name=value`.
    pub(super) options: Vec<String>,
}

/// Schemes of servers that say themselves what they have. Others name an entry of a catalogue.
const SERVERS: [&str; 10] =
    ["http", "https", "httpg", "dav", "davs", "ftp", "gsiftp", "srm", "root", "rucio"];

/// Whether a source names the server that has the file, so that the file can be asked for there
/// whether anybody published a replica of it or not.
pub fn names_a_server(source: &str) -> bool {
    let scheme = scheme(source);
    scheme.is_some_and(|(scheme, _)| SERVERS.iter().any(|it| it.eq_ignore_ascii_case(scheme)))
}

/// Takes the source of the input of a name apart: nothing, a path and `file:` are uploads.
pub(super) fn source(text: &str, name: &str) -> Result<InputSource, ErrorCode> {
    let upload = |path: &str| InputSource { path: path.to_owned(), ..InputSource::default() };
    match scheme(text) {
        _ if text.is_empty() => Ok(upload(name)),
        None => Ok(upload(text)),
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("file") => {
            let path = match rest.strip_prefix("//") {
                // A host would stand there: the user may mean a path, and ARC finds no file.
                Some(after) if !after.starts_with('/') => return Err(ErrorCode::BadSource),
                Some(after) => after,
                None => rest,
            };
            if path.is_empty() { Err(ErrorCode::BadSource) } else { Ok(upload(path)) }
        }
        Some(_) => Ok(url(text)),
    }
}

/// A URL, whose options stand behind the host: `http://host;cache=no;threads=2/path`.
fn url(text: &str) -> InputSource {
    let (url, options) = split_options(text).map_or_else(
        || (text.to_owned(), Vec::new()),
        |(before, options, path)| {
            (format!("{before}{path}"), options.split(';').map(str::to_owned).collect())
        },
    );
    InputSource { url, options, ..InputSource::default() }
}

fn split_options(text: &str) -> Option<(&str, &str, &str)> {
    let host_at = text.find("://")? + "://".len();
    let host_end = text[host_at..].find('/').map_or(text.len(), |at| host_at + at);
    let options_at = host_at + text[host_at..host_end].find(';')?;
    Some((&text[..options_at], &text[options_at + 1..host_end], &text[host_end..]))
}

/// The scheme of a URL and what stands behind its colon. `None`: it is a path.
fn scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.starts_with(|sign: char| sign.is_ascii_alphabetic());
    (is_scheme && scheme.bytes().all(is_sign)).then_some((scheme, rest))
}
