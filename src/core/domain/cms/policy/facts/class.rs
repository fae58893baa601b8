//! Classes of jobs, and the units of the facts.

use crate::unit::{Millis, SECOND};

/// A moment or a span, in seconds.
pub type Seconds = i64;

/// Weight in thousandths: one core of the reference power is 1000 (spec cms-nordugrid A.1).
pub type MilliWeight = i64;

/// The second in which a moment lies.
pub const fn seconds(at: Millis) -> Seconds {
    at.div_euclid(SECOND)
}

pub use crate::event::Class;

/// A value of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerClass<T> {
    /// Of central jobs.
    pub central: T,
    /// Of analysis jobs.
    pub analysis: T,
}

impl PerClass<i64> {
    /// Both together.
    pub const fn total(&self) -> i64 {
        self.central.saturating_add(self.analysis)
    }
}

impl<T: Copy> PerClass<T> {
    /// That of a class.
    pub const fn of(&self, class: Class) -> T {
        match class {
            Class::Central => self.central,
            Class::Analysis => self.analysis,
        }
    }

    /// That of a class, to be changed.
    pub const fn of_mut(&mut self, class: Class) -> &mut T {
        match class {
            Class::Central => &mut self.central,
            Class::Analysis => &mut self.analysis,
        }
    }
}
