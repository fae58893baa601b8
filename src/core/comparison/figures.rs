//! Whether the figures that both sides went by differ.

use super::record::{Comparison, Figures};
use std::collections::BTreeSet;

/// Figures that differ by more than this part of the larger one count as different.
pub const DIFFERS_BEYOND: f64 = 0.1;

/// Whether the figures that both sides used for the chosen queues differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FiguresSeen {
    /// A figure of a queue differs by more than [`DIFFERS_BEYOND`].
    Differ,
    /// None does.
    Alike,
    /// No figure of these queues is known of both sides.
    Unknown,
}

impl FiguresSeen {
    /// Every one.
    pub const ALL: [FiguresSeen; 3] =
        [FiguresSeen::Differ, FiguresSeen::Alike, FiguresSeen::Unknown];

    /// Its name in metrics and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            FiguresSeen::Differ => "differ",
            FiguresSeen::Alike => "alike",
            FiguresSeen::Unknown => "unknown",
        }
    }
}

/// A queue with the figures of both sides; each pair is (Yardmaster's, the other's).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap<'a> {
    /// The queue.
    pub queue: &'a str,
    /// Running jobs, where both show them.
    pub running: Option<(u64, u64)>,
    /// Jobs that wait there to run, where both show them.
    pub queued: Option<(u64, u64)>,
}

impl Gap<'_> {
    /// Whether a figure differs by more than [`DIFFERS_BEYOND`].
    pub fn is_wide(&self) -> bool {
        [self.running, self.queued].into_iter().flatten().any(is_wide)
    }

    fn is_known(&self) -> bool {
        self.running.is_some() || self.queued.is_some()
    }
}

fn is_wide((one, other): (u64, u64)) -> bool {
    one.abs_diff(other) as f64 > DIFFERS_BEYOND * one.max(other) as f64
}

/// The queues by which the choice differs: those that one side alone chose, and both queues that
/// come first where these differ. Where the choice is the same: all that were chosen.
fn queues(comparison: &Comparison) -> BTreeSet<&str> {
    let (one, other) = (&comparison.yardmaster, &comparison.other);
    let all = || one.queues.iter().chain(&other.queues).map(|it| it.queue.as_str());
    let firsts = (one.first(), other.first());
    let is_first =
        |queue: &str| firsts.0 != firsts.1 && (firsts.0 == Some(queue) || firsts.1 == Some(queue));
    let is_alone = |queue: &str| one.chose(queue) != other.chose(queue);
    let differing: BTreeSet<&str> =
        all().filter(|queue| is_alone(queue) || is_first(queue)).collect();
    if differing.is_empty() { all().collect() } else { differing }
}

/// The queues by which the choice differs (where it is the same: all that were chosen), with the
/// figures of both sides. Queues of which no figure is known of both are left out.
pub fn gaps(comparison: &Comparison) -> Vec<Gap<'_>> {
    let (one, other) = (&comparison.yardmaster.figures, &comparison.other.figures);
    let of = |list: &'_ [Figures], queue: &str| list.iter().position(|it| it.queue == queue);
    let gap = |queue| {
        let (mine, theirs) = (one.get(of(one, queue)?)?, other.get(of(other, queue)?)?);
        let gap = Gap {
            queue,
            running: mine.running.zip(theirs.running),
            queued: mine.queued.zip(theirs.queued),
        };
        Some(gap).filter(Gap::is_known)
    };
    queues(comparison).into_iter().filter_map(gap).collect()
}

/// Whether any of these figures differs between the sides by more than [`DIFFERS_BEYOND`].
pub fn figures_of(gaps: &[Gap<'_>]) -> FiguresSeen {
    match gaps {
        [] => FiguresSeen::Unknown,
        gaps if gaps.iter().any(Gap::is_wide) => FiguresSeen::Differ,
        _ => FiguresSeen::Alike,
    }
}
