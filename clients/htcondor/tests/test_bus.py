"""Kafka: offsets, keys, and a broker that stands in (librdkafka's mock)."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from yardmaster_client.codec import codec
from yardmaster_htcondor.bus import Bus, OpenOffsets, key
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.look import TOPICS, Look


def test_keys() -> None:
    assert key("user", {"name": "ann"}) == "user/ann"
    assert key("pilot", {"offer": "slot1@p"}) == "slot1@p"
    assert key("task", {"task": "t", "subject": "s"}) == "t"


def test_offsets_count_once_all_before_are_done() -> None:
    offsets = OpenOffsets()
    for at in (3, 4, 5):
        offsets.begin(0, at)
    assert offsets.finish(0, 4) is None
    assert offsets.finish(0, 3) == 4
    assert offsets.finish(0, 5) == 5


@pytest.fixture(scope="module")
def broker() -> Iterator[str]:
    mock = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1})
    found = next(iter(mock.list_topics(timeout=10).brokers.values()))
    address = f"{found.host}:{found.port}"
    # The mock makes a topic when something is written to it.
    for word in ("decision", "progress", "outcome"):
        mock.produce(f"yardmaster.cms.{word}", b"before")
    assert mock.flush(10) == 0
    yield address


DECISION = {
    "domain": "cms",
    "subject": "slot1@p",
    "ordinal": 1,
    "epoch": 1,
    "cycle": 1,
    "number": 0,
    "now": 0,
    "policy": "cms",
    "outcome": "defer",
}


def begun(broker: str) -> Bus:
    bus = Bus(Config(broker, group="test-bus"))
    assert bus.begin(threading.Event())
    return bus


def decide(broker: str, number: int) -> None:
    producer = Producer({"bootstrap.servers": broker})
    value = codec("decision").encode({**DECISION, "id": number.to_bytes(16, "big")})
    producer.produce("yardmaster.cms.decision", value)
    producer.produce("yardmaster.cms.progress", b"x")
    assert producer.flush(10) == 0


def test_decisions_are_read_again_until_they_are_done(broker: str) -> None:
    decide(broker, 1)
    bus = begun(broker)
    decide(broker, 2)
    decision, _ = bus.decisions.get(timeout=10)
    assert decision["id"][-1] == 2, "at the first start those of before do not count"
    until = time.monotonic() + 10
    while bus.alive_s == 0:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert abs(bus.alive_s - time.time()) < 60
    bus.close()
    again = begun(broker)
    decision, message = again.decisions.get(timeout=10)
    assert decision["id"][-1] == 2, "it was not done"
    again.done(message)
    again.close()
    last = begun(broker)
    decide(broker, 3)
    decision, _ = last.decisions.get(timeout=10)
    assert decision["id"][-1] == 3
    last.close()


def test_publish(broker: str) -> None:
    bus = begun(broker)
    record = {"subject": "slot1@p", "decision": bytes(16), "kind": "failed", "at": 1, "reason": ""}
    assert bus.publish("outcome", record)
    bus.close()
    consumer = Consumer(
        {"bootstrap.servers": broker, "group.id": "look", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["yardmaster.cms.outcome"])
    message, until = consumer.poll(5), time.monotonic() + 20
    while message is None or message.key() is None:
        assert time.monotonic() < until
        message = consumer.poll(5)
    assert message.key() == b"slot1@p"
    assert codec("outcome").decode(message.value() or b"")["kind"] == "failed"
    consumer.close()


def test_a_record_that_never_fits_takes_no_other_away(broker: str) -> None:
    bus = begun(broker)
    record = {"subject": "slot1@p", "decision": bytes(16), "kind": "failed", "at": 1, "reason": ""}
    for of in ({"reason": "x" * 1_030_000}, {"reason": "x" * 2_000_000}, {"at": 2**70}):
        assert bus.publish("outcome", record | of)
    assert bus.publish("pilot", {"queue": "q", "offer": "s" * 1025})
    assert bus.publish("outcome", record)
    why = [bus.refused.get(timeout=5)[2] for _ in range(4)]
    assert "too large" in why[0] and "max_record_bytes of 1048576" in why[1] and "Error" in why[2]
    assert why[3] == "offer has 1025 bytes, more than name_bytes of 1024"
    assert bus.refused.empty() and bus.failed.empty()
    bus.close()


class FakeAdmin:
    """Knows ids and partitions of topics."""

    def __init__(self) -> None:
        self.topics = {f"yardmaster.cms.{word}": (f"id-{word}", 3) for word in TOPICS}

    def describe_topics(self, names: Any, request_timeout: float) -> dict[str, Future[Any]]:
        found = {}
        for name, (topic_id, partitions) in self.topics.items():
            found[name] = future = Future[Any]()
            if partitions:
                described = SimpleNamespace(topic_id=topic_id, partitions=[0] * partitions)
                future.set_result(described)
            else:
                error = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)
                future.set_exception(KafkaException(error))
        return found


@pytest.fixture
def looking() -> Look:
    return Look(Config("kafka:9092"), FakeAdmin())


def changed(looking: Look) -> str:
    looking.look()
    looking.look()
    return looking.changed


def test_topics_that_are_made_anew_are_noticed(
    looking: Look, caplog: pytest.LogCaptureFixture
) -> None:
    admin: Any = looking.admin
    assert not changed(looking) and not changed(looking)
    name = "yardmaster.cms.job-state"
    admin.topics[name] = ("", 0)
    for _ in range(3):
        assert not changed(looking)
    assert caplog.text.count(f"topic {name} is not there: ") == 1
    admin.topics[name] = ("another", 3)
    assert changed(looking) == f"topic {name} was made anew"


def test_partitions_that_are_added_are_noticed(looking: Look) -> None:
    admin: Any = looking.admin
    assert not changed(looking)
    admin.topics["yardmaster.cms.decision"] = ("id-decision", 4)
    assert changed(looking) == "topic yardmaster.cms.decision has 4 partitions, not 3"


def test_a_kafka_that_does_not_answer_says_nothing(looking: Look) -> None:
    admin: Any = looking.admin
    assert not changed(looking)
    future = Future[Any]()
    future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    admin.describe_topics = lambda *_, **__: {"yardmaster.cms.decision": future}
    assert not changed(looking)
