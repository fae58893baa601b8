//! Which of the broker's errors only a person can mend. All others are waited out, or end a
//! transaction that is tried again: a process must not go on asking for ever what is refused for
//! good.

use rdkafka::error::RDKafkaErrorCode;
use yardmaster_drive::port::LogError;

const SASL: &str = "look at the properties security.protocol and sasl.*, and at the broker's users";
const SSL: &str = "look at the properties ssl.*, and at the broker's certificate";

/// Remedy by a person for an error that no waiting mends; `None`: it may mend itself.
///
/// The client's own codes for logging in and for TLS are not among them: every question that waits
/// for a connection gets one too when that is lost while it is made. Of a connection only what was
/// reported shows which it is ([`turned_away`]).
pub(super) fn remedy(code: RDKafkaErrorCode) -> Option<&'static str> {
    use RDKafkaErrorCode as Code;
    Some(match code {
        Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::IllegalSASLState
        | Code::SecurityDisabled
        | Code::DelegationTokenAuthDisabled
        | Code::DelegationTokenNotFound
        | Code::DelegationTokenExpired => SASL,
        Code::ClusterAuthorizationFailed
        | Code::GroupAuthorizationFailed
        | Code::TopicAuthorizationFailed
        | Code::DelegationTokenAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed => {
            "give this user the right with kafka-acls.sh (docs/security.md lists all that are needed)"
        }
        Code::InvalidTransactionTimeout => {
            "lower the property transaction.timeout.ms, or raise the broker's \
             transaction.max.timeout.ms"
        }
        Code::UnsupportedFeature | Code::UnsupportedVersion | Code::UnsupportedForMessageFormat => {
            "the broker is too old, or a property asks for too much"
        }
        Code::UnsupportedCompressionType => "give another property compression.type",
        Code::InvalidTopic => "mend the topic's name in the topology",
        Code::InvalidRecord
        | Code::InvalidTimestamp
        | Code::InvalidConfig
        | Code::InvalidRequiredAcks
        | Code::PolicyViolation => {
            "compare the topic's settings with `yardmaster topology check --bootstrap-server`"
        }
        Code::MessageSizeTooLarge => {
            "raise max.message.bytes of the topic to max_output_bytes and some overhead, or lower \
             max_output_bytes and the property batch.size"
        }
        Code::MessageBatchTooLarge => {
            "raise segment.bytes of the topic, or lower the property batch.size"
        }
        _ => return None,
    })
}

/// The error for what the broker refuses for good, if it does. `what` is what was asked.
pub(super) fn refusal(code: RDKafkaErrorCode, what: &str) -> Option<LogError> {
    let remedy = remedy(code)?;
    Some(LogError::Stop(format!("the broker refuses {what}: {code}; {remedy}")))
}

/// The error for a client that was turned away, with the code that its
/// [`Watch`](super::watch::Watch) noted.
pub(super) fn turned_away(code: RDKafkaErrorCode) -> LogError {
    let remedy = if code == RDKafkaErrorCode::SSL { SSL } else { SASL };
    LogError::Stop(format!("the broker refuses us: {code}; {remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_mends_itself_is_waited_out_and_what_does_not_is_named_with_a_remedy() {
        use RDKafkaErrorCode as Code;
        let waited_out = [
            Code::BrokerTransportFailure,
            Code::AllBrokersDown,
            Code::OperationTimedOut,
            Code::MessageTimedOut,
            Code::RequestTimedOut,
            Code::Resolve,
            Code::LeaderNotAvailable,
            Code::NotLeaderForPartition,
            Code::NotEnoughReplicas,
            Code::CoordinatorLoadInProgress,
            Code::CoordinatorNotAvailable,
            Code::ConcurrentTransactions,
            Code::ThrottlingQuotaExceeded,
            Code::KafkaStorageError,
            // A connection that is lost while it is made gives these too.
            Code::Authentication,
            Code::SSL,
            // A leader that moves knows its partition late; a topic that is gone is found out by
            // asking for it by name.
            Code::UnknownTopicOrPartition,
        ];
        for code in waited_out {
            assert!(refusal(code, "topic a").is_none(), "{code}");
        }
        let refused = [
            (Code::SaslAuthenticationFailed, "sasl."),
            (Code::TopicAuthorizationFailed, "right"),
            (Code::ClusterAuthorizationFailed, "right"),
            (Code::GroupAuthorizationFailed, "right"),
            (Code::TransactionalIdAuthorizationFailed, "right"),
            (Code::InvalidTransactionTimeout, "transaction.max.timeout.ms"),
            (Code::InvalidRecord, "topology check"),
            (Code::PolicyViolation, "topology check"),
            (Code::MessageSizeTooLarge, "max.message.bytes"),
        ];
        for (code, remedy) in refused {
            let Some(LogError::Stop(text)) = refusal(code, "topic a") else {
                panic!("{code} is waited out")
            };
            assert!(text.contains("topic a") && text.contains(remedy), "{text}");
        }
        for (code, remedy) in [(Code::Authentication, "sasl."), (Code::SSL, "certificate")] {
            let LogError::Stop(text) = turned_away(code) else { panic!("{code} is waited out") };
            assert!(text.contains(remedy), "{text}");
        }
    }
}
