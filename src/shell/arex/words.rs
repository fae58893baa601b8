//! The states of A-REX, as REST names them, on the topic `job-state`.

use yardmaster_core::event::Status;
use yardmaster_wire::import::arc::arc_status;

/// Every state that REST names. Asked with all of them, it lists the states of now; without any,
/// no states, and `action=status` repeats what the information providers last wrote.
pub const STATES: [&str; 17] = [
    "ACCEPTING",
    "ACCEPTED",
    "PREPARING",
    "PREPARED",
    "SUBMITTING",
    "QUEUING",
    "RUNNING",
    "HELD",
    "EXITINGLRMS",
    "OTHER",
    "EXECUTED",
    "FINISHING",
    "FINISHED",
    "FAILED",
    "KILLING",
    "KILLED",
    "WIPED",
];

/// The status that a state is, and the word that is published of it. `None`: no state has that
/// name.
pub fn published(word: &str) -> Option<(Status, &'static str)> {
    let known = STATES.iter().copied().find(|it| *it == word)?;
    let shown = match known {
        "QUEUING" | "HELD" => "INLRMS:Q",
        "RUNNING" | "EXITINGLRMS" | "OTHER" => "INLRMS:R",
        "EXECUTED" => "FINISHING",
        "KILLING" => "CANCELING",
        "WIPED" => "DELETED",
        own => own,
    };
    Some((arc_status(known), shown))
}

/// Whether a job in a state, in REST's word, may still wait for files that its user sends.
pub fn is_waiting_for_files(word: &str) -> bool {
    matches!(word, "ACCEPTING" | "ACCEPTED" | "PREPARING")
}

/// Whether a job that failed in a state, by A-REX's own name of it, was not in the batch system
/// yet.
pub fn is_before_the_batch_system(failed_state: &str) -> bool {
    matches!(failed_state, "ACCEPTED" | "PREPARING" | "SUBMIT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_a_status_and_a_word_that_is_known_to_the_policy() {
        for word in STATES {
            let (status, shown) = published(word).expect(word);
            let is_over = ["FINISHED", "FAILED", "KILLED", "WIPED"].contains(&word);
            assert_eq!(status.is_ended(), is_over, "{word}");
            let known = ["ACCEPT", "PREPAR", "SUBMIT", "INLRMS:", "FINISH", "CANCEL"];
            let known = known.iter().any(|start| shown.starts_with(start));
            assert!(known || is_over, "{word} {shown}");
        }
        assert_eq!(published("RUNNING"), Some((Status::Running, "INLRMS:R")));
        assert_eq!(published("KILLING"), Some((Status::Transferring, "CANCELING")));
        assert_eq!(published("None"), None);
        assert!(is_before_the_batch_system("PREPARING") && !is_before_the_batch_system("INLRMS"));
    }
}
