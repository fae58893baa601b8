//! `run`: serve, for one domain or several.

mod compared;
mod domain;

use crate::cli::http_args::ServeArgs;
use crate::cli::log_args::LogArgs;
use crate::cli::{Ended, Usage};
use crate::http::Door;
use crate::serve::{Show, serve};
use crate::store::SledStore;
use crate::traces::{Collector, Traces};
use clap::Args;
use domain::Domain;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use yardmaster_core::limits::Limits;
use yardmaster_wire::topology;

/// Serves: as a standby until the lead is free, then as leader. SIGTERM finishes the cycle,
/// publishes a final progress record, stores everything and exits 0.
///
/// With several --topology one process works for several domains, each as if it were alone: the
/// stores lie in DIR/DOMAIN below --store, logs of --dir in DIR/DOMAIN. A domain that stops with an
/// error does not stop the others; the process then exits 1 at its end.
///
/// Examples:
///   yardmaster run --bootstrap-server kafka:9092 --store /var/lib/yardmaster
///   yardmaster run --dir yard
///   yardmaster run --dir new --create
///   yardmaster run --bootstrap-server kafka:9092 --topology a.toml --topology b.toml
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Run {
    #[command(flatten)]
    log_args: LogArgs,
    /// Where the store lies; leader and standby have stores of their own.
    #[arg(long, value_name = "DIR", help_heading = "Store")]
    store: Option<PathBuf>,
    /// Where metrics, /livez, /readyz and questions are served; port 0 for any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "HTTP", default_value = "127.0.0.1:9187")]
    http: SocketAddr,
    /// With --dir: make a new log if the directory is missing or empty.
    #[arg(long)]
    create: bool,
    #[command(flatten)]
    serve_args: ServeArgs,
    /// Where a collector takes traces of the way of each request, as OTLP over HTTP in JSON:
    /// http://HOST:4318. Headers are taken of OTEL_EXPORTER_OTLP_HEADERS, the service's name of
    /// OTEL_SERVICE_NAME.
    #[arg(long, value_name = "URL", help_heading = "Traces")]
    #[arg(env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    otlp_endpoint: Option<String>,
    /// Read the topology and what it has of the log, show what would be done, and stop.
    #[arg(long)]
    dry_run: bool,
}

/// The stack of a domain's thread, as large as that of a main thread; bytes.
const STACK: usize = 8 << 20;

