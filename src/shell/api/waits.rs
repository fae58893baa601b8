//! Why a job of a pool waits, as an answer has it.

use serde_json::{Value, json};
use yardmaster_core::explain::{blocked_sentence, objection_sentence, site_sentence};
use yardmaster_core::policy::cms::judge::RankValue;
use yardmaster_core::policy::cms::why::{Blocked, First, PoolWait, SiteAt, SiteObjection};

/// Why a job waits: what keeps it from all offers, or every site with what objects there.
pub(super) fn wait_json(wait: &PoolWait) -> Value {
    match wait {
        PoolWait::Blocked(blocked) => json!({
            "blocked": {
                "reason": blocked_name(*blocked),
                "text": blocked_sentence(*blocked),
            },
            "drained": null,
            "sites": [],
        }),
        PoolWait::Sites { drained, sites } => json!({
            "blocked": null,
            "drained": drained.as_ref().map(|it| json!({
                "node": it.node,
                "site": it.site,
                "until": it.until,
            })),
            "sites": sites.iter().map(site_json).collect::<Vec<_>>(),
        }),
    }
}

fn blocked_name(blocked: Blocked) -> &'static str {
    match blocked {
        Blocked::Killed => "workflow_killed",
        Blocked::Closed => "workflow_closed",
        Blocked::OnHold(_) => "workflow_unknown",
        Blocked::Refused(code) => code,
    }
}

fn site_json(at: &SiteAt) -> Value {
    let wait = &at.wait;
    let ahead = wait.ahead.as_ref();
    json!({
        "site": wait.site,
        "known": at.is_known,
        "offers": wait.offers,
        "last_offer_at": at.last_offer_at,
        "objections": wait.objections.iter().map(objection_json).collect::<Vec<_>>(),
        "jobs_before": ahead.map(|it| it.jobs),
        "first": ahead.and_then(|it| it.first.as_ref()).map(first_json),
        "text": format!("{}: {}", wait.site, site_sentence(at)),
    })
}

fn objection_json(it: &SiteObjection) -> Value {
    json!({
        "filter": it.filter,
        "offers": it.offers,
        "measured": it.objection.measured,
        "limit": it.objection.limit,
        "until": it.objection.recheck_at,
        "text": objection_sentence(it),
    })
}

fn first_json(first: &First) -> Value {
    let text = |value: &RankValue| match value {
        RankValue::Number(value) => value.to_string(),
        RankValue::Text(text) => text.clone(),
    };
    json!({
        "job": *first.job,
        "workflow": first.workflow,
        "key": first.key,
        "its": text(&first.its),
        "own": text(&first.own),
    })
}
