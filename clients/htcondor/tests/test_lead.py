"""Lead: a match is carried out once, followed to its end, and given back where it is in vain."""

import time

import pytest
from world import NAME, OTHER, SCHEDD, SLOT, World

from yardmaster_htcondor.answering import PoolError
from yardmaster_htcondor.matching import GRID_S


@pytest.fixture
def world() -> World:
    made = World()
    made.job()
    made.round()
    return made


def test_a_match_becomes_an_edit_and_an_outcome(world: World) -> None:
    decision = world.decide(NAME)
    world.agent.take_decisions()
    ad = world.pool.queue["1.0"]
    assert ad["YM_Match"] == f"{decision['id'].hex()}/0"
    assert ad["YM_Offer"] == "^slot1(_[0-9]+)?@glidein_11_1@desy-wn1[.]test$"
    assert time.time() + 170 < ad["YM_Until"] < time.time() + 190
    assert list(world.editor.edits[0][1])[-1] == "YM_Offer"
    assert world.editor.rescheduled == 1 and world.bus.settled == [1]
    assert world.outcomes() == []
    world.start()
    world.round()
    assert world.outcomes() == [("accepted", "runs on slot1_1@glidein_11_1@desy-wn1.test")]
    assert world.newest("job-state", NAME)["status"] == "running"  # type: ignore[index]


def test_restart_makes_no_second_match(world: World) -> None:
    """The decision was carried out, its offset not committed: it is read again."""
    decision = world.decide(NAME)
    world.agent.take_decisions()
    world.agent = world.another_agent()
    world.bus.decisions.put((decision, 7))
    world.round()
    assert len(world.editor.edits) == 1
    assert world.outcomes() == [] and world.bus.settled[-1] == 7
    world.start()
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["accepted"]
    world.bus.decisions.put((decision, 8))
    world.round()
    assert len(world.editor.edits) == 1 and [kind for kind, _ in world.outcomes()] == ["accepted"]


def test_restart_in_the_middle_of_an_edit(world: World) -> None:
    """All but the last attribute were set: the gate is shut, and the match is carried out again."""
    decision = world.decide(NAME)
    world.pool.queue["1.0"]["YM_Match"] = f"{decision['id'].hex()}/0"
    world.agent = world.another_agent()
    world.round()
    assert len(world.editor.edits) == 1 and "YM_Offer" in world.editor.edits[0][1]


def test_decisions_wait_for_the_first_reading() -> None:
    world = World()
    world.job()
    world.pool.is_down = True
    world.decide(NAME)
    world.round()
    assert world.editor.edits == [] and world.records("pilot") == [] and world.bus.settled == []
    world.pool.is_down = False
    world.round()
    assert len(world.editor.edits) == 1


