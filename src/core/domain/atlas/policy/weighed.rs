//! The weight of a candidate and the figures behind it.

/// The figures behind a candidate's weight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weighed {
    /// Number of running jobs used, R (spec atlas 2.5.1); the jobs running in the share when no
    /// weight on the policy's list gives another.
    pub running: f64,
    /// Network weight (spec atlas 4.2); 1 when no such weight is on the policy's list.
    pub network: f64,
    /// The product of all factors.
    pub total: f64,
    /// The factors, in the order of the policy's list, then the figures behind them; empty when
    /// they are not kept.
    pub factors: Vec<f64>,
    /// Whether `factors` are kept: they are for the few that are chosen.
    pub(super) kept: bool,
}

impl Weighed {
    /// One whose factors are kept.
    pub(super) fn kept() -> Weighed {
        Weighed { kept: true, ..Weighed::default() }
    }

    /// Leaves figures behind, in the order a weight declares them.
    #[inline]
    pub fn leave<const N: usize>(&mut self, figures: impl FnOnce() -> [f64; N]) {
        if self.kept {
            self.factors.extend(figures());
        }
    }
}
