//! `import`: other systems' JSON, and what clusters of ARC publish, becomes records on the config
//! topics, once or again and again.

mod arc;
mod arc_targets;
mod fact;
mod frame;
mod grid;
mod load;
mod local;
mod others;
mod standing;
mod tail;
mod target;

pub use load::{ImportKind, Text};
#[cfg(feature = "simulation")]
pub use load::{encode, imported};
#[cfg(feature = "simulation")]
pub use target::lane;
pub use target::{Entry, append};

use crate::cli::log_args::LogArgs;
use crate::cli::progress::Bar;
use crate::cli::{Ended, Usage, complaints, secret};
use crate::clock;
use crate::fetch::{self, Fetch, Source};
use arc::ArcImport;
use clap::{Args, Subcommand};
use frame::Frame;
use load::Loaded;
use standing::Round;
use std::path::PathBuf;
use std::process::ExitCode;
use target::Target;
use yardmaster_core::cut::Topic;
use yardmaster_wire::import;
use yardmaster_wire::oversize::{left_out, oversize};

/// Turns other systems' JSON, and what clusters of ARC publish, into records on the topics of a
/// Kafka, or into a directory log. A missing or wrong value is named with its queue and field; it
/// does not stop the rest, and what was published before of a thing that cannot be read now stays.
/// Exits 1 if there is such a thing, or a source that cannot be read at all.
///
/// With --every it goes on: the sources are read again and again, what changed is published, what
/// is gone is removed, and while a source cannot be read the facts stay as they are.
#[derive(Args)]
pub struct Import {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Queues, from CRIC's PanDA queue dump; with it rows of PanDA's RESOURCE_TYPES, if they are
    /// not those of ATLAS.
    ///
    /// Examples:
    ///   yardmaster import cric cric_pandaqueues.json --dir yard
    ///   yardmaster import cric cric_pandaqueues.json resource_types.json --dir yard
    ///   yardmaster import cric 'https://cric/api/atlas/pandaqueue/query/?json' --every 10m
    ///     --bootstrap-server kafka:9092
    #[command(verbatim_doc_comment)]
    Cric(Facts),
    /// Links, from the network matrix (netmetrics).
    Netmetrics(Facts),
    /// Space and status of storage endpoints, from the dumps that PanDA's Configurator reads, given
    /// together: CRIC's endpoints (ddmendpoint) and their status (ddmendpointstatus), Rucio's usage
    /// (rse_usage, or rows of {rse, source, used, free}); or sizes by queue (site_info).
    ///
    /// Examples:
    ///   yardmaster import storage ddmendpoints.json ddmendpointstatus.json rse_usage.json
    ///     --dir yard
    #[command(verbatim_doc_comment)]
    Storage(Facts),
    /// Nuclei: a list of names or objects; or a CRIC dump, of which the tier-1 sites and the
    /// largest tier-2 sites are taken, since it does not have nuclei.
    Nuclei(Facts),
    /// The tree of global shares, from rows of PanDA's GLOBAL_SHARES: a JSON list of all of them.
    ///
    /// Columns, in any case: name, value, parent, prodsourcelabel, workinggroup, campaign,
    /// processingtype, transpath, rtype, vo, queue_id, throttled.
    Shares(Facts),
    /// Run-time parameters (gdpconfig): a JSON list of {app, component, key, vo, value, type}, or
    /// an object of values under app.component.KEY.
    Gdpconfig(Facts),
    /// Quotas on storage: a JSON list of {account | user | group, rse_expression | endpoint,
    /// bytes_limit, used_bytes, used_files}.
    Quotas(Facts),
    /// Software and hardware that queues publish, from CRIC's JSON of tags.
    Releases(Facts),
    /// Where datasets lie: what Rucio's list of dataset replicas gives, as a JSON list or as one
    /// object a line.
    ///
    /// Fields: scope, name, rse; length and bytes of the whole dataset, available_length and
    /// available_bytes at the RSE, state. One object for each dataset at each RSE.
    ///
    /// Example: yardmaster import replicas replicas.json --bootstrap-server kafka:9092
    Replicas(Facts),
    /// Slots to fill at queues, from rows of PanDA's HARVESTER_SLOTS: a JSON list.
    ///
    /// Columns, in any case: pandaqueuename, gshare and resourcetype (null for any), numslots,
    /// expirationtime (null for ever), modificationtime; times in UTC.
    Slots(Facts),
    /// Sites of a pool of slots with their tier, status and pledge, of JSON given together: the
    /// experiment's sites in CRIC (site/query); pledges, of WLCG's federations (federation/query)
    /// or of site capacities (hs06_pledge, hs06_per_core); statuses by site; and what is set by
    /// hand: overflow_slots, high_io_slots, central_slots, central_permille, pledged_slots, region,
    /// tier, status. Later files hold over earlier ones.
    ///
    /// Examples:
    ///   yardmaster import pool-sites sites.json federations.json SiteCapacity.json own.json
    ///     --topology cms --dir yard
    ///   yardmaster import pool-sites 'https://cms-cric.cern.ch/api/cms/site/query/?json'
    ///     SiteCapacity.json own.json --every 15m --topology cms --bootstrap-server kafka:9092
    #[command(verbatim_doc_comment)]
    PoolSites(Facts),
    /// Users with their groups and roles, of JSON given together: pages of IAM's /scim/Users, its
    /// /scim/Groups for the label voms.role, users of VOMS Admin, or a list of {name, groups,
    /// roles}.
    ///
    /// Example, two pages of 100:
    ///   yardmaster import members 'https://iam.example/scim/Users?count=100'
    ///     'https://iam.example/scim/Users?count=100&startIndex=101'
    ///     --header "Authorization: Bearer $TOKEN" --topology cms --bootstrap-server kafka:9092
    #[command(verbatim_doc_comment)]
    Members(Facts),
    /// Things of a domain that a program of its own brings: a JSON list, or one object a line.
    ///
    /// Fields: kind, name, values, an object of booleans, numbers, texts and lists of texts;
    /// changed_at, in ms since 1970, is now where it is left out. /dev/stdin is a file, too.
    ///
    /// Example: yardmaster import domain-records /dev/stdin --topology slurm.toml --dir yard
    DomainRecords(Facts),
    /// Clusters of ARC 6 and 7, found at index servers (ARCHERY, GIIS) or by their addresses: what
    /// they publish by REST (GLUE2) and LDAP (NorduGrid schema), or saved documents of both.
    ///
    /// Published are registrations, clusters, queues, what is free there for members of virtual
    /// organisations, and jobs that are not over, of whatever user; a job that is in no answer any
    /// more is ended. A cluster that does not answer keeps its facts and is marked so.
    ///
    /// Examples:
    ///   yardmaster import arc --archery nordugrid.org --every 2m --topology nordugrid
    ///     --bootstrap-server kafka:9092
    ///   yardmaster import arc --rest https://ce-a.example.org:8443/arex --topology nordugrid
    ///     --dry-run
    ///   yardmaster import arc --from info.xml local.ldif --topology nordugrid --dir yard
    #[command(verbatim_doc_comment)]
    Arc(ArcImport),
    /// Job states, from a table of PanDA jobs as JSON lines: a first snapshot, before intake.
    ///
    /// Columns, in any case: PANDAID, JOBSTATUS, STATECHANGETIME or MODIFICATIONTIME, JEDITASKID,
    /// COMPUTINGSITE, PRODUSERNAME or PRODUSERID, WORKINGGROUP, GSHARE, RESOURCE_TYPE, CORECOUNT,
    /// CURRENTPRIORITY, NUCLEUS, PRODSOURCELABEL, PROCESSINGTYPE, JOBSUBSTATUS, CREATIONTIME,
    /// STARTTIME, ENDTIME, INPUTFILEBYTES, OUTPUTFILEBYTES; times in UTC.
    ///
    /// Example: yardmaster import jobs jobsactive4.json --bootstrap-server kafka:9092
    Jobs(Jobs),
}

