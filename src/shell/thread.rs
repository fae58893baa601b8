//! Threads that log as the thread which starts them: with its domain, where a process leads
//! several.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread that works in the tracing span of its caller.
///
/// # Errors
/// The system gives no thread.
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    let span = tracing::Span::current();
    Builder::new().name(name.to_owned()).spawn(move || span.in_scope(work))
}
