//! Result of evaluating a waiting request.

use crate::judge::evaluation::Evaluation;

/// What was found of a waiting request.
pub(crate) enum WakeFinding {
    /// It is still blocked.
    Blocked,
    /// It wakes.
    Wakes(Option<Evaluation>),
}
