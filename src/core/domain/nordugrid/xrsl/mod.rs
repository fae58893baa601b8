//! xRSL, the language in which NorduGrid users describe jobs (spec cms-nordugrid B.9): from text to
//! jobs with alternatives, or to an error with line, column and what was expected there.
//!
//! A text is read in four steps: `parser` makes the tree of what is written; `evaluate` puts in
//! variables and gives each attribute its meaning; `expand` writes out alternatives; `alternative`
//! checks that the attributes of each go together. Any text is answered: what a hostile one could
//! make grow is bounded by `bounds`.
//!
//! What ARC's own parser shrugs at is read as it reads it, with a note (`note`). A text in XML is
//! read as ADL, the other language that ARC takes: `adl` makes the tree that the same job has in
//! xRSL, so that all that follows is the same. It is here and not with the formats of records,
//! since a decision is made again from the text that the record holds. `to_adl` writes a job as it
//! is handed over to a cluster.

mod adl;
mod adl_text;
mod alternative;
mod bounds;
mod cursor;
mod description;
mod dialect;
mod environment;
mod error;
mod evaluate;
mod expand;
mod handover;
mod known;
mod listed;
mod note;
mod parser;
mod read;
mod readdressed;
mod relation;
mod source;
mod term;
#[cfg(test)]
mod tests;
mod time;
mod to_adl;
mod tree;
mod variables;
mod version;

pub use bounds::{ALTERNATIVES_MAX, DEPTH_MAX, EXPANDED_BYTES_MAX, TEXT_BYTES_MAX};
pub use description::{
    Alternative, Attribute, CacheOption, Description, InputFile, NameCondition, NodeAccess,
    SoftwareCondition, Value,
};
pub use dialect::Dialect;
pub use error::{ErrorCode, ErrorKind, XrslError};
pub use handover::{AdlError, Handover, mark_in};
pub use note::{NoteCode, ReadingNote};
pub use read::{read, read_to_run, tree};
pub use relation::Relation;
pub use source::names_a_server;
pub use to_adl::to_adl;
pub use tree::{Condition, Expression, Item, Operator};
pub use version::{Software, compare_versions};
