"""Which faults there are, and in which order they come."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import on_brokers
import on_processes
import on_records
import on_stores
from scene import Scene

KINDS: dict[str, Callable[[Scene], str]] = (
    on_processes.KINDS | on_stores.KINDS | on_brokers.KINDS | on_records.KINDS
)


@dataclass
class Faults:
    """Inflicts faults in a seeded order: each kind once before any comes again."""

    scene: Scene
    only: list[str] = field(default_factory=list)
    done: dict[str, int] = field(default_factory=dict)
    deck: list[str] = field(default_factory=list)

    def inflict(self) -> None:
        """The next fault, at a random moment, a third of the time right after the last."""
        dice = self.scene.dice
        if not self.deck:
            self.deck = list(self.only or KINDS)
            dice.shuffle(self.deck)
        kind = self.deck.pop()
        self.scene.crew.wait(dice.choice([0.0, dice.uniform(0, 2), dice.uniform(2, 8)]))
        number = sum(self.done.values()) + 1
        print(f"  {time.strftime('%H:%M:%S')} fault {number}: {kind}", flush=True)
        what = KINDS[kind](self.scene)
        print(f"    {what}", flush=True)
        self.done[kind] = self.done.get(kind, 0) + 1

    def left(self) -> list[str]:
        """Kinds that did not come yet."""
        return [kind for kind in self.only or KINDS if kind not in self.done]
