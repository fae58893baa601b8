//! The meaning of the values of one attribute, independent of the other attributes.

use super::error::ErrorCode;
use super::known::{Form, KnownAttribute, Taken};
use super::note::NoteCode;
use super::source::{InputSource, source};
use super::{
    CacheOption, NameCondition, NodeAccess, Relation, Software, SoftwareCondition, Value, time,
};
use std::collections::BTreeSet;

/// The meaning of an attribute's values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Term {
    /// Nothing that anything else depends on: checked only, unknown, or wrong.
    Nothing,
    Text(String),
    Texts(Vec<String>),
    Number(i128),
    /// Seconds.
    Time(u64),
    Flag(bool),
    Name(NameCondition),
    Software(SoftwareCondition),
    Access(BTreeSet<NodeAccess>),
    Files(Vec<FileEntry>),
    Cache(CacheOption),
}

/// A file as an attribute lists it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FileEntry {
    pub(super) name: String,
    /// URL without options; empty: it is uploaded.
    pub(super) source: String,
    /// Where the submitter has it, if it is uploaded.
    pub(super) path: String,
    /// Its own option.
    pub(super) cache: Option<CacheOption>,
    /// The option inside its URL, which gives way to the general one.
    pub(super) url_cache: Option<CacheOption>,
    pub(super) is_local: bool,
}

/// Most MB that are bytes of 64 bits.
const MEGABYTES_MAX: i128 = (u64::MAX >> 20) as i128;

/// Reads the values of a known attribute; times without a unit count in `unit_s` seconds. Adds
/// what is read otherwise than it may be meant to `notes`.
pub(super) fn term(
    known: &KnownAttribute,
    relation: Relation,
    values: &[Value],
    unit_s: u64,
    notes: &mut Vec<NoteCode>,
) -> Result<Term, ErrorCode> {
    match known.form.takes(relation) {
        Taken::AsWritten => {}
        Taken::AsEqual => notes.push(NoteCode::ReadAsEqual),
        Taken::Not => return Err(ErrorCode::BadOperator),
    }
    Ok(match known.form {
        Form::Text => Term::Text(single(values)?.to_owned()),
        Form::Texts => Term::Texts(texts(values)?),
        Form::Pairs => {
            rows(values, 2)?;
            Term::Nothing
        }
        Form::Number(min, max) => Term::Number(number(single(values)?, min, max)?),
        Form::Megabytes => Term::Number(megabytes(single(values)?, notes)?),
        Form::Time => Term::Time(seconds(single(values)?, unit_s, notes)?),
        Form::Flag => Term::Flag(flag(single(values)?)?),
        Form::Name | Form::Platform => {
            Term::Name(NameCondition { relation, name: single(values)?.to_owned() })
        }
        Form::Software { has_options } => software(relation, values, has_options)?,
        Form::Access => Term::Access(access(&texts(values)?, notes)?),
        Form::Files => {
            let file = |value: &Value| file(value, notes);
            Term::Files(values.iter().map(file).collect::<Result<_, _>>()?)
        }
        Form::Outputs => {
            values.iter().try_for_each(output)?;
            Term::Nothing
        }
        Form::Benchmarks => benchmarks(&rows(values, 3)?, unit_s, notes)?,
        Form::Notify => {
            texts(values)?.iter().try_for_each(|it| notify(it))?;
            Term::Nothing
        }
        Form::Cache => Term::Cache(cache(single(values)?, notes)),
        Form::Substitution => Term::Nothing,
    })
}

fn seconds(text: &str, unit_s: u64, notes: &mut Vec<NoteCode>) -> Result<u64, ErrorCode> {
    time::seconds(text, unit_s, notes).ok_or(ErrorCode::BadTime)
}

/// The only value, which is text.
fn single(values: &[Value]) -> Result<&str, ErrorCode> {
    match values {
        [Value::Text(text)] => Ok(text),
        _ => Err(ErrorCode::BadValue),
    }
}

fn texts(values: &[Value]) -> Result<Vec<String>, ErrorCode> {
    let text = |value: &Value| match value {
        Value::Text(text) => Ok(text.clone()),
        Value::List(_) => Err(ErrorCode::BadValue),
    };
    values.iter().map(text).collect()
}

/// Lists of so many strings.
fn rows(values: &[Value], length: usize) -> Result<Vec<Vec<String>>, ErrorCode> {
    let row = |value: &Value| match value {
        Value::List(row) => {
            let row = texts(row)?;
            if row.len() == length { Ok(row) } else { Err(ErrorCode::BadValue) }
        }
        Value::Text(_) => Err(ErrorCode::BadValue),
    };
    values.iter().map(row).collect()
}

/// A whole number of MB, or one with a fraction, which is cut off.
fn megabytes(text: &str, notes: &mut Vec<NoteCode>) -> Result<i128, ErrorCode> {
    let whole = match text.split_once('.') {
        Some((whole, fraction)) if is_digits(fraction) => {
            notes.push(NoteCode::FractionCut);
            whole
        }
        _ => text,
    };
    number(whole, 0, MEGABYTES_MAX)
}

