"""Without an answer, or with one that cannot be carried out, PanDA's own broker decides as if ours
were not there, and nothing stays reserved."""

import os
import re
import threading
import time
from typing import Any

import pytest
import world
from pandajedi.jedicore import Interaction
from place import Place
from standin import assign, decision, ranked, wait_for
from world import chunk_of

from yardmaster_jedi import process
from yardmaster_jedi.connection import Connection
from yardmaster_jedi.process import COMPARISONS_MAX

ALL = ["SYNTH_ALPHA", "SYNTH_BETA", "SYNTH_GAMMA"]
"""Queues that PanDA's own broker for production chooses."""


@pytest.mark.parametrize("label", ["managed", "user"])
def test_panda_decides_as_if_we_were_not_there(place: Place, label: str) -> None:
    def candidates(mode: str) -> dict[str, object]:
        place.configure(mode, answer_s=0.2)
        chunk = chunk_of(201, label)
        assert place.run(chunk) == Interaction.SC_SUCCEEDED
        return {name: vars(it) for name, it in chunk.siteCandidates.items()}

    found = candidates("lead")
    wait_for(lambda: place.standin.requests)
    assert found == candidates("off")


def test_what_is_not_answered_in_time_is_taken_back(place: Place) -> None:
    place.configure(answer_s=0.2)
    place.run(chunk_of(202))
    asked, ended = wait_for(lambda: len(place.standin.requests) > 1 and place.standin.requests)
    assert (asked["phase"], ended["phase"]) == ("asking", "ended")
    assert (ended["subject"], ended["attempt"]) == (asked["subject"], asked["attempt"])
    assert (asked["revision"], ended["revision"]) == (0, 1)
    # Not the bare task id: that would end the requests for all of the task's chunks.
    assert ended["subject"] != ended["task"] == "202"


def test_a_late_assignment_is_given_up(place: Place) -> None:
    place.configure(answer_s=0.2)
    place.run(chunk_of(203))
    late = decision(
        wait_for(lambda: place.standin.requests)[0], "assign", ranked=[ranked("SYNTH_ALPHA", 20)]
    )
    place.standin.publish(late)
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert (outcome["kind"], outcome["decision"]) == ("expired", late["id"])
    assert outcome["subject"] == late["subject"]


def test_a_queue_that_jedi_does_not_have_gives_the_decision_up(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 5), ranked("NO_SUCH_QUEUE", 5))
    chunk = chunk_of(204)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ALL
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["kind"] == "failed" and "NO_SUCH_QUEUE" in outcome["reason"]


def test_what_cannot_be_given_up_keeps_panda_from_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.configure(answer_s=0.2)

    def full(*_: object) -> None:
        raise BufferError("queue full")

    monkeypatch.setattr(Connection, "abandon", full)
    assert place.run(chunk_of(207)) == Interaction.SC_SUCCEEDED


@pytest.mark.parametrize("mode", ["lead", "shadow"])
@pytest.mark.parametrize("of", [{"label": "user"}, {"vo": "wlcg", "nucleus": None}])
def test_without_the_queues_that_a_task_used_nothing_is_asked(
    place: Place, monkeypatch: pytest.MonkeyPatch, mode: str, of: dict[str, Any]
) -> None:
    """PanDA's own broker gives up as well; the one for production does not ask for them."""
    place.configure(mode)
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    for site in place.task_buffer.mapper.siteSpecList.values():
        site.space = 0
    with monkeypatch.context() as patch:
        patch.setitem(world.ANSWERS, "getSitesUsedByTask_JEDI", (False, None))
        assert place.run(chunk_of(219, **of)) == Interaction.SC_FAILED
        assert place.run(chunk_of(220)) == Interaction.SC_SUCCEEDED
    assert place.run(chunk_of(221, **of)) == Interaction.SC_SUCCEEDED
    wait_for(lambda: [it for it in place.standin.requests if it["task"] == "221"])
    asking = {it["task"] for it in place.standin.requests if it["phase"] == "asking"}
    assert asking == {"220", "221"}


def test_where_no_thread_starts_panda_s_answer_stands(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.configure("shadow")
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert place.run(chunk_of(208)) == Interaction.SC_SUCCEEDED
    wait_for(lambda: place.standin.comparisons)

    def none(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", none)
        for _ in range(COMPARISONS_MAX + 1):
            assert place.run(chunk_of(208)) == Interaction.SC_SUCCEEDED
    assert place.run(chunk_of(209)) == Interaction.SC_SUCCEEDED
    wait_for(lambda: [it for it in place.standin.comparisons if it["task"] == "209"])


def test_a_dry_run_is_not_carried_out_and_compared(place: Place) -> None:
    place.standin.answer = lambda it: [
        decision(it, "assign", ranked=[ranked("SYNTH_ALPHA", 20)], dry_run=True)
    ]
    chunk = chunk_of(205)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ALL
    record = wait_for(lambda: place.standin.comparisons)[0]
    assert record["in_charge"] == "other" and record["yardmaster"]["outcome"] == "assign"
    assert place.standin.outcomes == []  # it reserves nothing


def test_the_breaker_opens_after_failures_and_closes_after_its_rest(place: Place) -> None:
    place.configure(answer_s=0.1, rest_s=60)
    for task in (206, 207):
        place.run(chunk_of(task))
    place.run(chunk_of(208))
    process.current().breaker.clock = lambda: time.monotonic() + 60  # the rest
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    place.configure(answer_s=10, rest_s=60)
    chunk = chunk_of(209)
    place.run(chunk)
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]
    assert {it["task"] for it in place.standin.requests} == {"206", "207", "209"}


def test_an_unreachable_kafka_costs_its_timeout_once(place: Place) -> None:
    place.configure(bootstrap="127.0.0.1:1", connect_s=0.5)
    began = time.monotonic()
    for task in range(210, 215):
        assert place.run(chunk_of(task)) == Interaction.SC_SUCCEEDED
    assert time.monotonic() - began < 2.5


def test_a_missing_topic_is_named_with_its_remedy(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    if not os.environ.get("YARDMASTER_TEST_KAFKA"):
        pytest.skip("librdkafka's mock makes each topic that is asked for")
    place.configure(prefix="absent", connect_s=3)
    assert place.run(chunk_of(216)) == Interaction.SC_SUCCEEDED
    # Whichever of the two it comes to first.
    assert re.search(r"topic absent\.(task|decision) .*topology apply", caplog.text)


def test_a_bad_property_of_the_client_is_named(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    place.configure(rules='[client]\n"no.such.property" = 1\n[[rule]]\nmode = "lead"')
    assert place.run(chunk_of(217)) == Interaction.SC_SUCCEEDED
    assert "[client]" in caplog.text and "no.such.property" in caplog.text


def test_no_configuration_is_off(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    place.file.unlink()
    assert place.run(chunk_of(218)) == Interaction.SC_SUCCEEDED
    assert place.standin.requests == [] and "YARDMASTER_JEDI_CONFIG" in caplog.text
