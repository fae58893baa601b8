//! A recorded case of the CMS policy, judged: one cut, an admission, a configuration or usage.

use super::Recorded;
use super::cms_read;
use super::cms_show::{accepted, cut, in_force};
use super::json::{entries, items, show, text, whole};
use super::judged::Judged;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use yardmaster_core::policy::cms::admission::{
    Admission, JobState, admit, applies, max_overflow_sites,
};
use yardmaster_core::policy::cms::cut::run;
use yardmaster_core::policy::cms::effective::effective_test_jobs;
use yardmaster_core::policy::cms::facts::{Band, Class, HeldJob, PendingJob, Seconds};
use yardmaster_core::policy::cms::judge::Judges;
use yardmaster_core::policy::cms::pool::Pool;
use yardmaster_core::policy::cms::quota::terms;
use yardmaster_core::policy::cms::records::Arrived;
use yardmaster_core::policy::cms::settings::Settings;

/// Judges a case.
///
/// # Errors
/// What of the case cannot be read.
pub(super) fn judge(recorded: &Recorded) -> Result<Judged, String> {
    let scenario = &recorded.whole["scenario"];
    let subject = &scenario["subject"];
    let now_s = whole(&scenario["now_s"]);
    let settings = cms_read::settings(&scenario["params"])?;
    let result = match subject["kind"].as_str() {
        Some("usage") => usage(subject, &settings, now_s),
        Some("job_event") => job_event(subject)?,
        Some("workflow_admission") => workflow(subject, &settings)?,
        Some(kind) => {
            let mut pool = cms_read::pool(scenario, settings, now_s)?;
            match kind {
                "offers" | "tick" => whole_cut(subject, &mut pool, now_s),
                "job_admission" => job(subject, &pool, now_s)?,
                "site_config" => site_config(subject, pool)?,
                _ => return Err(unknown_subject(subject)),
            }
        }
        None => return Err(unknown_subject(subject)),
    };
    Ok(Judged { verdict: "cms", result: Some(result), ..Judged::default() })
}

fn unknown_subject(subject: &Value) -> String {
    let found = show(&subject["kind"]);
    format!(
        "field `subject.kind`: found {found}, wants offers, tick, job_admission, \
         workflow_admission, site_config, job_event or usage"
    )
}

fn whole_cut(subject: &Value, pool: &mut Pool, now_s: Seconds) -> Value {
    let offers: Vec<_> = items(&subject["offers"]).map(cms_read::offer).collect();
    let warnings = warnings(pool);
    let decided = run(&Judges::full(), pool, &offers, now_s, true);
    let mut result = cut(&decided);
    if !warnings.is_empty() {
        result["warnings"] = Value::Array(warnings);
    }
    result
}

/// What operations should look after (A.9).
fn warnings(pool: &Pool) -> Vec<Value> {
    let mut found = Vec::new();
    for (site, terms) in pool.sites() {
        let about = pool.text(site);
        if terms.quota_missing {
            found.push(("quota_missing", about));
        }
        if terms.corepower_missing {
            found.push(("corepower_missing", about));
        }
    }
    for (_, _, record) in pool.workflows() {
        let is_open = record.class == Class::Central && record.status.is_live();
        if is_open && record.total_jobs.is_none() {
            found.push(("total_unknown", &record.workflow));
        }
    }
    found.sort_unstable();
    found.into_iter().map(|(code, about)| json!({"code": code, "about": about})).collect()
}

fn job(subject: &Value, pool: &Pool, now_s: Seconds) -> Result<Value, String> {
    let job = cms_read::job(&subject["job"])?;
    let first_seen = subject["first_seen_at_s"].as_i64().unwrap_or(now_s);
    Ok(match admit(pool, &job, first_seen, now_s) {
        Admission::Accept(admitted) => accepted(&job, &admitted),
        Admission::Hold(until_s) => {
            json!({"verdict": "hold", "code": "workflow_unknown", "until_s": until_s})
        }
        Admission::Reject(why) => json!({"verdict": "reject", "code": why.code()}),
    })
}

