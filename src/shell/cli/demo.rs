//! `demo`: a simulated grid in a closed loop, on the embedded log or on a Kafka.

mod answers;
mod beside;
mod cms;
mod commands;
mod compare;
mod earlier;
mod facts;
mod faults;
mod limits;
mod live;
mod next;
mod nordugrid;
mod played;
mod polled;
mod publish;
mod totals;
mod warm;

use crate::cli::http_args::ServeArgs;
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::{Ended, Usage};
use crate::dirlog;
use crate::http::Door;
use crate::serve::Show;
use anyhow::Context;
use beside::GridBeside;
use clap::Args;
use faults::Faults;
use live::Live;
use next::NextLook;
use played::{Atlas, Played};
use polled::Polled;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use yardmaster_core::policy::{PolicySpec, kind};
use yardmaster_core::unit::{HOUR, Millis, SECOND};
use yardmaster_drive::epoch_config::EpochConfig;
use yardmaster_sim::grid::{Facts, Grid, GridPlan};

/// When the simulated time begins: a fixed moment, so that the same seed gives the same log.
const START: Millis = 1_760_400_000_000;
/// Simulated time between two cycles.
const STEP: Millis = 10 * SECOND;
/// How many hours are simulated if nothing else is stated.
const HOURS: u32 = 24;
/// Where the log lies if nothing else is stated.
const DIR: &str = "yardmaster-demo";
/// Help texts of flags that mean something else here than for other verbs.
const DIR_HELP: &str = "Directory for log and store; an earlier demo there is cleared \
                        [default: yardmaster-demo]";
/// See `DIR_HELP`.
const KAFKA_HELP: &str = "Kafka on which the grid lives, in place of a directory: host:port, \
                          several separated by commas";
/// Marks a directory as ours to clear.
const MARK: &str = "yardmaster-demo";

/// Runs a simulated grid against the real line: tasks arrive, decisions are obeyed, jobs run,
/// transfers flow, some fail, some lie. The log is a directory; nothing else is needed. At the end
/// prints a summary and audits everything; exits 0 only if the audit was clean.
///
/// With --bootstrap-server the grid lives on a Kafka, in real time: it publishes there, and obeys
/// what a `run` of the same topology publishes. `topology apply` makes the topics. The grid starts
/// as if it had run for a while, ends what an earlier demo left, and goes on until SIGTERM, or
/// so long as --hours states. One demo at a time.
///
/// The topology decides which grid it is: with `panda`, queues of clouds of a PanDA outside ATLAS;
/// with `nordugrid`, clusters that take single jobs; with `cms`, a pool whose pilots offer slots.
///
/// Examples:
///   yardmaster demo
///   yardmaster demo --hours 6 --scale 0.02 --seed 7 --dir yard
///   yardmaster demo --hours 6 --hold
///   yardmaster demo --compare --hours 72 --seeds 5
///   yardmaster demo --faults --hours 168 --commands on --scale 0.02
///   yardmaster demo --topology panda
///   yardmaster demo --topology nordugrid
///   yardmaster demo --topology cms --hours 6 --scale 0.02
///   yardmaster demo --cric queues.json
///   yardmaster demo --bootstrap-server kafka:9092 --scale 0.02 --speed 10
///   yardmaster demo --cric queues.json --netmetrics links.json --storage space.json
#[derive(Args)]
#[command(verbatim_doc_comment)]
#[command(mut_arg("dir", |arg| arg.help(DIR_HELP)))]
#[command(mut_arg("bootstrap_server", |arg| arg.help(KAFKA_HELP)))]
pub struct Demo {
    #[command(flatten)]
    log_args: LogArgs,
    /// Simulated hours; on a Kafka hours of the clock [default: 24; on a Kafka until SIGTERM].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=8760))]
    hours: Option<u32>,
    /// How many times shorter jobs are than those of ATLAS, with as much less to read and write; as
    /// many times more of them arrive. All else takes its time.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=20))]
    speed: u32,
    /// Size against ATLAS: 1 is about a million jobs a day; of NorduGrid: 1 is some 30,000 CPUs; of
    /// CMS: 1 is some 250,000 cores.
    #[arg(long, default_value_t = 0.1)]
    scale: f64,
    /// Same seed, same log.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Queues from a CRIC dump instead of the built-in grid. Links and storage space are made up
    /// unless files of them are given, too.
    #[arg(long, value_name = "FILE", help_heading = "Grid")]
    cric: Option<PathBuf>,
    /// Links from a network matrix.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    netmetrics: Option<PathBuf>,
    /// Storage space.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    storage: Option<PathBuf>,
    /// Nuclei; without it tier-1 and the largest tier-2 sites of the CRIC dump.
    #[arg(long, value_name = "FILE", requires = "cric", help_heading = "Grid")]
    nuclei: Option<PathBuf>,
    /// Decides as a broker that polls a database does, for comparison: by PanDA's rules once a
    /// simulated minute, on counts of a minute ago, with deferrals that wait for their timer alone.
    #[arg(long, conflicts_with = "bootstrap_server")]
    polled: bool,
    /// Runs every seed on events under each set of rules (`documented`, `panda`, `tuned`), and as
    /// `--polled`; prints how jobs, cores, shares and waits compare. Nothing is left in the
    /// directory.
    #[arg(long, conflicts_with_all = ["polled", "bootstrap_server"])]
    compare: bool,
    /// How many seeds are compared: `--seed` and those after it.
    #[arg(long, default_value_t = 5, requires = "compare")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100))]
    seeds: u32,
    /// Sets the mode of all rules that give commands (off, dry_run, on) in place of the topology's;
    /// with `on` the simulated grid carries the commands out.
    #[arg(long, value_name = "MODE", conflicts_with = "bootstrap_server")]
    #[arg(value_parser = ["off", "dry_run", "on"])]
    commands: Option<String>,
    /// Much goes wrong, on days of their own: heartbeats die for three hours and come back all at
    /// once (day 1), a queue is silent for a day (day 2), a site's links are blocked for twelve
    /// hours (day 3), job states and heartbeats arrive two hours late (days 4 and 5), and all the
    /// time the clocks of two queues are wrong by minutes. For a whole week: --hours 168
    /// --commands on.
    #[arg(long, conflicts_with_all = ["polled", "compare", "bootstrap_server"])]
    faults: bool,
    /// Without the staleness limits and budgets of the topology, to see what they save.
    #[arg(long, requires = "faults")]
    unguarded: bool,
    /// Keeps the page after the last hour, as the grid is then, until Ctrl-C or SIGTERM.
    #[arg(long, conflicts_with_all = ["compare", "bootstrap_server"])]
    hold: bool,
    /// Where metrics are served meanwhile; port 0 for any free one.
    #[arg(long, value_name = "HOST:PORT", help_heading = "HTTP", default_value = "127.0.0.1:9187")]
    http: SocketAddr,
    #[command(flatten)]
    serve_args: ServeArgs,
}

