"""The lives that PanDA's jobs and tasks can have, a step each: PanDA's own code writes, and the
proof compares."""

import json
import uuid

import world
from figures import differences
from proof import Proof

MERGE = {
    "mergeOutput": True,
    "mergeSpec": {
        "transPath": "merge",
        "jobParameters": "--out ${OUTPUT0} --in ${TRN_OUTPUT0} --log ${TRN_LOG0}",
    },
}
LABELS = ("managed", "user")
# Cases that have to come about in a round, as conditions on jobs.
CASES = {
    **{
        state: f"jobstatus = '{state}'"
        for state in (
            "pending",
            "defined",
            "assigned",
            "throttled",
            "activated",
            "sent",
            "starting",
            "running",
            "holding",
            "transferring",
            "merging",
            "finished",
            "failed",
            "cancelled",
            "closed",
        )
    },
    "tried again": "attemptnr > 1 AND jobstatus = 'finished'",
    "failed for want of memory": f"piloterrorcode = {world.OUT_OF_MEMORY} "
    "AND resource_type NOT LIKE '%HIMEM'",
    "tried again as another resource type": "attemptnr > 1 "
    "AND resource_type LIKE '%HIMEM' AND jobstatus = 'finished'",
    "merged": "processingtype = 'pmerge' AND jobstatus = 'finished'",
    "closed to be brokered again": "jobstatus = 'closed' AND jobsubstatus = 'toreassign'",
    "moved to another share": "workinggroup = 'AP_MOVES' "
    "AND gshare = 'Analysis' AND jobstatus = 'running'",
    "other cores than asked for": "actualcorecount <> corecount AND jobstatus = 'running'",
}


