//! Parameters: named, typed, with a default for each reading of the rules.

/// Which of two readings decides where the documents and PanDA's code differ (spec atlas 0.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// The seed's letter.
    Documented,
    /// What PanDA's code does.
    Panda,
}

/// A value of a parameter, as given in a topology file or by a `parameter` event.
#[derive(Clone, Debug, PartialEq)]
pub enum Arg {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A word.
    Text(String),
}

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Whole numbers from..=to.
    Int(i64, i64),
    /// Finite numbers from..=to.
    Float(f64, f64),
    /// True or false.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A default. The two readings of a difference are two of these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Default {
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// True or false.
    Bool(bool),
    /// A word.
    Word(&'static str),
}

/// One parameter of a filter or weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// Its name in the topology file.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Default under [`Rules::Documented`].
    pub documented: Default,
    /// Default under [`Rules::Panda`].
    pub panda: Default,
    /// gdpconfig key (`jobbroker/NQUEUED_SAT_CAP`) that overrides it at run time; a trailing
    /// `_<gshare>` in the key is replaced by the task's share.
    pub gdp: Option<&'static str>,
    /// Meaning, unit, and the DIFF it decides, if any.
    pub help: &'static str,
}

/// A filter or weight as listed in a topology file: its name, and what differs from the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name.
    pub name: String,
    /// Parameters given.
    pub args: Vec<(String, Arg)>,
}

/// The resolved parameters of one filter or weight, in the order of its declaration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Args(pub Vec<f64>);

/// What is wrong with a parameter or a list, and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `filter memory`, `filter memory, compensation` ...
    pub place: String,
    /// What was found.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}
