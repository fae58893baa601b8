//! Rucio: the messages on transfers and replicas that Hermes sends: `{event_type, payload,
//! created_at}`. Kinds are taken in any case, since Hermes writes some of them in small letters.
//!
//! A transfer is known by its `request-id`; a `transfer-id` may be one FTS job of many files. Its
//! messages are named by the kind of the request (`transfer`, `stagein`, `stageout`) and its state.
//! Stamps are text; where a Python object printed itself they are `datetime.datetime(...)`.

use super::scalar::Scalar;
use super::{Foreign, json};
use serde::Deserialize;
use std::borrow::Cow;
use yardmaster_core::event::{DataKind, FieldName, TransferStatus};
use yardmaster_core::unit::{Bytes, Millis};

/// A transfer reached a state.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferMessage<'a> {
    /// `request-id`.
    pub request: Cow<'a, str>,
    /// State.
    pub state: TransferStatus,
    /// When.
    pub at: Millis,
    /// Activity that it belongs to.
    pub activity: Cow<'a, str>,
    /// Source RSE; empty until one is chosen.
    pub source: Cow<'a, str>,
    /// Destination RSE.
    pub destination: Cow<'a, str>,
    /// Size.
    pub bytes: Bytes,
    /// Error text of a failed one.
    pub error: Cow<'a, str>,
    /// Key of the record of the replica that it is to make; empty where the file is not named.
    pub replica: String,
    /// Of one that is done: the copy it made; `None` where the message does not name the file.
    pub arrived: Option<ReplicaMessage<'a>>,
}

/// A copy of a file or dataset came to an endpoint, or went.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicaMessage<'a> {
    /// File or dataset, as `scope:name`.
    pub name: String,
    /// Whether it is a file or a dataset.
    pub kind: DataKind,
    /// Dataset of a file, as `scope:name`; empty when the message does not name it.
    pub dataset: String,
    /// RSE.
    pub endpoint: Cow<'a, str>,
    /// When.
    pub at: Millis,
    /// Size of a file.
    pub bytes: Bytes,
    /// Whether the message says that the RSE is tape.
    pub tape: bool,
    /// Whether all of it is there now; else nothing of it is.
    pub is_there: bool,
}

impl ReplicaMessage<'_> {
    /// Its longest name.
    pub(super) fn longest_name(&self) -> FieldName<'_> {
        let Self { name, dataset, endpoint, .. } = self;
        FieldName::longest([("name", &**name), ("dataset", dataset), ("rse", endpoint)])
    }
}

/// Subject of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessageKind {
    Transfer(TransferStatus),
    Replica {
        kind: DataKind,
        is_there: bool,
    },
    /// A dataset, at no RSE in particular.
    Dataset(Everywhere),
}

/// A change of a dataset at all RSEs at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Everywhere {
    /// It was erased.
    Gone,
    /// A file of it has no copy any more.
    Incomplete,
}

/// A message on a dataset that names no RSE.
#[derive(Clone, Debug, PartialEq)]
pub struct DatasetMessage {
    /// Dataset, as `scope:name`.
    pub name: String,
    /// The change.
    pub everywhere: Everywhere,
    /// When.
    pub at: Millis,
}

#[derive(Deserialize)]
struct Raw<'a> {
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
    scope: Scalar<'a>,
    #[serde(borrow, default)]
    name: Scalar<'a>,
    #[serde(borrow, default)]
    dataset: Scalar<'a>,
    #[serde(borrow, default, rename = "datasetScope")]
    dataset_scope: Scalar<'a>,
    #[serde(borrow, default)]
    rse: Scalar<'a>,
    #[serde(borrow, default, rename = "dst-type")]
    dst_type: Scalar<'a>,
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
    let Some(kind) = message_kind(kind.event_type.kind("event_type")?) else {
        return Ok(Foreign::Other);
    };
    let raw: Raw<'_> = json(bytes)?;
    let Some(payload) = raw.payload else {
        return Err("field `payload` is missing, wants an object".to_owned());
    };
    match kind {
        MessageKind::Transfer(state) => transfer(state, payload, &raw.created_at),
        MessageKind::Replica { kind, is_there } => {
            replica(kind, is_there, payload, &raw.created_at)
        }
        MessageKind::Dataset(everywhere) => Ok(Foreign::Dataset(DatasetMessage {
            at: sent(&payload, &raw.created_at)?,
            name: scoped(payload.scope.needed("scope")?, &payload.name.needed("name")?),
            everywhere,
        })),
    }
}

