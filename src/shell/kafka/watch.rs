//! The newest reports of a Kafka client: errors, and refusals.

use super::cause::cause;
use rdkafka::ClientContext;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// For how long it counts that a client was turned away: one that is tries again within seconds.
const REFUSED: Duration = Duration::from_secs(20);

/// The last errors that a client reported.
#[derive(Clone, Default)]
pub(super) struct Watch {
    reported: Arc<Mutex<Reported>>,
}

#[derive(Default)]
struct Reported {
    last: Option<String>,
    /// Refused by the broker. The question that waited meanwhile only times out.
    refused: Option<(Instant, RDKafkaErrorCode)>,
    /// Whether the broker refused the client's group. Most of our clients need none.
    is_group_refused: bool,
}

impl Watch {
    /// The client's newest report, or that it reported nothing.
    pub fn last(&self) -> String {
        let last = self.reported().last.clone();
        last.unwrap_or_else(|| "no answer in time".to_string())
    }

    /// The cause of the newest report in plain words, with the report; `None`: it is not known.
    pub fn cause(&self) -> Option<String> {
        let reported = self.reported();
        let last = reported.last.as_ref()?;
        cause(last).map(|cause| format!("{cause} ({last})"))
    }

    /// Why the broker turns us away, if it just did.
    pub fn refused(&self) -> Option<RDKafkaErrorCode> {
        let refused = self.reported().refused;
        refused.filter(|(at, _)| at.elapsed() < REFUSED).map(|(_, code)| code)
    }

    /// Whether the broker refused the client's group.
    pub fn is_group_refused(&self) -> bool {
        self.reported().is_group_refused
    }

    fn reported(&self) -> MutexGuard<'_, Reported> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Watch {
    fn error(&self, error: KafkaError, reason: &str) {
        use RDKafkaErrorCode::{
            AllBrokersDown, Authentication, BrokerTransportFailure, GroupAuthorizationFailed, SSL,
            SaslAuthenticationFailed,
        };
        let mut reported = self.reported();
        let code = error.rdkafka_error_code();
        reported.is_group_refused |= code == Some(GroupAuthorizationFailed);
        // That no broker is left follows from what was reported before, which is more specific.
        if code != Some(AllBrokersDown) || reported.last.is_none() {
            reported.last = Some(format!("{error}: {reason}"));
        }
        let refused = match code {
            // A connection that was lost during the handshake has the code of a wrong password.
            // What the client itself found is named "Local: ..."; the broker's own word is not.
            Some(Authentication | SaslAuthenticationFailed) if reason.contains("Local: ") => None,
            Some(Authentication | SaslAuthenticationFailed) => code,
            // A connection that ends while it is being made is an error of TLS too, and mends.
            Some(SSL | BrokerTransportFailure) if reason.contains("certificate") => Some(SSL),
            _ => None,
        };
        if let Some(code) = refused {
            reported.refused = Some((Instant::now(), code));
        }
    }
}

impl ConsumerContext for Watch {}

#[cfg(test)]
mod tests {
    use super::*;
    use RDKafkaErrorCode::{Authentication, BrokerTransportFailure, SSL, SaslAuthenticationFailed};

    #[test]
    fn only_the_brokers_own_word_is_a_refusal() {
        let refused = |code, reason| {
            let watch = Watch::default();
            watch.error(KafkaError::Global(code), reason);
            watch.refused()
        };
        let lost = "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL PLAIN mechanism handshake \
                    failed: Local: Broker transport failure: broker's supported mechanisms: (n/a)";
        assert_eq!(refused(Authentication, lost), None);
        let lost = "SASL authentication error: SaslAuthenticateRequest failed: Local: Timed out";
        assert_eq!(refused(Authentication, lost), None);
        let wrong = "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL authentication error: \
                     Authentication failed: Invalid username or password";
        assert_eq!(refused(Authentication, wrong), Some(Authentication));
        assert_eq!(refused(SaslAuthenticationFailed, wrong), Some(SaslAuthenticationFailed));
        let unknown =
            "SASL OAUTHBEARER mechanism handshake failed: Broker: Unsupported SASL mechanism";
        assert_eq!(refused(Authentication, unknown), Some(Authentication));
        assert_eq!(refused(BrokerTransportFailure, "Disconnected"), None);
        assert_eq!(refused(SSL, "certificate verify failed"), Some(SSL));
    }
}