fn workflow(subject: &Value, settings: &Settings) -> Result<Value, String> {
    let record = cms_read::workflow(&subject["workflow"])?;
    let priority = record.newest_priority();
    Ok(json!({
        "verdict": "accept",
        "workflow": {
            "class": record.class.name(),
            "priority": priority.priority,
            "priority_rev": priority.revision,
            "allow_overflow": record.allow_overflow,
            "max_overflow_sites": max_overflow_sites(&record, settings),
            "test_jobs_effective": effective_test_jobs(&record, settings),
            "tail_fraction_permille": record.tail_permille.unwrap_or(settings.tail_permille),
        },
    }))
}

fn site_config(subject: &Value, mut pool: Pool) -> Result<Value, String> {
    let config = cms_read::site(&subject["config"])?;
    let missing = terms(&config, pool.settings());
    let site = config.site.clone();
    let mut result = match pool.put_site(config) {
        Arrived::Accepted => json!({"verdict": "accept"}),
        Arrived::Ignored => json!({"verdict": "ignore"}),
        Arrived::Rejected(why) => json!({"verdict": "reject", "code": why.code()}),
    };
    if let Some(terms) = pool.name(&site).and_then(|name| pool.site(name)) {
        result["in_force"] = in_force(terms);
    }
    let mut warnings = Vec::new();
    if let Ok(terms) = missing {
        if terms.quota_missing {
            warnings.push(json!({"code": "quota_missing", "about": site}));
        }
        if terms.corepower_missing {
            warnings.push(json!({"code": "corepower_missing", "about": site}));
        }
    }
    if !warnings.is_empty() {
        result["warnings"] = Value::Array(warnings);
    }
    Ok(result)
}

fn job_event(subject: &Value) -> Result<Value, String> {
    let read = |value: &Value| -> Result<Option<(i64, JobState)>, String> {
        if value.is_null() {
            return Ok(None);
        }
        let state = text(&value["state"]);
        let wants = "pending, reserved, running, done, failed or removed";
        let state = JobState::from_name(&state)
            .ok_or_else(|| format!("field `state`: found {state:?}, wants {wants}"))?;
        Ok(Some((whole(&value["attempt"]), state)))
    };
    let event = read(&subject["event"])?.ok_or("field `event`: found nothing, wants an object")?;
    Ok(json!({"applied": applies(read(&subject["known"])?, event)}))
}

fn usage(subject: &Value, settings: &Settings, now_s: Seconds) -> Value {
    let mut pool = Pool::new(settings.clone(), now_s);
    let mut users = Map::new();
    for (user, history) in entries(&subject["histories"]) {
        for (at, stay) in items(history).enumerate() {
            let held = stay_of(user, at, stay, settings);
            let name = Arc::clone(&held.job.job);
            pool.put_held(held);
            if let Some(end_s) = stay["ended_at_s"].as_i64().filter(|end_s| *end_s <= now_s) {
                pool.end_job(&name, end_s);
            }
        }
        let name = pool.name(user);
        let usage = name.map(|name| pool.counters().user(name).usage).unwrap_or_default();
        let growth = pool.decay().growth(now_s);
        let shown = json!({
            "decayed_usage_milli": usage.decayed_milli(growth) as i64,
            "running_milli": usage.running,
            "fair_share_milli": usage.fair_share_milli(growth) as i64,
        });
        users.insert(user.clone(), shown);
    }
    json!({"users": users})
}

/// A job of a user's history, as it runs.
fn stay_of(user: &str, at: usize, stay: &Value, settings: &Settings) -> HeldJob {
    let power = stay["corepower_mhs06"].as_i64().unwrap_or(settings.reference_mhs06);
    let (cores, started_at_s) = (whole(&stay["cores"]), whole(&stay["started_at_s"]));
    HeldJob {
        job: PendingJob::new(&format!("{user} {at}"), user, 0, started_at_s),
        class: Class::Analysis,
        user: user.to_owned(),
        run_site: String::new(),
        cores,
        weight_milli: cores.saturating_mul(settings.kappa_milli(power)),
        band: Band::Normal,
        overflow_source: None,
        charged_group: None,
        node: None,
        reserved_at_s: None,
        counts_from_s: started_at_s,
        started_at_s: Some(started_at_s),
        expected_end_s: None,
    }
}
