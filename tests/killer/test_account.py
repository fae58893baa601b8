"""The checks themselves: each must object to what it is there for."""

import itertools
import unittest
from collections.abc import Callable
from typing import Any

import account
from account import Letter, Output
from answers import Matches, SingleJobs
from codec import Record
from promise import Promises, joined
from recount import Recount
from request import Expected

STATUSES = ["pending", "defined", "assigned", "activated", "running"]
STATUSES += ["finished", "failed", "cancelled", "closed"]
STATES = ["queued", "submitted", "done", "failed"]


def job_record() -> Record:
    """A job without a state."""
    job: Record = {"job": "1", "queue": "Q", "user": "ann", "group": "", "gshare": "S"}
    job |= {"resource_type": "SCORE", "nucleus": "", "cores": 4, "task": "9"}
    job |= {"workflow": "", "label": "managed", "sub_status": ""}
    return job | {"created_at": 20, "started_at": 0, "ended_at": 0}


def decision(subject: str, ordinal: int, outcome: str, cycle: int) -> Output:
    """An answer to the first attempt of a subject."""
    record = {
        "id": account.decision_id("atlas", subject, 0, ordinal),
        "domain": "atlas",
        "subject": subject,
        "attempt": 0,
        "ordinal": ordinal,
        "outcome": outcome,
        "cycle": cycle,
    }
    return Output(0, cycle, subject, record)


def answers() -> list[Output]:
    """A log without fault: one assigned at once, one rejected after two deferrals."""
    return [
        decision("1/1", 1, "assign", 1),
        decision("1/2", 1, "defer", 2),
        decision("1/2", 2, "defer", 3),
        decision("1/2", 3, "reject", 4),
    ]


ASKED = {"1/1": 0, "1/2": 0, "1/3": 0}
EXPECTED = {"1/1": Expected.ONE, "1/2": Expected.ONE, "1/3": Expected.NONE}


def cycle(offset: int, epoch: int, number: int, now: int) -> Output:
    """A progress record that counts one decision."""
    lane = {"lane": {"topic": "decision", "partition": 0}, "records": 1}
    record = {"epoch": epoch, "number": number, "now": now, "outputs": [lane], "lanes": []}
    return Output(offset, offset, "atlas", record | {"instance": f"host-{epoch}"})


def cycles() -> list[Output]:
    """Four cycles of two epochs."""
    return [cycle(0, 1, 1, 10), cycle(1, 1, 2, 20), cycle(2, 2, 3, 20), cycle(3, 2, 4, 30)]


