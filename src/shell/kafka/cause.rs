//! Causes of a connection that does not come about, in plain words and with a remedy. librdkafka
//! names them among its own terms.

/// The beginning of a name that librdkafka gives to an address of `--bootstrap-server`.
const BOOTSTRAP: &str = "/bootstrap";

/// The cause that a report of the client has, if it is one that is known.
pub(super) fn cause(report: &str) -> Option<&'static str> {
    let has = |part: &str| report.contains(part);
    if has("Failed to resolve") {
        return Some(match has(BOOTSTRAP) {
            true => {
                "the broker's name is not known here: correct --bootstrap-server, or mend the name \
                 service of this machine"
            }
            false => {
                "the broker states a name for itself that is not known here: correct its \
                 advertised.listeners, or mend the name service of this machine"
            }
        });
    }
    let known = [
        (
            "Connection refused",
            "nothing listens at the broker's address: correct host and port of \
             --bootstrap-server, or start the broker",
        ),
        (
            "Connection setup timed out",
            "the broker's address does not answer: correct --bootstrap-server, or open the way \
             through the firewall",
        ),
        (
            "No route to host",
            "no way leads to the broker's address: correct --bootstrap-server, or mend the network",
        ),
        (
            "Network is unreachable",
            "no way leads to the broker's address: correct --bootstrap-server, or mend the network",
        ),
        (
            "connecting to a PLAINTEXT broker listener",
            "the broker does not speak TLS at this port: correct the port, or the property \
             security.protocol",
        ),
        (
            "connecting to a SSL listener",
            "the broker does not answer as one without TLS does: if it speaks TLS at this port, set \
             the property security.protocol to SSL or SASL_SSL",
        ),
        (
            "verify that security.protocol",
            "the broker closes the connection: it speaks TLS or wants a user at this port, so set \
             the property security.protocol (docs/security.md)",
        ),
    ];
    known.into_iter().find(|(part, _)| has(part)).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_named_by_what_the_client_reports() {
        for (report, part) in [
            (
                "a.example:9092/bootstrap: Failed to resolve 'a.example:9092': Name or service not \
                 known",
                "--bootstrap-server",
            ),
            ("b:9092/1: Failed to resolve 'b:9092': Name or service not known", "advertised"),
            (
                "127.0.0.1:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused",
                "port",
            ),
            ("ssl://h:1/bootstrap: Connection setup timed out in state CONNECT", "firewall"),
            (
                "ssl://h:1/bootstrap: SSL handshake failed: wrong version number: connecting to a \
                 PLAINTEXT broker listener?",
                "does not speak TLS",
            ),
            (
                "h:1/bootstrap: Disconnected while requesting ApiVersion: might be caused by \
                 incorrect security.protocol configuration (connecting to a SSL listener?)",
                "security.protocol to SSL",
            ),
        ] {
            let cause = cause(report).unwrap_or_default();
            assert!(cause.contains(part), "{report}: {cause}");
        }
        assert_eq!(cause("h:1/bootstrap: Disconnected"), None);
    }
}
