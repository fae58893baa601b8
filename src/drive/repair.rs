//! Repairs of a `now` that had not come yet: which are known, whether one is needed, and how one is
//! published.
//!
//! Every `progress` record names all repairs, so the newest record is enough; neither retention nor
//! a long epoch loses them.

mod cycles;

use crate::Halt;
use crate::epoch_config::{EpochConfig, hash_of};
use crate::outputs::counted;
use crate::port::{LaneSpan, Log, OutputRecord};
use crate::publish::SET_CLOCK;
use crate::scan::read_lane;
pub(super) use cycles::known_repairs;
use cycles::{Seen, TAIL, newest_cycles};
use std::collections::{BTreeMap, BTreeSet};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_core::explain::iso;
use yardmaster_core::output::Output;
use yardmaster_core::output::decision::{DecisionId, Outcome};
use yardmaster_core::output::progress::{ENGINE_REVISION, Progress};
use yardmaster_core::output::repair::{NowRepair, NowRepairs};
use yardmaster_core::unit::Millis;
use yardmaster_wire::record;

/// A repair as a notice has it.
pub(super) fn notice_of(repair: &NowRepair) -> String {
    let NowRepair { from_cycle, until_cycle, now } = repair;
    format!(
        "the now of cycles {from_cycle} to {until_cycle} was repaired: they count as of {}, and \
         their decisions cannot be verified",
        iso(*now)
    )
}

/// A repair that would be published, or was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The cycles, and as of when they would count.
    pub repair: NowRepair,
    /// Epochs of the first and the last of these cycles.
    pub epochs: (u64, u64),
    /// The `now` of the last of them as it was published.
    pub published: Millis,
    /// Real time, as well as it is known.
    pub real: Millis,
    /// How many decisions and throttles these cycles count.
    pub outputs: usize,
}

/// Counts of the decisions of some cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Final answers: how many of each kind; a rejection by its reason.
    pub finals: BTreeMap<String, u64>,
    /// Deferrals.
    pub deferrals: u64,
}

/// Looks for a `now` ahead of real time, and repairs it.
pub struct ClockRepair<L: Log> {
    log: L,
    epoch_config: EpochConfig,
    instance: String,
    /// Whether the log's append times are a broker's, and not of this machine's clock.
    has_broker: bool,
}

impl<L: Log> ClockRepair<L> {
    /// For a log and the topology that its leader has.
    pub fn new(
        log: L,
        epoch_config: EpochConfig,
        instance: String,
        has_broker: bool,
    ) -> ClockRepair<L> {
        ClockRepair { log, epoch_config, instance, has_broker }
    }

    /// Ends it and gives the log back.
    pub fn into_log(self) -> L {
        self.log
    }

    /// The repair that is needed; `None` if there is nothing to repair.
    pub fn look(&mut self, clock: Millis) -> Result<Option<Plan>, Halt> {
        let cycles = self.cycles(clock)?;
        let newest_at = cycles.iter().map(|seen| seen.appended_at).max().unwrap_or(0);
        if self.has_broker && newest_at > clock.saturating_add(self.allowed()) {
            return Err(self.disagrees(clock, newest_at));
        }
        Ok(plan(&cycles, clock, self.allowed()))
    }

    /// Fences the leader and publishes the repair; `None`, and nothing published, if there is
    /// nothing to repair.
    pub fn execute(&mut self, clock: &dyn Fn() -> Millis) -> Result<Option<Plan>, Halt> {
        if self.look(clock())?.is_none() {
            return Ok(None);
        }
        self.log.lead()?;
        let mut cycles = self.cycles(clock())?;
        let repairs = repairs_of(&cycles);
        if repairs.is_full() {
            return Err(Halt::Lost(format!(
                "progress names {} repairs of its now already, and no more are allowed: set the \
                 clocks of all hosts right (NTP), and begin a new log",
                repairs.list().len()
            )));
        }
        // Read back, an opening that leaves `now` as it was shows the broker's time.
        let opening = self.opening(&cycles)?;
        let before = clock();
        let appended_at = self.publish(&opening)?;
        let after = clock();
        let allowed = self.allowed();
        if self.has_broker && (before > appended_at + allowed || after + allowed < appended_at) {
            return Err(self.disagrees(before, appended_at));
        }
        let real = if self.has_broker { appended_at } else { after };
        let mut last = Progress { number: opening.number + 1, farewell: true, ..opening.clone() };
        last.policies = None;
        cycles.push(Seen { progress: opening, appended_at });
        let plan = plan(&cycles, real, allowed);
        if let Some(plan) = &plan {
            last.now = real;
            last.now_repairs.push(plan.repair);
        }
        self.publish(&last)?;
        Ok(plan)
    }

