//! Candidates: queues with every figure that a judgement may ask for. All look-ups are done here.

pub mod link;
mod owner;
mod site;
mod work_queue;

use crate::domain::atlas::judge::caches::{Outlook, RowHints, SiteClasses, SlotFigures, find};
use crate::domain::atlas::judge::input_availability::{InputAvailabilities, InputAvailability};
use crate::domain::atlas::judge::partial_copies::PartialCopies;
use crate::domain::atlas::judge::world::QueueView;
use crate::domain::atlas::policy::{
    Asked, Candidate, Candidates, Case, Generic, Known, LinkView, Owner, Stores, UserView,
};
use crate::event::{Queue, Scope, Status, Task};
use crate::id::{Key, Name};
use crate::judge::notes::workers_are_pilots;
use crate::judge::view::CutView;
use crate::policy::{Policy, Resolved};
use crate::state::ledger::{AtQueue, AtShare, Count};
use crate::unit::{HOUR, Millis};
use link::activity;
use owner::UserJobs;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::sync::Arc;

/// Names and look-up positions of a case, found once for the figures of all its candidates.
pub struct Survey {
    /// Nucleus.
    pub nucleus: Option<Name>,
    express: bool,
    gshare: Option<Name>,
    resource_type: Option<Name>,
    user: Option<Name>,
    /// Jobs of the user in the share, by queue; found when first asked for.
    user_jobs: OnceCell<Vec<UserJobs>>,
    task: Key,
    /// Where each queue's counters were when last looked at.
    hints: Arc<[RowHints]>,
    /// The slot figure of each queue at this cut, where any has one.
    slots: Option<Arc<SlotFigures>>,
    /// The links to the nucleus at this cut.
    outlook: Arc<Outlook>,
    /// Whether workers count as pilots.
    workers_are_pilots: bool,
    /// Copies of the input that do not count.
    partial: PartialCopies,
    /// Classes of sites at this cut, of a case whose kind classifies them.
    sites: Option<Arc<SiteClasses>>,
}

/// A queue is inactive when no job started for so long (spec atlas F5).
const INACTIVE_AFTER: Millis = 2 * HOUR;

impl<'a> CutView<'a> {
    /// The case of a task, complete, and what finding the figures of its candidates needs.
    pub fn case<'t>(
        self,
        policy: &Policy,
        resolved: &Resolved,
        task: &'t Task,
    ) -> (Case<'t>, Survey) {
        let asked = policy.asked(task, resolved);
        let survey = self.survey(task, &asked);
        let known = self.known(task, &asked, &survey);
        (policy.case(task, self.state.now, asked, known, resolved), survey)
    }

    fn survey(self, task: &Task, asked: &Asked) -> Survey {
        let CutView { state, world, caches, .. } = self;
        let nucleus = match task.nucleus.as_str() {
            "" => None,
            nucleus => state.known_name(nucleus),
        };
        let gshare = state.known_name(&task.gshare);
        let resource_type = state.known_name(&task.resource_type);
        let is_analysis = asked.scope == Scope::Analysis;
        Survey {
            nucleus,
            express: asked.express,
            gshare,
            resource_type,
            user: state.known_name(&task.user),
            user_jobs: OnceCell::new(),
            task: Key::of(task.task.as_bytes()),
            workers_are_pilots: caches.workers_are_pilots(|| workers_are_pilots(state)),
            partial: PartialCopies::of(task, asked.whole_copies),
            hints: caches.row_hints(gshare, resource_type, world.queues.len()),
            slots: caches.slots(gshare, resource_type, world.queues.len()),
            outlook: caches.outlook(nucleus, asked.express, || {
                let activity = activity(asked.express);
                let (queued, queued_until, old) =
                    world.queued_into(state, state.now, nucleus, activity);
                let outlook = Outlook::new(queued, queued_until, world.sites);
                Outlook { old, has_blocked: world.has_blocked_into(nucleus), ..outlook }
            }),
            sites: is_analysis.then(|| self.classify(asked.sites)),
        }
    }

    /// When the attempt that a request is was first answered; `None` before its first answer.
    pub(crate) fn first_answered_at(self, task: &Task) -> Option<Millis> {
        let answer = self.state.requests.of(&task.subject)?.answer.as_ref()?;
        (answer.attempt == task.attempt).then_some(answer.first_answered_at)
    }

    /// Facts of a case beside those of its request.
    fn known(self, task: &Task, asked: &Asked, survey: &Survey) -> Known {
        let CutView { world, .. } = self;
        Known {
            first_answered_at: self.first_answered_at(task),
            queued_to_nucleus: survey.outlook.queued,
            queued_to_nucleus_until: survey.outlook.queued_until,
            has_blocked_links: survey.outlook.has_blocked,
            nucleus: world.nucleus(&task.nucleus),
            remote_source: world.is_open(task, |storage| storage.read_wan),
            readable_source: world.is_open(task, |storage| storage.read_wan || storage.read_lan),
            work_queue: asked.throttler.and_then(|component| {
                self.work_queue(component, (&task.gshare, &task.resource_type))
            }),
            is_site_several: world.stands_for_several(task.site.trim()),
            generic: Generic {
                is_without_queues: world.is_without_queues(),
                is_site_queue: world.is_mapped_queue(&task.site),
                is_cloud_known: world.is_cloud(&task.options.cloud),
                ..Generic::default()
            },
            sources: match asked.scope {
                Scope::Analysis => world.sources(task).into(),
                Scope::Default => Vec::new().into(),
            },
            owner: survey
                .sites
                .as_ref()
                .map_or_else(Owner::default, |sites| self.owner_of_task(task, sites)),
        }
    }

    /// The queues on a list (indices into `queues`) as candidates.
    pub(crate) fn gather(
        self,
        case: &'a Case<'a>,
        survey: &'a Survey,
        list: Cow<'a, [u32]>,
    ) -> Gathered<'a> {
        let input_availability =
            self.world.input_availability(case.task, case.scope, &survey.partial);
        Gathered { look: self.look(case, survey), list, input_availability }
    }

    /// Makes candidates of single queues.
    pub fn look(self, case: &'a Case<'a>, survey: &'a Survey) -> CandidateInputs<'a> {
        CandidateInputs { view: self, case, survey }
    }
}