/// Refuses a policy of a domain that a program brings: nothing here simulates its grid.
fn refuse_own_domain(read: &Read) -> Result<(), Usage> {
    let is_own = |it: &&PolicySpec| kind(&it.kind).is_some_and(|kind| kind.domain().is_some());
    let Some(policy) = read.topology.policies.iter().find(is_own) else { return Ok(()) };
    Err(Usage(format!(
        "policy {} is of kind {}, a domain that this program brings: no simulation knows its grid. \
         Publish its records with import domain-records, and use run",
        policy.name, policy.kind
    )))
}

impl Demo {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        if let Some(policy) = nordugrid::policy(&read) {
            let grid = self.nordugrid(&read, policy)?;
            return self.play(&read, grid, None);
        }
        if let Some(policy) = cms::policy(&read) {
            let pool = self.cms(&read, policy)?;
            return self.play(&read, pool, None);
        }
        refuse_own_domain(&read)?;
        if self.log_args.bootstrap_server.is_some() {
            return self.beside(read);
        }
        let read = match &self.commands {
            Some(mode) => commands::with_mode(&read, mode)?,
            None => read,
        };
        if self.compare {
            return self.compare(&read);
        }
        let read = if self.polled { polled::by_timer(&read)? } else { read };
        let read = if self.unguarded { faults::unguarded(&read)? } else { read };
        let facts = self.facts(&read)?;
        let faults = self.faults.then(|| Faults::of(self.seed, START, &facts));
        let plan = GridPlan { facts, ..self.plan(&read, START) };
        let grid = Grid::new(plan).map_err(|unfit| Usage(unfit.to_string()))?;
        self.play(&read, Atlas { grid, faults }, self.polled.then(Polled::default))
    }

    /// Runs a simulated grid in a directory.
    fn play<G: Played>(&self, read: &Read, grid: G, polled: Option<Polled>) -> Ended {
        let door = self.serve_args.door(self.http, &read.topology.limits)?;
        let dir = self.dir();
        clear(&dir)?;
        let mut show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        let config = read.epoch_config()?;
        let page = self.listen(&mut show, door, Some(&config))?;
        println!("log and store in {}", dir.display());
        let mut demo = Live::start(&dir, read, grid, show)?;
        demo.write_address(page.as_deref().unwrap_or_default().trim_end_matches('/'))?;
        demo.show.keep(&dir.join("store").join("history"), &config, &mut demo.drive);
        demo.polled = polled;
        demo.run(START + Millis::from(self.hours()) * HOUR)?;
        demo.end(&NextLook::new(&dir, &self.log_args, page.filter(|_| self.hold)))
    }

    /// On a Kafka, beside a `run`.
    fn beside(self, read: Read) -> Ended {
        let door = self.serve_args.door(self.http, &read.topology.limits)?;
        let facts = self.facts(&read)?;
        let mut show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
        self.listen(&mut show, door, None)?;
        let plan = GridPlan { facts, ..self.plan(&read, 0) };
        GridBeside::new(self.log_args, read, show, self.hours)?.run(plan)
    }

    /// A grid without facts that starts at a time.
    fn plan(&self, read: &Read, start: Millis) -> GridPlan {
        GridPlan {
            seed: self.seed,
            scale: self.scale,
            start,
            hours: self.hours(),
            domain: read.topology.domain.clone(),
            facts: Facts::default(),
            speed: self.speed,
            series: 0,
        }
    }

    /// Complains of flags that another demo than one of ATLAS does not take.
    fn refuse_what_is_of_atlas(&self, read: &Read, policy: &str) -> anyhow::Result<()> {
        let flags = [
            ("--cric", self.cric.is_some()),
            ("--polled", self.polled),
            ("--compare", self.compare),
            ("--commands", self.commands.is_some()),
            ("--faults", self.faults),
            ("--bootstrap-server", self.log_args.bootstrap_server.is_some()),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, is_given)| *is_given) {
            let name = &read.name;
            return Err(Usage(format!(
                "{flag}: only a demo of ATLAS takes it, and the topology {name} has the policy \
                 {policy}; leave {flag} out, or name another --topology"
            ))
            .into());
        }
        Ok(())
    }

    fn hours(&self) -> u32 {
        self.hours.unwrap_or(HOURS)
    }

    fn dir(&self) -> PathBuf {
        self.log_args.dir.clone().unwrap_or_else(|| PathBuf::from(DIR))
    }

    /// Where the page is. The port may be taken, by another demo perhaps: then any free one will
    /// do. Only what has a drive, and so an epoch's configuration, answers the API.
    fn listen(
        &self,
        show: &mut Show,
        door: Door,
        config: Option<&EpochConfig>,
    ) -> anyhow::Result<Option<String>> {
        let any = SocketAddr::new(self.http.ip(), 0);
        let scheme = door.scheme();
        let mut listen = |address: SocketAddr, door: Door| match config {
            Some(config) => show.listen_with_api(address, door, config),
            None => show.listen(address, door),
        };
        match listen(self.http, door.clone()).or_else(|_| listen(any, door)) {
            Ok(bound) => {
                println!("metrics on {scheme}://{bound}/metrics");
                let page = config.map(|_| format!("{scheme}://{bound}/"));
                page.iter().for_each(|page| println!("page on {page}"));
                Ok(page)
            }
            Err(error) if self.hold => Err(error.context("--hold: there is no page to keep")),
            Err(error) => {
                println!("no metrics: {error:#}");
                Ok(None)
            }
        }
    }
}

