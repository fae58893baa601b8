//! When the list is made: in some seconds while somebody looks, else from time to time for metrics
//! and so that it is known since when a thing is so.

use super::facts::Facts;
use super::memory::Memory;
use super::rejected::Rejections;
use super::{Attention, Item, Severity};
use crate::api::{LiveLook, Shown};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use yardmaster_core::engine::Engine;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::{MINUTE, Millis};
use yardmaster_wire::topology::AttentionSettings;

/// While nobody looks it is made so often.
const UNSEEN: Duration = Duration::from_secs(30);
/// It is made again after so much time of the log, however fast that goes ...
const OF_LOG: Millis = 5 * MINUTE;
/// ... but no sooner than after this.
const LEAST: Duration = Duration::from_millis(500);
/// It is not made again before so many times as long as it took: the loop waits for it.
const REST: u32 = 30;

/// Makes the list.
pub struct Lookout {
    settings: AttentionSettings,
    memory: Memory,
    rejected: Rejections,
    /// When it was last made, as of which moment, and for how long it rests then.
    made: Option<(Instant, Millis, Duration)>,
    /// For those who look.
    shown: LiveLook<Attention>,
}

impl Lookout {
    /// Nothing was looked at yet.
    pub fn new(settings: AttentionSettings, shown: LiveLook<Attention>) -> Lookout {
        Lookout {
            settings,
            memory: Memory::default(),
            rejected: Rejections::default(),
            made: None,
            shown,
        }
    }

    /// Counts a decision that was published or read back.
    pub fn note(&mut self, decision: &Decision) {
        self.rejected.note(decision);
    }

    /// At a cycle's end: makes the list if it is time to; gives it then. While the process is not
    /// settled it is made for those who look alone.
    pub fn turn(&mut self, engine: &Engine, is_settled: bool) -> Option<Arc<Shown<Attention>>> {
        let now = engine.state.now;
        let is_due = self.made.is_none_or(|(made, at, rest)| {
            let age = made.elapsed();
            let has_moved = now.abs_diff(at) >= OF_LOG.unsigned_abs() && age >= LEAST;
            age >= rest && (age >= UNSEEN || has_moved)
        });
        if !(is_due && is_settled || self.shown.is_wanted()) {
            return None;
        }
        let (shown, began) = (self.shown.clone(), Instant::now());
        let made = shown.put(|| self.look(engine));
        self.made = Some((Instant::now(), now, began.elapsed() * REST));
        Some(made)
    }

    /// The list as of now.
    pub fn look(&mut self, engine: &Engine) -> Attention {
        let facts = Facts::of(engine, &self.settings, &self.rejected);
        Attention::of(&facts, &self.settings, &mut self.memory)
    }
}

/// How many items there are, by severity and rule.
pub fn counted<'a>(
    items: impl Iterator<Item = &'a Item>,
) -> BTreeMap<(Severity, &'static str), u64> {
    let mut counts = BTreeMap::new();
    for item in items {
        *counts.entry((item.severity, item.rule)).or_default() += 1;
    }
    counts
}
