//! Nuclei as candidates, with every figure that a judgement may ask for, and what of a task holds
//! for all of them.

use crate::domain::atlas::judge::gather::Gathered;
use crate::domain::atlas::judge::gather::link::PRODUCTION;
use crate::domain::atlas::judge::world::{NucleusView, World};
use crate::domain::atlas::policy::task::{
    InputAtNucleus, NucleusCandidate, Parent, TaskCase, groups, is_whole, total,
};
use crate::domain::atlas::policy::{Bare, Candidate, Candidates, Case, Queues, Stores};
use crate::event::{Dataset, FullChain, Task};
use crate::policy::{Applicable, Policy, Resolved};
use crate::state::State;
use crate::unit::Millis;

/// Work that remains at a nucleus (spec atlas 1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Work {
    /// Of all tasks; HS06 s.
    pub all: f64,
    /// Of those of the share that are at least as urgent; HS06 s.
    pub ahead: f64,
}

impl World {
    /// The case of a task that wants a nucleus; `runs` is whether one of some queues could run
    /// its jobs.
    pub(crate) fn task_case<'a>(
        &self,
        task: &'a Task,
        now: Millis,
        parent: Option<(FullChain, &'a str)>,
        runs: &'a dyn Fn(&[u32]) -> bool,
    ) -> TaskCase<'a> {
        let groups = groups(task);
        let readable =
            |endpoint: &str| self.storage_named(endpoint).is_none_or(|storage| storage.read_wan);
        let is_open =
            |part: &&Dataset| part.replicas.iter().any(|it| is_whole(it) && readable(&it.endpoint));
        let remote_source = groups.iter().flatten().all(is_open);
        let parent = self.parent(task, parent);
        TaskCase { task, now, parent, total: total(&groups), remote_source, runs }
    }

    /// Full-chain setting and nucleus of the task that a task was made of.
    fn parent<'a>(&self, task: &Task, parent: Option<(FullChain, &'a str)>) -> Parent<'a> {
        let name = task.options.parent_task.as_str();
        if name.is_empty() || name == "0" || name == task.task {
            return Parent::No;
        }
        match parent {
            None => Parent::Unknown,
            Some((chain, nucleus)) if chain != FullChain::No && self.bare(nucleus) != Bare::No => {
                Parent::At(nucleus)
            }
            Some(_) => Parent::Elsewhere,
        }
    }

    /// Whether a site takes full chains.
    fn bare(&self, name: &str) -> Bare {
        self.nuclei_and(true).find(|view| view.name == name).map_or(Bare::No, |view| view.bare)
    }

    /// Nuclei, and for full chains also satellites that take them (spec atlas 1.1).
    fn nuclei_and(&self, chain: bool) -> impl Iterator<Item = &NucleusView> {
        self.nuclei.iter().chain(self.satellites.iter().filter(move |_| chain))
    }

    /// The nuclei a task may go to; `work` is how much remains at one.
    pub(crate) fn nuclei_of(
        &self,
        state: &State,
        task: &Task,
        now: Millis,
        work: impl Fn(&str) -> Work,
    ) -> Vec<NucleusCandidate<'_>> {
        let groups = groups(task);
        let chain = task.options.full_chain != FullChain::No;
        self.nuclei_and(chain)
            .filter(|view| !view.queues.is_empty())
            .map(|view| {
                let work = work(&view.name);
                let (queued_files, queued_until, _) =
                    self.queued_into(state, now, state.known_name(&view.name), PRODUCTION);
                NucleusCandidate {
                    queued_files,
                    queued_until,
                    held: self.held(view, &groups),
                    work: work.all,
                    work_ahead: work.ahead,
                    ..self.bare_candidate(view, chain)
                }
            })
            .collect()
    }

    /// A nucleus with nothing but its configuration. Outputs of a full chain lie at its secondary
    /// one, if that is known (spec atlas 7).
    fn bare_candidate<'a>(&'a self, view: &'a NucleusView, chain: bool) -> NucleusCandidate<'a> {
        let secondary = chain && !view.secondary.is_empty();
        let secondary =
            secondary.then(|| self.nuclei_and(true).find(|it| it.name == view.secondary));
        let store = secondary.flatten().unwrap_or(view);
        NucleusCandidate {
            name: &view.name,
            active: view.active,
            bare: view.bare,
            queues: &view.queues,
            outputs: Stores { all: &self.storages, at: &store.outputs },
            output: self.storage_of(store.output),
            queued_files: 0,
            queued_until: None,
            held: InputAtNucleus::default(),
            work: 0.0,
            work_ahead: 0.0,
        }
    }

    /// Bytes and files of some datasets at endpoints that a nucleus reads or writes.
    fn held(&self, view: &NucleusView, groups: &[Vec<&Dataset>]) -> InputAtNucleus {
        InputAtNucleus::of(groups, |endpoint| {
            let at = self.storage_index(endpoint)?;
            let reads = view.inputs.contains(&at) || view.outputs.contains(&at);
            self.storage_of(Some(at)).filter(|_| reads)
        })
    }

    /// Where each output of a task goes at a site: its name and its endpoint, the site's default
    /// one where its token stands for none there (spec atlas 1.1).
    pub(crate) fn destinations(&self, site: &str, task: &Task) -> Vec<(String, String)> {
        let known = self.nuclei_and(true).find(|view| view.name == site);
        let made = known.is_none().then(|| self.site_of(site));
        let Some(view) = known.or(made.as_ref()) else { return Vec::new() };
        let nucleus = self.bare_candidate(view, task.options.full_chain != FullChain::No);
        let outputs = task.output.iter().map(|output| {
            let found = crate::domain::atlas::policy::task::endpoint(&nucleus, &output.token);
            let endpoint = found.or(nucleus.output).map_or("", |storage| &storage.name);
            (output.name.clone(), endpoint.to_owned())
        });
        outputs.collect()
    }

    /// Whether a task may be bound to a site: a nucleus, or one that has queues for production.
    pub(crate) fn is_site(&self, name: &str) -> bool {
        !name.is_empty() && self.nucleus(name).known
    }
}

