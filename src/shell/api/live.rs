//! The grid at a glance, made by the loop at most once a second and only while somebody looks.

use super::looks::{Looks, Turn};
use crate::view::View;
use axum::body::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use yardmaster_core::engine::Engine;

/// A view is made at most so often.
const EVERY: Duration = Duration::from_millis(900);
/// While the last question is no older than this, views are made.
const LOOKED_AT: Duration = Duration::from_secs(3);
/// A view that is no older than this is new enough for an answer.
const FRESH: Duration = Duration::from_millis(1_500);
/// So many views' queues are held as text at a time: those of the last one, and older ones that are
/// still being sent.
const TEXTS: usize = 4;

/// A view, with what was made of it for everybody who asks.
#[derive(Debug)]
pub struct Shown {
    /// The view.
    pub view: View,
    made: Instant,
    /// Its queues as JSON, once somebody asked for them.
    pub(super) queues: OnceLock<(Bytes, Turn)>,
}

/// Shared between the loop, which makes views, and those who look at them.
#[derive(Clone, Debug)]
pub struct Views {
    began: Instant,
    /// When somebody last asked; ms since `began`, plus 1. 0: never.
    asked: Arc<AtomicU64>,
    latest: watch::Sender<Option<Arc<Shown>>>,
    /// Whose texts of queues there are.
    pub(super) looks: Looks,
}

impl Default for Views {
    fn default() -> Views {
        let (began, asked) = (Instant::now(), Arc::default());
        Views { began, asked, latest: watch::Sender::new(None), looks: Looks::of(TEXTS) }
    }
}

impl Views {
    /// At a cycle's boundary: makes a view if somebody looks and the last one is old.
    pub fn turn(&self, engine: &Engine) {
        let asked = self.asked.load(Ordering::Relaxed);
        let now = self.began.elapsed();
        if asked == 0 || now.saturating_sub(Duration::from_millis(asked)) > LOOKED_AT {
            return;
        }
        let is_old = |shown: &Arc<Shown>| shown.made.elapsed() >= EVERY;
        if self.latest.borrow().as_ref().is_none_or(is_old) {
            let (view, made) = (View::of(engine), Instant::now());
            let shown = Shown { view, made, queues: OnceLock::new() };
            self.latest.send_replace(Some(Arc::new(shown)));
        }
    }

    /// The newest view, no older than a second or two. While the loop restores, it is that of the
    /// last cycle it shows. `None` when the loop makes none in time.
    pub async fn get(&self, most: Duration) -> Option<Arc<Shown>> {
        let asked = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.asked.store(asked + 1, Ordering::Relaxed);
        let mut latest = self.latest.subscribe();
        let is_fresh = |shown: &Option<Arc<Shown>>| {
            shown.as_ref().is_some_and(|shown| shown.made.elapsed() <= FRESH)
        };
        let waited = tokio::time::timeout(most, latest.wait_for(is_fresh)).await;
        waited.ok()?.ok()?.clone()
    }
}
