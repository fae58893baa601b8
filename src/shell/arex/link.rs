//! A connection to a cluster by HTTP/1.1 over TLS, kept from one question to the next.

use super::ArexError;
use super::credentials::Credentials;
use super::reply::{self, ArexAnswer, Timed};
use openssl::ssl::{HandshakeError, SslConnector, SslStream};
use openssl::x509::X509VerifyResult;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a cluster may take to take a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may be silent.
const SILENCE_MAX: Duration = Duration::from_secs(60);
/// How long it may take nothing of what it is sent, for one piece; OpenSSL tries again with what is
/// left of a record.
const STUCK_MAX: Duration = Duration::from_secs(20);
/// How long a question and its answer may take, but for files.
const ANSWER_MAX: Duration = Duration::from_secs(60);
/// A connection that rested for so long may be closed by the cluster: what must not be asked twice
/// gets another.
const RESTED: Duration = Duration::from_secs(2);
/// Port of `https`.
const PORT: u16 = 443;

/// A question.
#[derive(Debug)]
pub(super) struct ArexQuestion<'a> {
    pub(super) method: &'a str,
    /// Path with its query, below the cluster's.
    pub(super) path: &'a str,
    /// Form of the answer that is wanted.
    pub(super) accept: &'a str,
    /// Form of the body; empty: there is none.
    pub(super) form: &'a str,
    pub(super) body: Body<'a>,
}

