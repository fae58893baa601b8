//! Links: what is known of one between a queue's site and the nucleus, and what is queued to a
//! nucleus from everywhere (spec atlas F3, 4.1).

use super::Survey;
use crate::cut::Topic;
use crate::domain::atlas::judge::caches::OldLinks;
use crate::domain::atlas::judge::world::World;
use crate::domain::atlas::policy::LinkView;
use crate::event::{BLOCKED, Link};
use crate::id::Name;
use crate::judge::view::CutView;
use crate::state::State;
use crate::unit::{DAY, HOUR, Millis};

/// Activity of ordinary output on its way to a nucleus (spec atlas F3).
pub const PRODUCTION: &str = "Production Output";
/// Activity of express chunks (spec atlas F3).
pub const EXPRESS: &str = "Express";

pub(super) fn activity(express: bool) -> &'static str {
    if express { EXPRESS } else { PRODUCTION }
}

/// Span of the oldest average of a link's throughput.
const WEEK: Millis = 7 * DAY;

impl CutView<'_> {
    /// All that is known of a link. Closeness, and that the link is blocked, hold until another
    /// record states otherwise; a throughput no longer than what it is averaged over, and files
    /// queued for `link_sample_age_min` (spec atlas 4.1).
    pub(super) fn link(self, survey: &Survey, source: Name) -> LinkView {
        let CutView { state, world, .. } = self;
        let mut view = LinkView { source_known: world.knows_from(source), ..LinkView::default() };
        let Some(nucleus) = survey.nucleus else { return view };
        if let Some(link) = world.link(source, nucleus) {
            let mut lasts = |span: Millis| {
                let ends = link.changed_at.saturating_add(span);
                let holds = state.now < ends;
                if holds {
                    view.until = Some(view.until.map_or(ends, |first: Millis| first.min(ends)));
                }
                holds
            };
            view.mbps_1h = link.mbps_1h.filter(|_| lasts(HOUR));
            view.mbps_1d = link.mbps_1d.filter(|_| lasts(DAY));
            view.mbps_1w = link.mbps_1w.filter(|_| lasts(WEEK));
            let is_queued = link.queued_known && lasts(state.setting.limits.link_sample_age_ms);
            view.queued_files = is_queued.then(|| queued(link, activity(survey.express)));
            view.closeness = link.closeness;
        }
        if view.queued_files.is_none()
            && let Some(activity) = state.known_name(activity(survey.express))
            && let Some(flow) = state.ledger.flow.of([source.0, nucleus.0, activity.0, 0])
        {
            view.source_known = true;
            view.queued_files = Some(flow.files);
        }
        if view.mbps_1h.is_none()
            && view.mbps_1d.is_none()
            && view.mbps_1w.is_none()
            && let Some(rate) = state.ledger.rate.of([source.0, nucleus.0, 0, 0])
        {
            let time = state.times.of(Topic::Transfer).time;
            view.source_known = true;
            view.mbps_1h = rate.mbps(0, time);
            view.mbps_1d = rate.mbps(1, time);
            view.mbps_1w = rate.mbps(2, time);
        }
        view
    }
}

impl OldLinks {
    fn count(&mut self, link: &Link, now: Millis, queued_age: Millis) {
        let age = now.saturating_sub(link.changed_at);
        self.all += 1;
        let is_old =
            link.mbps_1h.is_some() && age >= HOUR || link.queued_known && age >= queued_age;
        self.old += u32::from(is_old);
    }
}

impl Survey {
    /// That figures of links to the nucleus are too old to count.
    pub(crate) fn links_note(&self, nucleus: &str) -> Option<String> {
        let OldLinks { old, all } = self.outlook.old;
        (old > 0).then(|| format!("links_old({old} of {all} to {nucleus})"))
    }
}

impl World {
    /// Files queued to a nucleus from all sources, from link facts where a network service
    /// publishes them, else counted from transfers; when the first figure becomes too old; and of
    /// how many links one is too old already.
    pub(crate) fn queued_into(
        &self,
        state: &State,
        now: Millis,
        nucleus: Option<Name>,
        activity: &str,
    ) -> (u64, Option<Millis>, OldLinks) {
        let (mut files, mut until, mut old) = (0u64, None, OldLinks::default());
        let Some(nucleus) = nucleus else { return (files, until, old) };
        let age = state.setting.limits.link_sample_age_ms;
        let mut published = false;
        for link in self.links_into(nucleus) {
            old.count(link, now, age);
            if link.queued_known && now.saturating_sub(link.changed_at) < age {
                published = true;
                files = files.saturating_add(queued(link, activity));
                let ends = link.changed_at.saturating_add(age);
                until = Some(until.map_or(ends, |first: Millis| first.min(ends)));
            }
        }
        if !published && let Some(activity) = state.known_name(activity) {
            let into = state.ledger.into.of([nucleus.0, activity.0, 0, 0]);
            files = into.map_or(0, |flow| flow.files);
        }
        (files, until, old)
    }
}

impl World {
    /// Whether any link into a nucleus is blocked.
    pub(crate) fn has_blocked_into(&self, nucleus: Option<Name>) -> bool {
        let mut links = nucleus.into_iter().flat_map(|nucleus| self.links_into(nucleus));
        links.any(|link| link.closeness == Some(BLOCKED))
    }
}

fn queued(link: &Link, activity: &str) -> u64 {
    let files = link.queued.iter().filter(|queued| queued.activity == activity).map(|q| q.files);
    files.fold(0, u64::saturating_add)
}
