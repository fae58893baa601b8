"""Faults that a log does not survive: the program must say so, and name the way out."""

from collections.abc import Callable

from crew import Process
from domain import CMS, NORDUGRID, Domain
from kafka import Failure
from scene import Scene
from telling import now
from topologies import rename_topics

# What is said of a topic that was deleted and created again: which it is, and the way out.
CREATED_AGAIN = ("job-state", "new names in the topology", "topology apply")
# What is said of a log that lost its end names the topic, in whatever words.
TRUNCATED = ("outcome",)
# The topics that a new log over the same facts needs.
NEW_LOG = ("task", "decision", "progress")


def _start(scene: Scene, domain: Domain) -> Process:
    """One process, which leads the domain."""
    process = scene.crew.members[0]
    process.start()
    scene.until(f"{process.name} leads {domain.name}", lambda: process.leads(domain.name))
    return process


def _must_stop(scene: Scene, process: Process, domain: Domain, says: tuple[str, ...]) -> None:
    """The domain stops with these words, the others go on, and the exit code tells."""

    def stopped() -> str:
        return process.state(domain.name).get("state", {}).get("stopped") or ""

    scene.until(f"{domain.name} stops", lambda: bool(stopped()))
    missing = [part for part in says if part not in stopped()]
    if missing:
        raise Failure(f"{domain.name} does not say {missing}: {stopped()}")
    for other in (it for it in scene.writers if it != domain.name):
        name = f"{process.name} leads {other}"
        scene.until(name, lambda it=other: process.leads(it))
    code = process.stop()
    if code != 1:
        raise Failure(f"{process.name} ended with code {code} after {domain.name} stopped")


def _apply(scene: Scene, domain: Domain) -> None:
    code, out, error = scene.crew.members[0].program.verb(domain.name, "topology", "apply")
    if code != 0:
        raise Failure(f"topology apply: exit code {code}\n{out}{error}")


def _supervised_by_hand(process: Process) -> None:
    """Whoever looks at it now is a person: it need not be ready."""
    process.is_wanted = False


def _create_again(scene: Scene) -> str:
    """A topic has as many records as before, at the same offsets, and they are others."""
    domain, writer = NORDUGRID, scene.writers[NORDUGRID.name]
    topic = domain.topic("job-state")
    process = _start(scene, domain)
    _supervised_by_hand(process)
    before = scene.cluster.partitions(topic)
    scene.cluster.delete_topic(topic)
    scene.until(f"{topic} is gone", lambda: topic not in scene.cluster.topics())
    _apply(scene, domain)
    # A client that heard that the topic is gone refuses what is written to it.
    writer.begin_again()
    for number in range(2_000):
        job = {"job": str(number), "status": "running", "changed_at": now(), "queue": "ce-a/q"}
        writer.write("job-state", str(number), job)
    _must_stop(scene, process, domain, CREATED_AGAIN)
    process.start()
    _supervised_by_hand(process)
    _must_stop(scene, process, domain, CREATED_AGAIN)
    # The way out, as it is named.
    rename_topics(process.program.topologies[domain.name], NEW_LOG, ".new")
    _apply(scene, domain)
    _start(scene, domain)
    _end_well(process)
    return f"{topic} of {before} partitions: refused twice, and led again with other topics"


def _truncate(scene: Scene) -> str:
    """An input loses its end in an unclean election, after that was read."""
    process = _start(scene, CMS)
    _supervised_by_hand(process)
    place, partition = _new_partition(scene)
    _lose_end(scene, partition, lambda: _until_read(scene, process, CMS))
    _must_stop(scene, process, CMS, TRUNCATED)
    process.start()
    _supervised_by_hand(process)
    _must_stop(scene, process, CMS, TRUNCATED)
    return f"{place}: 10 records were lost after they had been read, and it says so"


def _truncate_unread(scene: Scene) -> str:
    """The same while nobody reads: what was lost is as if it had never been."""
    process = _start(scene, CMS)
    place, partition = _new_partition(scene)
    _until_read(scene, process, CMS)
    _end_well(process)
    _lose_end(scene, partition, lambda: None)
    _start(scene, CMS)
    _until_read(scene, process, CMS)
    _end_well(process)
    # A partition that is added later must have as many replicas as this one.
    scene.cluster.move(CMS.topic("outcome"), partition, [2, 1, 3])
    return f"{place}: 10 records were lost before anybody read them, and it goes on"


def _end_well(process: Process) -> None:
    code = process.stop()
    if code != 0:
        raise Failure(f"{process.name} ended with code {code}\n{process.tail()}")


def _new_partition(scene: Scene) -> tuple[str, int]:
    """A partition on nodes 1 and 2, which the first leads, with records that both have."""
    cluster, topic = scene.cluster, CMS.topic("outcome")
    if cluster.voters < 3:
        raise Failure("an unclean election needs three brokers")
    cluster.set_topic(topic, unclean_leader_election_enable="true", min_insync_replicas="1")
    partition = cluster.place_on(topic, [1, 2])
    place = f"{topic}/{partition}"
    scene.until(f"{place} is whole", lambda: cluster.leader(topic, partition) == (1, [1, 2]))
    # A client that has written to the topic before does not know the new partition.
    scene.writers[CMS.name].begin_again()
    _tell_outcomes(scene, partition, "before", 10)
    return place, partition


def _lose_end(scene: Scene, partition: int, meanwhile: Callable[[], None]) -> None:
    """Records that node 1 alone has are lost, and as many others and more come in their place."""
    cluster, topic = scene.cluster, CMS.topic("outcome")
    cluster.kill(2)
    scene.until("node 1 is alone", lambda: cluster.leader(topic, partition) == (1, [1]))
    _tell_outcomes(scene, partition, "lost", 10)
    meanwhile()
    # The other two have a controller, which elects node 2 without the end.
    cluster.kill(1)
    cluster.restart(2)
    scene.until("node 2 leads", lambda: cluster.leader(topic, partition)[0] == 2)
    # A partition that lost what a client wrote refuses it: its numbers do not follow.
    scene.writers[CMS.name].begin_again()
    _tell_outcomes(scene, partition, "after", 20)
    cluster.restart(1)


def _tell_outcomes(scene: Scene, partition: int, word: str, count: int) -> None:
    writer = scene.writers[CMS.name]
    for number in range(count):
        record = {"subject": f"{word}-{number}", "decision": bytes(16), "kind": "accepted"}
        writer.write("outcome", record["subject"], record | {"at": now()}, partition)
    writer.flush()


def _until_read(scene: Scene, process: Process, domain: Domain) -> None:
    """Some cycles later whatever was written before is folded and stored."""
    scene.until(f"{domain.name} is led", lambda: process.leads(domain.name))
    first = process.state(domain.name)["state"]["cycle"]

    def is_later() -> bool:
        state = process.state(domain.name).get("state", {})
        return bool(state.get("leading")) and state.get("cycle", 0) > first + 20

    scene.until(f"{domain.name} makes cycles", is_later)


# In an order in which one may follow the other: the last leaves its domain stopped.
KINDS: dict[str, Callable[[Scene], str]] = {
    "log truncated unread": _truncate_unread,
    "topic created again": _create_again,
    "log truncated": _truncate,
}
