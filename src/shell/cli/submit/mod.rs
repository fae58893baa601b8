//! `submit`: a job description in xRSL becomes requests for a cluster's queue.

mod again;
mod described;
mod lists;
mod text;
mod wait;

use crate::cli::import::{Entry, append};
use crate::cli::log_args::{LogArgs, Read};
use crate::cli::rebuild::{Until, rebuild};
use crate::cli::{Ended, Usage};
use crate::clock;
use crate::dirlog::Mode;
use crate::ports::AnyStore;
use clap::Args;
use described::ReadDescription;
use lists::Lists;
use sha2::{Digest, Sha256};
use std::hash::{BuildHasher, RandomState};
#[cfg(feature = "tls")]
use std::path::Path;
use std::path::PathBuf;
use std::process::ExitCode;
use wait::args::WaitArgs;
#[cfg(feature = "tls")]
use wait::{Submission, WaitedJobs};
use yardmaster_core::event::{JobDescription, Task, TaskPhase};
use yardmaster_core::explain::{Context, explain, iso};
use yardmaster_core::plain::{Plain, plain_lines};
use yardmaster_core::policy::kind;
use yardmaster_core::topic::Topic;
use yardmaster_core::unit::Millis;
use yardmaster_wire::oversize::oversize;
use yardmaster_wire::record;

/// Asks for a queue of a cluster for each job of a description in xRSL (spec cms-nordugrid B): puts
/// a record for each on the topic task, and prints the job ids, by which `explain` and `tail` show
/// where the jobs go. A mistake in the description is named with its line and column, and nothing
/// is published. With --again, jobs that were submitted before are submitted once more, as they
/// were described then, to other clusters if these are named with -k.
///
/// Examples:
///   yardmaster submit --xrsl job.xrsl --user /O=Grid/CN=Ann -g index.example.org
///     --topology nordugrid --bootstrap-server kafka:9092
///   yardmaster submit --xrsl job.xrsl --user ann -c ce-a -c ce-b --topology nordugrid --dir yard
///   yardmaster submit --xrsl job.xrsl --user ann -c -ce-a -g index --dry-run
///     --topology nordugrid --dir yard
///   yardmaster submit --again ng-5d41402abc4b2a76b9719d91 -k -ce-a -g index
///     --topology nordugrid --bootstrap-server kafka:9092
///   yardmaster submit --wait --get results --xrsl job.xrsl --user /O=Grid/CN=Ann -g index
///     --topology nordugrid --bootstrap-server kafka:9092
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub struct Submit {
    /// File with the description. Input files that are uploaded (source "") are sought beside it.
    #[arg(long, value_name = "FILE", required_unless_present_any = ["again", "resume"])]
    xrsl: Option<PathBuf>,
    /// Who submits, as clusters publish it for their users.
    #[arg(long, value_name = "NAME", required_unless_present_any = ["again", "resume"])]
    user: Option<String>,
    /// Submit the job of this id again, or all that one file described: as a new attempt, with the
    /// description, user and uploads of the last one. Of the lists of clusters and index servers
    /// those of now hold, not those of then; targets that refused it then may be chosen again.
    #[arg(long, value_name = "ID", conflicts_with_all = ["xrsl", "user", "job_id"])]
    again: Option<String>,
    #[command(flatten)]
    lists: Lists,
    /// Id of the job, which no job in the log has; of several jobs, ID/0, ID/1 and so on. Without
    /// it a new one.
    #[arg(long, value_name = "ID")]
    job_id: Option<String>,
    /// Publish nothing, and show the decision that would be made as of the last cycle in the log.
    /// A draw may fall otherwise later: it depends on all that was read until then.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitArgs,
    #[command(flatten)]
    log_args: LogArgs,
}

impl Submit {
    /// Whether jobs are handed over.
    pub fn is_waiting(&self) -> bool {
        self.wait.wait
    }