    /// Counts of the decisions in the cycles of a plan.
    pub fn answers(&mut self, plan: &Plan) -> Result<Answers, Halt> {
        let cycles = plan.repair.until_cycle - plan.repair.from_cycle + 1;
        let mut answers = Answers::default();
        for span in self.log.lanes()? {
            if span.lane.topic == Topic::Decision && plan.outputs > 0 {
                let window = (2 * (plan.outputs as u64 + cycles)).saturating_add(TAIL);
                self.count_answers(&span, window, &plan.repair, &mut answers)?;
            }
        }
        Ok(answers)
    }

    /// Looks at the end of a lane of decisions, where those of the newest cycles are.
    fn count_answers(
        &mut self,
        span: &LaneSpan,
        window: u64,
        repair: &NowRepair,
        answers: &mut Answers,
    ) -> Result<(), Halt> {
        let domain = &self.epoch_config.setting.domain;
        let mut counted: BTreeSet<DecisionId> = BTreeSet::new();
        let from = span.stable_end.saturating_sub(window).max(span.first);
        read_lane(&mut self.log, span, from, &mut |codec, value, _| {
            let Ok(Output::Decision(decision)) = codec.read_output(Topic::Decision, value) else {
                return false;
            };
            let is_meant = decision.domain == *domain && repair.covers(decision.cycle);
            if is_meant && counted.insert(decision.id) {
                let kind = match &decision.outcome {
                    Outcome::Defer { .. } => {
                        answers.deferrals += 1;
                        return false;
                    }
                    Outcome::Assign(_) => "assign".to_owned(),
                    Outcome::Reject { reason } => {
                        format!("reject {}", reason.split('(').next().unwrap_or_default())
                    }
                };
                *answers.finals.entry(kind).or_default() += 1;
            }
            false
        })
    }

    fn allowed(&self) -> Millis {
        self.epoch_config.setting.limits.clock_skew_ms
    }

    /// The newest cycles: back to one that is not ahead of real time, and to a full cut.
    fn cycles(&mut self, clock: Millis) -> Result<Vec<Seen>, Halt> {
        let allowed = self.allowed();
        let spans = self.log.lanes()?;
        let Some(span) = spans.iter().find(|span| span.lane.topic == Topic::Progress) else {
            return Ok(Vec::new());
        };
        let domain = &self.epoch_config.setting.domain;
        newest_cycles(&mut self.log, span, domain, &|cycles| {
            let has_cut = cycles.iter().any(|seen| seen.progress.full);
            let begins = first_ahead(cycles, &repairs_of(cycles), clock, allowed);
            has_cut && begins > 0
        })
    }

    /// The record that opens an epoch after the newest cycle, at the same cut and `now`.
    fn opening(&self, cycles: &[Seen]) -> Result<Progress, Halt> {
        let full = cycles.iter().rposition(|seen| seen.progress.full);
        let (Some(full), Some(newest)) = (full, cycles.last()) else {
            return Err(Halt::Lost(
                "no full cut is left in progress, so no epoch can be opened by this verb: wait \
                 until the now of the last cycle has come, or begin a new log"
                    .to_owned(),
            ));
        };
        let (mut lanes, mut flags) = (BTreeMap::new(), BTreeMap::new());
        for Seen { progress, .. } in &cycles[full..] {
            lanes.extend(progress.lanes.iter().copied());
            flags.extend(progress.flags.iter().copied());
        }
        let text = cycles.iter().rev().find_map(|seen| seen.progress.policies.as_ref());
        let text = text.unwrap_or(&self.epoch_config.text);
        let newest = &newest.progress;
        Ok(Progress {
            domain: self.epoch_config.setting.domain.clone(),
            epoch: newest.epoch + 1,
            number: newest.number + 1,
            now: newest.now,
            instance: self.instance.clone(),
            lanes: lanes.into_iter().collect(),
            full: true,
            flags: flags.into_iter().collect(),
            policy_hash: hash_of(text),
            policies: Some(text.clone()),
            engine: ENGINE_REVISION,
            quiet: true,
            now_repairs: repairs_of(cycles).list().to_vec(),
            ..Progress::default()
        })
    }

