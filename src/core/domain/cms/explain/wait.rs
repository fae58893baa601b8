//! Why a job of a pool waits, as text: what objects at each site, or what goes before it there
//! (spec cms-nordugrid C-60).

use super::rank;
use crate::domain::cms::policy::judge::RankValue;
use crate::domain::cms::policy::why::{
    Blocked, First, JobsAhead, NoNode, PoolWait, SiteAt, SiteObjection,
};
use crate::event::Class;
use crate::explain::{iso, milli, number, span};
use crate::policy::phrase::{objection_figure, phrase};
use crate::state::admit::remedy;
use std::fmt::{self, Write};

/// The filter whose sites a text counts and does not list, for a whitelist names the others.
const COUNTED: &str = "whitelist";

/// Adds why a job waits, with so many sites at most.
pub(crate) fn write(text: &mut String, wait: &PoolWait, sites_max: usize) -> fmt::Result {
    let (drained, no_node, sites) = match wait {
        PoolWait::Blocked(blocked) => {
            return writeln!(text, "  waits     {}", blocked_sentence(*blocked));
        }
        PoolWait::Sites { drained, no_node, sites } => (drained, no_node, sites),
    };
    if let Some(drain) = drained {
        let until = iso(drain.until);
        let (node, site) = (&drain.node, &drain.site);
        writeln!(text, "  drained   node {node} of {site} is kept free for it by {until} (C-55)")?;
    }
    if let Some(no_node) = no_node {
        writeln!(text, "  no node   {}", no_node_sentence(no_node))?;
    }
    writeln!(text, "  at each site now, what objects first (C-60):")?;
    let is_counted = |it: &&SiteAt| is_off_the_whitelist(it) && sites_max < sites.len();
    let listed: Vec<&SiteAt> = sites.iter().filter(|it| !is_counted(it)).collect();
    for site in listed.iter().take(sites_max) {
        writeln!(text, "    {}: {}", site.wait.site, site_sentence(site))?;
    }
    let more = listed.len().saturating_sub(sites_max);
    if more > 0 {
        writeln!(text, "    and {more} more sites")?;
    }
    let mut counted = sites.iter().filter(is_counted);
    if let Some(first) = counted.next() {
        let sentence = objections(first).join("; ");
        writeln!(text, "    {} other sites: {sentence}", counted.count() + 1)?;
    }
    if sites.is_empty() {
        writeln!(text, "    no site is known")?;
    }
    Ok(())
}

/// What a job takes that no node has.
pub fn no_node_sentence(it: &NoNode) -> String {
    let NoNode { takes, most } = it;
    format!(
        "no known node of a site that takes it could hold it: it takes {} cores, {} MB and {}; the \
         most that any has is {} cores, {} MB, {}",
        takes.cores,
        takes.mem_mb,
        span(takes.wall_s),
        most.cores,
        most.mem_mb,
        span(most.wall_s)
    )
}

/// Why a job is not looked at before any offer.
pub fn blocked_sentence(blocked: Blocked) -> String {
    match blocked {
        Blocked::Killed => "for nothing: its workflow was killed, it gets no slots (C-49)".into(),
        Blocked::Closed => "for nothing: its workflow ended, it gets no slots".into(),
        Blocked::OnHold(until) => format!(
            "for the record of its workflow; without one it is rejected {} (C-02)",
            iso(until)
        ),
        Blocked::Refused(code) => {
            let cure = remedy(code).map_or(String::new(), |cure| format!("; what to do: {cure}"));
            format!("for its rejection in the next cycle: {code}{cure}")
        }
    }
}

/// The reason why a job does not get a slot of a site, on one line.
pub fn site_sentence(at: &SiteAt) -> String {
    let wait = &at.wait;
    let offers = match (wait.offers, at.last_offer_at) {
        (0, None) => "no offer was seen".to_owned(),
        (0, Some(last)) => format!("no offer since {}", iso(last)),
        (1, _) => "1 offer".to_owned(),
        (many, _) => format!("{many} offers"),
    };
    let record = match at.is_known {
        true => "",
        false => ", and no valid slot_quota of the site was read",
    };
    let place = match (wait.offers, at.node_cores) {
        (0, Some(cores)) => format!("; if a node of {cores} cores were free: "),
        (0, None) => "; if a node were free: ".to_owned(),
        (_, _) => ": ".to_owned(),
    };
    let mut found = objections(at);
    if let Some(ahead) = &wait.ahead {
        found.push(ahead_sentence(ahead, wait.offers > 0));
    }
    format!("{offers}{record}{place}{}", found.join("; "))
}

