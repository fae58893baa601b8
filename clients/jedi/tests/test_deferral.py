"""A deferral's later assignment is taken when JEDI comes back, by one process, without a
new attempt."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pandajedi.jedicore import Interaction
from place import Place
from standin import decision, ranked, wait_for
from world import chunk_of

from yardmaster_jedi import process
from yardmaster_jedi.connection import Connection


def defer(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [decision(request, "defer")] if request["revision"] == 0 else []


def here() -> Connection:
    return process.current().connection()


def assigned(place: Place, request: dict[str, Any], queue: str = "SYNTH_ALPHA") -> dict[str, Any]:
    """Yardmaster assigns what it deferred; seen by the process."""
    later = decision(request, "assign", 2, ranked=[ranked(queue, 20)])
    place.standin.publish(later)

    def is_seen() -> bool:
        standing = here().answers.standing(request["subject"])
        found = None if standing is None else standing.decision
        return found is not None and found["id"] == later["id"]

    wait_for(is_seen)
    return later


@pytest.fixture
def deferred(place: Place) -> dict[str, Any]:
    """The request of a chunk that was deferred."""
    place.standin.answer = defer
    assert place.run(chunk_of(401)) == Interaction.SC_WAITING
    return place.standin.requests[0]


def test_the_later_assignment_is_taken(place: Place, deferred: dict[str, Any]) -> None:
    later = assigned(place, deferred)
    chunk = chunk_of(401)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]
    again = wait_for(lambda: place.standin.requests[1:])[0]
    assert (again["attempt"], again["revision"]) == (deferred["attempt"], 1)
    assert place.standin.outcomes == []  # its reservation holds until the jobs are seen
    standing = here().answers.standing(deferred["subject"])
    assert standing is not None and standing.taken == later["id"]
    # The next chunk of the same dataset is a new attempt.
    place.run(chunk_of(401))
    fresh = wait_for(lambda: place.standin.requests[2:])[0]
    assert fresh["attempt"] > deferred["attempt"]


def test_while_it_is_deferred_nothing_is_asked_again(
    place: Place, deferred: dict[str, Any]
) -> None:
    began = time.monotonic()
    assert place.run(chunk_of(401, files=30)) == Interaction.SC_WAITING
    assert time.monotonic() - began < 5
    again = wait_for(lambda: place.standin.requests[1:])[0]
    # The same request with the facts of now.
    assert (again["attempt"], again["revision"]) == (deferred["attempt"], 1)
    assert (again["phase"], again["total_files"]) == ("asking", 30)
    # Its place among those that wait is that of its first asking.
    assert again["asked_at"] == deferred["asked_at"]
    assert again["changed_at"] > deferred["changed_at"]


def test_chunks_of_a_dataset_that_want_other_memory_are_asked_for_by_themselves(
    place: Place, deferred: dict[str, Any]
) -> None:
    chunk = chunk_of(401)
    chunk.ramCount = 4000
    assert place.run(chunk) == Interaction.SC_WAITING
    fresh = wait_for(lambda: place.standin.requests[1:])[0]
    assert fresh["subject"] == f"{deferred['subject']}/r4000"
    assert fresh["ram_count_mb"] == 4000
    # The assignment of the one is not for the other.
    assigned(place, deferred)
    assert place.run(chunk) == Interaction.SC_WAITING


def test_with_other_facts_it_is_asked_again_and_the_first_is_given_up(
    place: Place, deferred: dict[str, Any]
) -> None:
    later = assigned(place, deferred)
    chunk = chunk_of(401)
    chunk.taskSpec.coreCount = 4
    assert place.run(chunk) == Interaction.SC_WAITING
    fresh = wait_for(lambda: place.standin.requests[1:])[0]
    assert (fresh["subject"], fresh["core_count"]) == (deferred["subject"], 4)
    assert fresh["attempt"] > deferred["attempt"]
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert (outcome["kind"], outcome["decision"]) == ("refused", later["id"])


@pytest.mark.parametrize("is_assigned", [False, True])
def test_panda_decides_and_what_was_deferred_is_given_up(
    place: Place, deferred: dict[str, Any], is_assigned: bool
) -> None:
    later = assigned(place, deferred) if is_assigned else None
    place.configure("off")
    assert place.run(chunk_of(401)) == Interaction.SC_SUCCEEDED
    if later is None:
        ended = wait_for(lambda: place.standin.requests[1:])[0]
        assert (ended["phase"], ended["attempt"]) == ("ended", deferred["attempt"])
        assert (ended["subject"], ended["task"]) == (deferred["subject"], "401")
        # Intake takes the facts of the task's jobs from its newest record.
        for name in ("policy", "user", "gshare", "resource_type", "core_count", "nucleus"):
            assert ended[name] == deferred[name], name
        # It was assigned meanwhile.
        late = decision(deferred, "assign", 2, ranked=[ranked("SYNTH_ALPHA", 20)])
        place.standin.publish(late)
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert outcome["decision"] == (late if later is None else later)["id"]


def test_the_breaker_opens_though_deferred_chunks_come_by(
    place: Place, deferred: dict[str, Any]
) -> None:
    """A deferral known from before does not show whether Yardmaster lives."""
    place.configure(answer_s=0.2)
    place.standin.answer = lambda _: []
    assert place.run(chunk_of(411)) == Interaction.SC_SUCCEEDED
    assert place.run(chunk_of(401)) == Interaction.SC_WAITING
    assert place.run(chunk_of(412)) == Interaction.SC_SUCCEEDED
    assert process.current().breaker.is_open()
    # Then PanDA's own broker decides for these too, and the deferral is given up.
    assert place.run(chunk_of(401)) == Interaction.SC_SUCCEEDED

    def ended() -> list[str]:
        return [it["subject"] for it in place.standin.requests if it["phase"] == "ended"]

    wait_for(lambda: deferred["subject"] in ended())


def test_a_later_rejection_is_asked_again(place: Place, deferred: dict[str, Any]) -> None:
    place.standin.publish(decision(deferred, "reject", 2, reason="gave_up"))
    answers = here().answers
    wait_for(lambda: answers.standing(deferred["subject"]).decision["outcome"] == "reject")  # type: ignore[union-attr, index]
    place.run(chunk_of(401))
    fresh = wait_for(lambda: place.standin.requests[1:])[0]
    assert fresh["attempt"] > deferred["attempt"]


def test_an_assignment_that_cannot_be_carried_out_is_given_up(
    place: Place, deferred: dict[str, Any]
) -> None:
    later = assigned(place, deferred, queue="NO_SUCH_QUEUE")
    chunk = chunk_of(401)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert "NO_SUCH_QUEUE" not in chunk.siteCandidates
    outcome = wait_for(lambda: place.standin.outcomes)[0]
    assert (outcome["kind"], outcome["decision"]) == ("failed", later["id"])


@pytest.fixture
def other(place: Place) -> Iterator[Connection]:
    """The connection of another JEDI process."""
    made = Connection(process.current().config())
    yield made
    made.close()


def test_another_process_takes_it_and_then_nobody_else_does(
    place: Place, other: Connection
) -> None:
    place.standin.answer = defer
    assert place.run(chunk_of(402)) == Interaction.SC_WAITING
    later = assigned(place, place.standin.requests[0])
    subject = later["subject"]

    def knows_it() -> bool:
        standing = other.answers.standing(subject)
        return (
            standing is not None
            and standing.decision is not None
            and later["id"] in (standing.decision["id"],)
        )

    wait_for(knows_it)
    assert place.run(chunk_of(402)) == Interaction.SC_SUCCEEDED
    wait_for(lambda: other.answers.standing(subject).taken == later["id"])  # type: ignore[union-attr]


def test_in_shadow_each_visit_asks_again(place: Place) -> None:
    place.configure("shadow")
    place.standin.answer = defer
    for _ in range(2):
        place.run(chunk_of(403))
    asked = wait_for(
        lambda: (
            len([it for it in place.standin.requests if it["phase"] == "asking"]) == 2
            and place.standin.requests
        )
    )
    assert len({it["attempt"] for it in asked}) == 2
