//! `demo --compare`: the same simulated days, decided on events by each set of rules, and by
//! polling, side by side.
//!
//! Events of the grid depend on the seed alone (bad days of queues, links, storage, the course of
//! each job of a task), so runs of one seed are compared with each other, and the interval is that
//! of the differences.

use super::live::Live;
use super::played::Atlas;
use super::polled::{self, Polled, with_rules};
use super::{Demo, START, clear};
use crate::cli::log_args::Read;
use crate::cli::progress::{self, Bar};
use crate::cli::{Ended, Usage};
use crate::serve::Show;
use anyhow::ensure;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use yardmaster_core::math::student::point975;
use yardmaster_core::policy::Rules;
use yardmaster_core::state::audit::audit;
use yardmaster_core::unit::{HOUR, MINUTE, Millis, SECOND};
use yardmaster_sim::grid::{Facts, Grid, GridPlan, GridSummary};

/// The ways to decide: on events by each set of rules, and as `--polled`.
const WAYS: [&str; 4] = ["documented", "panda", "tuned", "polled"];
const POLLED: usize = 3;

/// A figure that is compared.
struct Figure {
    name: &'static str,
    /// Whether more of it is better.
    more: bool,
    of: fn(&GridSummary) -> f64,
    text: fn(f64) -> String,
}

const FIGURES: [Figure; 11] = [
    figure("jobs finished", true, |it| it.finished as f64, whole),
    figure("cores busy", true, |it| 100.0 * it.cpu_use, percent),
    figure("share error", false, |it| 100.0 * it.share_error, percent),
    figure("jobs live at the end", false, |it| it.live as f64, whole),
    figure("request to first answer, median", false, |it| it.answer_median as f64, span),
    figure("request to assignment, median", false, |it| it.assignment_median as f64, span),
    figure("request to assignment, p95", false, |it| it.assignment_p95 as f64, span),
    figure("generation to start, median", false, |it| it.wait_median as f64, span),
    figure("generation to start, p95", false, |it| it.wait_p95 as f64, span),
    figure("request to start, median", false, |it| it.start_median as f64, span),
    figure("request to start, p95", false, |it| it.start_p95 as f64, span),
];

const fn figure(
    name: &'static str,
    more: bool,
    of: fn(&GridSummary) -> f64,
    text: fn(f64) -> String,
) -> Figure {
    Figure { name, more, of, text }
}

/// Settings and facts that all runs have in common.
struct Comparison<'a> {
    demo: &'a Demo,
    /// The topology of each way.
    topologies: [Read; WAYS.len()],
    facts: Facts,
    /// Simulated hours of all runs, and how many are done.
    bar: Mutex<(Bar, u64)>,
}

impl Demo {
    /// Runs every seed in every way, and prints the table.
    pub(super) fn compare(&self, read: &Read) -> Ended {
        clear(&self.dir())?;
        let under = |rules| with_rules(read, rules);
        let [documented, panda, tuned] = Rules::ALL.map(under);
        let topologies = [documented?, panda?, tuned?, polled::by_timer(read)?];
        let hours = u64::from(self.seeds) * WAYS.len() as u64 * u64::from(self.hours());
        let bar = Mutex::new((Bar::new("comparing", "hours", hours), 0));
        let comparison = Comparison { demo: self, topologies, facts: self.facts(read)?, bar };
        comparison.done(0);
        let summaries = comparison.run_all()?;
        drop(comparison);
        let (hours, Demo { scale, seeds, .. }) = (self.hours(), self);
        println!("\n{seeds} seeds, {hours} h, scale {scale}; means over the seeds");
        table(&summaries).iter().for_each(|line| println!("{line}"));
        Ok(ExitCode::SUCCESS)
    }
}

impl Comparison<'_> {
    /// A run for each seed and way, as many at a time as there are processors: per seed, by way.
    fn run_all(&self) -> anyhow::Result<Vec<[GridSummary; WAYS.len()]>> {
        let seeds = self.demo.seeds as usize;
        let next = AtomicUsize::new(0);
        let results = Mutex::new(vec![<[GridSummary; WAYS.len()]>::default(); seeds]);
        let work = || -> anyhow::Result<()> {
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed);
                let (at, way) = (run / WAYS.len(), run % WAYS.len());
                if at >= seeds {
                    return Ok(());
                }
                let seed = self.demo.seed + at as u64;
                let summary = self.run(seed, way)?;
                let finished = summary.finished;
                progress::print(&format!("seed {seed}, {}: {finished} jobs finished", WAYS[way]));
                results.lock().unwrap_or_else(PoisonError::into_inner)[at][way] = summary;
            }
        };
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..processors).map(|_| scope.spawn(work)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            })
        })?;
        Ok(results.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// So many more simulated hours are done.
    fn done(&self, hours: u64) {
        let mut bar = self.bar.lock().unwrap_or_else(PoisonError::into_inner);
        bar.1 += hours;
        let done = bar.1;
        bar.0.at(done);
    }

    fn run(&self, seed: u64, way: usize) -> anyhow::Result<GridSummary> {
        let read = &self.topologies[way];
        let (hours, scale, speed) = (self.demo.hours(), self.demo.scale, self.demo.speed);
        let dir = self.demo.dir().join(format!("{}-{seed}", WAYS[way]));
        std::fs::create_dir_all(&dir)?;
        let (domain, facts) = (read.topology.domain.clone(), self.facts.clone());
        let grid = Grid::new(GridPlan {
            seed,
            scale,
            start: START,
            hours,
            domain,
            facts,
            speed,
            series: 0,
        })
        .map_err(|unfit| Usage(unfit.to_string()))?;
        let show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        let mut live = Live::start(&dir, read, Atlas::from(grid), show)?;
        live.is_quiet = true;
        live.polled = (way == POLLED).then(Polled::default);
        for hour in 1..=hours {
            live.run(START + Millis::from(hour) * HOUR)?;
            self.done(1);
        }
        live.drive.finish(live.now)?;
        let drifts = audit(live.drive.state()).len();
        ensure!(drifts == 0, "seed {seed}, {}: {drifts} counters drifted", WAYS[way]);
        let summary = live.grid.grid.summary();
        drop(live);
        std::fs::remove_dir_all(&dir)?;
        Ok(summary)
    }
}

