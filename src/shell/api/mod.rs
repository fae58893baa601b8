//! The JSON API, `/api/v1/...`: what the page, `top` and others ask. `docs/openapi.json` describes
//! it, and is made of its types. Times are ms since 1970, errors are JSON with a remedy.

mod attention;
mod changes;
mod counters;
mod decision;
mod domains;
mod event;
mod explain;
mod lists;
mod live;
mod looks;
mod old;
mod pool;
mod query;
mod record;
mod routes;
mod series;
mod task;
mod throttles;
mod usage;
mod waiting;
mod waits;
mod whatif;

pub(crate) use attention::{AttentionAnswer, SitesAnswer};
pub use domains::Apis;
pub use live::{LiveLook, Shown, Views};
pub use routes::{PATHS, openapi, routes};
pub(crate) use task::{TaskParts, text as task_text};
pub(crate) use throttles::ThrottlesAnswer;
pub(crate) use usage::UsageAnswer;
pub(crate) use waiting::{WaitingAnswer, WaitingFilter};

use crate::history::History;
use crate::http::{JSON, line, problem};
use crate::place::PlaceWords;
use crate::question::{LoopClient, NoAnswer};
use crate::status::Status;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use yardmaster_core::limits::Limits;
use yardmaster_core::policy::phrase::{limit, phrase};
use yardmaster_core::policy::{Flavour, Policy, PolicySpec, kind, kinds};
use yardmaster_core::view::RowKind;
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_wire::pseudonym::Pseudonyms;

/// Shared data of the handlers of a domain.
#[derive(Clone)]
pub struct Api {
    /// Questions to the loop.
    pub client: LoopClient,
    /// State of the process.
    pub status: Arc<Status>,
    /// The grid at a glance.
    pub views: Views,
    /// The history; none before the store is open.
    pub past: Past,
    /// Texts and figures that decisions are explained by.
    pub reasons: Arc<Reasons>,
}

/// The history, once there is one.
#[derive(Clone, Debug, Default)]
pub struct Past {
    history: Arc<Mutex<Option<History>>>,
    looks: looks::Looks,
}

impl Past {
    /// From now on this is asked.
    pub fn set(&self, history: Option<History>) {
        *self.history.lock().unwrap_or_else(PoisonError::into_inner) = history;
    }

    /// The history.
    pub fn get(&self) -> Option<History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Limits, policies and pseudonyms of the topology that this process runs, by which decisions are
/// explained.
#[derive(Debug)]
pub struct Reasons {
    /// Its domain.
    pub domain: String,
    limits: Limits,
    policies: Vec<Policy>,
    /// Maker of users' pseudonyms; `None`: users have their own names.
    pseudonyms: Option<Arc<Pseudonyms>>,
}

impl Reasons {
    /// Explains by a configuration.
    pub fn of(config: &EpochConfig) -> Reasons {
        Reasons {
            domain: config.setting.domain.clone(),
            limits: config.setting.limits.clone(),
            policies: config.policies.clone(),
            pseudonyms: config.pseudonyms.clone(),
        }
    }

    /// The pseudonym of a user that is asked for by the own name; `None` where users have none, and
    /// for what is a pseudonym.
    fn pseudonym(&self, name: &str) -> Option<String> {
        let pseudonyms = self.pseudonyms.as_ref().filter(|_| !Pseudonyms::is_pseudonym(name))?;
        Some(pseudonyms.of(name)).filter(|pseudonym| !pseudonym.is_empty())
    }

    /// The word for the rows of a look at the grid.
    fn rows(&self) -> &'static str {
        RowKind::of(&self.policies).noun()
    }

    /// The kinds whose texts explain a policy's filters: its own first, then all there are.
    fn kinds(&self, policy: &str) -> Vec<&'static Flavour> {
        let specs = self.policies.iter().map(|policy| &policy.spec);
        let own = { specs }.find(|spec: &&PolicySpec| spec.name == policy);
        let own = own.and_then(|spec| kind(&spec.kind));
        own.into_iter().chain(kinds().iter().copied()).collect()
    }

    /// A filter's objection on one line, with the figures of the policy that is in force here.
    fn help(&self, policy: &str, filter: &str) -> String {
        let own = self.policies.iter().find(|it| it.spec.name == policy);
        let known = self.kinds(policy).iter().find_map(|kind| kind.filter(filter));
        let figure = |name: &str| {
            let parameter = own.and_then(|policy| policy.stated_value(filter, name));
            parameter.or_else(|| limit(&self.limits, name))
        };
        known.map_or_else(String::new, |known| phrase(known.help, &figure))
    }

    /// The domain's words for places.
    fn words(&self) -> PlaceWords {
        PlaceWords::of(self.policies.iter())
    }

    /// The policy of a hash, if it is in force here.
    fn policy(&self, hash: &str) -> Option<&Policy> {
        self.policies.iter().find(|policy| policy.hash() == hash)
    }
}

/// A JSON answer.
fn json(answer: &impl Serialize) -> Response {
    ([(header::CONTENT_TYPE, JSON)], line(answer)).into_response()
}

/// Why a request cannot be answered.
#[derive(Debug)]
pub(crate) enum Refused {
    /// The query makes no sense: what is wrong, and what is allowed.
    Query(String, String),
    /// There is no such thing, and what there is.
    Unknown(String, String),
    /// Not now, and what to do.
    Later(String, String),
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        match self {
            Refused::Query(what, remedy) => problem(StatusCode::BAD_REQUEST, &what, &remedy),
            Refused::Unknown(what, remedy) => problem(StatusCode::NOT_FOUND, &what, &remedy),
            Refused::Later(what, remedy) => {
                let problem = problem(StatusCode::SERVICE_UNAVAILABLE, &what, &remedy);
                ([(header::RETRY_AFTER, "2")], problem).into_response()
            }
        }
    }
}

impl From<NoAnswer> for Refused {
    fn from(why: NoAnswer) -> Refused {
        let remedy = match why {
            NoAnswer::Crowded | NoAnswer::Stopped => "ask again later",
            NoAnswer::Late(_) => "ask again later, or raise http_timeout_s in the topology",
        };
        Refused::Later(why.to_string(), remedy.to_owned())
    }
}

/// Runs what reads files or walks over much, beside the server's thread.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refused> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("api: a question could not be answered: {error}");
        Refused::Later("the question could not be answered".into(), "see the log".into())
    })
}

impl Api {
    /// The history.
    fn past(&self) -> Result<History, Refused> {
        self.past.get().ok_or_else(|| {
            let what = "this process has no history yet: its store is not open";
            Refused::Later(what.into(), "ask again in a moment; see /readyz".into())
        })
    }
}
