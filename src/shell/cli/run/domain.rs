//! One domain that `run` works for: from its store, as a standby, perhaps as leader, again and
//! again until it is to stop or a person has to mend something.

use super::compared::Compared;
use crate::cli::intake::IntakeBeside;
use crate::cli::log_args::{LogArgs, Read, open_store};
use crate::clock;
use crate::dirlog::Mode;
use crate::kafka::{KafkaAdmin, KafkaLog, TopicMap};
use crate::ports::{AnyLog, AnyStore};
use crate::rivals::Rivals;
use crate::serve::Show;
use crate::stuck::Stuck;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use yardmaster_core::cut::Topic;
use yardmaster_core::unit::Millis;
use yardmaster_drive::counters::{CounterPublishing, WriteCounter};
use yardmaster_drive::port::{Log, LogError, StoreError};
use yardmaster_drive::{Config, Drive, Halt};
use yardmaster_wire::record::write_counter;
use yardmaster_wire::topology::{REMOVALS, TopicSettings, Topology, removals_kept};

/// Topology, log and store of one domain.
pub(super) struct Domain {
    /// Where its log is.
    pub log_args: LogArgs,
    /// By what it is decided.
    pub read: Read,
    /// Where its store lies.
    pub store: PathBuf,
}

/// Threads that work beside the loop.
struct Aside {
    intake: Option<IntakeBeside>,
    compared: Option<Compared>,
}

impl Aside {
    /// Whether the process leads now; shows what was done since.
    fn report(&self, leads: bool, show: &mut Show) {
        if let Some(intake) = &self.intake {
            intake.report(leads, show);
        }
        if let Some(compared) = &self.compared {
            compared.report(leads, show);
        }
    }
}

/// Why one life of the loop ended.
enum End {
    /// Asked to stop, and did so in order.
    Stopped,
    /// To be begun again, as a standby, with nothing in memory.
    Again(String),
}

