"""Of two agents with one group one works; the other waits, and takes over when it is gone."""

import os
import socket
import threading
import time
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from yardmaster_htcondor import turn as module
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.turn import Turn, is_dead

CONFIG = Config("k:1")


class FakeConsumer:
    """Of one group: what is committed is seen by all."""

    stated = ""
    is_down = False

    def __init__(self, properties: dict[str, Any]) -> None:
        assert properties["group.id"] == CONFIG.group

    def committed(self, parts: list[Any], timeout: float) -> list[TopicPartition]:
        if self.is_down:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))
        return [TopicPartition(parts[0].topic, 0, 7, self.stated)]

    def get_watermark_offsets(self, part: TopicPartition, timeout: float) -> tuple[int, int]:
        return 0, 7

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        type(self).stated = offsets[0].metadata

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "Consumer", FakeConsumer)
    monkeypatch.setattr(module, "SAY_S", 0.03)
    monkeypatch.setattr(module, "SILENT_S", 0.5)
    monkeypatch.setattr(FakeConsumer, "stated", "")
    monkeypatch.setattr(FakeConsumer, "is_down", False)


def stopping(seconds: float) -> threading.Event:
    stop = threading.Event()
    threading.Timer(seconds, stop.set).start()
    return stop


def test_the_second_one_waits_until_the_first_ends(caplog: pytest.LogCaptureFixture) -> None:
    first, second, stop = Turn(CONFIG), Turn(CONFIG), threading.Event()
    assert first.wait(stop)
    assert not second.wait(stopping(1.0)), "the first one works for longer than SILENT_S"
    assert f"agent {first.name} of group yardmaster-htcondor works" in caplog.text
    stop.set()
    first.close()
    assert second.wait(stopping(1.0))


def test_one_that_was_killed_is_waited_for() -> None:
    FakeConsumer.stated = "elsewhere/1/1.0 17"
    began, stop = time.monotonic(), threading.Event()
    turn = Turn(CONFIG)
    assert turn.wait(stop) and time.monotonic() - began > 0.5
    stop.set()
    turn.close()
    assert FakeConsumer.stated == ""


def test_two_that_began_at_once(caplog: pytest.LogCaptureFixture) -> None:
    stop = threading.Event()
    turn = Turn(CONFIG)
    assert turn.wait(stop)
    FakeConsumer.stated = "elsewhere/1/1.0 1"
    assert stop.wait(2) and turn.is_lost
    assert "agent elsewhere/1/1.0 of group yardmaster-htcondor works too" in caplog.text
    turn.close()
    assert FakeConsumer.stated == "elsewhere/1/1.0 1", "the other one's turn is not ended"


def test_without_kafka_it_goes_on() -> None:
    stop = threading.Event()
    turn = Turn(CONFIG)
    assert turn.wait(stop)
    FakeConsumer.is_down = True
    assert not stop.wait(0.3) and not turn.is_lost
    stop.set()
    turn.close()


def test_an_agent_of_this_host_that_is_gone() -> None:
    host, pid = socket.gethostname(), os.getpid()
    assert not is_dead(f"{host}/{pid}/1.0") and not is_dead("") and not is_dead(f"{host}/x/1")
    assert is_dead(f"{host}/4194305/1.0") and not is_dead("elsewhere/4194305/1.0")


def test_a_topic_that_is_missing_is_named(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def unknown(*_: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    monkeypatch.setattr(FakeConsumer, "get_watermark_offsets", unknown)
    assert not Turn(CONFIG).wait(stopping(0.3))
    assert "topic yardmaster.cms.progress is not there: `yardmaster topology apply`" in caplog.text
    assert "Unknown partition" not in caplog.text
