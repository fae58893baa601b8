//! An answer of HTTP/1.1.

use std::borrow::Cow;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Its status, such as 200.
    pub status: u16,
    /// Its body.
    pub body: Vec<u8>,
}

impl Reply {
    /// Reads an answer that ended with its connection.
    ///
    /// # Errors
    /// It is no answer, or not a whole one.
    pub(super) fn parse(bytes: &[u8]) -> anyhow::Result<Reply> {
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let Some((head, body)) = end.map(|end| (&bytes[..end], &bytes[end + 4..])) else {
            anyhow::bail!("the answer breaks off, or is not of HTTP");
        };
        let head = String::from_utf8_lossy(head);
        let status = head.split_whitespace().nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status.filter(|_| head.starts_with("HTTP/1.")) else {
            anyhow::bail!("the answer is not of HTTP");
        };
        let header = |wanted: &str| {
            head.lines().skip(1).find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.trim().eq_ignore_ascii_case(wanted).then(|| value.trim().to_owned())
            })
        };
        let is_chunked = header("transfer-encoding")
            .is_some_and(|encoding| encoding.to_ascii_lowercase().contains("chunked"));
        let length = header("content-length").and_then(|length| length.parse::<usize>().ok());
        let body = match (is_chunked, length) {
            (true, _) => unchunk(body),
            (false, Some(length)) => body.get(..length).map(<[u8]>::to_vec),
            (false, None) => Some(body.to_vec()),
        };
        match body {
            Some(body) => Ok(Reply { status, body }),
            None => anyhow::bail!("the answer breaks off"),
        }
    }

    /// The body as text.
    pub fn text(&self) -> String {
        match String::from_utf8_lossy(&self.body) {
            Cow::Borrowed(text) => text.to_owned(),
            Cow::Owned(text) => text,
        }
    }
}

/// The content of a body in chunks; `None` if it breaks off.
fn unchunk(body: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    let mut rest = body;
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let line = std::str::from_utf8(&rest[..end]).ok()?;
        let length = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(length, 16).ok()?;
        rest = &rest[end + 2..];
        if length == 0 {
            return Some(content);
        }
        content.extend_from_slice(rest.get(..length)?);
        rest = rest.get(length..)?.strip_prefix(b"\r\n")?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_read_whole_or_not_at_all() {
        let body = |text: &str| {
            Reply::parse(text.as_bytes()).ok().map(|reply| (reply.status, reply.text()))
        };
        let found = |status, text: &str| Some((status, text.to_owned()));
        let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(body("HTTP/1.1 200 OK\r\n\r\nall there is"), found(200, "all there is"));
        assert_eq!(body("HTTP/1.1 404 No\r\nContent-Length: 3\r\n\r\nno\n"), found(404, "no\n"));
        assert_eq!(body("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nno\n"), None);
        let two = format!("{chunks}3\r\n\u{fc}b\r\n2;x=y\r\ner\r\n0\r\n\r\n");
        assert_eq!(body(&two), found(200, "\u{fc}ber"));
        assert_eq!(body(&format!("{chunks}3\r\nab")), None);
        assert_eq!(body(&format!("{chunks}3\r\nabc\r\n")), None);
        assert_eq!(body(&format!("{chunks}x\r\nabc\r\n")), None);
        assert_eq!(body("SSH-2.0-OpenSSH\r\n\r\n"), None);
        assert_eq!(body(""), None);
    }
}
