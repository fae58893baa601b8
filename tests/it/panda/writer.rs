//! Moves rows as PanDA's server moves them: the statements of its DBProxy in their order, each
//! transaction as it is there. `updateJobStatus` writes a row twice; a move deletes here and inserts
//! there in one transaction; a report of workers replaces the one before.

use postgres::Client;

/// A job as JEDI makes it.
#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: i64,
    pub task: i64,
    pub queue: String,
    pub user: String,
    /// Working group; empty for none.
    pub group: String,
    pub gshare: String,
    pub resource_type: String,
    pub label: String,
    pub processing_type: String,
    pub cores: i64,
    pub priority: i64,
}

impl NewJob {
    /// A plain one.
    pub fn of(id: i64, task: i64, queue: &str, cores: i64) -> NewJob {
        let text = ToOwned::to_owned;
        NewJob {
            id,
            task,
            queue: text(queue),
            user: format!("user-{}", task % 7),
            group: if task % 2 == 0 { text("AP_SYNTH") } else { String::new() },
            gshare: text(if task % 2 == 0 { "MC Default evgensimul" } else { "User Analysis" }),
            resource_type: text(if cores > 1 { "MCORE" } else { "SCORE" }),
            label: text(if task % 2 == 0 { "managed" } else { "user" }),
            processing_type: text(if task % 2 == 0 { "simul" } else { "panda-client-1.5" }),
            cores,
            priority: 900,
        }
    }
}

/// PanDA's server. Times are ms since 1970.
pub struct Writer {
    client: Client,
}

/// A text literal; null if it is empty.
fn text(value: &str) -> String {
    if value.is_empty() { "NULL".to_owned() } else { format!("'{}'", value.replace('\'', "''")) }
}

fn time(at: i64) -> String {
    format!("(to_timestamp({at} / 1000.0) AT TIME ZONE 'UTC')")
}

impl Writer {
    pub fn new(client: Client) -> Writer {
        Writer { client }
    }

    fn run(&mut self, sql: &str) {
        self.client.batch_execute(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }

    fn transaction(&mut self, statements: &[String]) {
        self.run(&format!("BEGIN; {}; COMMIT", statements.join("; ")));
    }

    /// A task that runs.
    pub fn task(&mut self, id: i64, user: &str, at: i64) {
        let (user, at) = (text(user), time(at));
        self.run(&format!(
            "INSERT INTO jedi_tasks (jeditaskid, taskname, status, username, creationdate,
                modificationtime, statechangetime, prodsourcelabel)
            VALUES ({id}, 'synthetic.task.{id}', 'running', {user}, {at}, {at}, {at}, 'managed')"
        ));
    }

    /// The state of a task.
    pub fn task_status(&mut self, id: i64, status: &str, at: i64) {
        let at = time(at);
        self.run(&format!(
            "UPDATE jedi_tasks SET status = '{status}', modificationtime = {at},
                statechangetime = {at}, oldstatus = NULL WHERE jeditaskid = {id}"
        ));
    }

