//! Looks at the grid, made by the loop at most once a second and only while somebody looks.

use super::looks::{Looks, Turn};
use crate::attention::Attention;
use crate::view::View;
use crate::waiting::Waiting;
use axum::body::Bytes;
use std::cell::OnceCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use yardmaster_core::engine::Engine;
use yardmaster_core::view::{GridUsage, PoolGlance};

/// A look is made at most so often.
const EVERY: Duration = Duration::from_millis(900);
/// So many times as long as it took passes before the next one: the loop waits for it.
const REST: u32 = 30;
/// While the last question is no older than this, looks are made.
const LOOKED_AT: Duration = Duration::from_secs(3);
/// One that is no older than this is new enough for an answer.
const FRESH: Duration = Duration::from_millis(1_500);
/// So many looks are held as text at a time: the last one, and older ones that are being sent.
const TEXTS: usize = 4;

/// A look, with what was made of it for everybody who asks.
#[derive(Debug)]
pub struct Shown<T> {
    /// The look.
    pub view: T,
    made: Instant,
    took: Duration,
    /// The answer as JSON, once somebody asked for it.
    pub(super) text: OnceLock<(Bytes, Turn)>,
}

/// The looks of a domain.
#[derive(Clone, Debug, Default)]
pub struct Views {
    /// Queues and shares.
    pub(super) grid: LiveLook<View>,
    /// A pool of slots; `None` in a domain that has none.
    pub(super) pool: LiveLook<Option<PoolGlance>>,
    /// Who uses how much.
    pub(super) usage: LiveLook<GridUsage>,
    /// Requests that wait, and throttles.
    pub(super) waiting: LiveLook<Waiting>,
    /// Things that need a person; made by its lookout.
    pub attention: LiveLook<Attention>,
}

impl Views {
    /// At a cycle's boundary: makes what somebody asks for.
    pub fn turn(&self, engine: &Engine) {
        // Two looks are made of a pool's: it is made once for both.
        let pool = OnceCell::new();
        let pool = || pool.get_or_init(|| PoolGlance::of(engine)).as_ref();
        self.grid.turn(|| View::of(engine));
        self.pool.turn(|| pool().cloned());
        self.usage.turn(|| GridUsage::of(engine));
        self.waiting.turn(|| Waiting::of(engine, pool()));
    }

    /// The newest look at queues and shares; see [`LiveLook::get`].
    pub async fn get(&self, most: Duration) -> Option<Arc<Shown<View>>> {
        self.grid.get(most).await
    }
}

/// Shared between the loop, which makes looks, and those who ask for them.
#[derive(Clone, Debug)]
pub struct LiveLook<T> {
    began: Instant,
    /// When somebody last asked; ms since `began`, plus 1. 0: never.
    asked: Arc<AtomicU64>,
    latest: watch::Sender<Option<Arc<Shown<T>>>>,
    /// Whose texts there are.
    pub(super) looks: Looks,
}

impl<T> Default for LiveLook<T> {
    fn default() -> LiveLook<T> {
        let (began, asked) = (Instant::now(), Arc::default());
        LiveLook { began, asked, latest: watch::Sender::new(None), looks: Looks::of(TEXTS) }
    }
}

impl<T> Shown<T> {
    /// How long no other one is made.
    fn rests(&self) -> Duration {
        EVERY.max(self.took.saturating_mul(REST))
    }
}

impl<T> LiveLook<T> {
    /// At a cycle's boundary: makes a look if somebody asks and the last one is old.
    pub fn turn(&self, make: impl FnOnce() -> T) {
        if self.is_wanted() {
            self.put(make);
        }
    }

    /// Whether somebody asks and the last one is old.
    pub fn is_wanted(&self) -> bool {
        let asked = self.asked.load(Ordering::Relaxed);
        let now = self.began.elapsed();
        if asked == 0 || now.saturating_sub(Duration::from_millis(asked)) > LOOKED_AT {
            return false;
        }
        let is_old = |shown: &Arc<Shown<T>>| shown.made.elapsed() >= shown.rests();
        self.latest.borrow().as_ref().is_none_or(is_old)
    }

    /// Makes a look, and shows it.
    pub fn put(&self, make: impl FnOnce() -> T) -> Arc<Shown<T>> {
        let began = Instant::now();
        let (view, made) = (make(), Instant::now());
        let shown = Shown { view, made, took: made - began, text: OnceLock::new() };
        let shown = Arc::new(shown);
        self.latest.send_replace(Some(Arc::clone(&shown)));
        shown
    }

    /// The newest look, no older than a second or two, or than it must rest. While the loop
    /// restores, it is that of the last cycle it shows. `None` when the loop makes none in time.
    pub async fn get(&self, most: Duration) -> Option<Arc<Shown<T>>> {
        let asked = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.asked.store(asked + 1, Ordering::Relaxed);
        let mut latest = self.latest.subscribe();
        let is_fresh = |shown: &Option<Arc<Shown<T>>>| {
            shown.as_ref().is_some_and(|it| it.made.elapsed() <= FRESH.max(it.rests() * 2))
        };
        let waited = tokio::time::timeout(most, latest.wait_for(is_fresh)).await;
        waited.ok()?.ok()?.clone()
    }
}
