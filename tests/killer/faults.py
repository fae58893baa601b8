"""What is done to processes, stores, brokers and topics, one fault after the other."""

import random
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from crew import Crew, Process
from grid import DOMAIN, QUEUES, SHARES, queue_record
from kafka import Cluster, Failure
from request import Expected, Requests
from story import now
from writer import Writer

INPUTS = [
    "job-state",
    "heartbeat",
    "transfer",
    "pilot",
    "task",
    "outcome",
    "queue",
    "site",
    "storage",
    "link",
    "release",
    "share",
    "quota",
    "user",
    "parameter",
]
OWN = ["decision", "throttle", "command", "progress", "dead-letter", "counter"]
# Inputs of which a partition lies on node 2 alone.
REMOTE = ["pilot", "heartbeat"]
# How many records are stamped ahead at a time, and how long until a broker lets that happen; s.
STAMPED_AHEAD = 3
STAMP_MAX_S = 60.0
MARKER = "yardmaster.store"
# Faults that the product does not survive yet, left out unless --all is given. To be emptied.
NOT_YET: tuple[str, ...] = ()


@dataclass
class Strays:
    """Where records came to lie that the killer wrote and no reader may count."""

    own: set[tuple[str, int, int]] = field(default_factory=set)
    # Inputs that are too large: whether they can be read is for the product to say.
    large: set[tuple[str, int, int]] = field(default_factory=set)
    # Inputs with a stamp ahead of the clock.
    ahead: set[tuple[str, int, int]] = field(default_factory=set)


