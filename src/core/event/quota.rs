//! `quota`: a limit on storage, and what is used of it.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::output::throttle::SubjectKind;
use crate::record::{record, symbols};
use crate::unit::{Bytes, Millis};

/// The kind of owner of a quota. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum QuotaKind {
    /// A user's.
    #[default]
    User = 0,
    /// A working group's.
    Group = 1,
}

/// A limit on storage, and what is used of it (spec atlas 8.1, rule A5).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// The kind of its owner.
    pub kind: QuotaKind,
    /// User or group.
    pub subject: String,
    /// Endpoint expression it is for; one endpoint's name for a local quota:
    /// [`Quota::is_of_endpoint`].
    pub expression: String,
    /// When it was measured.
    pub changed_at: Millis,
    /// Most that may be used; `None`: no limit.
    pub limit_bytes: Option<Bytes>,
    /// Used.
    pub used_bytes: Bytes,
    /// Used; files.
    pub used_files: u64,
}

symbols!(QuotaKind);
record!(Quota { kind, subject, expression, changed_at, limit_bytes, used_bytes, used_files });

impl QuotaKind {
    /// Both kinds, in order of their numbers.
    pub const ALL: [QuotaKind; 2] = [QuotaKind::User, QuotaKind::Group];
}

impl Quota {
    /// Whether it is for one endpoint. A name without operators is an expression of Rucio that
    /// stands for the endpoint of that name, whatever is known of it.
    pub fn is_of_endpoint(&self) -> bool {
        let is_of_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '-' | '.');
        !self.expression.is_empty() && self.expression.chars().all(is_of_name)
    }
}

impl Configured for Quota {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        let kind = match self.kind {
            QuotaKind::User => "user",
            QuotaKind::Group => "group",
        };
        format!("{kind}/{} {}", self.subject, self.expression)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> Quota {
        Quota { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        longest!(self: subject, expression)
    }

    fn touches(&self) -> Touches {
        let kind = match self.kind {
            QuotaKind::User => SubjectKind::User,
            QuotaKind::Group => SubjectKind::Group,
        };
        Touches::Owner(kind, self.subject.clone())
    }

    fn removed(_: &str) -> Touches {
        Touches::AllOwners
    }
}