/// The CPU time of the first benchmark whose value is a number; ARC takes no other.
fn benchmarks(
    rows: &[Vec<String>],
    unit_s: u64,
    notes: &mut Vec<NoteCode>,
) -> Result<Term, ErrorCode> {
    let is_number = |text: &str| match text.split_once('.') {
        Some((whole, fraction)) => is_digits(whole) && is_digits(fraction),
        None => is_digits(text),
    };
    let times = rows.iter().filter_map(|row| match row.as_slice() {
        [_, value, time] => is_number(value).then_some(time),
        _ => None,
    });
    let first = times.take(1).map(|time| seconds(time, unit_s, notes)).next();
    first.map_or(Ok(Term::Nothing), |time| time.map(Term::Time))
}

/// Letters of the states that are sent, and one or more addresses.
fn notify(text: &str) -> Result<(), ErrorCode> {
    let mut words = text.split([' ', '\t']).filter(|word| !word.is_empty()).peekable();
    let states = words.next_if(|word| !word.contains('@')).unwrap_or_default();
    let is_known = states.chars().all(|state| "bqfedc".contains(state));
    let is_addressed = words.peek().is_some() && words.all(|word| word.contains('@'));
    if is_known && is_addressed { Ok(()) } else { Err(ErrorCode::BadValue) }
}

/// A whole number: decimal digits, perhaps after a minus sign.
fn number(text: &str, min: i128, max: i128) -> Result<i128, ErrorCode> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !is_digits(digits) {
        return Err(ErrorCode::NotInteger);
    }
    let beyond = if digits.len() == text.len() { i128::MAX } else { i128::MIN };
    let number = text.parse().unwrap_or(beyond);
    if (min..=max).contains(&number) { Ok(number) } else { Err(ErrorCode::OutOfRange) }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn flag(text: &str) -> Result<bool, ErrorCode> {
    match text.to_ascii_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err(ErrorCode::BadValue),
    }
}

fn software(relation: Relation, values: &[Value], has_options: bool) -> Result<Term, ErrorCode> {
    let texts = texts(values)?;
    let Some((first, options)) = texts.split_first() else { return Err(ErrorCode::BadValue) };
    if first.is_empty() || !has_options && !options.is_empty() {
        return Err(ErrorCode::BadValue);
    }
    let Software { name, version } = Software::parse(first);
    Ok(Term::Software(SoftwareCondition { relation, name, version }))
}

/// Kinds of access up to the first word that is none.
fn access(words: &[String], notes: &mut Vec<NoteCode>) -> Result<BTreeSet<NodeAccess>, ErrorCode> {
    if words.is_empty() {
        return Err(ErrorCode::BadValue);
    }
    let known = [NodeAccess::Inbound, NodeAccess::Outbound];
    let of = |word: &String| known.into_iter().find(|it| it.name().eq_ignore_ascii_case(word));
    let access: Vec<NodeAccess> = words.iter().map_while(of).collect();
    if access.len() < words.len() {
        notes.push(NoteCode::UnknownWord);
    }
    Ok(access.into_iter().collect())
}

/// An option for the cache; a word that is none is as good as yes.
fn cache(word: &str, notes: &mut Vec<NoteCode>) -> CacheOption {
    let known = CacheOption::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(word));
    known.unwrap_or_else(|| {
        notes.push(NoteCode::UnknownWord);
        CacheOption::Yes
    })
}

/// The name, the source and the options of a file, which has a name.
fn parts(value: &Value) -> Result<(String, String, Vec<String>), ErrorCode> {
    let Value::List(parts) = value else { return Err(ErrorCode::BadValue) };
    match texts(parts)?.as_slice() {
        [name, source, options @ ..] if !name.is_empty() => {
            Ok((name.clone(), source.clone(), options.to_vec()))
        }
        _ => Err(ErrorCode::BadValue),
    }
}

/// A list of name, source and options `name=value`, of which only `cache` and `local` matter here.
/// Options behind a `location` are about that.
fn file(value: &Value, notes: &mut Vec<NoteCode>) -> Result<FileEntry, ErrorCode> {
    let (name, text, listed) = parts(value)?;
    let InputSource { url, path, options } = source(&text, &name)?;
    let (mut cache_of_url, mut own, mut is_local) = (None, None, false);
    for (name, value) in options.iter().filter_map(|option| option.split_once('=')) {
        match name {
            "cache" => cache_of_url = Some(cache(value, notes)),
            "local" => is_local = value.eq_ignore_ascii_case("yes"),
            _ => {}
        }
    }
    let mut is_of_location = false;
    for option in listed {
        let (name, value) = option.split_once('=').ok_or(ErrorCode::BadOption)?;
        match name {
            "location" => is_of_location = true,
            "cache" if !is_of_location => own = Some(cache(value, notes)),
            "local" if !is_of_location => is_local = value.eq_ignore_ascii_case("yes"),
            _ => {}
        }
    }
    Ok(FileEntry { name, source: url, path, cache: own, url_cache: cache_of_url, is_local })
}

/// A list of name, target and options; those of what stays at the cluster mean nothing.
fn output(value: &Value) -> Result<(), ErrorCode> {
    let (name, text, options) = parts(value)?;
    let is_sent = source(&text, &name).is_ok_and(|it| !it.url.is_empty());
    let is_option = |option: &String| option.contains('=');
    if !is_sent || options.iter().all(is_option) { Ok(()) } else { Err(ErrorCode::BadOption) }
}
