"""PanDA decides, Yardmaster is asked too, and both answers are published."""

import logging
from typing import Any

import pytest
from pandajedi.jedibrokerage.AtlasProdJobBroker import AtlasProdJobBroker
from pandajedi.jedicore import Interaction
from place import Place
from rucio_stub import FakeRucio
from standin import decision, ranked, wait_for
from world import chunk_of

from yardmaster_jedi.comparison import first_what_matters
from yardmaster_jedi.observed import Skips


def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
    chosen = ranked("SYNTH_ALPHA", 20, 2.5, factors=[7.0, 3.0])
    fates = [
        {"queue": "SYNTH_BETA", "filter": "status", "reason": "offline"},
        {"queue": "SYNTH_GAMMA", "filter": "cap", "reason": "", "measured": 3100.0, "limit": 900.0},
    ]
    names = ["running", "queued"]
    return [decision(request, "assign", ranked=[chosen], fates=fates, factor_names=names)]


def test_both_answers_are_published(place: Place) -> None:
    place.configure("shadow")
    place.standin.answer = answer
    place.task_buffer.mapper.siteSpecList["SYNTH_GAMMA"].status = "offline"
    chunk = chunk_of(301)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ["SYNTH_ALPHA", "SYNTH_BETA"]  # PanDA's answer
    record = wait_for(lambda: place.standin.comparisons)[0]
    request = place.standin.requests[0]
    for name in ("subject", "attempt", "task", "policy", "gshare", "resource_type", "label"):
        assert record[name] == request[name], name
    assert (record["in_charge"], record["queue_type"]) == ("other", "production")
    ours, other = record["yardmaster"], record["other"]
    assert [(it["queue"], it["jobs"]) for it in ours["queues"]] == [("SYNTH_ALPHA", 20)]
    assert ours["fates"] == [
        {"queue": "SYNTH_BETA", "filter": "status", "reason": "offline"},
        {"queue": "SYNTH_GAMMA", "filter": "cap", "reason": "3100 for 900"},
    ]
    assert ours["figures"][0] == {
        "queue": "SYNTH_ALPHA",
        "running": 7,
        "queued": 3,
        "pilots": None,
    }
    assert sorted(it["queue"] for it in other["queues"]) == ["SYNTH_ALPHA", "SYNTH_BETA"]
    # PanDA gives its reasons in its log alone.
    gamma = [it for it in other["fates"] if it["queue"] == "SYNTH_GAMMA"]
    assert gamma == [
        {"queue": "SYNTH_GAMMA", "filter": "status", "reason": "due to status=offline"}
    ]
    assert {it["queue"] for it in other["figures"]} == {"SYNTH_ALPHA", "SYNTH_BETA"}
    assert ours["took_ms"] < 10_000 and other["took_ms"] < 10_000


def test_queues_without_jobs_are_first_in_both_answers(place: Place) -> None:
    """PanDA's broker for production bootstraps them, and JEDI draws one of them by chance."""
    place.configure("shadow")
    running = {"SYNTH_BETA": {"share": {"running": 9}}}
    place.task_buffer.getJobStatisticsByGlobalShare = lambda *_, **__: (True, running)  # type: ignore[attr-defined]
    chosen = [ranked("SYNTH_GAMMA", 5, 0.0), ranked("SYNTH_ALPHA", 5, 0.0), ranked("SYNTH_BETA", 9)]
    place.standin.answer = lambda it: [decision(it, "assign", ranked=chosen)]
    chunk = chunk_of(307, currentPriority=100)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    weights = {name: it.weight == 0 for name, it in chunk.siteCandidates.items()}
    assert weights == {"SYNTH_ALPHA": True, "SYNTH_BETA": False, "SYNTH_GAMMA": True}
    record = wait_for(lambda: place.standin.comparisons)[0]
    for side in (record["yardmaster"], record["other"]):
        names = [it["queue"] for it in side["queues"]]
        assert names == ["SYNTH_ALPHA", "SYNTH_GAMMA", "SYNTH_BETA"]


def test_queues_of_an_analysis_task_are_by_weight_in_both_answers(place: Place) -> None:
    """One that the task used comes first in a decision, and JEDI draws by weight."""
    place.configure("shadow")
    place.task_buffer.getSitesUsedByTask_JEDI = lambda _: (True, ["SYNTH_BETA"])  # type: ignore[attr-defined]
    chosen = [ranked("SYNTH_BETA", 2, 1.0), ranked("SYNTH_ALPHA", 18, 10.0)]
    place.standin.answer = lambda it: [decision(it, "assign", ranked=chosen)]
    chunk = chunk_of(308, "user")
    FakeRucio.datasets["synthetic.308.EVNT"]["replicas"]["BETA_SITE_DATADISK"] = 20
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    record = wait_for(lambda: place.standin.comparisons)[0]
    for side in (record["yardmaster"], record["other"]):
        weights = [it["weight"] for it in side["queues"]]
        assert len(weights) == 2 and weights == sorted(weights, reverse=True)


