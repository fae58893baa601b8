"""A running Yardmaster with topics of its own, and the facts of the small grid of `world`."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from rucio_stub import GB, QUEUES

from yardmaster_client.codec import codec

REPOSITORY = Path(__file__).resolve().parents[3]

RUNNING = 400
"""Jobs that run at each queue."""


def topology(prefix: str, name: str = "atlas") -> str:
    """A topology that ships, with topics of its own; it takes the lead soon."""
    text = (REPOSITORY / "topology" / f"{name}.toml").read_text()
    text = re.sub(r"(?m)^partitions = .*$", "partitions = 1", text)
    text = re.sub(
        r"(?m)^\[topics\.([a-z-]+)\]$",
        lambda it: f'{it.group()}\nname = "{prefix}.{it.group(1)}"',
        text,
    )
    changes = {
        f'domain = "{name}"': f'domain = "{prefix}"',
        f'group = "yardmaster-{name}"': f'group = "{prefix}"',
        "takeover_s = 5": "takeover_s = 1",
        "[[policy]]\n": "[[policy]]\ndwell_s = 0\n",
        "takeover_jitter_ms = 1_000": "takeover_jitter_ms = 0",
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


class Yard:
    """Runs until `stop`."""

    def __init__(self, folder: Path, binary: str, bootstrap: str, name: str = "atlas") -> None:
        self.prefix = f"jedi-{os.getpid()}-{time.time_ns()}"
        self.binary, self.bootstrap = binary, bootstrap
        self.topology = folder / "topology.toml"
        self.topology.write_text(topology(self.prefix, name))
        self.verb("topology", "apply")
        self.producer = Producer({"bootstrap.servers": bootstrap})
        self.publish_facts()
        self.log = folder / "run.log"
        command = [binary, "run", *self.place(), "--http", "127.0.0.1:0"]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*command, "--store", str(folder / "store")], stderr=log, stdout=log
            )

    def place(self) -> list[str]:
        return ["--bootstrap-server", self.bootstrap, "--topology", str(self.topology)]

    def verb(self, *words: str) -> str:
        done = subprocess.run(
            [self.binary, *words, *self.place()], capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def publish(self, topic: str, key: str, record: dict[str, Any]) -> None:
        value = codec(topic).encode(record)
        self.producer.produce(f"{self.prefix}.{topic}", value, key=key.encode())

    def publish_facts(self) -> None:
        now = int(time.time() * 1000)
        for queue, site in QUEUES.items():
            self.publish_place(queue, site, now)
            for number in range(RUNNING):
                self.publish_job(f"{queue}-{number}", queue, now)
        share = {"changed_at": now, "value": 100.0, "vo": "atlas"}
        for position, name in enumerate(("MC Default evgensimul", "User Analysis")):
            self.publish("share", name, {**share, "name": name, "position": position})
        assert self.producer.flush(30) == 0

    def publish_job(self, name: str, queue: str, now: int) -> None:
        """A running job: queues take no more than a multiple of those that run there."""
        job = {
            "job": name,
            "status": "running",
            "changed_at": now,
            "created_at": now,
            "started_at": now,
            "task": "1",
            "queue": queue,
            "gshare": "User Analysis" if name.endswith("7") else "MC Default evgensimul",
            "resource_type": "MCORE",
            "cores": 8,
        }
        self.publish("job-state", name, job)

    def set_status(self, status: str) -> None:
        """Of all queues."""
        for queue, site in QUEUES.items():
            self.publish_place(queue, site, int(time.time() * 1000), status)
        assert self.producer.flush(30) == 0

    def publish_place(self, queue: str, site: str, now: int, status: str = "online") -> None:
        disk = f"{site}_DATADISK"
        ends = {"read": [disk], "write": [disk]}
        common = {"changed_at": now, "site": site}
        self.publish(
            "queue",
            queue,
            {
                **common,
                "name": queue,
                "unified": queue,
                "status": status,
                "production": True,
                "analysis": True,
                "cloud": "WORLD",
                "storage_site": site,
                "cores": 8,
                "core_power_mhs06": 10_000,
                "max_wdir_mb": 500_000,
                "workflow": "pull_ups",
                "wn_connectivity": "full#IPv4",
                "direct_access_lan": True,
                "releases": ["ANY"],
                "jobseed": "std",
                "endpoints": ends,
                "analysis_endpoints": ends,
            },
        )
        space = {"total_bytes": 900_000 * GB, "free_bytes": 500_000 * GB}
        wan = {"read_lan": True, "write_lan": True, "read_wan": True, "write_wan": True}
        storage = {**common, **space, **wan, "name": disk, "kind": "DATADISK"}
        self.publish("storage", disk, storage)
        is_nucleus = queue != "SYNTH_GAMMA"
        place = {"name": site, "changed_at": now, "tier": 1, "output_endpoint": disk}
        self.publish("site", site, {**place, "nucleus": is_nucleus, "active": True})
        report = {"kind": "asked_job", "queue": queue, "at": now, "node": "node1"}
        self.publish("pilot", f"{queue}/node1", report)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
