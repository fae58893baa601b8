"""Nuclei of tasks: asked for at once, waited for once, written as PanDA's own broker does."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from pandajedi.jedibrokerage.AtlasProdTaskBroker import AtlasProdTaskBroker
from pandajedi.jedicore import Interaction
from pandajedi.jediorder.TaskBroker import TaskBroker
from place import Place
from rucio_stub import FakeRucio
from standin import decision, ranked, wait_for
from world import chunk_of

from yardmaster_jedi.task_brokers import YardmasterProdTaskBroker

WORK_QUEUE = SimpleNamespace(queue_name="share", queue_id=1)


def inputs(*tasks: int, **more: Any) -> Any:
    """Arguments that JEDI passes for tasks without a nucleus."""
    found = []
    for task in tasks:
        chunk = chunk_of(task, nucleus=None, status="assigning", **more)
        found.append((task, [(chunk.taskSpec, "WORLD", chunk)]))
    return found


def broker(place: Place) -> YardmasterProdTaskBroker:
    """As JEDI's factory makes it; one that its threads share."""
    factory = TaskBroker(None, place.task_buffer, place.ddm, "atlas", "managed")
    assert factory.initializeMods(place.task_buffer, place.ddm)
    made = factory.getImpl("atlas", "managed")
    assert isinstance(made, YardmasterProdTaskBroker)
    return made


def run(place: Place, input_list: Any) -> Any:
    return broker(place).doBrokerage(input_list, "atlas", "managed", WORK_QUEUE, "MCORE")


def nuclei(place: Place) -> dict[int, str]:
    return {task: it["nucleus"] for task, it in place.task_buffer.nuclei.items()}


