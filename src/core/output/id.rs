//! The names of decisions.

use crate::dice::hash_attempt;
use crate::record::record;
use sha2::{Digest, Sha256};

/// Names a decision. Derived, not drawn: the first 16 bytes of SHA-256(what is answered, domain,
/// subject, attempt, ordinal), so that the same decision has the same id on every
/// process and however often it is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId(pub [u8; 16]);

record!(DecisionId(bytes));

impl DecisionId {
    /// The name of the `ordinal`-th answer to (subject, attempt) in a domain.
    pub fn derive(domain: &str, subject: &str, attempt: u64, ordinal: u32) -> DecisionId {
        DecisionId::of("decision", domain, subject, attempt, ordinal)
    }

    /// The name of the `ordinal`-th answer to an offer of slots. A job may have the name of an
    /// offer; the answers to the two do not share one.
    pub fn of_offer(domain: &str, offer: &str, attempt: u64, ordinal: u32) -> DecisionId {
        DecisionId::of("offer", domain, offer, attempt, ordinal)
    }

    fn of(what: &str, domain: &str, subject: &str, attempt: u64, ordinal: u32) -> DecisionId {
        let mut hasher = Sha256::new();
        for part in [what, domain, subject] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hash_attempt(&mut hasher, attempt);
        hasher.update(ordinal.to_le_bytes());
        let mut id = [0u8; 16];
        id.copy_from_slice(&hasher.finalize()[..16]);
        DecisionId(id)
    }
}

impl std::fmt::Display for DecisionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As SHA-256 of another implementation gives them. Published decisions have these names: they
    /// may never change.
    #[test]
    fn the_names_are_fixed() {
        let name = |attempt| DecisionId::derive("atlas", "40000001/7", attempt, 1).to_string();
        assert_eq!(name(3), "5bcd397ede7ce9a5f91349249ba2e902");
        assert_eq!(name(1_763_000_000_123), "995073ef528678771d2de38262cd8097");
        let offer = DecisionId::of_offer("atlas", "40000001/7", 3, 1);
        assert_ne!(offer, DecisionId::derive("atlas", "40000001/7", 3, 1));
    }
}
