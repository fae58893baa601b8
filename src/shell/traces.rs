//! Traces of the way of requests for an OpenTelemetry collector: asked, read, folded, judged,
//! published. They are made of moments that the loop notes anyway. The loop hands them over and
//! never waits: beyond a bound they are given up, and counted.

mod spans;

use crate::fetch::Source;
use crate::thread;
use spans::{AnswerTimes, TracedAnswer, batch};
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use ureq::Agent;
use yardmaster_core::state::State;
use yardmaster_drive::report::Report;

/// Answers that may wait for their transaction, and for the thread that sends.
const WAITING_MAX: usize = 4_096;
/// Answers that are sent at a time at most.
const BATCH_MAX: usize = 512;
/// How long an answer waits for others to be sent with.
const BATCH_WAIT: Duration = Duration::from_secs(5);
/// How long a collector may take to answer; an end in order waits for no longer.
const ANSWER_MAX: Duration = Duration::from_secs(5);
/// How often a collector that does not answer is reported.
const COMPLAINT: Duration = Duration::from_secs(60);

/// Where traces are sent, as OpenTelemetry's environment states it.
#[derive(Clone)]
pub struct Collector {
    /// The address that spans are posted to.
    url: String,
    headers: Vec<(String, String)>,
    service: String,
}

impl Collector {
    /// A collector at its base address, which takes OTLP over HTTP as JSON. Headers and the name of
    /// the service are taken by `variable` of `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`.
    ///
    /// # Errors
    /// The address or a header is none; the text names the remedy, and no header's value.
    pub fn new(
        endpoint: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Collector, String> {
        let is_secure = endpoint.starts_with("https://");
        if !is_secure && !endpoint.starts_with("http://") {
            return Err(format!(
                "--otlp-endpoint {}: give http://HOST:4318 or https://HOST:4318, where a \
                 collector takes OTLP over HTTP",
                shown(endpoint)
            ));
        }
        if is_secure && cfg!(not(feature = "tls")) {
            return Err(format!(
                "--otlp-endpoint {}: this program is built without TLS; build it with \
                 --features tls",
                shown(endpoint)
            ));
        }
        let given = variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
        let header = |pair: &str| {
            let pair = pair.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
            let pair = pair.filter(|(name, _)| !name.is_empty());
            pair.map(|(name, value)| (name.to_owned(), decoded(value))).ok_or_else(|| {
                "OTEL_EXPORTER_OTLP_HEADERS: found no `=` after a name; give NAME=VALUE, with \
                 commas between"
                    .to_owned()
            })
        };
        let given = given.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        Ok(Collector {
            url: format!("{}/v1/traces", endpoint.trim_end_matches('/')),
            headers: given.map(header).collect::<Result<_, _>>()?,
            service: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "yardmaster".to_owned()),
        })
    }
}

/// An address without what may be secret in it.
fn shown(endpoint: &str) -> Source {
    Source::Url(endpoint.to_owned())
}