impl Run {
    /// Whether it only prints what would be done.
    pub fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Runs the verb.
    pub fn run(self) -> Ended {
        let domains = self.domains()?;
        let door = self.door(&domains)?;
        let collector = self.collector()?;
        if self.dry_run {
            domains.iter().for_each(show_plan);
            return Ok(ExitCode::SUCCESS);
        }
        if self.create {
            domains.iter().try_for_each(|it| it.log_args.create(&it.read.topology))?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        let (mut shows, mut served, mut apis) = (Vec::new(), Vec::new(), Vec::new());
        for domain in &domains {
            let limits = &domain.read.topology.limits;
            let mut show = Show::new(domain.name(), limits.metric_labels_max);
            apis.push(show.api(Door::new(limits, &[]).answer_max, &domain.read.epoch_config()?));
            served.push(show.served());
            if let Some(collector) = &collector {
                let instance = format!("{} {}", domain.name(), std::process::id());
                show.trace(Traces::start(collector.clone(), instance)?);
            }
            shows.push(show);
        }
        let scheme = door.scheme();
        let server = serve(self.http, door, served, apis)?;
        let url = format!("{scheme}://{}", server.address());
        tracing::info!("serving metrics and questions on {url}");
        let ended = match (domains.as_slice(), shows.as_mut_slice()) {
            ([domain], [show]) => {
                let ended = domain.run(plain(&url), show, &stop);
                show.stop();
                ended
            }
            _ => run_all(&domains, shows, &url, &stop),
        };
        server.stop();
        ended.map(|()| ExitCode::SUCCESS)
    }

    /// Where traces go, if they are wanted. An empty variable is none, as OpenTelemetry has it.
    fn collector(&self) -> Result<Option<Collector>, Usage> {
        let endpoint = self.otlp_endpoint.as_deref().filter(|it| !it.is_empty());
        let variable = |name: &str| std::env::var(name).ok().filter(|it| !it.is_empty());
        endpoint.map(|it| Collector::new(it, variable).map_err(Usage)).transpose()
    }

    /// The domains to run, each checked, and all of them together.
    fn domains(&self) -> anyhow::Result<Vec<Domain>> {
        let each = self.log_args.read_each()?;
        self.log_args.check()?;
        let files: Vec<_> = each.iter().map(|(_, it)| (it.name.as_str(), &it.topology)).collect();
        let conflicts = topology::conflicts(&files);
        if !conflicts.is_empty() {
            return Err(Usage(conflicts.join("\n")).into());
        }
        let are_several = each.len() > 1;
        if are_several {
            self.log_args.check_parent(&each[0].1.topology)?;
        }
        let mut domains = Vec::new();
        for (log_args, read) in each {
            if log_args.bootstrap_server.is_some() {
                log_args.kafka(&read.topology)?;
            }
            log_args.check_dir(&read.topology, self.create)?;
            let name = &read.topology.domain;
            let store = match &self.store {
                Some(dir) if are_several => dir.join(name),
                given => log_args.store(given.as_deref(), name),
            };
            domains.push(Domain { log_args, read, store });
        }
        if let Some(dir) = self.store.as_ref().filter(|it| are_several && SledStore::is_there(it)) {
            let dir = dir.display();
            tracing::warn!(
                "--store {dir} is itself the store of a run of one domain, which is not used: \
                 each domain has its own in {dir}/DOMAIN, and is rebuilt from the log if that is \
                 new"
            );
        }
        Ok(domains)
    }

    /// Which connections are served: what one domain allows is allowed.
    fn door(&self, domains: &[Domain]) -> Result<Door, Usage> {
        let mut limits = Limits::default();
        let each = || domains.iter().map(|it| &it.read.topology.limits);
        let (longest, most) = (
            each().map(|it| it.http_timeout_ms).max(),
            each().map(|it| it.http_connections_max).max(),
        );
        limits.http_timeout_ms = longest.unwrap_or(limits.http_timeout_ms);
        limits.http_connections_max = most.unwrap_or(limits.http_connections_max);
        self.serve_args.door(self.http, &limits)
    }
}

fn show_plan(domain: &Domain) {
    println!("would serve domain {} with its store in {}", domain.name(), domain.store.display());
    println!("{}", topology::describe(&domain.read.topology));
}

/// An address without `http://`, which verbs add.
fn plain(url: &str) -> &str {
    url.strip_prefix("http://").unwrap_or(url)
}

/// Each domain on a thread of its own, until all have ended; the error names those that ended with
/// one.
fn run_all(
    domains: &[Domain],
    shows: Vec<Show>,
    url: &str,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let stopped: Vec<String> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (domain, mut show) in domains.iter().zip(shows) {
            let status = Arc::clone(&show.status);
            let work = move || {
                let span = tracing::error_span!("run", domain = %domain.name());
                span.in_scope(|| run_one(domain, &mut show, url, stop))
            };
            let thread = std::thread::Builder::new().name(domain.name().to_owned());
            let thread = thread.stack_size(STACK).spawn_scoped(scope, work).map_err(|error| {
                let why = format!("the system gives no thread: {error}");
                status.update(|status| status.stopped = Some(why.clone()));
                why
            });
            threads.push((domain, thread));
        }
        let ended = threads.into_iter().filter_map(|(domain, thread)| {
            let panicked = |_| Err("it panicked; the log has the place".to_owned());
            let ended = thread.and_then(|thread| thread.join().unwrap_or_else(panicked));
            ended.err().map(|why| format!("domain {} stopped: {why}", domain.name()))
        });
        ended.collect()
    });
    if stopped.is_empty() { Ok(()) } else { anyhow::bail!("{}", stopped.join("; ")) }
}

/// One of several domains; why it ended if it was not to stop, which is shown from then on.
fn run_one(domain: &Domain, show: &mut Show, url: &str, stop: &AtomicBool) -> Result<(), String> {
    let address = format!("{}/?domain={}", plain(url), domain.name());
    // A defect that shows in one domain ends no other.
    let ended = catch_unwind(AssertUnwindSafe(|| domain.run(&address, show, stop)));
    let ended = ended.unwrap_or_else(|_| anyhow::bail!("it panicked; the log has the place"));
    let why = ended.map_err(|error| format!("{error:#}"));
    match &why {
        Ok(()) => show.stop(),
        Err(why) => show.tell_stopped(why.clone()),
    }
    why
}
