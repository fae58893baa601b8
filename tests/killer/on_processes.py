"""Processes that are killed or paused."""

import signal
from collections.abc import Callable

from crew import Process
from domain import ALL
from kafka import Failure
from scene import Scene


def _kill_leader(scene: Scene) -> str:
    victim = scene.victim()
    victim.kill()
    scene.again(victim)
    return victim.name


def _kill_both(scene: Scene) -> str:
    for process in scene.crew.members:
        process.kill()
    scene.again(*scene.crew.members)
    return "a and b"


def _pause(scene: Scene, *victims: Process) -> str:
    seconds = scene.pause()
    for victim in victims:
        victim.signal(signal.SIGSTOP)
    scene.crew.wait(seconds)
    for victim in victims:
        victim.signal(signal.SIGCONT)
    return f"{' and '.join(it.name for it in victims)} for {seconds:.0f} s"


def _pause_leader(scene: Scene) -> str:
    return _pause(scene, scene.victim())


def _pause_standby(scene: Scene) -> str:
    domain = scene.domain().name
    others = [it for it in scene.crew.members if not it.leads(domain)]
    return _pause(scene, scene.dice.choice(others or scene.crew.members))


def _pause_in_turn(scene: Scene) -> str:
    """One takes the lead while the other is stopped, and is stopped the moment it is back."""
    told = [_pause(scene, it) for it in scene.crew.members]
    return ", ".join([*told, _pause(scene, *scene.crew.members)])


def _stop_in_order(scene: Scene) -> str:
    victim = scene.victim()
    code = victim.stop()
    if code != 0:
        raise Failure(f"{victim.name}: exit code {code} at SIGTERM\n{victim.tail()}")
    scene.again(victim)
    return f"{victim.name}, of {len(ALL)} domains"


KINDS: dict[str, Callable[[Scene], str]] = {
    "leader killed": _kill_leader,
    "both killed": _kill_both,
    "leader paused": _pause_leader,
    "standby paused": _pause_standby,
    "both paused in turn": _pause_in_turn,
    "leader stopped": _stop_in_order,
}
