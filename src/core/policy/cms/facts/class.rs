//! Classes of jobs, and the units of the facts.

/// A moment or a span, in seconds.
pub type Seconds = i64;

/// Weight in thousandths: one core of the reference power is 1000 (spec cms-nordugrid A.1).
pub type MilliWeight = i64;

/// The class of a workflow and of its jobs (C-01).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Run by operations; one accounting principal.
    Central,
    /// Of many principals.
    Analysis,
}

impl Class {
    /// Both, in the order of a tie (C-27).
    pub const ALL: [Class; 2] = [Class::Central, Class::Analysis];

    /// Its name in records.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Central => "central",
            Class::Analysis => "analysis",
        }
    }

    /// The class of a name.
    pub fn from_name(name: &str) -> Option<Class> {
        Class::ALL.into_iter().find(|class| class.name() == name)
    }

    /// The other one.
    pub const fn other(self) -> Class {
        match self {
            Class::Central => Class::Analysis,
            Class::Analysis => Class::Central,
        }
    }
}

/// A value of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerClass<T> {
    /// Of central jobs.
    pub central: T,
    /// Of analysis jobs.
    pub analysis: T,
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
