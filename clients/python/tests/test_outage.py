import logging
from collections.abc import Iterator

import pytest

from yardmaster_client.outage import EVERY_S, Outage


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def outage(clock: Clock) -> Outage:
    return Outage(logging.getLogger("of-a-test"), clock)


@pytest.fixture
def client(outage: Outage) -> Iterator[logging.Logger]:
    logger = logging.getLogger("of-a-test.client")
    logger.addFilter(outage)
    yield logger
    logger.removeFilter(outage)


def test_one_line_is_shown_then_none_then_that_it_answers(
    caplog: pytest.LogCaptureFixture, clock: Clock, outage: Outage, client: logging.Logger
) -> None:
    for _ in range(1_263):
        client.warning("FAIL [%s]: Connection refused", "rdkafka#producer-1")
    assert len(caplog.messages) == 1 and outage.may_last()
    assert "Connection refused; more of it is left out until Kafka answers" in caplog.messages[0]
    clock.now += 90.0
    outage.is_over()
    assert "answers again after 90 s; 1262 lines" in caplog.messages[-1]
    assert not outage.may_last()
    # A broker that comes and goes: one line a minute.
    caplog.clear()
    for _ in range(600):
        clock.now += 1.0
        client.warning("FAIL")
        outage.is_over()
    shown = [it for it in caplog.messages if it.startswith("FAIL")]
    assert len(shown) == 600 / EVERY_S
    # And that it is back, as often.
    assert len(caplog.messages) == 2 * len(shown)


def test_an_outage_of_one_line_ends_with_a_line(
    caplog: pytest.LogCaptureFixture, clock: Clock, outage: Outage, client: logging.Logger
) -> None:
    client.warning("FAIL")
    clock.now += 5.0
    outage.is_over()
    assert len(caplog.messages) == 2 and "again after 5 s; 0 lines" in caplog.messages[1]
    outage.is_over()
    assert len(caplog.messages) == 2


def test_a_short_one_soon_after_is_not_shown(
    caplog: pytest.LogCaptureFixture, clock: Clock, outage: Outage, client: logging.Logger
) -> None:
    client.warning("a")
    outage.is_over()
    clock.now += EVERY_S / 2
    client.warning("b")
    outage.is_over()
    assert [it[:2] for it in caplog.messages] == ["a;", "Ka"]
    clock.now += EVERY_S / 2
    client.warning("c")
    assert caplog.messages[-1].startswith("c;")


def test_one_that_begins_soon_after_another_is_shown_if_it_lasts(
    caplog: pytest.LogCaptureFixture, clock: Clock, outage: Outage, client: logging.Logger
) -> None:
    client.warning("FAIL")
    outage.is_over()
    caplog.clear()
    for _ in range(3_600):
        clock.now += 1.0
        client.warning("FAIL")
    outage.is_over()
    first, last = caplog.messages
    assert first.startswith("FAIL") and "after 3599 s; 3599 lines" in last
