"""The configuration file: where Kafka is, who leads which tasks, and how long JEDI may wait.

The file is TOML; README.md has all keys. It is read again when it changes. A file that cannot be
read, or has an error, means that nothing is asked (mode `off`) until it is mended.
"""

import math
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardmaster_jedi.modes import BROKERAGES, MODES, Rule

FILE_VARIABLE = "YARDMASTER_JEDI_CONFIG"
DEFAULT_FILE = "/etc/yardmaster/jedi.toml"


class ConfigError(Exception):
    """The configuration cannot be used. The message names file, key, value and remedy."""


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
    try:
        text = file.read_bytes().decode()
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read ({error.strerror}): write it, or set {FILE_VARIABLE}"
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 ({error}): save it as UTF-8") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is no TOML: {error}") from error
    return parse(table, str(file))


def parse(table: Mapping[str, Any], file: str) -> Config:
    """The configuration in a table; `ConfigError` names what is wrong."""
    reader = _Reader(table, file)
    config = Config(
        bootstrap_servers=reader.text("bootstrap_servers", ""),
        domain=reader.text("domain", "atlas"),
        client=reader.properties("client"),
        topics=Topics(**reader.texts("topics", Topics())),
        policies=Policies(**reader.texts("policies", Policies())),
        timeouts=Timeouts(**reader.seconds("timeouts", Timeouts())),
        breaker=reader.breaker(),
        rules=reader.rules(),
    )
    reader.refuse_unknown()
    if any(rule.mode != "off" for rule in config.rules) and not config.bootstrap_servers:
        raise ConfigError(
            f'{file}: bootstrap_servers is missing: add bootstrap_servers = "HOST:PORT,..."'
        )
    return config


def _shown(key: str, value: Any) -> str:
    """A value for a message: nothing of `client`, where passwords are, and no table or list."""
    is_secret = key.split(".")[0] == "client" or isinstance(value, dict | list)
    return "..." if is_secret else repr(value)


class _Reader:
    """Takes keys out of a table, and complains about what it does not know or cannot use."""

    def __init__(self, table: Mapping[str, Any], file: str) -> None:
        self.table, self.file, self.known = table, file, set[str]()

    def error(self, key: str, value: Any, remedy: str) -> ConfigError:
        return ConfigError(f"{self.file}: {key} = {_shown(key, value)} cannot be used: {remedy}")

    def unknown(self, key: str, known: Iterable[str]) -> ConfigError:
        """Its value is not shown: a secret may stand at a wrong place."""
        keys = ", ".join(known)
        return ConfigError(f"{self.file}: {key} is no key that is known: the keys are {keys}")

    def text(self, key: str, default: str) -> str:
        self.known.add(key)
        value = self.table.get(key, default)
        if not isinstance(value, str):
            raise self.error(key, value, "it must be a text in quotes")
        return value

    def section(self, key: str) -> Mapping[str, Any]:
        self.known.add(key)
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            raise self.error(key, value, f"it must be a table, [{key}]")
        return value

    def fields(self, key: str, defaults: Any) -> Mapping[str, Any]:
        section, known = self.section(key), vars(defaults)
        for name in section:
            if name not in known:
                raise self.unknown(f"{key}.{name}", known)
        return section

    def texts(self, key: str, defaults: Any) -> dict[str, str]:
        section = self.fields(key, defaults)
        for name, value in section.items():
            if not isinstance(value, str) or not value:
                raise self.error(f"{key}.{name}", value, "it must be a text in quotes, not empty")
        return dict(section)

    def seconds(self, key: str, defaults: Any) -> dict[str, float]:
        section = self.fields(key, defaults)
        return {name: self.number(f"{key}.{name}", value) for name, value in section.items()}

    def number(self, key: str, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or value <= 0:
            raise self.error(key, value, "it must be a number above 0; s")
        return float(value)

    def breaker(self) -> Breaker:
        section = self.fields("breaker", Breaker())
        failures = section.get("failures", Breaker.failures)
        if not isinstance(failures, int) or isinstance(failures, bool) or failures < 1:
            raise self.error("breaker.failures", failures, "it must be a whole number, 1 or more")
        rest = self.number("breaker.rest_s", section.get("rest_s", Breaker.rest_s))
        return Breaker(failures=failures, rest_s=rest)

    def properties(self, key: str) -> dict[str, str]:
        properties = {}
        for name, value in self.section(key).items():
            if isinstance(value, bool):
                properties[name] = str(value).lower()
            elif isinstance(value, str | int | float):
                properties[name] = str(value)
            else:
                remedy = 'properties of librdkafka are texts, with their names in quotes: "a.b" = 1'
                raise self.error(f"{key}.{name}", value, remedy)
        return properties

    def rules(self) -> tuple[Rule, ...]:
        self.known.add("rule")
        tables = self.table.get("rule", [])
        if not isinstance(tables, list) or not all(isinstance(it, dict) for it in tables):
            raise self.error("rule", tables, "rules are an array of tables, [[rule]]")
        return tuple(self.rule(number, table) for number, table in enumerate(tables, 1))

    def rule(self, number: int, table: Mapping[str, Any]) -> Rule:
        name = f"rule {number}"
        known = ("brokerage", "gshare", "mode", "canary")
        for key in table:
            if key not in known:
                raise self.unknown(f"{name}: {key}", known)
        brokerage = table.get("brokerage", "*")
        if brokerage not in (*BROKERAGES, "*"):
            remedy = f"it is one of {', '.join(BROKERAGES)}, or * for all"
            raise self.error(f"{name}: brokerage", brokerage, remedy)
        gshare = table.get("gshare", "*")
        if not isinstance(gshare, str):
            raise self.error(f"{name}: gshare", gshare, "it is a text; * stands for any letters")
        mode = table.get("mode")
        if mode not in MODES:
            raise self.error(f"{name}: mode", mode, f"it is one of {', '.join(MODES)}")
        return Rule(brokerage, gshare, mode, self.canary(name, mode, table.get("canary", 1.0)))

    def canary(self, name: str, mode: str, value: Any) -> float:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= 1:
            raise self.error(f"{name}: canary", value, "it is a fraction of tasks, 0 to 1")
        if value != 1 and mode != "lead":
            raise self.error(f"{name}: canary", value, "only a rule of mode lead has one")
        return float(value)

    def refuse_unknown(self) -> None:
        for key in self.table:
            if key not in self.known:
                raise self.unknown(key, sorted(self.known))
