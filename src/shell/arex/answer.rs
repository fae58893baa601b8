//! What A-REX answers by its REST interface, in JSON: a list of one is the thing itself there, and
//! an empty one is nothing.

use serde_json::Value;
use std::collections::BTreeMap;

/// A file or folder in a job's session directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SessionEntry {
    /// A file.
    File(String),
    /// A folder.
    Folder(String),
}

/// The answer to a job that was handed over: its id, or why it is refused. The status of the answer
/// is 201 either way; the code within it counts. `None`: the answer is none of A-REX.
pub(super) fn new_job(body: &[u8]) -> Option<Result<String, String>> {
    let answer = object(body).ok()?;
    let jobs = many(&answer["job"]);
    let job = jobs.first()?;
    match (text(&job["status-code"]), text(&job["id"])) {
        ("201", "") | ("", _) => None,
        ("201", id) => Some(Ok(id.to_owned())),
        (code, _) => {
            let reason = text(&job["reason"]).split_whitespace().collect::<Vec<_>>().join(" ");
            Some(Err(if reason.is_empty() { format!("code {code}") } else { reason }))
        }
    }
}

/// The state of each job, by its id.
///
/// # Errors
/// The answer is none of A-REX: it says nothing of any job.
pub(super) fn states(body: &[u8]) -> Result<BTreeMap<String, String>, String> {
    let answer = object(body)?;
    let state = |job: &&Value| {
        let (id, state) = (text(&job["id"]), text(&job["state"]));
        match id.is_empty() || state.is_empty() {
            true => Err("its list of jobs has one without an id or a state".to_owned()),
            false => Ok((id.to_owned(), state.to_owned())),
        }
    };
    many(&answer["job"]).iter().map(state).collect()
}

/// What is in a folder of a session directory.
///
/// # Errors
/// The answer is none of A-REX.
pub(super) fn listing(body: &[u8]) -> Result<Vec<SessionEntry>, String> {
    let answer = object(body)?;
    let names = |name: &str| -> Vec<String> {
        many(&answer[name]).iter().map(|it| file_name(text(it))).collect()
    };
    let files = names("file").into_iter().map(SessionEntry::File);
    let mut found: Vec<SessionEntry> =
        files.chain(names("dir").into_iter().map(SessionEntry::Folder)).collect();
    found.sort();
    Ok(found)
}

/// A file's name as it is: A-REX 7.0 writes each byte of it as a character.
fn file_name(listed: &str) -> String {
    let bytes: Option<Vec<u8>> = listed.chars().map(|it| u8::try_from(it).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_else(|| listed.to_owned())
}

/// The value of a line `NAME=VALUE` of a job's control file.
pub(super) fn line_of<'t>(text: &'t str, name: &str) -> &'t str {
    let values = text.lines().filter_map(|line| line.split_once('='));
    let mut values = values.filter(|(it, _)| it.trim() == name);
    values.next_back().map_or("", |(_, value)| value.trim())
}

/// An answer that is an object, or nothing at all, which says that there is none.
fn object(body: &[u8]) -> Result<Value, String> {
    let wrong = || "the answer is no JSON of A-REX".to_owned();
    match serde_json::from_slice(body) {
        Ok(Value::Object(answer)) => Ok(Value::Object(answer)),
        Err(_) if body.trim_ascii().is_empty() => Ok(Value::Null),
        _ => Err(wrong()),
    }
}

fn many(value: &Value) -> Vec<&Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().collect(),
        one => vec![one],
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of A-REX 7.2.0 and 6.17.0.
    #[test]
    fn lists_of_none_one_and_several_are_read() {
        let found = |body: &str| {
            let states = states(body.as_bytes()).unwrap().into_iter();
            states.map(|(id, state)| format!("{id} {state}")).collect::<Vec<_>>()
        };
        assert_eq!(found(""), [""; 0]);
        let one = "{\"job\":{\"id\":\"691606809869\",\"state\":\"FINISHED\"}}";
        assert_eq!(found(one), ["691606809869 FINISHED"]);
        let two = "{\"job\":[{\"id\":\"691606809869\",\"state\":\"FINISHED\"},\
                   {\"id\":\"6ea7dd7c58ec\",\"state\":\"FAILED\"}]}";
        assert_eq!(found(two), ["691606809869 FINISHED", "6ea7dd7c58ec FAILED"]);
        let list = "{\"file\":[\"out.txt\",\"a b\"],\"dir\":\"gmlog\"}";
        let entries = ["a b", "out.txt"].map(|name| SessionEntry::File(name.to_owned()));
        let folder = SessionEntry::Folder("gmlog".to_owned());
        assert_eq!(listing(list.as_bytes()).unwrap(), [entries.to_vec(), vec![folder]].concat());
        assert_eq!(listing(b"").unwrap(), []);
    }

    /// A page of maintenance with status 200 says nothing of a job, and of no file that there is
    /// none.
    #[test]
    fn what_is_no_json_of_arex_is_no_answer() {
        for body in ["<html>", "[]", "7", "null", "{\"job\":{\"id\":17,\"state\":\"FINISHED\"}}"] {
            assert!(states(body.as_bytes()).is_err(), "{body}");
        }
        assert!(listing(b"<html>").is_err() && states(b"{}").unwrap().is_empty());
    }

    #[test]
    fn names_of_files_are_those_that_they_have() {
        let list = "{\"file\":[\"\\u00C3\\u00BC.txt\",\"\\u00fc\",\"\u{2603}\"]}";
        let names = ["\u{fc}", "\u{fc}.txt", "\u{2603}"];
        let found = listing(list.as_bytes()).unwrap();
        for name in names {
            assert!(found.contains(&SessionEntry::File(name.to_owned())), "{name}: {found:?}");
        }
    }

    #[test]
    fn a_refusal_is_an_answer_of_success_with_another_code_in_it() {
        let made = "{\"job\":{\"status-code\":\"201\",\"reason\":\"Created\",\"id\":\"a1\",\
                    \"state\":\"ACCEPTING\"}}";
        assert_eq!(new_job(made.as_bytes()), Some(Ok("a1".to_owned())));
        let refused = "{\"job\":{\"status-code\":\"500\",\
                       \"reason\":\"Requested queue\\n long does not match\"}}";
        let why = "Requested queue long does not match".to_owned();
        assert_eq!(new_job(refused.as_bytes()), Some(Err(why)));
        let bare = new_job(b"{\"job\":{\"status-code\":\"500\"}}");
        assert_eq!(bare, Some(Err("code 500".to_owned())));
        for none in ["", "<html>", "{}", "{\"job\":{\"status-code\":\"201\"}}", "{\"job\":{}}"] {
            assert_eq!(new_job(none.as_bytes()), None, "{none}");
        }
    }

    #[test]
    fn the_last_line_of_a_name_holds() {
        let text = "jobname=a\nfailedstate=SUBMIT\nfailedcause=internal\nfailedstate=PREPARING\n";
        assert_eq!(line_of(text, "failedstate"), "PREPARING");
        assert_eq!(line_of(text, "queue"), "");
    }
}
