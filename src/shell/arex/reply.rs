//! An answer by HTTP/1.1, read from a stream.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::time::Instant;

/// Longest head of an answer, and longest body that is kept in memory; bytes.
const HEAD_MAX: u64 = 64 << 10;
const BODY_MAX: u64 = 64 << 20;

/// An answer.
#[derive(Debug, Default)]
pub(super) struct ArexAnswer {
    pub(super) status: u16,
    pub(super) reason: String,
    headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl ArexAnswer {
    /// The value of a header, whose name is in small letters.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// A stream that is read until a moment: a cluster may send a byte now and then for ever.
pub(super) struct Timed<'a, S> {
    pub(super) stream: &'a mut S,
    pub(super) until: Option<Instant>,
}

impl<S> Timed<'_, S> {
    fn in_time(&self) -> io::Result<()> {
        match self.until.is_some_and(|until| Instant::now() > until) {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
    }
}

impl<S: Read> Read for Timed<'_, S> {
    fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        self.in_time()?;
        self.stream.read(space)
    }
}

impl<S: BufRead> BufRead for Timed<'_, S> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.in_time()?;
        self.stream.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.stream.consume(amount);
    }
}

/// Reads an answer; a body of status 200 goes into `sink`, if there is one. And whether the
/// connection can be kept.
///
/// # Errors
/// It is none of HTTP, breaks off, or is too long.
pub(super) fn answer(
    stream: &mut impl BufRead,
    sink: Option<&mut File>,
) -> io::Result<(ArexAnswer, bool)> {
    let mut answer = head(stream)?;
    let is_open = body(stream, &mut answer, sink)?;
    Ok((answer, is_open))
}

/// The head of an answer that is not a preliminary one.
fn head(stream: &mut impl BufRead) -> io::Result<ArexAnswer> {
    let mut stream = stream.take(HEAD_MAX);
    loop {
        let first = line(&mut stream)?;
        let mut words = first.splitn(3, ' ');
        let is_http = words.next().is_some_and(|word| word.starts_with("HTTP/1."));
        let status = words.next().and_then(|word| word.parse().ok()).filter(|_| is_http);
        let status = status.ok_or_else(|| io::Error::other("the answer is not of HTTP"))?;
        let reason = words.next().unwrap_or_default().trim().to_owned();
        let mut headers = Vec::new();
        loop {
            let line = line(&mut stream)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
        }
        if status >= 200 {
            return Ok(ArexAnswer { status, reason, headers, body: Vec::new() });
        }
    }
}

/// A line without its end.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let line = line.strip_suffix(b"\r").unwrap_or(&line);
    Ok(String::from_utf8_lossy(line).into_owned())
}

/// Reads the body of an answer; whether the connection can be kept.
fn body(
    stream: &mut impl BufRead,
    answer: &mut ArexAnswer,
    sink: Option<&mut File>,
) -> io::Result<bool> {
    let is_chunked = answer
        .header("transfer-encoding")
        .is_some_and(|encoding| encoding.to_ascii_lowercase().contains("chunked"));
    let length = answer.header("content-length").and_then(|length| length.parse::<u64>().ok());
    let is_closed = answer
        .header("connection")
        .is_some_and(|connection| connection.eq_ignore_ascii_case("close"));
    let mut taken = Taken { kept: Vec::new(), sink: sink.filter(|_| answer.status == 200) };
    let is_delimited = match (is_chunked, length) {
        _ if matches!(answer.status, 204 | 304) => true,
        (true, _) => {
            while let size @ 1.. = chunk_size(&line(stream)?)? {
                taken.copy(stream, size)?;
                line(stream)?;
            }
            while !line(stream)?.is_empty() {}
            true
        }
        (false, Some(length)) => {
            taken.copy(stream, length)?;
            true
        }
        (false, None) => {
            // Some end without the closing record of TLS; nothing tells whether it is whole.
            match io::copy(stream, &mut taken) {
                Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
                _ => false,
            }
        }
    };
    answer.body = taken.kept;
    Ok(is_delimited && !is_closed)
}

fn chunk_size(line: &str) -> io::Result<u64> {
    let size = line.split(';').next().unwrap_or_default().trim();
    u64::from_str_radix(size, 16).map_err(|_| io::Error::other("a chunk of the answer has no size"))
}

/// What was read of a body.
struct Taken<'a> {
    kept: Vec<u8>,
    sink: Option<&'a mut File>,
}

impl Taken<'_> {
    fn copy(&mut self, stream: &mut impl Read, size: u64) -> io::Result<()> {
        match io::copy(&mut stream.take(size), self)? {
            read if read < size => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}

impl Write for Taken<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(sink) = &mut self.sink {
            return sink.write(bytes);
        }
        if (self.kept.len() + bytes.len()) as u64 > BODY_MAX {
            return Err(io::Error::other("the answer is longer than 64 MiB"));
        }
        self.kept.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;
    use std::time::Duration;

    fn read(text: &str) -> Option<(u16, String, bool)> {
        let mut stream = text.as_bytes();
        let (answer, is_open) = answer(&mut stream, None).ok()?;
        Some((answer.status, String::from_utf8_lossy(&answer.body).into_owned(), is_open))
    }

    /// What comes byte by byte, for ever.
    struct Dripping;

    impl Read for Dripping {
        fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
            std::thread::sleep(Duration::from_millis(1));
            space[0] = b'x';
            Ok(1)
        }
    }

    #[test]
    fn an_answer_that_drips_ends_with_its_time() {
        let mut dripping = BufReader::with_capacity(1, Dripping);
        let until = Some(Instant::now() + Duration::from_millis(50));
        let mut stream = Timed { stream: &mut dripping, until };
        let error = head(&mut stream).expect_err("it has no end");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut whole = [0; 8];
        let mut unlimited = Timed { stream: &mut dripping, until: None };
        unlimited.read_exact(&mut whole).unwrap();
    }

    #[test]
    fn bodies_end_by_their_length_by_an_empty_chunk_or_with_the_connection() {
        let found = |status, text: &str, is_open| Some((status, text.to_owned(), is_open));
        let length = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nab more";
        assert_eq!(read(length), found(201, "ab", true));
        let closed = "HTTP/1.1 200 OK\r\nConnection: close\r\ncontent-length: 2\r\n\r\nab";
        assert_eq!(read(closed), found(200, "ab", false));
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\nab"), found(200, "ab", false));
        let chunks = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\
                      \r\n\r\n2;x\r\nab\r\n1\r\nc\r\n0\r\n\r\n";
        assert_eq!(read(chunks), found(200, "abc", true));
        assert_eq!(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab"), None);
        assert_eq!(read(&chunks[..chunks.len() - 8]), None);
        assert_eq!(read("SSH-2.0-OpenSSH\r\n\r\n"), None);
        assert_eq!(read("HTTP/1.1 204 No Content\r\n\r\n"), found(204, "", true));
    }
}
