//! Judgement of the candidates of a case.

use super::candidate::Candidate;
use super::weighed::Weighed;
use crate::event::Queue;
use crate::policy::verdict::Objection;
use crate::policy::wait::Wait;

/// Where candidates come from: a list of them, or the world, which makes each as it is looked at.
/// The same index gives the same candidate throughout a judgement.
pub trait Candidates {
    /// How many there are.
    fn count(&self) -> usize;
    /// The candidate at an index below the count.
    fn at(&self, index: u32) -> Candidate<'_>;
    /// The queue of the candidate at an index below the count.
    fn queue(&self, index: u32) -> &Queue;

    /// How many makes their queues are of ([`super::Make`]); 0: that is not known.
    fn makes(&self) -> usize {
        0
    }

    /// The number of the make of the queue at an index below the count, below that of all makes
    /// where it is known.
    #[inline]
    fn make(&self, _index: u32) -> u32 {
        0
    }

    /// The candidate at an index below the count, perhaps with its configuration alone: none of its
    /// counters, nothing of its link.
    fn bare(&self, index: u32) -> Candidate<'_> {
        self.at(index)
    }

    /// Adds to such a candidate what it may be without, but for what is known of the user there.
    fn fill<'s>(&'s self, _index: u32, _candidate: &mut Candidate<'s>) {}

    /// The candidate at an index below the count, perhaps without what is known of the user there.
    #[inline(always)]
    fn without_user(&self, index: u32) -> Candidate<'_> {
        let mut candidate = self.bare(index);
        self.fill(index, &mut candidate);
        candidate
    }

    /// Adds what is known of the user to a candidate that may be without.
    fn add_user(&self, _index: u32, _candidate: &mut Candidate<'_>) {}
}

impl Candidates for [Candidate<'_>] {
    fn count(&self) -> usize {
        self.len()
    }

    fn at(&self, index: u32) -> Candidate<'_> {
        self[index as usize]
    }

    fn queue(&self, index: u32) -> &Queue {
        self[index as usize].queue
    }
}

/// Judgement of all candidates of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    /// The best that passed, by weight, then by name.
    pub ranked: Vec<Chosen>,
    /// Those that did not pass, in the order of the candidates.
    pub fates: Vec<Refused>,
    /// Per filter of the policy, how many candidates it was the first to refuse.
    pub counts: Vec<u32>,
    /// Why no candidate was looked at: the task as a whole must wait.
    pub wait: Option<Wait>,
    /// How many passed, those beyond the policy's `candidates_max` included.
    pub passed: u32,
    /// The pass it was found in, from 1; 0 where no candidate was looked at.
    pub pass: u8,
}

/// A candidate that passed.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Its index in the list of candidates.
    pub candidate: u32,
    /// Its weight.
    pub weighed: Weighed,
}

/// A candidate that did not pass.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refused {
    /// Its index in the list of candidates.
    pub candidate: u32,
    /// The filter that objected first, by its index in the policy.
    pub filter: u16,
    /// Its objection.
    pub objection: Objection,
    /// Its weight, where it was weighed before; else 0.
    pub weight: f64,
}
