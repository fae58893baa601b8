//! Patterns that shares, policies of queues and software carry: a small regular language, read as
//! Python's `re` reads it.
//!
//! Patterns come with facts and may be hostile. So a match follows all alternatives at once: its
//! work is at most length of the program times length of the text, and both are bounded.

mod lookahead;
mod parse;
mod write;

/// Longest pattern that is read; bytes. Names and rules are some tens of bytes.
pub const PATTERN_MAX_BYTES: usize = 1_000;
/// Longest text that is matched; bytes. A longer one matches nothing.
pub const TEXT_MAX_BYTES: usize = 4_096;

/// A pattern that can be asked.
///
/// It knows letters that stand for themselves, `.`, `[...]` and `[^...]` with ranges, `\d` `\w`
/// `\s` and their opposites, a backslash before a sign, `(...)` and `(?:...)`, `|`, `*` `+` `?`
/// `{m,n}`, each also with `?` behind it, `(?P<name>...)`, `(?=...)` and `(?!...)`, `^`, `$`, `\A`
/// and `\Z`, and `(?i)` before all. Digits are those of ASCII.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    program: Vec<Step>,
    /// Programs of the look-aheads; each before those that need it.
    looks: Vec<Look>,
    /// The whole pattern, where all of it stands for itself.
    literal: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    One(One),
    /// Goes on at both places.
    Split(usize, usize),
    Jump(usize),
    Start,
    End,
    /// Goes on where this look ahead holds.
    Look(usize),
    Found,
}

/// A look-ahead: text that must follow, or must not.
#[derive(Clone, Debug, PartialEq)]
struct Look {
    program: Vec<Step>,
    wanted: bool,
}

/// Set of letters that matches one letter.
#[derive(Clone, Debug, PartialEq)]
enum One {
    Is(char),
    /// Any but the end of a line.
    Any,
    In(Vec<Range>),
    NotIn(Vec<Range>),
}

/// Some of the letters of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Range {
    From(char, char),
    Kind(Kind, bool),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Digit,
    Word,
    Space,
}

#[derive(Clone, Copy, PartialEq)]
enum Want {
    /// Begins with the text, ends anywhere.
    Start,
    /// From the first letter to the last.
    Full,
    /// Begins and ends anywhere.
    Anywhere,
}

impl Pattern {
    /// Reads a pattern. `None`: it is not one, it uses what is not supported (looking
    /// behind, references back, bounds of words), or it is longer than [`PATTERN_MAX_BYTES`].
    pub fn new(text: &str) -> Option<Pattern> {
        let (program, looks) = write::program(&parse::parse(text)?)?;
        let literal = program[..program.len() - 1]
            .iter()
            .map(|step| match step {
                Step::One(One::Is(letter)) => Some(*letter),
                _ => None,
            })
            .collect();
        Some(Pattern { program, looks, literal })
    }

    /// Whether all of `text` matches a pattern that is asked but once; one that cannot be read
    /// matches nothing.
    pub fn matches_all(pattern: &str, text: &str) -> bool {
        match is_expression(pattern) {
            false => pattern.len() <= PATTERN_MAX_BYTES && is_read(text) && pattern == text,
            true => Pattern::new(pattern).is_some_and(|it| it.is_full_match(text)),
        }
    }

    /// Whether some part of a text matches a pattern that is asked but a few times; one that cannot
    /// be read is found nowhere.
    pub fn finder(pattern: &str) -> impl Fn(&str) -> bool {
        let is_plain = !is_expression(pattern) && pattern.len() <= PATTERN_MAX_BYTES;
        let read = if is_plain { None } else { Pattern::new(pattern) };
        move |text| match &read {
            Some(read) => read.is_found_in(text),
            None => is_plain && is_read(text) && text.contains(pattern),
        }
    }

    /// Whether some beginning of `text` matches, as `re.match` does.
    pub fn is_match_start(&self, text: &str) -> bool {
        match &self.literal {
            Some(literal) => is_read(text) && text.starts_with(literal.as_str()),
            None => self.run(text, Want::Start),
        }
    }

    /// Whether all of `text` matches, as `re.fullmatch` does.
    pub fn is_full_match(&self, text: &str) -> bool {
        match &self.literal {
            Some(literal) => is_read(text) && text == literal,
            None => self.run(text, Want::Full),
        }
    }

