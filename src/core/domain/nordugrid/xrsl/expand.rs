//! Alternatives written out: `|` gives one for each branch, two `|` below one `&` multiply, the
//! first written one varying slowest.

use super::error::{ErrorCode, Fault};
use super::evaluate::{Branch, Evaluated};
use super::{ALTERNATIVES_MAX, EXPANDED_BYTES_MAX};

/// Bytes that an alternative and an attribute in it take beside the values, as counted against the
/// bound.
const ALTERNATIVE_BYTES: usize = 512;
const ATTRIBUTE_BYTES: usize = 64;

/// An alternative: its conditions in written order, by their places among all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ExpandedAlternative {
    pub(super) conditions: Vec<usize>,
    bytes: usize,
}

/// Writes out the alternatives of the jobs of one description, which share the bounds.
pub(super) struct Expansion<'a> {
    conditions: &'a [Evaluated],
    /// Alternatives of the jobs before, and their size; bytes.
    taken: (usize, usize),
    /// Where the `|` stands that was written out last; bytes.
    at: usize,
}

impl<'a> Expansion<'a> {
    pub(super) fn new(conditions: &'a [Evaluated]) -> Expansion<'a> {
        Expansion { conditions, taken: (0, 0), at: 0 }
    }

    /// The alternatives of a job, in the order in which they are tried.
    ///
    /// # Errors
    /// There would be more of them, or larger ones, than are read.
    pub(super) fn job(&mut self, job: &Branch) -> Result<Vec<ExpandedAlternative>, Fault> {
        let choices = self.expand(job)?;
        self.check(choices.len(), bytes_of(&choices))?;
        self.taken.0 += choices.len();
        self.taken.1 += size(choices.len(), bytes_of(&choices));
        Ok(choices)
    }

    fn expand(&mut self, branch: &Branch) -> Result<Vec<ExpandedAlternative>, Fault> {
        match branch {
            Branch::One(place) => {
                let bytes = self.conditions.get(*place).map_or(0, |it| it.bytes) + ATTRIBUTE_BYTES;
                Ok(vec![ExpandedAlternative { conditions: vec![*place], bytes }])
            }
            Branch::Any(branches, at) => {
                let mut choices = Vec::new();
                for branch in branches {
                    choices.append(&mut self.expand(branch)?);
                    self.at = *at;
                    self.check(choices.len(), bytes_of(&choices))?;
                }
                Ok(choices)
            }
            Branch::All(branches) => {
                let mut choices = vec![ExpandedAlternative::default()];
                for branch in branches {
                    let next = self.expand(branch)?;
                    choices = self.product(choices, &next)?;
                }
                Ok(choices)
            }
        }
    }

    /// Each of the first with each of the second.
    fn product(
        &self,
        mut first: Vec<ExpandedAlternative>,
        second: &[ExpandedAlternative],
    ) -> Result<Vec<ExpandedAlternative>, Fault> {
        let both = bytes_of(&first).saturating_mul(second.len());
        let bytes = both.saturating_add(bytes_of(second).saturating_mul(first.len()));
        self.check(first.len().saturating_mul(second.len()), bytes)?;
        if let [only] = second {
            first.iter_mut().for_each(|choice| choice.extend(only));
            return Ok(first);
        }
        let extended = |(choice, next): (&ExpandedAlternative, &ExpandedAlternative)| {
            let mut choice = choice.clone();
            choice.extend(next);
            choice
        };
        let pairs = first.iter().flat_map(|choice| second.iter().map(move |next| (choice, next)));
        Ok(pairs.map(extended).collect())
    }

    fn check(&self, count: usize, bytes: usize) -> Result<(), Fault> {
        let (taken, taken_bytes) = self.taken;
        if taken + count > ALTERNATIVES_MAX {
            Err(Fault::new(ErrorCode::TooManyAlternatives, self.at))
        } else if taken_bytes + size(count, bytes) > EXPANDED_BYTES_MAX {
            Err(Fault::new(ErrorCode::TooLarge, self.at))
        } else {
            Ok(())
        }
    }
}

impl ExpandedAlternative {
    fn extend(&mut self, next: &ExpandedAlternative) {
        self.conditions.extend(&next.conditions);
        self.bytes = self.bytes.saturating_add(next.bytes);
    }
}

fn size(count: usize, bytes: usize) -> usize {
    count * ALTERNATIVE_BYTES + bytes
}

fn bytes_of(choices: &[ExpandedAlternative]) -> usize {
    choices.iter().fold(0, |sum, choice| sum.saturating_add(choice.bytes))
}
