"""A cluster of brokers on loopback: three of which any may go, or one and a helper."""

import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)

from kafka import Failure, Ports, client, patient

SCRIPT = Path(__file__).parent.parent / "kafka" / "broker.sh"
# Has single partitions of two inputs alone; a cluster of one voter has it without a vote.
REMOTE_NODE = 2
# How long a partition without records may take to move; s.
MOVED_MAX_S = 120.0
# A record with a large key is compressed well, and must be taken as it is.
COMMON = (
    "broker.session.timeout.ms=4000\nbroker.heartbeat.interval.ms=500\nmessage.max.bytes=1048588\n"
)


@dataclass
class Cluster:
    """Brokers, by number from 1. All topics are on the voters, with a replica on each."""

    jars: Path
    dir: Path
    ports: Ports
    voters: int = 1
    listens: dict[int, int] = field(default_factory=dict)
    controls: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.nodes:
            self.listens[node] = self.ports.take()
            self.controls[node] = self.ports.take()

    @property
    def nodes(self) -> range:
        """All brokers there are."""
        return range(1, max(self.voters, REMOTE_NODE) + 1)

    @property
    def bootstrap(self) -> str:
        """Where clients ask first: the voters, and whoever reaches one learns of the others."""
        voters = range(1, self.voters + 1)
        return ",".join(f"127.0.0.1:{self.listens[node]}" for node in voters)

    def data(self, node: int) -> Path:
        """Where a node keeps its log."""
        return self.dir / f"node-{node}"

    # --- Nodes ------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Starts the voters; none of them listens before most are up."""
        voters = range(1, self.voters + 1)
        with ThreadPoolExecutor(self.voters) as pool:
            for started in [pool.submit(self._start, node) for node in voters]:
                started.result()

    def complete(self) -> None:
        """Starts the helper of a single voter, once topics have been made without it."""
        if self.voters < REMOTE_NODE:
            self._start(REMOTE_NODE)

    def _start(self, node: int) -> None:
        voters = ",".join(f"{it}@127.0.0.1:{self.controls[it]}" for it in range(1, self.voters + 1))
        more = f"{COMMON}node.id={node}\ncontroller.quorum.voters={voters}\n"
        if node > self.voters:
            more += f"process.roles=broker\nlisteners=PLAINTEXT://127.0.0.1:{self.listens[node]}\n"
        elif self.voters > 1:
            in_step = self.voters // 2 + 1
            more += (
                f"default.replication.factor={self.voters}\nmin.insync.replicas={in_step}\n"
                f"offsets.topic.replication.factor={self.voters}\n"
                f"transaction.state.log.replication.factor={self.voters}\n"
                f"transaction.state.log.min.isr={in_step}\n"
            )
        properties = self.dir / f"node-{node}.properties"
        properties.write_text(more)
        ports = (str(self.listens[node]), str(self.controls[node]))
        self._script("start", str(self.jars), str(self.data(node)), *ports, str(properties))

    def kill(self, node: int) -> None:
        """SIGKILL."""
        self._script("kill", str(self.data(node)))

    def terminate(self, node: int) -> None:
        """SIGTERM, and waits until it has ended."""
        self._script("stop", str(self.data(node)))

    def restart(self, node: int) -> None:
        """Kills a node if it lives, and starts it again on its own data, until it listens."""
        self._script("restart", str(self.data(node)))

    def restart_all(self, nodes: list[int]) -> None:
        """The same of several at once, of which none may listen before most are up."""
        with ThreadPoolExecutor(len(nodes)) as pool:
            for started in [pool.submit(self.restart, node) for node in nodes]:
                started.result()

    def stop(self) -> None:
        """Ends what was started; a node that was never started is left alone."""
        for node in reversed(self.nodes):
            if (self.data(node) / "pid").exists():
                self._script("kill", str(self.data(node)))

    def _script(self, *args: str) -> None:
        done = subprocess.run(
            [str(SCRIPT), *args], capture_output=True, text=True, env=os.environ, check=False
        )
        if done.returncode != 0:
            raise Failure(f"broker.sh {args[0]}: {done.stdout}{done.stderr}")

    # --- Topics, settings, quotas -----------------------------------------------------------------

    def admin(self) -> AdminClient:
        """A client that makes partitions. One that nobody holds ends, whatever it waits for."""
        return AdminClient(client(self.bootstrap))

    @patient
    def partitions(self, topic: str) -> int:
        """How many partitions a topic has."""
        return len(self.admin().list_topics(topic, timeout=60).topics[topic].partitions)

    @patient
    def topics(self) -> set[str]:
        """All topics there are."""
        return set(self.admin().list_topics(timeout=60).topics)

    @patient
    def leader(self, topic: str, partition: int) -> tuple[int, list[int]]:
        """The node that leads a partition, -1 for none, and those that are in step with it."""
        found = self.admin().list_topics(topic, timeout=60).topics[topic].partitions[partition]
        return found.leader, sorted(found.isrs)

    @patient
    def add_partition(self, topic: str, replicas: list[int]) -> int:
        """Adds one partition, whose replicas lie on these nodes; returns how many there are."""
        count = self.partitions(topic)
        wanted = NewPartitions(topic, count + 1, [replicas])
        admin = self.admin()
        admin.create_partitions([wanted], operation_timeout=60)[topic].result(120)
        return count + 1

    @patient
    def delete_topic(self, topic: str) -> None:
        """Deletes a topic."""
        admin = self.admin()
        admin.delete_topics([topic], operation_timeout=60)[topic].result(120)

    @patient
    def set_topic(self, topic: str, **settings: str) -> None:
        """Changes settings of a topic, whose names have _ for a dot here."""
        changes = [
            ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)
        admin = self.admin()
        for done in admin.incremental_alter_configs([resource]).values():
            done.result(120)

    def set_quota(self, name: str, rates: dict[str, int]) -> None:
        """Bounds the clients of this name; no rates: bounds them no more."""
        words = ["--entity-type", "clients", "--entity-name", name, "--alter"]
        if rates:
            added = ",".join(f"{rate}={value}" for rate, value in rates.items())
            words += ["--add-config", added]
        else:
            words += ["--delete-config", "producer_byte_rate,consumer_byte_rate,request_percentage"]
        self._tool("kafka.admin.ConfigCommand", *words)

    def place_alone(self, topic: str) -> None:
        """Has one partition of a topic lie on one node alone."""
        if self.voters < REMOTE_NODE:
            self.add_partition(topic, [REMOTE_NODE])
            return
        self.set_topic(topic, min_insync_replicas="1")
        self.move(topic, self.partitions(topic) - 1, [REMOTE_NODE])

    def place_on(self, topic: str, nodes: list[int]) -> int:
        """Adds a partition to a topic that has replicas on these nodes alone; its number."""
        # It is made with as many replicas as the others have, and moved afterwards.
        partition = self.add_partition(topic, list(range(1, self.voters + 1))) - 1
        self.move(topic, partition, nodes)
        return partition

    def move(self, topic: str, partition: int, nodes: list[int]) -> None:
        """Has a partition lie on these nodes alone; the first leads, or leads already."""
        place = {"topic": topic, "partition": partition, "replicas": nodes}
        file = self.dir / "move.json"
        file.write_text(json.dumps({"version": 1, "partitions": [place]}))
        tool = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
        self._tool(tool, "--execute", "--reassignment-json-file", str(file))
        until = time.monotonic() + MOVED_MAX_S
        while self.leader(topic, partition) != (nodes[0], sorted(nodes)):
            if time.monotonic() > until:
                raise Failure(f"{topic}/{partition} is not on nodes {nodes} alone")
            time.sleep(0.25)

    def end_hanging(self, topic: str, partition: int) -> str:
        """Ends the transactions that hold a partition; what was done."""
        tool = "org.apache.kafka.tools.TransactionsCommand"
        place = ["--topic", topic, "--partition", str(partition)]
        # Producer, epoch, coordinator's epoch, sequence, time, and where its transaction begins.
        rows = [row.split() for row in self._tool(tool, "describe-producers", *place).splitlines()]
        began = [row[5] for row in rows[1:] if len(row) == 6 and row[5].isdigit()]
        for offset in began:
            self._tool(tool, "abort", *place, "--start-offset", offset)
        return f"aborted those from offset {', '.join(began)}" if began else "none is open any more"

    def _tool(self, name: str, *words: str) -> str:
        """Runs one of Kafka's own tools; what it prints."""
        java = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{self.jars}/*", name]
        command = [*java, "--bootstrap-server", self.bootstrap, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{name}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return done.stdout

    def settle_internal_topics(self) -> None:
        """Makes Kafka's own topics while the voters are alone, so that none lies elsewhere."""
        producer = Producer(client(self.bootstrap, transactional_id="killer-first"))
        producer.init_transactions(120)
        producer.begin_transaction()
        producer.commit_transaction(60)