/// A header's value as OpenTelemetry writes it in a variable: some bytes as `%20`. What is no such
/// byte stands for itself.
fn decoded(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.split_first_chunk::<2>().filter(|_| *first == b'%');
        let byte = digits.and_then(|(digits, _)| hex::decode(digits).ok()?.pop());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The loop's side.
pub struct Traces {
    /// Answers whose transaction is not confirmed yet.
    waiting: VecDeque<TracedAnswer>,
    answers: Option<SyncSender<TracedAnswer>>,
    thread: Option<JoinHandle<()>>,
    lost: u64,
    complained: Option<Instant>,
}

impl Traces {
    /// Begins to send what a process of this name answers.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(collector: Collector, instance: String) -> std::io::Result<Traces> {
        let (answers, sent) = sync_channel(WAITING_MAX);
        let thread = thread::spawn("traces", move || send_all(&collector, &instance, &sent))?;
        Ok(Traces {
            waiting: VecDeque::new(),
            answers: Some(answers),
            thread: Some(thread),
            lost: 0,
            complained: None,
        })
    }

    /// Takes what was decided since the last call, and hands over what is committed. Who does not
    /// lead any more may not have published what was not confirmed: that is forgotten.
    pub fn turn(&mut self, report: &Report, state: &State, leads: bool) {
        if !leads {
            self.waiting.clear();
            return;
        }
        self.take(report, state);
        let Some(confirmed) = report.confirmed else { return };
        let took = report.commit_ns.last().copied().unwrap_or(0);
        while self.waiting.front().is_some_and(|it| it.cycle <= confirmed)
            && let Some(answer) = self.waiting.pop_front()
        {
            // Of a cycle before the last one that is confirmed the transaction's time is not known.
            let took = if answer.cycle == confirmed { took } else { 0 };
            if let Some(answers) = &self.answers
                && let Err(TrySendError::Full(_)) = answers.try_send(answer.committed(took))
            {
                self.lost += 1;
            }
        }
        if self.lost > 0 && self.complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            self.complained = Some(Instant::now());
            let lost = std::mem::take(&mut self.lost);
            tracing::warn!("traces: {lost} answers were given up: the collector is too slow");
        }
    }

    /// Takes decisions that this process made. What it reads back has no times.
    fn take(&mut self, report: &Report, state: &State) {
        if report.decision_ns.is_empty() {
            return;
        }
        let mut before = 0;
        for (decision, judge) in report.decisions().zip(&report.decision_ns) {
            let times = AnswerTimes {
                fold: report.fold_ns,
                before,
                judge: *judge,
                cycle: report.cycle_ns.last().copied().unwrap_or(0),
                commit: 0,
            };
            before += judge;
            let request = state.requests.of(&decision.subject);
            let asked_at = request.and_then(|it| it.task.as_ref()).map(|task| task.asked_at);
            if self.waiting.len() >= WAITING_MAX {
                self.waiting.pop_front();
                self.lost += 1;
            }
            self.waiting.push_back(TracedAnswer::of(decision, asked_at, times));
        }
    }
}

impl Drop for Traces {
    /// Waits until what was handed over is sent.
    fn drop(&mut self) {
        self.answers = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("traces: the thread that sends them had panicked");
        }
    }
}

/// Sends answers in batches, until there are no more. What a collector does not take is given up.
fn send_all(collector: &Collector, instance: &str, answers: &Receiver<TracedAnswer>) {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(ANSWER_MAX))
        .user_agent(concat!("yardmaster/", env!("CARGO_PKG_VERSION")));
    let agent = crate::fetch::secure(config).build().new_agent();
    let (mut lost, mut complained) = (0, None::<Instant>);
    while let Some(waiting) = next_batch(answers) {
        let Err(why) = post(&agent, collector, &waiting, instance) else { continue };
        lost += waiting.len();
        if complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            complained = Some(Instant::now());
            tracing::warn!(
                "traces: {} does not take them: {why}; {lost} answers were given up (OTLP over \
                 HTTP, usually port 4318)",
                shown(&collector.url)
            );
            lost = 0;
        }
    }
}

