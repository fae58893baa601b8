//! How often the lead changed, and which process contests it.
//!
//! Installations with topics of their own have transactional ids of their own. Two things are left.
//! A process with our transactional id, but other topics (a program that is not ours, or an older
//! version), fences us, and no other leader is found in `progress`: that distinguishes it from a
//! takeover, whose first record lies there before the lead can be free again. And processes with
//! the same topics, but different topologies, may take the lead from each other in turns: one such
//! change is how a topology is changed, many are two installations.

use std::collections::VecDeque;
use yardmaster_core::limits::Limits;
use yardmaster_core::unit::Millis;
use yardmaster_drive::Leader;

/// How often in a row this process may be fenced without a trace before it refuses to lead.
const FENCED_MAX: u32 = 3;
/// A lead that held for so many takeover times does not show as contested any more.
const HELD: i64 = 3;

/// A change of the lead.
struct Change {
    at: Millis,
    /// Instance and topology of the leader before, if that had another topology.
    from_other: Option<(String, String)>,
}

/// Knowledge about other processes that want the lead.
pub struct Rivals {
    domain: String,
    progress: String,
    changes_max: usize,
    window: Millis,
    held_after: Millis,
    /// A lead that held for so long forgets that this process was fenced before.
    forgotten_after: Millis,
    /// The topology that this process decides by; its hash.
    topology: String,
    /// Changes of the lead, oldest first; within the window.
    changes: VecDeque<Change>,
    /// The newest leader that was seen: epoch, instance, topology.
    newest: Option<(u64, String, String)>,
    /// The instance that this process was when it was last fenced.
    fenced: Option<String>,
    /// Whether that is counted in `in_vain`.
    is_counted: bool,
    /// How often in a row no other process had led since.
    in_vain: u32,
    /// When this process last took the lead.
    led_at: Millis,
    /// It does not lead before this.
    refuses_until: Option<Millis>,
}

impl Rivals {
    /// No process was seen yet. `progress` is the name of that topic.
    pub fn new(domain: &str, progress: &str, limits: &Limits) -> Rivals {
        Rivals {
            domain: domain.to_owned(),
            progress: progress.to_owned(),
            changes_max: limits.lead_changes_max,
            window: limits.lead_changes_window_ms,
            held_after: limits.takeover_ms * HELD,
            forgotten_after: limits.lead_changes_window_ms / 2,
            topology: String::new(),
            changes: VecDeque::new(),
            newest: None,
            fenced: None,
            is_counted: false,
            in_vain: 0,
            led_at: 0,
            refuses_until: None,
        }
    }

    /// This process decides by the topology of this hash.
    pub fn decides_by(&mut self, topology: &str) {
        topology.clone_into(&mut self.topology);
    }

    /// The newest record of `progress` is of this leader. Returns whether the lead changed since
    /// this was last called.
    pub fn see(&mut self, leader: Leader<'_>, clock: Millis) -> bool {
        let Leader { epoch, instance, topology } = leader;
        if self.led_at == 0 && self.fenced.as_ref().is_some_and(|fenced| fenced != instance) {
            // Another process leads on our topics: that was a takeover.
            (self.fenced, self.in_vain, self.refuses_until) = (None, 0, None);
        }
        self.forget(clock);
        if self.newest.as_ref().is_some_and(|(known, _, _)| *known == epoch) {
            return false;
        }
        let newest = Some((epoch, instance.to_owned(), topology.to_owned()));
        let Some((_, from, before)) = std::mem::replace(&mut self.newest, newest) else {
            return false;
        };
        let from_other = (before != topology).then_some((from, before));
        self.changes.push_back(Change { at: clock, from_other });
        true
    }

    fn forget(&mut self, clock: Millis) {
        while self.changes.front().is_some_and(|change| clock - change.at > self.window) {
            self.changes.pop_front();
        }
    }