impl Domain {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.read.topology.domain
    }

    /// Works until it is to stop. `address` is where the process can be asked about the domain.
    ///
    /// # Errors
    /// The process cannot go on without a person; the text names the remedy.
    pub fn run(&self, address: &str, show: &mut Show, stop: &AtomicBool) -> anyhow::Result<()> {
        let limits = &self.read.topology.limits;
        let aside = Aside {
            intake: IntakeBeside::start(&self.log_args, &self.read)?,
            compared: Compared::start(&self.log_args, &self.read)?,
        };
        let progress = &self.read.topology.topic(Topic::Progress).name;
        let mut rivals = Rivals::new(self.name(), progress, limits);
        let mut pause = Duration::from_millis(200);
        let longest = Duration::from_millis(limits.backoff_max_ms as u64);
        while !stop.load(Ordering::Relaxed) {
            let began = clock::stopwatch();
            match self.live(address, show, stop, &aside, &mut rivals)? {
                End::Stopped => break,
                End::Again(why) => {
                    tracing::warn!("{why}; starting again as a standby in {pause:?}");
                    show.status.update(|status| status.leading = false);
                    nap(pause, stop);
                    let lived = Duration::from_nanos(clock::stopwatch() - began);
                    pause = if lived > longest { Duration::from_millis(200) } else { pause * 2 };
                    pause = pause.min(longest);
                }
            }
        }
        Ok(())
    }

    /// One life: from the store, as a standby, perhaps as leader, to its end.
    fn live(
        &self,
        address: &str,
        show: &mut Show,
        stop: &AtomicBool,
        aside: &Aside,
        rivals: &mut Rivals,
    ) -> anyhow::Result<End> {
        show.status.update(|status| status.restoring = true);
        let mut drive = match self.begin(address) {
            Ok(drive) => drive,
            Err(error) => return again(error, show),
        };
        show.keep(&self.store.join("history"), &self.read.epoch_config()?, &mut drive);
        show.status.update(|status| status.broker_unreachable_since = None);
        let names = self.read.topology.topics.iter();
        let mut stuck = Stuck::new(names.map(|(topic, it)| (*topic, it.name.clone())));
        let served = match serve(&mut drive, show, &mut stuck, stop, aside, rivals) {
            // Nothing was lost, so the next life need not wait for the lead to become free.
            Err(halt @ (Halt::Log(LogError::Grown { .. }) | Halt::Names { .. })) => {
                drive.finish(clock::now()).and(Err(halt))
            }
            served => served,
        };
        if !drive.leads() {
            // What was finished after the last report: the history has the last cycle too.
            show.report(&mut drive);
        }
        if drive.leads() && matches!(&served, Err(Halt::Log(LogError::Fenced(_)))) {
            rivals.fenced(drive.instance());
        }
        aside.report(false, show);
        match served {
            Ok(()) => Ok(End::Stopped),
            Err(halt) => again(halt.into(), show),
        }
    }

    fn begin(&self, address: &str) -> anyhow::Result<Drive<AnyLog, AnyStore>> {
        let read = &self.read;
        let (log, has_counters, store_not_before) = self.log()?;
        let store = open_store(&self.store)?;
        if let AnyStore::Sled(store) = &store {
            store.write_address(address)?;
        }
        let config = Config {
            instance: instance(),
            epoch_config: read.epoch_config()?,
            stopwatch: clock::stopwatch,
            uptime: Some(clock::uptime),
            verify: false,
            keeps: true,
            store_not_before,
            counters: has_counters
                .then(|| counter_publishing(read.topology.limits.tell_interval_ms)),
        };
        Ok(Drive::start(log, store, config)?)
    }

    /// The log, whether counters are published on it (they are on a Kafka that has their topic),
    /// and since when it has kept what removes a record.
    fn log(&self) -> anyhow::Result<(AnyLog, bool, Millis)> {
        let read = &self.read;
        if self.log_args.bootstrap_server.is_none() {
            return Ok((self.log_args.log(&read.topology, Mode::Write)?, false, 0));
        }
        let mut conf = self.log_args.kafka(&read.topology)?.for_a_service();
        let name = read.topology.topic(Topic::Counter).name.clone();
        let admin = KafkaAdmin::open(&conf)?;
        let has_counters = admin.partitions(&name)?.is_some();
        let not_before = clock::now() - removals_kept_by(&admin, &read.topology)?;
        if has_counters {
            conf.topics.push(TopicMap { topic: Topic::Counter, name });
        } else {
            tracing::warn!(
                "no topic {name}: counters are not published; topology apply creates it"
            );
        }
        let log = AnyLog::Kafka(Box::new(KafkaLog::open(conf)?));
        let log = self.log_args.framed(log, &read.topology, Mode::Write)?;
        Ok((log, has_counters, not_before))
    }
}

/// For how long every compacted topic keeps what removes a record; ms. Where the broker does not
/// show its settings it is taken to be as the topology needs it. An error if cycles are compacted
/// away.
fn removals_kept_by(admin: &KafkaAdmin, topology: &Topology) -> Result<Millis, LogError> {
    let wanted = removals_kept(topology);
    let progress = &topology.topic(Topic::Progress).name;
    let is_read = |it: &(&Topic, &TopicSettings)| it.0.is_read() && it.1.cleanup.compacts();
    let compacted = topology.topics.iter().filter(is_read).map(|(_, it)| &it.name);
    let names: Vec<String> = compacted.chain([progress]).cloned().collect();
    let found = match admin.describe(&names) {
        Err(LogError::Stop(_)) => return Ok(wanted),
        found => found?,
    };
    let of = |name: &String, key: &str| found.get(name)?.as_ref()?.configs.get(key).cloned();
    if let Some(policy) = of(progress, "cleanup.policy").filter(|it| it.contains("compact")) {
        return Err(LogError::Stop(format!(
            "topic {progress} has cleanup.policy={policy}, which removes the cycles that the log is \
             rebuilt from: set it to delete (kafka-configs.sh --alter --entity-type topics \
             --entity-name {progress} --add-config cleanup.policy=delete)"
        )));
    }
    let kept = names.iter().filter(|name| *name != progress);
    let kept = kept.filter_map(|name| of(name, REMOVALS)?.parse::<Millis>().ok());
    Ok(kept.fold(wanted, Millis::min))
}