/// The next answers to send together; `None`: there are no more.
fn next_batch(answers: &Receiver<TracedAnswer>) -> Option<Vec<TracedAnswer>> {
    let mut waiting = vec![answers.recv().ok()?];
    let until = Instant::now() + BATCH_WAIT;
    while waiting.len() < BATCH_MAX {
        match answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => waiting.push(answer),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    Some(waiting)
}

fn post(
    agent: &Agent,
    collector: &Collector,
    answers: &[TracedAnswer],
    instance: &str,
) -> Result<(), String> {
    let mut request = agent.post(&collector.url).header("Content-Type", "application/json");
    for (name, value) in &collector.headers {
        request = request.header(name, value);
    }
    let body = batch(answers, &collector.service, instance).to_string();
    let response = request.send(body).map_err(|error| error.to_string())?;
    match response.status() {
        status if status.is_success() => Ok(()),
        status => Err(format!("it answers {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use yardmaster_core::output::decision::{Decision, Outcome};
    use yardmaster_core::state::Setting;

    fn collector(endpoint: &str, headers: &str) -> Result<Collector, String> {
        let headers = headers.to_owned();
        Collector::new(endpoint, |name| {
            (name == "OTEL_EXPORTER_OTLP_HEADERS").then(|| headers.clone())
        })
    }

    #[test]
    fn an_address_or_header_that_is_none_is_named_and_no_value_is_shown() {
        let good = collector("http://127.0.0.1:4318/", "api-key=hush, a=b=c,").unwrap();
        assert_eq!(good.url, "http://127.0.0.1:4318/v1/traces");
        assert_eq!(good.headers[1], ("a".to_owned(), "b=c".to_owned()));
        let why = collector("127.0.0.1:4317", "").err().unwrap();
        assert!(why.contains("127.0.0.1:4317") && why.contains("4318"), "{why}");
        let why = collector("ftp://u:hush@a/b?token=hush", "").err().unwrap();
        assert!(why.contains("ftp://a/b") && !why.contains("hush"), "{why}");
        let coded = collector("http://a:4318", "Authorization=Basic%20a%3D%3d%zz%").unwrap();
        assert_eq!(coded.headers[0].1, "Basic a==%zz%");
        let why = collector("http://a:4318", "hush").err().unwrap();
        assert!(why.contains("NAME=VALUE") && !why.contains("hush"), "{why}");
    }

    fn report(cycle: u64, confirmed: Option<u64>) -> Report {
        let outcome = Outcome::Defer { until: 9_000 };
        let decision = Decision::new("atlas", &format!("{cycle}/1"), 0, 1, outcome);
        let decision = Decision { cycle, now: 5_000, ..decision };
        Report {
            outputs: vec![decision.into()],
            decision_ns: vec![1],
            confirmed,
            ..Report::default()
        }
    }

    /// An answer is sent once its transaction is committed, with the headers that were given.
    #[test]
    fn a_collector_gets_what_is_committed() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let got = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut text = String::new();
            let mut bytes = [0; 65_536];
            while !text.ends_with("]}]}]}") {
                let count = stream.read(&mut bytes).unwrap();
                assert!(count > 0, "it ends early: {text}");
                text += std::str::from_utf8(&bytes[..count]).unwrap();
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            text
        });
        let collector = collector(&format!("http://{address}"), "api-key=hush").unwrap();
        let mut traces = Traces::start(collector, "here".to_owned()).unwrap();
        let state = State::new(Setting::default());
        // The lead was lost with this one: another process publishes that cycle.
        traces.turn(&report(1, None), &state, true);
        assert_eq!(traces.waiting.len(), 1);
        traces.turn(&Report { confirmed: Some(1), ..Report::default() }, &state, false);
        assert_eq!(traces.waiting.len(), 0);
        traces.turn(&report(3, None), &state, true);
        traces.turn(&report(4, Some(3)), &state, true);
        drop(traces);
        let got = got.join().unwrap();
        assert!(
            got.starts_with("POST /v1/traces HTTP/1.1") && got.contains("api-key: hush"),
            "{got}"
        );
        assert!(got.contains("\"3/1\""), "{got}");
        assert!(!got.contains("\"1/1\"") && !got.contains("\"4/1\""), "{got}");
    }

    /// The loop goes on at once, however many answers there are and whatever the collector does.
    #[test]
    fn a_collector_that_does_not_answer_costs_nothing_but_traces() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = collector(&format!("http://{}", silent.local_addr().unwrap()), "").unwrap();
        let mut traces = Traces::start(collector, String::new()).unwrap();
        let state = State::new(Setting::default());
        let begun = Instant::now();
        for cycle in 1..=3 * WAITING_MAX as u64 {
            traces.turn(&report(cycle, Some(cycle)), &state, true);
        }
        assert!(begun.elapsed() < ANSWER_MAX, "{:?}", begun.elapsed());
        assert!(traces.complained.is_some());
        // The listener's end ends what waits for it.
        drop(silent);
    }
}
