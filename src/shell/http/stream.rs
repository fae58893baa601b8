//! The bytes of one connection, and what is seen of it from outside: whether its request arrived,
//! and since when its client reads nothing.

use axum::http::StatusCode;
use std::future::poll_fn;
use std::io::Result;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How long a client that reads nothing keeps its connection when others wait for one.
const STALL_MAX: Duration = Duration::from_millis(500);
/// How much of what a refused client sends is read and thrown away, so that it reads the answer
/// before its connection is reset; bytes.
const DRAIN_BYTES: usize = 1 << 20;
/// For how long.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// A connection, encrypted or not.
pub(super) trait Bytes: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Bytes for T {}

/// How far a connection is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    /// Whether its request arrived.
    has_asked: AtomicBool,
    /// Whether it was answered, and only what the client still sends is waited for.
    is_over: AtomicBool,
    /// Whether something may be left of the request that was not read.
    is_refused: AtomicBool,
    /// The status of an answer that the library made itself, to what is no request; 0: none.
    bare_status: AtomicU16,
    /// Since when the client reads nothing of an answer.
    stalled: Mutex<Option<Instant>>,
}

impl Progress {
    /// The request arrived.
    pub(super) fn asked(&self) {
        self.has_asked.store(true, Ordering::Relaxed);
    }

    /// The request was refused before all of it was read.
    pub(super) fn refused(&self) {
        self.is_refused.store(true, Ordering::Relaxed);
    }

    /// Whether the connection may be closed in favour of another.
    pub(super) fn may_go(&self) -> bool {
        let stalled = *self.stalled.lock().unwrap_or_else(PoisonError::into_inner);
        !self.has_asked.load(Ordering::Relaxed)
            || self.is_over.load(Ordering::Relaxed)
            || stalled.is_some_and(|since| since.elapsed() >= STALL_MAX)
    }

    fn stall(&self, is_stalled: bool) {
        let mut stalled = self.stalled.lock().unwrap_or_else(PoisonError::into_inner);
        *stalled = is_stalled.then(|| stalled.unwrap_or_else(Instant::now));
    }
}

/// A connection as the library reads and writes it. What the library writes before a request
/// arrived is its own answer to what is no request; it is left out, since it does not say what is
/// wrong.
pub(super) struct Stream {
    bytes: Box<dyn Bytes>,
    progress: Arc<Progress>,
}

impl Stream {
    pub(super) fn new(bytes: Box<dyn Bytes>, progress: Arc<Progress>) -> Stream {
        Stream { bytes, progress }
    }

    /// The status of the library's own answer, if it made one.
    pub(super) fn bare_status(&self) -> Option<StatusCode> {
        StatusCode::from_u16(self.progress.bare_status.load(Ordering::Relaxed)).ok()
    }

    /// Whether no request arrived.
    pub(super) fn is_silent(&self) -> bool {
        !self.progress.has_asked.load(Ordering::Relaxed)
    }

    /// Writes an answer to what is no request.
    pub(super) async fn answer(&mut self, mut answer: &[u8]) -> Result<()> {
        self.progress.asked();
        self.progress.refused();
        while !answer.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *self).poll_write(cx, answer)).await?;
            answer = answer.get(written.max(1)..).unwrap_or_default();
        }
        poll_fn(|cx| Pin::new(&mut *self).poll_flush(cx)).await?;
        poll_fn(|cx| Pin::new(&mut *self).poll_shutdown(cx)).await
    }

    /// Reads what is left of a refused request, to a limit: closing with bytes unread would take
    /// the answer from the client.
    pub(super) async fn drain(&mut self) {
        if !self.progress.is_refused.load(Ordering::Relaxed) {
            return;
        }
        self.progress.is_over.store(true, Ordering::Relaxed);
        let read_all = async {
            let (mut buffer, mut left) = ([0; 8 * 1024], DRAIN_BYTES);
            while left > 0 {
                let mut space = ReadBuf::new(&mut buffer);
                let read = poll_fn(|cx| Pin::new(&mut self.bytes).poll_read(cx, &mut space)).await;
                let count = space.filled().len();
                if read.is_err() || count == 0 {
                    return;
                }
                left = left.saturating_sub(count);
            }
        };
        let _ = tokio::time::timeout(DRAIN_MAX, read_all).await;
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        Pin::new(&mut self.bytes).poll_read(cx, space)
    }
}

impl AsyncWrite for Stream {
    /// Never vectored: that would raise SIGPIPE where a client has left, by which verbs that print
    /// end with their reader. A plain write of the standard library fails, and no more.
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<Result<usize>> {
        if self.is_silent() {
            self.progress.bare_status.fetch_max(status(bytes), Ordering::Relaxed);
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.bytes).poll_write(cx, bytes);
        self.progress.stall(written.is_pending());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.bytes).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        match self.is_silent() {
            true => Poll::Ready(Ok(())),
            false => Pin::new(&mut self.bytes).poll_shutdown(cx),
        }
    }
}

/// The status of an answer's first line; 0: it has none.
fn status(head: &[u8]) -> u16 {
    let text = std::str::from_utf8(head.get(..12).unwrap_or_default()).unwrap_or_default();
    text.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..)?.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_from_the_first_line() {
        assert_eq!(status(b"HTTP/1.1 431 Request Header Fields Too Large\r\n"), 431);
        assert_eq!(status(b"HTTP/1.0 400 Bad Request\r\n"), 400);
        assert_eq!(status(b"HTTP/1.1"), 0);
        assert_eq!(status(b""), 0);
    }
}