/// Slowly changing facts: sources, and how often they are read.
#[derive(Args)]
struct Facts {
    /// JSON to read: files, or addresses of web servers (http, https). Proxies are taken from the
    /// environment (https_proxy, no_proxy), certificate authorities too (SSL_CERT_FILE).
    #[arg(required = true, value_name = "FILE|URL")]
    sources: Vec<String>,
    /// More JSON to learn site names of storage endpoints from (netmetrics, endpoints).
    #[arg(long, value_name = "FILE|URL")]
    sites: Vec<String>,
    /// A header for web servers; may be given several times. ${file:PATH} and ${env:NAME} stand for
    /// contents, read each time; a secret is not taken here as it is.
    #[arg(long, value_name = "NAME: VALUE")]
    header: Vec<String>,
    #[command(flatten)]
    frame: Frame,
}

#[derive(Args)]
struct Jobs {
    /// JSON lines to read.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    log_args: LogArgs,
    /// Show what would be published, and publish nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print every complaint, instead of summing up those that repeat.
    #[arg(long)]
    verbose: bool,
}

impl Import {
    /// Runs the verb.
    pub fn run(self) -> Ended {
        match &self.what {
            What::Cric(facts) => facts.run(ImportKind::Cric),
            What::Netmetrics(facts) => facts.run(ImportKind::Netmetrics),
            What::Storage(facts) => facts.run(ImportKind::Storage),
            What::Nuclei(facts) => facts.run(ImportKind::Nuclei),
            What::Shares(facts) => facts.run(ImportKind::Shares),
            What::Gdpconfig(facts) => facts.run(ImportKind::Gdpconfig),
            What::Quotas(facts) => facts.run(ImportKind::Quotas),
            What::Releases(facts) => facts.run(ImportKind::Releases),
            What::Replicas(facts) => facts.run(ImportKind::Replicas),
            What::Slots(facts) => facts.run(ImportKind::Slots),
            What::PoolSites(facts) => facts.run(ImportKind::PoolSites),
            What::Members(facts) => facts.run(ImportKind::Members),
            What::DomainRecords(facts) => facts.run(ImportKind::DomainRecords),
            What::Arc(clusters) => clusters.run(),
            What::Jobs(files) => files.run(),
        }
    }
}

