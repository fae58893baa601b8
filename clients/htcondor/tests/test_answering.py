"""A schedd that does not answer holds up no other."""

import socket
import time

import pytest

from yardmaster_htcondor import answering as module
from yardmaster_htcondor.answering import Answering, AwayError, PoolError
from yardmaster_htcondor.asking import Asker
from yardmaster_htcondor.bindings import classad, htcondor


class FakeSchedd:
    """Answers, is down, or is frozen."""

    def __init__(self) -> None:
        self.is_frozen = self.is_down = self.has_ended = False
        self.asked = self.closed = 0

    def ask(self) -> None:
        self.asked += 1

    def answer(self, wait_s: float) -> str | None:
        if self.has_ended:
            raise OSError("the process that asks has ended")
        if self.is_frozen:
            time.sleep(wait_s)
            return None
        return "Failed to connect" if self.is_down else ""

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ANSWER_S": 0.1, "FIRST_S": 0.1, "FRESH_S": 0.0, "PAUSE_S": 0.05}.items():
        monkeypatch.setattr(module, name, value)


def test_one_that_is_frozen_is_waited_for_once() -> None:
    schedd = FakeSchedd()
    one = Answering("a", schedd, lambda: schedd)
    assert one.handle() is schedd
    schedd.is_frozen = True
    with pytest.raises(PoolError, match=r"schedd a does not answer: no answer within 0\.1 s"):
        one.handle()
    began, asked = time.monotonic(), schedd.asked
    for _ in range(100):
        with pytest.raises(AwayError):
            one.handle()
    assert time.monotonic() - began < 5 and schedd.asked == asked
    schedd.is_frozen = False
    assert one.handle() is schedd


def is_away(one: Answering) -> bool:
    try:
        one.handle()
    except AwayError:
        return True
    return False


def test_one_that_is_down_is_asked_after_pauses_that_grow(
    caplog: pytest.LogCaptureFixture,
) -> None:
    schedd = FakeSchedd()
    schedd.is_down = True
    one = Answering("a", schedd, lambda: schedd)
    with pytest.raises(PoolError, match="schedd a does not answer: Failed to connect"):
        one.handle()
    until, known = time.monotonic() + 0.6, 0
    while time.monotonic() < until:
        with pytest.raises(AwayError):
            one.handle()
        known += 1
        time.sleep(0.001)
    assert known > 5 and 2 <= schedd.asked <= 6
    schedd.is_down = False
    until = time.monotonic() + 5
    while is_away(one):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert "schedd a answers again" in caplog.text


def test_after_an_answer_calls_are_made_without_another_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FRESH_S", 10.0)
    schedd = FakeSchedd()
    one = Answering("a", schedd, lambda: schedd)
    for _ in range(5):
        one.handle()
    assert schedd.asked == 1
    one.doubt()
    assert one.handle() is schedd and schedd.asked == 2


def test_a_process_that_asks_and_ended_is_made_again() -> None:
    schedd = FakeSchedd()
    schedd.has_ended = True
    one = Answering("a", schedd, lambda: schedd)
    with pytest.raises(PoolError, match="the process that asks has ended"):
        one.handle()
    schedd.has_ended = False
    time.sleep(0.1)
    assert one.handle() is schedd and schedd.closed == 1


def test_the_process_that_asks() -> None:
    """Of a schedd that is not there: it answers why not."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"<127.0.0.1:{port}>"
    stated = {"MyType": "Scheduler", "Name": "a", "MyAddress": address}
    ad = classad.ClassAd(stated | {"CondorVersion": htcondor.version()})
    asker = Asker(ad)
    for _ in range(2):
        asker.ask()
        assert "connect" in str(asker.answer(30)).lower()
    assert asker.answer(0) is None
    asker.close()
