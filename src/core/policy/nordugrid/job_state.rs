//! The states of a job at a cluster (spec cms-nordugrid B.3), under the names that ARC's services
//! use and those that the information system shows to users.

/// The state of a job at a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// Taken by the cluster, not yet in its batch system: ACCEPTED, PREPARING or SUBMIT, or one of
    /// them with `PENDING:`.
    PreBatch,
    /// In the batch system, queued or running: INLRMS.
    InBatch,
    /// Left the batch system, or is being cancelled: FINISHING, CANCELING.
    Leaving,
    /// Over: FINISHED, FAILED, KILLED or DELETED.
    Ended,
}

impl JobState {
    /// The state of a published text; `None` if no state has that name. What stands behind a colon
    /// is a sub-state (`INLRMS:R`), except of `PENDING:`, which only waits for the next step.
    pub fn parse(text: &str) -> Option<JobState> {
        let text = text.trim();
        let text = text.strip_prefix("PENDING:").unwrap_or(text).trim_start();
        match text.split(':').next().unwrap_or(text).trim_end() {
            "ACCEPTED" | "ACCEPTING" | "PREPARING" | "PREPARED" | "SUBMIT" | "SUBMITTING" => {
                Some(JobState::PreBatch)
            }
            "INLRMS" => Some(JobState::InBatch),
            "FINISHING" | "CANCELING" | "CANCELLING" => Some(JobState::Leaving),
            "FINISHED" | "FAILED" | "KILLED" | "DELETED" => Some(JobState::Ended),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JobState::{self, *};

    #[test]
    fn shown_names_and_those_of_services_are_the_same_states() {
        let pre_batch = "ACCEPTED ACCEPTING PREPARING PREPARED SUBMIT PENDING:ACCEPTED \
                         PENDING:PREPARING";
        for text in pre_batch.split_whitespace() {
            assert_eq!(JobState::parse(text), Some(PreBatch), "{text}");
        }
        for text in ["INLRMS", "INLRMS:Q", "INLRMS:R", "INLRMS: R"] {
            assert_eq!(JobState::parse(text), Some(InBatch), "{text}");
        }
        for text in ["FINISHED", "FAILED", "KILLED", "DELETED"] {
            assert_eq!(JobState::parse(text), Some(Ended), "{text}");
        }
        assert_eq!(JobState::parse("FINISHING"), Some(Leaving));
        assert_eq!(JobState::parse("CANCELING"), Some(Leaving));
        assert_eq!(JobState::parse("LOST"), None);
    }
}
