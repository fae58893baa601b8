//! `intake`: foreign messages become records, in a process of their own or beside `run`.

use crate::cli::http_args::ServeArgs;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::pause::Pause;
use crate::cli::{Ended, Usage};
use crate::intake::{IntakeReport, live};
use crate::kafka::KafkaConf;
use crate::serve::Show;
use crate::stuck::Waits;
use crate::thread;
use clap::Args;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use yardmaster_drive::port::LogError;

/// Exit code of a process that another has replaced. A supervisor must not restart it: it would
/// fence the other in turn.
const FENCED: u8 = 3;

/// Turns the JSON of PanDA, Rucio and Harvester into our records, each exactly once. What is read
/// is stated in [[intake.source]] of the topology file.
///
/// Of all that are started for a domain the last one works; the others end with exit code 3. With
/// `in_run` in the topology the leading `run` does it, and this verb is not needed.
///
/// Example: yardmaster intake --bootstrap-server kafka:9092 --topology site.toml
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Intake {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where metrics, /livez and /readyz are served; port 0 for any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "HTTP", default_value = "127.0.0.1:9188")]
    http: SocketAddr,
    #[command(flatten)]
    serve_args: ServeArgs,
    /// Go on where a source begins if it no longer holds what is to be read next: what lay between
    /// is lost.
    #[arg(long)]
    skip_lost: bool,
}

impl Intake {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        if self.log_args.dir.is_some() {
            return Err(
                Usage("intake reads a Kafka: give --bootstrap-server HOST:PORT".into()).into()
            );
        }
        let conf = self.log_args.kafka(&read.topology)?.for_a_service();
        if read.topology.intake.sources.is_empty() {
            let why = format!("{}: no [[intake.source]]: name at least one topic", read.name);
            return Err(Usage(why).into());
        }
        let limits = &read.topology.limits;
        let door = self.serve_args.door(self.http, limits)?;
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let mut show = Show::new(&read.topology.domain, limits.metric_labels_max);
        let scheme = door.scheme();
        let bound = show.listen(self.http, door)?;
        tracing::info!("serving metrics on {scheme}://{bound}");
        let goes_on = || !stop.load(Ordering::Relaxed);
        let mut pause = Pause::new("intake", &read.topology);
        while goes_on() {
            let lived = live(&conf, &read.topology, self.skip_lost, &goes_on, &mut |report| {
                if !report.is_reading_back {
                    pause.reset();
                }
                show.report_intake(&report);
            });
            match lived {
                Ok(()) => {}
                Err(error @ LogError::Fenced(_)) => {
                    tracing::error!("intake: {error}; this process ends, and the other works");
                    return Ok(ExitCode::from(FENCED));
                }
                Err(error @ LogError::Stop(_)) => return Err(error.into()),
                Err(error) => pause.wait(&error, &goes_on),
            }
        }
        show.stop();
        Ok(ExitCode::SUCCESS)
    }
}

/// Result of the work; a panic is an error like others, after which it is begun again with nothing
/// in memory.
fn guarded(work: impl FnOnce() -> Result<(), LogError>) -> Result<(), LogError> {
    let panicked = || LogError::Aborted("it panicked; the log has the place".to_owned());
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(panicked()))
}

/// Intake beside a `run`: works while that leads. Its errors are reported and it is tried again;
/// they end nothing, since brokerage goes on with what is known.
pub(super) struct IntakeBeside {
    leads: Arc<AtomicBool>,
    ends: Arc<AtomicBool>,
    report: Arc<Mutex<Option<IntakeReport>>>,
    /// Why it does not work now.
    down: Arc<Mutex<Option<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl IntakeBeside {
    /// Starts the thread if the topology has it so and the log is a Kafka.
    pub(super) fn start(log_args: &LogArgs, read: &Read) -> anyhow::Result<Option<IntakeBeside>> {
        if !read.topology.intake.in_run {
            return Ok(None);
        }
        if log_args.dir.is_some() {
            tracing::warn!("intake: left out, since it reads a Kafka and this is a directory");
            return Ok(None);
        }
        let conf = log_args.kafka(&read.topology)?.for_a_service();
        let (leads, ends, report) = (Arc::default(), Arc::default(), Arc::default());
        let mut beside = IntakeBeside { leads, ends, report, down: Arc::default(), thread: None };
        let work = beside.work(conf, read);
        beside.thread = Some(thread::spawn("intake", work)?);
        Ok(Some(beside))
    }

    fn work(&self, conf: KafkaConf, read: &Read) -> impl FnOnce() + Send + 'static {
        let (leads, ends, report) = (self.leads.clone(), self.ends.clone(), self.report.clone());
        let (topology, mut pause) = (read.topology.clone(), Pause::new("intake", &read.topology));
        let down = Arc::clone(&self.down);
        let is_down = move |why: Option<String>| {
            *down.lock().unwrap_or_else(PoisonError::into_inner) = why;
        };
        move || {
            let works = || leads.load(Ordering::Relaxed) && !ends.load(Ordering::Relaxed);
            while !ends.load(Ordering::Relaxed) {
                if !works() {
                    std::thread::sleep(Duration::from_millis(50));
                    continue;
                }
                let mut report = |new: IntakeReport| {
                    if !new.is_reading_back {
                        pause.reset();
                        is_down(None);
                    } else if let Some((it, why)) = new.stuck.first()
                        && it.waits == Waits::Intake
                    {
                        is_down(Some(why.clone()));
                    }
                    let mut sum = report.lock().unwrap_or_else(PoisonError::into_inner);
                    let mut new = new;
                    if let Some(before) = sum.take() {
                        new.counts.add(&before.counts);
                    }
                    *sum = Some(new);
                };
                let lived = guarded(|| live(&conf, &topology, false, &works, &mut report));
                if let Err(error) = lived {
                    is_down(Some(error.to_string()));
                    pause.wait(&error, &works);
                }
            }
        }
    }

    /// Whether the process leads now; shows what was done since.
    pub(super) fn report(&self, leads: bool, show: &mut Show) {
        self.leads.store(leads, Ordering::Relaxed);
        let report = self.report.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(report) = report {
            show.count_intake(&report);
        }
        let down = self.down.lock().unwrap_or_else(PoisonError::into_inner).clone();
        show.tell_intake_down(down.filter(|_| leads));
        if !leads {
            show.tell_intake_stuck(Vec::new());
        }
    }
}

impl Drop for IntakeBeside {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.ends.store(true, Ordering::Relaxed);
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_of_intake_beside_a_run_is_an_error() {
        assert!(guarded(|| Ok(())).is_ok());
        let found = guarded(|| panic!("a defect"));
        assert!(found.is_err_and(|it| it.to_string().contains("it panicked")));
    }
}