@dataclass
class Faults:
    """Inflicts faults in a seeded order: each kind once before any comes again."""

    crew: Crew
    cluster: Cluster
    writer: Writer
    requests: Requests
    seed: int
    pause_max_s: float
    not_yet: tuple[str, ...] = NOT_YET
    strays: Strays = field(default_factory=Strays)
    done: dict[str, int] = field(default_factory=dict)
    deck: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(f"faults {self.seed}")
        self.kinds: dict[str, Callable[[], str]] = {
            "leader killed": self._kill_leader,
            "both killed": self._kill_both,
            "leader paused": self._pause_leader,
            "standby paused": self._pause_standby,
            "store deleted": self._delete_store,
            "store damaged": self._damage_store,
            "marker damaged": self._damage_marker,
            "broker killed": self._kill_broker,
            "partition without a leader": self._kill_node,
            "partition added": self._add_partition,
            "stray bytes on an own topic": self._stray_bytes,
            "stray copies on own topics": self._stray_copies,
            "decisions copied, stores deleted": self._copy_decisions,
            "records stamped ahead": self._stamped_ahead,
            "oversized key": self._oversized_key,
            "oversized request": self._oversized_request,
            "random bytes on every input": self._random_bytes,
        }

    def inflict(self) -> None:
        """The next fault, at a random moment, a third of the time right after the last."""
        if not self.deck:
            self.deck = [kind for kind in self.kinds if kind not in self.not_yet]
            self.dice.shuffle(self.deck)
        kind = self.deck.pop()
        self.crew.wait(self.dice.choice([0.0, self.dice.uniform(0, 2), self.dice.uniform(2, 8)]))
        number = sum(self.done.values()) + 1
        print(f"  {time.strftime('%H:%M:%S')} fault {number}: {kind}", flush=True)
        what = self.kinds[kind]()
        print(f"    {what}", flush=True)
        self.done[kind] = self.done.get(kind, 0) + 1

    # --- Processes --------------------------------------------------------------------------------

    def _victim(self) -> Process:
        """The leader if there is one just now, else any."""
        return self.crew.leader() or self.dice.choice(self.crew.members)

    def _again(self, *victims: Process) -> None:
        """Starts the killed after a moment, which a standby may use or not."""
        self.crew.wait(self.dice.choice([0.0, 1.0, self.dice.uniform(1, 6)]))
        for victim in victims:
            victim.start()

    def _kill_leader(self) -> str:
        victim = self._victim()
        victim.kill()
        self._again(victim)
        return f"{victim.name}"

    def _kill_both(self) -> str:
        for process in self.crew.members:
            process.kill()
        self._again(*self.crew.members)
        return "a and b"

    def _pause(self, victim: Process) -> str:
        seconds = self.dice.uniform(8, self.pause_max_s)
        victim.signal(signal.SIGSTOP)
        self.crew.wait(seconds)
        victim.signal(signal.SIGCONT)
        return f"{victim.name} for {seconds:.0f} s"

    def _pause_leader(self) -> str:
        return self._pause(self._victim())

    def _pause_standby(self) -> str:
        others = [it for it in self.crew.members if not it.leads()]
        return self._pause(self.dice.choice(others or self.crew.members))

    # --- Stores -----------------------------------------------------------------------------------

    def _delete_store(self) -> str:
        victim = self._victim()
        victim.kill()
        shutil.rmtree(victim.store, ignore_errors=True)
        self._again(victim)
        return f"that of {victim.name}"

    def _damage_store(self) -> str:
        victim = self._victim()
        victim.kill()
        files = sorted(it for it in victim.store.rglob("*") if it.is_file() and it.stat().st_size)
        chosen = self.dice.sample(files, min(len(files), self.dice.randrange(1, 5)))
        flipped = [self._flip(file, self.dice.randrange(1, 16)) for file in chosen]
        self._again(victim)
        return f"that of {victim.name}: {', '.join(flipped)}"

    def _damage_marker(self) -> str:
        victim = self._victim()
        victim.kill()
        marker = victim.store / MARKER
        flipped = self._flip(marker, 1) if marker.exists() else "there is no marker yet"
        self._again(victim)
        return f"that of {victim.name}: {flipped}"

    def _flip(self, file: Path, count: int) -> str:
        size = file.stat().st_size
        with file.open("r+b") as damaged:
            for _ in range(count if size else 0):
                at = self.dice.randrange(size)
                damaged.seek(at)
                byte = damaged.read(1)[0]
                damaged.seek(at)
                damaged.write(bytes([byte ^ self.dice.randrange(1, 256)]))
        return f"{count} of {size} bytes of {file.name}"

    # --- Brokers ----------------------------------------------------------------------------------

    def _kill_broker(self) -> str:
        seconds = self.dice.choice([0.0, self.dice.uniform(0, 10)])
        self.crew.is_excused = True
        self.cluster.kill(1)
        self.crew.wait(seconds)
        self.cluster.restart(1)
        self.crew.is_excused = False
        return f"node 1, away for {seconds:.0f} s and its start"

    def _kill_node(self) -> str:
        """Node 2 goes, and with it the only replica of a partition; somebody starts meanwhile."""
        seconds = self.dice.uniform(8, self.pause_max_s)
        self.cluster.kill(2)
        self.crew.wait(seconds / 2)
        victim = self._victim()
        victim.kill()
        self._again(victim)
        self.crew.wait(seconds / 2)
        self.cluster.restart(2)
        return f"node 2 for {seconds:.0f} s, {victim.name} killed meanwhile"

    def _add_partition(self) -> str:
        topic = self.dice.choice(["job-state", "heartbeat", "pilot", "task", "transfer"])
        count = self.cluster.add_partition(f"yardmaster.{topic}", 1)
        return f"{topic} has {count}"

    # --- Records ----------------------------------------------------------------------------------

    def _stray(self, topic: str, key: str, value: bytes, partition: int) -> None:
        def placed(partition: int, offset: int, _: int) -> None:
            self.strays.own.add((topic, partition, offset))

        self.writer.write(topic, key, value, partition, placed)

    def _stray_bytes(self) -> str:
        topic = self.dice.choice(OWN)
        for value in (b"x", b"", b"\x00\x00\x00\x00\x07", self.dice.randbytes(200)):
            self._stray(topic, self.dice.choice(["x", DOMAIN]), value, 0)
        return topic

    def _stray_copies(self) -> str:
        """Copies of real records, as a replay by another program would leave them."""
        copied = []
        for topic in ("decision", "throttle", "command", "progress", "dead-letter"):
            for key, value in self._some(topic, self.dice.randrange(1, 4)):
                self._stray(topic, key.decode(errors="replace"), value, 0)
                copied.append(topic)
        return ", ".join(f"{copied.count(topic)} of {topic}" for topic in sorted(set(copied)))

    def _copy_decisions(self) -> str:
        """The newest decisions once more, in their partition and another; then a rebuild."""
        partitions = range(self.cluster.partitions("yardmaster.decision"))
        copied = 0
        for partition in partitions:
            for key, value in self._some("decision", 3, partition, newest=True):
                for to in (partition, self.dice.choice(partitions)):
                    self._stray("decision", key.decode(errors="replace"), value, to)
                    copied += 1
        self.crew.wait(self.dice.uniform(0, 1))
        for process in self.crew.members:
            process.kill()
            shutil.rmtree(process.store, ignore_errors=True)
        self._again(*self.crew.members)
        return f"{copied} copies, both stores"

    def _some(
        self, topic: str, count: int, partition: int = 0, newest: bool = False
    ) -> list[tuple[bytes, bytes]]:
        """Some records of a partition, from its middle or its end."""
        name = f"yardmaster.{topic}"
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "group.id": "killer-copies",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 0,
            }
        )
        try:
            place = TopicPartition(name, partition)
            low, high = consumer.get_watermark_offsets(place, timeout=30)
            if high <= low:
                return []
            # Each record of the end is followed by the mark of its transaction.
            first = max(low, high - 2 * count) if newest else self.dice.randrange(low, high)
            consumer.assign([TopicPartition(name, partition, first)])
            found = [it for it in consumer.consume(count, 3) if it.error() is None]
            return [(it.key() or b"", it.value()) for it in found if it.value() is not None]
        finally:
            consumer.close()

    def _large(self, topic: str, key: str, value: object) -> None:
        def placed(partition: int, offset: int, _: int) -> None:
            self.strays.large.add((topic, partition, offset))

        self.writer.write(topic, key, value, -1, placed)  # type: ignore[arg-type]

    def _stamped_ahead(self) -> str:
        """A topic is stamped by its producers for a while, and one of these has a wrong clock."""
        topic = self.dice.choice(["job-state", "heartbeat", "transfer", "pilot", "queue", "task"])
        ahead = self.dice.choice([1_800_000, 31_536_000_000])
        name = f"yardmaster.{topic}"
        largest = str((1 << 63) - 1)
        self.cluster.set_topic(
            name, message_timestamp_type="CreateTime", message_timestamp_after_max_ms=largest
        )
        count, until = len(self.strays.ahead), time.monotonic() + STAMP_MAX_S
        # The broker does as it is told a moment later; till then it stamps by its own clock.
        while len(self.strays.ahead) < count + STAMPED_AHEAD:
            if time.monotonic() > until:
                raise Failure(f"{topic}: no record is stamped by its producer")
            self._stamp_one(topic, ahead)
            self.writer.flush()
            self.crew.wait(0.1)
        self.cluster.set_topic(name, message_timestamp_type="LogAppendTime")
        return f"{STAMPED_AHEAD} of {topic} by {ahead // 1000} s"

    def _stamp_one(self, topic: str, ahead: int) -> None:
        """One record that would be seen in the counters, or a request."""
        at, name = now(), f"ahead-{self.dice.randrange(1 << 40)}"
        queue = self.dice.choice(QUEUES)
        record, key = {"changed_at": at}, name
        match topic:
            case "job-state":
                record |= {"job": name, "status": "running", "queue": queue, "user": "ann"}
                record |= {"task": "1", "gshare": SHARES[0], "resource_type": "SCORE"}
            case "heartbeat":
                record = {"job": name, "at": at}
            case "transfer":
                record |= {"request": name, "state": "queued", "destination": "NORTH"}
                record |= {"activity": "Express", "source": "", "bytes": 1, "files": 1}
            case "pilot":
                record = {"kind": "asked_job", "queue": queue, "node": name, "at": at}
            case "queue":
                key, record = queue, queue_record(queue, at, True)
            case _:
                # Counters name a task by its number.
                name = key = str(self.dice.randrange(1 << 31, 1 << 40))
                record |= {"subject": name, "task": name, "domain": DOMAIN, "asked_at": at}
                record |= {"policy": "production-job", "jobs": 3, "core_count": 1}
                record |= {"gshare": SHARES[0], "resource_type": "SCORE", "nucleus": "NORTH"}
                record |= {"label": "managed"}
                self.requests.expected[name] = Expected.ONE
                self.requests.kinds[name] = "stamped ahead"

        def placed(partition: int, offset: int, stamp: int) -> None:
            if stamp >= at + ahead:
                self.strays.ahead.add((topic, partition, offset))

        # Partition 0 lies on node 1, whose settings were changed first.
        self.writer.write(topic, key, record, 0, placed, at + ahead)

    def _oversized_key(self) -> str:
        topic = self.dice.choice(["heartbeat", "job-state", "task", "pilot", "queue"])
        self._large(topic, "k" * 1_010_000, b"x")
        return f"1,010,000 bytes on {topic}"

    def _oversized_request(self) -> str:
        at, name = now(), "n" * 500_000
        part = self.dice.choice(["subject", "policy", "gshare"])
        subject = f"large-{at}"
        record = {"subject": subject, "task": subject, "domain": DOMAIN, "asked_at": at}
        record |= {"policy": "production-job", "changed_at": at, "jobs": 3, "core_count": 1}
        record |= {"gshare": SHARES[0], "label": "managed", part: name}
        self._large("task", subject, record)
        return f"a {part} of 500,000 bytes"

    def _random_bytes(self) -> str:
        for topic in INPUTS:
            prefix = self.writer.codec.prefixes[topic]
            for value in (
                self.dice.randbytes(self.dice.randrange(1, 300)),
                b"\x00" + self.dice.randbytes(20),
                b"\x00" + self.dice.randbytes(4),
                prefix + b"\xff" * 40,
                b"",
            ):
                self.writer.write(topic, f"random-{self.dice.randrange(9)}", value)
        return f"{len(INPUTS)} topics"