    /// The last leader, if the lead goes to and fro between topologies and that one has not ours.
    fn other_topology(&self) -> Option<Other<'_>> {
        let swaps = self.changes.iter().filter(|change| change.from_other.is_some()).count();
        let (_, instance, topology) = self.newest.as_ref()?;
        let is_other = swaps > self.changes_max && *topology != self.topology;
        is_other.then_some(Other { swaps, instance, topology })
    }

    /// This process was fenced while it led as `instance`.
    pub fn fenced(&mut self, instance: &str) {
        self.fenced = Some(instance.to_owned());
        self.led_at = 0;
        self.is_counted = false;
    }

    /// The lead is free, the last leader was `leader`: whether this process takes it.
    pub fn may_lead(&mut self, leader: Option<Leader<'_>>, clock: Millis) -> bool {
        let leader = leader.map(|leader| leader.instance);
        self.forget(clock);
        if self.refuses_until.is_some_and(|until| clock < until) || self.other_topology().is_some()
        {
            return false;
        }
        if !self.is_counted && self.fenced.is_some() && self.fenced.as_deref() == leader {
            self.is_counted = true;
            self.in_vain += 1;
            if self.in_vain >= FENCED_MAX {
                self.refuses_until = Some(clock + self.window);
                return false;
            }
        }
        self.led_at = clock;
        true
    }

    /// Why this process is not sure of the lead; `None` if no process contests it.
    pub fn contested(&mut self, clock: Millis) -> Option<String> {
        let held = if self.led_at > 0 { clock - self.led_at } else { 0 };
        // The pause before a fenced process starts again grows, so the other program may be back
        // only after a while: how often this one was fenced is forgotten later than it shows.
        if held > self.forgotten_after {
            self.in_vain = 0;
        }
        self.forget(clock);
        if let (0, Some(Other { swaps, instance, topology })) = (self.led_at, self.other_topology())
        {
            let (domain, progress, ours) = (&self.domain, &self.progress, &self.topology);
            let minutes = self.window / 60_000;
            return Some(format!(
                "the lead of domain {domain:?} in {progress} changed {swaps} times in {minutes} min \
                 between processes of different topologies; the last leader, {instance}, has the \
                 topology of policy_hash {topology}, this process has {ours} and refuses to lead; \
                 give all of them one topology file, or one installation another `domain` and \
                 topics of its own"
            ));
        }
        if self.in_vain == 0 || held > self.held_after {
            return None;
        }
        let Rivals { domain, progress, .. } = self;
        let stands = match self.refuses_until.filter(|until| clock < *until) {
            Some(_) => "refuses to lead",
            None if self.in_vain == 1 => {
                return Some(format!(
                    "this process was fenced, and no other process leads in {progress}: a process \
                     of this domain took the lead and ended before its first record, or another \
                     program uses the transactional id of domain {domain:?}; it leads again"
                ));
            }
            None => "leads again, and may be fenced again",
        };
        Some(format!(
            "another program uses the transactional id of domain {domain:?} with other topics: \
             this process was fenced {} times, and no other process leads in {progress}; it \
             {stands}; stop the other one, or give one of them another `domain` in its topology, \
             and topics of its own",
            self.in_vain
        ))
    }

    /// Whether the lead changes too often, and what to look for; `None` if it does not.
    pub fn unsteady(&self) -> Option<String> {
        let (count, minutes, progress) = (self.changes.len(), self.window / 60_000, &self.progress);
        (count > self.changes_max).then(|| {
            format!(
                "the lead changed {count} times in {minutes} min, more than lead_changes_max: \
                 processes with different topologies, a process that dies at each start, or hosts \
                 too slow for takeover_s; `instance` and `policy_hash` in {progress} tell which"
            )
        })
    }
}

