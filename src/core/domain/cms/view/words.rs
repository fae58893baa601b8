//! Reasons why jobs of a pool are idle, in words for the person on shift.

use crate::domain::cms::policy::filter::FILTERS;
use crate::domain::cms::policy::idle::{
    NO_KNOWN_SITE, NO_NODE, NO_OFFER, NOT_LOOKED_AT, SITE_STATUS, TURN,
};
use crate::state::admit::remedy;

/// Reason, title, and what it means or what would let the jobs go.
const WORDS: [(&str, &str, &str); 25] = [
    (NO_OFFER, "No slot is offered where they may run", "they go as soon as a pilot there offers"),
    (TURN, "Next in turn", "an offer takes them: they go in the next cycles, others before them"),
    (NO_NODE, "Too large for every node", "no known node of a site that takes them holds one"),
    (SITE_STATUS, "Their sites take no jobs", "all are in drain, in test or offline"),
    (NO_KNOWN_SITE, "Their sites are not known", "no site of their whitelist has a slot quota"),
    (NOT_LOOKED_AT, "Not looked at", "a look compares so many jobs and no more"),
    (
        "workflow_unknown",
        "Workflow not known yet",
        "its record is waited for, then they are rejected",
    ),
    (
        "whitelist",
        "Other sites are listed",
        "the offers are at sites that their whitelist leaves out",
    ),
    ("overflow_off", "Overflow is off", "system jobs and HighIO jobs wait for their own sites"),
    (
        "overflow_limit",
        "Overflow slots used",
        "the hosts of their input serve no more remote readers",
    ),
    ("overflow_max_sites", "Overflows to enough sites", "the workflow may not overflow to more"),
    ("overflow_idle", "May overflow later", "a job overflows only after it has waited"),
    ("overflow_failed_before", "Failed on remote data", "they wait for a slot at their own sites"),
    ("cores", "Too few cores left", "the offers at their sites have fewer cores than they take"),
    ("wall", "Offers too short", "the offers at their sites end before the jobs would"),
    ("mem", "Too little memory left", "the offers at their sites have less memory than they take"),
    ("resources", "A named resource is used up", "the offers have too little of it left"),
    ("labels", "A label is missing", "the offers at their sites have not a label that they need"),
    (
        "not_again",
        "Given back before",
        "a match of theirs was not carried out there; another offer does",
    ),
    ("draining_node", "The node is drained", "they would not end before it is to be free"),
    ("highio_limit", "Storage is busy", "enough HighIO jobs read there"),
    ("restricted_pool", "Slots of a group", "the slots left are for members of another group"),
    ("class_not_admitted", "Slots of the other class", "the sites have no quota for their class"),
    ("class_over_quota", "Quota used", "their class has used its slots there"),
    (
        "t1_first",
        "Wait for a Tier 1",
        "they take slots elsewhere once they have waited long enough",
    ),
];

/// A reason's title, and what it means or what would let the jobs go.
pub(super) fn words(reason: &str) -> (String, String) {
    if let Some((_, title, help)) = WORDS.iter().find(|(known, ..)| *known == reason) {
        return ((*title).to_owned(), (*help).to_owned());
    }
    if let Some(filter) = FILTERS.iter().find(|it| it.filter.name == reason) {
        return (reason.to_owned(), filter.filter.help.to_owned());
    }
    let help = remedy(reason).unwrap_or("they are rejected in the next cycles");
    (format!("Rejected: {}", reason.replace('_', " ")), help.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_filter_and_reason_has_words_of_its_own() {
        let filters = FILTERS.iter().map(|it| it.filter.name);
        for reason in filters.chain([NO_OFFER, TURN, NO_NODE, NOT_LOOKED_AT]) {
            let (title, help) = words(reason);
            assert!(title != reason && !help.is_empty(), "{reason}: {title}: {help}");
        }
        assert_eq!(words("bad_core_request").0, "Rejected: bad core request");
        let known = |reason: &str| FILTERS.iter().any(|it| it.filter.name == reason);
        let own = [NO_OFFER, TURN, NO_NODE, NOT_LOOKED_AT];
        let left: Vec<&str> =
            WORDS.iter().map(|it| it.0).filter(|it| !known(it) && !own.contains(it)).collect();
        assert_eq!(left, [""; 0], "words of no filter");
    }
}