    /// Runs the verb.
    pub fn run(self) -> Ended {
        let read = self.log_args.read()?;
        self.log_args.check()?;
        self.log_args.check_dir(&read.topology, false)?;
        self.lists.check(self.again.is_some())?;
        self.wait.check(&self.log_args)?;
        #[cfg(feature = "tls")]
        let submission = self.submission(&read);
        #[cfg(feature = "tls")]
        if let Some(name) = &self.wait.resume {
            return WaitedJobs::resume(&submission, name)?.run();
        }
        let now = clock::now();
        let tasks = match (&self.again, &self.xrsl, &self.user) {
            (Some(job), _, _) => self.tasks_again(&read, job, now)?,
            (None, Some(file), Some(user)) => {
                self.tasks(&read, &ReadDescription::open(file)?, user, now)?
            }
            // The flags are declared so that this does not occur.
            (None, _, _) => return Err(Usage("give --xrsl and --user".to_owned()).into()),
        };
        let entries = entries(&read, &tasks)?;
        if self.dry_run {
            return self.show(&read, &tasks);
        }
        #[cfg(feature = "tls")]
        if self.wait.wait {
            return WaitedJobs::submit(&submission, &tasks, &entries)?.run();
        }
        append(&self.log_args, &read, entries)?;
        tasks.iter().for_each(|task| println!("{}", task.subject));
        Ok(ExitCode::SUCCESS)
    }

    /// What is waited for.
    #[cfg(feature = "tls")]
    fn submission<'a>(&'a self, read: &'a Read) -> Submission<'a> {
        let beside = self.xrsl.as_deref().and_then(Path::parent).map(Path::to_owned);
        let files = self.wait.files.clone().or(beside).unwrap_or_default();
        Submission {
            log_args: &self.log_args,
            read,
            args: &self.wait,
            files,
            user: self.user.as_deref(),
            is_from_log: self.xrsl.is_none(),
        }
    }

    /// A new request for each job of an id.
    fn tasks_again(&self, read: &Read, job: &str, now: Millis) -> anyhow::Result<Vec<Task>> {
        let (clusters, index_servers) = (self.lists.clusters()?, self.lists.index_servers()?);
        let mut log = self.log_args.log(&read.topology, Mode::Read)?;
        let mut tasks = again::again(&mut log, job)?;
        for task in &mut tasks {
            (task.asked_at, task.changed_at, task.phase) = (now, now, TaskPhase::Asking);
            if let Some(description) = &mut task.description {
                description.clusters.clone_from(&clusters);
                description.index_servers.clone_from(&index_servers);
            }
        }
        Ok(tasks)
    }

    /// A request for each job of the description.
    fn tasks(
        &self,
        read: &Read,
        described: &ReadDescription,
        user: &str,
        now: Millis,
    ) -> anyhow::Result<Vec<Task>> {
        let policy = policy(read)?;
        let (clusters, index_servers) = (self.lists.clusters()?, self.lists.index_servers()?);
        let id = match &self.job_id {
            Some(id) if !again::is_job_id(id) => {
                let why = "a job id is no empty word, `.` or `..`, and has neither `/`, which \
                           numbers jobs of one file, nor signs that cannot be printed";
                return Err(Usage(format!("--job-id {id:?}: {why}")).into());
            }
            Some(id) => id.clone(),
            None => new_id(user, now),
        };
        check_names(read, user, &id)?;
        if self.job_id.is_some() {
            self.check_unused(read, &id)?;
        }
        let (first, several) = (described.jobs.first(), described.jobs.len() > 1);
        let uploads = |job: usize| described.jobs.get(job).or(first).cloned().unwrap_or_default();
        let task = |job: u32| Task {
            subject: if several { format!("{id}/{job}") } else { id.clone() },
            task: id.clone(),
            domain: read.topology.domain.clone(),
            policy: policy.clone(),
            asked_at: now,
            changed_at: now,
            jobs: 1,
            user: user.to_owned(),
            description: Some(JobDescription {
                text: described.text.clone(),
                server_dialect: false,
                job,
                clusters: clusters.clone(),
                index_servers: index_servers.clone(),
                uploads: uploads(job as usize),
            }),
            ..Task::default()
        };
        let jobs = u32::try_from(described.jobs.len()).unwrap_or(u32::MAX);
        Ok((0..jobs).map(task).collect())
    }

