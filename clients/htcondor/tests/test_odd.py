"""Ads that nobody foresaw: any user may submit them, so none of them may take the others away."""

import time
from typing import Any

import fixtures
import pytest
from world import NAME, OTHER, SLOT, World

from yardmaster_client.codec import codec
from yardmaster_htcondor import agent as agent_module
from yardmaster_htcondor import lead as lead_module
from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.facts import Facts
from yardmaster_htcondor.job_state import job_state

NUMBERS = ('real("INF")', 'real("NaN")', "1e30", "9223372036854775807", "-1e19", "error")

ATTRIBUTES = (
    *("MaxWallTimeMins", "RequestCpus", "RequestMemory", "RequestDisk", "RequestGPUs", "JobPrio"),
    *("Requestioslots", "CRAB_JobCount", "CRAB_Retry", "MinCores", "MaxCores", "QDate", "NumHolds"),
    *("OriginalCpus", "REQUIRED_MINIMUM_MICROARCH", "EnteredCurrentStatus", "NumShadowStarts"),
    *("JobCurrentStartDate", "CompletionDate", "MemoryUsage", "ExitCode", "CpusProvisioned"),
)


@pytest.mark.parametrize("status", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_that_mean_nothing_are_not_published(number: str, status: int) -> None:
    for name in ("crab-idle", "wm-idle-resize"):
        for attribute in ATTRIBUTES:
            ad = fixtures.job(name, JobStatus=status)
            ad[attribute] = classad.ExprTree(number)
            if attribute == "EnteredCurrentStatus" and number == "error":
                continue
            codec("job-state").encode({**job_state(ad, Dialect()), "revision": 0})
            task, user = Facts(Dialect(), "cms", "cms").take(ad)
            codec("task").encode({**task, "changed_at": 1})
            codec("user").encode({**user, "changed_at": 1})


@pytest.mark.parametrize(
    ("crab_id", "seq"),
    [("1-²", None), ("²", None), ("9" * 5000, None), ("1-7", 100_007), ("7", 7), ("1--7", None)],
)
def test_ids(crab_id: str, seq: int | None) -> None:
    ad = fixtures.job("crab-idle", CRAB_Id=crab_id)
    assert job_state(ad, Dialect())["requirements"]["seq"] == seq


def left(world: World) -> list[str]:
    """Jobs that were left to HTCondor."""
    return [job for job, edits in world.editor.edits if edits.get("YM_Lead") == "false"]


@pytest.mark.parametrize(
    "changes", [{"TaskType": "ROOT"}, {"CRAB_ReqName": 12345}, {"CRAB_ReqName": ""}]
)
def test_led_jobs_without_a_record_are_left_to_htcondor(changes: dict[str, Any]) -> None:
    world = World()
    world.job(job_id="1.0")
    world.job(job_id="2.0", **changes)
    world.round()
    assert left(world) == ["2.0"]
    world.round()
    assert left(world) == ["2.0"]


def test_of_jobs_with_one_name_one_is_led() -> None:
    world = World()
    for job in ("1.0", "1.1", "1.2"):
        world.job(job_id=job)
    world.round()
    assert left(world) == ["1.1", "1.2"]
    world.job(job_id="3.0", CRAB_Retry=5)
    world.round()
    assert left(world) == ["1.1", "1.2", "1.0"]


def test_a_job_that_was_submitted_again_is_led() -> None:
    world = World()
    gone = world.job(job_id="1.0")
    world.round()
    del world.pool.queue["1.0"]
    gone["JobStatus"], gone["EnteredCurrentStatus"] = 3, int(time.time())
    world.pool.gone.append(gone)
    world.job(job_id="2.0")
    world.round()
    assert left(world) == [] and world.newest("job-state", NAME)["status"] == "pending"  # type: ignore[index]


def test_an_ad_that_cannot_be_read_takes_no_other_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(ad: Any, dialect: Dialect) -> dict[str, Any]:
        if ad["ClusterId"] == 2:
            raise KeyError("odd")
        return job_state(ad, dialect)

    monkeypatch.setattr("yardmaster_htcondor.intake.job_state", reads)
    world = World()
    world.job(job_id="2.0", CRAB_Id="18")
    world.job(job_id="1.0")
    world.round()
    assert [it["job"] for it in world.records("job-state")] == [NAME]
    assert left(world) == ["2.0"]


def test_a_job_that_is_passed_over_is_left_to_htcondor(monkeypatch: pytest.MonkeyPatch) -> None:
    def takes(self: Facts, ad: Any) -> Any:
        raise KeyError("odd")

    monkeypatch.setattr(Facts, "take", takes)
    world = World()
    world.job()
    world.round()
    assert left(world) == ["1.0"]


def test_a_record_that_kafka_never_takes_leaves_its_job_to_htcondor() -> None:
    world = World()
    world.job()
    world.round()
    world.bus.refused.put(("job-state", world.records("job-state")[0], "too large"))
    world.round()
    assert left(world) == ["1.0"]


def test_a_match_that_cannot_be_carried_out_is_no_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises(job: Any, slot: Any) -> str:
        raise RuntimeError("failed to evaluate expression")

    monkeypatch.setattr(lead_module, "misfit", raises)
    world = World()
    world.job()
    world.round()
    for _ in range(3):
        world.decide(NAME)
        world.round()
    assert [kind for kind, _ in world.outcomes()] == ["failed"] * 3
    assert len(world.bus.settled) == 3 and left(world) == ["1.0"]


def test_what_a_user_wrote_into_an_ad_is_no_match() -> None:
    world = World()
    for number, mark in enumerate(("zz/0", "a/²", f"{1:032x}/0", "x" * 32 + "/0", "/", "//0")):
        offer = "^slot1(_[0-9]+)?@glidein_12_1@neb-wn1[.]test$"
        world.job(
            job_id=f"{number + 1}.0",
            CRAB_Id=str(number),
            YM_Lead=False,
            YM_Match=mark,
            YM_Offer=offer,
        )
        world.start(f"{number + 1}.0", host=OTHER)
    world.round()
    assert world.outcomes() == []


def test_misses_begin_at_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lead_module, "misfit", lambda job, slot: "odd")
    world = World()
    world.job(YM_Misses=-1_000_000)
    world.round()
    world.decide(NAME, SLOT)
    world.round()
    assert world.pool.queue["1.0"]["YM_Misses"] == 1


def test_jobs_of_which_kafka_hears_nothing_do_not_wait_on() -> None:
    world = World()
    world.job()
    world.round()
    assert world.agent.lead is not None
    world.bus.is_full, world.agent.lead._moved_s = True, 0.0
    world.agent.outbox.event("outcome", {"subject": SLOT})
    world.agent.flushed_s -= 61
    moved = len(world.editor.moved)
    world.round()
    assert len(world.editor.moved) == moved
    world.bus.is_full = False
    world.round()
    world.round()
    assert len(world.editor.moved) == moved + 1


def test_names_in_the_log_are_short(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.bus.refused.put(("task", {"task": "t" * 1_000_000}, "too large"))
    world.round()
    assert "t" * agent_module.NAME_LETTERS in caplog.text and len(caplog.text) < 2000
