//! The meaning of the values of one attribute, independent of the other attributes.

use super::error::ErrorCode;
use super::known::{Form, KnownAttribute};
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
    pub(super) source: String,
    /// Its own option.
    pub(super) cache: Option<CacheOption>,
    pub(super) is_local: bool,
}

/// Reads the values of a known attribute; times without a unit count in `unit_s` seconds.
pub(super) fn term(
    known: &KnownAttribute,
    relation: Relation,
    values: &[Value],
    unit_s: u64,
) -> Result<Term, ErrorCode> {
    if !known.form.takes(relation) {
        return Err(ErrorCode::BadOperator);
    }
    Ok(match known.form {
        Form::Text => Term::Text(single(values)?.to_owned()),
        Form::Texts => Term::Texts(texts(values)?),
        Form::Rows(length) => rows(values, length)?,
        Form::Number(min, max) => Term::Number(number(single(values)?, min, max)?),
        Form::Time => Term::Time(time::seconds(single(values)?, unit_s).ok_or(ErrorCode::BadTime)?),
        Form::Flag => Term::Flag(flag(single(values)?)?),
        Form::Name => Term::Name(NameCondition { relation, name: single(values)?.to_owned() }),
        Form::Software { has_options } => software(relation, values, has_options)?,
        Form::Access => Term::Access(access(&texts(values)?)?),
        Form::Files => Term::Files(values.iter().map(file).collect::<Result<_, _>>()?),
        Form::Cache => Term::Cache(cache(single(values)?).ok_or(ErrorCode::BadValue)?),
        Form::Substitution => Term::Nothing,
    })
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

fn rows(values: &[Value], length: usize) -> Result<Term, ErrorCode> {
    for value in values {
        let Value::List(row) = value else { return Err(ErrorCode::BadValue) };
        if texts(row)?.len() != length {
            return Err(ErrorCode::BadValue);
        }
    }
    Ok(Term::Nothing)
}

/// A whole number: decimal digits, perhaps after a minus sign.
fn number(text: &str, min: i128, max: i128) -> Result<i128, ErrorCode> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(ErrorCode::NotInteger);
    }
    let beyond = if digits.len() == text.len() { i128::MAX } else { i128::MIN };
    let number = text.parse().unwrap_or(beyond);
    if (min..=max).contains(&number) { Ok(number) } else { Err(ErrorCode::OutOfRange) }
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
    if !has_options && !options.is_empty() {
        return Err(ErrorCode::BadValue);
    }
    let Software { name, version } = Software::parse(first);
    Ok(Term::Software(SoftwareCondition { relation, name, version }))
}

fn access(words: &[String]) -> Result<BTreeSet<NodeAccess>, ErrorCode> {
    let known = [NodeAccess::Inbound, NodeAccess::Outbound];
    let of = |word: &String| {
        let found = known.into_iter().find(|it| it.name().eq_ignore_ascii_case(word));
        found.ok_or(ErrorCode::BadValue)
    };
    let access: BTreeSet<NodeAccess> = words.iter().map(of).collect::<Result<_, _>>()?;
    if access.is_empty() { Err(ErrorCode::BadValue) } else { Ok(access) }
}

fn cache(word: &str) -> Option<CacheOption> {
    CacheOption::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(word))
}

/// A list of name, source and options `name=value`, of which only `cache` and `local` matter here.
fn file(value: &Value) -> Result<FileEntry, ErrorCode> {
    let Value::List(parts) = value else { return Err(ErrorCode::BadValue) };
    let parts = texts(parts)?;
    let [name, source, options @ ..] = parts.as_slice() else { return Err(ErrorCode::BadValue) };
    let (name, source) = (name.clone(), source.clone());
    let mut file = FileEntry { name, source, cache: None, is_local: false };
    for option in options {
        let (name, value) = option.split_once('=').ok_or(ErrorCode::BadOption)?;
        match name {
            "cache" => file.cache = Some(cache(value).ok_or(ErrorCode::BadOption)?),
            "local" => file.is_local = value.eq_ignore_ascii_case("yes"),
            _ => {}
        }
    }
    Ok(file)
}