    /// Whether some part of `text` matches, as `re.search` does.
    pub fn is_found_in(&self, text: &str) -> bool {
        match &self.literal {
            Some(literal) => is_read(text) && text.contains(literal.as_str()),
            None => self.run(text, Want::Anywhere),
        }
    }

    fn run(&self, text: &str, want: Want) -> bool {
        if !is_read(text) {
            return false;
        }
        let holds = lookahead::holds(&self.looks, text);
        let mut here = Places::new(self.program.len());
        let mut next = Places::new(self.program.len());
        let mut spot = Spot { at: 0, rest: text, holds: &holds };
        loop {
            if spot.at == 0 || want == Want::Anywhere {
                here.add(&self.program, 0, &spot);
            }
            let mut letters = spot.rest.chars();
            let letter = letters.next();
            if here.found && (want != Want::Full || letter.is_none()) {
                return true;
            }
            let Some(letter) = letter else { return false };
            if here.places.is_empty() && want != Want::Anywhere {
                return false;
            }
            spot = Spot { at: spot.at + 1, rest: letters.as_str(), ..spot };
            next.clear();
            for place in &here.places {
                if let Step::One(one) = &self.program[*place]
                    && one.takes(letter)
                {
                    next.add(&self.program, place + 1, &spot);
                }
            }
            std::mem::swap(&mut here, &mut next);
        }
    }
}

/// Where in a text a match is.
struct Spot<'a> {
    /// Letters before it.
    at: usize,
    rest: &'a str,
    /// By look ahead and letters before: whether it holds there.
    holds: &'a [Vec<bool>],
}

impl Spot<'_> {
    /// Whether a step that takes no letter lets a match through.
    fn lets_through(&self, step: &Step) -> bool {
        match step {
            Step::Start => self.at == 0,
            Step::End => self.rest.is_empty() || self.rest == "\n",
            Step::Look(look) => self.holds[*look][self.at],
            Step::Split(..) | Step::Jump(_) => true,
            Step::One(_) | Step::Found => false,
        }
    }
}

/// Whether a pattern holds a sign that stands for something else.
fn is_expression(pattern: &str) -> bool {
    pattern.contains(|letter: char| r"\.^$*+?{}[]|()".contains(letter))
}

fn is_read(text: &str) -> bool {
    text.len() <= TEXT_MAX_BYTES
}

impl One {
    fn takes(&self, letter: char) -> bool {
        match self {
            One::Is(own) => *own == letter,
            One::Any => letter != '\n',
            One::In(ranges) => ranges.iter().any(|range| range.has(letter)),
            One::NotIn(ranges) => !ranges.iter().any(|range| range.has(letter)),
        }
    }
}

impl Range {
    fn has(self, letter: char) -> bool {
        match self {
            Range::From(first, last) => (first..=last).contains(&letter),
            Range::Kind(kind, wanted) => wanted == kind.has(letter),
        }
    }
}

impl Kind {
    fn has(self, letter: char) -> bool {
        match self {
            Kind::Digit => letter.is_ascii_digit(),
            Kind::Word => letter.is_alphanumeric() || letter == '_',
            Kind::Space => letter.is_whitespace(),
        }
    }
}

/// The places of a program that are reached at one letter, each once.
struct Places {
    places: Vec<usize>,
    is_reached: Vec<bool>,
    to_do: Vec<usize>,
    found: bool,
}

impl Places {
    fn new(steps: usize) -> Places {
        Places {
            places: Vec::new(),
            is_reached: vec![false; steps],
            to_do: Vec::new(),
            found: false,
        }
    }

    fn clear(&mut self) {
        self.places.clear();
        self.is_reached.fill(false);
        self.found = false;
    }

    /// Adds a place and all that are reached from it without a letter.
    fn add(&mut self, program: &[Step], place: usize, spot: &Spot<'_>) {
        self.to_do.push(place);
        while let Some(place) = self.to_do.pop() {
            if std::mem::replace(&mut self.is_reached[place], true) {
                continue;
            }
            let step = &program[place];
            match step {
                Step::One(_) => self.places.push(place),
                Step::Split(one, other) => self.to_do.extend([*one, *other]),
                Step::Jump(to) => self.to_do.push(*to),
                Step::Start | Step::End | Step::Look(_) if spot.lets_through(step) => {
                    self.to_do.push(place + 1);
                }
                Step::Start | Step::End | Step::Look(_) => {}
                Step::Found => self.found = true,
            }
        }
    }
}

#[cfg(test)]
mod tests;