def to_beta(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [decision(request, "assign", ranked=[ranked("BETA_SITE", 0)], nucleus="BETA_SITE")]


def test_the_nucleus_is_written_as_panda_writes_it(place: Place) -> None:
    place.standin.answer = to_beta
    assert run(place, inputs(801)) == Interaction.SC_SUCCEEDED
    assert place.task_buffer.nuclei == {
        801: {
            "datasets": [
                {
                    "datasetID": 8015,
                    "token": "dst:BETA_SITE_DATADISK/ATLASDATADISK",
                    "destination": "nucleus:BETA_SITE",
                }
            ],
            "nucleus": "BETA_SITE",
        }
    }
    request = place.standin.requests[0]
    # Never the bare task id: its end would end the requests for all chunks of the task.
    assert (request["subject"], request["task"]) == ("801/nucleus", "801")
    assert request["policy"] == "production-task"
    output = request["output"][0]
    assert (output["name"], output["log"], output["token"]) == (
        "synthetic.HITS",
        False,
        "ATLASDATADISK",
    )
    copies = request["input"]["datasets"][0]["replicas"]
    assert {it["endpoint"]: it["files"] for it in copies} == {
        "NUC_DATADISK": 20,
        "BETA_SITE_DATADISK": 10,
    }
    assert request["options"]["remaining_events"] == 20_000
    assert not request["options"]["primary_only"]


def test_the_datasets_of_a_container_follow_it(place: Place) -> None:
    place.standin.answer = to_beta
    tasks = inputs(802)
    master = tasks[0][1][0][2].masterDataset
    name = master.containerName
    master.datasetName += "/"
    for part in ("part1", "part2"):
        FakeRucio.datasets[f"{name}.{part}"] = {"length": 4, "replicas": {"NUC_DATADISK": 4}}
    assert run(place, tasks) == Interaction.SC_SUCCEEDED
    found = place.standin.requests[0]["input"]["datasets"]
    assert [(it["name"], it["container"], len(it["replicas"])) for it in found] == [
        (name, "", 0),
        (f"{name}.part1", name, 1),
        (f"{name}.part2", name, 1),
    ]


def test_all_are_asked_for_before_any_is_waited_for(place: Place) -> None:
    """The stand-in answers none before it has all requests."""
    requests: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> list[dict[str, Any]]:
        requests.append(request)
        if len(requests) < 12:
            return []
        return [it for asked in requests for it in to_beta(asked)]

    place.standin.answer = answer
    assert run(place, inputs(*range(811, 823))) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == dict.fromkeys(range(811, 823), "BETA_SITE")


def test_panda_decides_for_those_that_are_not_answered(place: Place) -> None:
    place.configure(answer_s=5)
    place.standin.answer = lambda it: to_beta(it) if it["task"] == "831" else []
    assert run(place, inputs(831, 832)) == Interaction.SC_SUCCEEDED
    assert nuclei(place)[831] == "BETA_SITE" and 832 in nuclei(place)
    ended = wait_for(lambda: [it for it in place.standin.requests if it["phase"] == "ended"])
    assert [it["subject"] for it in ended] == ["832/nucleus"]


def test_a_deferral_leaves_the_task_as_it_is_with_the_reason(place: Place) -> None:
    counts = [{"filter": "space", "rejected": 2}]
    place.standin.answer = lambda it: [decision(it, "defer", counts=counts)]
    assert run(place, inputs(841)) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == {}
    [updated] = place.task_buffer.updated
    assert updated.errorDialog == "yardmaster: defer space:2"
    # When JEDI comes back it takes the assignment that was made since.
    later = decision(
        place.standin.requests[0], "assign", 2, ranked=[ranked("BETA_SITE", 0)], nucleus="BETA_SITE"
    )
    place.standin.publish(later)
    wait_for(lambda: run(place, inputs(841)) and nuclei(place))
    assert nuclei(place) == {841: "BETA_SITE"}
    assert {it["attempt"] for it in place.standin.requests} == {later["attempt"]}


def test_what_is_not_admitted_is_left_to_panda(place: Place) -> None:
    place.standin.answer = lambda it: [decision(it, "reject", reason="expired")]
    assert run(place, inputs(845)) == Interaction.SC_SUCCEEDED
    assert list(nuclei(place)) == [845]


def test_where_panda_decides_what_was_deferred_is_given_up(place: Place) -> None:
    place.standin.answer = lambda it: [decision(it, "defer")]
    assert run(place, inputs(846)) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == {}
    place.configure("off")
    assert run(place, inputs(846)) == Interaction.SC_SUCCEEDED
    assert list(nuclei(place)) == [846]
    wait_for(lambda: [it for it in place.standin.requests if it["phase"] == "ended"])


def test_shadow_compares_with_the_nucleus_that_panda_wrote(place: Place) -> None:
    place.configure("shadow")
    place.standin.answer = to_beta
    place.task_buffer.mapper.nuclei["BETA_SITE"].state = "DOWN"
    # The task broker writes what its check of queues skips to the same log.
    place.task_buffer.mapper.siteSpecList["SYNTH_GAMMA"].status = "offline"
    assert run(place, inputs(851)) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == {851: "NUC"}
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert (record["subject"], record["in_charge"]) == ("851/nucleus", "other")
    assert [it["queue"] for it in record["yardmaster"]["queues"]] == ["BETA_SITE"]
    assert [it["queue"] for it in record["other"]["queues"]] == ["NUC"]
    [fate] = record["other"]["fates"]
    assert (fate["queue"], fate["filter"]) == ("BETA_SITE", "status")
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["kind"] == "refused"


def test_a_nucleus_that_jedi_does_not_have_is_given_up(place: Place) -> None:
    place.standin.answer = lambda it: [decision(it, "assign", ranked=[ranked("NOWHERE", 0)])]
    assert run(place, inputs(861)) == Interaction.SC_SUCCEEDED
    assert nuclei(place)[861] in ("NUC", "BETA_SITE")  # PanDA's own
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["kind"] == "failed" and "NOWHERE" in outcome["reason"]


def test_a_task_with_a_nucleus_is_not_asked_for(place: Place) -> None:
    chunk = chunk_of(871, status="assigning")
    place.standin.answer = to_beta
    assert run(place, [(871, [(chunk.taskSpec, "WORLD", chunk)])]) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == {871: "NUC"} and place.standin.requests == []


def test_off_and_other_shares_are_panda_s(place: Place) -> None:
    place.configure(rules='[[rule]]\nbrokerage = "nucleus"\ngshare = "Express"\nmode = "lead"')
    place.standin.answer = to_beta
    mixed = inputs(881) + inputs(882, gshare="Express")
    assert run(place, mixed) == Interaction.SC_SUCCEEDED
    assert [it["task"] for it in place.standin.requests] == ["882"]
    assert nuclei(place)[882] == "BETA_SITE" and 881 in nuclei(place)


def test_rucio_is_asked_nothing_twice(place: Place) -> None:
    place.configure("off")
    run(place, inputs(891))
    alone = sorted(map(str, FakeRucio.calls))
    assert alone
    FakeRucio.calls.clear()
    place.configure("shadow")
    place.standin.answer = to_beta
    run(place, inputs(891))
    assert sorted(map(str, FakeRucio.calls)) == alone


def test_an_unreachable_kafka_costs_its_timeout_once(place: Place) -> None:
    place.configure(bootstrap="127.0.0.1:1", connect_s=0.5)
    began = time.monotonic()
    for task in (895, 896, 897):
        assert run(place, inputs(task)) == Interaction.SC_SUCCEEDED
    assert time.monotonic() - began < 3
    assert sorted(nuclei(place)) == [895, 896, 897]


@pytest.mark.parametrize("broken", ["getTaskParamsWithID_JEDI", "getDatasetsWithJediTaskID_JEDI"])
def test_a_failing_database_ends_as_without_us(place: Place, broken: str) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("database is down")

    place.standin.answer = to_beta
    setattr(place.task_buffer, broken, fail)
    assert run(place, inputs(899)) == Interaction.SC_SUCCEEDED
    assert nuclei(place) == {} and place.standin.requests == []


def test_a_database_that_fails_when_written_leaves_the_task_to_panda(place: Place) -> None:
    written = place.task_buffer.setCloudToTasks_JEDI
    calls = []

    def fail_once(tasks: dict[int, Any]) -> Any:
        calls.append(tasks)
        if len(calls) == 1:
            raise RuntimeError("database is down")
        return written(tasks)

    place.task_buffer.setCloudToTasks_JEDI = fail_once  # type: ignore[method-assign]
    place.standin.answer = to_beta
    assert run(place, inputs(898)) == Interaction.SC_SUCCEEDED
    assert len(calls) == 2 and 898 in nuclei(place)
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["kind"] == "failed"


def test_a_crash_of_pandas_broker_is_compared_as_failed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> Any:
        raise ZeroDivisionError("weight")

    monkeypatch.setattr(AtlasProdTaskBroker, "doBrokerage", crash)
    place.configure("shadow")
    place.standin.answer = to_beta
    with pytest.raises(ZeroDivisionError):
        run(place, inputs(897))
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert record["other"]["reason"] == "ZeroDivisionError: weight"
    assert record["other"]["outcome"] == "failed"


def test_nothing_is_checked_as_in_panda(place: Place) -> None:
    assert broker(place).doCheck([]) == (Interaction.SC_SUCCEEDED, {})
