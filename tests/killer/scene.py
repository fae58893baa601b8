"""Processes, brokers and topics that faults act on."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from cluster import Cluster
from crew import Crew, Process
from domain import ALL, ATLAS, Domain
from kafka import Failure
from registry import Registry
from request import Requests
from telling import Telling
from writer import Writer

# How long what must come may take on a machine that is busy with other things; s.
COMES_MAX_S = 300.0

Place = tuple[str, int, int]


@dataclass
class Strays:
    """Where records of a domain came to lie that the killer wrote and no reader may count."""

    own: set[Place] = field(default_factory=set)
    # Inputs that are too large: whether they can be read is for the product to say.
    large: set[Place] = field(default_factory=set)
    # Inputs with a stamp ahead of the clock.
    ahead: set[Place] = field(default_factory=set)


@dataclass
class Scene:
    """Processes, brokers, writers and stories, and the dice of the faults."""

    crew: Crew
    cluster: Cluster
    registry: Registry
    writers: dict[str, Writer]
    stories: dict[str, Telling]
    requests: Requests
    seed: int
    pause_max_s: float
    strays: dict[str, Strays] = field(
        default_factory=lambda: {domain.name: Strays() for domain in ALL}
    )

    def __post_init__(self) -> None:
        self.dice = random.Random(f"faults {self.seed}")

    @property
    def writer(self) -> Writer:
        """That of ATLAS."""
        return self.writers[ATLAS.name]

    def domain(self) -> Domain:
        """Any."""
        return self.dice.choice(ALL)

    def pause(self) -> float:
        """For how long something is away; s."""
        return self.dice.uniform(min(8.0, self.pause_max_s), self.pause_max_s)

    def victim(self) -> Process:
        """The leader of some domain if there is one just now, else any."""
        return self.crew.leader(self.domain().name) or self.dice.choice(self.crew.members)

    def again(self, *victims: Process) -> None:
        """Starts the killed after a moment, which a standby may use or not."""
        self.crew.wait(self.dice.choice([0.0, 1.0, self.dice.uniform(1, 6)]))
        for victim in victims:
            victim.start()

    def until(self, what: str, comes: Callable[[], bool]) -> None:
        """Waits for what must come."""
        until = time.monotonic() + COMES_MAX_S
        while not comes():
            if time.monotonic() > until:
                raise Failure(f"{what}: not within {COMES_MAX_S:.0f} s")
            self.crew.wait(0.25)
