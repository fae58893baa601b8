//! `explain` of a running process: as its API answers.

use super::Explain;
use crate::ask::{Ask, in_query};
use crate::cli::{Ended, Usage};
use anyhow::Context;
use serde_json::Value;
use std::process::ExitCode;
use yardmaster_core::plain::plain_lines;

impl Explain {
    /// Prints all that a process knows of the name.
    pub(super) fn of_process(&self, process: &Ask) -> Ended {
        let given = [(self.all, "--all"), (self.fates, "--fates")];
        if let Some((_, flag)) = given.into_iter().find(|(is_given, _)| *is_given) {
            return Err(Usage(format!(
                "{flag}: a process answers with the newest alone; leave {flag} out, or read the \
                 log in place of --http, with --dir DIR or --bootstrap-server HOST:PORT"
            ))
            .into());
        }
        let name = in_query(&self.name);
        let at = match self.at {
            Some(when) => format!("&at={}", process.moment(when)?),
            None => String::new(),
        };
        let answer = process.known(&format!("/api/v1/explain?name={name}{at}"))?;
        let answer = answer.with_context(|| process.absent())?;
        if answer.is_null() {
            eprintln!(
                "nothing of the name {:?} is known to {}; what is older than its history is in the \
                 log: give --dir DIR or --bootstrap-server HOST:PORT in place of --http",
                self.name,
                process.url()
            );
            return Ok(ExitCode::FAILURE);
        }
        if answer["kind"] == "task" && self.at.is_none() {
            let task = process.known(&format!("/api/v1/task?name={name}"))?.unwrap_or_default();
            task["text"].as_str().iter().for_each(|text| println!("{}", plain_lines(text)));
        }
        let headline = answer["headline"].as_str().unwrap_or_default();
        let text = answer["text"].as_str().filter(|text| !text.is_empty()).unwrap_or(headline);
        println!("{}", plain_lines(text));
        Ok(ExitCode::SUCCESS)
    }
}

/// A queue, site, share, user or working group as a process answers it; `None`: it is none.
pub(super) fn other_in(process: &Ask, path: &str) -> anyhow::Result<Option<String>> {
    let answer = process.known(path)?.unwrap_or_default();
    let parts = ["queue", "site", "share", "owner"];
    let is_one = parts.iter().any(|part| answer[part].is_object());
    Ok(answer["text"].as_str().filter(|_| is_one).map(str::to_owned))
}

/// How a job stands as a process answers it; with the sites that it cannot go to, if they are asked
/// for.
pub(super) fn job_in(job: &Value, with_sites: bool) -> Option<String> {
    let text = job["text"].as_str()?;
    let sites = job["waits"]["sites"].as_array().filter(|_| with_sites);
    let line = |it: &Value| Some(format!("    {}\n", it["text"].as_str()?));
    let lines: String = sites.into_iter().flatten().filter_map(line).collect();
    let all = if lines.is_empty() { lines } else { format!("  at all sites:\n{lines}") };
    Some(format!("{text}{all}"))
}