/// The process that leads by another topology.
struct Other<'a> {
    /// How often the lead went from one topology to another.
    swaps: usize,
    instance: &'a str,
    topology: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rivals() -> Rivals {
        let mut rivals = Rivals::new("atlas", "yardmaster.progress", &Limits::default());
        rivals.decides_by("ours");
        rivals
    }

    fn leader(epoch: u64, instance: &str) -> Leader<'_> {
        Leader { epoch, instance, topology: "ours" }
    }

    #[test]
    fn who_is_fenced_without_a_trace_refuses_to_lead_and_tries_again_later() {
        let mut rivals = rivals();
        assert!(rivals.may_lead(None, 1_000));
        rivals.see(leader(1, "us 1"), 1_500);
        rivals.fenced("us 1");
        assert!(
            rivals.may_lead(Some(leader(0, "us 1")), 7_000),
            "a standby may have died before it wrote"
        );
        let why = rivals.contested(7_100).unwrap();
        assert!(why.contains("ended before its first record, or another program"), "{why}");
        rivals.see(leader(2, "us 2"), 7_500);
        rivals.fenced("us 2");
        assert!(rivals.may_lead(Some(leader(0, "us 2")), 9_000));
        let why = rivals.contested(9_100).unwrap();
        assert!(why.contains("fenced 2 times") && why.contains("may be fenced again"), "{why}");
        rivals.see(leader(3, "us 3"), 9_500);
        rivals.fenced("us 3");
        assert!(!rivals.may_lead(Some(leader(0, "us 3")), 13_000));
        let why = rivals.contested(13_000).unwrap();
        assert!(why.contains("\"atlas\"") && why.contains("refuses to lead"), "{why}");
        assert!(!rivals.may_lead(Some(leader(0, "us 3")), 600_000));
        assert!(rivals.may_lead(Some(leader(0, "us 3")), 700_000), "the other one may be gone");
        rivals.see(leader(4, "us 4"), 700_100);
        assert!(rivals.contested(700_200).is_some());
        assert_eq!(rivals.contested(720_000), None, "it held");
    }

    /// Takeovers that failed, minutes apart, are none of another program.
    #[test]
    fn a_lead_that_held_forgets_that_it_was_fenced() {
        let mut rivals = rivals();
        for round in 1..=5 {
            let (at, us) = (i64::from(round) * 1_000_000, format!("us {round}"));
            assert!(rivals.may_lead(Some(leader(0, &us)), at), "{round}");
            rivals.see(leader(round as u64, &us), at + 100);
            assert_eq!(rivals.contested(at + 310_000), None);
            rivals.fenced(&us);
            assert!(rivals.may_lead(Some(leader(0, &us)), at + 315_000), "{round}");
            assert!(rivals.contested(at + 315_100).is_some_and(|why| why.contains("was fenced,")));
            rivals.see(leader(round as u64, &us), at + 315_200);
        }
    }

    #[test]
    fn a_takeover_on_our_topics_is_no_rivalry() {
        let mut rivals = rivals();
        for round in 0..2 {
            let at = round * 100_000;
            let us = format!("us {round}");
            assert!(rivals.may_lead(Some(leader(0, "them")), at + 1));
            rivals.see(leader(2 * round as u64, &us), at + 10);
            rivals.fenced(&us);
            rivals.see(leader(2 * round as u64 + 1, "them"), at + 20);
            assert_eq!(rivals.contested(at + 30), None);
        }
    }

    #[test]
    fn a_lead_that_changes_too_often_is_reported_until_it_holds() {
        let mut rivals = rivals();
        for epoch in 1..=5 {
            rivals.see(leader(epoch, "any"), epoch as i64 * 1_000);
            assert_eq!(rivals.unsteady(), None);
        }
        assert!(rivals.see(leader(6, "any"), 6_000));
        assert!(rivals.unsteady().is_some_and(|why| why.contains("5 times in 10 min")));
        assert!(!rivals.see(leader(6, "any"), 700_000));
        assert_eq!(rivals.unsteady(), None);
    }

    /// The lead goes to and fro; a process with the topology of the last leader may still lead.
    #[test]
    fn of_two_topologies_that_take_turns_one_refuses_to_lead_and_a_rolling_change_is_none() {
        let (mut ours, mut theirs) = (rivals(), rivals());
        theirs.decides_by("theirs");
        let by = |epoch: u64, clock: i64, both: [&mut Rivals; 2]| {
            let topology = ["ours", "theirs"][epoch as usize % 2];
            let instance = format!("host {topology}");
            let leader = Leader { epoch, instance: &instance, topology };
            both.map(|it| {
                it.see(leader, clock);
                it.may_lead(Some(leader), clock + 1)
            })
        };
        for epoch in 0..=4 {
            let may = by(epoch, epoch as i64 * 1_000, [&mut ours, &mut theirs]);
            assert_eq!(may, [true, true], "a topology may be changed");
            (ours.led_at, theirs.led_at) = (0, 0);
        }
        assert_eq!(by(5, 5_000, [&mut ours, &mut theirs]), [false, true]);
        assert_eq!(theirs.contested(5_100), None);
        let why = ours.contested(5_100).unwrap();
        for part in
            ["\"atlas\"", "host theirs", "policy_hash theirs", "has ours", "another `domain`"]
        {
            assert!(why.contains(part), "{part}: {why}");
        }
        assert!(ours.may_lead(None, 700_000), "the other one may be gone");
    }
}
