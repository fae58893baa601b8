//! Jobs that are waited for, and the loop that carries them on.

use super::clusters::Clusters;
use super::decision_log::{DecisionLog, FOLLOWED, READ};
use super::job::{JobEnd, LastRead, Stage, SubmittedJob};
use super::lines::{note, print};
use super::resumed::{Resumed, resumed};
use super::strays::Stray;
use super::submission::Submission;
use crate::arex::{Credentials, NamedCredentials};
use crate::cli::import::Entry;
use crate::cli::record_publisher::RecordPublisher;
use crate::cli::stop::Stop;
use crate::cli::{Ended, Usage};
use crate::clock;
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use yardmaster_core::cut::Topic;
use yardmaster_core::event::Task;
use yardmaster_core::output::decision::{Decision, Outcome};
use yardmaster_core::plain::plain;
use yardmaster_core::unit::Millis;

/// Topics that are written.
const WRITTEN: [Topic; 3] = [Topic::Task, Topic::Outcome, Topic::JobState];
/// How long one look at the log may wait, and so a signal and the clusters.
const LOOK: Duration = Duration::from_millis(100);
/// How often the user's credentials are read again, since a proxy may be renewed: at most, and at
/// least, so long before they expire.
const CREDENTIALS_AGAIN: [Duration; 2] = [Duration::from_secs(300), Duration::from_secs(5)];
/// Exit code if no target took a job, and if the jobs go on.
const UNPLACED: u8 = 3;
const LEFT: u8 = 4;

/// Jobs that are waited for.
pub struct WaitedJobs<'a> {
    pub(super) submission: &'a Submission<'a>,
    named: NamedCredentials,
    read_again: Instant,
    /// Until when the user's credentials hold, if that is known.
    until: Option<Millis>,
    pub(super) stop: Stop,
    pub(super) log: DecisionLog,
    pub(super) publisher: RecordPublisher,
    pub(super) clusters: Clusters,
    pub(super) jobs: BTreeMap<String, SubmittedJob>,
    /// Jobs that are not wanted at their clusters.
    pub(super) strays: Vec<Stray>,
    /// Decisions that were there before.
    decided: Vec<Decision>,
}

