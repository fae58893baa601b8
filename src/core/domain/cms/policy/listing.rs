//! How a job stands in the pool: in an autocluster while it waits, and in the counters.

use super::autocluster::{Autocluster, Place, Signature};
use super::counters::{Contribution, HeldNames, at as slot, of_held};
use super::effective::is_test_member;
use super::entry::Standing;
use super::facts::Seconds;
use super::pool::Pool;
use crate::id::Name;
use std::sync::Arc;

/// Where a job stands among the autoclusters, if it waits, and what it contributes.
struct Figures {
    place: Option<(Signature, Place)>,
    contributions: Vec<Contribution>,
}

impl Pool {
    /// A job in place of what was known of it.
    pub(super) fn put_job(&mut self, name: Arc<str>, standing: Standing) {
        if let Some(old) = self.jobs.get(&name) {
            let (old_workflow, seq) = (old.job().workflow.clone(), old.job().seq);
            self.unlist(&name);
            let old_workflow = self.names.intern(&old_workflow);
            slot(&mut self.workflows, old_workflow).jobs.remove(&(seq, Arc::clone(&name)));
        }
        let workflow = self.names.intern(&standing.job().workflow);
        let place = (standing.job().seq, Arc::clone(&name));
        let given_s = standing.given_s();
        let entry = slot(&mut self.workflows, workflow);
        entry.jobs.insert(place);
        entry.last_given_s = entry.last_given_s.max(given_s);
        self.jobs.insert(Arc::clone(&name), standing);
        self.list(&name);
    }

    /// Notes when a job of a workflow got slots; of one that is not known nothing is shown.
    pub(crate) fn note_given(&mut self, workflow: &str, given_s: Seconds) {
        let at = self.names.find(workflow).map(Name::index);
        if let Some(entry) = at.and_then(|at| self.workflows.get_mut(at)) {
            entry.last_given_s = entry.last_given_s.max(Some(given_s));
        }
    }

    /// Takes a job into the autoclusters and counters.
    pub(super) fn list(&mut self, job: &Arc<str>) {
        let Some(Figures { place, contributions }) = self.figures(job) else { return };
        if let Some((signature, place)) = place {
            let at = match self.by_signature.get(&signature) {
                Some(at) => *at,
                None => {
                    self.clusters.push(Autocluster::new(signature.clone()));
                    self.by_signature.insert(signature, self.clusters.len() - 1);
                    self.clusters.len() - 1
                }
            };
            self.clusters[at].insert(place);
        }
        self.note_held(job, true);
        self.counters.book(&contributions, 1);
    }

    /// Takes a job out of the autoclusters and counters; the record stays.
    pub(super) fn unlist(&mut self, job: &Arc<str>) {
        let Some(Figures { place, contributions }) = self.figures(job) else { return };
        if let Some((signature, place)) = place
            && let Some(at) = self.by_signature.get(&signature)
        {
            let at = *at;
            self.clusters[at].remove(&place);
            if self.clusters[at].is_empty() {
                self.by_signature.remove(&signature);
                self.clusters.swap_remove(at);
                if let Some(moved) = self.clusters.get(at) {
                    self.by_signature.insert(moved.signature.clone(), at);
                }
            }
        }
        self.note_held(job, false);
        self.counters.book(&contributions, -1);
    }

    /// Notes, or forgets, where a held job is.
    fn note_held(&mut self, job: &Arc<str>, is_there: bool) {
        let Some(Standing::Held(held)) = self.jobs.get(job) else { return };
        let Some(node) = &held.node else { return };
        match (is_there, self.on_node.get_mut(node)) {
            (true, Some(jobs)) => drop(jobs.insert(Arc::clone(job))),
            (true, None) => drop(self.on_node.insert(node.clone(), [Arc::clone(job)].into())),
            (false, Some(jobs)) => {
                jobs.remove(job);
                if jobs.is_empty() {
                    self.on_node.remove(node);
                }
            }
            (false, None) => {}
        }
    }

    /// Where a job stands among the autoclusters, and what it contributes.
    fn figures(&mut self, job: &Arc<str>) -> Option<Figures> {
        match self.jobs.get(job)? {
            Standing::Pending(pending) => {
                let workflow = self.names.intern(&pending.workflow);
                let members = self.workflows.get(workflow.index()).map_or(0, |it| it.test_jobs);
                let is_member = is_test_member(pending.seq, members);
                let names = &mut self.names;
                let signature = Signature::of(pending, workflow, is_member, &self.settings, names);
                let (queued_at_s, seq) = (pending.queued_at_s, pending.seq);
                let place = Place { queued_at_s, seq, job: Arc::clone(job) };
                let contribution = Contribution::Pending(workflow, pending.cores_min);
                let contributions = vec![contribution];
                Some(Figures { place: Some((signature, place)), contributions })
            }
            Standing::Held(held) => {
                let source = held.overflow_source.as_ref();
                let names = HeldNames {
                    site: self.names.intern(&held.run_site),
                    user: self.names.intern(&held.user),
                    workflow: self.names.intern(&held.job.workflow),
                    source: source.map(|source| self.names.intern(source)),
                };
                let groups = self.users.get(names.user.index());
                let groups = groups.map_or(&[][..], |user| &user.groups);
                let contributions = of_held(held, &names, groups, &self.settings, &self.decay);
                Some(Figures { place: None, contributions })
            }
        }
    }
}
