//! `user`: a user or working group, its membership and caps.

use super::configured::{Configured, Touches};
use super::field_name::{FieldName, longest};
use crate::output::throttle::SubjectKind;
use crate::record::{record, symbols};
use crate::unit::Millis;

/// A user or a working group. The numbers are persisted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum UserKind {
    /// A user.
    #[default]
    User = 0,
    /// A working group.
    Group = 1,
}

/// A user or working group: membership and caps (spec atlas 8.1, rules A1 to A4).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct User {
    /// Which of both it is.
    pub kind: UserKind,
    /// Name.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Working groups a user belongs to.
    pub groups: Vec<String>,
    /// Country group; empty when not known.
    pub country: String,
    /// Most running jobs; `None`: the general cap.
    pub cap_running_jobs: Option<u64>,
    /// Most running cores; `None`: the general cap.
    pub cap_running_cores: Option<u64>,
    /// Roles of a user: which jobs it may flag (spec cms-nordugrid C-05).
    pub roles: Vec<String>,
    /// Decayed usage of a user as known from elsewhere, thousandths of a core; 0: none (spec
    /// cms-nordugrid F-2).
    pub past_usage_milli: i64,
    /// When it was so much; 0: not known, and then it does not count.
    pub past_usage_at: Millis,
    /// Virtual organisations of a user: which queues of clusters take its jobs (spec cms-nordugrid
    /// N-11).
    pub vos: Vec<String>,
}

symbols!(UserKind);
record!(User {
    kind,
    name,
    changed_at,
    groups,
    country,
    cap_running_jobs,
    cap_running_cores,
    roles,
    past_usage_milli,
    past_usage_at,
    vos,
});

impl UserKind {
    /// Both kinds, in order of their numbers.
    pub const ALL: [UserKind; 2] = [UserKind::User, UserKind::Group];
}

/// Name of a user or group: which of both, a slash, the name.
pub fn user_name(kind: UserKind, name: &str) -> String {
    match kind {
        UserKind::User => format!("user/{name}"),
        UserKind::Group => format!("group/{name}"),
    }
}

impl Configured for User {
    const IS_KEY_A_FIELD: bool = false;

    fn name(&self) -> String {
        user_name(self.kind, &self.name)
    }

    fn changed_at(&self) -> Millis {
        self.changed_at
    }

    fn changed(&self, at: Millis) -> User {
        User { changed_at: at, ..self.clone() }
    }

    fn longest_name(&self) -> FieldName<'_> {
        let groups = self.groups.iter().map(String::as_str);
        let vos = self.vos.iter().map(String::as_str);
        longest!(self: name, country).or_in("groups", groups).or_in("vos", vos)
    }

    fn touches(&self) -> Touches {
        let kind = match self.kind {
            UserKind::User => SubjectKind::User,
            UserKind::Group => SubjectKind::Group,
        };
        Touches::Owner(kind, self.name.clone())
    }

    fn removed(_: &str) -> Touches {
        Touches::AllOwners
    }
}
