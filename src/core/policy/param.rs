//! Parameters: named, typed, with a default for each reading of the rules.

/// A set of defaults: the two readings where the documents and PanDA's code differ (spec atlas
/// 0.2), and ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// The seed's letter.
    #[default]
    Documented,
    /// The rules as PanDA's code has them.
    Panda,
    /// The seed's letter, but that less work waits at queues and more with the broker.
    Tuned,
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
    /// A list of names.
    List(Vec<String>),
}

/// Allowed values of a parameter.
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

/// In what a number is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// In nothing: a factor, a ratio, a priority, a word.
    None,
    /// Jobs.
    Jobs,
    /// Files.
    Files,
    /// Cores.
    Cores,
    /// Slots.
    Slots,
    /// Percent.
    Percent,
    /// Seconds.
    Seconds,
    /// Hours.
    Hours,
    /// Days.
    Days,
    /// Kilobytes a second.
    KbPerSecond,
    /// Megabytes.
    Mb,
    /// Gigabytes of 1024^3 bytes.
    Gb,
    /// Terabytes of 1024 such GB.
    Tb,
    /// Computing power.
    Hs06,
    /// Work: computing power times seconds.
    Hs06Seconds,
}

impl Unit {
    /// Its symbol; empty where there is none.
    pub const fn symbol(self) -> &'static str {
        match self {
            Unit::None => "",
            Unit::Jobs => "jobs",
            Unit::Files => "files",
            Unit::Cores => "cores",
            Unit::Slots => "slots",
            Unit::Percent => "%",
            Unit::Seconds => "s",
            Unit::Hours => "h",
            Unit::Days => "d",
            Unit::KbPerSecond => "kB/s",
            Unit::Mb => "MB",
            Unit::Gb => "GB",
            Unit::Tb => "TB",
            Unit::Hs06 => "HS06",
            Unit::Hs06Seconds => "HS06 s",
        }
    }
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
    /// Its allowed values.
    pub kind: Kind,
    /// Default under [`Rules::Documented`].
    pub documented: Default,
    /// Default under [`Rules::Panda`].
    pub panda: Default,
    /// Default under [`Rules::Tuned`]; `None`: the documented one.
    pub tuned: Option<Default>,
    /// In what it is given.
    pub unit: Unit,
    /// gdpconfig key (`jobbroker/NQUEUED_SAT_CAP`) that overrides it at run time; a trailing
    /// `_<gshare>` in the key is replaced by the task's share.
    pub gdp: Option<&'static str>,
    /// Whether a 0 in gdpconfig means that the key is not set (spec atlas 11, falsy).
    pub zero_is_unset: bool,
    /// Meaning, and the DIFF it decides, if any.
    pub help: &'static str,
}

/// A filter or weight as listed in a topology file: its name, and what differs from the defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedStep {
    /// Name.
    pub name: String,
    /// Parameters given.
    pub args: Vec<(String, Arg)>,
}

/// A wrong parameter or list, with the allowed values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `filter memory`, `filter memory, compensation` ...
    pub place: String,
    /// The value that was found.
    pub found: String,
    /// The allowed values.
    pub allowed: String,
}

/// Largest whole number a parameter may have: far above any count, and exact as an `f64`.
const INT_MAX: i64 = 1_000_000_000_000;

impl Param {
    /// A declaration without a name: what others are written over.
    pub(crate) const NONE: Param = Param {
        name: "",
        kind: Kind::Bool,
        documented: Default::Bool(false),
        panda: Default::Bool(false),
        tuned: None,
        unit: Unit::None,
        gdp: None,
        zero_is_unset: false,
        help: "",
    };

    /// A whole number, 0 or more.
    pub const fn int(name: &'static str, documented: i64, panda: i64) -> Param {
        let (documented, panda) = (Default::Int(documented), Default::Int(panda));
        Param { name, kind: Kind::Int(0, INT_MAX), documented, panda, ..Param::NONE }
    }

    /// A finite number from..=to.
    pub const fn float(
        name: &'static str,
        (from, to): (f64, f64),
        documented: f64,
        panda: f64,
    ) -> Param {
        let (documented, panda) = (Default::Float(documented), Default::Float(panda));
        Param { name, kind: Kind::Float(from, to), documented, panda, ..Param::NONE }
    }

    /// True or false.
    pub const fn flag(name: &'static str, documented: bool, panda: bool) -> Param {
        let (documented, panda) = (Default::Bool(documented), Default::Bool(panda));
        Param { name, kind: Kind::Bool, documented, panda, ..Param::NONE }
    }

