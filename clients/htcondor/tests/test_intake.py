"""Only what changed is made again: ended jobs of a queue cost nothing."""

import time
from typing import Any

import fixtures
from world import NAME, SCHEDD, FakePool, World

from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.intake import GONE_S, Jobs, Queue
from yardmaster_htcondor.values import Ad


def many(count: int) -> World:
    world = World("shadow")
    for number in range(count):
        ended: dict[str, Any] = {"JobStatus": 4, "ExitCode": 0, "NumShadowStarts": 1}
        ended["CompletionDate"] = int(time.time()) - 5
        world.job(job_id=f"{number + 1}.0", CRAB_Id=str(number), **ended)
    return world


class Kept:
    """A queue whose ads do not change."""

    def __init__(self, ads: list[Ad]) -> None:
        self.ads = ads

    def jobs(self, schedd: str, ended_since_s: int) -> list[Ad]:
        return self.ads

    def history(self, schedd: str, ended_since_s: int, newest: str | None) -> list[Ad]:
        return []


def test_5000_ended_jobs_are_made_once() -> None:
    kept, queue = Kept([]), Queue(SCHEDD, Dialect(), 3600)
    text = str(fixtures.job("crab-done-50660"))
    for number in range(5000):
        ad = classad.ClassAd(text)
        ad["ClusterId"], ad["CRAB_Id"] = number, str(number)
        kept.ads.append(ad)
    now = time.time()
    assert len(queue.read(kept, now)) == 5000 and queue.made == 5000
    began = time.process_time()
    assert queue.read(kept, now + 1) == [] and queue.made == 5000
    assert time.process_time() - began < 1.5, "a round over ads that did not change"


def test_a_job_that_left_is_read_from_history_once() -> None:
    world, queue = World("shadow"), Queue(SCHEDD, Dialect(), 3600)
    ad = world.job()
    now = time.time()
    queue.read(world.pool, now)
    asked = world.pool.asked_history
    queue.read(world.pool, now + 1)
    assert world.pool.asked_history == asked, "no job is missed"
    del world.pool.queue["1.0"]
    ad["JobStatus"], ad["ExitCode"], ad["CompletionDate"] = 4, 0, int(now)
    world.pool.gone.append(ad)
    (seen,) = queue.read(world.pool, now + 2)
    assert seen.record["status"] == "finished" and world.pool.asked_history == asked + 1
    assert queue.read(world.pool, now + 3) == [] and queue.read(world.pool, now + 100) == []


def test_a_job_that_ends_while_it_is_read_has_ended() -> None:
    world = World("shadow")
    world.job()
    world.start()
    world.job(job_id="2.0", CRAB_Id="18")
    world.start("2.0")
    world.round()
    gone = classad.ClassAd(str(world.pool.queue["1.0"]))
    gone["JobStatus"], gone["CompletionDate"] = 4, int(time.time())
    world.pool.gone.append(gone)
    world.pool.queue["1.0"]["MemoryUsage"] = 1
    del world.pool.queue["2.0"]
    world.round()
    assert world.newest("job-state", NAME)["status"] == "finished"  # type: ignore[index]


def test_a_job_that_is_nowhere_is_taken_for_removed() -> None:
    world, queue = World("shadow"), Queue(SCHEDD, Dialect(), 3600)
    world.job()
    now = time.time()
    queue.read(world.pool, now)
    del world.pool.queue["1.0"]
    assert queue.read(world.pool, now + 1) == []
    (seen,) = queue.read(world.pool, now + 2 + GONE_S)
    assert seen.record["status"] == "cancelled"
    assert queue.read(world.pool, now + 3 + GONE_S) == []


def test_plain_jobs_are_passed_over() -> None:
    world, queue = World("shadow"), Queue(SCHEDD, Dialect(), 3600)
    world.job("user-plain")
    world.job("crab-dagman", "2.0")
    assert queue.read(world.pool, time.time()) == []


def test_ended_jobs_are_forgotten() -> None:
    world, queue, jobs = many(3), Queue(SCHEDD, Dialect(), 3600), Jobs()
    assert len(jobs.take(queue.read(world.pool, time.time()))) == 3
    assert jobs.forget_ended(0) == [] and len(jobs.by_name) == 3
    assert len(jobs.forget_ended(int(time.time() * 1000))) == 3 and jobs.by_name == {}


def test_an_edit_of_a_waiting_job_is_published() -> None:
    world = World("shadow")
    ad = world.job()
    world.round()
    world.round()
    assert len(world.records("job-state")) == 1 and len(world.records("task")) == 1
    ad["JobPrio"] = 30
    world.round(2)
    first, second = world.records("job-state")
    assert second["requirements"]["user_priority"] == 30
    assert second["revision"] > first["revision"] and first["changed_at"] == second["changed_at"]


def test_priority_of_a_request_may_fall() -> None:
    world = World("shadow")
    ad = world.job("wm-idle-1core")
    world.round()
    ad["JobPrio"] = 500
    world.round(1)
    first, second = world.records("task")
    assert (first["workflow"]["priority"], second["workflow"]["priority"]) == (110_000, 500)
    assert second["changed_at"] > first["changed_at"]


def test_kafka_that_takes_nothing_gets_it_later() -> None:
    world = World("shadow")
    world.job()
    world.bus.is_full = True
    world.round()
    assert world.bus.published == []
    world.bus.is_full = False
    world.round()
    assert {topic for topic, _ in world.bus.published} >= {"job-state", "task", "user", "pilot"}
    count = len(world.records("job-state"))
    world.bus.failed.put(("job-state", world.records("job-state")[0]))
    world.round()
    assert len(world.records("job-state")) == count + 1


def test_fake_and_pool_have_the_same_calls() -> None:
    from yardmaster_htcondor.pool import Pool

    of_fake = {name for name in vars(FakePool) if not name.startswith("_")}
    assert of_fake <= {name for name in vars(Pool) if not name.startswith("_")}


def test_the_old_name_of_a_job_that_is_renamed_has_ended() -> None:
    world = World()
    ad = world.job()
    world.round()
    ad["CRAB_Id"] = "102"
    world.round(2)
    new = NAME.replace("/17", "/102")
    assert [(it["job"], it["status"]) for it in world.records("job-state")] == [
        (NAME, "pending"),
        (NAME, "cancelled"),
        (new, "pending"),
    ]
    old = world.records("job-state")
    assert old[1]["changed_at"] > old[0]["changed_at"]
    world.start()
    world.round(3)
    assert world.newest("job-state", NAME)["status"] == "cancelled"  # type: ignore[index]
    assert world.newest("job-state", new)["status"] == "running"  # type: ignore[index]


def test_a_job_that_has_no_record_any_more_has_ended() -> None:
    world = World()
    ad = world.job()
    world.round()
    ad["CRAB_Id"] = "1" * 3000
    world.round(2)
    assert [it["status"] for it in world.records("job-state")] == ["pending", "cancelled"]
    assert ad["YM_Lead"] is False


def test_a_job_that_has_the_name_of_one_that_was_renamed_goes_on() -> None:
    world = World()
    ad = world.job()
    world.round()
    ad["CRAB_Id"] = "102"
    world.job(job_id="2.0")
    world.round(2)
    world.round(3)
    assert world.newest("job-state", NAME)["status"] == "pending"  # type: ignore[index]
