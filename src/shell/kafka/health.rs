//! Whether the broker answers. An idle lane and a dead broker look alike from the queue, so a
//! thread of its own asks how far the lanes reach, every few seconds.

use super::extent;
use super::queue::Client;
use crate::core::cut::Lane;
use rdkafka::ClientContext;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::KafkaError;
use std::collections::BTreeMap;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often the broker is asked, and how long it has to answer.
const PERIOD: Duration = Duration::from_secs(2);

/// The last trouble that a client told of.
#[derive(Clone, Default)]
pub(super) struct Watch {
    last: Arc<Mutex<Option<String>>>,
}

impl Watch {
    /// What the client said last, or that it said nothing.
    pub fn last(&self) -> String {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.unwrap_or_else(|| "no answer in time".to_string())
    }
}

impl ClientContext for Watch {
    fn error(&self, error: KafkaError, reason: &str) {
        let text = format!("{error}: {reason}");
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }
}

impl ConsumerContext for Watch {}

/// What the thread has found out.
#[derive(Default)]
struct Findings {
    /// Since when nothing was answered at all.
    unreachable: Option<Instant>,
    /// Since when each lane failed that does.
    failing: BTreeMap<Lane, Instant>,
}

/// The thread that asks. Dropping it lets the thread go.
pub(super) struct Probe {
    findings: Arc<Mutex<Findings>>,
    _stop: Option<Sender<()>>,
}

impl Probe {
    /// Begins to ask about these lanes.
    pub fn start(client: Arc<Client>, lanes: Vec<(Lane, String)>) -> Probe {
        let findings = Arc::new(Mutex::new(Findings::default()));
        let (stop, stopped) = channel();
        let shared = findings.clone();
        let work = move || {
            while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(PERIOD) {
                let answer = extent::stable_ends(&client, &lanes, PERIOD);
                let now = Instant::now();
                let mut findings = lock(&shared);
                for (lane, _) in &lanes {
                    let fine = answer.as_ref().is_ok_and(|ends| ends.contains_key(lane));
                    if fine {
                        findings.failing.remove(lane);
                    } else {
                        findings.failing.entry(*lane).or_insert(now);
                    }
                }
                let dumb = answer.is_err().then_some(now);
                findings.unreachable = dumb.map(|now| findings.unreachable.unwrap_or(now));
            }
        };
        // Without the thread nothing is known to fail, which is no worse than without a probe.
        let thread = std::thread::Builder::new().name("kafka-probe".into()).spawn(work);
        Probe { findings, _stop: thread.is_ok().then_some(stop) }
    }

    /// Since when the broker does not answer.
    pub fn unreachable(&self) -> Option<Instant> {
        lock(&self.findings).unreachable
    }

    /// Since when a lane fails.
    pub fn failing(&self, lane: Lane) -> Option<Instant> {
        lock(&self.findings).failing.get(&lane).copied()
    }
}

fn lock(findings: &Mutex<Findings>) -> MutexGuard<'_, Findings> {
    findings.lock().unwrap_or_else(PoisonError::into_inner)
}
