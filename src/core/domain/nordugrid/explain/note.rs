//! Notes on clusters and descriptions of jobs in words.

use crate::domain::nordugrid::xrsl::NoteCode;

/// A note, by its code and figures; `None`: it is none of these.
pub(crate) fn words(code: &str, figures: &str) -> Option<String> {
    let part = figures.split_once(", ");
    if let Some(read) = NoteCode::ALL.iter().find(|it| it.name() == code) {
        return Some(format!("of {figures}: {}", read.meaning()));
    }
    Some(match code {
        "discovery" => match part? {
            ("explicit", clusters) => format!("{clusters} are named by the user"),
            (_, clusters) => format!("{clusters} were found by index servers"),
        },
        "no_registrations" => format!("index servers without a cluster: {figures}"),
        "rejected_unknown" => format!("not to be used, and not known: {figures}"),
        "no_information" => format!("clusters that publish nothing: {figures}"),
        "alternative" => match part? {
            (number, "no target") => format!("alternative {number} found no target"),
            (number, why) => format!("alternative {number} found no target: {why}"),
        },
        "alternatives_cut" => format!("{figures} more alternatives found none"),
        "unknown_attribute" => format!("attributes that nothing reads: {figures}"),
        "passed" => format!("{} passed, {} with their ranks", part?.0, part?.1),
        "size_unknown" => format!("the size is not known of {figures}"),
        "disk_unknown" => format!("free disk is not known of {figures}"),
        "draw" => format!("drawn by weight: {figures}"),
        _ => {
            let (wanted, listed) = figures.strip_prefix("wanted ")?.split_once(": ")?;
            format!("wanted is {wanted}: {listed}")
        }
    })
}
