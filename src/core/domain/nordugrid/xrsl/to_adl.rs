//! A job as it is handed over, in ADL. Times in ADL are in seconds for every reader, whereas a
//! cluster reads xRSL in the dialect of servers.

use super::Alternative;
use super::adl_text::adl_text;
use super::dialect::is_xml;
use super::environment::environments;
use super::handover::{AdlError, Handover};
use super::readdressed::readdressed;

/// Writes a job in ADL.
///
/// # Errors
/// See [`AdlError`].
pub fn to_adl(job: &Alternative, to: &Handover<'_>) -> Result<String, AdlError> {
    let environments = environments(job, to.environments).map_err(|asked| {
        let dash = if asked.version.is_empty() { "" } else { "-" };
        let (relation, name, version) = (asked.relation.name(), &asked.name, &asked.version);
        AdlError::NoEnvironment(format!("{relation}{name}{dash}{version}"))
    })?;
    if is_xml(to.description) {
        return readdressed(job, to).map_err(|_| AdlError::NoXml);
    }
    let adl = adl_text(job, to, &environments);
    match adl.chars().find(|sign| !is_of_xml(*sign)) {
        Some(sign) => Err(AdlError::Character(sign)),
        None => Ok(adl),
    }
}

/// Whether XML 1.0 can hold a character.
fn is_of_xml(sign: char) -> bool {
    matches!(sign, '\t' | '\n' | '\r' | ' '..='\u{fffd}' | '\u{10000}'..)
}
