//! Candidates: queues with every figure that a judgement may ask for. All looking up is done here,
//! and what was found is noted, so that the next judgement begins where this one ended.

mod census;
mod owner;
mod place;
mod site;

use crate::core::cut::Topic;
use crate::core::event::{Link, Queue, Scope, Status};
use crate::core::id::{Key, Name};
use crate::core::judge::stock::There;
use crate::core::judge::world::{QueueView, World};
use crate::core::policy::{Candidate, Candidates, Case, LinkView, Preassigned, Stores};
use crate::core::state::ledger::{AtQueue, Count};
use crate::core::state::{Flags, State};
use crate::core::unit::{HOUR, Millis};
use place::{Places, find};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Names that a case's look-ups need, found once.
pub struct Survey {
    /// Nucleus.
    pub nucleus: Option<Name>,
    express: bool,
    gshare: Option<Name>,
    resource_type: Option<Name>,
    user: Option<Name>,
    task: Key,
    /// Where the classes of sites are that hold for the case.
    sites: usize,
}

/// What gathering found out. Nothing is decided by it: without it, the same is found again.
#[derive(Default)]
pub struct Notes {
    /// By share and resource type: where each queue's counters were when last looked at.
    places: BTreeMap<(Option<Name>, Option<Name>), Vec<Places>>,
    /// By nucleus, and whether express: links as they stand at this cut.
    outlooks: BTreeMap<(Option<Name>, bool), Outlook>,
    /// Queues (unified names) with slot figures at this cut.
    slotted: Flags,
    /// Owners and shares as they stand at this cut.
    counted: owner::Counted,
}

/// Most shares and types, and most nuclei, that notes are kept of; beyond, all begin anew.
const NOTES_MAX: usize = 32;

/// What is known of the links to a nucleus at a cut.
#[derive(Default)]
struct Outlook {
    queued: u64,
    queued_until: Option<Millis>,
    /// By dense number of the source.
    links: Vec<OnceCell<LinkView>>,
}

/// A queue is inactive when no job started for so long (spec atlas F5).
const INACTIVE_AFTER: Millis = 2 * HOUR;

/// Activity of ordinary output on its way to a nucleus (spec atlas F3).
pub const PRODUCTION: &str = "Production Output";
/// Activity of express chunks (spec atlas F3).
pub const EXPRESS: &str = "Express";

fn activity(express: bool) -> &'static str {
    if express { EXPRESS } else { PRODUCTION }
}

impl Notes {
    /// A new cut: links, owners and shares are looked at again; places, and the tree of shares,
    /// only when queues or settings changed.
    pub fn turn(&mut self, state: &State, other_queues: bool) {
        self.outlooks.clear();
        self.counted.turn(other_queues);
        self.slotted.clear();
        state.slots.keys().for_each(|(queue, _, _)| self.slotted.add(*queue));
        if other_queues {
            self.places.clear();
        }
    }
}

/// The entry of a key, made when there is none; all others go when there are too many.
fn noted<K: Ord, V>(notes: &mut BTreeMap<K, V>, key: K, make: impl FnOnce() -> V) -> &mut V {
    if notes.len() >= NOTES_MAX && !notes.contains_key(&key) {
        notes.clear();
    }
    notes.entry(key).or_insert_with(make)
}

impl World {
    /// Fills in what a case knows of its nucleus, and finds what gathering needs.
    pub fn survey(&mut self, state: &State, case: &mut Case<'_>) -> Survey {
        let nucleus = match case.task.nucleus.as_str() {
            "" => None,
            nucleus => state.known_name(nucleus),
        };
        let express = case.express;
        let gshare = state.known_name(&case.task.gshare);
        let resource_type = state.known_name(&case.task.resource_type);
        let user = state.known_name(&case.task.user);
        let task = Key::of(case.task.task.as_bytes());
        let mut survey = Survey { nucleus, express, gshare, resource_type, user, task, sites: 0 };
        if !self.notes.outlooks.contains_key(&(nucleus, express)) {
            let outlook = self.outlook(state, case.now, &survey);
            noted(&mut self.notes.outlooks, (nucleus, express), || outlook);
        }
        if let Some(outlook) = self.notes.outlooks.get(&(nucleus, express)) {
            case.queued_to_nucleus = outlook.queued;
            case.queued_to_nucleus_until = outlook.queued_until;
        }
        case.nucleus = self.nucleus(&case.task.nucleus);
        case.remote_source = self.is_open(case.task, |storage| storage.read_wan);
        case.readable_source =
            self.is_open(case.task, |storage| storage.read_wan || storage.read_lan);
        let site = case.task.site.trim();
        if case.scope == Scope::Analysis {
            case.sources = self.sources(case.task);
            self.look_up_owner(state, case);
            survey.sites = self.classify(state, case.sites);
        } else if case.preassigned == Preassigned::One && self.stands_for_several(site) {
            case.preassigned = Preassigned::List;
        }
        let unknown = || Places::default();
        noted(&mut self.notes.places, (gshare, resource_type), || {
            std::iter::repeat_with(unknown).take(self.queues.len()).collect()
        });
        survey
    }

