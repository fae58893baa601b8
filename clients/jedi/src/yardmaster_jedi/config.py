"""The configuration file: where Kafka is, who leads which tasks, and how long JEDI may wait.

The file is TOML; README.md has all keys. It is read again when it changes. A file that cannot be
read, or has an error, means that nothing is asked (mode `off`) until it is mended.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from yardmaster_client.toml_reader import TomlReader, read_table
from yardmaster_jedi.modes import BROKERAGES, MODES, Rule

FILE_VARIABLE = "YARDMASTER_JEDI_CONFIG"
DEFAULT_FILE = "/etc/yardmaster/jedi.toml"

Value = TypeVar("Value")


@dataclass(frozen=True)
class Topics:
    """Names of the topics that are written and read."""

    task: str = "yardmaster.task"
    decision: str = "yardmaster.decision"
    outcome: str = "yardmaster.outcome"
    comparison: str = "yardmaster.comparison"


@dataclass(frozen=True)
class Policies:
    """The policy that is asked, for each kind of brokerage."""

    production: str = "production-job"
    analysis: str = "analysis-job"
    generic: str = "generic-job"
    nucleus: str = "production-task"


@dataclass(frozen=True)
class Timeouts:
    """How long something may take; s."""

    connect_s: float = 5.0
    answer_s: float = 3.0
    nucleus_answer_s: float = 10.0
    compare_s: float = 60.0
    assignment_age_max_s: float = 3600.0


@dataclass(frozen=True)
class Breaker:
    """After how many failures in a row nothing is asked, and for how long; count, s."""

    failures: int = 3
    rest_s: float = 60.0


@dataclass(frozen=True)
class Config:
    """All of the configuration."""

    bootstrap_servers: str = ""
    domain: str = "atlas"
    client: Mapping[str, str] = field(default_factory=dict)
    topics: Topics = Topics()
    policies: Policies = Policies()
    timeouts: Timeouts = Timeouts()
    breaker: Breaker = Breaker()
    rules: tuple[Rule, ...] = ()

    def connection_key(self) -> tuple[Any, ...]:
        """Settings that a connection depends on; another connection is made when one changes."""
        client = tuple(sorted(self.client.items()))
        return self.bootstrap_servers, self.domain, client, self.topics, self.timeouts.connect_s


def path() -> Path:
    """The file: that of the environment variable, or the default one."""
    return Path(os.environ.get(FILE_VARIABLE) or DEFAULT_FILE)


def read(file: Path) -> Config:
    """Reads the file; `ConfigError` if it cannot be used."""
    return parse(read_table(file, f"write it, or set {FILE_VARIABLE}"), str(file))


def parse(table: Mapping[str, Any], file: str) -> Config:
    """The configuration in a table; `ConfigError` names what is wrong."""
    reader = TomlReader(table, file, secrets=("client",))
    breaker = reader.within("breaker")
    config = Config(
        bootstrap_servers=reader.text("bootstrap_servers", ""),
        domain=reader.text("domain", "atlas"),
        client=reader.properties("client"),
        topics=Topics(**_each(reader.within("topics").name, Topics())),
        policies=Policies(**_each(reader.within("policies").name, Policies())),
        timeouts=Timeouts(**_each(reader.within("timeouts").seconds, Timeouts())),
        breaker=Breaker(
            failures=breaker.count("failures", Breaker.failures, 1),
            rest_s=breaker.seconds("rest_s", Breaker.rest_s),
        ),
        rules=tuple(_rule(it) for it in reader.tables("rule")),
    )
    reader.refuse_unknown()
    if any(rule.mode != "off" for rule in config.rules) and not config.bootstrap_servers:
        raise reader.missing("bootstrap_servers", 'add bootstrap_servers = "HOST:PORT,..."')
    return config


def _each(take: Callable[[str, Value], Value], defaults: Any) -> dict[str, Value]:
    """Values for all fields of a dataclass."""
    return {name: take(name, default) for name, default in vars(defaults).items()}


def _rule(reader: TomlReader) -> Rule:
    mode = reader.choice("mode", "", MODES)
    return Rule(
        brokerage=reader.choice("brokerage", "*", (*BROKERAGES, "*")),
        gshare=reader.text("gshare", "*"),
        mode=mode,
        canary=_canary(reader, mode),
    )


def _canary(reader: TomlReader, mode: str) -> float:
    value = reader.value("canary", 1.0)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:
        raise reader.error("canary", value, "it is a fraction of tasks, 0 to 1")
    if value != 1 and mode != "lead":
        raise reader.error("canary", value, "only a rule of mode lead has one")
    return float(value)