class Objections(unittest.TestCase):
    """Every check passes a log without fault, and names each fault."""

    def objects(
        self,
        check: Callable[[list[Output]], list[str]],
        log: list[Output],
        change: Callable[[list[Output]], Any],
        expected: str,
    ) -> None:
        """A changed log is complained of in these words."""
        change(log)
        found = check(log)
        self.assertTrue(any(expected in it for it in found), f"{expected!r}: {found}")

    def test_answers(self) -> None:
        """Lost, doubled, unasked, misnumbered and misnamed answers."""

        def check(log: list[Output]) -> list[str]:
            return account.check_answers("atlas", log, ASKED, EXPECTED)

        self.assertEqual(check(answers()), [])

        def second_final(log: list[Output]) -> None:
            log.append(decision("1/1", 2, "assign", 5))

        asked_again = account.check_answers("atlas", answers()[:2], {"1/1": 0, "1/2": 1}, {})
        self.assertEqual(asked_again, ["1/2:0: deferred, superseded, no final answer"])

        def unasked_attempt(log: list[Output]) -> None:
            # As if a refused answer were given anew.
            log.append(decision("1/1", 1, "assign", 9))
            log[-1].record["attempt"] = 1

        def other_id(log: list[Output]) -> None:
            log[0].record["id"] = b"\0" * 16

        for change, expected in (
            (lambda log: log.pop(), "1/2:0: no final answer"),
            (lambda log: log.pop(1), "1/2:0: the answers are numbered [2, 3]"),
            (lambda log: log.append(log[1]), "1/2:0: the answers are numbered [1, 1, 2, 3]"),
            (lambda log: log.append(log[0]), "2 decisions"),
            (second_final, "1/1:0: 2 final answers"),
            (lambda log: log.append(decision("1/2", 4, "defer", 9)), "is not the last"),
            (lambda log: log.append(decision("7/7", 1, "assign", 9)), "nobody asked"),
            (lambda log: log.append(decision("1/3", 1, "assign", 9)), "another domain's"),
            (unasked_attempt, "1/1:1: answered, and 0 is the newest that was asked"),
            (other_id, "1/1:0: answer 1 has the id"),
        ):
            self.objects(check, answers(), change, expected)

    def test_cycles(self) -> None:
        """Gaps, repetitions, a second writer, a clock that goes back."""

        def second_writer(log: list[Output]) -> None:
            log[3].record["instance"] = "another"

        def backwards(log: list[Output]) -> None:
            log[3].record["now"] = 5

        self.assertEqual(account.check_progress(cycles()), [])
        for change, expected in (
            (lambda log: log.pop(1), "cycle 3 of epoch 2 follows cycle 1"),
            (lambda log: log.append(cycle(4, 2, 4, 40)), "cycle 4 of epoch 2 follows cycle 4"),
            (second_writer, "epoch 2 has two writers"),
            (backwards, "now goes back by 15 ms"),
            (lambda log: log.append(cycle(4, 1, 5, 40)), "epoch 1 follows epoch 2"),
        ):
            self.objects(account.check_progress, cycles(), change, expected)

    def test_outputs_of_cycles(self) -> None:
        """A cycle counts what names it, no more and no less."""

        def check(log: list[Output]) -> list[str]:
            return account.check_outputs(cycles(), {"decision": log})

        self.assertEqual(check(answers()), [])
        self.objects(check, answers(), lambda log: log.pop(), "cycle 4: 1 records")
        self.objects(check, answers(), lambda log: log.append(log[0]), "but there are 2")

    def test_dead_letters(self) -> None:
        """Each unreadable record has one, each that is stamped ahead one that says so."""

        def letter(offset: int, reason: str) -> Letter:
            return Letter("task", 0, offset, reason)

        one, other, ahead = (("task", 0, offset) for offset in (1, 2, 3))
        good = [letter(1, "malformed"), letter(3, "stamp_ahead")]
        more = [*good, letter(2, "oversized")]
        self.assertEqual(account.check_dead_letters(good, {one}, {ahead}, set()), [])
        self.assertEqual(account.check_dead_letters(more, {one}, {ahead}, {other}), [])
        for letters, expected in (
            (good[1:], "('task', 0, 1): unreadable, no dead letter"),
            (good[:1], "('task', 0, 3): stamped ahead, no dead letter"),
            ([*good, good[0]], "2 dead letters"),
            (more, "('task', 0, 2): a dead letter, and it can be read"),
            ([letter(1, "stamp_ahead"), good[1]], "the reason of the dead letter is stamp_ahead"),
            ([good[0], letter(3, "malformed")], "the reason of the dead letter is malformed"),
        ):
            found = account.check_dead_letters(letters, {one}, {ahead}, set())
            self.assertTrue(any(expected in it for it in found), found)