    /// One of some words.
    pub const fn word(
        name: &'static str,
        words: &'static [&'static str],
        documented: &'static str,
        panda: &'static str,
    ) -> Param {
        let (documented, panda) = (Default::Word(documented), Default::Word(panda));
        Param { name, kind: Kind::Word(words), documented, panda, ..Param::NONE }
    }

    /// With a default of its own under [`Rules::Tuned`].
    pub const fn tuned(mut self, default: Default) -> Param {
        self.tuned = Some(default);
        self
    }

    /// With a smallest value; whole numbers only.
    pub const fn at_least(mut self, least: i64) -> Param {
        if let Kind::Int(_, most) = self.kind {
            self.kind = Kind::Int(least, most);
        }
        self
    }

    /// With its unit.
    pub const fn unit(mut self, unit: Unit) -> Param {
        self.unit = unit;
        self
    }

    /// With a gdpconfig key.
    pub const fn gdp(mut self, key: &'static str) -> Param {
        self.gdp = Some(key);
        self
    }

    /// With a gdpconfig key of which a 0 is as none.
    pub const fn gdp_above_0(self, key: &'static str) -> Param {
        Param { zero_is_unset: true, ..self.gdp(key) }
    }

    /// With its explanation.
    pub const fn help(mut self, help: &'static str) -> Param {
        self.help = help;
        self
    }

    /// A declaration of a number; a mistake in the source where it is none.
    pub(crate) const fn number(self) -> Param {
        assert!(matches!(self.kind, Kind::Int(..) | Kind::Float(..)), "a field that is no number");
        self
    }

    /// A declaration of a truth value; a mistake in the source where it is none.
    pub(crate) const fn truth(self) -> Param {
        assert!(matches!(self.kind, Kind::Bool), "a field that is not true or false");
        self
    }

    /// A declaration of words; a mistake in the source where it has others.
    pub(crate) const fn one_of(self, words: &'static [&'static str]) -> Param {
        let Kind::Word(own) = self.kind else { panic!("a field that is no word") };
        assert!(own.len() == words.len(), "a field of other words");
        self
    }

    /// Its value under a reading of the rules.
    pub fn default_under(&self, rules: Rules) -> f64 {
        let default = match rules {
            Rules::Documented => self.documented,
            Rules::Panda => self.panda,
            Rules::Tuned => self.tuned.unwrap_or(self.documented),
        };
        match default {
            Default::Int(value) => value as f64,
            Default::Float(value) => value,
            Default::Bool(value) => f64::from(u8::from(value)),
            Default::Word(word) => self.word_index(word).unwrap_or(0.0),
        }
    }

    /// The number for a value of a topology file; `None`: wrong type or out of range.
    pub fn read(&self, arg: &Arg) -> Option<f64> {
        match (self.kind, arg) {
            (Kind::Int(from, to), Arg::Int(value)) => {
                (from..=to).contains(value).then_some(*value as f64)
            }
            (Kind::Float(from, to), Arg::Float(value)) => {
                (from..=to).contains(value).then_some(*value)
            }
            (Kind::Float(from, to), Arg::Int(value)) => {
                let value = *value as f64;
                (from..=to).contains(&value).then_some(value)
            }
            (Kind::Bool, Arg::Bool(value)) => Some(f64::from(u8::from(*value))),
            (Kind::Word(_), Arg::Text(word)) => self.word_index(word),
            _ => None,
        }
    }

    /// The number for a value as gdpconfig has it: text. `None`: wrong type or out of range.
    pub fn read_text(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        match self.kind {
            Kind::Int(from, to) => {
                let value: f64 = text.parse().ok()?;
                let whole = value.is_finite() && value == value.trunc();
                (whole && value >= from as f64 && value <= to as f64).then_some(value)
            }
            Kind::Float(from, to) => {
                let value: f64 = text.parse().ok()?;
                (from..=to).contains(&value).then_some(value)
            }
            Kind::Bool => match text {
                "true" | "True" | "TRUE" | "1" => Some(1.0),
                "false" | "False" | "FALSE" | "0" => Some(0.0),
                _ => None,
            },
            Kind::Word(_) => self.word_index(text),
        }
    }

    /// Its allowed values, for a reader.
    pub fn allowed(&self) -> String {
        match self.kind {
            Kind::Int(from, to) => format!("a whole number {from}..={to}"),
            Kind::Float(from, to) => format!("a number {from}..={to}"),
            Kind::Bool => "true or false".to_string(),
            Kind::Word(words) => format!("one of {}", words.join(", ")),
        }
    }

    /// A value as a topology file would have it.
    pub fn show(&self, value: f64) -> String {
        match self.kind {
            Kind::Int(..) | Kind::Float(..) => value.to_string(),
            Kind::Bool => (value != 0.0).to_string(),
            Kind::Word(words) => format!("{:?}", words.get(value as usize).unwrap_or(&"")),
        }
    }

    fn word_index(&self, word: &str) -> Option<f64> {
        match self.kind {
            Kind::Word(words) => words.iter().position(|w| *w == word).map(|at| at as f64),
            Kind::Int(..) | Kind::Float(..) | Kind::Bool => None,
        }
    }
}

impl std::fmt::Display for Arg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Arg::Int(value) => write!(f, "{value}"),
            Arg::Float(value) => write!(f, "{value}"),
            Arg::Bool(value) => write!(f, "{value}"),
            Arg::Text(value) => write!(f, "{value:?}"),
            Arg::List(names) => write!(f, "{names:?}"),
        }
    }
}

impl Rules {
    /// All there are.
    pub const ALL: [Rules; 3] = [Rules::Documented, Rules::Panda, Rules::Tuned];

    /// Its name in a topology file.
    pub const fn name(self) -> &'static str {
        match self {
            Rules::Documented => "documented",
            Rules::Panda => "panda",
            Rules::Tuned => "tuned",
        }
    }

    /// The reading of a word.
    pub fn from_name(name: &str) -> Option<Rules> {
        Rules::ALL.into_iter().find(|rules| rules.name() == name)
    }
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}; allowed: {}", self.place, self.found, self.allowed)
    }
}

impl Param {
    /// A value with its unit, for a reader.
    pub fn show_with_unit(&self, value: f64) -> String {
        match self.unit.symbol() {
            "" => self.show(value),
            symbol => format!("{} {symbol}", self.show(value)),
        }
    }
}