    /// What is known of the links to the nucleus.
    fn outlook(&self, state: &State, now: Millis, survey: &Survey) -> Outlook {
        let links = std::iter::repeat_with(OnceCell::new).take(self.sites as usize).collect();
        let activity = activity(survey.express);
        let (queued, queued_until) = self.queued_into(state, now, survey.nucleus, activity);
        Outlook { queued, queued_until, links }
    }

    /// Files queued to a nucleus from all sources, from link facts where a network service
    /// publishes them, else counted from transfers; and when the first figure becomes too old.
    pub(in crate::core) fn queued_into(
        &self,
        state: &State,
        now: Millis,
        nucleus: Option<Name>,
        activity: &str,
    ) -> (u64, Option<Millis>) {
        let (mut files, mut until) = (0u64, None);
        let Some(nucleus) = nucleus else { return (files, until) };
        let age = state.setting.limits.link_sample_age_ms;
        let mut published = false;
        for link in self.links_into(nucleus) {
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
        (files, until)
    }

    /// All that is known of a link, figures too old to count left out.
    fn view(&self, state: &State, now: Millis, survey: &Survey, source: Name) -> LinkView {
        let mut view = LinkView { source_known: self.knows_from(source), ..LinkView::default() };
        let Some(nucleus) = survey.nucleus else { return view };
        let age = state.setting.limits.link_sample_age_ms;
        let link =
            self.link(source, nucleus).filter(|link| now.saturating_sub(link.changed_at) < age);
        if let Some(link) = link {
            view.closeness = link.closeness;
            view.mbps_1h = link.mbps_1h;
            view.mbps_1d = link.mbps_1d;
            view.mbps_1w = link.mbps_1w;
            view.until = Some(link.changed_at.saturating_add(age));
            if link.queued_known {
                view.queued_files = Some(queued(link, activity(survey.express)));
            }
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

    /// The queues on a list (places in `queues`) as candidates.
    pub fn gather<'a>(
        &'a self,
        state: &'a State,
        case: &'a Case<'a>,
        survey: &'a Survey,
        list: Cow<'a, [u32]>,
    ) -> Gathered<'a> {
        let stock = self.stock(case.task, case.scope);
        Gathered { look: self.look(state, case, survey), list, stock }
    }

    /// Makes candidates of single queues.
    pub fn look<'a>(
        &'a self,
        state: &'a State,
        case: &'a Case<'a>,
        survey: &'a Survey,
    ) -> Look<'a> {
        let places = self.notes.places.get(&(survey.gshare, survey.resource_type));
        let outlook = self.notes.outlooks.get(&(survey.nucleus, survey.express));
        Look {
            world: self,
            state,
            case,
            survey,
            places: places.map_or(&[], Vec::as_slice),
            links: outlook.map_or(&[], |outlook| outlook.links.as_slice()),
        }
    }
}

/// The candidates of a case: each is made when it is looked at, from what lies where it is known
/// to lie.
pub struct Gathered<'a> {
    look: Look<'a>,
    list: Cow<'a, [u32]>,
    stock: Vec<There>,
}

impl Candidates for Gathered<'_> {
    fn count(&self) -> usize {
        self.list.len()
    }

    #[inline]
    fn at(&self, place: u32) -> Candidate<'_> {
        let at = self.list[place as usize];
        let there = self.stock.get(at as usize).copied().unwrap_or_default();
        self.look.candidate(at, there)
    }

    fn queue(&self, place: u32) -> &Queue {
        &self.look.world.queues[self.list[place as usize] as usize].queue
    }
}

/// All that candidates of one case are made of.
pub struct Look<'a> {
    world: &'a World,
    state: &'a State,
    case: &'a Case<'a>,
    survey: &'a Survey,
    places: &'a [Places],
    links: &'a [OnceCell<LinkView>],
}