class Recounting(unittest.TestCase):
    """The recount does not depend on order, and objects to other counters."""

    def test_newest_state_counts_whatever_the_order(self) -> None:
        """Attempt, ended or not, time, revision, rank."""
        job = job_record()
        states = [
            {"attempt": 0, "status": "running", "changed_at": 50, "revision": 0, "started_at": 50},
            {"attempt": 0, "status": "failed", "changed_at": 40, "revision": 0, "started_at": 0},
            {"attempt": 1, "status": "activated", "changed_at": 30, "revision": 1, "started_at": 0},
            {"attempt": 1, "status": "assigned", "changed_at": 30, "revision": 1, "started_at": 0},
        ]
        for order in (states, states[::-1], states + states):
            recount = Recount(STATUSES, STATES)
            for state in order:
                recount.take("job-state", job | state, 50)
            found = recount.counters()
            self.assertEqual(
                found[("user", "ann", "Q")], {"jobs_activated": 1, "cores_activated": 4}
            )
            self.assertEqual(found[("queue", "Q")]["last_start_ms"], 50)
            self.assertEqual(account.check_counters("a", found, found), [])
            self.assertEqual(len(account.check_counters("a", found, {})), 8)
            topic = account.counter_topic(found)
            self.assertEqual(topic["jobs,user=ann,queue=Q,status=activated"], 1)
            self.assertEqual(account.check_counter_topic(found, topic), [])
            self.assertEqual(len(account.check_counter_topic(found, topic | {"x": 1})), 1)

    def test_states_of_one_time_are_ordered_by_content(self) -> None:
        """A clock that is ahead and a batch of one stamp: queue before user before the rest."""
        stamp = 1_000
        states: list[Record] = [
            {"queue": "P", "user": "carol"},
            {"user": "ann", "group": "AP_MCGN", "nucleus": "SOUTH", "cores": 8},
            {"user": "bob", "group": "AP_HIGG", "nucleus": "NORTH", "cores": 8},
            {"user": "bob", "group": "AP_HIGG", "nucleus": "NORTH", "cores": 9, "started_at": 990},
            {"user": "bob", "group": "AP_HIGG", "nucleus": "NORTH", "cores": 0, "started_at": 995},
        ]
        for at, state in enumerate(states):
            state |= {"attempt": 0, "status": "finished", "revision": 1}
            state["changed_at"] = stamp + 600_000 - at
        for order in itertools.permutations(states):
            recount = Recount(STATUSES, STATES)
            for state in order:
                recount.take("job-state", job_record() | state, stamp)
            found = recount.counters()
            one = {"jobs_finished": 1, "cores_finished": 1}
            self.assertEqual(found.get(("user", "bob", "Q")), one)
            self.assertEqual(found.get(("group", "AP_HIGG", "Q")), one)
            self.assertEqual(found.get(("nucleus", "NORTH")), one)
            self.assertEqual(len([key for key in found if key[0] in ("user", "group")]), 2)

    def test_transfers_of_one_time_are_ordered_by_content(self) -> None:
        """Source, destination, activity, bytes, files."""
        move: Record = {"request": "1", "state": "queued", "changed_at": 5, "revision": 0}
        move |= {"source": "", "destination": "NORTH", "activity": "Express", "bytes": 9}
        moves = [move | {"files": 7}, move | {"bytes": 10, "files": 0}]
        moves += [move | {"bytes": 10, "files": 2}, move | {"bytes": 8, "files": 9}]
        for order in itertools.permutations(moves):
            recount = Recount(STATUSES, STATES)
            for state in order:
                recount.take("transfer", state, 5)
            found = recount.counters()
            self.assertEqual(
                found[("into", "NORTH", "Express")], {"queued_files": 2, "queued_bytes": 10}
            )

    def test_reports_of_the_future_count_as_of_their_stamp(self) -> None:
        """A report counts by its own time up to 300 s ahead of its stamp."""
        for ahead, expected in ((300_000, 301_000), (300_001, 1_000)):
            recount = Recount(STATUSES, [])
            report = {"kind": "asked_job", "queue": "Q", "node": "n", "at": 1_000 + ahead}
            recount.take("pilot", report, 1_000)
            self.assertEqual(recount.marks["Q"]["last_pilot_ms"], expected)
            recount.take("outcome", {"subject": "1/1", "at": 1_000 + ahead}, 1_000)
            self.assertEqual(recount.outcomes[0]["at"], expected)

    def test_a_heartbeat_counts_as_of_its_stamp(self) -> None:
        """By no clock but the log's: the last one that was written holds."""
        recount = Recount(STATUSES, [])
        names = ("attempt", "events", "cpu_s", "disk_io_kbps", "rss_mb")
        for stamp, at in ((1_000, 400_000), (2_000, -400_000), (3_000, 2_500)):
            beat = dict.fromkeys(names, 0) | {"job": "7", "at": at}
            recount.take("heartbeat", beat, stamp)
            self.assertEqual(recount.beats["7"][1], stamp)

    def test_promises_end_by_their_jobs_and_by_their_outcome(self) -> None:
        """Jobs of the request at the queue, jobs of the task from after, and nothing else."""
        ranked = [{"unified": "Q", "jobs": 3}, {"unified": "R", "jobs": 1}]
        made: Record = {"id": b"one", "subject": "9/1", "attempt": 2, "task": "9", "gshare": "S"}
        made |= {"now": 5_500, "ranked": ranked}
        other = made | {"id": b"two", "subject": "9/2", "ranked": ranked[1:]}
        job: Record = {"request": "9/1:2", "task": "9", "queue": "Q", "created_at": 0}
        by_task = job | {"request": ""}
        ended = {"subject": "9/1", "decision": b"one"}
        for jobs, outcomes, left_q, left_r in (
            ([], [], 3, 2),
            ([job], [], 2, 2),
            ([job | {"request": "9/1:1"}, job | {"request": "9/2:2"}], [], 3, 2),
            ([job] * 5, [], 0, 2),
            ([job | {"queue": "R"}], [], 3, 1),
            ([by_task | {"created_at": 6_000}], [], 2, 2),
            ([by_task | {"created_at": 5_999}], [], 3, 2),
            ([], [ended], 0, 1),
            ([], [ended | {"subject": "9/2"}, ended | {"decision": b"two"}], 3, 2),
        ):
            found = Promises(jobs, outcomes).counters([made, other])
            wanted: dict[tuple[str, ...], int] = {}
            for queue, left in (("Q", left_q), ("R", left_r)):
                wanted |= {("share", queue, "S"): left, ("queue", queue): left}
            promised = {key: row["jobs_promised"] for key, row in found.items()}
            self.assertEqual(promised, {key: left for key, left in wanted.items() if left})
            whole = joined({("share", "Q", "S"): {"jobs_running": 1}}, found)
            self.assertEqual(account.check_counters("a", whole, whole), [])
            objections = account.check_counters("a", whole, {("share", "Q", "S"): {}})
            self.assertEqual(len(objections), 1 + len(promised))


