//! Recorded cases of PanDA's brokers, judged by our policies and compared with what was recorded.
//!
//! A case becomes records and earlier outputs of ours, which the engine reads and judges at a cut;
//! what it publishes is compared. A case of ATLAS is a whole grid with one task: figures that PanDA
//! computes in SQL (jobs by state, users, pilots, rates) become the jobs and reports that come to
//! them. A figure that no records give is named, and puts a case out of scope where its answer
//! depends on it.

mod atlas;
mod cms;
mod compare;
mod depth;
mod json;
mod judged;
mod nordugrid;
mod result;
mod rulebook;
mod ties;
mod world;
mod xrsl;

pub use atlas::task_fields;
pub use compare::{Agreement, Summary};
pub use judged::Judged;
pub use rulebook::Configuration;

use serde_json::Value;
use yardmaster_core::policy::Rules;

/// A recorded case.
#[derive(Debug)]
pub struct Recorded {
    /// Its name.
    pub id: String,
    /// Which broker it is a case of: `prod_job`, `anal_job`, `prod_task`, `gen_job`; or of reading
    /// a job description: `xrsl`; or of NorduGrid's broker: `nordugrid`; or of CMS's: `cms`.
    pub kind: String,
    /// All of it.
    pub whole: Value,
}

impl Recorded {
    /// Reads a line of a file of cases.
    ///
    /// # Errors
    /// The fault, and what is right.
    pub fn read(line: &str) -> Result<Recorded, String> {
        let whole = depth::parse(line)
            .map_err(|error| format!("no JSON: {error}; a case is one object a line"))?;
        let text = |name: &str| {
            whole[name].as_str().map(str::to_owned).ok_or_else(|| {
                format!("field `{name}`: found {}, wants a text", json::show(&whole[name]))
            })
        };
        let (id, kind) = (text("id")?, text("kind")?);
        if kind != "xrsl" && !whole["scenario"].is_object() {
            let found = json::show(&whole["scenario"]);
            return Err(format!("case {id}: field `scenario`: found {found}, wants an object"));
        }
        Ok(Recorded { id, kind, whole })
    }

    /// The rule it is a case of, or several.
    pub fn rule(&self) -> String {
        match &self.whole["rules"] {
            rules @ Value::Array(_) => json::texts(rules).join(", "),
            _ => json::text(&self.whole["rule"]),
        }
    }

    /// Why the case is out of scope, if it is: collaborators were made to fail, PanDA's own code
    /// or it states two things of which one holds.
    pub fn out_of_scope(&self) -> Option<&'static str> {
        let scenario = &self.whole["scenario"];
        let is_set = |value: &Value| !value.is_null() && *value != Value::Bool(false);
        let brokerage = &scenario["task_brokerage"];
        let failures = [
            &scenario["ddm_failures"],
            &scenario["metrics_unavailable"],
            &scenario["remaining_work_unavailable"],
            &brokerage["remaining_work_unavailable"],
            &scenario["task_params_unreadable"],
            &brokerage["task_params_unreadable"],
            &scenario["fail_job_statistics"],
            &scenario["fail_used_queues"],
            &scenario["stats"]["fail_job_statistics"],
        ];
        // Of a broker that gives up as soon as no queue is left a failure may have no effect.
        let (generic, expected) = (self.kind == "gen_job", &self.whole["expected"]);
        let has_none = expected["verdict"] == "assigned" || expected["reason"] == "no_candidates";
        if failures.into_iter().any(is_set) && !(generic && has_none) {
            return Some("a collaborator was made to fail");
        }
        match self.kind.as_str() {
            "cms" => return cms::contradiction(scenario),
            "nordugrid" => return nordugrid::contradiction(scenario),
            _ => {}
        }
        match self.whole["expected"]["verdict"].as_str() {
            Some("crashed") if self.kind != "gen_job" => Some("PanDA's code crashed"),
            Some("not_processed") => Some("PanDA did not take the task up"),
            _ => None,
        }
    }

    /// Judges the case by a topology.
    ///
    /// # Errors
    /// The first thing of the case that cannot be read, or that there is no policy for its kind.
    pub fn judge<'a>(&self, by: impl Into<Configuration<'a>>) -> Result<Judged, String> {
        let by = by.into();
        let judged = match self.kind.as_str() {
            "prod_job" | "anal_job" | "prod_task" | "gen_job" => atlas::judge(self, by),
            "xrsl" => xrsl::judge(self),
            "nordugrid" => nordugrid::judge(self, by),
            "cms" => cms::judge(self, by),
            other => Err(format!(
                "field `kind`: found {other:?}, wants prod_job, anal_job, prod_task, gen_job, cms, \
                 nordugrid, xrsl"
            )),
        };
        judged.map_err(|error| format!("case {}: {error}", self.id))
    }

    /// Compares a judgement with what was recorded by the reading that it was made by. `None`:
    /// there is nothing to compare with.
    pub fn compare(&self, judged: &Judged) -> Option<Agreement> {
        if self.kind == "cms" {
            return cms::compare(&self.whole, judged.result.as_ref()?);
        }
        if let Some(result) = &judged.result {
            return result::with_result(&self.whole["expected"], result);
        }
        match judged.rules {
            Rules::Panda => compare::with_panda(&self.whole, judged),
            Rules::Documented | Rules::Tuned => compare::with_document(&self.whole, judged),
        }
    }
}
