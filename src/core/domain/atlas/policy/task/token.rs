//! From a storage token to an endpoint (spec atlas 1.4).

use super::case::NucleusCandidate;
use crate::event::Storage;
use crate::math::pattern::Pattern;

/// Whether a token spreads the output over several places: no endpoint is looked for.
pub fn is_distributed(token: &str) -> bool {
    token.starts_with("ddd:")
}

/// The endpoint of a nucleus that a storage token stands for: the one of that name, else the first
/// whose name matches the token as a pattern, or whose type is the token's.
pub fn endpoint<'a>(nucleus: &NucleusCandidate<'a>, token: &str) -> Option<&'a Storage> {
    let token = token.rsplit('/').next().unwrap_or(token);
    let token = token.strip_prefix("dst:").unwrap_or(token);
    if let Some(found) = nucleus.outputs.iter().find(|storage| storage.name == token) {
        return Some(found);
    }
    let kind = token.replace("ATLAS", "");
    let found_in = Pattern::finder(token);
    nucleus.outputs.iter().find(|storage| found_in(&storage.name) || storage.kind == kind)
}
