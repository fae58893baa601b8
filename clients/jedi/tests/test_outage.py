"""A Kafka that is down fills no log."""

import socket
import time

import pytest

from yardmaster_jedi.config import Config, Timeouts
from yardmaster_jedi.connection import UnavailableError
from yardmaster_jedi.process import Process


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
