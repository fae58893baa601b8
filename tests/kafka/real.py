"""What tests with real servers have in common: a Kafka, the program beside it, and what is on its
topics."""

import contextlib
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from yardmaster_client.codec import codec

REPOSITORY = Path(__file__).resolve().parents[2]


def wait_for(what: str, condition: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Waits until something holds, and gives what it gave; AssertionError if it never does."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"after {seconds:.0f} s not: {what}"
        time.sleep(0.5)
    return found


def end(process: "subprocess.Popen[Any] | None", number: int = signal.SIGTERM) -> None:
    """Ends a process of ours, and waits for it."""
    if process is None or process.poll() is not None:
        return
    process.send_signal(number)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)


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
    """Yardmaster, of one topology."""

    def __init__(self, folder: Path, binary: str, bootstrap: str, topology: str) -> None:
        self.folder, self.binary, self.bootstrap = folder, binary, bootstrap
        self.topology = topology
        self.process: subprocess.Popen[bytes] | None = None

    def place(self) -> list[str]:
        """Words that name topology and Kafka."""
        return ["--bootstrap-server", self.bootstrap, "--topology", self.topology]

    def verb(self, *words: str, seconds: float = 60.0, code: int = 0) -> str:
        """Runs a verb to its end, which has this exit code; what it printed."""
        done = subprocess.run(
            [self.binary, *words, *self.place()], capture_output=True, text=True, timeout=seconds
        )
        assert done.returncode == code, f"{words}: {done.stdout}{done.stderr}"
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
        end(self.process)


class Topic:
    """Records of a topic, DOMAIN.WORD, since it is read."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._word = topic.partition(".")[2]
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "a-test",
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 20,
            }
        )
        self._name = f"yardmaster.{topic}"
        parts = self._consumer.list_topics(self._name, 10).topics[self._name].partitions
        self._next = dict.fromkeys(parts, 0)
        self._records: list[dict[str, Any]] = []
        self._newest: dict[str, dict[str, Any]] = {}

    def records(self) -> list[dict[str, Any]]:
        """All records that are there."""
        # Kafka says anew where each partition ends.
        self._consumer.assign([TopicPartition(self._name, *it) for it in self._next.items()])
        unread, until = set(self._next), time.monotonic() + 20
        while unread:
            found: list[Any] = self._consumer.consume(1000, 0.05)
            for message in found:
                error = message.error()
                if error is None:
                    self._next[message.partition()] = message.offset() + 1
                    with contextlib.suppress(ValueError):
                        self._take(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    unread.discard(message.partition())
            # Kafka may be away: what is known so far.
            if time.monotonic() > until:
                break
        return self._records

    def _take(self, message: Any) -> None:
        key, value = (message.key() or b"").decode(), message.value()
        if value is None:
            self._newest.pop(key, None)
            return
        record = codec(self._word).decode(value)
        self._records.append(record)
        self._newest[key] = record

    def newest(self) -> dict[str, dict[str, Any]]:
        """The newest record of each key."""
        self.records()
        return self._newest

    def close(self) -> None:
        """Ends what reads it, which complains of a Kafka that has ended."""
        self._consumer.close()