fn is_off_the_whitelist(at: &SiteAt) -> bool {
    at.wait.ahead.is_none() && at.wait.objections.iter().all(|it| it.filter == COUNTED)
}

/// The objections at a site, in the order of the filters.
fn objections(at: &SiteAt) -> Vec<String> {
    let several = at.wait.objections.len() > 1 || at.wait.ahead.is_some();
    let one = |it: &SiteObjection| {
        let sentence = objection_sentence(it);
        let SiteObjection { filter, offers, .. } = it;
        match (several, *offers) {
            (false, _) => format!("{filter}: {sentence}"),
            (true, 1) => format!("{filter} (1 offer): {sentence}"),
            (true, _) => format!("{filter} ({offers} offers): {sentence}"),
        }
    };
    at.wait.objections.iter().map(one).collect()
}

/// An objection as a sentence.
pub fn objection_sentence(it: &SiteObjection) -> String {
    let objection = &it.objection;
    let figure = |name: &str| objection_figure(name, objection.measured, objection.limit);
    let until = objection.recheck_at.map_or(String::new(), |at| format!(", until {}", iso(at)));
    let what = it.lack.as_ref().map_or(String::new(), |lack| format!(" ({lack})"));
    format!("{}{what}{until}", phrase(objection.reason.sentence, &figure))
}

/// The jobs that go before this one at a site where nothing objects, as a sentence.
fn ahead_sentence(ahead: &JobsAhead, has_offer: bool) -> String {
    let waits = match (&ahead.first, has_offer) {
        (None, true) => "nothing objects and no job goes before it: it is next".to_owned(),
        (None, false) => {
            "nothing objects and no job goes before it: it waits for an offer".to_owned()
        }
        (Some(first), _) => {
            let count = if ahead.jobs == 1 { "1 job goes" } else { "jobs go" };
            let jobs = if ahead.jobs == 1 { String::new() } else { format!("{} ", ahead.jobs) };
            format!("nothing objects, {jobs}{count} before it, {}", first_sentence(first))
        }
    };
    let Some([used, quota]) = ahead.classes else { return waits };
    let of = |class: Class| {
        format!("{} uses {} of {}", class.name(), milli(used.of(class)), milli(quota.of(class)))
    };
    format!("{waits} ({}, {}, in cores by power)", of(Class::Central), of(Class::Analysis))
}

fn first_sentence(first: &First) -> String {
    let First { job, workflow, key, its, own } = first;
    let words = |value: &RankValue| match value {
        RankValue::Number(value) => {
            let value = *value as f64;
            rank::words(key, value).unwrap_or_else(|| number(value))
        }
        RankValue::Text(text) => text.clone(),
    };
    format!("first {job} of {workflow} by {key}: {}; of this job: {}", words(its), words(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::cms::policy::why::SiteWait;
    use crate::explain::SITES_SHOWN;
    use crate::policy::{Objection, Reason};

    const REASON: Reason = Reason::new("cores", "{measured} cores left, it takes {limit}");

    fn site(name: &str, filter: &'static str) -> SiteAt {
        let objection = Objection { reason: &REASON, measured: 4.0, limit: 8.0, recheck_at: None };
        let wait = SiteWait {
            site: name.into(),
            offers: 2,
            objections: vec![SiteObjection { filter, objection, lack: None, offers: 2 }],
            ahead: None,
        };
        SiteAt { wait, is_known: true, last_offer_at: Some(1), node_cores: Some(64) }
    }

    fn text(sites: Vec<SiteAt>, sites_max: usize) -> String {
        let mut text = String::new();
        write(&mut text, &PoolWait::Sites { drained: None, no_node: None, sites }, sites_max)
            .unwrap();
        text
    }

    #[test]
    fn a_table_of_many_sites_is_bounded_and_counts_the_rest() {
        let some = (0..30).map(|at| site(&format!("T2_{at:02}"), "cores"));
        let off = (0..5).map(|at| site(&format!("T3_{at}"), COUNTED));
        let all: Vec<SiteAt> = some.chain(off).collect();
        let shown = text(all.clone(), SITES_SHOWN);
        assert!(shown.contains("T2_19: 2 offers: cores: 4 cores left, it takes 8\n"), "{shown}");
        assert!(!shown.contains("T2_20") && shown.contains("and 10 more sites\n"), "{shown}");
        assert!(shown.contains("5 other sites: whitelist: "), "{shown}");
        assert_eq!(text(all, usize::MAX).lines().count(), 36);
    }
}
