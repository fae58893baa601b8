"""A Kafka, a Yardmaster of the topology cms, and the agent, as a test of a real pool needs them."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

from yardmaster_client.codec import codec
from yardmaster_htcondor.bus import key

REPOSITORY = Path(__file__).resolve().parents[2]

SITES = {
    "T2_DE_DESY": ("T2", 8),
    "T2_US_Nebraska": ("T2", 8),
    "T1_US_FNAL": ("T1", 16),
    "T2_CH_CERN": ("T2", 4),
}


def wait_for(what: str, condition: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Waits until something holds, and gives what it gave; AssertionError if it never does."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"after {seconds:.0f} s not: {what}"
        time.sleep(0.5)
    return found


class Broker:
    """A real Kafka."""

    SCRIPT = REPOSITORY / "tests" / "kafka" / "broker.sh"

    def __init__(self, jars: Path, folder: Path, port: int) -> None:
        self.folder, self.address = folder, f"127.0.0.1:{port}"
        self._run("start", str(jars), str(folder), str(port), str(port + 1))

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [str(self.SCRIPT), *words], capture_output=True, text=True, timeout=180
        )
        assert done.returncode == 0, f"broker.sh {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def kill(self) -> None:
        """Kills it hard."""
        self._run("kill", str(self.folder))

    def restart(self) -> None:
        """Starts it again."""
        self._run("restart", str(self.folder))

    def stop(self) -> None:
        """Ends it."""
        self._run("stop", str(self.folder))


class Yard:
    """Yardmaster with the topology cms."""

    def __init__(self, folder: Path, binary: str, bootstrap: str) -> None:
        self.folder, self.binary, self.bootstrap = folder, binary, bootstrap
        self.topology = folder / "cms.toml"
        self.topology.write_text(topology())
        self.verb("topology", "apply")
        self._publish_sites()
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def place(self) -> list[str]:
        """Words that name topology and Kafka."""
        return ["--bootstrap-server", self.bootstrap, "--topology", str(self.topology)]

    def verb(self, *words: str) -> str:
        """Runs a verb to its end."""
        done = subprocess.run(
            [self.binary, *words, *self.place()], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        """Starts it."""
        command = [self.binary, "run", *self.place(), "--store", str(self.folder / "store")]
        with (self.folder / "yardmaster.log").open("a") as log:
            self.process = subprocess.Popen(
                [*command, "--http", "127.0.0.1:0"], stdout=log, stderr=log
            )

    def kill(self) -> None:
        """Kills it hard."""
        end(self.process, signal.SIGKILL)

    def stop(self) -> None:
        """Ends it."""
        end(self.process, signal.SIGTERM)

    def _publish_sites(self) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap})
        for name, (tier, slots) in SITES.items():
            quota = {"revision": 1, "tier": tier, "pledged_slots": slots, "high_io_slots": 8}
            quota |= {"overflow_slots": 2, "corepower_mhs06": 10_000}
            record = {"name": name, "changed_at": 1, "slot_quota": quota}
            value = codec("site").encode(record)
            producer.produce("yardmaster.cms.site", value, key=name.encode())
        assert producer.flush(30) == 0


def topology() -> str:
    """The topology that ships, as docs/htcondor.md has it for a pool, and quick to take the
    lead."""
    text = (REPOSITORY / "topology" / "cms.toml").read_text()
    text = re.sub(r"(?m)^partitions = .*$", "partitions = 1", text)
    settings = "\n".join(
        (
            'kind = "cms"',
            "memory_step_mb = 128",
            "fixed_wall_time_s = 900",
            "resize_overhead_s = 0",
            'group_order = ["tier0", "highprio"]',
            "t1_first_s = 0",
        )
    )
    assert 'kind = "cms"' in text
    return text.replace('kind = "cms"', settings, 1)


class Agent:
    """The agent, in a process of its own."""

    def __init__(
        self, folder: Path, bootstrap: str, client: Path, mode: str, **settings: Any
    ) -> None:
        self.log = folder / f"agent-{mode}.log"
        # A fixed one may be that of another's connection.
        with socket.create_server(("127.0.0.1", 0)) as free:
            address = f"127.0.0.1:{free.getsockname()[1]}"
        self._metrics = f"http://{address}/metrics"
        self.file = folder / f"agent-{mode}.toml"
        stated = {"bootstrap_servers": bootstrap, "metrics": address, "poll_s": 1, "mode": mode}
        lines = (f"{name} = {value!r}" for name, value in (stated | settings).items())
        self.file.write_text("\n".join(lines) + "\n")
        self._env = {**os.environ, "CONDOR_CONFIG": str(client / "condor_config")}
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        """Starts it."""
        command = [sys.executable, "-m", "yardmaster_htcondor.main", "agent", "--config"]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [*command, str(self.file)], stdout=log, stderr=log, env=self._env
            )

    def metric(self, name: str) -> float:
        """A metric without labels; below 0 while it does not answer."""
        try:
            with urllib.request.urlopen(self._metrics, timeout=2) as answer:
                for line in answer.read().decode().splitlines():
                    if line.startswith(f"yardmaster_htcondor_{name} "):
                        return float(line.split()[-1])
        except OSError:
            return -1.0
        return -1.0

    def wait_until_it_works(self) -> None:
        """Waits until it has read the pool, and hears of Yardmaster."""
        rounds = self.metric("round_seconds_count")
        wait_for("rounds of the agent", lambda: self.metric("round_seconds_count") > rounds + 1)
        wait_for("progress", lambda: 0 <= self.metric("progress_age_seconds") < 10)

    def kill(self) -> None:
        """Kills it hard."""
        end(self.process, signal.SIGKILL)

    def stop(self) -> None:
        """Ends it."""
        end(self.process, signal.SIGTERM)

    def verb(self, word: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs another verb of the command to its end."""
        command = [sys.executable, "-m", "yardmaster_htcondor.main", word, "--config"]
        return subprocess.run(
            [*command, str(self.file)],
            input=stdin,
            capture_output=True,
            text=True,
            env=self._env,
            timeout=60,
        )


def end(process: "subprocess.Popen[bytes] | None", number: int) -> None:
    """Ends a process of ours, and waits for it."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


class Topic:
    """Records of a topic since it is read."""

    def __init__(self, bootstrap: str, word: str) -> None:
        self._word = word
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "a-test"})
        name = f"yardmaster.cms.{word}"
        parts = self._consumer.list_topics(name, 10).topics[name].partitions
        self._consumer.assign([TopicPartition(name, number, 0) for number in parts])
        self._records: list[dict[str, Any]] = []

    def records(self) -> list[dict[str, Any]]:
        """All records so far, as far as Kafka answers."""
        while True:
            found = self._consumer.consume(1000, 0.3)
            for message in found:
                if message.error() is None and message.value() is not None:
                    with contextlib.suppress(ValueError):
                        self._records.append(codec(self._word).decode(message.value() or b""))
            if not found:
                return self._records

    def newest(self) -> dict[str, dict[str, Any]]:
        """The newest record of each key."""
        return {key(self._word, record): record for record in self.records()}
