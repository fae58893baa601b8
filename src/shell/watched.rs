//! A look at the engine that the loop makes only while somebody wants it, and not too often; all who
//! ask share it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Shared between the loop, which makes looks, and those who ask.
#[derive(Debug)]
pub struct Watched<T>(Arc<Inner<T>>);

#[derive(Debug)]
struct Inner<T> {
    began: Instant,
    every: Duration,
    /// When somebody last asked; ms since `began`, plus 1. 0: never.
    asked: AtomicU64,
    made: Mutex<Option<Instant>>,
    latest: watch::Sender<Option<(Instant, Arc<T>)>>,
}

impl<T> Clone for Watched<T> {
    fn clone(&self) -> Watched<T> {
        Watched(Arc::clone(&self.0))
    }
}

impl<T> Watched<T> {
    /// None was made yet. While somebody asks, one is made at most so often.
    pub fn every(every: Duration) -> Watched<T> {
        Watched(Arc::new(Inner {
            began: Instant::now(),
            every,
            asked: AtomicU64::new(0),
            made: Mutex::new(None),
            latest: watch::Sender::new(None),
        }))
    }

    fn made(&self) -> Option<Instant> {
        *self.0.made.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether somebody asked lately, and the last one is old.
    pub fn is_wanted(&self) -> bool {
        let asked = self.0.asked.load(Ordering::Relaxed);
        let since = self.0.began.elapsed().saturating_sub(Duration::from_millis(asked));
        let is_asked = asked > 0 && since <= self.0.every * 3;
        is_asked && self.made().is_none_or(|made| made.elapsed() >= self.0.every)
    }

    /// Shows one.
    pub fn put(&self, made: T) -> Arc<T> {
        let (now, made) = (Instant::now(), Arc::new(made));
        *self.0.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        self.0.latest.send_replace(Some((now, Arc::clone(&made))));
        made
    }

    /// The newest one, no older than half as long again as one is made; `None` when the loop makes
    /// none in time.
    pub async fn get(&self, most: Duration) -> Option<Arc<T>> {
        let asked = u64::try_from(self.0.began.elapsed().as_millis()).unwrap_or(u64::MAX - 1);
        self.0.asked.store(asked + 1, Ordering::Relaxed);
        let fresh = self.0.every * 3 / 2;
        let mut latest = self.0.latest.subscribe();
        let is_fresh = |made: &Option<(Instant, Arc<T>)>| {
            made.as_ref().is_some_and(|(made, _)| made.elapsed() <= fresh)
        };
        let waited = tokio::time::timeout(most, latest.wait_for(is_fresh)).await;
        waited.ok()?.ok()?.as_ref().map(|(_, made)| Arc::clone(made))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_made_while_somebody_asks_and_all_share_it() {
        let watched: Watched<u32> = Watched::every(Duration::from_secs(60));
        assert!(!watched.is_wanted(), "nobody asks");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let short = Duration::from_millis(1);
        assert_eq!(runtime.block_on(watched.get(short)), None);
        assert!(watched.is_wanted());
        watched.put(7);
        assert!(!watched.is_wanted(), "it is new");
        let two = [watched.clone(), watched].map(|it| runtime.block_on(it.get(short)).unwrap());
        assert!(*two[0] == 7 && Arc::ptr_eq(&two[0], &two[1]));
    }
}
