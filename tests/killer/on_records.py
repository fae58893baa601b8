"""Records that nobody expects: strays, copies, random bytes, wrong stamps and clocks, giants."""

import shutil
from collections.abc import Callable

from confluent_kafka import Consumer, TopicPartition

from domain import ALL, ATLAS, OWN, Domain
from grid import QUEUES, SHARES, queue_record
from kafka import client, patient
from request import Expected
from scene import Scene
from telling import now

# How many records are stamped ahead at a time.
STAMPED_AHEAD = 3
COPIED = ("decision", "throttle", "command", "progress", "dead-letter")


def _stray(
    scene: Scene, domain: Domain, topic: str, key: str, value: bytes, partition: int
) -> None:
    def placed(partition: int, offset: int, _: int) -> None:
        scene.strays[domain.name].own.add((topic, partition, offset))

    scene.writers[domain.name].write(topic, key, value, partition, placed)


def _stray_bytes(scene: Scene) -> str:
    domain, topic = scene.domain(), scene.dice.choice(OWN)
    for value in (b"x", b"", b"\x00\x00\x00\x00\x07", scene.dice.randbytes(200)):
        _stray(scene, domain, topic, scene.dice.choice(["x", domain.name]), value, 0)
    return domain.topic(topic)


def _stray_copies(scene: Scene) -> str:
    """Copies of real records, as a replay by another program would leave them."""
    domain, copied = scene.domain(), []
    for topic in COPIED:
        for key, value in _some(scene, domain, topic, scene.dice.randrange(1, 4)):
            _stray(scene, domain, topic, key.decode(errors="replace"), value, 0)
            copied.append(topic)
    told = [f"{copied.count(topic)} of {topic}" for topic in sorted(set(copied))]
    return f"{domain.name}: {', '.join(told)}"


def _copy_decisions(scene: Scene) -> str:
    """The newest decisions once more, in their partition and another; then a rebuild."""
    domain, copied = scene.domain(), 0
    partitions = range(scene.cluster.partitions(domain.topic("decision")))
    for partition in partitions:
        for key, value in _some(scene, domain, "decision", 3, partition, newest=True):
            for to in (partition, scene.dice.choice(partitions)):
                _stray(scene, domain, "decision", key.decode(errors="replace"), value, to)
                copied += 1
    scene.crew.wait(scene.dice.uniform(0, 1))
    for process in scene.crew.members:
        process.kill()
        shutil.rmtree(process.store, ignore_errors=True)
    scene.again(*scene.crew.members)
    return f"{copied} copies of {domain.name}, all stores"


@patient
def _some(
    scene: Scene,
    domain: Domain,
    topic: str,
    count: int,
    partition: int = 0,
    newest: bool = False,
) -> list[tuple[bytes, bytes]]:
    """Some records of a partition, from its middle or its end."""
    name = domain.topic(topic)
    consumer = Consumer(
        client(
            scene.cluster.bootstrap,
            group_id="killer-copies",
            enable_auto_commit=False,
            isolation_level="read_committed",
        )
    )
    try:
        place = TopicPartition(name, partition)
        low, high = consumer.get_watermark_offsets(place, timeout=120)
        if high <= low:
            return []
        # Each record of the end is followed by the mark of its transaction.
        first = max(low, high - 2 * count) if newest else scene.dice.randrange(low, high)
        consumer.assign([TopicPartition(name, partition, first)])
        found = [it for it in consumer.consume(count, 3) if it.error() is None]
        return [(it.key() or b"", it.value()) for it in found if it.value() is not None]
    finally:
        consumer.close()


def _large(scene: Scene, topic: str, key: str, value: object) -> None:
    def placed(partition: int, offset: int, _: int) -> None:
        scene.strays[ATLAS.name].large.add((topic, partition, offset))

    scene.writer.write(topic, key, value, -1, placed)  # type: ignore[arg-type]