fn transfer<'a>(
    state: TransferStatus,
    payload: Payload<'a>,
    created_at: &Scalar<'a>,
) -> Result<Foreign<'a>, String> {
    let at = reached(state, &payload, created_at)?;
    let (size, file) = (size(&payload)?, file(&payload)?);
    let arrived = match state {
        TransferStatus::Done => arrived(&payload, at, size)?,
        TransferStatus::Queued | TransferStatus::Submitted | TransferStatus::Failed => None,
    };
    let error = match state {
        TransferStatus::Failed => payload.reason.text("reason")?,
        _ => Cow::Borrowed(""),
    };
    let destination = payload.dst_rse.needed("dst-rse")?;
    Ok(Foreign::Transfer(TransferMessage {
        replica: file.map_or_else(String::new, |file| format!("{file}|{destination}")),
        request: payload.request_id.needed("request-id")?,
        state,
        at,
        activity: payload.activity.text("activity")?,
        source: payload.src_rse.text("src-rse")?,
        destination,
        bytes: size,
        error,
        arrived,
    }))
}

/// A file that was added or deleted, or a dataset all of whose files are locked at an RSE.
fn replica<'a>(
    kind: DataKind,
    is_there: bool,
    payload: Payload<'a>,
    created_at: &Scalar<'a>,
) -> Result<Foreign<'a>, String> {
    let at = sent(&payload, created_at)?;
    let name =
        scoped(payload.scope.clone().needed("scope")?, &payload.name.clone().needed("name")?);
    let dataset = dataset(&payload)?;
    Ok(Foreign::Replica(ReplicaMessage {
        name,
        kind,
        dataset: if kind == DataKind::File { dataset } else { String::new() },
        at,
        bytes: if kind == DataKind::File { size(&payload)? } else { 0 },
        tape: false,
        is_there,
        endpoint: payload.rse.needed("rse")?,
    }))
}

/// The copy that a transfer made, if the message names the file.
fn arrived<'a>(
    payload: &Payload<'a>,
    at: Millis,
    bytes: Bytes,
) -> Result<Option<ReplicaMessage<'a>>, String> {
    let Some(name) = file(payload)? else { return Ok(None) };
    Ok(Some(ReplicaMessage {
        name,
        kind: DataKind::File,
        dataset: dataset(payload)?,
        endpoint: payload.dst_rse.clone().needed("dst-rse")?,
        at,
        bytes,
        tape: payload.dst_type.clone().text("dst-type")?.eq_ignore_ascii_case("tape"),
        is_there: true,
    }))
}

/// When a message was sent.
fn sent(payload: &Payload<'_>, created_at: &Scalar<'_>) -> Result<Millis, String> {
    let own = created_at.time("created_at")?;
    let stated = own.map_or_else(|| payload.created_at.time("created_at"), |at| Ok(Some(at)))?;
    stated.ok_or_else(|| "field `created_at` is missing, wants a time".to_owned())
}

/// The file of a message, as `scope:name`, if it names one.
fn file(payload: &Payload<'_>) -> Result<Option<String>, String> {
    let scope = payload.scope.clone().text("scope")?;
    let name = payload.name.clone().text("name")?;
    Ok((!scope.is_empty() && !name.is_empty()).then(|| scoped(scope, &name)))
}

fn scoped(scope: Cow<'_, str>, name: &str) -> String {
    format!("{scope}:{name}")
}

/// The dataset of a file; empty when it is not named.
fn dataset(payload: &Payload<'_>) -> Result<String, String> {
    let name = payload.dataset.clone().text("dataset")?;
    let scope = payload.dataset_scope.clone().text("datasetScope")?;
    Ok(match (scope.is_empty(), name.is_empty()) {
        (_, true) => String::new(),
        (true, false) => name.into_owned(),
        (false, false) => scoped(scope, &name),
    })
}

fn size(payload: &Payload<'_>) -> Result<Bytes, String> {
    match &payload.bytes {
        Scalar::Absent => payload.file_size.amount("file-size"),
        message => message.amount("bytes"),
    }
}

fn message_kind(event_type: &str) -> Option<MessageKind> {
    let replica = |kind, is_there| Some(MessageKind::Replica { kind, is_there });
    let event_type = event_type.to_ascii_lowercase();
    match event_type.as_str() {
        "add-replica" | "add-replicas" | "add_replica" | "add_replicas" => {
            replica(DataKind::File, true)
        }
        "deletion-done" | "deletion-not-found" => replica(DataKind::File, false),
        "datasetlock_ok" | "dataset-lock-ok" => replica(DataKind::Dataset, true),
        "erase" => Some(MessageKind::Dataset(Everywhere::Gone)),
        "incomplete" => Some(MessageKind::Dataset(Everywhere::Incomplete)),
        other => {
            let (request, state) = other.split_once('-')?;
            let is_transfer = matches!(request, "transfer" | "stagein" | "stageout");
            transfer_state(state).filter(|_| is_transfer).map(MessageKind::Transfer)
        }
    }
}

/// The states of Rucio's requests. One that ended badly is asked for again under another id.
fn transfer_state(word: &str) -> Option<TransferStatus> {
    match word {
        "queued" | "preparing" | "waiting" | "suspend" | "submitting" => {
            Some(TransferStatus::Queued)
        }
        "submitted" => Some(TransferStatus::Submitted),
        "done" => Some(TransferStatus::Done),
        "failed" | "lost" | "submission_failed" | "no_sources" | "only_tape_sources"
        | "mismatch_scheme" => Some(TransferStatus::Failed),
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
