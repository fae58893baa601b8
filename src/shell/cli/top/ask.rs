//! Asks a running process over HTTP.

use crate::shell::store::SledStore;
use anyhow::Context;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

/// How long the process may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// What the client shows.
#[derive(Clone, Default)]
pub(super) struct Proof;

/// A process that can be asked.
pub(super) struct Ask {
    address: String,
}

/// An answer.
pub(super) struct Reply {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Ask {
    pub fn new(address: &str, _: Proof) -> Ask {
        Ask { address: address.trim_start_matches("http://").to_owned() }
    }

    pub fn of_store(store: &Path, proof: Proof) -> Option<Ask> {
        SledStore::read_address(store).map(|address| Ask::new(&address, proof))
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn get(&self, path: &str) -> anyhow::Result<Option<Reply>> {
        let Ok(mut stream) = TcpStream::connect(&self.address) else { return Ok(None) };
        stream.set_read_timeout(Some(SILENCE_MAX))?;
        stream.set_write_timeout(Some(SILENCE_MAX))?;
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        let end = end.with_context(|| format!("asking {}{path}: no answer", self.url()))?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let status = head.split_whitespace().nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
        Ok(Some(Reply { status, body: bytes[end + 4..].to_vec() }))
    }

    pub fn refused(&self, path: &str, reply: &Reply) -> anyhow::Error {
        let text = String::from_utf8_lossy(&reply.body);
        anyhow::anyhow!("{} answered {} to {path}: {}", self.url(), reply.status, text.trim())
    }
}

/// A name as it stands in a query.
pub(super) fn in_query(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
