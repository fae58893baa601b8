//! Facts that clusters of ARC 6 and 7 and their index servers publish, as records of a NorduGrid
//! domain: GLUE2 in XML (REST), the NorduGrid schema (LDAP, or LDIF in a file), registrations
//! (ARCHERY in DNS, GIIS in LDAP). Messages of LDAP and DNS are read and made here as well; the
//! caller sends them.
//!
//! A cluster is known by its host's name. What both interfaces state is joined (`joined`): REST
//! counts, but for what LDAP alone states, or states more exactly.

mod base64;
mod dns;
mod entry;
mod figures;
mod glue2;
mod index;
mod jobs;
mod joined;
mod ldap;
mod nordugrid;
mod records;
mod url;
mod walk;

pub use dns::{TxtAnswer, txt_answer, txt_query};
pub use entry::{LdapEntry, ldif};
pub use glue2::{ArcDocument, glue2};
pub use index::{IndexServer, Registered, archery, giis};
pub use jobs::{ArcJob, arc_status};
pub use joined::joined;
pub use ldap::{LdapFilter, LdapMessage, LdapSearch, ldap_message, ldap_search};
pub use nordugrid::{CLUSTER_ATTRIBUTES, arc_jobs, ended_jobs, nordugrid, unended};
pub use records::{arc_records, unanswered};
pub use url::{LdapUrl, host_of, rest_base};
pub use walk::{ArcInterfaces, IndexWalk};

use std::collections::BTreeMap;
use yardmaster_core::event::{BatchFacts, ClusterFacts};
use yardmaster_core::unit::{Bytes, Millis};

/// A cluster as one of its interfaces publishes it, or both together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArcCluster {
    /// Its host's name: the key of its record.
    pub name: String,
    /// When its information provider ran; ms since 1970; `None`: not stated.
    pub as_of: Option<Millis>,
    /// Facts of the whole.
    pub facts: ClusterFacts,
    /// Queues by their names.
    pub queues: BTreeMap<String, BatchFacts>,
    /// By queue and user (`vo:NAME`, `*`, or the subject of a certificate): what is free.
    pub shares: BTreeMap<(String, String), ArcShare>,
    /// Jobs, of whatever user; REST shows none.
    pub jobs: Vec<ArcJob>,
    /// Notes for the operator.
    pub notes: Vec<String>,
}

/// CPUs and disk that are free at a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArcShare {
    /// CPUs, as `n[:minutes]`, separated by blanks.
    pub free_slots: String,
    /// Disk; `None`: not known.
    pub disk_free_bytes: Option<Bytes>,
}