/// The candidates of a case: each is made when it is looked at, from what lies where it is known
/// to lie.
pub struct Gathered<'a> {
    look: CandidateInputs<'a>,
    list: Cow<'a, [u32]>,
    input_availability: InputAvailabilities,
}

impl Gathered<'_> {
    /// Name of the queue of a candidate.
    pub(super) fn name(&self, index: u32) -> &Arc<str> {
        &self.look.view.world.names[self.list[index as usize] as usize]
    }
}

impl Candidates for Gathered<'_> {
    fn count(&self) -> usize {
        self.list.len()
    }

    #[inline]
    fn at(&self, index: u32) -> Candidate<'_> {
        let mut candidate = self.bare(index);
        self.fill(index, &mut candidate);
        self.add_user(index, &mut candidate);
        candidate
    }

    #[inline(always)]
    fn bare(&self, index: u32) -> Candidate<'_> {
        self.look.bare(self.list[index as usize])
    }

    #[inline(always)]
    fn fill<'s>(&'s self, index: u32, candidate: &mut Candidate<'s>) {
        let at = self.list[index as usize];
        self.look.fill(at, self.input_availability.of(at), candidate);
    }

    fn add_user(&self, index: u32, candidate: &mut Candidate<'_>) {
        self.look.add_user(self.list[index as usize], candidate);
    }

    fn makes(&self) -> usize {
        self.look.view.world.makes.count
    }

    #[inline]
    fn make(&self, index: u32) -> u32 {
        self.look.view.world.makes.of_queue[self.list[index as usize] as usize]
    }

    fn queue(&self, index: u32) -> &Queue {
        &self.look.view.world.queues[self.list[index as usize] as usize].queue
    }
}

/// All that candidates of one case are made of.
pub struct CandidateInputs<'a> {
    view: CutView<'a>,
    case: &'a Case<'a>,
    survey: &'a Survey,
}

