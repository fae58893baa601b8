//! Addresses of clusters and index servers.

/// Port of the information system where an address states none.
const LDAP_PORT: u16 = 2135;
/// Where a cluster's entries are.
const CLUSTER_BASE: &str = "Mds-Vo-name=local,o=grid";

/// The host of an address, in small letters; empty if it names none.
pub fn host_of(url: &str) -> String {
    host_and_port(url).0.to_ascii_lowercase()
}

/// The part of a URL behind its scheme and before its path.
fn authority(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or("");
    authority.rsplit_once('@').map_or(authority, |(_, host)| host)
}

fn host_and_port(url: &str) -> (&str, Option<u16>) {
    let authority = authority(url);
    let (host, rest) = match authority.strip_prefix('[').and_then(|it| it.split_once(']')) {
        Some(six) => six,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    (host, rest.strip_prefix(':').and_then(|port| port.parse().ok()))
}

/// The address below which a cluster's REST interface has its versions: of `https://HOST:PORT/arex`
/// what stands before `/rest`, so that an address of a version may be given as well.
pub fn rest_base(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    let version = |(base, rest): (&'_ str, &'_ str)| {
        let is_version =
            rest.is_empty() || rest.strip_prefix('/').is_some_and(|it| !it.contains('/'));
        is_version.then_some(base.len())
    };
    url.rsplit_once("/rest").and_then(version).map_or(url, |end| &url[..end])
}

/// An address of LDAP.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LdapUrl {
    /// Host: a name, or an address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Base of a search; that of a cluster where none is stated.
    pub base: String,
}

impl LdapUrl {
    /// Reads `ldap://HOST[:PORT][/BASE]`; the port is 2135 without one, as of ARC's information
    /// system.
    ///
    /// # Errors
    /// Text that is no such address.
    pub fn parse(url: &str) -> Result<LdapUrl, String> {
        let wrong = || format!("{url}: wants ldap://HOST:PORT/BASE");
        let rest = url.strip_prefix("ldap://").ok_or_else(wrong)?;
        let (host, port) = host_and_port(url);
        let has_port =
            authority(url).trim_start_matches('[').trim_start_matches(host).contains(':');
        if host.is_empty() || has_port && port.is_none() {
            return Err(wrong());
        }
        let base = rest.split_once('/').map_or("", |(_, base)| base.trim_end_matches('/'));
        let base = if base.is_empty() { CLUSTER_BASE } else { base };
        let port = port.unwrap_or(LDAP_PORT);
        Ok(LdapUrl { host: host.to_owned(), port, base: base.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_an_address_is_found() {
        for (url, host) in [
            ("https://CE-a.example.org:8443/arex", "ce-a.example.org"),
            ("ldap://[::1]:2135/o=grid", "::1"),
            ("gsiftp://ce-c.example.org:2811/jobs", "ce-c.example.org"),
            ("https://me@ce/arex", "ce"),
            ("", ""),
        ] {
            assert_eq!(host_of(url), host, "{url}");
        }
    }

    #[test]
    fn an_address_of_a_version_of_rest_is_one_of_the_service() {
        let base = "https://ce:8443/arex";
        for end in ["", "/", "/rest", "/rest/1.0", "/rest/1.1/"] {
            assert_eq!(rest_base(&format!("{base}{end}")), base, "{end}");
        }
        assert_eq!(rest_base("https://ce/restore"), "https://ce/restore");
        assert_eq!(rest_base("https://ce/rest/1.0/jobs"), "https://ce/rest/1.0/jobs");
    }

    #[test]
    fn an_address_of_ldap_has_ports_and_bases_of_arc() {
        let read = |url: &str| LdapUrl::parse(url).map(|it| (it.host, it.port, it.base));
        let of = |host: &str, port, base: &str| Ok((host.to_owned(), port, base.to_owned()));
        assert_eq!(read("ldap://ce"), of("ce", 2135, CLUSTER_BASE));
        assert_eq!(
            read("ldap://ce:389/Mds-Vo-name=X,o=grid"),
            of("ce", 389, "Mds-Vo-name=X,o=grid")
        );
        assert_eq!(read("ldap://[::1]:2136/"), of("::1", 2136, CLUSTER_BASE));
        assert_eq!(read("ldap://[::1]"), of("::1", 2135, CLUSTER_BASE));
        for wrong in ["https://ce", "ldap://", "ldap://ce:many", "ldap://ce:", "ce"] {
            assert!(read(wrong).unwrap_err().contains("ldap://HOST:PORT/BASE"), "{wrong}");
        }
    }
}
