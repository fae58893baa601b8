"""Whether the topics are still those of before. Of a topic that was made anew Yardmaster knows
nothing that was published, so the agent begins again; so it does where partitions were added."""

import logging
from concurrent.futures import Future
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicCollection

from yardmaster_htcondor.config import Config

logger = logging.getLogger("yardmaster_htcondor")

READ = ("decision", "progress")
WRITTEN = ("job-state", "task", "user", "pilot", "outcome", "comparison")
TOPICS = (*READ, *WRITTEN)

ASK_S = 5.0


def not_there(topic: str) -> str:
    """A line of a topic that is missing."""
    return f"topic {topic} is not there: `yardmaster topology apply` makes it; see topic_prefix"


class Look:
    """Asks, and looks at what was asked before: nothing here waits."""

    def __init__(self, config: Config, admin: Any) -> None:
        self.admin = admin
        self._names = [config.topic(word) for word in TOPICS]
        self._asked: dict[str, Future[Any]] = {}
        self._known: dict[str, tuple[str, int]] = {}
        self._missing: set[str] = set()
        self.changed = ""
        """What is not as before."""

    def look(self) -> None:
        """Looks at the answers, once all are there, and asks again."""
        if not all(it.done() for it in self._asked.values()):
            return
        for topic, answer in self._asked.items():
            self._take(topic, answer)
        names = TopicCollection(self._names)
        self._asked = self.admin.describe_topics(names, request_timeout=ASK_S)

    def _take(self, topic: str, answer: "Future[Any]") -> None:
        try:
            described = answer.result()
        except KafkaException as error:
            is_missing = error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
            if is_missing and topic not in self._missing:
                self._missing.add(topic)
                logger.error("%s", not_there(topic))
            return
        self._missing.discard(topic)
        found = str(described.topic_id), len(described.partitions)
        topic_id, count = self._known.setdefault(topic, found)
        if topic_id != found[0]:
            self.changed = f"topic {topic} was made anew"
        elif count != found[1]:
            self.changed = f"topic {topic} has {found[1]} partitions, not {count}"
