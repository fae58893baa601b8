"""Ads that nobody foresaw: any user may submit them, so none of them may take the others away."""

import time
from typing import Any

import fixtures
import pytest
from world import NAME, OTHER, SCHEDD, SLOT, World

from yardmaster_client.codec import codec
from yardmaster_htcondor import agent as agent_module
from yardmaster_htcondor import lead as lead_module
from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.facts import GROUPS_MAX, Facts
from yardmaster_htcondor.job_state import job_state
from yardmaster_htcondor.matching import carried

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


@pytest.mark.parametrize("changes", [{"CRAB_Retry": -5}, {"CMS_JobRetryCount": -1}])
def test_a_retry_below_none_is_none(changes: dict[str, Any]) -> None:
    world = World()
    world.job(**changes)
    world.round()
    world.decide(NAME)
    world.round()
    assert len(world.editor.edits) == 1 and world.outcomes() == []


def test_a_job_whose_matches_are_of_another_attempt_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = World()
    world.job()
    world.round()
    for _ in range(3):
        assert left(world) == []
        world.decide(NAME, tried=7)
        world.round()
    assert world.outcomes() == [("failed", "the job is in attempt 0, the match of attempt 7")] * 3
    assert left(world) == ["1.0"]
    assert f"job {NAME} is left to HTCondor: 3 matches in vain" in caplog.text
    assert world.newest("job-state", NAME)["status"] == "held"  # type: ignore[index]


def test_failures_count_in_a_row_only() -> None:
    world = World()
    world.job()
    world.round()
    for tried in (7, 7, 0, 7, 7):
        world.decide(NAME, tried=tried)
        world.round()
    assert left(world) == []


def test_a_mark_of_the_largest_attempt_is_read() -> None:
    ad = fixtures.job("crab-idle", YM_Match=f"{1:032x}/{2**32 - 1}", YM_Offer="^slot1@p$")
    assert carried(ad) == (f"{1:032x}", 2**32 - 1, "slot1@p")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"CRAB_Retry": 50_000_000}, "attempt is 5000000000, more than 4294967295"),
        ({"CRAB_Retry": 9_000_000_000_000}, "attempt is 900000000000000, more than 4294967295"),
        ({"CRAB_ReqName": "r" * 5000}, "job has 5003 bytes, more than name_bytes of 1024"),
        ({"CRAB_Id": "1" * 3000}, "job has 3039 bytes, more than name_bytes of 1024"),
        ({"CRAB_UserHN": "ü" * 513}, "user has 1026 bytes, more than name_bytes of 1024"),
        ({"CMS_Type": "t" * 5000}, "label has 5000 bytes, more than name_bytes of 1024"),
    ],
)
def test_what_yardmaster_does_not_read_is_not_published(
    changes: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.job(**changes)
    world.round()
    assert left(world) == ["1.0"]
    world.start()
    world.round()
    assert [topic for topic, _ in world.bus.published if topic != "pilot"] == []
    assert caplog.text.count(f"job 1.0 of {SCHEDD} is passed over: {why}") == 1
    assert len(caplog.text) < 1000


def test_the_longest_that_yardmaster_reads_is_published() -> None:
    world = World()
    world.job(CRAB_UserHN="u" * 1024, CRAB_Retry=42_949_672)
    world.round()
    assert len(world.records("job-state")) == 1 and left(world) == []


def test_groups_that_do_not_fit_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    many = ",".join(f"g{number}" for number in range(GROUPS_MAX + 50))
    world.job(CMSGroups="dcms," + "g" * 100_000)
    world.job(job_id="2.0", CRAB_Id="18", CMSGroups=many)
    world.round()
    (*_, user) = world.records("user")
    assert "dcms" in user["groups"] and len(user["groups"]) == GROUPS_MAX
    assert left(world) == []
    assert caplog.text.count("user user1: groups are left out") == 1


@pytest.mark.parametrize("name", ["ConcurrencyLimits", "ConcurrencyLimitsExpr"])
def test_jobs_with_concurrency_limits_are_left_to_htcondor(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World()
    world.job(**{name: "sw:1"})
    world.round()
    assert left(world) == ["1.0"]
    assert [it["status"] for it in world.records("job-state")] == ["held"]
    line = f"job {NAME} is left to HTCondor: the negotiator alone knows {name}"
    assert caplog.text.count(line) == 1
    world.decide(NAME)
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["refused"]
    assert caplog.text.count(line) == 1 and left(world) == ["1.0"]
