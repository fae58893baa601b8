//! Registrations at an index server: ARCHERY, TXT records in DNS; GIIS, entries of LDAP.

use super::entry::LdapEntry;
use super::figures::whole;
use super::url::{LdapUrl, host_of};
use yardmaster_core::event::{ChildKind, RegistrationStatus};

/// An index server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexServer {
    /// TXT records under a name of DNS, which is written as it is asked for.
    Archery {
        /// The name by which its registrations are known.
        name: String,
        /// The name that is asked for.
        asked: String,
    },
    /// Entries below the base of an address of LDAP.
    Giis(LdapUrl),
}

impl IndexServer {
    /// The ARCHERY of a name: `_archery.NAME`, or the name itself behind `dns://`.
    pub fn archery(name: &str) -> IndexServer {
        let lower = name.trim_end_matches('.').to_ascii_lowercase();
        match lower.strip_prefix("dns://") {
            Some(own) => {
                let name = own.strip_prefix("_archery.").unwrap_or(own);
                IndexServer::Archery { name: name.to_owned(), asked: own.to_owned() }
            }
            None => {
                let asked = format!("_archery.{lower}");
                IndexServer::Archery { name: lower, asked }
            }
        }
    }

    /// The GIIS of an address, `ldap://HOST:PORT/Mds-Vo-name=NAME,o=grid`.
    ///
    /// # Errors
    /// Text that is no such address.
    pub fn giis(url: &str) -> Result<IndexServer, String> {
        LdapUrl::parse(url).map(IndexServer::Giis)
    }

    /// Its name in records.
    pub fn name(&self) -> String {
        match self {
            IndexServer::Archery { name, .. } => name.clone(),
            IndexServer::Giis(LdapUrl { host, port, base }) => {
                let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
                format!("ldap://{host}:{port}/{base}")
            }
        }
    }

    /// The same for servers that are one: names of DNS and of LDAP are in any case.
    pub(super) fn identity(&self) -> String {
        match self {
            IndexServer::Archery { asked, .. } => format!("dns://{asked}"),
            IndexServer::Giis(_) => self.name().to_ascii_lowercase().replace(' ', ""),
        }
    }
}

/// One line of what is registered; an index server may have several for one thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The name of the thing: a cluster's host, an index server's name.
    pub child: String,
    /// Kind.
    pub kind: ChildKind,
    /// Status.
    pub status: RegistrationStatus,
    /// Whether all that an address needs is stated.
    pub is_addressed: bool,
    /// How long it holds; s; `None`: not stated.
    pub ttl_s: Option<u64>,
    /// Where it is reached.
    pub url: String,
    /// The name of the interface that is reached there.
    pub interface: String,
}

impl Registered {
    /// Whether it can be used.
    pub(super) fn is_usable(&self) -> bool {
        self.is_addressed && self.status != RegistrationStatus::Purged
    }

    /// The index server that it is; `None`: it is none, or of a kind that is not read.
    pub(super) fn server(&self) -> Option<IndexServer> {
        match (self.kind, self.url.get(..6)) {
            (ChildKind::Registry, Some("dns://")) => Some(IndexServer::archery(&self.url)),
            (ChildKind::Registry, _) => IndexServer::giis(&self.url).ok(),
            _ => None,
        }
    }
}

/// The interface of clusters whose entries are in the NorduGrid schema.
const LDAP: &str = "org.nordugrid.ldapng";
/// Types of ARCHERY that are index servers.
const REGISTRIES: [&str; 5] = [
    "org.nordugrid.archery",
    "archery",
    "archery.group",
    "archery.service",
    "org.nordugrid.ldapegiis",
];

/// Registrations that the TXT records of a name state: fields `u=` (where), `t=` (type), `s=0` (not
/// in service). Records with `o=` are about the object itself.
pub fn archery(records: &[String], ttl_s: u32) -> Vec<Registered> {
    let mut found = Vec::new();
    for record in records {
        let fields = || record.split_whitespace().filter_map(|field| field.split_once('='));
        let first = |name: &str| fields().find(|(field, _)| *field == name).map(|(_, value)| value);
        let Some(url) = first("u").filter(|_| first("o").is_none()) else { continue };
        let is_in_service = first("s").is_none_or(|state| state == "1");
        for (_, interface) in fields().filter(|(field, _)| *field == "t") {
            let is_registry = REGISTRIES.contains(&interface);
            let child = match is_registry {
                true => registry_name(url),
                false => host_of(url),
            };
            found.push(Registered {
                is_addressed: !child.is_empty(),
                child,
                kind: if is_registry { ChildKind::Registry } else { ChildKind::Computing },
                status: match is_in_service {
                    true => RegistrationStatus::Valid,
                    false => RegistrationStatus::Purged,
                },
                ttl_s: Some(ttl_s.into()),
                url: url.to_owned(),
                interface: interface.to_owned(),
            });
        }
    }
    found.retain(|it| !it.child.is_empty());
    found
}

/// The name by which an index server of an address is known.
fn registry_name(url: &str) -> String {
    match url.starts_with("ldap://") {
        true => IndexServer::giis(url).map_or_else(|_| url.to_owned(), |server| server.name()),
        false => {
            IndexServer::archery(&format!("dns://{}", url.trim_start_matches("dns://"))).name()
        }
    }
}

/// Registrations that the entries of a GIIS state. The first part of a distinguished name has the
/// kind.
pub fn giis(entries: &[LdapEntry]) -> Vec<Registered> {
    let registered = |entry: &LdapEntry| {
        let service = |field: &str| entry.one(&format!("Mds-Service-{field}")).trim().to_owned();
        let [scheme, host, port, suffix] = ["type", "hn", "port", "Ldap-suffix"].map(service);
        if host.is_empty() {
            return None;
        }
        let (attribute, _) = entry.first_of_dn();
        let kind = match attribute.to_ascii_lowercase().as_str() {
            "mds-vo-name" => ChildKind::Registry,
            "nordugrid-cluster-name" => ChildKind::Computing,
            "nordugrid-se-name" => ChildKind::Storage,
            _ => ChildKind::Unknown,
        };
        let url = format!("{scheme}://{host}:{port}/{suffix}");
        let is_addressed = ![&scheme, &port, &suffix].iter().any(|it| it.is_empty());
        let child = match kind {
            ChildKind::Registry => registry_name(&url),
            _ => host.to_ascii_lowercase(),
        };
        Some(Registered {
            child,
            kind,
            status: match entry.one("Mds-Reg-status").trim() {
                "PURGED" => RegistrationStatus::Purged,
                "" | "VALID" => RegistrationStatus::Valid,
                _ => RegistrationStatus::Invalid,
            },
            is_addressed,
            ttl_s: whole(&service("Ldap-ttl")),
            url,
            interface: LDAP.to_owned(),
        })
    };
    entries.iter().filter_map(registered).collect()
}
