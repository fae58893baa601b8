"""The servers around the installed PanDA: PostgreSQL with its tables, Kafka, Connect with the
operator's own files, and a `yardmaster run` that takes the changes in. All of it on loopback, in
one folder, ended when the proof ends."""

import contextlib
import json
import re
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg2
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "panda-cdc"
DATABASE, OWNER, SECRET = "panda_db", "panda", "panda"
TABLES = (
    "doma_pandameta.sitedata",
    "doma_panda.harvester_worker_stats",
    "doma_panda.jedi_tasks",
    "doma_panda.schedconfig_json",
    "doma_panda.panda_site",
    "doma_panda.panda_ddm_relation",
    "doma_panda.site",
    "doma_panda.ddm_endpoint",
    "doma_panda.global_shares",
    "doma_panda.config",
    "doma_panda.resource_types",
)
JOBS = "panda-cdc.jobs"
# Kept compacted, since intake reads them from their beginning.
CONFIGURATION = TABLES[3:]
WAIT_S = 120.0


def free_port() -> int:
    """A port that nobody has now."""
    with socket.socket() as it:
        it.bind(("127.0.0.1", 0))
        return int(it.getsockname()[1])


def wait(condition: Callable[[], Any], what: Callable[[], str], limit: float = WAIT_S) -> Any:
    """The result of the condition once it gives one."""
    end = time.monotonic() + limit
    while not (found := condition()):
        if time.monotonic() > end:
            raise RuntimeError(f"not within {limit:.0f} s: {what()}")
        time.sleep(0.1)
    return found


