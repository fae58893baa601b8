"""Requests and decisions that a process remembers."""

import threading
import time
from typing import Any

import pytest
from standin import decision, ranked

from yardmaster_jedi import answers
from yardmaster_jedi.answers import Answers, End, NotDeliveredError, Standing
from yardmaster_jedi.asking import is_deferred, is_later_assignment, next_attempt

LATE = End("expired", "late")


def request(attempt: int = 5, **more: Any) -> dict[str, Any]:
    known = {"subject": "1/2", "task": "1", "domain": "atlas", "policy": "p", "attempt": attempt}
    return {**known, "phase": "asking", "asked_at": 1, "revision": 0, **more}


def made(attempt: int, outcome: str, ordinal: int = 1, **more: Any) -> dict[str, Any]:
    fresh = {"dry_run": False, "fates": [], "counts": [], "ranked": [ranked("A", 1)]}
    return decision(request(attempt), outcome, ordinal, **{**fresh, **more})


def test_an_answer_wakes_the_thread_that_waits() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    threading.Timer(0.05, lambda: known.add_decision(made(5, "assign"))).start()
    found = known.wait(("1/2", 5), time.monotonic() + 10)
    assert found is not None and found["outcome"] == "assign"


def test_a_wait_is_bounded() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    known.add_decision(made(4, "assign"))
    began = time.monotonic()
    assert known.wait(("1/2", 5), began + 0.05) is None
    assert time.monotonic() - began < 5


def test_the_end_of_an_older_attempt_is_no_answer_to_the_newer() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    known.add_request(request(5), None)
    for reason in ("superseded(attempt 5)", "withdrawn(at 1)"):
        known.add_decision(made(4, "reject", reason=reason))
    assert known.wait(("1/2", 5), time.monotonic() + 0.05) is None
    standing = known.standing("1/2")
    assert standing is not None and (standing.attempt, standing.decision) == (5, None)
    known.add_decision(made(5, "assign"))
    found = known.wait(("1/2", 5), time.monotonic() + 10)
    assert found is not None and found["outcome"] == "assign"


def test_a_request_that_was_not_published_is_not_waited_for() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    known.fail(("1/2", 5), "broker gone")
    with pytest.raises(NotDeliveredError, match="broker gone"):
        known.wait(("1/2", 5), time.monotonic() + 60)


def test_what_an_abandoned_request_reserves_is_returned_once_whenever_it_comes() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    assert known.abandon(("1/2", 5), LATE) is None
    assert known.add_decision(made(5, "defer")) is None
    assert known.add_decision(made(5, "assign", 2)) == LATE
    assert known.add_decision(made(5, "assign", 2)) is None
    # The decision comes before the caller gives up.
    known.expect(("1/2", 6))
    known.add_decision(made(6, "assign"))
    found = known.abandon(("1/2", 6), LATE)
    assert found is not None and found["attempt"] == 6


def test_a_deferral_that_is_abandoned_may_become_an_assignment() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    known.add_decision(made(5, "defer"))
    assert known.abandon(("1/2", 5), LATE) is None
    assert known.add_decision(made(5, "assign", 2)) == LATE


def test_a_dry_run_reserves_nothing() -> None:
    known = Answers()
    known.expect(("1/2", 5))
    known.abandon(("1/2", 5), LATE)
    assert known.add_decision(made(5, "assign", dry_run=True)) is None


def standing(known: Answers) -> Standing:
    found = known.standing("1/2")
    assert found is not None
    return found


def later(known: Answers, age_max_ms: float = 1000.0, after_ms: int = 0) -> bool:
    now = int(time.time() * 1000) + after_ms
    return is_later_assignment(standing(known), "p", now, age_max_ms)


def test_only_an_assignment_after_a_deferral_may_be_taken() -> None:
    known = Answers()
    known.add_decision(made(5, "assign"))
    assert not later(known)  # the process that asked has it
    known.add_decision(made(6, "defer"))
    assert not later(known)
    known.add_decision(made(6, "assign", 2))
    assert later(known)
    assert not later(known, after_ms=2000)  # too old: its reservation lapses
    known.add_request(request(6, phase="ended", revision=1), None)
    assert not later(known)


def test_an_assignment_is_taken_by_one_process_and_one_thread() -> None:
    known = Answers()
    known.add_decision(made(6, "assign", 2))
    assert known.take("1/2", lambda _: True) is not None
    assert not later(known)
    # Another process publishes that it has taken it.
    other = Answers()
    other.add_decision(made(6, "assign", 2))
    assert later(other)
    other.add_request(request(6, revision=1), made(6, "assign", 2)["id"])
    assert not later(other)


def test_a_deferral_holds_while_yardmaster_repeats_it() -> None:
    known = Answers()
    known.add_decision(made(5, "defer"))
    now = int(time.time() * 1000)
    assert is_deferred(standing(known), "p", now)
    assert not is_deferred(standing(known), "another policy", now)
    assert not is_deferred(standing(known), "p", now + 600_000 + 61_000)  # nobody repeats it
    known.add_request(request(5, phase="ended", revision=1), None)
    assert not is_deferred(standing(known), "p", now)


def test_a_higher_attempt_makes_the_one_before_void() -> None:
    known = Answers()
    known.add_decision(made(5, "defer"))
    known.add_request(request(6), None)
    assert standing(known).decision is None and standing(known).attempt == 6
    known.add_decision(made(5, "assign", 2))
    assert standing(known).decision is None


def test_attempts_rise() -> None:
    assert abs(next_attempt(None) - time.time()) < 2
    ahead = int(time.time()) + 50
    assert next_attempt(Standing(attempt=ahead)) == ahead + 1


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SUBJECTS_MAX", 3)
    monkeypatch.setattr(answers, "ABANDONED_MAX", 3)
    known = Answers()
    for number in range(10):
        known.add_request({**request(), "subject": f"{number}/2"}, None)
        known.abandon((f"{number}/2", 5), LATE)
    assert known.standing("0/2") is None and known.standing("9/2") is not None
    assert len(known._subjects) == len(known._abandoned) == 3