impl<'a> WaitedJobs<'a> {
    /// Publishes the records of tasks, once all is there that their jobs need.
    ///
    /// # Errors
    /// Credentials that are of no use, a file that is to be uploaded and is not there, a log that
    /// cannot be read or written.
    pub fn submit(
        submission: &'a Submission<'a>,
        tasks: &[Task],
        entries: &[Entry],
    ) -> anyhow::Result<WaitedJobs<'a>> {
        let mut waiting = WaitedJobs::begin(submission)?;
        let mut read = LastRead::default();
        for task in tasks {
            waiting.add(submission.job(task.clone(), &mut read)?)?;
        }
        waiting.log.follow()?;
        waiting.publisher.publish(entries)?;
        tasks.iter().for_each(|task| print(&plain(&task.subject)));
        Ok(waiting)
    }

    /// Finds where the jobs of a name stand.
    ///
    /// # Errors
    /// As [`WaitedJobs::submit`]; or the log has no such job.
    pub fn resume(submission: &'a Submission<'a>, name: &str) -> anyhow::Result<WaitedJobs<'a>> {
        let mut waiting = WaitedJobs::begin(submission)?;
        let found = resumed(&mut waiting.log, name, submission)?;
        let other = found
            .iter()
            .map(|it| &it.job.task)
            .find(|task| submission.user.is_some_and(|user| task.user != user));
        if let Some(task) = other {
            let (subject, user) = (&task.subject, &task.user);
            return Err(Usage(format!("--resume {subject}: it is a job of --user {user}")).into());
        }
        for Resumed { job, decision, strays } in found {
            waiting.strays.extend(strays);
            let is_open = match &decision {
                Some(decision) => matches!(decision.outcome, Outcome::Assign(_)),
                None => matches!(job.stage, Stage::Asked(_)),
            };
            match is_open {
                true => waiting.add(job)?,
                false => drop(waiting.jobs.insert(job.task.subject.clone(), job)),
            }
            waiting.decided.extend(decision);
        }
        waiting.log.follow()?;
        Ok(waiting)
    }

    fn begin(submission: &'a Submission<'a>) -> anyhow::Result<WaitedJobs<'a>> {
        let (args, topology) = (submission.args, &submission.read.topology);
        let (proxy, token, ca) = (args.proxy.clone(), args.token.clone(), args.ca.clone());
        let named = NamedCredentials { proxy, token, ca };
        let credentials = Credentials::read(&named, clock::now());
        let credentials = credentials.map_err(|error| Usage(error.to_string()))?;
        let topics: &[Topic] = if args.resume.is_some() { &READ } else { &FOLLOWED };
        let log = submission.log_args.log_of(topology, topics)?;
        let conf = submission.log_args.kafka(topology)?;
        Ok(WaitedJobs {
            submission,
            named,
            read_again: read_again(&credentials),
            until: credentials.until(),
            stop: Stop::on_signals()?,
            log: DecisionLog::open(log, &topology.domain)?,
            publisher: RecordPublisher::open(conf, topology, &WRITTEN)?,
            clusters: Clusters::new(credentials),
            jobs: BTreeMap::new(),
            strays: Vec::new(),
            decided: Vec::new(),
        })
    }

    /// Waits for a job, whose files must be there.
    fn add(&mut self, job: SubmittedJob) -> Result<(), Usage> {
        if let Some(path) = job.upload_from_elsewhere().filter(|_| self.submission.is_from_log) {
            return Err(Usage(format!(
                "{}: by the log it uploads {path}, which may be anybody's wish; submit its \
                 description with --xrsl, or put the file below --files DIR and name it so",
                job.task.subject
            )));
        }
        if let Some(path) = job.missing_upload() {
            return Err(Usage(format!(
                "{}: the file {} is to be uploaded and is not there; put it there, or name the \
                 folder of such files with --files DIR",
                job.task.subject,
                path.display()
            )));
        }
        self.jobs.insert(job.task.subject.clone(), job);
        Ok(())
    }

    /// Carries the jobs on until all are over, or a signal comes.
    ///
    /// # Errors
    /// None: what fails on the way is reported, and tells in the exit code.
    pub fn run(mut self) -> Ended {
        let over: Vec<String> = self.jobs.keys().cloned().collect();
        for subject in over {
            self.end_if_over(&subject, None);
        }
        for decision in std::mem::take(&mut self.decided) {
            self.take_up(&decision);
        }
        while self.goes_on() {
            if !self.stop.goes_on() {
                self.leave("ended by a signal");
                break;
            }
            if let Err(why) = self.read_credentials_again() {
                self.leave(&why);
                break;
            }
            let jobs = &self.jobs;
            let wants = |it: &Decision| jobs.contains_key(&it.subject) && !it.dry_run;
            let decisions = match self.log.take(LOOK, &wants) {
                Ok(decisions) => decisions,
                Err(error) => {
                    self.leave(&error.to_string());
                    break;
                }
            };
            self.log.take_notices().iter().for_each(|notice| tracing::warn!("{notice}"));
            decisions.iter().for_each(|decision| self.take_up(decision));
            self.take_reports();
            self.look();
            self.give_up();
        }
        self.strays.iter().filter_map(Stray::left).for_each(|line| note(&plain(&line)));
        Ok(self.exit_code())
    }

    /// Whether a job is not over, or a cluster was not asked yet about one that is not wanted.
    fn goes_on(&self) -> bool {
        let is_open = |job: &SubmittedJob| !matches!(job.stage, Stage::Over(_));
        self.jobs.values().any(is_open) || self.strays.iter().any(|stray| !stray.is_looked_for)
    }

    fn exit_code(&self) -> ExitCode {
        let ends = self.jobs.values().filter_map(|job| match job.stage {
            Stage::Over(end) => Some(end),
            _ => None,
        });
        let ends: Vec<JobEnd> = ends.collect();
        for (end, code) in [(JobEnd::Left, LEFT), (JobEnd::Unplaced, UNPLACED)] {
            if ends.contains(&end) {
                return ExitCode::from(code);
            }
        }
        if ends.contains(&JobEnd::Failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Ends with jobs that go on, and tells how to take them up again.
    fn leave(&mut self, why: &str) {
        note(&plain(why));
        let mut names = BTreeSet::new();
        for job in self.jobs.values_mut() {
            if !matches!(job.stage, Stage::Over(_)) {
                names.insert(job.task.task.clone());
                job.stage = Stage::Over(JobEnd::Left);
            }
        }
        for name in names {
            let name = plain(&name);
            note(&format!(
                "{name}: its jobs go on; `submit --wait --resume {name}` with the same flags takes \
                 them up again"
            ));
        }
    }

    /// Reads the credentials again now and then, so that a proxy that was renewed is used.
    fn read_credentials_again(&mut self) -> Result<(), String> {
        if Instant::now() < self.read_again {
            return Ok(());
        }
        let now = clock::now();
        match Credentials::read(&self.named, now) {
            Ok(credentials) => {
                self.read_again = read_again(&credentials);
                self.until = credentials.until();
                self.clusters.renew(credentials);
                Ok(())
            }
            // A file that is just being written; those that were read before still hold.
            Err(error) if self.until.is_some_and(|until| now < until) => {
                tracing::warn!("{error}; those of before are used until they expire");
                self.read_again = Instant::now() + CREDENTIALS_AGAIN[1];
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// Gives up jobs about which nothing was decided for too long.
    fn give_up(&mut self) {
        let limit = Duration::from_secs(self.submission.args.decide_within);
        for job in self.jobs.values_mut() {
            let Stage::Asked(Some(since)) = &job.stage else { continue };
            if since.elapsed() < limit {
                continue;
            }
            let (seconds, name) = (limit.as_secs(), plain(&job.task.subject).into_owned());
            note(&format!(
                "{name}: no decision within {seconds} s (--decide-within): does `run --topology {}` \
                 lead this domain? It still waits: `submit --wait --resume {name}` takes it up \
                 again, `waiting` and `explain {name}` show why it waits",
                self.submission.read.topology.domain
            ));
            job.stage = Stage::Over(JobEnd::Left);
        }
    }
}

/// When credentials are read again.
fn read_again(credentials: &Credentials) -> Instant {
    let [most, least] = CREDENTIALS_AGAIN;
    let left = credentials.until().map(|until| until.saturating_sub(clock::now()));
    let left = left.and_then(|left| u64::try_from(left).ok()).map(Duration::from_millis);
    let span = left.map_or(most, |left| left.saturating_sub(most).clamp(least, most));
    Instant::now() + span
}
