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
        if self.all {
            return Err(refused("--all: a process answers with the newest alone"));
        }
        let [at] = process.moments([self.at])?;
        let at = at.map_or(String::new(), |at| format!("&at={at}"));
        let answer =
            process.known(&format!("/api/v1/explain?name={}{at}", in_query(&self.name)))?;
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
        let sites = sites_text(&answer["job"]);
        if self.fates && sites.is_none() {
            return Err(refused(
                "--fates: a process answers it of a job of a pool that waits, and this is none",
            ));
        }
        if answer["kind"] == "task" && self.at.is_none() {
            // A name may state its kind, and the answer has it without.
            let name = answer["name"].as_str().unwrap_or(&self.name);
            match process.known(&format!("/api/v1/task?name={}", in_query(name))) {
                Ok(task) => {
                    let task = task.unwrap_or_default();
                    task["text"].as_str().iter().for_each(|text| println!("{}", plain_lines(text)));
                }
                Err(error) => eprintln!("where its jobs are is left out: {error:#}"),
            }
        }
        let headline = answer["headline"].as_str().unwrap_or_default();
        let text = answer["text"].as_str().filter(|text| !text.is_empty()).unwrap_or(headline);
        println!("{}", plain_lines(text));
        sites.filter(|_| self.fates).iter().for_each(|sites| println!("{}", plain_lines(sites)));
        Ok(ExitCode::SUCCESS)
    }
}

/// Refusal of a flag that a process has no answer to.
fn refused(why: &str) -> anyhow::Error {
    Usage(format!(
        "{why}; leave it out, or read the log in place of --http, with --dir DIR or \
         --bootstrap-server HOST:PORT"
    ))
    .into()
}

/// A queue, site, share, user or working group as a process answers it; `None`: it is none. That of
/// a user or group is without its throttles, which are read from the log.
pub(super) fn other_in(process: &Ask, path: &str) -> anyhow::Result<Option<String>> {
    let answer = process.known(path)?.unwrap_or_default();
    let is_place = ["queue", "site", "share"].iter().any(|part| answer[part].is_object());
    let text = if is_place { &answer["text"] } else { &answer["owner"]["text"] };
    Ok(text.as_str().filter(|text| !text.is_empty()).map(str::to_owned))
}

/// How a job stands as a process answers it; with the sites that it cannot go to, if they are asked
/// for.
pub(super) fn job_in(job: &Value, with_sites: bool) -> Option<String> {
    let sites = sites_text(job).filter(|_| with_sites).unwrap_or_default();
    job["text"].as_str().map(|text| format!("{text}{sites}"))
}

/// The sites that a job of a pool cannot go to, each with its reason.
fn sites_text(job: &Value) -> Option<String> {
    let sites = job["waits"]["sites"].as_array()?;
    let line = |it: &Value| Some(format!("    {}\n", it["text"].as_str()?));
    let lines: String = sites.iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| format!("  at all sites:\n{lines}"))
}
