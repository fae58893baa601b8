"""A cluster of two brokers on loopback, and the clients that read and write it."""

import os
import random
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

SCRIPT = Path(__file__).parent.parent / "kafka" / "broker.sh"


class Failure(Exception):
    """The product, or what it stands on, did not do what it must."""


def free_port() -> int:
    """A port that nothing listens on, below those that the system gives to outgoing connections."""
    for _ in range(100):
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                return port
    raise Failure("no free port on loopback")


@dataclass
class Cluster:
    """Node 1 holds everything but single partitions of two inputs, which lie on node 2 alone."""

    jars: Path
    dir: Path
    ports: list[int] = field(default_factory=lambda: [free_port(), free_port()])
    controllers: list[int] = field(default_factory=lambda: [free_port(), free_port()])

    @property
    def bootstrap(self) -> str:
        """Where clients ask first. Node 1 alone: whoever reaches it learns of node 2."""
        return f"127.0.0.1:{self.ports[0]}"

    def data(self, node: int) -> Path:
        """Where a node keeps its log."""
        return self.dir / f"node-{node}"

    def start(self, node: int) -> None:
        """Starts a node for the first time; returns when it takes connections."""
        if node == 1:
            more = "broker.session.timeout.ms=4000\n"
        else:
            # A broker without a vote, so that node 1 goes on when it is gone.
            more = (
                f"node.id=2\nprocess.roles=broker\n"
                f"controller.quorum.voters=1@127.0.0.1:{self.controllers[0]}\n"
                f"listeners=PLAINTEXT://127.0.0.1:{self.ports[1]}\n"
                f"broker.session.timeout.ms=4000\nbroker.heartbeat.interval.ms=500\n"
            )
        properties = self.dir / f"node-{node}.properties"
        # A record with a large key is compressed well, and must be taken as it is.
        properties.write_text(more + "message.max.bytes=1048588\n")
        at = node - 1
        self._script(
            "start",
            str(self.jars),
            str(self.data(node)),
            str(self.ports[at]),
            str(self.controllers[at]),
            str(properties),
        )

    def kill(self, node: int) -> None:
        """SIGKILL."""
        self._script("kill", str(self.data(node)))

    def restart(self, node: int) -> None:
        """Kills a node if it lives, and starts it again on its own data."""
        self._script("restart", str(self.data(node)))

    def stop(self) -> None:
        """Ends what was started; a node that was never started is left alone."""
        for node in (2, 1):
            if (self.data(node) / "pid").exists():
                self._script("kill", str(self.data(node)))

    def _script(self, *args: str) -> None:
        done = subprocess.run(
            [str(SCRIPT), *args], capture_output=True, text=True, env=os.environ, check=False
        )
        if done.returncode != 0:
            raise Failure(f"broker.sh {args[0]}: {done.stdout}{done.stderr}")

    def admin(self) -> AdminClient:
        """A client that makes partitions."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        return len(self.admin().list_topics(topic, timeout=30).topics[topic].partitions)

    def add_partition(self, topic: str, node: int) -> int:
        """Adds one partition, whose only replica lies on a node; returns how many there are."""
        count = self.partitions(topic)
        wanted = NewPartitions(topic, count + 1, [[node]])
        # A client that nobody holds ends, whatever it is still waiting for.
        admin = self.admin()
        admin.create_partitions([wanted], operation_timeout=30)[topic].result(60)
        return count + 1

    def set_topic(self, topic: str, **settings: str) -> None:
        """Changes settings of a topic, whose names have _ for a dot here."""
        changes = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        admin = self.admin()
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(60)

    def settle_internal_topics(self) -> None:
        """Makes Kafka's own topics while node 1 is alone, so that none of them lies on node 2."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": "killer-first",
                "log_level": 0,
            }
        )
        producer.init_transactions(120)
        producer.begin_transaction()
        producer.commit_transaction(60)


@dataclass(frozen=True)
class Read:
    """One record as read."""

    partition: int
    offset: int
    key: bytes
    value: bytes | None
    headers: dict[str, bytes]
    stamp: int


class Reader:
    """Reads a topic from its beginning, committed records only; keeps what it has read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.bootstrap = bootstrap
        self.topic = topic
        self.records: list[Read] = []
        self.next: dict[int, int] = {}
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "killer",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
                "fetch.message.max.bytes": 8_000_000,
                "topic.metadata.refresh.interval.ms": 5_000,
                "log_level": 0,
            }
        )

    def read(self, limit_s: float = 120) -> list[Read]:
        """Reads on to the end of every partition, new ones included; returns all so far."""
        deadline = time.monotonic() + limit_s
        found = self.consumer.list_topics(self.topic, timeout=30).topics[self.topic]
        ended = dict.fromkeys(found.partitions, False)
        places = [TopicPartition(self.topic, it, self.next.get(it, 0)) for it in ended]
        self.consumer.assign(places)
        while not all(ended.values()):
            if time.monotonic() > deadline:
                raise Failure(f"{self.topic} cannot be read to its end: {ended}")
            for message in self.consumer.consume(5_000, 0.5):
                self._take(message, ended)
        return self.records

    def _take(self, message: object, ended: dict[int, bool]) -> None:
        error = message.error()  # type: ignore[attr-defined]
        partition = message.partition()  # type: ignore[attr-defined]
        if error is None:
            offset = message.offset()  # type: ignore[attr-defined]
            self.next[partition] = offset + 1
            self.records.append(
                Read(
                    partition,
                    offset,
                    message.key() or b"",  # type: ignore[attr-defined]
                    message.value(),  # type: ignore[attr-defined]
                    dict(message.headers() or []),  # type: ignore[attr-defined]
                    message.timestamp()[1],  # type: ignore[attr-defined]
                )
            )
        elif error.code() == KafkaError._PARTITION_EOF:
            ended[partition] = True
        elif not error.retriable() and error.code() in (
            KafkaError.OFFSET_OUT_OF_RANGE,
            KafkaError._AUTO_OFFSET_RESET,
        ):
            raise Failure(f"{self.topic}/{partition}: {error}")
