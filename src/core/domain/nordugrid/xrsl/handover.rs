//! Where a job is handed over, and how texts stand in the ADL that is written for it.

use super::Dialect;
use std::fmt;

/// Namespaces of ADL, and of what ARC adds to it.
pub(super) const ADL: &str = "http://www.eu-emi.eu/es/2010/12/adl";
pub(super) const NORDUGRID: &str = "http://www.nordugrid.org/es/2011/12/nordugrid-adl";

/// Where a job is handed over, and how its description is read.
#[derive(Clone, Copy, Debug)]
pub struct Handover<'a> {
    /// The queue, by its name at the cluster.
    pub queue: &'a str,
    /// The cluster's runtime environments, each `name[-version]`.
    pub environments: &'a [String],
    /// Id of the credentials that the cluster fetches and sends files by, if it has any.
    pub delegation: Option<&'a str>,
    /// By which it is found again at the cluster ([`mark_in`]): letters, digits and colons.
    pub mark: &'a str,
    /// The text of the description.
    pub description: &'a str,
    /// Its dialect.
    pub dialect: Dialect,
}

/// Why a job cannot be written for a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdlError {
    /// The target has no such runtime environment: `name[-version]`, with its relation.
    NoEnvironment(String),
    /// XML has no such character.
    Character(char),
    /// The description is in XML that cannot be read.
    NoXml,
}

impl fmt::Display for AdlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AdlError::NoEnvironment(asked) => {
                write!(f, "the cluster publishes no runtime environment {asked}")
            }
            AdlError::Character(sign) => {
                write!(f, "the description has the character {sign:?}, which XML cannot hold")
            }
            AdlError::NoXml => f.write_str("the description is no XML"),
        }
    }
}

impl std::error::Error for AdlError {}

/// A text as it stands in XML. A carriage return as it is would be read as a line feed.
pub(super) fn escaped(text: &str) -> String {
    quick_xml::escape::escape(text).replace('\r', "&#13;")
}

/// How the comment begins and ends that holds a mark. A-REX keeps comments within the root.
const MARK: [&str; 2] = ["<!--yardmaster:", "-->"];

/// A mark as a comment.
pub(super) fn marked(mark: &str) -> String {
    let [begin, end] = MARK;
    format!("{begin}{mark}{end}")
}

/// The mark of a description that was handed over; of several the last, since somebody may hand
/// over again what a cluster has kept.
pub fn mark_in(description: &str) -> Option<&str> {
    let [begin, end] = MARK;
    let (_, rest) = description.rsplit_once(begin)?;
    rest.split_once(end).map(|(mark, _)| mark)
}
