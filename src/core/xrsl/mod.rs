//! xRSL, the language in which NorduGrid users describe jobs (spec cms-nordugrid B.9): from text to
//! jobs with alternatives, or to an error with line, column and what was expected there.

mod description;
mod error;
mod relation;
mod version;

pub use description::{
    Alternative, Attribute, CacheOption, Description, InputFile, NameCondition, NodeAccess,
    SoftwareCondition, Value,
};
pub use error::{ErrorCode, ErrorKind, XrslError};
pub use relation::Relation;
pub use version::{Software, compare_versions};
