"""The three domains of a story, and how their topics are called."""

from dataclasses import dataclass

# A null on any other input removes a record.
NO_NULLS = ["job-state", "heartbeat", "transfer", "pilot", "task", "outcome"]
INPUTS = [
    *NO_NULLS,
    "queue",
    "site",
    "storage",
    "link",
    "release",
    "share",
    "quota",
    "user",
    "parameter",
]
OWN = ["decision", "throttle", "command", "progress", "dead-letter", "counter"]


@dataclass(frozen=True)
class Domain:
    """A domain: its word, where its topics begin, and what it reads."""

    name: str
    prefix: str
    inputs: tuple[str, ...]
    # Topics in Confluent framing.
    framed: tuple[str, ...] = ()

    def topic(self, word: str) -> str:
        """The full name of a topic."""
        return f"{self.prefix}{word}"


ATLAS = Domain("atlas", "yardmaster.", tuple(INPUTS))
CMS = Domain("cms", "yardmaster.cms.", (*INPUTS, "replica", "grant"))
NORDUGRID = Domain(
    "nordugrid",
    "yardmaster.nordugrid.",
    (*INPUTS, "replica", "registration", "user-share"),
    ("task", "job-state", "decision"),
)
ALL = (ATLAS, CMS, NORDUGRID)
