//! The domains that can be asked about: `domain` in a query names one, the first is meant else.

use super::query::{DOMAIN, Params};
use super::{Api, Refused};
use crate::described::described;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use std::sync::Arc;

/// Shared data of the handlers of each domain; in the order of the topology files.
#[derive(Clone)]
pub struct Apis(Arc<[Api]>);

impl Apis {
    /// Of one domain or more.
    pub fn new(apis: Vec<Api>) -> Apis {
        Apis(apis.into())
    }

    /// The domain of a name, or the first.
    fn get(&self, name: Option<&str>) -> Result<Api, Refused> {
        let found = match name {
            Some(name) => self.0.iter().find(|api| api.reasons.domain == name),
            None => self.0.first(),
        };
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|api| api.reasons.domain.as_str()).collect();
            let what = format!("domain: there is no {:?} here", name.unwrap_or_default());
            Refused::Query(what, format!("give one of {}", names.join(", ")))
        })
    }

    /// Each domain with whether it leads and is ready.
    pub(super) fn overview(&self) -> Vec<DomainState> {
        self.0.iter().map(|api| DomainState::of(api, api.status.not_ready())).collect()
    }
}

described! {
    /// How a domain of the process stands.
    struct DomainState of (api: &Api, reason: Option<String>) {
        /// Its name.
        domain: String = api.reasons.domain.clone(),
        /// Whether the process leads it.
        leading: bool = api.status.get().leading,
        /// Whether it is ready, as /readyz answers for it.
        ready: bool = reason.is_none(),
        /// Why it is not ready.
        reason: Option<String> = reason,
    }
}

/// The domain that a request is about.
pub(super) struct Of(pub Api);

impl FromRequestParts<Apis> for Of {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, apis: &Apis) -> Result<Of, Refused> {
        let Params(given) = Params::from_request_parts(parts, apis).await?;
        let name = given.get(DOMAIN.name).map(String::as_str).filter(|name| !name.is_empty());
        apis.get(name).map(Of)
    }
}