/// Counters as records of our own schema.
fn counter_publishing(interval: Millis) -> CounterPublishing {
    let write: WriteCounter = |changed, at, put| {
        write_counter(changed, (at.domain, at.epoch, at.cycle, at.now), put);
    };
    CounterPublishing { interval, is_early: false, write }
}

/// Name of this instance: host, process number and start time. No two instances have the same.
fn instance() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "localhost" } else { host.trim() };
    format!("{host}:{}:{}", std::process::id(), clock::now())
}

/// Condition for another life to go better than the one that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Remedy {
    /// The broker comes back.
    Broker,
    /// Nothing: another standby is as good as the first.
    Nothing,
    /// The schema registry answers.
    Registry,
    /// The clocks agree.
    Clock,
    /// A person mends it.
    Person,
}

fn remedy(error: &anyhow::Error) -> Remedy {
    let of_log = |error: &LogError| match error {
        LogError::Unreachable(_) => Remedy::Broker,
        LogError::Unanswered(_) => Remedy::Registry,
        LogError::Fenced(_) | LogError::Aborted(_) | LogError::Grown { .. } => Remedy::Nothing,
        LogError::OutOfRange { .. } | LogError::Stop(_) => Remedy::Person,
    };
    match (error.downcast_ref::<Halt>(), error.downcast_ref::<LogError>()) {
        (Some(Halt::Log(error)), _) | (None, Some(error)) => of_log(error),
        (Some(Halt::Clock { .. }), _) => Remedy::Clock,
        (Some(Halt::Names { .. } | Halt::Repaired { .. }), _) => Remedy::Nothing,
        (Some(Halt::Store(StoreError::Stop(_)) | Halt::Lost(_)), _) | (None, None) => {
            Remedy::Person
        }
    }
}

/// Begins again after an error that a new life can mend; any other error is returned, and ends the
/// process.
fn again(error: anyhow::Error, show: &Show) -> anyhow::Result<End> {
    let why = error.to_string();
    match remedy(&error) {
        Remedy::Person => return Err(error),
        Remedy::Nothing => {}
        Remedy::Broker => unreachable_since(show),
        Remedy::Registry => {
            let waits_for_schemas = Some(why.clone());
            show.status.update(|status| status.waits_for_schemas = waits_for_schemas);
        }
        Remedy::Clock => {
            let silent_because = Some(why.clone());
            show.status.update(|status| status.silent_because = silent_because);
        }
    }
    Ok(End::Again(why))
}

fn unreachable_since(show: &Show) {
    show.status.update(|status| {
        status.broker_unreachable_since.get_or_insert_with(clock::now);
    });
}

/// The loop waits no longer for records, as it also answers questions and ends on a signal; ms.
const WAIT_MAX_MS: Millis = 100;
/// The same while the state is copied in portions; ms.
const COPY_WAIT_MS: Millis = 2;

/// A leader that cannot read for so long lets go: what it publishes is made of what it knew before.
/// By then its client was made again once.
const LET_GO: Duration = Duration::from_secs(20);