impl Facts {
    fn run(&self, kind: ImportKind) -> Ended {
        let frame = &self.frame;
        let door = frame.door()?;
        let name = frame.name.as_deref().unwrap_or(kind.name());
        let mut target = match frame.is_published() {
            true => Some(Target::new(&frame.log_args, kind.topic(), name)?),
            false => None,
        };
        let fetch = Fetch::default();
        if let (Some(every), Some(target)) = (frame.every, &mut target) {
            self.headers()?;
            let mut round = || self.round(kind, &fetch, target);
            return standing::run(frame, (name, every), door, &mut round);
        }
        let loaded = self.load(kind, &fetch)?;
        self.print(&loaded);
        let topic = kind.topic().name();
        let count = loaded.rows.len();
        match &mut target {
            Some(target) if frame.prune && !loaded.is_of_no_use() => {
                let changes = target.compare(&loaded, frame.may_shrink)?;
                if !frame.dry_run {
                    target.change(&loaded)?;
                }
                println!("{topic}: {changes}");
            }
            Some(target) if !frame.dry_run => {
                target.publish(&loaded)?;
                println!("{topic}: {count} records published");
            }
            _ => println!("{topic}: {count} records would be published"),
        }
        println!("{} complaints", loaded.complaints.len());
        let code = ended(&self.sources, count, loaded.complaints.len());
        Ok(if loaded.unreadable > 0 { ExitCode::FAILURE } else { code })
    }

