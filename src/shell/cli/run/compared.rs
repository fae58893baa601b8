//! Comparisons with another broker, read beside the loop of a domain and counted.

use crate::cli::log_args::{LogArgs, Read};
use crate::ports::AnyLog;
use crate::serve::Show;
use crate::thread;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use yardmaster_core::comparison::Comparison;
use yardmaster_core::comparison::Counted;
use yardmaster_core::cut::{Cut, Topic};
use yardmaster_drive::port::{Batch, Log};
use yardmaster_wire::avro::Codec;
use yardmaster_wire::topology::Topology;

/// How long one look at the log may wait.
const LOOK: Duration = Duration::from_millis(200);
/// Most records of one look.
const LOOK_RECORDS: usize = 500;
/// Between two tries to open the log.
const REST: Duration = Duration::from_secs(60);
/// So many that the loop has not counted yet are enough: reading waits.
const PENDING_MAX: usize = 1_000;
/// How long the end of the thread is waited for; it may be asking a broker that is away.
const END_MAX: Duration = Duration::from_secs(2);

/// Comparisons that were read and not counted yet.
#[derive(Default)]
struct Pending {
    comparisons: Vec<Counted>,
    unreadable: u64,
}

/// A thread that reads `comparison` from where it ended when it was opened. Nothing depends on it:
/// what goes wrong is reported once, and tried again.
pub(super) struct Compared {
    ends: Arc<AtomicBool>,
    pending: Arc<Mutex<Pending>>,
    thread: Option<JoinHandle<()>>,
}

impl Compared {
    /// Starts the thread if the topology has the topic.
    pub fn start(log_args: &LogArgs, read: &Read) -> anyhow::Result<Option<Compared>> {
        if !read.topology.topics.contains_key(&Topic::Comparison) {
            return Ok(None);
        }
        let (ends, pending) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Pending>>::default());
        let reader = Reader {
            log_args: log_args.clone(),
            topology: read.topology.clone(),
            ends: Arc::clone(&ends),
            pending: Arc::clone(&pending),
        };
        let thread = Some(thread::spawn("comparisons", move || reader.work())?);
        Ok(Some(Compared { ends, pending, thread }))
    }

    /// Counts what came, if the process leads: several processes of a domain read the same.
    pub fn report(&self, leads: bool, show: &mut Show) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if pending.comparisons.is_empty() && pending.unreadable == 0 {
            return;
        }
        let came = std::mem::take(&mut *pending);
        drop(pending);
        if leads {
            show.count_comparisons(&came.comparisons, came.unreadable);
        }
    }
}

impl Drop for Compared {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        let Some(thread) = self.thread.take() else { return };
        let began = Instant::now();
        while !thread.is_finished() && began.elapsed() < END_MAX {
            std::thread::sleep(Duration::from_millis(10));
        }
        if thread.is_finished() {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

/// Data of the reading thread.
struct Reader {
    log_args: LogArgs,
    topology: Topology,
    ends: Arc<AtomicBool>,
    pending: Arc<Mutex<Pending>>,
}

impl Reader {
    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    fn work(&self) {
        let mut reported = String::new();
        while self.goes_on() {
            let Err(error) = self.live() else { return };
            let why = format!("{error:#}");
            if why != reported && self.goes_on() {
                let seconds = REST.as_secs();
                tracing::warn!(
                    "comparisons with another broker are not counted: {why}; it is tried again \
                     every {seconds} s"
                );
                reported = why;
            }
            let began = Instant::now();
            while self.goes_on() && began.elapsed() < REST {
                std::thread::sleep(LOOK / 4);
            }
        }
    }

    /// Reads until it is to end.
    fn live(&self) -> anyhow::Result<()> {
        let Some(mut log) = self.log_args.comparison_log(&self.topology)? else {
            let name = &self.topology.topic(Topic::Comparison).name;
            anyhow::bail!("there is no topic {name}: make it with `yardmaster topology apply`");
        };
        let spans = log.lanes()?;
        log.assign(&Cut(spans.iter().map(|span| (span.lane, span.stable_end)).collect()))?;
        let mut codec = Codec::new(self.topology.limits.max_record_bytes);
        let mut batch = Batch::default();
        while self.goes_on() {
            if self.pending().comparisons.len() >= PENDING_MAX {
                std::thread::sleep(LOOK / 4);
                continue;
            }
            self.take(&mut log, &mut codec, &mut batch)?;
        }
        Ok(())
    }

    fn take(&self, log: &mut AnyLog, codec: &mut Codec, batch: &mut Batch) -> anyhow::Result<()> {
        batch.clear();
        log.take(batch, LOOK_RECORDS, LOOK)?;
        for writer in &batch.writers {
            // Records of a schema that cannot be read are counted as such.
            let _ = codec.learn_number(writer);
        }
        let mut came = Pending::default();
        for raw in &batch.records {
            match batch.value(raw).map(|value| codec.read_record::<Comparison>(value)) {
                Some(Ok(it)) if it.domain == self.topology.domain => {
                    came.comparisons.push(Counted::of(&it));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => came.unreadable += 1,
            }
        }
        let mut pending = self.pending();
        pending.comparisons.append(&mut came.comparisons);
        pending.unreadable += came.unreadable;
        Ok(())
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use yardmaster_core::comparison::{Agreement, AnswerOutcome, Side};

    #[test]
    fn only_a_process_that_leads_counts_and_what_came_before_is_forgotten() {
        let counted = || Counted {
            queue_type: "production".into(),
            gshare: "MC".into(),
            agreement: Agreement::Absent,
            answers: Side::ALL.map(|side| (side, AnswerOutcome::Absent, 0)),
            overlap: None,
            filters: BTreeSet::new(),
            figures: None,
        };
        let compared = Compared { ends: Arc::default(), pending: Arc::default(), thread: None };
        let mut show = Show::new("atlas", 10);
        let shown = |compared: &Compared, leads: bool, show: &mut Show| {
            compared.pending.lock().unwrap().comparisons.push(counted());
            compared.report(leads, show);
            show.turn();
            let text = show.served().scrape.text();
            let line = text.lines().find(|it| it.starts_with("yardmaster_comparisons_total{"));
            line.map(|it| it.ends_with(" 1"))
        };
        assert_eq!(shown(&compared, false, &mut show), None);
        assert_eq!(shown(&compared, true, &mut show), Some(true), "one of two");
    }
}
