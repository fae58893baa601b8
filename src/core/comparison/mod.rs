//! Requests that were answered twice: by Yardmaster, and by the broker that the system which asks
//! has of its own. What a client writes of each, and in what the two answers agree. Nothing is
//! decided by it.

mod agreement;
mod counted;
mod figures;
mod record;
mod tally;
mod times;

pub use agreement::{Agreement, Measure, QueueRefusal, overlap, refusals};
pub use counted::Counted;
pub use figures::{DIFFERS_BEYOND, FiguresSeen, Gap, figures_of, gaps};
pub use record::{
    AnswerOutcome, ChosenQueue, Comparison, Figures, InCharge, RejectedQueue, Side, SideAnswer,
};
pub use tally::{
    ByReason, FiguresCount, GapSum, Group, OutcomePair, Outcomes, PerAnswer, Tally, plain_reason,
};
pub use times::AnswerTimes;

#[cfg(test)]
mod tests;
