import logging

import pytest

from yardmaster_client.outage import EVERY_S, Outage


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def line(text: str) -> logging.LogRecord:
    return logging.LogRecord("client", logging.ERROR, "", 0, text, (), None)


def test_one_line_then_silence_then_that_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    outage = Outage(logging.getLogger("of-a-test"), clock)
    first = line("broker down")
    assert outage.filter(first) and "until Kafka answers" in first.getMessage()
    assert not outage.filter(line("broker down")) and outage.may_last()
    clock.now = 7.0
    outage.is_over()
    assert "answers again after 7 s; 1 lines" in caplog.text and not outage.may_last()


def test_a_short_one_soon_after_is_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    outage = Outage(logging.getLogger("of-a-test"), clock)
    assert outage.filter(line("a"))
    outage.is_over()
    clock.now = EVERY_S / 2
    assert not outage.filter(line("b"))
    outage.is_over()
    assert caplog.text.count("answers again") == 1
    clock.now = EVERY_S
    assert outage.filter(line("c"))
