//! The paths, each with its handler and its description; the description of all of them is
//! `docs/openapi.json`.

use super::domains::Apis;
use super::query::{AT, DOMAIN, Parameter};
use super::{
    attention, changes, counters, event, explain, lists, old, pool, record, series, task,
    throttles, usage, waiting, whatif,
};
use crate::described::{HasSchema, Schemas};
use crate::http::{ErrorAnswer, JSON};
use axum::Router;
use axum::http::header;
use axum::routing::{MethodRouter, get};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// A path that can be asked.
struct Route {
    path: &'static str,
    summary: &'static str,
    handler: fn() -> MethodRouter<Apis>,
    parameters: &'static [Parameter],
    /// Codes of the answers that there are beside the good one.
    errors: &'static [u16],
    answer: fn(&mut Schemas) -> Value,
}

/// Answers of each path, and of those that are asked about something that there may not be.
const ALWAYS: &[u16] = &[400, 401, 503];
const OF_ONE: &[u16] = &[400, 401, 404, 503];

macro_rules! routes {
    ($(
        $path:literal: $summary:literal,
        $handler:expr => $answer:ty, $parameters:expr, $errors:expr;
    )+) => {
        const ROUTES: [Route; [$($path),+].len()] = [$(Route {
            path: $path,
            summary: $summary,
            handler: || get($handler),
            parameters: $parameters,
            errors: $errors,
            answer: <$answer>::schema,
        }),+];
    };
}

routes! {
    "/api/v1/openapi.json": "This description.",
        async || ([(header::CONTENT_TYPE, JSON)], openapi()) => Value, &[], &[];
    "/api/v1/status": "State of the process.",
        lists::status => lists::StatusAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/queues": "Every queue at a glance.",
        lists::queues => lists::QueuesAnswer, &[AT, DOMAIN], OF_ONE;
    "/api/v1/pool": "A pool of slots: why jobs are idle, workflows, users, quotas, drains, offers.",
        pool::pool => pool::PoolAnswer, &[DOMAIN], OF_ONE;
    "/api/v1/attention": "Things that need a person, the most urgent first.",
        attention::attention => attention::AttentionAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/sites": "Sites by what is wrong there, those in trouble first.",
        attention::sites => attention::SitesAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/waiting":
        "Requests that wait: by reason, and each with what would let it go.",
        waiting::waiting => waiting::WaitingAnswer, waiting::WAITING, ALWAYS;
    "/api/v1/throttles": "Throttles in force, since when, and what lifts them.",
        throttles::throttles => throttles::ThrottlesAnswer, &throttles::PARAMETERS, ALWAYS;
    "/api/v1/usage": "Who uses how much: shares against their targets, users, working groups.",
        usage::usage => usage::UsageAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/shares": "Part of what runs, by leaf share.",
        lists::shares => lists::SharesAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/explain":
        "Why is this pending, why there, why not elsewhere: all that is known of a name.",
        explain::explain_name => explain::ExplainedAnswer, &explain::PARAMETERS, OF_ONE;
    "/api/v1/decisions": "Decisions, throttles and commands, the newest first.",
        event::list => event::EventsAnswer, &event::PARAMETERS, ALWAYS;
    "/api/v1/decisions/{id}": "One decision, throttle or command.",
        record::one => record::OneAnswer, &record::PARAMETERS, OF_ONE;
    "/api/v1/counters": "Counters.",
        counters::counters => counters::CountersAnswer, &counters::PARAMETERS, OF_ONE;
    "/api/v1/what-if": "Requests judged once more, with configuration that is supposed to be another.",
        whatif::what_if => whatif::WhatIfAnswer, &whatif::PARAMETERS, OF_ONE;
    "/api/v1/audit": "Is every counter what a recount gives?",
        lists::audit => lists::AuditAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/history": "Which part of the past is kept.",
        lists::history => lists::HistoryAnswer, &[DOMAIN], ALWAYS;
    "/api/v1/series": "Curves of jobs and requests, from the history.",
        series::series => series::SeriesAnswer, &series::PARAMETERS, OF_ONE;
    "/api/v1/changes": "What changed: statuses, limits, facts, policies, lead, throttles.",
        changes::changes => changes::ChangesAnswer, &changes::PARAMETERS, ALWAYS;
    "/api/v1/task": "Where the jobs of a task are, what its requests waited for, what was commanded.",
        task::task => task::TaskAnswer, &task::PARAMETERS, OF_ONE;
}

/// Paths that can be asked.
pub const PATHS: [&str; ROUTES.len()] = {
    let (mut paths, mut at) = ([""; ROUTES.len()], 0);
    while at < paths.len() {
        paths[at] = ROUTES[at].path;
        at += 1;
    }
    paths
};

/// The routes; each answers for the domain that its parameter `domain` names.
pub fn routes(apis: Apis) -> Router {
    let add = |router: Router<Apis>, it: &Route| router.route(it.path, (it.handler)());
    let described = ROUTES.iter().fold(Router::new(), add);
    described.route("/v1/{verb}", get(old::question)).with_state(apis)
}

/// The description of the API: the text of `docs/openapi.json`.
pub fn openapi() -> &'static str {
    static MADE: LazyLock<String> = LazyLock::new(made);
    &MADE
}

fn made() -> String {
    let mut all = Schemas::default();
    let error = ErrorAnswer::schema(&mut all);
    let mut paths = Map::new();
    for it in &ROUTES {
        paths.insert(it.path.to_owned(), json!({ "get": it.operation(&error, &mut all) }));
    }
    let document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Yardmaster",
            "version": "1",
            "summary": "State of a running process, its decisions, and their reasons.",
            "description": "All answers are JSON; times are ms since 1970. Errors are JSON with a \
                            remedy. Only GET. A process that listens beyond loopback asks for a \
                            token.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": all.0,
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{}, { "token": [] }],
    });
    let mut text = Vec::new();
    let indented = serde_json::ser::PrettyFormatter::with_indent(b" ");
    // Writing a value to memory cannot fail.
    let _ = document.serialize(&mut serde_json::Serializer::with_formatter(&mut text, indented));
    String::from_utf8_lossy(&text).into_owned() + "\n"
}

impl Route {
    fn operation(&self, error: &Value, all: &mut Schemas) -> Value {
        let parameters = self.parameters.iter().map(|it| {
            json!({
                "name": it.name,
                "in": it.place,
                "required": it.is_required,
                "description": it.about,
                "schema": { "type": it.form },
            })
        });
        let response = |meaning: &str, schema: &Value| {
            let content = json!({ JSON: { "schema": schema } });
            json!({ "description": meaning, "content": content })
        };
        let mut responses = Map::new();
        responses.insert("200".to_owned(), response("The answer.", &(self.answer)(all)));
        for code in self.errors {
            responses.insert(code.to_string(), response(meaning(*code), error));
        }
        json!({
            "summary": self.summary,
            "parameters": parameters.collect::<Vec<_>>(),
            "responses": responses,
        })
    }
}

/// The meaning of an error's code.
fn meaning(code: u16) -> &'static str {
    match code {
        400 => "The query makes no sense.",
        401 => "A token is needed.",
        404 => "There is no such thing.",
        _ => "Not now.",
    }
}