/// The loop.
fn serve(
    drive: &mut Drive<AnyLog, AnyStore>,
    show: &mut Show,
    stuck: &mut Stuck,
    stop: &AtomicBool,
    aside: &Aside,
    rivals: &mut Rivals,
) -> Result<(), Halt> {
    let jitter = drive.state().setting.limits.takeover_jitter_ms;
    let jitter =
        (yardmaster_core::id::hash(instance().as_bytes()) % (jitter.max(0) as u64 + 1)) as i64;
    rivals.decides_by(drive.topology_hash());
    // By uptime: a step of the clock is no silence of the leader.
    let (mut newest, mut heard_at) = (drive.newest(), clock::uptime());
    let (mut was_leading, mut goes_on) = (false, false);
    while !stop.load(Ordering::Relaxed) {
        let most = if drive.state().copying_for().is_some() { COPY_WAIT_MS } else { WAIT_MAX_MS };
        let wait = match drive.leads() {
            true => drive.rest(clock::now()).clamp(1, most),
            false if goes_on => 0,
            false => most,
        };
        if !drive.has_backlog() {
            drive.pump(Duration::from_millis(wait as u64))?;
        }
        if let Some(silence) = drive.log().unreachable() {
            unreachable_since(show);
            heard_at = clock::uptime();
            if drive.leads() && silence >= LET_GO {
                let seconds = silence.as_secs();
                let why = format!("nothing could be read for {seconds} s, so another may lead");
                return Err(Halt::Log(LogError::Unreachable(why)));
            }
        } else {
            show.status.update(|status| status.broker_unreachable_since = None);
        }
        show.tell_waiting_for_registry(drive.log().waiting_for_registry());
        show.tell_stuck(stuck, &drive.stuck_lanes().collect());
        if drive.leads() {
            drive.lead(clock::now())?;
        } else {
            // The history looks on the way.
            goes_on = drive.follow_past(show.next_look())? > 0 && drive.behind() > 0;
            if drive.newest() != newest {
                (newest, heard_at) = (drive.newest(), clock::uptime());
            }
            if drive.may_lead(clock::uptime(), heard_at, jitter)
                && rivals.may_lead(drive.newest_leader(), clock::uptime())
            {
                drive.take_lead(clock::now())?;
                // An own lane may be held: then it is tried again after a silence.
                heard_at = clock::uptime();
            }
        }
        let newest_leader = drive.newest_leader();
        let has_changed = newest_leader.is_some_and(|leader| rivals.see(leader, clock::uptime()));
        show.tell_lead(has_changed, rivals);
        if drive.leads() != was_leading {
            was_leading = drive.leads();
            let state = drive.state();
            tracing::info!("leading epoch {} from cycle {}", state.epoch, state.number);
            show.status.update(|status| status.silent_because = None);
        }
        aside.report(drive.leads(), show);
        show.report(drive);
        drive.check_names()?;
    }
    tracing::info!("asked to stop: finishing the cycle");
    drive.finish(clock::now())
}

fn nap(span: Duration, stop: &AtomicBool) {
    let step = Duration::from_millis(50);
    let mut left = span;
    while !left.is_zero() && !stop.load(Ordering::Relaxed) {
        let now = left.min(step);
        std::thread::sleep(now);
        left -= now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use yardmaster_core::cut::{Lane, Topic};

    #[test]
    fn only_what_can_mend_itself_is_tried_again() {
        let text = || "why".to_owned();
        let lane = Lane::new(Topic::Task, 0);
        let cases: [(LogError, Remedy); 7] = [
            (LogError::Unreachable(text()), Remedy::Broker),
            (LogError::Unanswered(text()), Remedy::Registry),
            (LogError::Fenced(text()), Remedy::Nothing),
            (LogError::Aborted(text()), Remedy::Nothing),
            (LogError::Grown { topic: Topic::Task, known: 1, found: 2 }, Remedy::Nothing),
            (LogError::OutOfRange { lane, wanted: 1, first: 2 }, Remedy::Person),
            (LogError::Stop(text()), Remedy::Person),
        ];
        for (error, wanted) in cases {
            let text = error.to_string();
            let opening = anyhow::Error::from(error);
            assert_eq!(remedy(&opening), wanted, "{text}");
            // The same error once the drive runs.
            let error = opening.downcast::<LogError>().unwrap();
            assert_eq!(remedy(&Halt::Log(error).into()), wanted, "{text}");
        }
        let (what, side) = ("it", "ahead of");
        let skew = Halt::Clock { what, skew_ms: 9, side, remedy: "set it", instance: text() };
        assert_eq!(remedy(&skew.into()), Remedy::Clock);
        assert_eq!(remedy(&Halt::Lost(text()).into()), Remedy::Person);
        assert_eq!(remedy(&Halt::Store(StoreError::Stop(text())).into()), Remedy::Person);
        assert_eq!(remedy(&anyhow::anyhow!("anything else")), Remedy::Person);
    }
}