/// The dry run of job brokerage over the queues of nuclei (spec atlas N7).
pub(crate) struct JobCheck<'a> {
    /// The policy of jobs with the filters of the dry run
    /// ([`crate::policy::Flavour::dry_run_of`]).
    policy: &'a Policy,
    /// Those that apply to the case.
    applicable: Applicable<Queues>,
    /// Its parameters.
    resolved: &'a Resolved,
    /// The task as its jobs would ask, without a nucleus.
    case: &'a Case<'a>,
    /// All queues, each at its index.
    candidates: &'a Gathered<'a>,
}

impl<'a> JobCheck<'a> {
    /// The dry run of a case.
    pub(crate) fn new(
        policy: &'a Policy,
        resolved: &'a Resolved,
        case: &'a Case<'a>,
        candidates: &'a Gathered<'a>,
    ) -> JobCheck<'a> {
        let applicable = policy.queue_rules().applicable(case, resolved);
        JobCheck { policy, applicable, resolved, case, candidates }
    }

    /// Whether one of some queues could run the jobs: each counts as the nucleus's own.
    pub(crate) fn runs(&self, queues: &[u32]) -> bool {
        queues.iter().any(|at| {
            let queue = self.candidates.queue(*at);
            self.policy.lists(queue, self.resolved) && {
                let candidate = Candidate { at_nucleus: true, ..self.candidates.at(*at) };
                let JobCheck { policy, applicable, resolved, case, .. } = self;
                policy.object_by(applicable, case, &candidate, resolved).is_none()
            }
        })
    }
}

/// A task as its jobs would ask while its nucleus is not known.
pub(crate) fn as_jobs(task: &Task) -> Task {
    let mut jobs = Task { nucleus: String::new(), site: String::new(), ..task.clone() };
    jobs.options.chunk_site.clear();
    jobs
}
