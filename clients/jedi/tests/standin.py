"""A stand-in for Yardmaster: answers requests on `task` by a function, on `decision`."""

import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from yardmaster_client.codec import codec
from yardmaster_jedi.config import Topics

Record = dict[str, Any]


def decision(request: Record, outcome: str, ordinal: int = 1, **more: Any) -> Record:
    """A decision on a request."""
    name = f"{request['subject']}:{request['attempt']}:{ordinal}"
    now = int(time.time() * 1000)
    return {
        "id": hashlib.sha256(name.encode()).digest()[:16],
        "domain": request["domain"],
        "subject": request["subject"],
        "attempt": request["attempt"],
        "task": request["task"],
        "ordinal": ordinal,
        "epoch": 1,
        "cycle": 1,
        "number": 0,
        "now": now,
        "policy": request["policy"],
        "outcome": outcome,
        "until": now + 600_000 if outcome == "defer" else None,
        **more,
    }


def ranked(queue: str, jobs: int, weight: float = 1.0, **more: Any) -> Record:
    return {"queue": queue, "unified": queue, "weight": weight, "jobs": jobs, **more}


def assign(*queues: Record) -> Callable[[Record], list[Record]]:
    """Answers every request with these queues."""
    return lambda request: [decision(request, "assign", ranked=list(queues))]


def silence(_: Record) -> list[Record]:
    """Answers nothing."""
    return []


@dataclass
class Standin:
    """Runs from construction until `stop`. `answer` may be replaced at any time."""

    bootstrap: str
    topics: Topics
    answer: Callable[[Record], list[Record]] = silence
    requests: list[Record] = field(default_factory=list)
    outcomes: list[Record] = field(default_factory=list)
    comparisons: list[Record] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 0})
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "standin",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 20,
            }
        )
        names = (self.topics.task, self.topics.outcome, self.topics.comparison)
        consumer.assign(
            [
                TopicPartition(name, number, 0)
                for name in names
                for number in consumer.list_topics(name, 10).topics[name].partitions
            ]
        )
        self.consumer = consumer
        self.thread.start()

    def publish(self, record: Record) -> None:
        value = codec("decision").encode(record)
        self.producer.produce(self.topics.decision, value, key=record["subject"].encode())
        self.producer.flush(10)

    def _run(self) -> None:
        kinds = {
            self.topics.outcome: ("outcome", self.outcomes),
            self.topics.comparison: ("comparison", self.comparisons),
        }
        while not self.ended.is_set():
            message = self.consumer.poll(0.05)
            if message is None or message.error() is not None:
                continue
            topic, value = message.topic() or "", message.value() or b""
            if topic == self.topics.task:
                request = codec("task").decode(value)
                self.requests.append(request)
                if request["phase"] == "asking":
                    for record in self.answer(request):
                        self.publish(record)
            else:
                name, records = kinds[topic]
                records.append(codec(name).decode(value))
        self.consumer.close()

    def stop(self) -> None:
        self.ended.set()
        self.thread.join(10)


def make_topics(bootstrap: str, names: Iterable[str]) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    # librdkafka's mock makes them when they are first asked for, and cannot make them otherwise.
    if os.environ.get("YARDMASTER_TEST_KAFKA"):
        for future in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
            future.result(10)
    for name in names:
        wait_for(lambda name=name: admin.list_topics(name, 10).topics[name].error is None)  # type: ignore[misc]


def wait_for(condition: Callable[[], Any], seconds: float = 15) -> Any:
    """Value of the condition when it holds."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {seconds} s")
        time.sleep(0.01)
    return found
