"""Brokers that go and come back, their topics, their quotas, and the schema registry."""

import time
from collections.abc import Callable

from cluster import REMOTE_NODE
from domain import ALL, NORDUGRID
from scene import Scene

# What the program's clients are called; it gives them no name of its own.
THEIRS = "rdkafka"
CODECS = ["gzip", "snappy", "lz4", "zstd"]


def _voter(scene: Scene) -> int:
    return scene.dice.randrange(scene.cluster.voters) + 1


def _kill(scene: Scene) -> str:
    return _away(scene, "KILL", [_voter(scene)])


def _terminate(scene: Scene) -> str:
    return _away(scene, "TERM", [_voter(scene)])


def _kill_all(scene: Scene) -> str:
    return _away(scene, "KILL", list(range(1, scene.cluster.voters + 1)))


def _away(scene: Scene, how: str, nodes: list[int]) -> str:
    """Brokers go by a signal and come back; one of three that is gone excuses nobody."""
    cluster, seconds = scene.cluster, scene.dice.choice([0.0, scene.dice.uniform(0, 10)])
    scene.crew.is_excused = len(nodes) == cluster.voters
    for node in nodes:
        cluster.kill(node) if how == "KILL" else cluster.terminate(node)
    scene.crew.wait(seconds)
    cluster.restart_all(nodes)
    scene.crew.is_excused = False
    return f"nodes {nodes}, {how}, away for {seconds:.0f} s and their start"


def _rolling(scene: Scene) -> str:
    """One after the other, each when all that is held by several is whole again."""
    cluster, topic = scene.cluster, ALL[0].topic("progress")
    whole = list(range(1, cluster.voters + 1))
    for node in whole:
        _away(scene, "TERM", [node])
        scene.until("all are in step", lambda: cluster.leader(topic, 0)[1] == whole)
    return f"nodes {whole}, TERM, one after the other"


def _kill_remote(scene: Scene) -> str:
    """The only replica of a partition goes; somebody starts meanwhile."""
    seconds = scene.pause()
    scene.cluster.kill(REMOTE_NODE)
    scene.crew.wait(seconds / 2)
    victim = scene.victim()
    victim.kill()
    scene.again(victim)
    scene.crew.wait(seconds / 2)
    scene.cluster.restart(REMOTE_NODE)
    return f"node {REMOTE_NODE} for {seconds:.0f} s, {victim.name} killed meanwhile"


def _add_partition(scene: Scene) -> str:
    domain = scene.domain()
    topic = domain.topic(scene.dice.choice(["job-state", "heartbeat", "pilot", "task", "transfer"]))
    count = scene.cluster.add_partition(topic, list(range(1, scene.cluster.voters + 1)))
    return f"{topic} has {count}"


def _compress(scene: Scene) -> str:
    """A writer changes its codec, and the broker keeps some topics in one of its own."""
    dice, domain = scene.dice, scene.domain()
    scene.writers[domain.name].begin_again("zstd")
    words = [dice.choice(domain.inputs), dice.choice(["decision", "progress"])]
    told = [f"{domain.name} is written in zstd"]
    for word in words:
        codec = dice.choice(CODECS)
        scene.cluster.set_topic(domain.topic(word), compression_type=codec)
        told.append(f"{word} is kept in {codec}")
    scene.crew.wait(dice.uniform(0, 4))
    return ", ".join(told)


def _quota(scene: Scene) -> str:
    """The broker slows the program's clients down, and somebody starts meanwhile."""
    dice, seconds = scene.dice, scene.pause()
    rates = {"producer_byte_rate": dice.choice([20_000, 100_000])}
    rates |= {"consumer_byte_rate": dice.choice([100_000, 1_000_000])}
    rates |= {"request_percentage": dice.choice([5, 50])}
    scene.crew.is_excused = True
    scene.cluster.set_quota(THEIRS, rates)
    scene.crew.wait(seconds / 2)
    victim = scene.victim()
    victim.kill()
    scene.again(victim)
    scene.crew.wait(seconds / 2)
    scene.cluster.set_quota(THEIRS, {})
    scene.crew.is_excused = False
    return f"{rates} for {seconds:.0f} s, {victim.name} killed meanwhile"


def _registry_gone(scene: Scene) -> str:
    """A writer has schemas that only the registry knows, which is gone; requests wait for it."""
    domain, story = NORDUGRID.name, scene.stories[NORDUGRID.name]
    scene.crew.wait_for_leader(domain)
    began = time.monotonic()
    scene.crew.is_excused = True
    scene.registry.stop()
    story.writer.codec.renew()
    victim = scene.victim() if scene.dice.random() < 0.5 else None
    if victim is not None:
        victim.kill()
        scene.again(victim)

    def waits() -> bool:
        states = [it.state(domain).get("state", {}) for it in scene.crew.members]
        return any(it.get("waits_for_schemas") for it in states)

    scene.until(f"{domain} waits for the registry", waits)
    scene.crew.wait(scene.dice.uniform(0, scene.pause_max_s / 2))
    scene.registry.start()
    scene.until(f"{domain} waits no more", lambda: not waits())
    scene.crew.is_excused = False
    killed = f", {victim.name} killed meanwhile" if victim else ""
    return f"for {time.monotonic() - began:.0f} s{killed}"


KINDS: dict[str, Callable[[Scene], str]] = {
    "broker killed": _kill,
    "broker stopped": _terminate,
    "all brokers killed": _kill_all,
    "brokers restarted in turn": _rolling,
    "partition without a leader": _kill_remote,
    "partition added": _add_partition,
    "other compression": _compress,
    "quota": _quota,
    "registry gone": _registry_gone,
}
