//! `import arc`: clusters of ARC and index servers become records of a NorduGrid domain.

use super::arc_targets::ArcTargets;
use super::frame::{Frame, span};
use super::grid::{ArcGrid, ArcRound, ClusterSources};
use super::standing::{self, Round};
use super::target::{Changes, append};
use crate::arc::{ArcClient, NameServers};
use crate::authorities::GridAuthorities;
use crate::cli::{Ended, Usage};
use crate::fetch::{Fetch, FetchOptions};
use clap::Args;
use jiff::SignedDuration;
use std::path::PathBuf;
use std::process::ExitCode;
use yardmaster_wire::import::arc::{IndexServer, IndexWalk};

/// Name of the import where none is given.
const NAME: &str = "arc";
/// Longest answer of REST that is read; bytes. One with 50 environments and 16 shares has 54 kB.
const ANSWER_MAX: u64 = 8 << 20;

/// Index servers, clusters, and how they are asked.
#[derive(Args)]
pub struct ArcImport {
    /// ARCHERY to begin at: a name such as nordugrid.org, or dns://NAME; several times for several.
    #[arg(long, value_name = "NAME")]
    archery: Vec<String>,
    /// GIIS to begin at, such as ldap://index1.nordugrid.org:2135/Mds-Vo-name=NorduGrid,o=grid;
    /// several times for several.
    #[arg(long, value_name = "URL")]
    giis: Vec<String>,
    /// REST interface of a cluster, such as https://ce.example.org/arex; several times for several.
    #[arg(long, value_name = "URL")]
    rest: Vec<String>,
    /// Information system of a cluster, ldap://HOST[:2135]; several times for several. One at the
    /// host of --rest is the same cluster's.
    #[arg(long, value_name = "URL")]
    ldap: Vec<String>,
    /// Saved documents instead: answers of REST to /rest/1.0/info as XML, entries of LDAP as LDIF.
    /// Both of one cluster are joined.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    from: Vec<PathBuf>,
    /// Authorities of clusters' certificates beside the system's: a PEM file, or a folder of such
    /// files. Without it $X509_CERT_DIR, or /etc/grid-security/certificates.
    #[arg(long, value_name = "PATH")]
    ca: Option<PathBuf>,
    /// Name server for --archery [default: those of /etc/resolv.conf].
    #[arg(long, value_name = "HOST:PORT")]
    dns: Option<String>,
    /// How long a cluster may take to answer, by each of its interfaces.
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "20s")]
    timeout: SignedDuration,
    #[command(flatten)]
    frame: Frame,
}

impl ArcImport {
    /// Runs the verb.
    pub fn run(&self) -> Ended {
        let frame = &self.frame;
        let mut grid = self.grid()?;
        let door = frame.door()?;
        let name = frame.name.as_deref().unwrap_or(NAME);
        let mut targets = match frame.is_published() {
            true => Some(ArcTargets::new(&frame.log_args, name)?),
            false => None,
        };
        if let Some(every) = frame.every {
            let mut round = || self.round(&mut grid, targets.as_mut(), true);
            return standing::run(frame, (name, every), door, &mut round);
        }
        let done = self.round(&mut grid, targets.as_mut(), frame.prune)?;
        let mut is_whole = true;
        for Round { topic, loaded, changes } in &done {
            super::print(&loaded.silent, frame.verbose);
            super::print(&loaded.complaints, frame.verbose);
            loaded.notes.iter().for_each(|note| eprintln!("note: {note}"));
            is_whole &= loaded.silent.is_empty() && loaded.unreadable == 0;
            let (topic, count) = (topic.name(), loaded.rows.len());
            match (frame.prune, frame.dry_run) {
                (true, _) => println!("{topic}: {changes}"),
                (false, false) => println!("{topic}: {count} records published"),
                (false, true) => println!("{topic}: {count} records would be published"),
            }
        }
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Index servers and clusters to be asked, and by which means.
    fn grid(&self) -> anyhow::Result<ArcGrid> {
        let sources = [&self.archery, &self.giis, &self.rest, &self.ldap];
        if sources.iter().all(|it| it.is_empty()) && self.from.is_empty() {
            let what = "no index server and no cluster: give --archery NAME, --giis URL, --rest \
                        URL, --ldap URL or --from FILE";
            return Err(Usage(what.to_owned()).into());
        }
        let wrong = |flag: &str, why: String| Usage(format!("{flag} {why}"));
        let mut servers: Vec<IndexServer> =
            self.archery.iter().map(|name| IndexServer::archery(name)).collect();
        for url in &self.giis {
            servers.push(IndexServer::giis(url).map_err(|why| wrong("--giis", why))?);
        }
        let is_web = |url: &&String| url.starts_with("https://") || url.starts_with("http://");
        if let Some(url) = self.rest.iter().find(|url| !is_web(url)) {
            return Err(wrong("--rest", format!("{url}: wants https://HOST:PORT/arex")).into());
        }
        let mut walk = IndexWalk::default();
        for url in &self.ldap {
            walk.add_ldap(url).map_err(|why| wrong("--ldap", why))?;
        }
        let authorities = GridAuthorities::find(self.ca.as_deref()).map_err(Usage)?;
        if self.ca.is_some() && cfg!(not(feature = "tls")) {
            let why = "this program is built without TLS; build it with --features tls";
            return Err(wrong("--ca:", why.to_owned()).into());
        }
        let names = match (&self.dns, self.archery.is_empty()) {
            (Some(text), _) => Some(NameServers::parse(text)),
            (None, false) => Some(NameServers::of_system()),
            (None, true) => None,
        };
        let timeout = self.timeout.unsigned_abs();
        let options = FetchOptions {
            timeout,
            answer_max: ANSWER_MAX,
            authorities: authorities.map(|it| it.texts),
        };
        let every_s = self.frame.every.map_or(0, |every| every.unsigned_abs().as_secs());
        Ok(ArcGrid::new(
            ClusterSources {
                servers,
                rest: self.rest.clone(),
                ldap: self.ldap.clone(),
                files: self.from.clone(),
                names: names.transpose().map_err(Usage)?,
            },
            ArcClient::new(Fetch::with(&options), timeout),
            every_s,
        ))
    }

    /// One import of all that is asked: all of it, or what differs from what was published before.
    fn round(
        &self,
        grid: &mut ArcGrid,
        mut targets: Option<&mut ArcTargets>,
        prune: bool,
    ) -> anyhow::Result<Vec<Round>> {
        let frame = &self.frame;
        let read = frame.log_args.read()?;
        if let Some(targets) = &mut targets {
            targets.read_back(&mut grid.others)?;
            grid.read_copies(&frame.log_args, &read.topology)?;
        }
        let ArcRound { loaded, carried_on: mut entries } =
            grid.load(targets.as_deref(), &read.topology.limits)?;
        let mut done = Vec::new();
        for (topic, loaded) in loaded {
            let mut changes = Changes::default();
            if let Some(target) = targets.as_deref().map(|targets| targets.of(topic)) {
                if prune {
                    changes =
                        target.changes(&loaded, frame.may_shrink || !topic.is_configuration())?;
                }
                entries.extend(if prune { target.entries(&loaded) } else { target.rows(&loaded) });
            }
            done.push(Round { topic, loaded, changes });
        }
        if !frame.dry_run {
            append(&frame.log_args, &read, entries)?;
        }
        Ok(done)
    }
}