    /// `insertNewJob`: pending, in jobsdefined4.
    pub fn insert(&mut self, job: &NewJob, at: i64) {
        let (id, task, cores, priority, at) = (job.id, job.task, job.cores, job.priority, time(at));
        let [queue, user, group, gshare, resource_type, label, processing_type] = [
            &job.queue,
            &job.user,
            &job.group,
            &job.gshare,
            &job.resource_type,
            &job.label,
            &job.processing_type,
        ]
        .map(|it| text(it));
        self.run(&format!(
            "INSERT INTO jobsdefined4 (pandaid, jeditaskid, jobstatus, creationtime, modificationtime,
                statechangetime, computingsite, produsername, produserid, workinggroup, gshare,
                resource_type, prodsourcelabel, processingtype, corecount, currentpriority, nevents,
                inputfilebytes, jobparameters)
            VALUES ({id}, {task}, 'pending', {at}, {at}, {at}, {queue}, {user},
                '/DC=org/DC=synthetic/CN=' || {user}, {group}, {gshare}, {resource_type}, {label},
                {processing_type}, {cores}, {priority}, 1000, 123456789, '--synthetic')"
        ));
    }

    /// `resetDefinedJob`: pending to defined, which leaves the time of the change of state.
    pub fn define(&mut self, id: i64, at: i64) {
        self.run(&format!(
            "UPDATE jobsdefined4 SET jobstatus = 'defined', modificationtime = {} WHERE pandaid = {id}",
            time(at)
        ));
    }

    /// `updateJob` in jobsdefined4: assigned.
    pub fn assign(&mut self, id: i64, at: i64) {
        let at = time(at);
        self.run(&format!(
            "UPDATE jobsdefined4 SET jobstatus = 'assigned', modificationtime = {at},
                statechangetime = {at} WHERE pandaid = {id}"
        ));
    }

    /// The row leaves one table and stands in another with these columns changed, in one transaction.
    fn moved(&mut self, id: i64, [from, to]: [&str; 2], status: &str, more: &str, at: i64) {
        let before = match from {
            // `archiveJob` writes the row before it goes.
            "jobsactive4" if to == "jobsarchived4" => vec![format!(
                "UPDATE jobsactive4 SET jobstatus = '{status}', modificationtime = {at},
                    statechangetime = {at} WHERE pandaid = {id}",
                at = time(at)
            )],
            _ => Vec::new(),
        };
        let at = time(at);
        let moved = format!(
            "WITH gone AS (DELETE FROM {from} WHERE pandaid = {id} RETURNING {from} AS old),
                changed AS MATERIALIZED (SELECT jsonb_populate_record(old, jsonb_build_object(
                    'jobstatus', '{status}', 'modificationtime', {at},
                    'statechangetime', {at}{more})) AS row FROM gone)
            INSERT INTO {to} SELECT (changed.row).* FROM changed"
        );
        self.transaction(&[before, vec![moved]].concat());
    }

    /// `activateJob`.
    pub fn activate(&mut self, id: i64, at: i64) {
        self.moved(id, ["jobsdefined4", "jobsactive4"], "activated", "", at);
    }

    /// `resetJob`: back into jobsdefined4, within the same attempt.
    pub fn reset(&mut self, id: i64, at: i64) {
        self.moved(id, ["jobsactive4", "jobsdefined4"], "defined", "", at);
    }

    /// `archiveJob` of a job that was active.
    pub fn archive(&mut self, id: i64, status: &str, at: i64) {
        let more = format!(", 'endtime', {}", time(at));
        self.moved(id, ["jobsactive4", "jobsarchived4"], status, &more, at);
    }

    /// `archiveJob` of a job that was not.
    pub fn archive_defined(&mut self, id: i64, status: &str, at: i64) {
        self.moved(id, ["jobsdefined4", "jobsarchived4"], status, "", at);
    }

    /// `getJobs`: a pilot gets it.
    pub fn send(&mut self, id: i64, host: &str, at: i64) {
        let at = time(at);
        self.run(&format!(
            "UPDATE jobsactive4 SET jobstatus = 'sent', modificationtime = {at}, starttime = {at},
                statechangetime = {at}, modificationhost = '{host}'
            WHERE pandaid = {id} AND jobstatus = 'activated'"
        ));
    }

    /// `updateJobStatus`: writes the row, and once more for its computing element.
    pub fn update(&mut self, id: i64, status: &str, more: &str, at: i64) {
        let at = time(at);
        let row = format!(
            "UPDATE jobsactive4 SET jobstatus = '{status}', modificationtime = {at},
                statechangetime = CASE WHEN jobstatus = '{status}' THEN statechangetime ELSE {at} END
                {more} WHERE pandaid = {id}"
        );
        let element =
            format!("UPDATE jobsactive4 SET computingelement = 'ce' WHERE pandaid = {id}");
        self.transaction(&[row, element]);
    }

    /// `updateJobStatus` to starting.
    pub fn starting(&mut self, id: i64, node: &str, at: i64) {
        self.update(id, "starting", &format!(", modificationhost = 'slot1@{node}'"), at);
    }

    /// `updateJobStatus` to running.
    pub fn running(&mut self, id: i64, at: i64) {
        self.update(id, "running", &format!(", starttime = {}", time(at)), at);
    }

    /// `updateJobStatus` of a job that runs already.
    pub fn heartbeat(&mut self, id: i64, cpu_s: i64, at: i64) {
        let more = format!(
            ", cpuconsumptiontime = {cpu_s}, maxpss = {}, maxrss = 1500000, diskio = 100,
            nevents = {}, actualcorecount = corecount",
            1_400_000 + cpu_s,
            cpu_s / 6
        );
        self.update(id, "running", &more, at);
    }

    /// `updateJobStatus` to holding.
    pub fn holding(&mut self, id: i64, at: i64) {
        self.update(id, "holding", &format!(", endtime = {}, transexitcode = '0'", time(at)), at);
    }

    /// `updateJob` to transferring.
    pub fn transferring(&mut self, id: i64, at: i64) {
        let at = time(at);
        self.run(&format!(
            "UPDATE jobsactive4 SET jobstatus = 'transferring', modificationtime = {at},
                statechangetime = {at}, outputfilebytes = 987654321 WHERE pandaid = {id}"
        ));
    }

    /// `retryJob`: the next attempt, in the same row.
    pub fn retry(&mut self, id: i64, at: i64) {
        let at = time(at);
        self.run(&format!(
            "UPDATE jobsactive4 SET jobstatus = 'activated', attemptnr = attemptnr + 1,
                modificationtime = {at}, statechangetime = {at}, starttime = '1970-01-01',
                endtime = '1970-01-01', modificationhost = NULL WHERE pandaid = {id}"
        ));
    }

    /// A row that is removed, with none in another table.
    pub fn remove(&mut self, id: i64) {
        self.run(&format!("DELETE FROM jobsactive4 WHERE pandaid = {id}"));
    }

    /// `reportWorkerStats_jobtype`: what stood there goes, what is reported comes, in one transaction.
    pub fn report_workers(
        &mut self,
        harvester: &str,
        queue: &str,
        workers: &[(&str, &str, i64)],
        at: i64,
    ) {
        let mut statements = vec![format!(
            "DELETE FROM harvester_worker_stats
            WHERE harvester_id = '{harvester}' AND computingsite = '{queue}'"
        )];
        for (resource_type, status, number) in workers {
            statements.push(format!(
                "INSERT INTO harvester_worker_stats (harvester_id, computingsite, resourcetype,
                    status, jobtype, n_workers, lastupdate)
                VALUES ('{harvester}', '{queue}', '{resource_type}', '{status}', 'managed', {number},
                    {})",
                time(at)
            ));
        }
        self.transaction(&statements);
    }
}
