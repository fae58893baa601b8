//! Result of judging all candidates of a request.

use crate::domain::atlas::policy::Judgement;
use crate::domain::atlas::policy::task::NucleusChoice;

/// All candidates of a request as they were judged at the cut.
pub(crate) enum Evaluation {
    /// Queues.
    Queues(Judgement),
    /// Nuclei.
    Nuclei(FoundNucleus),
}

/// Result for a task that wants a nucleus.
pub(crate) struct FoundNucleus {
    /// Fates of the candidates, and the index of the chosen one.
    pub(crate) choice: NucleusChoice,
    /// Names of the candidates.
    pub(crate) names: Vec<String>,
    /// The nucleus it goes to.
    pub(crate) nucleus: Option<String>,
    /// Its outputs and their endpoints there.
    pub(crate) destinations: Vec<(String, String)>,
}
