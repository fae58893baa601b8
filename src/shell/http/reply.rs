//! Headers of every answer, and answers to bytes that are no request.

use crate::described::described;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use std::fmt::Write;

/// The MIME type of JSON.
pub(crate) const JSON: &str = "application/json";

/// Headers of every answer: nothing of this process is to be shown in a page of somebody else's,
/// and no page of this process runs what comes from elsewhere.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
         img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
];
/// Data is true for a moment only. What may be kept for longer has its own `Cache-Control`.
const NO_STORE: (HeaderName, &str) = (header::CACHE_CONTROL, "no-store");

/// Adds what every answer carries.
pub(super) fn with_headers(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let (name, value) = NO_STORE;
    headers.entry(name).or_insert(HeaderValue::from_static(value));
    response
}

described! {
    /// Why a request is not answered.
    struct ErrorAnswer of (error: &str, remedy: &str) {
        /// The problem.
        error: String = error.to_owned(),
        /// A remedy.
        remedy: String = remedy.to_owned(),
    }
}

/// JSON of an error and its remedy.
pub(super) fn problem_json(error: &str, remedy: &str) -> String {
    line(&ErrorAnswer::of(error, remedy))
}

/// The text of an answer.
pub(crate) fn line(answer: &impl Serialize) -> String {
    // Numbers, texts and lists of them can always be written.
    serde_json::to_string(answer).unwrap_or_default() + "\n"
}

/// The bytes of an answer to what cannot be read as a request.
pub(super) fn raw(code: StatusCode, error: &str, remedy: &str) -> Vec<u8> {
    let body = problem_json(error, remedy);
    let mut text = format!("HTTP/1.1 {code}\r\n");
    let length = body.len().to_string();
    let own = [
        (header::CONTENT_TYPE, JSON),
        (header::CONTENT_LENGTH, length.as_str()),
        (header::CONNECTION, "close"),
        NO_STORE,
    ];
    for (name, value) in own.into_iter().chain(HEADERS) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text.push_str(&body);
    text.into_bytes()
}