/// The lines of the table.
fn table(summaries: &[[GridSummary; WAYS.len()]]) -> Vec<String> {
    let others: [usize; POLLED] = std::array::from_fn(|way| way);
    let differences = others.map(|way| format!("{:>29}", format!("{} - polled", WAYS[way])));
    let ways = WAYS.map(|name| format!("{name:>11}"));
    let mut lines = vec![format!("{:32}{}{}", "", ways.concat(), differences.concat())];
    for figure in &FIGURES {
        let of = |way: usize| summaries.iter().map(move |runs| (figure.of)(&runs[way]));
        let means: Vec<String> =
            (0..WAYS.len()).map(|way| format!("{:>11}", (figure.text)(mean(of(way))))).collect();
        let differences = others.map(|way| {
            let all: Vec<f64> = of(way).zip(of(POLLED)).map(|(ours, its)| ours - its).collect();
            format!("{:>29}", difference(figure, &all))
        });
        let line = format!("{:32}{}{}", figure.name, means.concat(), differences.concat());
        lines.push(line.trim_end().to_owned());
    }
    lines.push("+-: 95 % interval of the mean difference; ?: it holds 0".to_owned());
    lines
}

/// The mean difference with its interval, and what it means.
fn difference(figure: &Figure, all: &[f64]) -> String {
    let mean = mean(all.iter().copied());
    let sign = if mean < 0.0 { "-" } else { "+" };
    let text = format!("{sign}{}", (figure.text)(mean.abs()));
    let Some(interval) = interval(all, mean) else { return text };
    let verdict = match (mean.abs() > interval, (mean > 0.0) == figure.more) {
        (false, _) => "?",
        (true, true) => "better",
        (true, false) => "worse",
    };
    format!("{text} +- {} {verdict:6}", (figure.text)(interval))
}

/// Half of the width of the 95 % interval of the mean; `None` for fewer than two values.
fn interval(all: &[f64], mean: f64) -> Option<f64> {
    let freedom = all.len().checked_sub(1).filter(|freedom| *freedom > 0)? as f64;
    let squares: f64 = all.iter().map(|it| (it - mean) * (it - mean)).sum();
    Some(point975(freedom) * (squares / freedom / all.len() as f64).sqrt())
}

fn mean(all: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = all.len().max(1) as f64;
    all.sum::<f64>() / count
}

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

fn span(millis: f64) -> String {
    match millis {
        short if short < 2.0 * MINUTE as f64 => format!("{:.0} s", short / SECOND as f64),
        middle if middle < 2.0 * HOUR as f64 => format!("{:.0} min", middle / MINUTE as f64),
        long => format!("{:.1} h", long / HOUR as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(finished: [u64; 4], wait: [Millis; 4]) -> [GridSummary; 4] {
        [0, 1, 2, 3].map(|way| GridSummary {
            finished: finished[way],
            wait_median: wait[way],
            ..GridSummary::default()
        })
    }

    #[test]
    fn differences_are_those_of_a_seed_with_the_interval_of_their_mean() {
        let seeds = [
            runs([110, 100, 90, 100], [60_000, 90_000, 90_000, 90_000]),
            runs([224, 230, 200, 210], [61_000, 70_000, 70_000, 70_000]),
            runs([318, 310, 310, 306], [59_000, 95_000, 95_000, 95_000]),
        ];
        let lines = table(&seeds);
        // 10, 14, 12: mean 12, standard error 2 / sqrt(3), times 4.30 for two degrees of freedom.
        assert!(lines[1].contains("+12 +- 5 better"), "{}", lines[1]);
        // 0, 20, 4.
        assert!(lines[1].contains("+8 +- 26 ?"), "{}", lines[1]);
        let waits = lines.iter().find(|line| line.starts_with("generation to start, median"));
        assert!(waits.is_some_and(|line| line.contains("-25 s +- 35 s ?")), "{waits:?}");
        let alone = table(&seeds[..1]);
        let words: Vec<&str> = alone[1].split_whitespace().collect();
        let wanted = ["jobs", "finished", "110", "100", "90", "100", "+10", "+0", "-10"];
        assert_eq!(words, wanted);
    }
}
