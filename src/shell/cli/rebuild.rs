//! The state made again: a log is followed from its beginning, or from what a store kept.

use crate::cli::log_args::{LogArgs, Read};
use crate::cli::outputs::newest;
use crate::cli::progress::{self, Bar};
use crate::clock;
use crate::dirlog::Mode;
use crate::ports::{AnyLog, AnyStore};
use std::time::Duration;
use yardmaster_core::unit::Millis;
use yardmaster_drive::{Config, Drive};

/// How long one look at the log may wait.
const LOOK: Duration = Duration::from_millis(200);
/// How many looks in a row may bring nothing before a cycle that is sought is given up.
const LOOKS_FOR_CYCLE: u32 = 50;

/// A drive that has followed to the end of what was published.
pub struct Rebuilt {
    /// The drive.
    pub drive: Drive<AnyLog, AnyStore>,
    /// Records folded.
    pub events: u64,
    /// Decisions read.
    pub decisions: u64,
    /// Throttles read.
    pub throttles: u64,
    /// Records on own topics that are no output of a cycle.
    pub strays: u64,
    /// Wall time; s.
    pub seconds: f64,
    /// Decisions and throttles made again: same, different, not verifiable.
    pub verified: [u64; 3],
    /// Of those not verifiable: under a configuration this version cannot read.
    pub unread: u64,
    /// The first differences.
    pub differences: Vec<String>,
}

/// How far a log is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the end of what was published.
    End,
    /// Likewise, and the state is looked at once, as it was at the end of the cycle of this
    /// number, if there is such a cycle.
    EndPast(u64),
    /// To the last cycle whose `now` is no later than this; ms since 1970.
    Moment(Millis),
}

/// Follows a log. `look` sees the state with [`Until::EndPast`].
pub fn rebuild(
    log_args: &LogArgs,
    read: &Read,
    store: AnyStore,
    verify: bool,
    until: Until,
    look: impl FnMut(&Drive<AnyLog, AnyStore>),
) -> anyhow::Result<Rebuilt> {
    let (mut rebuilt, newest) = start(log_args, read, store, verify)?;
    rebuilt.follow(newest, until, look)?;
    Ok(rebuilt)
}

/// Opens a log to follow it. Gives the number of its newest cycle too, for a bar; 0: none is drawn.
pub fn start(
    log_args: &LogArgs,
    read: &Read,
    store: AnyStore,
    verify: bool,
) -> anyhow::Result<(Rebuilt, u64)> {
    let mut log = log_args.log(&read.topology, Mode::Read)?;
    let newest = match progress::is_drawn() {
        true => newest(&mut log)?.map_or(0, |newest| newest.number),
        false => 0,
    };
    let config = Config {
        instance: format!("replay:{}", std::process::id()),
        epoch_config: read.epoch_config()?,
        stopwatch: clock::stopwatch,
        verify,
        keeps: false,
        store_not_before: 0,
        uptime: None,
        counters: None,
    };
    let drive = Drive::start(log, store, config)?;
    let rebuilt = Rebuilt {
        drive,
        events: 0,
        decisions: 0,
        throttles: 0,
        strays: 0,
        seconds: 0.0,
        verified: [0; 3],
        unread: 0,
        differences: Vec::new(),
    };
    Ok((rebuilt, newest))
}

/// The bar of a replay: a log may begin at any cycle.
struct ReplayBar {
    newest: u64,
    first: u64,
    bar: Option<Bar>,
}

impl ReplayBar {
    fn new(newest: u64) -> ReplayBar {
        ReplayBar { newest, first: 0, bar: None }
    }

    fn at(&mut self, number: u64) {
        if number == 0 || self.newest == 0 {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            self.first = number - 1;
            Bar::new("replaying", "cycles", self.newest.saturating_sub(self.first))
        });
        bar.at(number.saturating_sub(self.first));
    }
}

impl Rebuilt {
    /// Follows the log. `look` sees the state with [`Until::EndPast`].
    pub fn follow(
        &mut self,
        newest: u64,
        until: Until,
        mut look: impl FnMut(&Drive<AnyLog, AnyStore>),
    ) -> anyhow::Result<()> {
        let began = clock::stopwatch();
        let mut bar = ReplayBar::new(newest);
        let mut reported_at = began;
        let mut idle = 0;
        let mut at = match until {
            Until::EndPast(number) => Some(number),
            Until::End | Until::Moment(_) => None,
        };
        // A cycle that a process has counted may be on its way to the log.
        while idle == 0 || at.is_some() && idle < LOOKS_FOR_CYCLE {
            let taken = self.drive.pump(LOOK)?;
            let mut counted = match until {
                Until::Moment(when) => self.drive.follow_until(when)?,
                Until::End | Until::EndPast(_) => self.drive.follow_to(at.unwrap_or(u64::MAX))?,
            };
            let number = self.drive.state().number;
            if let Some(wanted) = at.take_if(|wanted| number >= *wanted) {
                if number == wanted {
                    look(&self.drive);
                }
                counted += self.drive.follow()?;
            }
            self.note();
            bar.at(self.drive.state().number);
            if matches!(until, Until::Moment(when) if self.drive.goes_past(when)) {
                break;
            }
            let at_end = self.drive.is_at_end();
            idle = if taken == 0 && counted == 0 && at_end { idle + 1 } else { 0 };
            if clock::stopwatch() - reported_at > 2_000_000_000 && !progress::is_drawn() {
                reported_at = clock::stopwatch();
                let state = self.drive.state();
                let newest = self.drive.newest();
                tracing::info!(
                    "replayed {} events, cycle {} of {newest}",
                    self.events,
                    state.number
                );
            }
        }
        self.seconds = (clock::stopwatch() - began) as f64 / 1e9;
        Ok(())
    }

    fn note(&mut self) {
        let report = self.drive.take_report();
        self.events += report.events.values().sum::<u64>();
        self.decisions += report.decisions().count() as u64;
        self.throttles += report.throttles().count() as u64;
        self.strays += report.strays.values().sum::<u64>();
        for (sum, count) in self.verified.iter_mut().zip(report.verified) {
            *sum += count;
        }
        self.unread += report.unread;
        self.differences.extend(report.differences);
        report.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    }
}