def test_another_match_does_not_replace_one_under_way(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    mark = world.pool.queue["1.0"]["YM_Match"]
    world.decide(NAME, OTHER)
    world.round()
    assert world.pool.queue["1.0"]["YM_Match"] == mark and len(world.editor.edits) == 1
    assert world.outcomes() == [("failed", "another match of the job is under way")]


def test_a_schedd_that_does_not_answer_makes_a_match_wait(world: World) -> None:
    world.pool.is_down = True
    world.decide(NAME)
    world.agent.take_decisions()
    assert world.outcomes() == [] and world.bus.settled == []
    world.pool.is_down = False
    world.round()
    assert len(world.editor.edits) == 1 and world.bus.settled == [1]


def test_slot_gone_between_edit_and_start(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    del world.pool.slots_there[SLOT]
    world.round()
    world.round()
    assert world.outcomes() == [("failed", "the slot is gone")]
    ad = world.pool.queue["1.0"]
    assert str(ad.lookup("YM_Offer")) == "undefined"
    assert ad["YM_Until"] % GRID_S == 0 and ad["YM_Lead"] is True
    assert ad["YM_Misses"] == 0, "a slot that is gone is no fault of the job"
    withdrawn = world.newest("pilot", SLOT)
    assert withdrawn is not None and withdrawn["kind"] == "slot_withdrawn"


def test_slot_gone_before_the_edit(world: World) -> None:
    del world.pool.slots_there[SLOT]
    world.decide(NAME)
    world.agent.take_decisions()
    world.round()
    assert world.outcomes() == [("failed", "the slot is gone")] and world.editor.edits == []


def test_expired_edit_comes_before_the_outcome(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    under_way = world.agent.lead.under_way[NAME]  # type: ignore[union-attr]
    under_way.until_s = time.time() - 1
    # It starts just now, which the last poll does not show: the edit is not taken.
    world.start()
    world.agent.lead.follow(time.time())  # type: ignore[union-attr]
    assert world.outcomes() == []
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["accepted"]


def test_expired(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    world.agent.lead.under_way[NAME].until_s = time.time() - 1  # type: ignore[union-attr]
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["expired"]
    assert world.pool.queue["1.0"]["YM_Misses"] == 1


def test_a_match_that_is_read_late_is_expired(world: World) -> None:
    world.decide(NAME, now=(time.time() - 500) * 1000)
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["expired"] and world.editor.edits == []


def test_misfit_names_the_clause_and_the_job_is_left_after_misses() -> None:
    world = World()
    world.job(JobUniverse=5)
    from yardmaster_htcondor.bindings import classad

    ad = world.pool.queue["1.0"]
    wanted = f"{ad.lookup('Requirements')} && (TARGET.HasTapeRobot =?= true)"
    ad["Requirements"] = classad.ExprTree(wanted)
    world.round()
    for misses in (1, 2, 3):
        world.decide(NAME)
        world.round()
        kind, reason = world.outcomes()[-1]
        assert kind == "refused" and "TARGET.HasTapeRobot" in reason
        assert ad["YM_Misses"] == misses
    assert ad["YM_Lead"] is False and ad["YM_Until"] == 0
    record = world.newest("job-state", NAME)
    assert record is not None and record["status"] == "held"
    assert record["sub_status"] == "left to HTCondor"
    world.decide(NAME)
    world.round()
    assert world.outcomes()[-1] == ("refused", "the job is HTCondor's: YM_Lead is not true")
    world.start()
    world.round()
    record = world.newest("job-state", NAME)
    assert record is not None and record["status"] == "running"


def test_job_removed_after_the_edit(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    ad = world.pool.queue["1.0"]
    ad["LastJobStatus"], ad["JobStatus"] = 1, 3
    ad["RemoveReason"] = "via condor_rm (by user root)"
    world.round()
    assert world.outcomes() == [("failed", "the job was removed before it started")]
    record = world.newest("job-state", NAME)
    assert record is not None and record["status"] == "cancelled"


def test_a_job_that_cannot_be_edited_is_not_tried_for_ever(world: World) -> None:
    world.editor.is_refused = True
    for _ in range(3):
        world.decide(NAME)
        world.agent.take_decisions()
    world.round()
    record = world.newest("job-state", NAME)
    assert record is not None and record["status"] == "held"
    assert [kind for kind, _ in world.outcomes()] == ["failed"] * 3


def test_job_removed_before_the_edit(world: World) -> None:
    world.pool.queue["1.0"]["JobStatus"] = 3
    world.decide(NAME)
    world.round()
    assert world.outcomes() == [("failed", "the job does not wait any more")]
    assert world.editor.edits == []


def test_started_elsewhere(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    world.start(host="slot1_1@glidein_12_1@neb-wn1.test")
    world.round()
    kind, reason = world.outcomes()[-1]
    assert kind == "failed" and "not on slot1@glidein_11_1" in reason


def test_started_before_its_host_is_known(world: World) -> None:
    world.decide(NAME)
    world.agent.take_decisions()
    world.start()
    host = world.pool.queue["1.0"].pop("RemoteHost")
    world.round()
    assert world.outcomes() == []
    world.pool.queue["1.0"]["RemoteHost"] = host
    world.round()
    assert [kind for kind, _ in world.outcomes()] == ["accepted"]


def test_started_stopped_and_idle_again(world: World) -> None:
    """Vacated: the gate is shut again, in the next attempt."""
    world.decide(NAME)
    world.agent.take_decisions()
    world.start()
    world.round()
    ad = world.pool.queue["1.0"]
    ad["JobStatus"], ad["LastJobStatus"] = 1, 2
    world.round()
    assert "YM_Offer" in world.editor.edits[-1][1]
    assert world.editor.edits[-1][1]["YM_Offer"] == "undefined"
    record = world.newest("job-state", NAME)
    assert record is not None and (record["status"], record["attempt"]) == ("pending", 1)
    world.decide(NAME, tried=1)
    world.round()
    assert ad["YM_Match"].endswith("/1")


def test_jobs_wait_while_yardmaster_lives_and_no_longer(world: World) -> None:
    assert len(world.editor.moved) == 1 and world.editor.moved[0] % GRID_S == 0
    world.agent.lead._moved_s = 0.0  # type: ignore[union-attr]
    world.bus.alive_s = time.time() - 100
    world.round()
    assert len(world.editor.moved) == 1
    world.bus.alive_s = time.time()
    world.round()
    assert len(world.editor.moved) == 2


def test_others_jobs_are_not_offered_to_yardmaster() -> None:
    world = World()
    world.job(YM_Lead=False)
    world.round()
    world.round()
    (record,) = world.records("job-state")
    assert (record["status"], record["sub_status"]) == ("held", "left to HTCondor")
    world.start()
    world.round()
    assert [it["status"] for it in world.records("job-state")] == ["held", "running"]


def test_no_more_than_a_slot_has(world: World) -> None:
    world.job(job_id="2.0", CRAB_Id="18")
    world.round()
    other = NAME.replace("/17", "/18")
    for job in (NAME, other):
        decision = world.decide(job)
        decision["matched"]["cores"] = 5
    world.agent.take_decisions()
    world.agent._publish()
    assert world.outcomes() == [("failed", "the slot has fewer cores left")]
    assert len(world.editor.edits) == 1


def test_several_schedds_and_names() -> None:
    """A retry beside the ended try before it: the higher attempt counts."""
    world = World()
    world.job(job_id="1.0", JobStatus=4, ExitCode=1, CompletionDate=5, NumShadowStarts=1)
    world.job(job_id="2.0", CRAB_Retry=1)
    world.round()
    record = world.newest("job-state", NAME)
    assert record is not None and (record["status"], record["attempt"]) == ("pending", 100)
    world.decide(NAME, tried=100)
    world.round()
    assert world.editor.edits[0][0] == "2.0" and SCHEDD in world.agent.queues


def test_a_rejected_job_is_left_to_htcondor(world: World) -> None:
    """Nobody else would ever start it: while Yardmaster lives, led jobs wait."""
    world.reject(NAME, 0)
    world.round()
    ad = world.pool.queue["1.0"]
    assert ad["YM_Lead"] is False and ad["YM_Until"] == 0
    record = world.newest("job-state", NAME)
    assert record is not None and record["status"] == "held"


def test_a_reject_of_an_attempt_before_means_nothing(world: World) -> None:
    world.reject(NAME, 7)
    world.round()
    assert world.editor.edits == []


def test_system_jobs_wait_for_the_role_of_their_user() -> None:
    world = World()
    world.job("wm-cleanup-idle", DESIRED_Sites="T2_DE_DESY")
    world.round()
    assert world.records("user")[0]["roles"] == ["production"]
    assert world.records("job-state") == []
    world.round(1)
    assert world.records("job-state") == []
    world.round(3)
    assert [it["status"] for it in world.records("job-state")] == ["pending"]
    assert len(world.records("user")) == 1


def test_a_match_expires_though_its_schedd_does_not_answer(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.pool.is_down = True
    world.decide(NAME)
    for _ in range(50):
        world.agent.take_decisions()
    assert world.outcomes() == [] and world.bus.settled == []
    assert caplog.text == "", "that it does not answer is stated once, by who asks it"
    world.decide(NAME, now=(time.time() - 181) * 1000)
    world.agent.take_decisions()
    world.agent._publish()
    assert world.outcomes() == [("expired", "the schedd does not answer")]
    assert world.bus.settled == [2] and world.editor.edits == []
    attempt = world.newest("pilot", SLOT)["attempt"]  # type: ignore[index]
    world.round()
    assert world.newest("pilot", SLOT)["attempt"] > attempt, "the slot is offered again"  # type: ignore[index]


def test_a_collector_that_does_not_answer_is_one_line(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(offer: str) -> None:
        raise PoolError("collector: down")

    world.decide(NAME)
    with monkeypatch.context() as patch:
        patch.setattr(world.pool, "whole_slot", down)
        for _ in range(50):
            world.agent.take_decisions()
    assert caplog.text.count("collector: down") == 1
    world.agent.take_decisions()
    assert len(world.editor.edits) == 1
