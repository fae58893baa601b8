//! Which leaf of the share tree a request counts for (spec atlas 10.1), and whether jobs are made
//! for it.

use crate::event::{ChunkKind, Task};
use crate::judge::share::{EXPRESS, Traits, Tree};
use crate::judge::view::CutView;
use std::borrow::Cow;

/// Why a request is rejected that no leaf of the tree takes.
pub(crate) const NO_SHARE: &str =
    "no_share: no leaf of the share tree takes the task, and it names none in gshare";

fn stated(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn traits(task: &Task) -> Traits<'_> {
    Traits {
        label: stated(&task.label),
        working_group: stated(&task.working_group),
        campaign: stated(&task.campaign),
        processing_type: stated(&task.processing_type),
        trans_path: stated(&task.trans_path),
        resource_type: stated(&task.resource_type),
    }
}

impl<'a> CutView<'a> {
    /// The tree, where any share is published.
    fn tree(self) -> Option<&'a Tree> {
        let state = self.state;
        (!state.facts.shares.is_empty()).then(|| self.caches.shares().tree(state))
    }

    /// The leaf that a request counts for: the one it names, else the first whose rules it
    /// matches. Where no leaf does, what it names; empty when that is nothing.
    pub(crate) fn share_of<'t>(self, task: &'t Task) -> Cow<'t, str> {
        let named = Cow::Borrowed(task.gshare.as_str());
        let Some(tree) = self.tree() else { return named };
        let is_event_merge = task.chunk == ChunkKind::Merge && task.options.event_service;
        if is_event_merge && tree.leaf(EXPRESS).is_some() {
            return Cow::Borrowed(EXPRESS);
        }
        match tree.tag(&task.gshare, &traits(task)) {
            Some(leaf) if leaf.name != task.gshare => Cow::Owned(leaf.name.clone()),
            _ => named,
        }
    }

    /// The request with the share that it counts for.
    pub(crate) fn tagged<'t>(self, task: &'t Task) -> Cow<'t, Task> {
        let gshare = self.share_of(task);
        match gshare == task.gshare {
            true => Cow::Borrowed(task),
            false => Cow::Owned(Task { gshare: gshare.into_owned(), ..task.clone() }),
        }
    }

    /// Whether a request, tagged, belongs to no share although there are some.
    pub(crate) fn has_no_share(self, task: &Task) -> bool {
        let has_leaf = |tree: &Tree| tree.leaves().next().is_some();
        task.gshare.is_empty() && self.tree().is_some_and(has_leaf)
    }

    /// Whether the job throttler applies to a share (spec atlas 10.1, 10.5).
    pub(crate) fn is_share_throttled(self, gshare: &str) -> bool {
        self.tree().is_some_and(|tree| tree.is_throttled(gshare))
    }
}
