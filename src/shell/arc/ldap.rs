//! An anonymous search over TCP, one on a connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};
use yardmaster_wire::import::arc::{
    LdapEntry, LdapMessage, LdapSearch, LdapUrl, ldap_message, ldap_search,
};

/// Most bytes of all answers to a search: those about 20,000 jobs.
const ANSWER_MAX: usize = 8 << 20;
/// So much is read at once; bytes.
const CHUNK: usize = 1 << 16;

/// Entries that a server has. All of it, from the connection on, ends at a time.
///
/// # Errors
/// The server is not reached, does not answer in time, answers too much or what is no LDAP, or
/// refuses; the text does not name it.
pub fn search(
    url: &LdapUrl,
    search: &LdapSearch<'_>,
    until: Instant,
) -> Result<Vec<LdapEntry>, String> {
    let mut stream = connect(url, until)?;
    stream.write_all(&ldap_search(search)).map_err(|why| failed(&why))?;
    let (mut entries, mut bytes, mut read) = (Vec::new(), Vec::new(), 0);
    let mut chunk = vec![0; CHUNK];
    loop {
        let mut from = 0;
        while let Some((message, length)) = ldap_message(&bytes[from..])? {
            from += length;
            match message {
                LdapMessage::Entry(entry) => entries.push(entry),
                LdapMessage::Done => return Ok(entries),
                LdapMessage::Other => {}
            }
        }
        bytes.drain(..from);
        stream.set_read_timeout(Some(left(until)?)).map_err(|why| failed(&why))?;
        let count = stream.read(&mut chunk).map_err(|why| failed(&why))?;
        if count == 0 {
            return Err("the connection ends before the answer does".to_owned());
        }
        read += count;
        if read > ANSWER_MAX {
            return Err(format!("answers more than {ANSWER_MAX} bytes; nothing of it is used"));
        }
        bytes.extend(&chunk[..count]);
    }
}

fn connect(url: &LdapUrl, until: Instant) -> Result<TcpStream, String> {
    let addresses = (url.host.as_str(), url.port).to_socket_addrs();
    let mut why = "the host has no address".to_owned();
    for address in addresses.map_err(|why| why.to_string())? {
        match TcpStream::connect_timeout(&address, left(until)?) {
            Ok(stream) => {
                let limit = stream.set_write_timeout(Some(left(until)?));
                limit.map_err(|why| failed(&why))?;
                return Ok(stream);
            }
            Err(error) => why = failed(&error),
        }
    }
    Err(why)
}

fn left(until: Instant) -> Result<Duration, String> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(late()) } else { Ok(left) }
}

fn failed(why: &std::io::Error) -> String {
    match why.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => late(),
        _ => why.to_string(),
    }
}

fn late() -> String {
    "no answer in time; --timeout gives it longer".to_owned()
}
