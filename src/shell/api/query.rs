//! The parameters of a request: known ones only, each once, each checked.

use super::Refused;
use crate::when;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use std::collections::BTreeMap;
use yardmaster_core::unit::Millis;

/// A parameter of a path.
pub(super) struct Parameter {
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
    /// The type of its value in the description.
    pub form: &'static str,
    /// Where it stands: in the query, or in the path.
    pub place: &'static str,
    pub is_required: bool,
}

impl Parameter {
    /// A text in the query.
    pub const fn text(name: &'static str, about: &'static str) -> Parameter {
        Parameter { name, about, form: "string", place: "query", is_required: false }
    }

    /// A number in the query.
    pub const fn number(name: &'static str, about: &'static str) -> Parameter {
        Parameter { form: "integer", ..Parameter::text(name, about) }
    }
}

/// The parameter of every path that names the domain.
pub(super) const DOMAIN: Parameter = Parameter::text(
    "domain",
    "of a process of several domains: the one that is asked about; without it the first",
);

/// The parameter of a look back.
pub(super) const AT: Parameter =
    Parameter::text("at", "as of a moment: ms since 1970, or RFC 3339 with its zone");

/// Parameters by name.
pub(super) type Given = BTreeMap<String, String>;

/// The parameters of a request, before they are checked.
pub(super) struct Params(pub Given);

impl<S: Send + Sync> FromRequestParts<S> for Params {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Params, Refused> {
        let query = axum::extract::Query::from_request_parts(parts, state).await;
        query.map(|query| Params(query.0)).map_err(|error| unreadable(error.body_text()))
    }
}

/// The last part of a path.
pub(super) struct Named(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Named, Refused> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|path| Named(path.0)).map_err(|error| unreadable(error.body_text()))
    }
}

fn unreadable(what: String) -> Refused {
    let remedy = "encode what is not ASCII as UTF-8 with percent signs: ?name=J%C3%BCrgen";
    Refused::Query(what, remedy.to_owned())
}

/// Checked parameters.
pub(super) struct Query<'a> {
    given: &'a Given,
}

impl<'a> Query<'a> {
    /// The parameters of a path, which has those named here.
    ///
    /// # Errors
    /// One is not known; the remedy names those that are.
    pub fn new(given: &'a Given, known: &[Parameter]) -> Result<Query<'a>, Refused> {
        let known: Vec<&str> = known.iter().map(|it| it.name).collect();
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Query { given }),
            Some(unknown) => {
                let there_is = format!("give any of {}", known.join(", "));
                Err(Refused::Query(format!("there is no parameter {unknown:?}"), there_is))
            }
        }
    }

    /// A text; `None` where it is not given or empty.
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.given.get(name).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// A moment.
    pub fn moment(&self, name: &str) -> Result<Option<Millis>, Refused> {
        let Some(text) = self.text(name) else { return Ok(None) };
        match when::moment(text) {
            Ok(moment) => Ok(Some(moment)),
            Err(why) => Err(Refused::Query(format!("{name}: {why}"), "give such a moment".into())),
        }
    }

    /// A number within bounds.
    pub fn number(&self, name: &str, default: u64, max: u64) -> Result<u64, Refused> {
        let Some(text) = self.text(name) else { return Ok(default) };
        match text.parse::<u64>() {
            Ok(number) if number <= max => Ok(number),
            _ => Err(Refused::Query(
                format!("{name}: {text:?} is no number from 0 to {max}"),
                "give one".into(),
            )),
        }
    }

    /// Words of a list, with commas between; all of them where none is given.
    pub fn words(&self, name: &str, known: &[&'static str]) -> Result<Vec<&'static str>, Refused> {
        let Some(text) = self.text(name) else { return Ok(known.to_vec()) };
        text.split(',')
            .map(|word| {
                known.iter().copied().find(|it| *it == word.trim()).ok_or_else(|| {
                    let remedy = format!("give some of {}", known.join(", "));
                    Refused::Query(format!("{name}: there is no {word:?}"), remedy)
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(pairs: &[(&str, &str)]) -> Given {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn what_is_not_known_is_named_with_what_is() {
        let all = given(&[("at", "x"), ("limit", "5000"), ("kind", "decision, job")]);
        let query = Query::new(&all, &["at", "limit", "kind"].map(|it| Parameter::text(it, "")))
            .ok()
            .unwrap();
        let wrong = |refused: Option<Refused>| match refused {
            Some(Refused::Query(what, remedy)) => format!("{what}; {remedy}"),
            other => panic!("{other:?}"),
        };
        assert!(wrong(query.moment("at").err()).contains("at: \"x\" is no moment"));
        assert!(wrong(query.number("limit", 1, 1000).err()).contains("from 0 to 1000"));
        let kinds = query.words("kind", &["decision", "throttle"]);
        let text = wrong(kinds.err());
        assert!(text.contains("\" job\"") && text.contains("decision, throttle"), "{text}");
        assert!(wrong(Query::new(&all, &[AT]).err()).contains("\"kind\""));
    }
}
