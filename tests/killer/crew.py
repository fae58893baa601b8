"""Two processes of `yardmaster run`, and a supervisor that starts again what ended by itself."""

import http.client
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka import Failure, Ports

# A process that nothing keeps from it must be ready within this; s.
READY_MAX_S = 300.0
# A supervisor's pause before it starts a process again; s.
RESTART_S = 1.0
# The exit code of a Rust program that panicked; one that a signal ended has a negative one.
PANICKED = 101
# The broker ends a transaction after 30 s: what holds a partition for so long hangs, which is a
# fault of the broker's, and a person ends it as the program asks for; s.
HANGS_S = 90.0
HANGING = re.compile(r"(\S+)\[(\d+)\] stands still behind an open transaction")


@dataclass
class Program:
    """The built program, and how the log of each domain is named to it."""

    binary: Path
    bootstrap: str
    topologies: dict[str, Path]

    def verb(self, domain: str, *args: str, limit_s: float = 3_600) -> tuple[int, str, str]:
        """Runs a verb about a domain to its end: exit code, stdout, stderr."""
        place = ["--bootstrap-server", self.bootstrap, "--topology", str(self.topologies[domain])]
        command = [str(self.binary), *args, *place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False)
        return done.returncode, done.stdout, done.stderr

    def run(self, store: Path, port: int) -> list[str]:
        """The command line of a process of all domains."""
        command = [str(self.binary), "run", "--bootstrap-server", self.bootstrap]
        for file in self.topologies.values():
            command += ["--topology", str(file)]
        return [*command, "--store", str(store), "--http", f"127.0.0.1:{port}"]


@dataclass
class Process:
    """`yardmaster run` with a store and a port of its own."""

    name: str
    program: Program
    dir: Path
    ports: Ports
    child: subprocess.Popen[bytes] | None = None
    is_wanted: bool = False
    is_paused: bool = False
    # When it was last ready, or had a reason not to be.
    well_at: float = 0.0
    ended_at: float = 0.0
    ended_why: str = ""
    lives: int = 0
    restarts: int = 0
    longest_s: float = 0.0

    def __post_init__(self) -> None:
        self.port = self.ports.take()

    @property
    def store(self) -> Path:
        """Where its stores lie, one a domain."""
        return self.dir / f"store-{self.name}"

    def store_of(self, domain: str) -> Path:
        """Where the store of a domain lies."""
        return self.store / domain

    @property
    def log(self) -> Path:
        """Log file of its present life."""
        return self.dir / f"{self.name}-{self.lives}.log"

    def start(self) -> None:
        """Starts it."""
        self.lives += 1
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(
                self.program.run(self.store, self.port),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "NO_COLOR": "1"},
                # So that a write beyond a limit on files is an error, and no signal.
                restore_signals=False,
            )
        self.is_wanted = True
        self.well_at = time.monotonic()
        self.ended_at = 0.0

    def kill(self) -> None:
        """SIGKILL; the supervisor leaves it alone until `start`."""
        self.is_wanted = False
        self.is_paused = False
        if self.child is not None:
            self.child.kill()
            self.child.wait()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, if it is alive."""
        if self.child is not None and self.child.poll() is None:
            self.child.send_signal(number)
        self.is_paused = number == signal.SIGSTOP

    def stop(self) -> int:
        """SIGTERM; its exit code."""
        self.is_wanted = False
        self.signal(signal.SIGTERM)
        if self.child is None:
            return 0
        try:
            return self.child.wait(180)
        except subprocess.TimeoutExpired as error:
            raise Failure(
                f"{self.name} does not end within 180 s of SIGTERM\n{self.tail()}"
            ) from error

    def page(self, path: str, limit_s: float = 2) -> str | None:
        """Its answer to GET; `None` while it gives none."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=limit_s)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()

    def state(self, domain: str = "") -> dict[str, Any]:
        """State of all domains, or of one, in /readyz; empty while there is no answer."""
        try:
            found = json.loads(self.page("/readyz") or "{}")
        except ValueError:
            return {}
        if not isinstance(found, dict):
            return {}
        return found.get("domains", {}).get(domain, {}) if domain else found

    def leads(self, domain: str) -> bool:
        """Whether it leads a domain and may answer."""
        state = self.state(domain)
        return bool(state.get("ready")) and bool(state.get("state", {}).get("leading"))

    def note_end(self, code: int) -> None:
        """Prints that it ended by itself, and why, unless that is why it ended before."""
        why = self.tail(1)
        if why != self.ended_why:
            print(f"    {self.name} ended by itself, exit code {code}\n      {why}", flush=True)
        self.ended_why = why

    def text(self) -> str:
        """Text that it has logged in its present life."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self, lines: int = 15) -> str:
        """The end of its log."""
        return "\n".join(line[:400] for line in self.text().splitlines()[-lines:])


@dataclass
class Crew:
    """Both processes."""

    members: list[Process]
    # What a person does about a partition that a hanging transaction holds.
    end_hanging: Callable[[str, int], str]
    # While a broker or the registry is gone on purpose, nobody need be ready.
    is_excused: bool = False

    def look(self) -> None:
        """Starts again what ended by itself; fails when one is not ready for too long."""
        now = time.monotonic()
        for process in self.members:
            child = process.child
            if not process.is_wanted or child is None:
                continue
            if process.is_paused or self.is_excused:
                process.well_at = now
                if process.is_paused:
                    continue
            if child.poll() is not None:
                if process.ended_at == 0.0:
                    process.ended_at = now
                    process.restarts += 1
                    process.note_end(child.returncode)
                    if child.returncode < 0 or child.returncode == PANICKED:
                        raise Failure(f"{process.name} crashed: exit code {child.returncode}")
                elif now - process.ended_at >= RESTART_S:
                    since = process.well_at
                    process.start()
                    process.well_at = since
            elif process.state().get("ready"):
                process.well_at = now
            away = now - process.well_at
            process.longest_s = max(process.longest_s, away)
            if away > HANGS_S:
                self._help(process)
            if away > READY_MAX_S:
                raise Failure(
                    f"{process.name} was not ready for {READY_MAX_S:.0f} s "
                    f"(restarted {process.restarts} times); the end of {process.log}:\n"
                    f"{process.tail()}\n/readyz: {process.state()}"
                )

    def _help(self, process: Process) -> None:
        """Does what a process that waits behind a hanging transaction asks for."""
        held = HANGING.search(str(process.state().get("reason", "")))
        if held is not None:
            ended = self.end_hanging(held[1], int(held[2]))
            print(
                f"    {held[1]}[{held[2]}] was held by a hanging transaction: {ended}", flush=True
            )

    def wait(self, seconds: float) -> None:
        """Lets time pass, under supervision."""
        until = time.monotonic() + seconds
        while True:
            self.look()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.25, left))

    def leader(self, domain: str) -> Process | None:
        """Which of them leads a domain; `None` while none does."""
        return next((it for it in self.members if it.leads(domain)), None)

    def wait_for_leader(self, domain: str) -> Process:
        """The leader, once there is one. `look` bounds how long that may take."""
        until = time.monotonic() + 2 * READY_MAX_S
        while time.monotonic() < until:
            self.wait(0.25)
            found = self.leader(domain)
            if found is not None:
                return found
        raise Failure(f"nobody leads {domain}: {[it.state() for it in self.members]}")

    def end(self) -> None:
        """Kills what is left."""
        for process in self.members:
            if process.child is not None and process.child.poll() is None:
                process.signal(signal.SIGCONT)
                process.kill()