/// Makes a log of some simulated hours of the built-in grid, to be measured; prints nothing.
pub fn record(dir: &Path, read: &Read, hours: u32) -> anyhow::Result<()> {
    clear(dir)?;
    let (domain, facts) = (read.topology.domain.clone(), Facts::built_in());
    let grid = Grid::new(GridPlan {
        seed: 1,
        scale: 0.05,
        start: START,
        hours,
        domain,
        facts,
        speed: 1,
        series: 0,
    })?;
    let show = Show::new(&read.topology.domain, read.topology.limits.metric_labels_max);
    let mut live = Live::start(dir, read, Atlas::from(grid), show)?;
    live.is_quiet = true;
    live.run(START + Millis::from(hours) * HOUR)?;
    Ok(live.drive.finish(live.now)?)
}

/// Makes room: removes what an earlier demo left, and nothing else.
fn clear(dir: &Path) -> anyhow::Result<()> {
    let mark = dir.join(MARK);
    if dir.is_dir() && std::fs::read_dir(dir)?.next().is_some() {
        if !mark.is_file() {
            let dir = dir.display();
            return Err(Usage(format!(
                "--dir {dir}: not empty, and no earlier demo; name another directory"
            ))
            .into());
        }
        // Another demo may hold it, with the page on it.
        let _held = dirlog::lock(dir).map_err(|error| Usage(format!("--dir {error}")))?;
        std::fs::remove_dir_all(dir)?;
    }
    let at = || format!("--dir {}: it cannot be made; name another directory", dir.display());
    std::fs::create_dir_all(dir).with_context(at)?;
    std::fs::write(mark, "made by yardmaster demo; the next demo here clears it\n")?;
    Ok(())
}
