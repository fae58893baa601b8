//! A file of cases as text: what is given line by line, and the text that is expected.

use std::fmt;

/// Where a line stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    pub file: String,
    pub line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A line as words; lines that are indented belong to the one above them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub place: Place,
    pub text: String,
    pub words: Vec<String>,
}

impl Line {
    /// An error that names the line.
    pub fn error(&self, message: impl fmt::Display) -> String {
        format!("{}: {message}", self.place)
    }

    /// The words without `=`.
    pub fn names(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).filter(|word| assignment(word).is_none()).collect()
    }

    /// The words with `=`: field and value.
    pub fn assignments(&self) -> Vec<(String, String)> {
        let found = self.words.iter().filter_map(|word| assignment(word));
        found.map(|(field, value)| (field.to_owned(), value.to_owned())).collect()
    }
}

/// A word as field and value; `None` where it is none of both.
fn assignment(word: &str) -> Option<(&str, &str)> {
    let (field, value) = word.split_once('=')?;
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.".contains(letter);
    (!field.is_empty() && field.chars().all(is_name)).then_some((field, value))
}

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    pub place: Place,
    /// The text before the expected part.
    pub given: String,
    pub lines: Vec<Line>,
    /// The expected part: the rules it is for, and the text.
    pub expected: Vec<(String, String)>,
}

/// A file of cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseFile {
    pub name: String,
    /// The text before the first case: the rule, in words, and lines that stand in every case.
    pub head: String,
    pub common: Vec<Line>,
    pub cases: Vec<Case>,
}

impl CaseFile {
    /// Reads a file.
    ///
    /// # Errors
    /// A line that cannot be taken apart.
    pub fn read(name: &str, text: &str) -> Result<CaseFile, String> {
        let mut file = CaseFile { name: name.to_owned(), ..CaseFile::default() };
        let mut is_expected = false;
        for (at, line) in text.lines().enumerate() {
            let place = Place { file: name.to_owned(), line: at + 1 };
            if line.starts_with("case ") {
                is_expected = false;
                file.cases.push(Case { place: place.clone(), ..Case::default() });
            }
            let Some(case) = file.cases.last_mut() else {
                file.head += &format!("{line}\n");
                read_line(&mut file.common, place, line)?;
                continue;
            };
            if let Some(rules) = line.strip_prefix("---") {
                is_expected = true;
                case.expected.push((rules.trim().to_owned(), String::new()));
                continue;
            }
            match case.expected.last_mut().filter(|_| is_expected) {
                Some((_, text)) => {
                    *text += &format!("{}\n", line.strip_prefix("    ").unwrap_or(line))
                }
                None => {
                    case.given += &format!("{line}\n");
                    read_line(&mut case.lines, place, line)?;
                }
            }
        }
        split(&mut file.common)?;
        for case in &mut file.cases {
            // Its title is no line of words.
            split(&mut case.lines[1..])?;
            case.lines[0].words = vec!["case".to_owned()];
            for (_, text) in &mut case.expected {
                *text = format!("{}\n", text.trim_end());
            }
        }
        Ok(file)
    }

    /// The text of the file, with what the cases come to in place of what is expected.
    pub fn write(&self, found: &[Vec<(String, String)>]) -> String {
        let mut text = self.head.clone();
        for (at, (case, found)) in self.cases.iter().zip(found).enumerate() {
            text += &format!("{}\n", case.given.trim_end());
            for (rules, found) in found {
                text += &format!("--- {rules}\n");
                for line in found.trim_end().lines() {
                    let line = format!("    {line}");
                    text += &format!("{}\n", line.trim_end());
                }
            }
            if at + 1 < self.cases.len() {
                text += "\n";
            }
        }
        text
    }
}

/// A line that begins with `#` is a remark.
fn read_line(lines: &mut Vec<Line>, place: Place, line: &str) -> Result<(), String> {
    let text = line.trim();
    if text.is_empty() || text.starts_with('#') {
        return Ok(());
    }
    if line.starts_with(' ') {
        let above = lines.last_mut().ok_or_else(|| format!("{place}: no line above it"))?;
        above.text += &format!(" {text}");
    } else {
        lines.push(Line { place, text: text.to_owned(), words: Vec::new() });
    }
    Ok(())
}

/// Takes lines apart that are read to their end.
fn split(lines: &mut [Line]) -> Result<(), String> {
    for line in lines {
        line.words = words(&line.text).map_err(|error| line.error(error))?;
    }
    Ok(())
}

/// The words of a text: what stands between spaces, but for spaces in quotes and brackets.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let (mut words, mut word) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted) = (0i32, false);
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '[' | '{' if !is_quoted => depth += 1,
            ']' | '}' if !is_quoted => depth -= 1,
            _ => {}
        }
        if letter.is_whitespace() && depth == 0 && !is_quoted {
            words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
        } else {
            word.push(letter);
        }
    }
    if is_quoted || depth != 0 {
        return Err(format!("a quote or bracket is left open in {word:?}"));
    }
    words.extend((!word.is_empty()).then_some(word));
    Ok(words)
}
