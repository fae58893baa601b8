//! A pattern's text becomes a tree.

use super::{Kind, One, PATTERN_MAX_BYTES, Range};

/// Deepest nesting of groups.
const DEPTH_MAX: usize = 50;

pub(super) enum PatternNode {
    One(One),
    Start,
    End,
    Row(Vec<PatternNode>),
    Either(Vec<PatternNode>),
    Repeat(Box<Repeat>),
    /// A look-ahead: text that must follow (`true`), or must not.
    Look(Box<PatternNode>, bool),
}

/// A node again and again, without an upper bound when `most` is `None`.
pub(super) struct Repeat {
    pub(super) node: PatternNode,
    pub(super) least: u32,
    pub(super) most: Option<u32>,
}

/// Reads a pattern; `None` when it is none.
pub(super) fn parse(text: &str) -> Option<PatternNode> {
    if text.len() > PATTERN_MAX_BYTES {
        return None;
    }
    let rest = text.strip_prefix("(?i)");
    let mut reader = Reader { rest: rest.unwrap_or(text), ignores_case: rest.is_some() };
    let node = reader.either(0)?;
    reader.rest.is_empty().then_some(node)
}

struct Reader<'a> {
    rest: &'a str,
    ignores_case: bool,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next()?;
        self.rest = letters.as_str();
        Some(letter)
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn either(&mut self, depth: usize) -> Option<PatternNode> {
        let mut nodes = vec![self.row(depth)?];
        while self.takes("|") {
            nodes.push(self.row(depth)?);
        }
        if nodes.len() == 1 { nodes.pop() } else { Some(PatternNode::Either(nodes)) }
    }

    fn row(&mut self, depth: usize) -> Option<PatternNode> {
        let mut nodes = Vec::new();
        while let Some(letter) = self.peek() {
            if letter == '|' || letter == ')' {
                break;
            }
            let node = self.item(depth)?;
            nodes.push(self.repeated(node)?);
        }
        Some(PatternNode::Row(nodes))
    }

    fn item(&mut self, depth: usize) -> Option<PatternNode> {
        match self.take()? {
            '.' => Some(PatternNode::One(One::Any)),
            '^' => Some(PatternNode::Start),
            '$' => Some(PatternNode::End),
            '[' => self.class().map(PatternNode::One),
            '\\' if self.takes("A") => Some(PatternNode::Start),
            // No letter follows, not even the end of a line, before which `$` matches too.
            '\\' if self.takes("Z") => {
                Some(PatternNode::Look(Box::new(PatternNode::One(One::NotIn(Vec::new()))), false))
            }
            '\\' => self.escaped().map(|range| match range {
                Range::From(letter, _) => self.letter(letter),
                kind @ Range::Kind(..) => PatternNode::One(One::In(vec![kind])),
            }),
            '(' if depth < DEPTH_MAX => {
                let look = match () {
                    () if self.takes("?=") => Some(true),
                    () if self.takes("?!") => Some(false),
                    () if self.rest.starts_with('?') && !self.names_group() => return None,
                    () => None,
                };
                let node = self.either(depth + 1)?;
                let node = match look {
                    Some(wanted) => PatternNode::Look(Box::new(node), wanted),
                    None => node,
                };
                self.takes(")").then_some(node)
            }
            '(' | '*' | '+' | '?' => None,
            '{' if bounds(self.rest).is_some() => None,
            letter => Some(self.letter(letter)),
        }
    }

    /// Takes what makes a group one that is not counted, or names it: neither matters here.
    fn names_group(&mut self) -> bool {
        if self.takes("?:") {
            return true;
        }
        let name = self.rest.strip_prefix("?P<").and_then(|rest| rest.split_once('>'));
        let is_name = |name: &str| {
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                && name.chars().next().is_some_and(|first| !first.is_numeric())
        };
        let Some((_, rest)) = name.filter(|(name, _)| is_name(name)) else { return false };
        self.rest = rest;
        true
    }

    /// A letter that stands for itself.
    fn letter(&self, letter: char) -> PatternNode {
        PatternNode::One(match self.ignores_case && letter.is_alphabetic() {
            true => One::In(self.in_either_case(Range::From(letter, letter))),
            false => One::Is(letter),
        })
    }

    /// A range, and the same letters of the other case where that does not count.
    fn in_either_case(&self, range: Range) -> Vec<Range> {
        let mut both = vec![range];
        let Range::From(first, last) = range else { return both };
        if self.ignores_case && first == last {
            both.extend(
                first.to_lowercase().chain(first.to_uppercase()).map(|it| Range::From(it, it)),
            );
        } else if self.ignores_case {
            let swapped = |from: char, until: char, swap: fn(&char) -> char| {
                let (first, last) = (first.max(from), last.min(until));
                (first <= last).then(|| Range::From(swap(&first), swap(&last)))
            };
            both.extend(swapped('a', 'z', char::to_ascii_uppercase));
            both.extend(swapped('A', 'Z', char::to_ascii_lowercase));
        }
        both
    }

    /// The node with what stands behind it for how often. A second such sign is a mistake, but
    /// for the `?` that asks for the shortest match: which one it is does not matter here.
    fn repeated(&mut self, node: PatternNode) -> Option<PatternNode> {
        let Some((least, most)) = self.times() else { return Some(node) };
        if matches!(node, PatternNode::Start | PatternNode::End)
            || most.is_some_and(|most| most < least)
        {
            return None;
        }
        self.takes("?");
        if self.times().is_some() {
            return None;
        }
        Some(PatternNode::Repeat(Box::new(Repeat { node, least, most })))
    }

    fn times(&mut self) -> Option<(u32, Option<u32>)> {
        let times = match self.peek()? {
            '*' => (0, None),
            '+' => (1, None),
            '?' => (0, Some(1)),
            '{' => {
                let (times, rest) = bounds(&self.rest[1..])?;
                self.rest = rest;
                return Some(times);
            }
            _ => return None,
        };
        self.take();
        Some(times)
    }

    /// The letter or kind of letters after a backslash.
    fn escaped(&mut self) -> Option<Range> {
        let letter = self.take()?;
        let kind = match letter.to_ascii_lowercase() {
            'd' => Kind::Digit,
            'w' => Kind::Word,
            's' => Kind::Space,
            _ => {
                let own = match letter {
                    't' => '\t',
                    'n' => '\n',
                    'r' => '\r',
                    letter if letter.is_ascii_alphanumeric() => return None,
                    letter => letter,
                };
                return Some(Range::From(own, own));
            }
        };
        Some(Range::Kind(kind, letter.is_ascii_lowercase()))
    }

    fn class(&mut self) -> Option<One> {
        let is_not = self.takes("^");
        let mut ranges = Vec::new();
        loop {
            let first = match self.take()? {
                ']' if !ranges.is_empty() => break,
                '\\' => self.escaped()?,
                letter => Range::From(letter, letter),
            };
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            let range = if is_range { self.range(first)? } else { first };
            ranges.extend(self.in_either_case(range));
        }
        Some(if is_not { One::NotIn(ranges) } else { One::In(ranges) })
    }

    fn range(&mut self, first: Range) -> Option<Range> {
        self.take();
        let last = match self.take()? {
            '\\' => self.escaped()?,
            letter => Range::From(letter, letter),
        };
        match (first, last) {
            (Range::From(first, _), Range::From(last, _)) if first <= last => {
                Some(Range::From(first, last))
            }
            _ => None,
        }
    }
}

/// Bounds of a repetition, behind its `{`, and what follows them; `None`: it is no repetition and
/// the brace stands for itself. A bound that no pattern can reach is the largest number.
fn bounds(text: &str) -> Option<((u32, Option<u32>), &str)> {
    let (inside, rest) = text.split_once('}')?;
    let number = |text: &str| match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Some(text.parse().unwrap_or(u32::MAX)),
        false => None,
    };
    let times = match inside.split_once(',') {
        None if inside.is_empty() => return None,
        None => {
            let count = number(inside)?;
            (count, Some(count))
        }
        Some((least, most)) => {
            let least = if least.is_empty() { 0 } else { number(least)? };
            (least, if most.is_empty() { None } else { Some(number(most)?) })
        }
    };
    Some((times, rest))
}