    /// Refuses an id that the log has: a second job of it would have no answer.
    fn check_unused(&self, read: &Read, id: &str) -> anyhow::Result<()> {
        let mut log = self.log_args.log(&read.topology, Mode::Read)?;
        if again::is_known(&mut log, id)? {
            return Err(Usage(format!(
                "--job-id {id}: the log has a job of this id; give another id, or submit that job \
                 again with --again {id}"
            ))
            .into());
        }
        Ok(())
    }

    /// Shows what would be decided.
    fn show(&self, read: &Read, tasks: &[Task]) -> Ended {
        let store = AnyStore::Nothing;
        let rebuilt = rebuild(&self.log_args, read, store, false, Until::End, |_| ())?;
        let (number, now) = (rebuilt.drive.state().number, rebuilt.drive.state().now);
        if number == 0 {
            anyhow::bail!(
                "--dry-run: the log has no cycle, so nothing is known of clusters; start \
                 `yardmaster run` on it first"
            );
        }
        eprintln!("as of cycle {number}, {}; nothing was published", iso(now));
        let epoch_config = read.epoch_config()?;
        for decision in rebuilt.drive.into_engine().preview(tasks) {
            let policies = &read.topology.policies;
            let spec = policies.iter().find(|spec| spec.name == decision.policy);
            let kinds: Vec<_> = spec.and_then(|spec| kind(&spec.kind)).into_iter().collect();
            let mut policies = epoch_config.policies.iter();
            let context = Context {
                kinds: &kinds,
                limits: Some(&epoch_config.setting.limits),
                policy: policies.find(|it| it.hash() == decision.policy_hash),
            };
            println!("{}", plain_lines(&explain(&decision.plain(), &context)));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Refuses names that no record may have.
fn check_names(read: &Read, user: &str, id: &str) -> Result<(), Usage> {
    let longest = read.topology.limits.name_bytes;
    // Of the number of a job in a description with several.
    let number = "/4294967295".len();
    for (flag, length) in [("--user", user.len()), ("--job-id", id.len() + number)] {
        if length == 0 || length > longest {
            return Err(Usage(format!(
                "{flag}: {length} bytes; give 1 to {longest}, the limit name_bytes of {}",
                read.name
            )));
        }
    }
    Ok(())
}

/// The policy of a topology that chooses targets for jobs.
fn policy(read: &Read) -> Result<String, Usage> {
    let judges = |spec: &&yardmaster_core::policy::PolicySpec| {
        kind(&spec.kind).is_some_and(|kind| kind.judges_targets())
    };
    let found = read.topology.policies.iter().find(judges);
    found.map(|spec| spec.name.clone()).ok_or_else(|| {
        Usage(format!(
            "{}: no policy of the kind nordugrid answers jobs in xRSL; give --topology nordugrid, \
             or a file with such a policy",
            read.name
        ))
    })
}

/// The records of requests; each must be short enough to be read.
fn entries(read: &Read, tasks: &[Task]) -> Result<Vec<Entry>, Usage> {
    let entry = |task: &Task| {
        let mut value = Vec::new();
        record::write(&mut value, task);
        if let Some(why) = oversize(Topic::Task, &value, &read.topology.limits) {
            return Err(Usage(format!(
                "the record of job {}: {why} (in {}): shorten the description",
                task.subject, read.name
            )));
        }
        let (topic, key) = (Topic::Task, task.subject.clone());
        Ok(Entry { topic, key, value: Some(value), headers: Vec::new() })
    };
    tasks.iter().map(entry).collect()
}

/// A job id that no other submission has.
fn new_id(user: &str, now: Millis) -> String {
    let drawn = RandomState::new().hash_one((user, now, std::process::id(), clock::stopwatch()));
    let mut hash = Sha256::new();
    hash.update(format!("{user}\n{now}\n{}\n{drawn}", std::process::id()));
    format!("ng-{}", hex::encode(&hash.finalize()[..12]))
}