    /// Publishes a cycle without outputs; gives its append time once it is read back.
    fn publish(&mut self, progress: &Progress) -> Result<Millis, Halt> {
        let lane = Lane::new(Topic::Progress, 0);
        let mut value = Vec::new();
        record::write(&mut value, progress);
        let (key, value) = (progress.domain.clone().into(), Some(value.into()));
        let record = OutputRecord { lane, key, value, headers: Vec::new() };
        self.log.publish(Vec::new(), record)?;
        self.log.settle()?;
        let spans = self.log.lanes()?;
        let found = spans.iter().find(|span| span.lane == lane);
        let mut appended_at = None;
        if let Some(span) = found {
            let domain = &self.epoch_config.setting.domain;
            let newest = newest_cycles(&mut self.log, span, domain, &|seen| !seen.is_empty())?;
            let is_it = |seen: &&Seen| {
                seen.progress.number == progress.number && seen.progress.instance == self.instance
            };
            appended_at = newest.iter().find(is_it).map(|seen| seen.appended_at);
        }
        appended_at.ok_or_else(|| {
            Halt::Lost(format!(
                "cycle {} was published, but is not in progress: look at it again with `yardmaster \
                 repair clock`",
                progress.number
            ))
        })
    }

    fn disagrees(&self, clock: Millis, broker: Millis) -> Halt {
        Halt::Clock {
            what: "our clock",
            skew_ms: (clock - broker).abs(),
            side: if clock > broker { "ahead of" } else { "behind" },
            remedy: SET_CLOCK,
            instance: self.instance.clone(),
        }
    }
}

/// The repairs that the newest of these cycles name.
fn repairs_of(cycles: &[Seen]) -> NowRepairs {
    let mut repairs = NowRepairs::default();
    for Seen { progress, .. } in cycles {
        repairs.learn(progress.number, &progress.now_repairs);
    }
    repairs
}

/// The index of the first of the newest cycles that are all ahead of real time `real`, or that were
/// ahead of their own append time before those; their number if there is none.
fn first_ahead(cycles: &[Seen], repairs: &NowRepairs, real: Millis, allowed: Millis) -> usize {
    let now = |seen: &Seen| repairs.now_of(seen.progress.number, seen.progress.now);
    if cycles.last().is_none_or(|last| now(last) <= real.saturating_add(allowed)) {
        return cycles.len();
    }
    let is_right =
        |seen: &Seen| now(seen) <= real && now(seen) <= seen.appended_at.saturating_add(allowed);
    cycles.iter().rposition(is_right).map_or(0, |at| at + 1)
}

/// The repair of these cycles at real time `real`, if one is needed. Time stands still while they
/// are counted, as if their leader had noticed its clock: so nothing expires.
fn plan(cycles: &[Seen], real: Millis, allowed: Millis) -> Option<Plan> {
    let repairs = repairs_of(cycles);
    let at = first_ahead(cycles, &repairs, real, allowed);
    let (first, last) = (cycles.get(at)?, cycles.last()?);
    let before = at.checked_sub(1).and_then(|at| cycles.get(at)).map(|seen| &seen.progress);
    let now = match before {
        Some(before) => repairs.now_of(before.number, before.now),
        None => real.min(first.appended_at),
    };
    let (first, last) = (&first.progress, &last.progress);
    Some(Plan {
        repair: NowRepair { from_cycle: first.number, until_cycle: last.number, now },
        epochs: (first.epoch, last.epoch),
        published: last.now,
        real,
        outputs: cycles[at..].iter().map(|seen| counted(&seen.progress)).sum(),
    })
}
