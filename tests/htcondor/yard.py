"""A Yardmaster of the topology cms and the agent, as a test of a real pool needs them."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import real
from confluent_kafka import Producer
from real import REPOSITORY, end, wait_for

from yardmaster_client.codec import codec

SITES = {
    "T2_DE_DESY": ("T2", 8),
    "T2_US_Nebraska": ("T2", 8),
    "T1_US_FNAL": ("T1", 16),
    "T2_CH_CERN": ("T2", 4),
}


class Yard(real.Yard):
    """Yardmaster with the topology cms."""

    def __init__(self, folder: Path, binary: str, bootstrap: str) -> None:
        file = folder / "cms.toml"
        file.write_text(topology())
        super().__init__(folder, binary, bootstrap, str(file))
        self.verb("topology", "apply")
        self._publish_sites()
        self.start()

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
        end(self.process)

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


class Topic(real.Topic):
    """Records of a topic of the domain cms."""

    def __init__(self, bootstrap: str, word: str) -> None:
        super().__init__(bootstrap, f"cms.{word}")
