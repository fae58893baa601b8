//! Nodes with their pilots: each announces what is free, takes it back before its end, and makes
//! room for the next.

use super::Cms;
use super::agenda::CmsStep;
use super::sites::Site;
use crate::dice::Dice;
use yardmaster_core::event::{Pilot, SlotOffer, Tier};
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};

/// Cores of nodes, with how often each is found.
const SIZES: [(i64, f64); 4] = [(8, 0.15), (16, 0.2), (32, 0.4), (64, 0.25)];
/// Memory for a core; MB.
const MEMORY_MB: [i64; 2] = [2_500, 4_000];
/// How long an announcement holds.
const HOLDS: Millis = 20 * MINUTE;
/// A pilot closes so long before its end.
const CLOSES: Millis = 40 * MINUTE;
/// Time kept for the start of a job; s.
const START_S: i64 = 120;
/// From a change to its announcement.
const LATE: (Millis, Millis) = (3 * SECOND, 25 * SECOND);
/// From the end of a pilot to the next.
const NEXT: (Millis, Millis) = (2 * MINUTE, 15 * MINUTE);
/// How long a pilot lives on average until it is lost, where nodes are borrowed and elsewhere.
const LOST: (Millis, Millis) = (60 * HOUR, 1_500 * HOUR);

/// A node with its pilot.
#[derive(Clone, Debug)]
pub struct Node {
    /// Name.
    pub name: String,
    /// Its site, by number.
    pub site: u32,
    /// Cores.
    pub cores: i64,
    /// Memory, MB.
    pub memory_mb: i64,
    /// Label of the block it belongs to; empty: none.
    pub block: String,
    /// Number of its pilot; 0: it has none.
    pub pilot: u64,
    /// Name of what its pilot offers.
    pub offer: String,
    /// When the pilot ends.
    pub ends_at: Millis,
    /// Whether the pilot takes no more jobs.
    pub is_closed: bool,
    /// Announcements made by this pilot.
    pub announced: u32,
    /// When the newest announcement was made.
    pub announced_at: Millis,
    /// Whether the newest announcement stands: it was not taken back and did not run out.
    pub is_offered: bool,
    /// Time left for jobs by the newest announcement, s.
    pub wall_left_s: i64,
    /// Cores that no job has.
    pub cores_free: i64,
    /// Memory that no job has, MB.
    pub memory_free_mb: i64,
    /// The rest of the newest announcement: cores, memory in MB.
    pub left: (i64, i64),
    /// Whether an announcement is planned.
    pub is_due: bool,
    /// The drain under way.
    pub drain: Option<Drain>,
}

/// A node is kept free for a job (C-55).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drain {
    /// The job.
    pub job: String,
    /// Cores that it needs.
    pub need: i64,
    /// When the node is expected to be ready.
    pub until: Millis,
    /// The cycle in which it was commanded: decisions of this and those before know nothing of it.
    pub cycle: u64,
}

/// Nodes of sites, whose ranges are set.
pub fn make(seed: u64, sites: &mut [Site]) -> Vec<Node> {
    let mut dice = Dice::new(seed, "cms nodes");
    let mut nodes: Vec<Node> = Vec::new();
    for (site, number) in sites.iter_mut().zip(0..) {
        let first = nodes.len() as u32;
        let labelled = site.quota.extra_blocks.iter().find(|it| it.label.is_some());
        let label = labelled.and_then(|it| it.label.clone()).unwrap_or_default();
        // Half of a labelled block is served by pilots of its own.
        let mut to_label = labelled.map_or(0, |it| it.slots / 2);
        let mut rest = site.cores;
        while rest >= 8 {
            let drawn = SIZES[dice.weighted(SIZES.iter().map(|it| it.1))].0;
            let cores = if drawn > rest { 8 } else { drawn };
            rest -= cores;
            let block = if to_label > 0 { label.clone() } else { String::new() };
            to_label -= cores;
            let at = nodes.len() as u32 - first;
            nodes.push(Node {
                name: format!("wn{at:04}.{}", site.name),
                site: number,
                cores,
                memory_mb: cores * MEMORY_MB[dice.below(2)],
                block,
                ..EMPTY
            });
        }
        site.nodes = first..nodes.len() as u32;
    }
    nodes
}

const EMPTY: Node = Node {
    name: String::new(),
    site: 0,
    cores: 0,
    memory_mb: 0,
    block: String::new(),
    pilot: 0,
    offer: String::new(),
    ends_at: 0,
    is_closed: true,
    announced: 0,
    announced_at: 0,
    is_offered: false,
    wall_left_s: 0,
    cores_free: 0,
    memory_free_mb: 0,
    left: (0, 0),
    is_due: false,
    drain: None,
};

impl Cms {
    /// A pilot starts; one of the first has been there for a while.
    pub(super) fn pilot_starts(&mut self, node: u32) {
        self.pilots += 1;
        let (pilot, now) = (self.pilots, self.now);
        let of = &self.nodes[node as usize];
        let site = &self.sites[of.site as usize];
        let life = match of.announced == 0 && now < self.start + 5 * MINUTE {
            true => self.dice.between(site.pilot_life / 6, site.pilot_life),
            false => site.pilot_life,
        };
        let loses = if site.tier == Tier::Opportunistic { LOST.0 } else { LOST.1 };
        let lost_after = (loses as f64 * self.dice.exponential()) as Millis;
        self.settle_use();
        let of = &mut self.nodes[node as usize];
        (of.pilot, of.offer) = (pilot, format!("pilot-{pilot:07}"));
        (of.ends_at, of.is_closed, of.announced) = (now + life, false, 0);
        (of.cores_free, of.memory_free_mb) = (of.cores, of.memory_mb);
        (of.left, of.is_offered, of.is_due) = ((0, 0), false, false);
        self.count.cores_offered += of.cores as u64;
        self.node_by_offer.insert(of.offer.clone(), node);
        self.after(life - CLOSES, CmsStep::PilotCloses(node, pilot));
        self.after(life, CmsStep::PilotEnds(node, pilot));
        if lost_after < life {
            self.after(lost_after, CmsStep::PilotIsLost(node, pilot));
        }
        self.announce_soon(node);
    }

