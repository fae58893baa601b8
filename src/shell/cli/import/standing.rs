//! An import that goes on: its sources are read again and again until it is to stop.

use super::frame::Frame;
use super::load::Loaded;
use super::target::Changes;
use crate::cli::{Ended, complaints};
use crate::clock;
use crate::http::Door;
use crate::serve::Show;
use jiff::SignedDuration;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::unit::{Millis, SECOND};

/// After a failed import it is tried again after so long, doubled with each failure, at most after
/// the span that was given.
const AGAIN_FIRST: Duration = Duration::from_secs(5);
/// Between two looks at whether it is to stop; the age is brought up to date with each.
const STEP: Duration = Duration::from_millis(200);

/// A round of an import, at one topic.
pub struct Round {
    /// The topic.
    pub topic: Topic,
    /// Content of the sources.
    pub loaded: Loaded,
    /// Counts of records that were changed.
    pub changes: Changes,
}

/// Does a round of an import now and every so long, until SIGTERM or SIGINT. What goes wrong is
/// logged and tried again: the facts stay as they were published last.
pub fn run(
    frame: &Frame,
    (name, every): (&str, SignedDuration),
    door: Option<(SocketAddr, Door)>,
    round: &mut dyn FnMut() -> anyhow::Result<Vec<Round>>,
) -> Ended {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let read = frame.log_args.read()?;
    let limits = &read.topology.limits;
    let mut show = Show::new(&read.topology.domain, limits.metric_labels_max);
    if let Some((address, door)) = door {
        let scheme = door.scheme();
        let bound = show.listen(address, door)?;
        tracing::info!("serving metrics on {scheme}://{bound}");
    }
    let every = every.unsigned_abs();
    let (mut again, mut as_of) = (AGAIN_FIRST.min(every), None);
    while !stop.load(Ordering::Relaxed) {
        let wait = match round() {
            Ok(done) => {
                let changes =
                    done.iter().map(|it| it.changes).fold(Changes::default(), Changes::add);
                show.report_import(name, Ok(&changes.outcomes()));
                again = AGAIN_FIRST.min(every);
                as_of = done.iter().map(|it| it.loaded.as_of).min();
                done.iter().for_each(report);
                every
            }
            Err(why) => {
                show.report_import(name, Err(format!("{why:#}")));
                tracing::warn!(
                    "import {name}: {why:#}; what was published last stays; tried again in {again:?}"
                );
                let wait = again;
                again = (again * 2).min(every);
                wait
            }
        };
        rest(wait, &stop, || {
            let age = as_of.map(|as_of: Millis| clock::now().saturating_sub(as_of).max(0));
            show.tell_import_age(name, age);
        });
    }
    show.stop();
    Ok(ExitCode::SUCCESS)
}

/// Logs what a round changed on a topic, and what was wrong with its sources.
fn report(Round { topic, loaded, changes }: &Round) {
    let topic = topic.name();
    let age = clock::now().saturating_sub(loaded.as_of).max(0) / SECOND;
    let complaints = loaded.complaints.len();
    tracing::info!("{topic}: {changes}, as of {age} s ago; {complaints} complaints");
    // What is only not set is the source's usual state.
    let is_left_out = |complaint: &String| complaint.ends_with("left out");
    let all = loaded.complaints.iter().cloned();
    let (left_out, not_set): (Vec<_>, Vec<_>) = all.partition(is_left_out);
    complaints::summary(&loaded.silent).iter().for_each(|line| tracing::warn!("{line}"));
    complaints::summary(&left_out).iter().for_each(|line| tracing::warn!("{line}"));
    complaints::summary(&not_set).iter().for_each(|line| tracing::debug!("{line}"));
}

fn rest(span: Duration, stop: &AtomicBool, mut each: impl FnMut()) {
    let began = Instant::now();
    loop {
        each();
        let left = span.saturating_sub(began.elapsed());
        if left.is_zero() || stop.load(Ordering::Relaxed) {
            return;
        }
        std::thread::sleep(left.min(STEP));
    }
}
