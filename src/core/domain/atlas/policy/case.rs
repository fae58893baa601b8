//! The fixed part of a judgement.

use super::candidate::Candidate;
use super::locality::{Locality, Source};
use super::owner::Owner;
use super::room::Room;
use super::site::SiteRules;
use super::software::Wanted;
use super::work_queue::WorkQueue;
use crate::event::{Queue, Scope, Task};
use crate::math::pattern::Pattern;
use crate::unit::Millis;
use std::sync::Arc;

/// The fixed part of a judgement: what is asked, when, and what holds for every candidate. It is
/// complete when it is made ([`crate::policy::Policy::case`]) and does not change; a second pass
/// over the candidates has a case of its own.
#[derive(Clone)]
pub struct Case<'a> {
    /// The request.
    pub task: &'a Task,
    /// The cycle's now.
    pub now: Millis,
    /// Express chunk: processing type `urgent` or high priority (spec atlas 0.3, DIFF-1).
    pub express: bool,
    /// Names in `task.site`: none, one (sitePre) or several (listPre) (spec atlas 2.1).
    pub preassigned: Preassigned,
    /// Files queued to the nucleus from all sources (spec atlas F3).
    pub queued_to_nucleus: u64,
    /// When the newest figure in `queued_to_nucleus` becomes too old to count; `None`: never.
    pub queued_to_nucleus_until: Option<Millis>,
    /// Whether any link to the nucleus may be blocked.
    pub has_blocked_links: bool,
    /// State of the task's nucleus.
    pub nucleus: Nucleus,
    /// Whether the input may be read from afar: some whole copy is open over the WAN (spec atlas
    /// F1).
    pub remote_source: bool,
    /// Whether every part of the input has a copy that can be read at all (spec atlas F1).
    pub readable_source: bool,
    /// Software and hardware that the task wants; made once, asked for each candidate.
    pub wanted: Wanted,
    /// Which pass over the candidates it is, from 1 (spec atlas 8.3).
    pub pass: u8,
    /// Which of a queue's endpoints count.
    pub scope: Scope,
    /// By dataset of the input and by copy of it: how it may be read there.
    pub sources: Arc<[Vec<Source>]>,
    /// Which queues hold the input; `None`: it is not asked, or not yet.
    pub locality: Option<Arc<Locality>>,
    /// Queues it may use; empty: all (spec atlas G14).
    pub included: Arc<[String]>,
    /// Whose work it is.
    pub owner: Owner,
    /// The task's share and resource type, where the job throttler applies to it.
    pub work_queue: Option<WorkQueue>,
    /// How sites are classified.
    pub sites: SiteRules,
    /// How much work a queue has room for.
    pub room: Room,
    /// Of a case of the generic broker.
    pub generic: Generic,
}

/// Facts and rules of a case of PanDA's generic broker alone (spec panda-generic 1.1).
#[derive(Clone, Debug, Default)]
pub struct Generic {
    /// Whether no queue is known at all.
    pub is_without_queues: bool,
    /// Whether there is a queue of exactly the name in `task.site`, on PanDA's map.
    pub is_site_queue: bool,
    /// The expression in `task.site`, if it is no name of a queue and can be read.
    pub site: Option<Arc<Pattern>>,
    /// Whether a site that is no name of a queue is a pattern of names.
    pub names_patterns: bool,
    /// Whether some queue is of the task's cloud; one that none is of stands for all.
    pub is_cloud_known: bool,
    /// Whether pilots, jobs, files and use of a unified queue do not count at its parts.
    pub parts_apart: bool,
    /// Which queues the input lets in.
    pub dispatch: Dispatch,
}

/// Which queues the input of a task lets in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// All: files are sent where they are missing.
    #[default]
    All,
    /// Those that have all of it.
    Whole,
    /// Of the best those that have all of it: none takes the place of another.
    WholeOfBest,
    /// None: PanDA's data management client cannot list files.
    None,
}

/// Of which datasets only whole copies count for a queue (spec atlas F13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WholeCopies {
    /// Of none: a copy counts with the files it holds.
    #[default]
    OfNone,
    /// Of secondary ones.
    OfSecondary,
    /// Of all.
    OfAll,
}

