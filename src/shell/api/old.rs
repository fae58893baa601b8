//! `/v1/...`: what was there before `/api/v1/...`, kept for one release.

use super::Refused;
use super::domains::Of;
use super::lists::late;
use super::query::{Named, Params};
use crate::question::{Answer, Asked};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use yardmaster_wire::counter::to_json;

const JSON_LINES: &str = "application/x-ndjson";
const TEXT: &str = "text/plain; charset=utf-8";

/// Answers as text: `counters`, `audit`, `job`.
pub(super) async fn question(
    Of(api): Of,
    Named(verb): Named,
    Params(query): Params,
) -> Result<Response, Refused> {
    let asked = match verb.as_str() {
        "counters" => Asked::Counters,
        "audit" => Asked::Audit,
        "job" => Asked::Standing(query.get("name").cloned().ok_or_else(|| {
            Refused::Unknown("no job is named".into(), "ask for /v1/job?name=JOB".into())
        })?),
        _ => {
            let what = format!("{verb:?} is not known; there is: audit, counters, job");
            return Err(Refused::Unknown(what, "ask for one of those, or /api/v1/".into()));
        }
    };
    let (content_type, text) = match api.client.ask(asked).await? {
        Answer::Counters(it) => {
            let lines: Vec<String> = it.counters.iter().map(to_json).collect();
            (JSON_LINES, lines.join("\n") + "\n")
        }
        Answer::Audit(it) => {
            let (count, number, drifted) = (it.counters, it.cycle, it.drifts.len());
            let mut text = format!("{count} counters at cycle {number}, {drifted} drifted\n");
            for it in &it.drifts {
                text += &format!("{}: kept {}, recount {}\n", it.counter, it.kept, it.recount);
            }
            (TEXT, text)
        }
        Answer::Filled(it) => (TEXT, format!("{} jobs run\n", it.all.running)),
        Answer::Task(_) | Answer::WhatIf(_) => return Err(late()),
        Answer::Standing(it) => match it.job {
            Some(job) => (TEXT, job.text),
            None => {
                let name = query.get("name").map_or("", String::as_str);
                let what = format!("no job {name:?} is known");
                return Err(Refused::Unknown(what, "name one that is".into()));
            }
        },
    };
    Ok(([(header::CONTENT_TYPE, content_type)], text).into_response())
}
