//! How far long work is: a line on stderr, if that is a terminal.

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// Work that may be short shows no bar before.
const SHORT: Duration = Duration::from_millis(500);

/// All bars of this process, so that what else goes to stderr does not tear them.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// Whether stderr is a terminal that takes more than plain lines.
pub fn is_drawn() -> bool {
    static DRAWN: LazyLock<bool> = LazyLock::new(|| {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_dumb = set("TERM").is_none_or(|term| term == "dumb");
        io::stderr().is_terminal() && set("NO_COLOR").is_none() && !is_dumb
    });
    *DRAWN
}

/// Work under way. It disappears when it is dropped.
pub struct Bar {
    what: String,
    unit: &'static str,
    total: u64,
    due: Instant,
    bar: Option<ProgressBar>,
}

impl Bar {
    /// Long work of so many units.
    pub fn new(what: impl Into<String>, unit: &'static str, total: u64) -> Bar {
        Bar { what: what.into(), unit, total, due: Instant::now(), bar: None }
    }

    /// The same for work that may be short: nothing is shown at first.
    pub fn later(what: impl Into<String>, unit: &'static str, total: u64) -> Bar {
        let mut bar = Bar::new(what, unit, total);
        bar.due += SHORT;
        bar
    }

    /// So much is done.
    pub fn at(&mut self, done: u64) {
        if self.bar.is_none() && is_drawn() && Instant::now() >= self.due {
            self.bar = Some(self.draw());
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done.min(self.total));
        }
    }

    fn draw(&self) -> ProgressBar {
        let unit = self.unit;
        let template = format!("{{msg}} [{{bar:30}}] {{pos}} of {{len}} {unit}, {{eta}} left");
        let style = ProgressStyle::with_template(&template);
        let bar = ProgressBar::new(self.total).with_message(self.what.clone());
        let bar = BARS.add(bar);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A line on stderr, above a bar if there is one.
pub fn note(line: &str) {
    // As with `eprintln!`: where stderr is gone nothing can be reported.
    let _ = writeln!(Stderr, "{line}");
}

/// A line on stdout while work is under way.
#[cfg(feature = "simulation")]
pub fn print(line: &str) {
    match is_drawn() {
        true => BARS.suspend(|| println!("{line}")),
        false => println!("{line}"),
    }
}

/// Ends all bars, if the answer that is about to be printed goes to a terminal.
pub fn give_way() {
    if is_drawn() && io::stdout().is_terminal() {
        // A terminal that cannot be cleared is none.
        let _ = BARS.clear();
        BARS.set_draw_target(ProgressDrawTarget::hidden());
    }
}

/// Stderr; a bar is taken away while something is written to it.
pub struct Stderr;

impl Write for Stderr {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match is_drawn() {
            true => BARS.suspend(|| io::stderr().write(bytes)),
            false => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
