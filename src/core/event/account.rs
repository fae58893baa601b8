//! Who may use how much: shares, quotas, users and groups.

use crate::core::content::{content, content_by_number};
use crate::core::unit::{Bytes, Millis};

/// A node of the tree of global shares (spec atlas 10.1). An expression that is `None` matches all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    /// Name.
    pub name: String,
    /// When this was last changed.
    pub changed_at: Millis,
    /// Parent node; empty below the root.
    pub parent: String,
    /// Its part relative to its siblings.
    pub value: f64,
    /// Place among its siblings, from 0.
    pub position: u32,
    /// Expression on the production source label.
    pub label: Option<String>,
    /// Expression on the working group.
    pub working_group: Option<String>,
    /// Expression on the campaign.
    pub campaign: Option<String>,
    /// Expression on the processing type.
    pub processing_type: Option<String>,
    /// Expression on the transformation's path.
    pub trans_path: Option<String>,
    /// Expression on the resource type.
    pub resource_type: Option<String>,
    /// VO.
    pub vo: String,
    /// Number of PanDA's work queue for it; 0 when it has none.
    pub queue_id: u64,
    /// Whether no more jobs are generated for it.
    pub throttled: bool,
}

/// Whose quota it is. The numbers are persisted.
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
    /// Whose it is.
    pub kind: QuotaKind,
    /// User or group.
    pub subject: String,
    /// Endpoint expression it is for; one endpoint's name for a local quota.
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
    /// Whether work is taken from it.
    pub active: bool,
    /// Working groups a user belongs to.
    pub groups: Vec<String>,
    /// Country group; empty when not known.
    pub country: String,
    /// Most running jobs; `None`: the general cap.
    pub cap_running_jobs: Option<u64>,
    /// Most running cores; `None`: the general cap.
    pub cap_running_cores: Option<u64>,
    /// Added to the priority of its work.
    pub priority_offset: Option<i32>,
}

content_by_number!(QuotaKind, UserKind);
content!(Share {
    name,
    changed_at,
    parent,
    value,
    position,
    label,
    working_group,
    campaign,
    processing_type,
    trans_path,
    resource_type,
    vo,
    queue_id,
    throttled,
});
content!(Quota { kind, subject, expression, changed_at, limit_bytes, used_bytes, used_files });
content!(User {
    kind,
    name,
    changed_at,
    active,
    groups,
    country,
    cap_running_jobs,
    cap_running_cores,
    priority_offset,
});
