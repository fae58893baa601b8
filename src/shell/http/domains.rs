//! The domains of the process: their metrics as one text, and whether each is ready.

use crate::metrics::{Scrape, merge};
use crate::status::Status;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Name, metrics and state of a domain that the server shows.
#[derive(Clone)]
pub struct ServedDomain {
    /// Its name.
    pub name: String,
    /// Its metrics.
    pub scrape: Scrape,
    /// State of the process for it.
    pub status: Arc<Status>,
}

/// All domains of the process, in the order of its topology files.
#[derive(Clone)]
pub(super) struct ServedDomains(pub(super) Arc<[ServedDomain]>);

impl ServedDomains {
    /// The metrics of all domains.
    pub(super) fn metrics(&self) -> String {
        match &*self.0 {
            [one] => one.scrape.text(),
            all => merge(&all.iter().map(|it| it.scrape.text()).collect::<Vec<_>>()),
        }
    }

    /// Tidies up observations.
    pub(super) fn upkeep(&self) {
        self.0.iter().for_each(|it| it.scrape.upkeep());
    }

    /// Whether the process is ready, and the answer of `/readyz`: of one domain, or of all, of
    /// which each must be ready. The state is shown to a client that may see data. An error names
    /// the domains there are.
    pub(super) fn ready(&self, of: Option<&str>, has_state: bool) -> Result<(bool, Value), String> {
        let one = match (&*self.0, of) {
            ([one], None) => Some(one),
            (_, None) => None,
            (all, Some(name)) => {
                Some(all.iter().find(|it| it.name == name).ok_or_else(|| self.names())?)
            }
        };
        if let Some(one) = one {
            return Ok(one.ready(has_state));
        }
        let (mut reasons, mut domains) = (Vec::new(), Map::new());
        for domain in self.0.iter() {
            let (_, answer) = domain.ready(has_state);
            if let Some(reason) = answer["reason"].as_str() {
                reasons.push(format!("{}: {reason}", domain.name));
            }
            domains.insert(domain.name.clone(), answer);
        }
        let reason = (!reasons.is_empty()).then(|| reasons.join("; "));
        let is_ready = reason.is_none();
        Ok((is_ready, json!({ "ready": is_ready, "reason": reason, "domains": domains })))
    }

    fn names(&self) -> String {
        self.0.iter().map(|it| it.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl ServedDomain {
    fn ready(&self, has_state: bool) -> (bool, Value) {
        let reason = self.status.not_ready();
        let mut answer = json!({ "ready": reason.is_none(), "reason": reason });
        if has_state {
            answer["state"] = json!(self.status.get());
        }
        (reason.is_none(), answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;

    fn domains(names: &[&str]) -> ServedDomains {
        let served = |name: &&str| {
            let status = Arc::new(Status::default());
            let scrape = Metrics::new(name, 1).scrape(Arc::clone(&status));
            ServedDomain { name: (*name).to_owned(), scrape, status }
        };
        ServedDomains(names.iter().map(served).collect())
    }

    #[test]
    fn a_process_is_ready_if_all_its_domains_are_and_names_those_that_are_not() {
        let both = domains(&["atlas", "cms"]);
        assert!(both.ready(None, false).unwrap().0);
        both.0[1].status.update(|state| state.stopped = Some("the disk is full".into()));
        let (is_ready, answer) = both.ready(None, true).unwrap();
        assert!(!is_ready);
        assert_eq!(answer["reason"], "cms: stopped: the disk is full");
        let of = |domain: &str| answer["domains"][domain].clone();
        assert_eq!((&of("atlas")["ready"], &of("cms")["ready"]), (&true.into(), &false.into()));
        assert_eq!(of("cms")["state"]["stopped"], "the disk is full");
        // Asked about one, it answers as a process of that one does.
        let (is_ready, answer) = both.ready(Some("atlas"), false).unwrap();
        assert_eq!((is_ready, answer), (true, json!({ "ready": true, "reason": null })));
        assert_eq!(both.ready(Some("alice"), false).unwrap_err(), "atlas, cms");
        let one = domains(&["atlas"]).ready(None, true).unwrap().1;
        assert!(one["state"].is_object() && one["domains"].is_null(), "{one}");
    }
}
