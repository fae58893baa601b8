//! The two dialects of xRSL, and how a text in XML differs from it.

/// Where a description comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// A user wrote it: times without a unit are minutes; `action` is an error.
    #[default]
    User,
    /// A server keeps it: times without a unit are seconds.
    Server,
}

impl Dialect {
    /// The unit of a time that states none; s.
    pub(super) fn unit_s(self) -> u64 {
        match self {
            Dialect::User => 60,
            Dialect::Server => 1,
        }
    }
}

/// Whether a text is in XML: no text in xRSL begins so.
pub(super) fn is_xml(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim_ascii_start().starts_with('<')
}