impl<'a> CandidateInputs<'a> {
    /// One queue as a candidate, by its index.
    pub fn one(&self, at: u32) -> Candidate<'a> {
        let (task, scope) = (self.case.task, self.case.scope);
        let there = self.view.world.there(at, task, scope, &self.survey.partial);
        let mut candidate = self.candidate(at, there);
        self.add_user(at, &mut candidate);
        candidate
    }

    /// A candidate with its configuration alone.
    #[inline(always)]
    fn bare(&self, at: u32) -> Candidate<'a> {
        let CutView { world, .. } = self.view;
        let view = &world.queues[at as usize];
        let (inputs, outputs) = view.stores(self.case.scope);
        let (output, input) = match self.case.scope {
            Scope::Default => (view.output, view.input),
            Scope::Analysis => (outputs.first().copied(), inputs.first().copied()),
        };
        Candidate {
            queue: &view.queue,
            load: &NOTHING.0,
            load_type: &NOTHING.1,
            load_all: &NOTHING.1,
            reserved: 0,
            reserved_all: 0,
            at_nucleus: self.survey.nucleus == Some(view.storage_site),
            link: LinkView::default(),
            output: world.storage_of(output),
            input: world.storage_of(input),
            pilots: 0,
            workers: 0,
            slots: None,
            disk_io_kbps: None,
            available_bytes: 0,
            available_files: 0,
            reachable_bytes: 0,
            reachable_files: 0,
            inputs: Stores { all: &world.storages, at: inputs },
            outputs: Stores { all: &world.storages, at: outputs },
            software: world.software_of(view.software),
            all_software: world.software_of(world.all_software),
            inactive: false,
            stuck_transferring: 0,
            user: UserView::default(),
        }
    }

    /// A candidate, but for what is known of the user there.
    #[inline(always)]
    fn candidate(&self, at: u32, there: InputAvailability) -> Candidate<'a> {
        let mut candidate = self.bare(at);
        self.fill(at, there, &mut candidate);
        candidate
    }

    /// Adds to a candidate with its configuration alone all that is not known of the user.
    #[inline(always)]
    fn fill(&self, at: u32, there: InputAvailability, candidate: &mut Candidate<'a>) {
        let CutView { world, state, .. } = self.view;
        let (ledger, survey, task) = (&state.ledger, self.survey, self.case.task);
        let view = &world.queues[at as usize];
        let unified = view.unified.0;
        let hints = survey.hints.get(at as usize);
        let of_type = survey.gshare.zip(survey.resource_type).and_then(|(gshare, kind)| {
            find(&ledger.load, hints.map(|it| &it.load), [unified, gshare.0, kind.0, 0])
        });
        if let Some(load) = of_type {
            candidate.load_type = &load.count;
        }
        if let Some(share) = self.share(at, view.unified) {
            (candidate.load, candidate.reserved) = (&share.jobs, share.reserved);
        }
        let at_queue = find(&ledger.queue, hints.map(|it| &it.queue), [unified, 0, 0, 0]);
        if let Some(queue) = at_queue {
            (candidate.load_all, candidate.reserved_all) = (&queue.count, queue.reserved);
            let [asked, updated] = queue.nodes();
            candidate.pilots = asked.saturating_add(updated);
            candidate.workers = queue.workers_submitted.saturating_add(queue.workers_running);
            if survey.workers_are_pilots {
                candidate.pilots = candidate.pilots.saturating_add(candidate.workers);
            }
            candidate.disk_io_kbps = disk_io_kbps(queue);
        }
        candidate.link = self.link(view);
        candidate.slots = self.slots(at, view.unified);
        candidate.available_bytes = there.disk_bytes.min(task.total_bytes);
        candidate.available_files = there.disk_files.min(task.total_files);
        candidate.reachable_bytes = there.any_bytes.min(task.total_bytes);
        candidate.reachable_files = there.any_files.min(task.total_files);
        candidate.inactive = self.is_inactive(view, at_queue);
        candidate.stuck_transferring = self.stuck(view.unified);
    }

    /// Counters of the task's share at a queue.
    #[inline]
    fn share(&self, at: u32, queue: Name) -> Option<&'a AtShare> {
        let (ledger, gshare) = (&self.view.state.ledger, self.survey.gshare?);
        let hint = self.survey.hints.get(at as usize).map(|it| &it.share);
        find(&ledger.share, hint, [queue.0, gshare.0, 0, 0])
    }

    #[inline]
    fn link(&self, view: &QueueView) -> LinkView {
        let look = || self.view.link(self.survey, view.storage_site);
        let links = &self.survey.outlook.links;
        links.get(view.site as usize).map_or_else(look, |link| *link.get_or_init(look))
    }

    /// Jobs whose output is on its way to where it cannot be written (spec atlas F18).
    #[inline]
    fn stuck(&self, queue: Name) -> u32 {
        let bound = |nucleus: &Name| self.view.state.ledger.bound.of([queue.0, nucleus.0, 0, 0]);
        self.view.world.shut.iter().filter_map(bound).sum()
    }

    /// Whether jobs were ready here and none started for long (spec atlas F5). A queue of which no
    /// start is known is not inactive.
    #[inline]
    fn is_inactive(&self, view: &QueueView, at_queue: Option<&AtQueue>) -> bool {
        let is_ready = at_queue.is_some_and(|queue| {
            let jobs = |status: Status| queue.count.by[status.index()].jobs;
            jobs(Status::Activated) > 0 || jobs(Status::Starting) > 0
        });
        is_ready
            && self.view.state.marks.get(&view.unified).is_some_and(|marks| {
                marks.start > 0 && self.case.now - marks.start > INACTIVE_AFTER
            })
    }

    /// The slot figure of a queue.
    #[inline]
    fn slots(&self, at: u32, queue: Name) -> Option<u32> {
        let figures = self.survey.slots.as_ref().filter(|_| self.view.caches.has_slots(queue))?;
        let look = || self.look_up_slots(queue);
        figures.get(at as usize).map_or_else(look, |held| *held.get_or_init(look))
    }

    /// The slot figure that fits best: of this share before any, then of this resource type
    /// before any (spec atlas 2.5.1). Expired and negative ones are no figures.
    #[cold]
    fn look_up_slots(&self, queue: Name) -> Option<u32> {
        let any = Some(Name::NONE);
        for gshare in [self.survey.gshare, any] {
            for resource_type in [self.survey.resource_type, any] {
                let (Some(gshare), Some(resource_type)) = (gshare, resource_type) else { continue };
                let held = self.view.state.slots.get(&(queue, gshare, resource_type));
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
