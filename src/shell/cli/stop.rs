//! SIGINT and SIGTERM as something to look at.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by SIGINT and SIGTERM.
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    /// From here on both signals are caught.
    pub fn on_signals() -> std::io::Result<Stop> {
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(Stop(stop))
    }

    /// Whether neither signal came.
    pub fn goes_on(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}
