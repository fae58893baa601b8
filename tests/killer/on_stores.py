"""Stores that are deleted, damaged, or have no room."""

import resource
import shutil
from collections.abc import Callable
from pathlib import Path

from domain import ATLAS
from kafka import Failure
from scene import Scene

MARKER = "yardmaster.store"
# What a process that has no room for its store must say.
NO_ROOM = ("store: ", "give it space", "start again", "deleting the store loses nothing")
# Room that is left for what is logged; bytes.
LOG_ROOM = 1 << 18


def _delete(scene: Scene) -> str:
    victim = scene.victim()
    victim.kill()
    shutil.rmtree(victim.store, ignore_errors=True)
    scene.again(victim)
    return f"those of {victim.name}"


def _damage(scene: Scene) -> str:
    dice, victim = scene.dice, scene.victim()
    victim.kill()
    store = victim.store_of(scene.domain().name)
    files = sorted(it for it in store.rglob("*") if it.is_file() and it.stat().st_size)
    chosen = dice.sample(files, min(len(files), dice.randrange(1, 5)))
    flipped = [_flip(scene, file, dice.randrange(1, 16)) for file in chosen]
    scene.again(victim)
    return f"{store.name} of {victim.name}: {', '.join(flipped)}"


def _damage_marker(scene: Scene) -> str:
    victim = scene.victim()
    victim.kill()
    marker = victim.store_of(scene.domain().name) / MARKER
    flipped = _flip(scene, marker, 1) if marker.exists() else "there is no marker yet"
    scene.again(victim)
    return f"{marker.parent.name} of {victim.name}: {flipped}"


def _flip(scene: Scene, file: Path, count: int) -> str:
    size = file.stat().st_size
    with file.open("r+b") as damaged:
        for _ in range(count if size else 0):
            at = scene.dice.randrange(size)
            damaged.seek(at)
            byte = damaged.read(1)[0]
            damaged.seek(at)
            damaged.write(bytes([byte ^ scene.dice.randrange(1, 256)]))
    return f"{count} of {size} bytes of {file.name}"


def _fill_disk(scene: Scene) -> str:
    """There is no room for a store: a domain stops and says why; with room it goes on.

    The system's limit on what is written to files, wherever it lies in them, meets the same writes
    as a full disk does, and needs no rights.
    """
    victim = scene.victim()
    scene.until(f"{victim.name} is ready", lambda: bool(victim.state().get("ready")))
    child = victim.child
    assert child is not None, "it was ready"
    limit = victim.log.stat().st_size + LOG_ROOM
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    # The supervisor must not mend what a person has to.
    victim.is_wanted = False

    def has_stopped() -> bool:
        stopped = victim.state(ATLAS.name).get("state", {}).get("stopped")
        return bool(stopped) or child.poll() is not None

    scene.until(f"{victim.name} without room for its store stops", has_stopped)
    told = victim.text()
    missing = [part for part in NO_ROOM if part not in told]
    if missing:
        raise Failure(f"{victim.name} without room does not say {missing}\n{victim.tail()}")
    code = victim.stop()
    if code != 1:
        raise Failure(f"{victim.name} ended with code {code} after a domain stopped")
    scene.again(victim)
    return f"of {victim.name}, nothing is written beyond {limit} bytes of a file"


KINDS: dict[str, Callable[[Scene], str]] = {
    "stores deleted": _delete,
    "store damaged": _damage,
    "marker damaged": _damage_marker,
    "disk full": _fill_disk,
}
