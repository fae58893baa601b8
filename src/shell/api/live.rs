//! The grid at a glance, made by the loop at most once a second and only while somebody looks.

use super::looks::{Looks, Turn};
use crate::view::View;
use crate::watched::Watched;
use axum::body::Bytes;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use yardmaster_core::engine::Engine;

/// A view is made at most so often.
const EVERY: Duration = Duration::from_millis(900);
/// So many views' queues are held as text at a time: those of the last one, and older ones that are
/// still being sent.
const TEXTS: usize = 4;

/// A view, with what was made of it for everybody who asks.
#[derive(Debug)]
pub struct Shown {
    /// The view.
    pub view: View,
    /// Its queues as JSON, once somebody asked for them.
    pub(super) queues: OnceLock<(Bytes, Turn)>,
}

/// Shared between the loop, which makes views, and those who look at them.
#[derive(Clone, Debug)]
pub struct Views {
    watched: Watched<Shown>,
    /// Whose texts of queues there are.
    pub(super) looks: Looks,
}

impl Default for Views {
    fn default() -> Views {
        Views { watched: Watched::every(EVERY), looks: Looks::of(TEXTS) }
    }
}

impl Views {
    /// At a cycle's boundary: makes a view if somebody looks and the last one is old.
    pub fn turn(&self, engine: &Engine) {
        if self.watched.is_wanted() {
            self.watched.put(Shown { view: View::of(engine), queues: OnceLock::new() });
        }
    }

    /// The newest view, no older than a second or two. While the loop restores, it is that of the
    /// last cycle it shows. `None` when the loop makes none in time.
    pub async fn get(&self, most: Duration) -> Option<Arc<Shown>> {
        self.watched.get(most).await
    }
}
