//! Verdict of a filter: no objection, or one with its reason and figures.

use super::phrase::unit_of;
use crate::unit::Millis;

/// Why a filter objects. A filter declares its reasons as constants and names these alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its name, as published and in metrics.
    pub name: &'static str,
    /// The sentence that explains it: see [`super::phrase`]. `{measured}` and `{limit}` stand for
    /// the figures of the objection.
    pub sentence: &'static str,
}

impl Reason {
    /// A reason by its name and its sentence.
    pub const fn new(name: &'static str, sentence: &'static str) -> Reason {
        Reason { name, sentence }
    }

    /// An objection's figure in the sentence's unit, if the sentence quotes it. Others are codes
    /// for what the sentence states in words: a status, a flag, that something is there.
    pub fn measured(&self, figure: f64) -> Option<f64> {
        self.quoted("{measured", figure)
    }

    /// The same of its limit.
    pub fn limit(&self, figure: f64) -> Option<f64> {
        self.quoted("{limit", figure)
    }

    fn quoted(&self, name: &str, figure: f64) -> Option<f64> {
        let (_, rest) = self.sentence.split_once(name)?;
        Some(if rest.starts_with(":milli") { figure / 1000.0 } else { figure })
    }

    /// The unit of these figures; empty: they have none.
    pub fn unit(&self) -> &'static str {
        unit_of(self.sentence)
    }
}

/// Why a candidate is refused that is not among the best, when none of these is left.
pub(crate) const BEYOND_THE_BEST: Reason =
    Reason::new("beyond_the_best", "it is not among the best, of which none is left");

/// Verdict of a filter on a candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// No objection.
    Pass,
    /// An objection, with its figures.
    Object(Objection),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objection {
    /// One of the reasons that the filter declares.
    pub reason: &'static Reason,
    /// Measured value, in the filter's unit.
    pub measured: f64,
    /// Value that would have passed, in the filter's unit.
    pub limit: f64,
    /// When the objection may disappear by the passing of time alone.
    pub recheck_at: Option<Millis>,
}

/// An objection that disappears only when a fact changes.
#[inline]
pub(crate) fn object(reason: &'static Reason, measured: f64, limit: f64) -> Verdict {
    object_until(reason, measured, limit, None)
}

/// An objection that may disappear by the passing of time alone.
#[inline]
pub(crate) fn object_until(
    reason: &'static Reason,
    measured: f64,
    limit: f64,
    recheck_at: Option<Millis>,
) -> Verdict {
    Verdict::Object(Objection { reason, measured, limit, recheck_at })
}
