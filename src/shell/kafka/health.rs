//! Whether the broker answers. An idle lane and a dead broker look alike from the queue, so a
//! thread of its own asks how far the lanes reach, every few seconds.

use super::queue::Client;
use super::{extent, topics};
use crate::thread;
use rdkafka::consumer::Consumer;
use rdkafka::error::KafkaError;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use yardmaster_core::cut::{Lane, Topic};
use yardmaster_drive::port::{LogError, REMAKE, recreated};

/// How often the broker is asked, and how long it has to answer.
const PERIOD: Duration = Duration::from_secs(2);
/// How long a lane may fail before its topic is asked for by name, and how long it must then be
/// denied: while a leader moves, or a broker starts, no broker may know of it.
const GONE_AFTER: Duration = Duration::from_secs(5);

/// How many topics are asked for their number of partitions each time; all come by in turn.
const COUNTED: usize = 6;

/// Findings of the thread.
#[derive(Default)]
struct Findings {
    /// Since when nothing was answered at all.
    unreachable: Option<Instant>,
    /// Since when each lane failed that does.
    failing: BTreeMap<Lane, Instant>,
    /// The last stable offset of each lane that answered, as of its last answer.
    ends: BTreeMap<Lane, u64>,
    /// Error that no waiting mends: a topic that was deleted, or that we may not read any more; or
    /// that has more partitions than are read.
    lost: Option<LogError>,
}

/// A topic, how many partitions it had when the reading began, and which of its name it was.
#[derive(Clone)]
pub(super) struct Width {
    pub topic: Topic,
    pub name: String,
    pub partitions: usize,
    pub id: Option<String>,
}

/// The thread that asks. Dropping it lets the thread go.
pub(super) struct Probe {
    findings: Arc<Mutex<Findings>>,
    _stop: Option<Sender<()>>,
}

impl Probe {
    /// Begins to ask about these lanes, and whether their topics grow. `before` asked so far,
    /// through another client.
    pub fn start(
        client: Arc<Client>,
        lanes: Vec<(Lane, String)>,
        widths: Vec<Width>,
        before: Option<&Probe>,
    ) -> Probe {
        let findings = before.map(|before| {
            let Findings { unreachable, failing, ends, .. } = &*lock(&before.findings);
            let (failing, ends) = (failing.clone(), ends.clone());
            Findings { unreachable: *unreachable, failing, ends, lost: None }
        });
        let findings = Arc::new(Mutex::new(findings.unwrap_or_default()));
        let (stop, stopped) = channel();
        let shared = findings.clone();
        let work = move || {
            let mut turn = 0;
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                let old = look(&client, &lanes, &shared);
                let mut found = old.into_iter().try_for_each(|(lane, name)| {
                    let topic = extent::topic(&client, name, PERIOD, GONE_AFTER)?;
                    match topic.map_or(0, |topic| topic.partitions) {
                        count if lane.partition as usize >= count => Err(gone(*lane, name, count)),
                        _ => Ok(()),
                    }
                });
                let counted = COUNTED.min(widths.len());
                let counted: Vec<&Width> = widths.iter().cycle().skip(turn).take(counted).collect();
                found = found.and_then(|()| are_as_before(&client, &counted));
                turn = (turn + COUNTED) % widths.len().max(1);
                if let Err(error @ (LogError::Stop(_) | LogError::Grown { .. })) = found {
                    lock(&shared).lost = Some(error);
                }
            }
        };
        // Without the thread nothing is known to fail, which is no worse than without a probe.
        let thread = thread::spawn("kafka-probe", work);
        Probe { findings, _stop: thread.is_ok().then_some(stop) }
    }

    /// Since when the broker does not answer.
    pub fn unreachable(&self) -> Option<Instant> {
        lock(&self.findings).unreachable
    }

    /// Error that ends the reading, if any was found.
    pub fn lost(&self) -> Option<LogError> {
        lock(&self.findings).lost.take()
    }

    /// How far a lane reached when it last answered.
    pub fn end(&self, lane: Lane) -> Option<u64> {
        lock(&self.findings).ends.get(&lane).copied()
    }

    /// Since when a lane fails.
    pub fn failing(&self, lane: Lane) -> Option<Instant> {
        lock(&self.findings).failing.get(&lane).copied()
    }
}

/// Asks how far the lanes reach. Those that have failed for so long that their topic may be gone.
fn look<'a>(
    client: &Client,
    lanes: &'a [(Lane, String)],
    shared: &Mutex<Findings>,
) -> Vec<&'a (Lane, String)> {
    let answer = ends_of_the_led(client, lanes, shared);
    let now = Instant::now();
    let mut findings = lock(shared);
    for (lane, _) in lanes {
        let fine = answer.as_ref().is_ok_and(|ends| ends.contains_key(lane));
        if fine {
            findings.failing.remove(lane);
        } else {
            findings.failing.entry(*lane).or_insert(now);
        }
    }
    let dumb = answer.is_err().then_some(now);
    findings.ends.extend(answer.iter().flatten().map(|(lane, end)| (*lane, *end)));
    findings.unreachable = dumb.map(|now| findings.unreachable.unwrap_or(now));
    let is_old = |lane: &Lane| {
        let since = findings.failing.get(lane);
        since.is_some_and(|since| now.duration_since(*since) >= GONE_AFTER)
    };
    lanes.iter().filter(|(lane, _)| is_old(lane)).collect()
}

/// The last stable offsets. A partition without a leader takes the answer from all others, so once
/// a lane has failed, only those that have a leader are asked.
fn ends_of_the_led(
    client: &Client,
    lanes: &[(Lane, String)],
    shared: &Mutex<Findings>,
) -> Result<BTreeMap<Lane, u64>, KafkaError> {
    let has_failed = !lock(shared).failing.is_empty();
    if !has_failed {
        return extent::stable_ends(client, lanes, PERIOD);
    }
    let without = extent::leaderless(client, lanes, PERIOD)?;
    let mut led = lanes.to_vec();
    led.retain(|(lane, _)| !without.contains(lane));
    extent::stable_ends(client, &led, PERIOD)
}

/// Whether topics are those that are read, with no more partitions than are read. What else the
/// answer may be is for others to find out: while a broker starts it may not know a topic.
pub(super) fn are_as_before(client: &Client, widths: &[&Width]) -> Result<(), LogError> {
    let names: Vec<&str> = widths.iter().map(|width| width.name.as_str()).collect();
    let Ok(found) = topics::describe(client.client(), &names, PERIOD) else { return Ok(()) };
    for Width { topic, name, partitions, id } in widths {
        let Some(Ok(found)) = found.get(name) else { continue };
        let known = id.iter().map(|id| (*topic, id.clone())).collect::<Vec<_>>();
        let now = found.id.iter().map(|id| (*topic, id.clone())).collect();
        if let Some(why) = recreated(&known, &now) {
            return Err(LogError::Stop(format!("{why}, and it was being read; {REMAKE}")));
        }
        if found.partitions > *partitions {
            let (topic, known, found) = (*topic, *partitions, found.partitions);
            return Err(LogError::Grown { topic, known, found });
        }
    }
    Ok(())
}

/// The error for a partition that was being read and is no more.
fn gone(lane: Lane, name: &str, left: usize) -> LogError {
    let what = match left {
        0 => format!("the broker has no topic {name} any more"),
        left => format!("the broker has {left} partitions for {name}, created again"),
    };
    LogError::Stop(format!("{what}, and {lane} was being read: {REMAKE}"))
}

fn lock(findings: &Mutex<Findings>) -> MutexGuard<'_, Findings> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}
