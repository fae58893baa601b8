//! An import that goes on: its sources are read again and again until it is to stop.

use super::load::{ImportKind, Loaded};
use super::target::{Changes, Target};
use super::{Facts, complaints};
use crate::cli::Ended;
use crate::clock;
use crate::fetch::Fetch;
use crate::http::Door;
use crate::serve::Show;
use jiff::SignedDuration;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use yardmaster_core::unit::{Millis, SECOND};

/// After a failed import it is tried again after so long, doubled with each failure, at most after
/// the span that was given.
const AGAIN_FIRST: Duration = Duration::from_secs(5);
/// Between two looks at whether it is to stop; the age is brought up to date with each.
const STEP: Duration = Duration::from_millis(200);

/// Reads the sources now and every so long, until SIGTERM or SIGINT. What goes wrong is logged and
/// tried again: the facts stay as they were published last.
pub fn run(
    facts: &Facts,
    kind: ImportKind,
    (name, every): (&str, SignedDuration),
    fetch: &Fetch,
    target: &mut Target,
    door: Option<(SocketAddr, Door)>,
) -> Ended {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let read = facts.log_args.read()?;
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
        let wait = match import(facts, kind, fetch, target) {
            Ok((loaded, changes)) => {
                show.report_import(name, Ok(&changes.outcomes()));
                report(kind, &loaded, changes);
                (again, as_of) = (AGAIN_FIRST.min(every), Some(loaded.as_of));
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

/// One import: nothing is published unless all sources could be read and have what can be used.
fn import(
    facts: &Facts,
    kind: ImportKind,
    fetch: &Fetch,
    target: &mut Target,
) -> anyhow::Result<(Loaded, Changes)> {
    let loaded = facts.load(kind, fetch)?;
    if loaded.is_of_no_use() {
        let first = &loaded.complaints[0];
        let count = loaded.complaints.len();
        anyhow::bail!("nothing in it can be used: {first} ({count} complaints)");
    }
    let changes = target.compare(&loaded, facts.may_shrink)?;
    target.change(&loaded)?;
    Ok((loaded, changes))
}

fn report(kind: ImportKind, loaded: &Loaded, changes: Changes) {
    let topic = kind.topic().name();
    let age = clock::now().saturating_sub(loaded.as_of).max(0) / SECOND;
    let complaints = loaded.complaints.len();
    tracing::info!("{topic}: {changes}, as of {age} s ago; {complaints} complaints");
    // What is only not set is the source's usual state.
    let is_left_out = |complaint: &String| complaint.ends_with("left out");
    let all = loaded.complaints.iter().cloned();
    let (left_out, not_set): (Vec<_>, Vec<_>) = all.partition(is_left_out);
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
