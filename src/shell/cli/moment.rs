//! A moment in the past, and the cycle of a log that was the newest one then.

use crate::cli::Usage;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::{newest, records};
use crate::cli::rebuild::{Rebuilt, Until, rebuild};
use crate::dirlog::Mode;
use crate::ports::{AnyLog, AnyStore};
use crate::when::When;
use yardmaster_core::cut::Topic;
use yardmaster_core::explain::iso;
use yardmaster_core::output::progress::Progress;
use yardmaster_core::output::repair::NowRepairs;
use yardmaster_core::unit::Millis;
use yardmaster_drive::Drive;

/// The last cycle whose `now` was no later than a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsOf {
    /// Its number.
    pub cycle: u64,
    /// Its `now`.
    pub now: Millis,
    /// The moment that was asked for, no earlier than `now`.
    pub asked: Millis,
}

impl AsOf {
    /// Finds it in a log that is open; an age is one before the last cycle.
    ///
    /// # Errors
    /// With both ends of the log, if the moment does not lie between them.
    pub fn find(log: &mut AnyLog, domain: &str, when: When) -> anyhow::Result<AsOf> {
        let cycles = cycles(log, domain)?;
        let ends = cycles.first().zip(cycles.iter().max_by_key(|it| it.cycle));
        let Some((first, last)) = ends else {
            return Err(Usage("--at: the log has no cycle".to_owned()).into());
        };
        let asked = when.before(last.now);
        if asked < first.now || asked > last.now {
            return Err(beyond(asked, first.now, last.now));
        }
        let before = cycles.iter().filter(|it| it.now <= asked).max_by_key(|it| it.cycle);
        Ok(AsOf { asked, ..*before.unwrap_or(first) })
    }

    /// The one that a drive is at.
    pub fn of(drive: &Drive<AnyLog, AnyStore>) -> AsOf {
        AsOf::at(drive.state().number, drive.state().now)
    }

    fn at(cycle: u64, now: Millis) -> AsOf {
        AsOf { cycle, now, asked: now }
    }

    /// Names it on stderr, and what it is for: `as of`, `against`.
    pub fn report(&self, how: &str) {
        eprintln!("{how} cycle {}, {}", self.cycle, iso(self.now));
    }
}

impl LogArgs {
    /// A moment that a flag gives; an age is one before the log's last cycle.
    ///
    /// # Errors
    /// It is an age, and the log has no cycle, or cannot be read.
    pub fn moment(&self, read: &Read, flag: &str, when: When) -> anyhow::Result<Millis> {
        if let When::At(moment) = when {
            return Ok(moment);
        }
        let last = newest(&mut self.log_of(&read.topology, &[Topic::Progress])?)?;
        let last = last.filter(|it| it.now > 0).ok_or_else(|| {
            Usage(format!(
                "{flag}: the log has no cycle that an age could be before; give a moment \
                 (2026-05-01T12:00:00Z)"
            ))
        })?;
        Ok(when.before(last.now))
    }
}

/// The `now` of the first cycle of a log and of its last; `None`: it has no cycle.
///
/// # Errors
/// The log cannot be read.
pub fn ends(log_args: &LogArgs, read: &Read) -> anyhow::Result<Option<[Millis; 2]>> {
    let mut log = log_args.log(&read.topology, Mode::Read)?;
    let cycles = cycles(&mut log, &read.topology.domain)?;
    let last = cycles.iter().max_by_key(|it| it.cycle);
    Ok(cycles.first().zip(last).map(|(first, last)| [first.now, last.now]))
}

/// The cycles of a log from its first full cut on, each with the `now` that it is counted at.
fn cycles(log: &mut AnyLog, domain: &str) -> anyhow::Result<Vec<AsOf>> {
    let mut cycles: Vec<AsOf> = Vec::new();
    let mut repairs = NowRepairs::default();
    records(log, Topic::Progress, u64::MAX, |codec, value| {
        let progress = value.and_then(|value| codec.read_record::<Progress>(value).ok());
        let Some(progress) = progress.filter(|it| it.domain == domain) else { return };
        repairs.learn(progress.number, &progress.now_repairs);
        // Nothing is known of the state before the first full cut.
        if !cycles.is_empty() || progress.full {
            cycles.push(AsOf::at(progress.number, progress.now));
        }
    })?;
    for it in &mut cycles {
        it.now = repairs.now_of(it.cycle, it.now);
    }
    // A new log begins with a cycle before any time is known.
    cycles.retain(|it| it.now > 0);
    Ok(cycles)
}

fn beyond(when: Millis, first: Millis, last: Millis) -> anyhow::Error {
    let side = if when < first { "before the first" } else { "after the last" };
    Usage(format!(
        "--at {}: {side} cycle of the log; give a moment from {} to {}",
        iso(when),
        iso(first),
        iso(last)
    ))
    .into()
}

/// The state as it was at a moment, made again from the log.
///
/// # Errors
/// With both ends of the log, if the moment does not lie between them.
pub fn rebuild_at(log_args: &LogArgs, read: &Read, when: When) -> anyhow::Result<Rebuilt> {
    let mut log = log_args.log(&read.topology, Mode::Read)?;
    let until = Until::Moment(AsOf::find(&mut log, &read.topology.domain, when)?.asked);
    drop(log);
    let rebuilt = rebuild(log_args, read, AnyStore::Nothing, false, until, |_| ())?;
    Ok(rebuilt)
}
