"""`yardmaster-jedi-check`: whether a configuration can be used, and what it does.

Needs nothing of PanDA, and writes nothing.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from yardmaster_client.toml_reader import ConfigError
from yardmaster_jedi import config as configuration
from yardmaster_jedi.config import Config
from yardmaster_jedi.connection import Connection, UnavailableError
from yardmaster_jedi.modes import BROKERAGES, Rule, first_rule

USABLE, UNREACHABLE, UNUSABLE = 0, 1, 2
"""Exit codes: all is well; Kafka or a topic is not there; the configuration has an error."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; gives its exit code."""
    parser = argparse.ArgumentParser(
        prog="yardmaster-jedi-check",
        description="Reads a configuration of yardmaster-jedi, connects to Kafka, and prints what "
        "becomes of the tasks of each brokerage and share. Exit code 0: all is well; 1: Kafka or a "
        "topic is not there; 2: the configuration has an error. Nothing is written: rights "
        "to write are not looked at.",
    )
    default = f"{configuration.FILE_VARIABLE} or {configuration.DEFAULT_FILE}"
    parser.add_argument("file", nargs="?", type=Path, help=f"the file; without it {default}")
    parser.add_argument(
        "--gshare", action="append", default=[], metavar="NAME", help="a share to look at; repeated"
    )
    flags = parser.parse_args(arguments)
    file = flags.file or configuration.path()
    try:
        config = configuration.read(file)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return UNUSABLE
    print(f"{file}: read")
    for line in explain(config, flags.gshare):
        print(line)
    return _connect(config)


def explain(config: Config, shares: Sequence[str]) -> Iterator[str]:
    """A line for each brokerage and rule, or for each brokerage and share of `shares`."""
    for brokerage in BROKERAGES:
        policy = getattr(config.policies, brokerage)
        if shares:
            for share in shares:
                rule = first_rule(config.rules, brokerage, share)
                yield f"{brokerage:<10} {share:<24} {_does(rule, policy)}"
            continue
        rules = [rule for rule in config.rules if rule.brokerage in ("*", brokerage)]
        for rule in rules:
            yield f"{brokerage:<10} {rule.gshare:<24} {_does(rule, policy)}"
        if not any(rule.gshare == "*" for rule in rules):
            yield f"{brokerage:<10} {'(other shares)':<24} {_does(None, policy)}"


def _does(rule: Rule | None, policy: str) -> str:
    if rule is None or rule.mode == "off":
        return "off: PanDA decides, nothing is asked"
    if rule.mode == "shadow":
        return f"shadow: PanDA decides, {policy} is asked too"
    if rule.canary < 1:
        percent = f"{rule.canary * 100:g} %"
        return f"lead: {policy} decides for {percent} of the tasks, the others are shadow"
    return f"lead: {policy} decides"


def _connect(config: Config) -> int:
    if not config.bootstrap_servers:
        print("no Kafka is named, and none is needed: all is off")
        return USABLE
    try:
        connection = Connection(config)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    try:
        topics = connection.topics()
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return UNREACHABLE
    finally:
        connection.close()
    for topic, partitions in topics.items():
        print(f"{config.bootstrap_servers}: {topic}, partitions: {partitions}")
    return USABLE


if __name__ == "__main__":
    sys.exit(main())