    /// One import of several: nothing is published unless all sources could be read and have what
    /// can be used.
    fn round(
        &self,
        kind: ImportKind,
        fetch: &Fetch,
        target: &mut Target,
    ) -> anyhow::Result<Vec<Round>> {
        let loaded = self.load(kind, fetch)?;
        if loaded.is_of_no_use() {
            let first = &loaded.complaints[0];
            let count = loaded.complaints.len();
            anyhow::bail!("nothing in it can be used: {first} ({count} complaints)");
        }
        let changes = target.compare(&loaded, self.frame.may_shrink)?;
        target.change(&loaded)?;
        Ok(vec![Round { topic: kind.topic(), loaded, changes }])
    }

    /// Reads the present content of the sources.
    fn load(&self, kind: ImportKind, fetch: &Fetch) -> anyhow::Result<Loaded> {
        let headers = self.headers()?;
        let read = |source: &String| {
            let source = Source::from(source.as_str());
            let text = fetch.text(&source, &headers);
            let text = text.map_err(|why| anyhow::anyhow!("{source}: {why}"))?;
            Ok(Text { name: source.to_string(), text })
        };
        let texts = self.sources.iter().map(read).collect::<anyhow::Result<Vec<Text>>>()?;
        let sites = self.sites.iter().map(read).collect::<anyhow::Result<Vec<Text>>>()?;
        let topology = self.frame.log_args.read()?.topology;
        let (limits, parents) = (&topology.limits, topology.parents());
        load::load(kind, &texts, &sites, clock::now(), limits, parents).map_err(anyhow::Error::msg)
    }

    fn headers(&self) -> Result<Vec<(String, String)>, Usage> {
        self.header.iter().map(|header| secret::header(header)).collect()
    }

    fn print(&self, loaded: &Loaded) {
        print(&loaded.complaints, self.frame.verbose);
        for note in &loaded.notes {
            eprintln!("note: {note}");
        }
    }
}

impl Jobs {
    /// A table of jobs, one file after the other.
    fn run(&self) -> Ended {
        let did = if self.dry_run { "would be published" } else { "published" };
        let (mut count, mut complaints) = (0, 0);
        let read = self.log_args.read()?;
        for path in &self.files {
            let text = fetch::file(path);
            let text = text.map_err(|why| anyhow::anyhow!("{}: {why}", path.display()))?;
            let mut bar = Bar::later("parsing", "bytes", text.len() as u64);
            let (mut rows, mut imported) = import::jobs_with(&text, |done| bar.at(done as u64));
            drop(bar);
            rows.retain(|row| {
                let why = oversize(Topic::JobState, &row.value, &read.topology.limits);
                let complaint = why.map(|why| left_out(Topic::JobState, &row.job, &why));
                imported.complaints.extend(complaint.clone());
                complaint.is_none()
            });
            let named = imported.complaints.iter();
            let named = named.map(|complaint| format!("{}: {complaint}", path.display()));
            print(&named.collect::<Vec<_>>(), self.verbose);
            count += rows.len();
            complaints += imported.complaints.len();
            if !self.dry_run {
                let entry = |row: import::JobRecord| Entry {
                    topic: Topic::JobState,
                    key: row.job,
                    value: Some(row.value),
                    headers: Vec::new(),
                };
                append(&self.log_args, &read, rows.into_iter().map(entry).collect())?;
            }
        }
        println!("{}: {count} records {did}", Topic::JobState.name());
        println!("{complaints} complaints");
        let files: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        Ok(ended(&files, count, complaints))
    }
}

/// Prints complaints: summed up, or each of them.
fn print(complaints: &[String], verbose: bool) {
    match verbose {
        true => complaints.iter().for_each(|complaint| eprintln!("{complaint}")),
        false => complaints::summary(complaints).iter().for_each(|line| eprintln!("{line}")),
    }
}

/// 1 when there were things in the files and none of them could be used: then a file of another
/// kind was given.
fn ended(files: &[String], records: usize, complaints: usize) -> ExitCode {
    if records > 0 || complaints == 0 {
        return ExitCode::SUCCESS;
    }
    eprintln!(
        "yardmaster: nothing in {} can be used; is it a file of another kind? \
         `yardmaster import --help` lists the kinds",
        files.join(", ")
    );
    ExitCode::FAILURE
}
