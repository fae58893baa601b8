"""The configuration file of the agent. It is TOML; README.md has all keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardmaster_client.toml_reader import TomlReader, read_table
from yardmaster_htcondor.dialect import LABELS, Dialect
from yardmaster_htcondor.matching import Terms

MODES = ("shadow", "lead")

PORT_MAX = 65_535

POLL_LEAST_S, POLL_MAX_S = 0.1, 60.0
POLLS = 3
"""What is renewed or waited for takes at least so many polls."""

DAY_S = 86_400.0
OFFER_MAX_S = 3600.0
"""So long at most Yardmaster reckons with the slots of an agent that died; s."""

HISTORY_MAX_S = 31 * DAY_S


@dataclass(frozen=True)
class Config:
    """All of the configuration."""

    bootstrap_servers: str
    mode: str = "shadow"
    domain: str = "cms"
    policy: str = "cms"
    topic_prefix: str = "yardmaster.cms."
    group: str = "yardmaster-htcondor"
    client: Mapping[str, str] = field(default_factory=dict)
    collector: str = ""
    schedds: tuple[str, ...] = ()
    metrics: str = "127.0.0.1:9319"
    poll_s: float = 2.0
    offer_s: float = 90.0
    history_s: float = 86_400.0
    terms: Terms = field(default_factory=lambda: Terms(grace_s=120.0, match_s=180.0, misses=3))
    dialect: Dialect = field(default_factory=Dialect)
    users: str = "jobs"
    """Where records of users come from: `jobs`, of which this agent makes them, or `import`."""

    @property
    def leads(self) -> bool:
        """Whether matches are carried out."""
        return self.mode == "lead"

    def topic(self, word: str) -> str:
        """The name of a topic."""
        return self.topic_prefix + word

    def metrics_address(self) -> tuple[str, int]:
        """Where metrics are served: host, and port. IPv6 may be in brackets."""
        host, _, port = self.metrics.rpartition(":")
        return host.removeprefix("[").removesuffix("]"), int(port)


def read(file: Path) -> Config:
    """Reads the file; `ConfigError` if it cannot be used."""
    return parse(read_table(file), str(file))


def parse(table: Mapping[str, Any], file: str) -> Config:
    """The configuration in a table; `ConfigError` names what is wrong."""
    reader = TomlReader(table, file, secrets=("client",))
    known, dialect = Config(""), Dialect()
    config = Config(
        bootstrap_servers=reader.text("bootstrap_servers", ""),
        mode=reader.choice("mode", known.mode, MODES),
        domain=reader.name("domain", known.domain),
        policy=reader.name("policy", known.policy),
        topic_prefix=reader.text("topic_prefix", known.topic_prefix),
        group=reader.name("group", known.group),
        client=reader.properties("client"),
        collector=reader.text("collector", known.collector),
        schedds=reader.texts("schedds", known.schedds),
        metrics=reader.text("metrics", known.metrics),
        poll_s=reader.seconds("poll_s", known.poll_s),
        offer_s=reader.seconds("offer_s", known.offer_s),
        history_s=reader.seconds("history_s", known.history_s),
        users=reader.choice("users", known.users, ("jobs", "import")),
        terms=Terms(
            grace_s=reader.seconds("grace_s", known.terms.grace_s),
            match_s=reader.seconds("match_s", known.terms.match_s),
            misses=reader.count("misses", known.terms.misses, 1),
        ),
        dialect=Dialect(
            central_groups=reader.texts("central_groups", dialect.central_groups),
            first_groups=reader.texts("first_groups", dialect.first_groups),
            labels=reader.texts("labels", dialect.labels),
        ),
    )
    reader.refuse_unknown()
    _check(config, reader)
    return config


def _check(config: Config, reader: TomlReader) -> None:
    if not config.bootstrap_servers:
        raise reader.missing("bootstrap_servers", 'add bootstrap_servers = "HOST:PORT,..."')
    if config.metrics and not is_address(config.metrics):
        remedy = f'it is "HOST:PORT", a port of 1 to {PORT_MAX}, or "" for none'
        raise reader.error("metrics", config.metrics, remedy)
    least_s = POLLS * config.poll_s
    for key, value, least, most in (
        ("poll_s", config.poll_s, POLL_LEAST_S, POLL_MAX_S),
        ("grace_s", config.terms.grace_s, least_s, DAY_S),
        ("match_s", config.terms.match_s, least_s, DAY_S),
        ("offer_s", config.offer_s, least_s, OFFER_MAX_S),
        ("history_s", config.history_s, 0.0, HISTORY_MAX_S),
    ):
        if not least <= value <= most:
            polls = f" ({POLLS} polls)" if least == least_s else ""
            remedy = f"state at least {least:g} s{polls} and at most {most:.0f} s"
            raise reader.error(key, value, remedy)
    unknown = [label for label in config.dialect.labels if label not in LABELS]
    if unknown:
        raise reader.error("labels", unknown[0], f"a label is one of {', '.join(LABELS)}")


def is_address(stated: str) -> bool:
    """Whether it is a host and a port."""
    _, colon, port = stated.rpartition(":")
    is_number = port.isascii() and port.isdecimal()
    return bool(colon) and is_number and 0 < int(port) <= PORT_MAX