def match(offer: str, ordinal: int, job: str, cores: int) -> Output:
    """An offer's answer that gives a job a place."""
    output = decision(offer, ordinal, "assign", ordinal)
    found = {"job": job, "job_attempt": 0, "cores": cores}
    name = account.decision_id("cms", offer, 0, ordinal, "offer")
    output.record.update({"id": name, "domain": "cms", "matched": found})
    return output


def pool() -> list[Output]:
    """A pool without fault: two jobs share an offer, a third can never run."""
    rejected = decision("c", 1, "reject", 4)
    name = account.decision_id("cms", "c", 0, 1)
    rejected.record.update({"id": name, "domain": "cms", "matched": None})
    return [match("slot", 1, "a", 1), match("slot", 2, "b", 3), rejected]


class OtherDomains(unittest.TestCase):
    """Checks of the answers in a pool and in NorduGrid."""

    def matches(self) -> Matches:
        """Three jobs that waited, and an offer of four cores."""
        found = Matches({(job, 0): Expected.ONE for job in "abc"}, dict.fromkeys("abc", "plain"))
        for job in "abc":
            found.note("job-state", {"job": job, "attempt": 0, "status": "activated"})
        offer = {"kind": "slot_offer", "offer": "slot", "attempt": 0, "cores_free": 4}
        found.note("pilot", offer)
        return found

    def test_a_pool(self) -> None:
        """Jobs with two places or none, offers that were filled twice or that nobody made."""
        self.assertEqual(self.matches().complaints(pool()), [])
        for change, expected in (
            (lambda log: log.pop(1), "b:0 (plain): no final answer"),
            (lambda log: log.pop(0), "slot:0: the answers are numbered [2]"),
            (lambda log: log.append(match("slot", 3, "a", 0)), "a:0: 2 final answers"),
            (lambda log: log.append(match("slot", 3, "d", 0)), "d:0: answered, and it never"),
            (lambda log: log.append(match("slot", 3, "a", 1)), "5 cores given, 4 offered"),
            (lambda log: log.append(match("other", 1, "a", 0)), "nobody offered it"),
        ):
            log = pool()
            change(log)
            found = self.matches().complaints(log)
            self.assertTrue(any(expected in it for it in found), f"{expected!r}: {found}")

    def test_a_job_that_was_not_taken_is_asked_for_again(self) -> None:
        """The attempt after it must be answered, and no other may be."""
        first = decision("7", 1, "assign", 1)
        first.record["domain"] = "nordugrid"
        first.record["id"] = account.decision_id("nordugrid", "7", 0, 1)
        second = decision("7", 1, "assign", 2)
        second.record.update(domain="nordugrid", attempt=1)
        second.record["id"] = account.decision_id("nordugrid", "7", 1, 1)
        for kind, log, expected in (
            ("accepted", [first], []),
            ("refused", [first, second], []),
            ("refused", [first], ["7:1: no final answer; no answer at all"]),
            ("accepted", [first, second], ["7:1: answered, and 0 is the newest that was asked"]),
        ):
            asked = SingleJobs({"7": Expected.ONE}, {"7": "plain"})
            asked.note("task", {"domain": "nordugrid", "subject": "7", "attempt": 0})
            asked.note_outcomes([{"decision": first.record["id"], "kind": kind}])
            self.assertEqual(asked.complaints(log)[:1], expected, kind)


if __name__ == "__main__":
    unittest.main()
