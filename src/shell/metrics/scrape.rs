//! The metrics as the HTTP server shows them.

use super::current::Current;
use super::export::gauge;
use super::memory::resident_bytes;
use super::queues::QueueLoads;
use super::table::Metric;
use crate::status::Status;
use metrics::Gauge;
use metrics_exporter_prometheus::{PrometheusHandle, PrometheusRecorder};
use std::sync::Arc;

/// Gives the text that Prometheus reads.
#[derive(Clone)]
pub struct Scrape {
    handle: PrometheusHandle,
    queues: Arc<QueueLoads>,
    current: Arc<Current>,
    status: Arc<Status>,
    leading: Gauge,
    publishing: Gauge,
    ready: Gauge,
    domain_up: Gauge,
    /// Where the system states it.
    memory: Option<Gauge>,
}

impl Scrape {
    pub(super) fn new(
        recorder: &PrometheusRecorder,
        queues: Arc<QueueLoads>,
        current: Arc<Current>,
        status: Arc<Status>,
    ) -> Scrape {
        let gauge = |metric| gauge(recorder, metric, &[]);
        let [leading, publishing] = [Metric::Leading, Metric::Publishing].map(gauge);
        let [ready, domain_up] = [Metric::Ready, Metric::DomainUp].map(gauge);
        let memory = resident_bytes().map(|_| gauge(Metric::ResidentMemory));
        let handle = recorder.handle();
        Scrape { handle, queues, current, status, leading, publishing, ready, domain_up, memory }
    }

    /// The text that Prometheus reads.
    pub fn text(&self) -> String {
        self.look();
        let mut text = self.handle.render();
        self.queues.render(&mut text);
        self.current.render(&mut text);
        text
    }

    /// Brings up to date what is known without the loop.
    fn look(&self) {
        let state = self.status.get();
        let is_ready = self.status.not_ready().is_none();
        self.leading.set(f64::from(u8::from(state.leading)));
        self.publishing.set(f64::from(u8::from(state.is_publishing())));
        self.ready.set(f64::from(u8::from(is_ready)));
        self.domain_up.set(f64::from(u8::from(state.stopped.is_none())));
        if let (Some(gauge), Some(bytes)) = (&self.memory, resident_bytes()) {
            gauge.set(bytes as f64);
        }
    }

    /// Tidies up observations; to be called every few seconds where the text is not read.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }
}
