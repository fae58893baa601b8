"""How a story is told: mostly at once, now and then late, twice, under another key, or ahead."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from codec import Record, Unreadable
from kafka import client, patient
from recount import OWN_TIME
from writer import Writer

TICK_S = 0.05
DECISIONS_A_STEP = 100


def now() -> int:
    """ms since 1970."""
    return time.time_ns() // 1_000_000


class Answers:
    """Decisions of a domain as they come; while the broker is gone, none come."""

    def __init__(self, writer: Writer) -> None:
        self.codec = writer.codec
        self.consumer = Consumer(
            client(
                writer.bootstrap,
                group_id="killer-answers",
                enable_auto_commit=False,
                isolation_level="read_committed",
            )
        )
        self._begin(writer.domain.topic("decision"))

    @patient
    def _begin(self, topic: str) -> None:
        partitions = self.consumer.list_topics(topic, timeout=60).topics[topic].partitions
        self.consumer.assign([TopicPartition(topic, it, OFFSET_BEGINNING) for it in partitions])

    def read(self) -> Iterator[Record]:
        """Decisions that came since; copies among them, as any reader may meet them."""
        for message in self.consumer.consume(DECISIONS_A_STEP, 0):
            if message.error() is not None:
                continue
            try:
                yield self.codec.decode("decision", message.value())
            except Unreadable:
                continue


@dataclass
class Late:
    """A record that is kept back to come out of order."""

    due: float
    topic: str
    key: str
    record: Record


@dataclass
class Act:
    """An action that is done so many times a second."""

    rate: float
    do: Callable[[], None]


@dataclass
class Telling:
    """A thread that acts at its rates until it is told to stop, and how it writes."""

    writer: Writer
    seed: int
    late: list[Late] = field(default_factory=list)
    # By how much the clock of what writes about jobs and pilots is wrong; ms.
    wrong_by_ms: int = 0
    is_over: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None

    def __post_init__(self) -> None:
        self.dice = random.Random(f"story of {self.writer.domain.name} {self.seed}")

    def clock(self) -> int:
        """Time by the clock of the programs that write about jobs and pilots; ms since 1970."""
        return now() + self.wrong_by_ms

    def begin(self, acts: list[Act], step: Callable[[], None]) -> None:
        """Begins; `step` is done after each tick."""

        def run() -> None:
            try:
                owed = [0.0] * len(acts)
                while not self.is_over.wait(TICK_S):
                    for at, act in enumerate(acts):
                        owed[at] += act.rate * TICK_S
                        while owed[at] >= 1:
                            owed[at] -= 1
                            act.do()
                    step()
                    self._release()
            except BaseException as error:
                self.error = error

        name = f"story of {self.writer.domain.name}"
        self.thread = threading.Thread(target=run, name=name, daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Ends the thread, and writes what was held back."""
        self.is_over.set()
        self.thread.join()
        if self.error is not None:
            raise self.error
        self._release(is_all=True)

    def settle(self) -> None:
        """After its end: does what is still needed for everything to be answered."""

    def unsettled(self) -> int:
        """How much of that is still to come."""
        return 0

    def _release(self, is_all: bool = False) -> None:
        due = [it for it in self.late if is_all or it.due <= time.monotonic()]
        self.late = [it for it in self.late if it not in due]
        for late in due:
            self.writer.write(late.topic, late.key, late.record)

    def tell(self, topic: str, key: str, record: Record) -> None:
        """Writes it, mostly at once."""
        luck = self.dice.random()
        record = dict(record)
        own_time = OWN_TIME.get(topic)
        if own_time is not None and self.dice.random() < 0.004:
            # Far ahead of its stamp, so it must have no effect. It would win over all that follows.
            ahead = self.dice.choice([3_600_000, 31_536_000_000])
            self.writer.write(topic, key, record | {own_time: now() + ahead})
        if luck < 0.06:
            due = time.monotonic() + self.dice.uniform(0.2, 12)
            self.late.append(Late(due, topic, key, record))
        elif luck < 0.12:
            self.writer.write(topic, key, record)
            self.writer.write(topic, f"{key}-{self.dice.randrange(4)}", record)
        elif luck < 0.16:
            self.writer.write(topic, f"moved-{self.dice.randrange(100)}", record)
        else:
            self.writer.write(topic, key, record)