/// What is sent.
#[derive(Debug)]
pub(super) enum Body<'a> {
    Bytes(&'a [u8]),
    /// A file and its size.
    File(&'a Path, u64),
}

/// Connections to one cluster.
pub(super) struct Link {
    host: String,
    port: u16,
    /// Path of the cluster's services.
    base: String,
    token: Option<String>,
    connector: SslConnector,
    authorities: String,
    open: Option<Open>,
}

struct Open {
    stream: BufReader<SslStream<TcpStream>>,
    used_at: Instant,
}

/// Why there is no answer, and how far the question came.
struct Broken {
    error: io::Error,
    reach: Reach,
}

impl Broken {
    /// Whether the connection may just have been closed before the question came.
    fn is_of_a_closed_connection(&self) -> bool {
        let is_slow =
            matches!(self.error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
        self.reach != Reach::Answered && !is_slow
    }
}

/// How far a question came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Not all of it was sent.
    Begun,
    /// The cluster may have it.
    Sent,
    /// A part of its answer came.
    Answered,
}

impl Link {
    /// To the cluster of a URL.
    pub(super) fn new(url: &str, credentials: &Credentials) -> Result<Link, ArexError> {
        let wrong = |why: &str| ArexError::Failed(format!("its submission URL {url}: {why}"));
        let rest = url.strip_prefix("https://").ok_or_else(|| wrong("it is not of https"))?;
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // Behind the colon of an address in brackets there are more colons.
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong("its port is no number"))?)
            }
            _ => (authority, PORT),
        };
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() || host.contains('@') {
            return Err(wrong("it names no host"));
        }
        Ok(Link {
            host: host.to_owned(),
            port,
            base: path.trim_end_matches('/').to_owned(),
            token: credentials.token().map(str::to_owned),
            connector: credentials.connector().map_err(ArexError::Failed)?,
            authorities: credentials.authorities(),
            open: None,
        })
    }

    /// Asks. A body of status 200 goes into `sink`, if there is one. A question that may be
    /// asked twice is asked again if a connection that was kept turns out to be closed.
    pub(super) fn ask(
        &mut self,
        question: &ArexQuestion<'_>,
        mut sink: Option<&mut File>,
    ) -> Result<ArexAnswer, ArexError> {
        let is_repeatable = question.method != "POST";
        let is_rested = |open: &Open| open.used_at.elapsed() > RESTED;
        if !is_repeatable && self.open.as_ref().is_some_and(is_rested) {
            self.open = None;
        }
        loop {
            let (mut open, is_kept) = match self.open.take() {
                Some(open) => (open, true),
                None => (self.connect()?, false),
            };
            match self.exchange(&mut open, question, sink.as_deref_mut()) {
                Ok((answer, is_open)) => {
                    open.used_at = Instant::now();
                    self.open = is_open.then_some(open);
                    return Ok(answer);
                }
                Err(broken) if is_kept && is_repeatable && broken.is_of_a_closed_connection() => {}
                Err(broken) if broken.reach == Reach::Begun => {
                    return Err(ArexError::Failed(self.unreachable(&broken.error)));
                }
                Err(broken) => {
                    return Err(ArexError::Unanswered(self.unreachable(&broken.error)));
                }
            }
        }
    }

    fn unreachable(&self, error: &io::Error) -> String {
        let why = match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                format!("no answer within {} s", SILENCE_MAX.as_secs())
            }
            io::ErrorKind::UnexpectedEof => "the connection breaks off".to_owned(),
            _ => error.to_string(),
        };
        format!("{}:{}: {why}", self.host, self.port)
    }

    fn connect(&self) -> Result<Open, ArexError> {
        let stream = self.dial();
        let stream = stream.map_err(|error| ArexError::Failed(self.unreachable(&error)))?;
        match self.connector.connect(&self.host, stream) {
            Ok(stream) => Ok(Open { stream: BufReader::new(stream), used_at: Instant::now() }),
            Err(HandshakeError::Failure(failed)) => {
                let (host, result) = (&self.host, failed.ssl().verify_result());
                if result == X509VerifyResult::OK {
                    return Err(ArexError::Failed(format!("{host}: TLS: {}", failed.error())));
                }
                Err(ArexError::NotTrusted(format!(
                    "{host}: its certificate is not trusted ({result}); checked by {}: give the \
                     authority of the cluster with --ca PATH, or in X509_CERT_DIR",
                    self.authorities
                )))
            }
            Err(error) => Err(ArexError::Failed(format!("{}: TLS: {error}", self.host))),
        }
    }

    fn dial(&self) -> io::Result<TcpStream> {
        let mut last = io::Error::other("its host has no address");
        for address in (self.host.as_str(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(SILENCE_MAX))?;
                    stream.set_write_timeout(Some(STUCK_MAX))?;
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// A question and its answer, and whether the connection can be kept.
    fn exchange(
        &self,
        open: &mut Open,
        question: &ArexQuestion<'_>,
        sink: Option<&mut File>,
    ) -> Result<(ArexAnswer, bool), Broken> {
        let begun = |error| Broken { error, reach: Reach::Begun };
        self.send(open.stream.get_mut(), question).map_err(begun)?;
        let before = |error| Broken { error, reach: Reach::Sent };
        let is_file = sink.is_some() || matches!(question.body, Body::File(..));
        let until = (!is_file).then(|| Instant::now() + ANSWER_MAX);
        let mut stream = Timed { stream: &mut open.stream, until };
        // Whether any of the answer came.
        if stream.fill_buf().map_err(before)?.is_empty() {
            return Err(before(io::ErrorKind::UnexpectedEof.into()));
        }
        let within = |error| Broken { error, reach: Reach::Answered };
        reply::answer(&mut stream, sink).map_err(within)
    }

    fn send(
        &self,
        stream: &mut SslStream<TcpStream>,
        question: &ArexQuestion<'_>,
    ) -> io::Result<()> {
        let ArexQuestion { method, path, accept, form, body } = question;
        let (host, port, base) = (&self.host, self.port, &self.base);
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        let mut head = format!(
            "{method} {base}{path} HTTP/1.1\r\nHost: {host}:{port}\r\nAccept: {accept}\r\n\
             User-Agent: yardmaster/{}\r\n",
            env!("CARGO_PKG_VERSION")
        );
        if let Some(token) = &self.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        if !form.is_empty() {
            head.push_str(&format!("Content-Type: {form}\r\n"));
        }
        let length = match body {
            Body::Bytes(bytes) => bytes.len() as u64,
            Body::File(_, size) => *size,
        };
        if length > 0 || matches!(*method, "POST" | "PUT") {
            head.push_str(&format!("Content-Length: {length}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes())?;
        match body {
            Body::Bytes(bytes) => stream.write_all(bytes)?,
            Body::File(path, size) => {
                let sent = io::copy(&mut File::open(path)?.take(*size), stream)?;
                if sent < *size {
                    return Err(io::Error::other("the file became shorter"));
                }
            }
        }
        stream.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is asked again would be stuck again.
    #[test]
    fn only_a_connection_that_was_closed_is_made_again() {
        let is_closed = |kind: io::ErrorKind, reach| {
            Broken { error: kind.into(), reach }.is_of_a_closed_connection()
        };
        for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset] {
            assert!(is_closed(kind, Reach::Begun) && is_closed(kind, Reach::Sent), "{kind}");
            assert!(!is_closed(kind, Reach::Answered), "{kind}");
        }
        for kind in [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut] {
            assert!(!is_closed(kind, Reach::Begun) && !is_closed(kind, Reach::Sent), "{kind}");
        }
    }
}