def _stamped_ahead(scene: Scene) -> str:
    """A topic is stamped by its producers for a while, and one of these has a wrong clock."""
    topic = scene.dice.choice(["job-state", "heartbeat", "transfer", "pilot", "queue", "task"])
    ahead = scene.dice.choice([1_800_000, 31_536_000_000])
    name = ATLAS.topic(topic)
    largest = str((1 << 63) - 1)
    scene.cluster.set_topic(
        name, message_timestamp_type="CreateTime", message_timestamp_after_max_ms=largest
    )
    stamped = scene.strays[ATLAS.name].ahead
    wanted = len(stamped) + STAMPED_AHEAD

    def is_stamped() -> bool:
        """The broker does as it is told a moment later; till then it stamps by its own clock."""
        _stamp_one(scene, topic, ahead)
        scene.writer.flush()
        return len(stamped) >= wanted

    scene.until(f"{topic}: a record is stamped by its producer", is_stamped)
    scene.cluster.set_topic(name, message_timestamp_type="LogAppendTime")
    return f"{STAMPED_AHEAD} of {topic} by {ahead // 1000} s"


def _stamp_one(scene: Scene, topic: str, ahead: int) -> None:
    """One record that would be seen in the counters, or a request."""
    at, name = now(), f"ahead-{scene.dice.randrange(1 << 40)}"
    queue = scene.dice.choice(QUEUES)
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
            name = key = str(scene.dice.randrange(1 << 31, 1 << 40))
            record |= {"subject": name, "task": name, "domain": ATLAS.name, "asked_at": at}
            record |= {"policy": "production-job", "jobs": 3, "core_count": 1}
            record |= {"gshare": SHARES[0], "resource_type": "SCORE", "nucleus": "NORTH"}
            record |= {"label": "managed"}
            scene.requests.expected[name] = Expected.ONE
            scene.requests.kinds[name] = "stamped ahead"

    def placed(partition: int, offset: int, stamp: int) -> None:
        if stamp >= at + ahead:
            scene.strays[ATLAS.name].ahead.add((topic, partition, offset))

    scene.writer.write(topic, key, record, 0, placed, at + ahead)


def _oversized_key(scene: Scene) -> str:
    topic = scene.dice.choice(["heartbeat", "job-state", "task", "pilot", "queue"])
    _large(scene, topic, "k" * 1_010_000, b"x")
    return f"1,010,000 bytes on {topic}"


def _oversized_request(scene: Scene) -> str:
    at, name = now(), "n" * 500_000
    part = scene.dice.choice(["subject", "policy", "gshare"])
    subject = f"large-{at}"
    record = {"subject": subject, "task": subject, "domain": ATLAS.name, "asked_at": at}
    record |= {"policy": "production-job", "changed_at": at, "jobs": 3, "core_count": 1}
    record |= {"gshare": SHARES[0], "label": "managed", part: name}
    _large(scene, "task", subject, record)
    return f"a {part} of 500,000 bytes"


def _random_bytes(scene: Scene) -> str:
    for domain in ALL:
        writer = scene.writers[domain.name]
        for topic in domain.inputs:
            for value in (
                scene.dice.randbytes(scene.dice.randrange(1, 300)),
                b"\x00" + scene.dice.randbytes(20),
                b"\x00" + scene.dice.randbytes(4),
                writer.codec.prefixes[topic] + b"\xff" * 40,
                b"",
            ):
                writer.write(topic, f"random-{scene.dice.randrange(9)}", value)
    return f"{sum(len(domain.inputs) for domain in ALL)} topics"


def _wrong_clock(scene: Scene) -> str:
    """The clock of those who write about jobs and pilots is wrong by ten minutes for a while."""
    domain = scene.domain().name
    wrong = scene.dice.choice([-600_000, 600_000])
    scene.stories[domain].wrong_by_ms = wrong
    scene.crew.wait(scene.pause())
    scene.stories[domain].wrong_by_ms = 0
    return f"of {domain} by {wrong // 1000} s"


KINDS: dict[str, Callable[[Scene], str]] = {
    "stray bytes on an own topic": _stray_bytes,
    "stray copies on own topics": _stray_copies,
    "decisions copied, stores deleted": _copy_decisions,
    "records stamped ahead": _stamped_ahead,
    "oversized key": _oversized_key,
    "oversized request": _oversized_request,
    "random bytes on every input": _random_bytes,
    "clock of a writer wrong": _wrong_clock,
}
