//! The signs of the grammar: blanks, comments, words, strings and variables, and the place where
//! reading stands.

use super::error::{ErrorCode, Fault};

/// Signs that end a bare word.
const SPECIAL: &str = "+&|()=<>!\"'^#$";

/// Whether a character is a blank: space, tab, line feed, vertical tab, form feed, carriage return.
pub(super) fn is_blank(sign: char) -> bool {
    matches!(sign, ' ' | '\t' | '\n' | '\u{b}' | '\u{c}' | '\r')
}

fn is_special(sign: char) -> bool {
    SPECIAL.contains(sign)
}

/// A text and how far it is read.
pub(super) struct Cursor<'t> {
    text: &'t str,
    /// Bytes read so far.
    pub(super) at: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text, at: 0 }
    }

    /// The text that is not read yet.
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Reads a sign if it is what comes next.
    pub(super) fn accept(&mut self, sign: &str) -> bool {
        let is_next = self.rest().starts_with(sign);
        if is_next {
            self.at += sign.len();
        }
        is_next
    }

    /// Reads blanks and comments. Comments do not nest.
    pub(super) fn skip_blanks(&mut self) -> Result<(), Fault> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches(is_blank);
            self.at += rest.len() - trimmed.len();
            let Some(comment) = trimmed.strip_prefix("(*") else { return Ok(()) };
            let end = comment.find("*)");
            let end = end.ok_or(Fault::new(ErrorCode::UnterminatedComment, self.at))?;
            self.at += end + "(**)".len();
        }
    }

    /// Reads a parenthesis, after blanks.
    pub(super) fn parenthesis(&mut self, sign: &str) -> Result<(), Fault> {
        self.skip_blanks()?;
        let is_there = self.accept(sign);
        is_there.then_some(()).ok_or(Fault::new(ErrorCode::MissingParenthesis, self.at))
    }

    /// Reads a bare word. `None`: none comes next.
    pub(super) fn word(&mut self) -> Option<&'t str> {
        let rest = self.rest();
        let is_end = |sign: char| is_blank(sign) || is_special(sign);
        let word = rest.split(is_end).next().filter(|word| !word.is_empty())?;
        self.at += word.len();
        Some(word)
    }

    /// Reads a bare word or a string in quotes or in delimiters of its own (`^x ... x`). `None`:
    /// neither comes next.
    pub(super) fn literal(&mut self) -> Result<Option<String>, Fault> {
        let start = self.at;
        let delimiter = match self.peek() {
            Some(quote @ ('"' | '\'')) => quote,
            Some('^') => {
                self.at += 1;
                self.peek().ok_or(Fault::new(ErrorCode::UnterminatedString, start))?
            }
            _ => return Ok(self.word().map(str::to_owned)),
        };
        self.at += delimiter.len_utf8();
        self.delimited(delimiter).map(Some).ok_or(Fault::new(ErrorCode::UnterminatedString, start))
    }

    /// Reads the name of an attribute, in quotes or not. `None`: none comes next.
    pub(super) fn name(&mut self) -> Result<Option<String>, Fault> {
        let is_name = |name: &String| !name.is_empty() && !name.contains(is_special);
        Ok(self.literal()?.filter(is_name))
    }

    /// Reads up to a delimiter; a doubled one stands for itself. `None`: the text ends before.
    fn delimited(&mut self, delimiter: char) -> Option<String> {
        let mut string = String::new();
        loop {
            let (part, rest) = self.rest().split_once(delimiter)?;
            string.push_str(part);
            self.at = self.text.len() - rest.len();
            if !rest.starts_with(delimiter) {
                return Some(string);
            }
            string.push(delimiter);
            self.at += delimiter.len_utf8();
        }
    }

    /// Reads a variable: `$(NAME)`. `None`: none comes next.
    pub(super) fn variable(&mut self) -> Result<Option<String>, Fault> {
        let start = self.at;
        let bad = Fault::new(ErrorCode::BadVariable, start);
        if !self.accept("$") {
            return Ok(None);
        }
        if !self.accept("(") {
            return Err(bad);
        }
        self.skip_blanks()?;
        let name = self.word().ok_or(bad)?;
        self.parenthesis(")")?;
        Ok(Some(name.to_owned()))
    }
}