/// Properties of a request that a policy derives first, by which the rest of its case is looked up.
#[derive(Clone, Copy)]
pub struct Asked {
    /// See [`Case::express`].
    pub express: bool,
    /// See [`Case::scope`].
    pub scope: Scope,
    /// See [`Case::sites`].
    pub sites: SiteRules,
    /// Of which datasets only whole copies count.
    pub whole_copies: WholeCopies,
    /// Component of gdpconfig with the limits of the job throttler, where that is on.
    pub throttler: Option<&'static str>,
}

/// When a request is judged, and since when it waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The cycle's now.
    pub now: Millis,
    /// When this attempt was first answered: by a deferral. `None`: it was not yet.
    pub first_answered_at: Option<Millis>,
}

/// Facts of a case beside those of its request.
pub struct Known {
    /// See [`Times::first_answered_at`].
    pub first_answered_at: Option<Millis>,
    /// See [`Case::queued_to_nucleus`].
    pub queued_to_nucleus: u64,
    /// See [`Case::queued_to_nucleus_until`].
    pub queued_to_nucleus_until: Option<Millis>,
    /// See [`Case::has_blocked_links`].
    pub has_blocked_links: bool,
    /// See [`Case::nucleus`].
    pub nucleus: Nucleus,
    /// See [`Case::remote_source`].
    pub remote_source: bool,
    /// See [`Case::readable_source`].
    pub readable_source: bool,
    /// Whether the task's `site` stands for several queues: a unified queue and its parts.
    pub is_site_several: bool,
    /// See [`Case::sources`].
    pub sources: Arc<[Vec<Source>]>,
    /// Jobs, quotas and classes of the owner.
    pub owner: Owner,
    /// See [`Case::work_queue`].
    pub work_queue: Option<WorkQueue>,
    /// Of [`Case::generic`], what the configuration says.
    pub generic: Generic,
}

impl Known {
    /// Where nothing is known.
    pub fn nothing() -> Known {
        Known {
            first_answered_at: None,
            queued_to_nucleus: 0,
            queued_to_nucleus_until: None,
            has_blocked_links: true,
            nucleus: Nucleus::UNKNOWN,
            remote_source: true,
            readable_source: true,
            is_site_several: false,
            sources: Arc::default(),
            owner: Owner::default(),
            work_queue: None,
            generic: Generic::default(),
        }
    }
}

/// State of a nucleus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nucleus {
    /// Whether there is such a site.
    pub known: bool,
    /// Whether it takes full chains (spec atlas 7).
    pub bare: Bare,
    /// Whether its default output endpoint may be written over the WAN.
    pub write_wan: bool,
}

impl Nucleus {
    /// A nucleus of which nothing is known.
    pub const UNKNOWN: Nucleus = Nucleus { known: false, bare: Bare::No, write_wan: true };
}

/// Whether a queue or nucleus takes full chains (spec atlas 7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bare {
    /// As any other.
    #[default]
    No,
    /// Full chains beside other work.
    Allow,
    /// Full chains alone.
    Only,
}

impl Bare {
    /// By a queue's flags.
    pub fn of(queue: &Queue) -> Bare {
        match queue.flag("bareNucleus") {
            Some("only") => Bare::Only,
            Some("allow") => Bare::Allow,
            _ => Bare::No,
        }
    }
}

/// How the candidate list was given (spec atlas 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preassigned {
    /// All production-capable queues.
    No,
    /// One queue: `sitePre`.
    One,
    /// A list: `listPre`.
    List,
}

impl Case<'_> {
    /// Whether the whole input lies on disk at the candidate already, or there is none: jobs that
    /// wait for data are then not in the way (spec atlas 2.5.2).
    #[inline]
    pub fn is_local(&self, candidate: &Candidate<'_>) -> bool {
        candidate.available_bytes >= self.task.total_bytes
    }

    /// Whether the candidate belongs to the nucleus or shares its output storage.
    pub fn in_nucleus(&self, candidate: &Candidate<'_>) -> bool {
        let nucleus = self.task.nucleus.as_str();
        candidate.at_nucleus
            || (!nucleus.is_empty()
                && (candidate.queue.site == nucleus
                    || candidate.output.is_some_and(|storage| storage.site == nucleus)))
    }
}
