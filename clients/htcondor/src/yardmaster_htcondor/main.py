"""The command `yardmaster-htcondor`."""

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from yardmaster_client.toml_reader import ConfigError

DEFAULT_FILE = Path("/etc/yardmaster/htcondor.toml")

CONFIG_ERROR = 2


def main(arguments: list[str] | None = None) -> int:
    """Runs a verb; the exit code."""
    parser = argparse.ArgumentParser(prog="yardmaster-htcondor", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, help_ in (
        ("agent", "ads in, matches out: works until it is stopped"),
        ("check", "what is wrong with configuration, Kafka and pool, and the remedy"),
        ("obey", "carries out one command, as `yardmaster commands --exec` hands it over"),
    ):
        parts = verbs.add_parser(verb, help=help_)
        parts.add_argument("--config", type=Path, default=DEFAULT_FILE, metavar="FILE")
        parts.add_argument("--verbose", action="store_true", help="logs more")
    verbs.add_parser("files", help="prints where the schedd's configuration and the unit are")
    options = parser.parse_args(arguments)
    if options.verb == "files":
        show([resources.files("yardmaster_htcondor").joinpath("shipped")])
        return 0
    _log(options.verbose)
    try:
        runs = {"agent": _agent, "check": _check, "obey": _obey}
        return runs[options.verb](options.config)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return CONFIG_ERROR


def show(lines: Iterable[object]) -> None:
    """Prints lines, as far as somebody reads them."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # What is left of it would be written at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _log(is_verbose: bool) -> None:
    level = logging.DEBUG if is_verbose else logging.INFO
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("yardmaster_htcondor").setLevel(level)


def _agent(file: Path) -> int:
    from confluent_kafka import KafkaException

    from yardmaster_htcondor import config as configs
    from yardmaster_htcondor.agent import Agent
    from yardmaster_htcondor.bus import Bus
    from yardmaster_htcondor.metrics import Metrics
    from yardmaster_htcondor.pool import Editor, Pool
    from yardmaster_htcondor.turn import Turn

    config = configs.read(file)
    stop, metrics = threading.Event(), Metrics()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        if config.metrics:
            metrics.serve(*config.metrics_address())
    except OSError as error:
        remedy = "state another address, or end the other agent"
        raise ConfigError(
            f'{file}: metrics = "{config.metrics}": {error.strerror}: {remedy}'
        ) from error
    logger = logging.getLogger("yardmaster_htcondor")
    logger.info("mode %s, Kafka %s", config.mode, config.bootstrap_servers)
    pool = Pool(config.collector, config.schedds)
    try:
        bus, turn = Bus(config), Turn(config)
    except KafkaException as error:
        raise ConfigError(f"{file}: [client]: {error.args[0].str()}: mend or drop it") from error
    try:
        if turn.wait(stop) and bus.begin(stop):
            Agent(config, pool, bus, Editor(pool) if config.leads else None, metrics).run(stop)
    finally:
        bus.close()
        turn.close()
    logger.info("ends")
    return 0 if stop.is_set() and not turn.is_lost else 1


def _check(file: Path) -> int:
    from yardmaster_htcondor import config as configs
    from yardmaster_htcondor.check import check

    findings = check(configs.read(file))
    show(findings)
    return int(any(finding.level == "WRONG" for finding in findings))


def _obey(file: Path) -> int:
    from yardmaster_htcondor import config as configs
    from yardmaster_htcondor.bindings import htcondor
    from yardmaster_htcondor.obey import AGAIN, REFUSED, CommandError, command_of, obey

    name = configs.read(file).collector if file.exists() else ""
    try:
        command = command_of(sys.stdin.readline())
        code, reason = obey(command, htcondor.Collector(name) if name else htcondor.Collector())
    except CommandError as error:
        code, reason = REFUSED, str(error)
    except Exception as error:
        code, reason = AGAIN, f"{type(error).__name__}: {error}"
    print(reason, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