class Story(Proof):
    """One round: tasks are handed in, and all that can become of their jobs does."""

    cases = CASES

    def round(self, scale: int) -> None:
        """`scale` says how many jobs there are."""
        tasks = self.submit(scale)
        self.make("JEDI makes jobs")
        self.defined()
        self.activate("jobs are activated, or wait for their inputs", "jobstatus = 'defined'")
        self.staged()
        self.throttled()
        self.killed_before_they_run()
        self.sent()
        self.run()
        self.heartbeats()
        self.moved_to_another_share(tasks["moves"])
        self.reported()
        self.added()
        self.make(
            "JEDI makes jobs that try again, with more memory where it ran out, and jobs that merge"
        )
        self.lost()
        self.killed_while_they_run()
        self.taken_away()
        self.task_aborted(tasks["aborted"])
        self.to_the_end()
        self.taken_up(tasks["hopeless"])

    def end_of_all(self) -> None:
        """Jobs that are over leave PanDA's archive, and a queue gets another status, after all
        rounds."""
        self.must_have_reached()
        self.status_changed()
        self.archive_cleaned()

    # --- Steps -----------------------------------------------------------------------------------

    def submit(self, scale: int) -> dict[str, int]:
        """Tasks of two labels, with and without working group, merging, one and many cores."""
        submit = self.panda.submit
        prod = {
            "taskType": "prod",
            "coreCount": 8,
            "processingType": "simul",
            "ramCount": 2000,
            "nucleus": world.NUCLEUS,
        }
        anal = {
            "taskType": "anal",
            "coreCount": 1,
            "processingType": "panda-client",
            "ramCount": 2000,
            "transHome": "AnalysisTransforms-AthAnalysis_25.0.1",
        }
        tasks = {
            "plain": submit("managed", "alice", 3 * scale, workingGroup="AP_PLAIN", **prod),
            "travels": submit(
                "managed",
                "alice",
                scale,
                workingGroup="AP_PLAIN",
                **prod | {"processingType": "travels"},
            ),
            "stages": submit(
                "managed",
                "bob",
                scale,
                workingGroup="AP_PLAIN",
                **prod | {"processingType": "stages"},
            ),
            "moves": submit("managed", "bob", scale, workingGroup="AP_MOVES", **prod),
            "merges": submit("user", "carol", 2 * scale, **anal, **MERGE),
            "aborted": submit("user", "dave", scale, **anal),
            "hopeless": submit("user", "erin", scale, **anal | {"maxAttempt": 1}),
        }
        for label in LABELS:
            self.panda.refine(label)
        self.compare("tasks are handed in")
        return tasks

    def make(self, step: str) -> None:
        for label in LABELS:
            self.panda.generate(label)
        self.compare(step)

    def activate(self, step: str, where: str) -> None:
        self.panda.activate(self.jobs(where, "jobsdefined4"))
        self.compare(step)

    def defined(self) -> None:
        self.panda.define(self.jobs("jobstatus = 'pending'", "jobsdefined4"))
        self.compare("jobs are defined")

    def staged(self) -> None:
        self.panda.stage(self.jobs("jobstatus = 'assigned'", "jobsdefined4"))
        self.compare("inputs have come")

    def throttled(self) -> None:
        for on in (True, False):
            self.panda.throttle("carol", on)
            self.compare("a user is throttled" if on else "and is not any more")

    def killed_before_they_run(self) -> None:
        """By each code that leads elsewhere: cancelled, closed, closed to be brokered again."""
        for job, code in zip(
            self.jobs("workinggroup = 'AP_PLAIN'"), (50, 2, 51, 9, 4), strict=False
        ):
            self.panda.kill([job], code)
        self.compare("activated jobs are killed")

    def sent(self) -> None:
        """Pilots on several nodes take all but a few jobs."""
        for queue in world.QUEUES:
            for label in LABELS:
                self.panda.get(queue, 50, f"slot1@{queue.lower()}.proof", label=label)
        self.compare("pilots ask")

    def run(self) -> None:
        jobs = self.jobs("jobstatus = 'sent'")
        for job in jobs:
            self.panda.update(job, "starting", node="slot1@node.proof")
        self.compare("jobs start")
        for job in jobs:
            self.panda.update(job, "running", node="slot1@node.proof")
        for number, queue in enumerate(world.QUEUES, 1):
            self.panda.workers(
                queue, MCORE={"submitted": number, "running": 2 * number}, SCORE={"running": number}
            )
        self.compare("jobs run")

    def heartbeats(self) -> None:
        """Of jobs that use other cores than they asked for, too."""
        for number, job in enumerate(self.jobs("jobstatus = 'running'")):
            self.panda.update(
                job,
                "running",
                cpu_consumption_time=600,
                max_pss=1_400_000,
                job_metrics="x=1",
                core_count=4 if number % 5 == 0 else None,
            )
        self.compare("heartbeats come, some with other numbers of cores")

    def moved_to_another_share(self, task: int) -> None:
        """An operator gives a task that runs another share."""
        self.panda.reassign_share(task, "Analysis")
        self.compare("a task's running jobs change their share")

    def reported(self) -> None:
        """Pilots end jobs: most finish, some fail, some run out of memory."""
        jobs = self.jobs("jobstatus = 'running'")
        self.hopeless = self.jobs("jobstatus = 'running' AND produsername LIKE '%erin%'")
        for number, job in enumerate(jobs):
            if job in self.hopeless or number % 5 == 1:
                self.end(job, 1305)
            elif number % 5 == 2:
                self.end(job, world.OUT_OF_MEMORY)
            elif number % 5 != 3:
                self.end(job)
        self.compare("pilots report the end of jobs")

    def added(self) -> None:
        self.panda.add()
        self.compare("the adder ends jobs, and lets some merge or travel")
        self.travelled()

    def travelled(self) -> None:
        """Outputs that travel arrive."""
        jobs = self.jobs("jobstatus = 'transferring'")
        if jobs:
            self.panda.arrive(jobs)
            self.panda.add()
            self.compare("outputs arrive")

    def lost(self) -> None:
        """Of jobs that run the watcher takes one for lost."""
        self.panda.lose(self.jobs("jobstatus = 'running'")[0])
        self.compare("a job is lost")

    def killed_while_they_run(self) -> None:
        """A pilot hears of it at its next update, and gives up."""
        jobs = self.jobs("jobstatus = 'running'")
        half = jobs[: max(1, len(jobs) // 2)]
        self.panda.kill(half, 50)
        self.compare("running jobs are to be killed")
        for job in half:
            if self.panda.update(job, "running", node="slot1@node.proof") != "tobekilled":
                raise RuntimeError(f"{job} did not hear of it")
            self.end(job, 1234)
        self.panda.add()
        self.compare("their pilots give up")

    def taken_away(self) -> None:
        """Waiting jobs go back to be brokered again, and JEDI makes others in their place."""
        self.activate("the new jobs are activated", "jobstatus = 'pending'")
        jobs = self.jobs("jobstatus = 'activated' AND processingtype <> 'pmerge'")
        self.panda.kill(jobs[: max(1, len(jobs) // 3)], 51)
        self.compare("activated jobs are taken away")
        self.make("JEDI makes others")
        self.activate("these are activated", "jobstatus = 'pending'")

    def task_aborted(self, task: int) -> None:
        self.panda.abort(task)
        for _ in range(3):
            for label in LABELS:
                self.panda.commands(label)
        self.compare("a task is aborted")

    def to_the_end(self) -> None:
        """Until no job is left: each turn what waits runs and finishes, and what it leads to is
        made."""
        for turn in range(1, 8):
            if not (self.jobs() or self.jobs(table="jobsdefined4")):
                break
            self.panda.stage(self.jobs("jobstatus = 'assigned'", "jobsdefined4"))
            self.panda.activate(self.jobs(table="jobsdefined4"))
            for queue in world.QUEUES:
                for label in LABELS:
                    for job in self.panda.get(
                        queue, 50, f"slot2@{queue.lower()}.proof", label=label
                    ):
                        self.panda.update(job, "running", node=f"slot2@{queue.lower()}.proof")
            for job in self.jobs("jobstatus = 'running'"):
                self.end(job)
            self.compare(f"turn {turn}: all that waited has run")
            self.panda.add()
            self.travelled()
            self.make(f"turn {turn}: what it leads to")
        if left := [*self.jobs(), *self.jobs(table="jobsdefined4")]:
            raise RuntimeError(f"jobs come to no end: {left}")
        for label in LABELS:
            self.panda.finish(label)
        self.compare("tasks are over")

    def taken_up(self, task: int) -> None:
        """A task that failed is taken up again."""
        self.panda.reactivate(task)
        self.make("a failed task is taken up again")
        if not self.jobs(f"jeditaskid = {task}", "jobsdefined4"):
            raise RuntimeError(f"task {task} has no new jobs")
        self.to_the_end()

    def status_changed(self) -> None:
        """PanDA's Configurator writes what CRIC states."""
        self.cursor.execute(
            "UPDATE doma_panda.schedconfig_json SET data = %s, last_update = now() "
            "WHERE panda_queue = "
            "'PROOF_A'",
            (json.dumps(world.queue("PROOF_A", 8) | {"status": "test"}),),
        )
        self.compare("a queue is set to test")

    def archive_cleaned(self) -> None:
        """Rows that leave the archive change no counter."""
        before = {kind: process for kind, (_, process) in self.both.kinds().items()}
        self.cursor.execute("DELETE FROM doma_panda.jobsarchived4 WHERE pandaid % 2 = 0")
        self.stand.caught_up(self.cursor)
        after = {kind: process for kind, (_, process) in self.both.kinds().items()}
        # Of tasks without a row nothing is asked.
        changed = differences(
            {kind: (before[kind], after[kind]) for kind in before if kind != "jobs of tasks"}
        )
        if changed:
            raise RuntimeError(
                "rows left the archive, and counters changed:\n" + "\n".join(changed)
            )
        print("rows left the archive: no counter changed")

    # --- What a pilot does at the end ------------------------------------------------------------

    def end(self, job: int, error: int = 0) -> None:
        """A job's pilot reports that it is over."""
        self.cursor.execute(
            "SELECT attemptnr FROM doma_panda.jobsactive4 WHERE pandaid = %s", (job,)
        )
        (attempt,) = self.cursor.fetchone()
        if error:
            self.panda.update(
                job,
                "failed",
                attempt_nr=attempt,
                pilot_error_code=error,
                pilot_error_diag="as wanted",
            )
            return
        self.cursor.execute(
            "SELECT lfn FROM doma_panda.filestable4 "
            "WHERE pandaid = %s AND type IN ('output', 'log')",
            (job,),
        )
        files = {
            lfn: {"guid": str(uuid.uuid4()), "fsize": 100, "adler32": "0"}
            for (lfn,) in self.cursor.fetchall()
        }
        self.panda.update(job, "finished", attempt_nr=attempt, job_output_report=json.dumps(files))
