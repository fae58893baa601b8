//! The names of decisions.

use crate::core::content::content;
use sha2::{Digest, Sha256};

/// Names a decision. Derived, not drawn: the first 16 bytes of
/// SHA-256(domain, subject, attempt, ordinal), so that the same decision has the same id on every
/// process and however often it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DecisionId(pub [u8; 16]);

content!(DecisionId(bytes));

impl DecisionId {
    /// The name of the `ordinal`-th answer to (subject, attempt) in a domain.
    pub fn derive(domain: &str, subject: &str, attempt: u32, ordinal: u32) -> DecisionId {
        let mut hasher = Sha256::new();
        for part in ["decision", domain, subject] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(attempt.to_le_bytes());
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