impl<'a> Look<'a> {
    /// One queue as a candidate, by its place.
    pub fn one(&self, at: u32) -> Candidate<'a> {
        self.candidate(at, self.world.there(at, self.case.task, self.case.scope))
    }

    #[inline]
    fn candidate(&self, at: u32, there: There) -> Candidate<'a> {
        let (world, ledger, survey) = (self.world, &self.state.ledger, self.survey);
        let view = &world.queues[at as usize];
        let unified = view.unified.0;
        let places = self.places.get(at as usize);
        let at_queue = find(&ledger.queue, places.map(|it| &it.queue), [unified, 0, 0, 0]);
        let at_share = survey.gshare.and_then(|gshare| {
            find(&ledger.share, places.map(|it| &it.share), [unified, gshare.0, 0, 0])
        });
        let of_type = survey.gshare.zip(survey.resource_type).and_then(|(gshare, kind)| {
            find(&ledger.load, places.map(|it| &it.load), [unified, gshare.0, kind.0, 0])
        });
        let (inputs, outputs) = view.stores(self.case.scope);
        let (output, input) = match self.case.scope {
            Scope::Default => (view.output, view.input),
            Scope::Analysis => (outputs.first().copied(), inputs.first().copied()),
        };
        Candidate {
            queue: &view.queue,
            load: at_share.map_or(&NOTHING.0, |share| &share.jobs),
            load_type: of_type.map_or(&NOTHING.1, |load| &load.count),
            load_all: at_queue.map_or(&NOTHING.1, |queue| &queue.count),
            promised: at_share.map_or(0, |share| share.promised),
            at_nucleus: survey.nucleus == Some(view.storage_site),
            link: self.link(view),
            output: world.storage_of(output),
            input: world.storage_of(input),
            pilots: at_queue.map_or(0, |queue| queue.asked.saturating_add(queue.updated)),
            workers: at_queue
                .map_or(0, |queue| queue.workers_submitted.saturating_add(queue.workers_running)),
            slots: self.slots(view.unified),
            disk_io_kbps: at_queue.and_then(disk_io_kbps),
            available_bytes: there.disk_bytes.min(self.case.task.total_bytes),
            available_files: there.disk_files.min(self.case.task.total_files),
            reachable_bytes: there.any_bytes.min(self.case.task.total_bytes),
            reachable_files: there.any_files.min(self.case.task.total_files),
            inputs: Stores { all: &world.storages, at: inputs },
            outputs: Stores { all: &world.storages, at: outputs },
            software: world.software_of(view.software),
            all_software: world.software_of(world.all_software),
            inactive: self.is_inactive(view, at_queue),
            stuck_transferring: self.stuck(view.unified),
            locked: false,
            preferred_cpu_percent: 0.0,
            load_task: of_type.map_or(&NOTHING.1, |load| &load.count),
            user: self.user(at, view.unified, at_share),
        }
    }

    #[inline]
    fn link(&self, view: &QueueView) -> LinkView {
        let look = || self.world.view(self.state, self.case.now, self.survey, view.storage_site);
        self.links.get(view.site as usize).map_or_else(look, |link| *link.get_or_init(look))
    }

    /// Jobs whose output is on its way to where it cannot be written (spec atlas F18).
    #[inline]
    fn stuck(&self, queue: Name) -> u32 {
        let bound = |nucleus: &Name| self.state.ledger.bound.of([queue.0, nucleus.0, 0, 0]);
        self.world.shut.iter().filter_map(bound).sum()
    }

    /// Whether jobs were ready here and none started for long (spec atlas F5). A queue of which no
    /// start is known is not said to be inactive.
    #[inline]
    fn is_inactive(&self, view: &QueueView, at_queue: Option<&AtQueue>) -> bool {
        let is_ready = at_queue.is_some_and(|queue| {
            let jobs = |status: Status| queue.count.by[status.index()].jobs;
            jobs(Status::Activated) > 0 || jobs(Status::Starting) > 0
        });
        is_ready
            && self.state.marks.get(&view.unified).is_some_and(|marks| {
                marks.start > 0 && self.case.now - marks.start > INACTIVE_AFTER
            })
    }

    /// The slot figure that fits best: of this share before any, then of this resource type
    /// before any (spec atlas 2.5.1). Expired and negative ones are no figures.
    fn slots(&self, queue: Name) -> Option<u32> {
        if !self.world.notes.slotted.has(queue) {
            return None;
        }
        let any = Some(Name::NONE);
        for gshare in [self.survey.gshare, any] {
            for resource_type in [self.survey.resource_type, any] {
                let (Some(gshare), Some(resource_type)) = (gshare, resource_type) else { continue };
                let held = self.state.slots.get(&(queue, gshare, resource_type));
                if let Some(slots) = held.filter(|slots| {
                    slots.slots >= 0 && (slots.expires_at == 0 || slots.expires_at > self.case.now)
                }) {
                    return Some(u32::try_from(slots.slots).unwrap_or(u32::MAX));
                }
            }
        }
        None
    }
}

/// Jobs at a queue of which nothing was ever counted.
static NOTHING: ([u32; Status::COUNT], Count) = ([0; Status::COUNT], Count::NONE);

fn disk_io_kbps(queue: &AtQueue) -> Option<f64> {
    let jobs = queue.disk_io_jobs;
    (jobs > 0).then(|| queue.disk_io as f64 / f64::from(jobs) / 1000.0)
}

fn queued(link: &Link, activity: &str) -> u64 {
    let files = link.queued.iter().filter(|queued| queued.activity == activity).map(|q| q.files);
    files.fold(0, u64::saturating_add)
}
