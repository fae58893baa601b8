//! How long answers took.

/// Times of answers; ms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerTimes {
    ms: Vec<u64>,
    is_sorted: bool,
}

impl AnswerTimes {
    /// Adds one; ms.
    pub fn push(&mut self, ms: u64) {
        self.ms.push(ms);
        self.is_sorted = false;
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ms.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ms.is_empty()
    }

    /// The least time that so many of a hundred answers did not take longer than; ms. `None` if
    /// there is none.
    pub fn percentile(&mut self, percent: usize) -> Option<u64> {
        if !self.is_sorted {
            self.ms.sort_unstable();
            self.is_sorted = true;
        }
        let rank = (self.ms.len() * percent).div_ceil(100);
        self.ms.get(rank.saturating_sub(1)).copied()
    }
}
