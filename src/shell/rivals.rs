//! How often the lead changed, and who fences us without leading on our topics.
//!
//! Two installations of one domain have one transactional id. If their topics differ, each fences
//! the other and finds no other leader in its own `progress`: that tells it from a takeover, whose
//! first record lies there before the lead can be free again.

use crate::core::limits::Limits;
use crate::core::unit::Millis;
use std::collections::VecDeque;

/// How often in a row this process may be fenced without a trace before it refuses to lead.
const FENCED_MAX: u32 = 2;
/// A lead that held for so many takeover times does not show as contested any more.
const HELD: i64 = 3;

/// What is known of others that want the lead.
pub struct Rivals {
    domain: String,
    progress: String,
    changes_max: usize,
    window: Millis,
    held_after: Millis,
    /// When the lead changed, oldest first; within the window.
    changes: VecDeque<Millis>,
    /// The newest epoch that was seen.
    epoch: Option<u64>,
    /// The instance that this process was when it was last fenced.
    fenced: Option<String>,
    /// Whether that is counted in `in_vain`.
    is_counted: bool,
    /// How often in a row nobody else had led since.
    in_vain: u32,
    /// When this process last took the lead.
    led_at: Millis,
    /// It does not lead before this.
    refuses_until: Option<Millis>,
}

impl Rivals {
    /// Nobody was seen yet. `progress` is the name of that topic.
    pub fn new(domain: &str, progress: &str, limits: &Limits) -> Rivals {
        Rivals {
            domain: domain.to_owned(),
            progress: progress.to_owned(),
            changes_max: limits.lead_changes_max,
            window: limits.lead_changes_window_ms,
            held_after: limits.takeover_ms * HELD,
            changes: VecDeque::new(),
            epoch: None,
            fenced: None,
            is_counted: false,
            in_vain: 0,
            led_at: 0,
            refuses_until: None,
        }
    }

    /// The newest record of `progress` is of this epoch and leader. Returns whether the lead
    /// changed since this was last called.
    pub fn see(&mut self, epoch: u64, leader: &str, clock: Millis) -> bool {
        if self.led_at == 0 && self.fenced.as_ref().is_some_and(|fenced| fenced != leader) {
            // Somebody leads on our topics: that was a takeover.
            (self.fenced, self.in_vain, self.refuses_until) = (None, 0, None);
        }
        let changed = self.epoch.is_some_and(|known| known != epoch);
        self.epoch = Some(epoch);
        if changed {
            self.changes.push_back(clock);
        }
        while self.changes.front().is_some_and(|at| clock - at > self.window) {
            self.changes.pop_front();
        }
        changed
    }

    /// This process was fenced while it led as `instance`.
    pub fn fenced(&mut self, instance: &str) {
        self.fenced = Some(instance.to_owned());
        self.led_at = 0;
        self.is_counted = false;
    }

    /// The lead is free, the last leader was `leader`: whether this process takes it.
    pub fn may_lead(&mut self, leader: Option<&str>, clock: Millis) -> bool {
        if self.refuses_until.is_some_and(|until| clock < until) {
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

    /// Why this process is not sure of the lead; `None` if nobody contests it.
    pub fn contested(&mut self, clock: Millis) -> Option<String> {
        let held = if self.led_at > 0 { clock - self.led_at } else { 0 };
        // The pause before a fenced process starts again grows, so the other installation may be
        // back only after a while: how often this one was fenced is forgotten later than it shows.
        if held > self.window {
            self.in_vain = 0;
        }
        if self.in_vain == 0 || held > self.held_after {
            return None;
        }
        let Rivals { domain, progress, .. } = self;
        let stands = match self.refuses_until.filter(|until| clock < *until) {
            Some(_) => "refuses to lead",
            None => "leads again, and may be fenced again",
        };
        Some(format!(
            "another installation uses the transactional id of domain {domain:?} with other topics: \
             this process was fenced, and nobody else leads in {progress}; it {stands}; stop the \
             other one, or give one of them another `domain` in its topology, and topics of its own"
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

#[cfg(test)]
mod tests {
    use super::*;

    fn rivals() -> Rivals {
        Rivals::new("atlas", "yardmaster.progress", &Limits::default())
    }

    #[test]
    fn who_is_fenced_without_a_trace_refuses_to_lead_and_tries_again_later() {
        let mut rivals = rivals();
        assert!(rivals.may_lead(None, 1_000));
        rivals.see(1, "us 1", 1_500);
        rivals.fenced("us 1");
        assert!(rivals.may_lead(Some("us 1"), 7_000), "a standby may have died before it wrote");
        assert!(rivals.contested(7_100).is_some_and(|why| why.contains("leads again")));
        rivals.see(2, "us 2", 7_500);
        rivals.fenced("us 2");
        assert!(!rivals.may_lead(Some("us 2"), 13_000));
        let why = rivals.contested(13_000).unwrap();
        assert!(why.contains("\"atlas\"") && why.contains("refuses to lead"), "{why}");
        assert!(!rivals.may_lead(Some("us 2"), 600_000));
        assert!(rivals.may_lead(Some("us 2"), 700_000), "the other one may be gone");
        rivals.see(3, "us 3", 700_100);
        assert!(rivals.contested(700_200).is_some());
        assert_eq!(rivals.contested(720_000), None, "it held");
    }

    #[test]
    fn a_takeover_on_our_topics_is_no_rivalry() {
        let mut rivals = rivals();
        for round in 0..2 {
            let at = round * 100_000;
            let us = format!("us {round}");
            assert!(rivals.may_lead(Some("them"), at + 1));
            rivals.see(2 * round as u64, &us, at + 10);
            rivals.fenced(&us);
            rivals.see(2 * round as u64 + 1, "them", at + 20);
            assert_eq!(rivals.contested(at + 30), None);
        }
    }

    #[test]
    fn a_lead_that_changes_too_often_is_told_until_it_holds() {
        let mut rivals = rivals();
        for epoch in 1..=5 {
            rivals.see(epoch, "any", epoch as i64 * 1_000);
            assert_eq!(rivals.unsteady(), None);
        }
        assert!(rivals.see(6, "any", 6_000));
        assert!(rivals.unsteady().is_some_and(|why| why.contains("5 times in 10 min")));
        assert!(!rivals.see(6, "any", 700_000));
        assert_eq!(rivals.unsteady(), None);
    }
}