def run(*words: object, **more: Any) -> str:
    """The output of a program that must succeed."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **more
    )
    if done.returncode:
        raise RuntimeError(f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


class Stand:
    """The servers; a context that ends them."""

    def __init__(
        self, folder: Path, program: Path, postgres: Path, jars: Path, connect: Path
    ) -> None:
        self.folder, self.program = folder, program
        self.binaries = {"postgres": postgres, "jars": jars, "connect": connect}
        self.port, self.kafka_port, self.http = free_port(), free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{self.kafka_port}"
        self.topology = folder / "topology.toml"
        self.ends = contextlib.ExitStack()

    def __enter__(self) -> "Stand":
        try:
            self._database()
            self._kafka()
        except BaseException:
            self.ends.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.ends.close()

    # --- Servers ---------------------------------------------------------------------------------

    def sql(
        self, user: str = "postgres", password: str = "postgres", database: str = DATABASE
    ) -> Any:
        """A connection that commits each statement."""
        link = psycopg2.connect(
            host="127.0.0.1", port=self.port, user=user, password=password, dbname=database
        )
        link.autocommit = True
        return link

    def _database(self) -> None:
        script = ROOT / "tests" / "panda" / "postgres.sh"
        run(script, "start", self.binaries["postgres"], self.folder / "postgres", self.port)
        self.ends.callback(run, script, "stop", self.folder / "postgres")
        with self.sql(database="postgres").cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {DATABASE}")

    def _kafka(self) -> None:
        script = ROOT / "tests" / "kafka" / "broker.sh"
        run(
            script,
            "start",
            self.binaries["jars"],
            self.folder / "kafka",
            self.kafka_port,
            free_port(),
        )
        self.ends.callback(run, script, "stop", self.folder / "kafka")

    def tables(self) -> None:
        """PanDA's tables, whose owner PanDA's server is."""
        with self.sql() as link, link.cursor() as cursor:
            for path in (
                ROOT / "tests" / "panda" / "schema.sql",
                Path(__file__).parent / "jedi.sql",
            ):
                cursor.execute(path.read_text())
            cursor.execute(
                f"ALTER ROLE {OWNER} LOGIN PASSWORD '{SECRET}'; "
                f"ALTER ROLE {OWNER} SET search_path = doma_panda, public"
            )

    def _sources(self) -> None:
        """The connector makes a topic when a table has its first row, which intake does not wait
        for."""
        kept = {f"panda-cdc.{table}": {"cleanup.policy": "compact"} for table in CONFIGURATION}
        topics = [
            NewTopic(it, 1 if it in kept else 4, 1, config=kept.get(it, {}))
            for it in self.sources()
        ]
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics(topics).values():
            made.result(60)

    def capture(self) -> None:
        """Starts what reads PanDA's tables; they are there by now."""
        self._sources()
        text = (EXAMPLES / "role.sql").read_text().replace(":'password'", f"'{SECRET}'")
        with self.sql() as link, link.cursor() as cursor:
            cursor.execute(text)
        with self.sql(OWNER, SECRET) as link, link.cursor() as cursor:
            cursor.execute((EXAMPLES / "publication.sql").read_text())
        secret = self.folder / "secret.properties"
        secret.write_text(f"password={SECRET}\n")
        script = ROOT / "tests" / "panda" / "connect.sh"
        factors = [
            f"topic.creation.{group}.replication.factor=1" for group in ("default", "configuration")
        ]
        run(
            script,
            "start",
            self.binaries["connect"],
            self.folder / "connect",
            free_port(),
            f"bootstrap.servers={self.bootstrap}",
            "offset.flush.interval.ms=200",
            "--",
            "database.hostname=127.0.0.1",
            f"database.port={self.port}",
            "heartbeat.interval.ms=200",
            f"database.password=${{file:{secret}:password}}",
            *factors,
        )
        self.ends.callback(run, script, "kill", self.folder / "connect")

    def sources(self) -> list[str]:
        """The topics that intake reads."""
        return [JOBS, *(f"panda-cdc.{table}" for table in TABLES)]

    def serve(self, **limits: Any) -> None:
        """Starts Yardmaster: the topology that ships, with PanDA's changes as its sources."""
        text = (ROOT / "topology" / "atlas.toml").read_text()
        # Nothing is written between steps: what intake waits for before it takes a transaction for
        # whole is shorter.
        for old, new in (
            (r"^partitions = [48]$", "partitions = 2"),
            (r"^intake_settle_ms = .*", "intake_settle_ms = 500"),
            (r"^rules = \"documented\"", 'rules = "panda"'),
        ):
            text = re.sub(old, new, text, flags=re.M)
        sources = "".join(
            f'[[intake.source]]\ntopic = "{it}"\ndialect = "panda-cdc"\n' for it in self.sources()
        )
        self.topology.write_text(f"{text}\n[intake]\nin_run = true\n{sources}")
        self.yardmaster("topology", "apply")
        process = subprocess.Popen(
            [
                self.program,
                "run",
                "--bootstrap-server",
                self.bootstrap,
                "--topology",
                self.topology,
                "--store",
                self.folder / "store",
                "--http",
                f"127.0.0.1:{self.http}",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "run.log").open("w"),
        )
        self.ends.callback(process.wait)
        self.ends.callback(process.send_signal, signal.SIGTERM)
        wait(self.leads, lambda: (self.folder / "run.log").read_text()[-3000:])

    def yardmaster(self, *words: str) -> str:
        """A verb of the program."""
        return run(
            self.program, *words, "--bootstrap-server", self.bootstrap, "--topology", self.topology
        )

    def page(self, path: str, **query: str) -> str | None:
        """An answer of the running process; none if it does not."""
        address = f"http://127.0.0.1:{self.http}{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=20) as answer:
                return str(answer.read().decode())
        except OSError:
            return None

    def ask(self, path: str, **query: str) -> Any:
        """The same as a value."""
        return wait(
            lambda: json.loads(self.page(path, **query) or "null"),
            lambda: f"no answer: {path} {query}",
        )

    def leads(self) -> bool:
        page = self.page("/api/v1/status")
        return page is not None and json.loads(page)["leading"]

    # --- Positions -------------------------------------------------------------------------------

    def caught_up(self, cursor: Any) -> None:
        """Waits until all that is committed in the database was captured, read by intake and
        folded: by positions."""
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        (position,) = cursor.fetchone()
        self.mark(cursor, position)

        def captured() -> bool:
            cursor.execute(
                "SELECT confirmed_flush_lsn >= %s::pg_lsn FROM pg_replication_slots", (position,)
            )
            return bool(cursor.fetchone()[0])

        wait(captured, lambda: f"the connector is behind {position}")
        ends = self.ends_of(self.sources())
        wait(lambda: self.read(ends), lambda: f"intake is behind {ends}")

        def settled() -> bool:
            if self.metrics("yardmaster_intake_held_partitions") == [0.0]:
                return True
            # A transaction is over when a commit follows that is a second later.
            time.sleep(1)
            self.mark(cursor, f"{position} and on")
            return False

        wait(settled, lambda: "intake waits for the end of a transaction")
        wait(self.folded, lambda: "records wait to be folded")

    def mark(self, cursor: Any, value: str) -> None:
        """A commit that is captured, of a task that PanDA does not know: the connector notes no
        position without one, and intake sees by a later commit that a transaction is over."""
        cursor.execute(
            "INSERT INTO doma_panda.jedi_tasks "
            "(jeditaskid, status, username, taskname, creationdate, modificationtime) "
            "VALUES (999999999, 'paused', 'proof', %s, now(), now()) ON CONFLICT "
            "(jeditaskid) DO UPDATE SET modificationtime = now(), taskname = EXCLUDED.taskname",
            (value,),
        )

    def ends_of(self, topics: list[str]) -> dict[tuple[str, int], int]:
        """Where the partitions of topics end."""
        reader = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "proof"})
        try:
            found = reader.list_topics(timeout=20).topics
            places = [(topic, number) for topic in topics for number in found[topic].partitions]
            return {
                (topic, number): reader.get_watermark_offsets(
                    TopicPartition(topic, number), timeout=20
                )[1]
                for topic, number in places
            }
        finally:
            reader.close()

    def read(self, ends: dict[tuple[str, int], int]) -> bool:
        """Whether intake has read to these ends; what it has read of compacted topics it does not
        commit."""
        metrics = self.metrics("yardmaster_intake_records_total")
        return sum(metrics) >= sum(ends.values())

    def folded(self) -> bool:
        return sum(self.metrics("yardmaster_lag_records")) == 0

    def metrics(self, name: str) -> list[float]:
        page = self.page("/metrics") or ""
        return [
            float(line.split()[-1]) for line in page.splitlines() if line.startswith(f"{name}{{")
        ]
