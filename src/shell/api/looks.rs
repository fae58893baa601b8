//! Answers that hold every counter or queue there is: a few at a time, each until it is sent, so
//! that any number of clients takes no more memory than these.

use super::Refused;
use crate::http::JSON;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many that look at counters, or back, are made and sent at a time.
const LOOKS: usize = 2;
/// How long a question waits for its turn.
const WAIT: Duration = Duration::from_secs(2);
/// An answer is sent in pieces of so many bytes, as the client takes them.
const PIECE: usize = 64 << 10;

/// Whose turn it is.
#[derive(Clone, Debug)]
pub(super) struct Looks(Arc<Semaphore>);

impl Default for Looks {
    fn default() -> Looks {
        Looks::of(LOOKS)
    }
}

/// A turn; of those who are sent the same text, all have the same.
pub(super) type Turn = Arc<OwnedSemaphorePermit>;

impl Looks {
    /// So many at a time.
    pub fn of(most: usize) -> Looks {
        Looks(Arc::new(Semaphore::new(most)))
    }

    /// Waits a moment for a turn.
    pub async fn turn(&self) -> Result<Turn, Refused> {
        let turn = tokio::time::timeout(WAIT, Arc::clone(&self.0).acquire_owned()).await;
        turn.ok().and_then(Result::ok).map(Arc::new).ok_or_else(|| {
            let what = "as many others as may be at a time are being given all there is";
            Refused::Later(what.into(), "ask again in a few seconds".into())
        })
    }
}

/// An answer that keeps its turn until it is sent.
pub(super) fn held(text: impl Into<Bytes>, turn: Turn) -> Response {
    let body = Body::new(Held { rest: text.into(), _turn: turn });
    ([(header::CONTENT_TYPE, JSON)], body).into_response()
}

struct Held {
    rest: Bytes,
    _turn: Turn,
}

impl HttpBody for Held {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let count = self.rest.len().min(PIECE);
        let piece = (count > 0).then(|| Ok(Frame::data(self.rest.split_to(count))));
        Poll::Ready(piece)
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_given_all_at_a_time_and_the_next_when_one_was_sent() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let looks = Looks::default();
            let first = held("a".repeat(3 * PIECE + 1), looks.turn().await.unwrap());
            let _other = held("b", looks.turn().await.unwrap());
            let refused = looks.turn().await.expect_err("no turn is free");
            let response = refused.into_response();
            assert_eq!(response.status(), 503);
            assert!(response.headers().contains_key(header::RETRY_AFTER));
            let mut body = first.into_body();
            assert_eq!(body.size_hint().exact(), Some(3 * PIECE as u64 + 1));
            let mut pieces = Vec::new();
            while let Some(Ok(frame)) =
                std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await
            {
                pieces.push(frame.into_data().unwrap().len());
            }
            assert_eq!(pieces, [PIECE, PIECE, PIECE, 1]);
            assert!(looks.turn().await.is_err(), "it is not sent yet");
            drop(body);
            assert!(looks.turn().await.is_ok());
        });
    }
}