def test_what_yardmaster_reserved_is_given_up(place: Place) -> None:
    place.configure("shadow")
    place.standin.answer = answer
    place.run(chunk_of(302))
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert (outcome["kind"], outcome["reason"]) == ("refused", "shadow")


def test_an_absent_answer_is_a_comparison_too(place: Place) -> None:
    place.configure("shadow", compare_s=0.3)
    place.run(chunk_of(303))
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert record["yardmaster"]["outcome"] == "absent"
    ended = wait_for(lambda: place.standin.requests[1:])[0]
    assert (ended["phase"], ended["subject"]) == ("ended", record["subject"])


def test_a_deferral_beside_an_assignment(place: Place) -> None:
    place.configure("shadow")
    counts = [{"filter": "caps", "rejected": 2}]
    place.standin.answer = lambda it: [decision(it, "defer", counts=counts)]
    place.run(chunk_of(304, "user"))
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert (record["yardmaster"]["outcome"], record["yardmaster"]["reason"]) == ("defer", "caps:2")
    assert (record["other"]["outcome"], record["queue_type"]) == ("assign", "analysis")
    ended = wait_for(lambda: place.standin.requests[1:])[0]
    assert ended["phase"] == "ended"


def test_panda_finds_nothing(place: Place) -> None:
    place.configure("shadow")
    place.standin.answer = answer
    for site in place.task_buffer.mapper.siteSpecList.values():
        site.status = "offline"
    chunk = chunk_of(305)
    assert place.run(chunk) == Interaction.SC_FAILED
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert record["other"]["outcome"] == "defer" and record["other"]["queues"] == []
    assert len(record["other"]["fates"]) == 3
    assert record["other"]["fates"][0]["queue"] == "SYNTH_ALPHA"  # ours chose it: it comes first


def test_the_canary_leads_some_tasks_and_shadows_the_others(place: Place) -> None:
    place.configure(rules='[[rule]]\nmode = "lead"\ncanary = 0.5')
    place.standin.answer = answer
    led = []
    for task in range(310, 322):
        chunk = chunk_of(task)
        place.run(chunk)
        led.append(list(chunk.siteCandidates) == ["SYNTH_ALPHA"])
    assert 0 < sum(led) < len(led)
    wait_for(lambda: len(place.standin.comparisons) == len(led) - sum(led))


def test_only_the_shares_of_a_rule_are_asked_for(place: Place) -> None:
    place.configure(rules='[[rule]]\ngshare = "Express*"\nmode = "lead"')
    place.standin.answer = answer
    place.run(chunk_of(330))
    assert place.standin.requests == []
    chunk = chunk_of(331, gshare="Express")
    place.run(chunk)
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]


def test_of_many_skipped_queues_those_that_ours_chose_come_first() -> None:
    """PanDA's brokers write filter by filter: the last queues are those of the late filters."""
    skips = Skips(chunk_of(399).taskSpec, "site")
    for number in range(1_000):
        text = f"<jediTaskID=399>   skip site=QUEUE_{number} due to x criteria=-late"
        skips.emit(logging.makeLogRecord({"msg": text}))
    other = {"queues": [], "fates": list(skips.fates.values())}
    ours = {"queues": [{"queue": "QUEUE_999"}], "fates": []}
    fates = first_what_matters(other, ours)["fates"]
    assert len(fates) == 200
    assert fates[0]["queue"] == "QUEUE_999"


def test_a_crash_of_pandas_broker_is_compared_as_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> Any:
        raise ZeroDivisionError("walltime")

    monkeypatch.setattr(AtlasProdJobBroker, "doBrokerage", crash)
    place.configure("shadow")
    place.standin.answer = answer
    with pytest.raises(ZeroDivisionError):
        place.run(chunk_of(377))
    record = wait_for(lambda: place.standin.comparisons)[0]
    other = record["other"]
    assert (other["outcome"], other["reason"]) == ("failed", "ZeroDivisionError: walltime")
    assert [it["queue"] for it in record["yardmaster"]["queues"]] == ["SYNTH_ALPHA"]
    # What ours reserves is given up all the same.
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["kind"] == "refused"
