"""Records on their way: states only where they changed, events each once, both again where Kafka
did not take them."""

from collections import deque
from typing import Any, Protocol

from yardmaster_htcondor.bus import key
from yardmaster_htcondor.metrics import Metrics

EVENTS_MAX = 10_000
"""Events that wait for Kafka; the oldest of more are dropped."""


class Kafka(Protocol):
    """Takes records, or does not."""

    def publish(self, topic: str, record: dict[str, Any]) -> bool:
        """Whether it took the record for now."""


class Outbox:
    """Records on their way."""

    def __init__(self, bus: Kafka, metrics: Metrics) -> None:
        self._bus, self._metrics = bus, metrics
        self._prints: dict[tuple[str, str], int] = {}
        self._states: dict[tuple[str, str], dict[str, Any]] = {}
        self._due: dict[tuple[str, str], None] = {}
        self._events: deque[tuple[str, dict[str, Any]]] = deque(maxlen=EVENTS_MAX)

    def state(self, topic: str, record: dict[str, Any], **moving: Any) -> bool:
        """Publishes a record if it differs from what was published under its key; whether it does.
        What is `moving`, as the time of the change, is no difference."""
        at = topic, key(topic, record)
        print_ = hash(repr(sorted(record.items())))
        if self._prints.get(at) == print_:
            return False
        self._prints[at] = print_
        self._states[at] = {**record, **moving}
        self._due[at] = None
        return True

    def forget(self, topic: str, name: str) -> None:
        """A state that will not change any more."""
        at = topic, name
        self._prints.pop(at, None)
        if at not in self._due:
            self._states.pop(at, None)

    def event(self, topic: str, record: dict[str, Any]) -> None:
        """Publishes a record."""
        self._events.append((topic, record))

    def failed(self, topic: str, record: dict[str, Any]) -> None:
        """Kafka did not take a record. Offers are renewed in any case."""
        at = topic, key(topic, record)
        if at in self._states:
            self._due[at] = None
        elif topic != "pilot":
            self._events.append((topic, record))

    def flush(self) -> bool:
        """Hands over what is due; False if Kafka's client takes no more for now."""
        for at in list(self._due):
            if not self._hand_over(at[0], self._states[at]):
                return False
            del self._due[at]
            if at not in self._prints:
                del self._states[at]
        while self._events:
            if not self._hand_over(*self._events[0]):
                return False
            self._events.popleft()
        return True

    def _hand_over(self, topic: str, record: dict[str, Any]) -> bool:
        is_taken = self._bus.publish(topic, record)
        if is_taken:
            self._metrics.records.labels(topic).inc()
        return is_taken
