"""A Kafka that is down fills no log."""

import logging
import socket
import time

import pytest

from yardmaster_jedi.config import Config, Timeouts
from yardmaster_jedi.connection import UnavailableError
from yardmaster_jedi.outage import EVERY_S, Outage
from yardmaster_jedi.process import Process


def test_one_line_is_shown_then_none_then_that_it_answers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 1_000.0
    outage = Outage(lambda: now)
    client = logging.getLogger("test_outage.client")
    client.addFilter(outage)
    for _ in range(1_263):
        client.warning("FAIL [%s]: Connection refused", "rdkafka#producer-1")
    lines = [it.getMessage() for it in caplog.records]
    assert len(lines) == 1 and "Connection refused; more of it is left out" in lines[0]
    assert outage.may_last()
    now += 90.0
    outage.is_over()
    assert "after 90 s; 1262 lines" in caplog.messages[-1]
    assert not outage.may_last()
    # A broker that comes and goes: one line a minute.
    caplog.clear()
    for _ in range(600):
        now += 1.0
        client.warning("FAIL")
        outage.is_over()
    shown = [it for it in caplog.messages if it.startswith("FAIL")]
    assert len(shown) == 600 / EVERY_S
    # And that it is back, as often.
    assert len(caplog.messages) == 2 * len(shown)


@pytest.fixture
def now() -> list[float]:
    """The time, which a test changes."""
    return [1_000.0]


def test_an_outage_of_one_line_ends_with_a_line(
    caplog: pytest.LogCaptureFixture, now: list[float]
) -> None:
    outage = Outage(lambda: now[0])
    client = logging.getLogger("test_outage.one")
    client.addFilter(outage)
    client.warning("FAIL")
    now[0] += 5.0
    outage.is_over()
    assert len(caplog.messages) == 2 and "again after 5 s; 0 lines" in caplog.messages[1]
    outage.is_over()
    assert len(caplog.messages) == 2


def test_an_outage_that_begins_soon_after_another_is_shown_if_it_lasts(
    caplog: pytest.LogCaptureFixture, now: list[float]
) -> None:
    outage = Outage(lambda: now[0])
    client = logging.getLogger("test_outage.soon")
    client.addFilter(outage)
    client.warning("FAIL")
    outage.is_over()
    caplog.clear()
    for _ in range(3_600):
        now[0] += 1.0
        client.warning("FAIL")
    outage.is_over()
    first, last = caplog.messages
    assert first.startswith("FAIL") and "after 3599 s; 3599 lines" in last


def test_a_process_without_kafka_logs_a_few_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        closed = f"127.0.0.1:{taken.getsockname()[1]}"
        config = Config(bootstrap_servers=closed, timeouts=Timeouts(connect_s=1.0))
        process = Process()
        monkeypatch.setattr(process, "config", lambda: config)
        until = time.monotonic() + 6
        tries = 0
        while time.monotonic() < until:
            with pytest.raises(UnavailableError):
                process.connection()
            tries += 1
    assert tries > 3
    of_client = [it for it in caplog.records if it.name == "yardmaster_jedi.client"]
    assert len(of_client) <= 1, caplog.messages
