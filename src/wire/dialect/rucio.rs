//! Rucio: the transfer messages that Hermes sends: `{event_type, payload, created_at}`.
//!
//! A transfer is known by its `request-id`; a `transfer-id` may be one FTS job of many files.
//! Stamps are text; where a Python object printed itself they are `datetime.datetime(...)`.

use super::scalar::Scalar;
use super::{Foreign, json};
use crate::core::event::TransferStatus;
use crate::core::unit::{Bytes, Millis};
use serde::Deserialize;
use std::borrow::Cow;

/// A transfer reached a state.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferMessage<'a> {
    /// `request-id`.
    pub request: Cow<'a, str>,
    /// State.
    pub state: TransferStatus,
    /// When.
    pub at: Millis,
    /// What it is for.
    pub activity: Cow<'a, str>,
    /// Source RSE; empty until one is chosen.
    pub source: Cow<'a, str>,
    /// Destination RSE.
    pub destination: Cow<'a, str>,
    /// Size.
    pub bytes: Bytes,
    /// Error text of a failed one.
    pub error: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Raw<'a> {
    #[serde(borrow, default)]
    event_type: Scalar<'a>,
    #[serde(borrow, default)]
    created_at: Scalar<'a>,
    #[serde(borrow, default)]
    payload: Option<Payload<'a>>,
}

#[derive(Deserialize)]
struct Payload<'a> {
    #[serde(borrow, default, rename = "request-id")]
    request_id: Scalar<'a>,
    #[serde(borrow, default)]
    activity: Scalar<'a>,
    #[serde(borrow, default, rename = "src-rse")]
    src_rse: Scalar<'a>,
    #[serde(borrow, default, rename = "dst-rse")]
    dst_rse: Scalar<'a>,
    #[serde(borrow, default)]
    bytes: Scalar<'a>,
    #[serde(borrow, default, rename = "file-size")]
    file_size: Scalar<'a>,
    #[serde(borrow, default)]
    reason: Scalar<'a>,
    #[serde(borrow, default)]
    created_at: Scalar<'a>,
    #[serde(borrow, default)]
    queued_at: Scalar<'a>,
    #[serde(borrow, default)]
    submitted_at: Scalar<'a>,
    #[serde(borrow, default)]
    transferred_at: Scalar<'a>,
}

pub(super) fn read(bytes: &[u8]) -> Result<Foreign<'_>, String> {
    // Other messages have other payloads, so the kind is looked at first.
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, default)]
        event_type: Scalar<'a>,
    }
    let kind: Kind<'_> = json(bytes)?;
    if state(kind.event_type.kind("event_type")?).is_none() {
        return Ok(Foreign::Other);
    }
    let raw: Raw<'_> = json(bytes)?;
    let state = state(raw.event_type.kind("event_type")?);
    let (Some(state), Some(payload)) = (state, raw.payload) else {
        return Err("field `payload` is missing, wants an object".to_owned());
    };
    let at = reached(state, &payload, &raw.created_at)?;
    let size = match payload.bytes {
        Scalar::Absent => payload.file_size.amount("file-size")?,
        message => message.amount("bytes")?,
    };
    let error = match state {
        TransferStatus::Failed => payload.reason.text("reason")?,
        _ => Cow::Borrowed(""),
    };
    Ok(Foreign::Transfer(TransferMessage {
        request: payload.request_id.needed("request-id")?,
        state,
        at,
        activity: payload.activity.text("activity")?,
        source: payload.src_rse.text("src-rse")?,
        destination: payload.dst_rse.needed("dst-rse")?,
        bytes: size,
        error,
    }))
}

fn state(event_type: &str) -> Option<TransferStatus> {
    match event_type {
        "transfer-queued" => Some(TransferStatus::Queued),
        "transfer-submitted" => Some(TransferStatus::Submitted),
        "transfer-done" => Some(TransferStatus::Done),
        "transfer-failed" => Some(TransferStatus::Failed),
        _ => None,
    }
}

/// When a state was reached: by the stamp of that state, else by that of the message. A request's
/// `created_at` is the time of its queueing alone: for a later state it would be far too early.
fn reached(
    state: TransferStatus,
    payload: &Payload<'_>,
    message: &Scalar<'_>,
) -> Result<Millis, String> {
    let own: &[(&Scalar<'_>, &str)] = match state {
        TransferStatus::Queued => {
            &[(&payload.queued_at, "queued_at"), (&payload.created_at, "created_at")]
        }
        TransferStatus::Submitted => &[(&payload.submitted_at, "submitted_at")],
        TransferStatus::Done | TransferStatus::Failed => {
            &[(&payload.transferred_at, "transferred_at")]
        }
    };
    for (stamp, field) in own.iter().chain([&(message, "created_at")]) {
        if let Some(at) = stamp.time(field)? {
            return Ok(at);
        }
    }
    Err(format!("field `{}` is missing, and so is `created_at`, wants a time", own[0].1))
}
