//! A grid that has run for a while: in a closed loop of its own, on a log that is thrown away.

use super::live::Live;
use super::played::Atlas;
use crate::cli::Usage;
use crate::cli::log_args::Read;
use crate::clock;
use crate::serve::Show;
use std::path::{Path, PathBuf};
use yardmaster_core::unit::{HOUR, MINUTE, Millis};
use yardmaster_sim::grid::{Grid, GridPlan};

/// How long a grid has run when it begins to publish.
const WARM: Millis = HOUR;
/// Between two looks at whether it is to stop.
const PART: Millis = 2 * MINUTE;

/// A grid by a plan that has run until now, and has published nothing; `None` if it was to stop.
pub(super) fn warm(
    read: &Read,
    plan: GridPlan,
    goes_on: &dyn Fn() -> bool,
) -> anyhow::Result<Option<Grid>> {
    let end = clock::now();
    let plan = GridPlan { start: end - WARM, ..plan };
    let grid = Grid::new(plan).map_err(|unfit| Usage(unfit.to_string()))?;
    let dir = Scratch::new()?;
    let show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
    let mut live = Live::start(&dir.0, read, Atlas::from(grid), show)?;
    live.is_quiet = true;
    while live.now < end {
        if !goes_on() {
            return Ok(None);
        }
        let part = (live.now + PART).min(end);
        live.run(part)?;
    }
    let mut grid = live.grid.grid;
    // What happened meanwhile is published with all the rest.
    grid.advance(clock::now(), &[], &mut Vec::new());
    Ok(Some(grid))
}

/// A directory that is removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> anyhow::Result<Scratch> {
        let name = format!("yardmaster-demo-{}-{}", std::process::id(), clock::now());
        let dir: &Path = &std::env::temp_dir();
        let dir = dir.join(name);
        std::fs::create_dir(&dir)
            .map_err(|error| Usage(format!("{}: {error}; set TMPDIR", dir.display())))?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("{}: {error}; remove it by hand", self.0.display());
        }
    }
}
