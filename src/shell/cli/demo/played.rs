//! A simulated grid as a demo plays it: what it publishes next, what it obeys, how it fares.

use super::faults::Faults;
use super::totals::Totals;
use yardmaster_core::output::command::Command;
use yardmaster_core::output::decision::Decision;
use yardmaster_core::unit::Millis;
use yardmaster_sim::grid::{Grid, Record};

/// A simulated grid that a demo drives.
pub(super) trait Played {
    /// When it began.
    fn start(&self) -> Millis;

    /// Carries commands out; appends what is published of that.
    fn obey(&mut self, commands: &[Command], out: &mut Vec<Record>);

    /// Hears decisions and goes on to a time; appends what is published on the way.
    fn advance(&mut self, to: Millis, decisions: &[Decision], out: &mut Vec<Record>);

    /// How it fares, in a few words.
    fn progress(&self) -> String;

    /// Prints how it fared, with what the demo counted.
    fn print(&self, totals: &Totals);

    /// Whether all holds that it checks itself.
    fn is_well(&self) -> bool {
        true
    }
}

/// A grid of ATLAS, with what goes wrong in it.
pub(super) struct Atlas {
    /// The grid.
    pub grid: Grid,
    /// Faults of the grid, if it has any.
    pub faults: Option<Faults>,
}

impl From<Grid> for Atlas {
    fn from(grid: Grid) -> Atlas {
        Atlas { grid, faults: None }
    }
}

impl Played for Atlas {
    fn start(&self) -> Millis {
        self.grid.start()
    }

    fn obey(&mut self, commands: &[Command], out: &mut Vec<Record>) {
        self.grid.obey(commands, out);
    }

    fn advance(&mut self, to: Millis, decisions: &[Decision], out: &mut Vec<Record>) {
        self.grid.advance(to, decisions, out);
        if let Some(faults) = &mut self.faults {
            *out = faults.pass(&mut self.grid, std::mem::take(out), to);
        }
    }

    fn progress(&self) -> String {
        let summary = self.grid.summary();
        format!(
            "{:>7} running  {:>3.0} % of cores busy  {} waiting",
            summary.running,
            100.0 * summary.cpu_use_recent,
            summary.chunks_waiting,
        )
    }

    fn print(&self, totals: &Totals) {
        totals.print(&self.grid.summary());
    }
}