    /// Plans that a pilot announces what is free.
    pub(super) fn announce_soon(&mut self, node: u32) {
        let of = &mut self.nodes[node as usize];
        if of.is_due || of.is_closed {
            return;
        }
        of.is_due = true;
        let pilot = of.pilot;
        self.after_between(LATE.0, LATE.1, CmsStep::Announces(node, pilot));
    }

    /// A pilot announces what is free, if there is anything to be had.
    pub(super) fn announces(&mut self, node: u32, pilot: u64) {
        let now = self.now;
        let of = &mut self.nodes[node as usize];
        if of.pilot != pilot || of.is_closed {
            return;
        }
        of.is_due = false;
        let site = &self.sites[of.site as usize];
        let kept = of.drain.as_ref().filter(|_| !site.backfills);
        if of.cores_free == 0 || kept.is_some_and(|it| of.cores_free < it.need) {
            return;
        }
        let expires_at = (now + HOLDS).min(of.ends_at - CLOSES / 2);
        of.wall_left_s = (of.ends_at - expires_at) / SECOND - START_S;
        let attempt = of.announced;
        (of.announced, of.announced_at, of.is_offered) = (attempt + 1, now, true);
        of.left = (of.cores_free, of.memory_free_mb);
        let offer = SlotOffer {
            offer: of.offer.as_str(),
            attempt,
            cores_free: of.cores_free,
            cores_total: of.cores,
            wall_left_s: of.wall_left_s,
            mem_free_mb: of.memory_free_mb,
            block: of.block.as_str(),
            node: of.name.as_str(),
            corepower_mhs06: None,
            expires_at,
            ..SlotOffer::default()
        };
        let (queue, offer) = (site.name.as_str(), Box::new(offer));
        self.publisher.pilot(&Pilot::SlotOffer { queue, offer, at: now });
        self.count.offers += 1;
        let jitter = self.dice.between(SECOND, MINUTE);
        self.agenda.plan(expires_at - jitter, CmsStep::RunsOut(node, pilot));
    }

    /// An announcement runs out soon: what is still free is announced again.
    pub(super) fn runs_out(&mut self, node: u32, pilot: u64) {
        let of = &self.nodes[node as usize];
        if of.pilot == pilot && self.idles_for_nobody(of) {
            self.violated("an idle node kept drained");
        }
        let of = &self.nodes[node as usize];
        if of.pilot == pilot && !of.is_due && of.cores_free > 0 {
            self.announces(node, pilot);
        }
    }

    /// A pilot takes back what it offers.
    pub(super) fn withdraws(&mut self, node: u32) {
        let of = &mut self.nodes[node as usize];
        if !of.is_offered {
            return;
        }
        (of.is_offered, of.left) = (false, (0, 0));
        let site = &self.sites[of.site as usize];
        self.publisher.pilot(&Pilot::SlotWithdrawn {
            queue: &site.name,
            offer: &of.offer,
            attempt: of.announced.saturating_sub(1),
            at: self.now,
        });
        self.count.withdrawn += 1;
    }

    /// A pilot takes no more jobs.
    pub(super) fn pilot_closes(&mut self, node: u32, pilot: u64) {
        if self.nodes[node as usize].pilot == pilot {
            self.nodes[node as usize].is_closed = true;
            self.withdraws(node);
        }
    }

    /// A pilot is over; what still runs on it fails. The next comes soon.
    pub(super) fn pilot_ends(&mut self, node: u32, pilot: u64) {
        let of = &mut self.nodes[node as usize];
        if of.pilot != pilot {
            return;
        }
        let offer = std::mem::take(&mut of.offer);
        (of.is_closed, of.pilot) = (true, 0);
        (of.is_offered, of.left) = (false, (0, 0));
        self.node_by_offer.remove(&offer);
        self.settle_use();
        self.count.cores_offered -= self.nodes[node as usize].cores as u64;
        self.fail_all_on(node);
        self.after_between(NEXT.0, NEXT.1, CmsStep::PilotStarts(node));
    }

    /// A pilot is lost: nobody takes its offer back.
    pub(super) fn pilot_is_lost(&mut self, node: u32, pilot: u64) {
        if self.nodes[node as usize].pilot == pilot {
            self.count.pilots_lost += 1;
            self.pilot_ends(node, pilot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::sites;
    use super::*;

    #[test]
    fn nodes_have_all_cores_of_their_site() {
        let mut all = sites::make(1, 0.3);
        let nodes = make(1, &mut all);
        for site in &all {
            let own = &nodes[site.nodes.start as usize..site.nodes.end as usize];
            assert_eq!(own.iter().map(|node| node.cores).sum::<i64>(), site.cores);
            assert!(own.iter().all(|node| (8..=64).contains(&node.cores)));
        }
        assert!(nodes.iter().any(|node| node.block == "local"));
    }
}
