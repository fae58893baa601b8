//! Tokens: with one of them a client shows that it may ask. They stand in a file, one a line, so
//! that a new one can be added before the old one is removed.

use super::reread::{Reread, warn_if_public};
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};

/// How short a token may be; bytes. Shorter ones can be guessed.
pub const TOKEN_BYTES_MIN: usize = 16;
/// How long one may be, so that it fits into a request's head; bytes.
pub const TOKEN_BYTES_MAX: usize = 4 * 1024;

/// The tokens of a file. Kept as digests: they are in no dump of this process's memory for longer
/// than they are read.
pub struct Tokens(Reread<Vec<[u8; 32]>>);

impl Tokens {
    /// Reads a file of tokens; it is read again whenever it changes.
    ///
    /// # Errors
    /// It cannot be read, or holds something that is no token. The text shows none.
    pub fn open(path: &Path) -> Result<Tokens, String> {
        let digests = |paths: &[PathBuf]| {
            let mut digests = Vec::new();
            for path in paths {
                digests.extend(read(path)?.iter().map(|token| digest(token)));
                warn_if_public(path);
            }
            Ok(digests)
        };
        Reread::new(vec![path.to_owned()], Box::new(digests)).map(Tokens)
    }

    /// Whether it is one of them; takes as long for each that is none.
    pub fn has(&self, token: &str) -> bool {
        let shown = digest(token);
        self.0.get().iter().fold(false, |found, known| found | is_same(&shown, known))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The tokens of a file, one a line, in order; empty lines are passed over.
///
/// # Errors
/// As [`Tokens::open`].
pub fn read(path: &Path) -> Result<Vec<String>, String> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("--http-token-file {name}: {error}; name a readable file"))?;
    let lines = text.lines().map(str::trim).enumerate().filter(|(_, line)| !line.is_empty());
    let mut tokens = Vec::new();
    for (at, line) in lines {
        let wrong = match line.len() {
            ..TOKEN_BYTES_MIN => format!("{} bytes long", line.len()),
            TOKEN_BYTES_MAX.. => "too long".to_owned(),
            _ if !line.bytes().all(|byte| byte.is_ascii_graphic()) => {
                "with a blank or a character that is not ASCII".to_owned()
            }
            _ => {
                tokens.push(line.to_owned());
                continue;
            }
        };
        return Err(format!(
            "--http-token-file {name}: line {} is {wrong}; allowed: one token a line, \
             {TOKEN_BYTES_MIN} to {TOKEN_BYTES_MAX} printable characters without blanks, such as \
             `openssl rand -hex 32` prints",
            at + 1
        ));
    }
    if tokens.is_empty() {
        return Err(format!(
            "--http-token-file {name}: no token in it; put one there, such as \
             `openssl rand -hex 32` prints"
        ));
    }
    Ok(tokens)
}

/// The token of `Authorization: Bearer TOKEN`, as the header's value has it.
pub(super) fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

/// Whether two digests are the same, in a time that does not depend on where they differ.
fn is_same(one: &[u8; 32], other: &[u8; 32]) -> bool {
    let difference = one.iter().zip(other).fold(0, |sum, (one, other)| sum | (one ^ other));
    std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_token_and_a_bad_one_is_refused_without_being_shown() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("tokens");
        std::fs::write(&file, "first-token-0123456\n\n  second-token-012345  \r\n").unwrap();
        let tokens = Tokens::open(&file).unwrap();
        for (token, is_known) in [
            ("first-token-0123456", true),
            ("second-token-012345", true),
            ("first-token-012345", false),
            ("first-token-01234567", false),
            ("", false),
        ] {
            assert_eq!(tokens.has(token), is_known, "{token}");
        }
        assert!(!format!("{tokens:?}").contains("first"), "{tokens:?}");
        for (text, part) in [
            ("", "no token in it"),
            ("\n\n", "no token in it"),
            ("0123456789abcdef\nshort-secret", "line 2 is 12 bytes long"),
            ("a secret with blanks in it", "line 1 is with a blank"),
            ("sécret-sécret-sécret", "line 1 is with a blank"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = Tokens::open(&file).unwrap_err();
            assert!(error.contains(part) && error.contains("tokens"), "{error}");
            assert!(!error.contains("secret") && !error.contains("sécret"), "{error}");
            assert!(tokens.has("first-token-0123456"), "what was read before stays in force");
        }
        std::fs::write(&file, "third-token-0123456").unwrap();
        assert!(tokens.has("third-token-0123456") && !tokens.has("first-token-0123456"));
        let error = Tokens::open(&dir.path().join("none")).unwrap_err();
        assert!(error.contains("none") && error.contains("readable file"), "{error}");
    }

    #[test]
    fn a_token_follows_the_scheme_bearer() {
        assert_eq!(bearer("Bearer abc"), Some("abc"));
        assert_eq!(bearer("bearer  abc "), Some("abc"));
        assert_eq!(bearer("Basic abc"), None);
        assert_eq!(bearer("abc"), None);
    }
}
