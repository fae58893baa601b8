"""Kills, damages and disturbs two processes of Yardmaster on a real Kafka, and recounts it all.

Each process leads or follows three domains: ATLAS, a pool of CMS, NorduGrid. An independent
witness: it knows the product by its binary, its HTTP pages, its topics and the schema files only,
and reads the log with confluent-kafka and fastavro.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import ending
from answers import Matches, Requests, SingleJobs
from cluster import Cluster
from clusters import Clusters
from codec import Codec
from crew import Crew, Process, Program
from domain import ALL, ATLAS, CMS, NORDUGRID
from faults import KINDS, Faults
from grid import write_grid
from kafka import Failure, Ports
from pool import Pool
from registry import Registry
from scene import Scene
from story import Story
from telling import Telling, now
from topologies import write_all
from verdict import Verdict
from writer import Writer

ROOT = Path(__file__).resolve().parents[2]
# Inputs of ATLAS of which a partition lies on one node alone.
REMOTE = ["pilot", "heartbeat"]
# How long requests may stay open while nothing new is read or answered; s.
FINAL_MAX_S = 180.0
MINUTE_S = 60.0


def arguments() -> argparse.Namespace:
    """Arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/debug/yardmaster")
    parser.add_argument("--jars", type=Path, default=ROOT / "target/kafka/jars")
    parser.add_argument("--dir", type=Path, help="where data are kept; a new one by default")
    parser.add_argument("--minutes", type=float, default=4, help="how long faults are inflicted")
    parser.add_argument("--long", action="store_true", help="an hour, and each kind at least once")
    parser.add_argument("--brokers", type=int, choices=(1, 3), default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--scale", type=float, default=0.5, help="how many records a second")
    parser.add_argument("--pause-max", type=float, help="longest SIGSTOP; s")
    parser.add_argument("--only", action="append", choices=KINDS, help="only this kind, repeatable")
    parser.add_argument("--ending", action="append", choices=ending.KINDS, help="repeatable")
    parser.add_argument("--ports", type=int, nargs=2, default=(20_000, 31_999))
    args = parser.parse_args()
    if args.long:
        args.minutes = 60.0
    if args.pause_max is None:
        args.pause_max = 40.0 if args.long else 15.0
    return args


class Run:
    """One story with all that it needs."""

    def __init__(self, args: argparse.Namespace, folder: Path) -> None:
        self.args = args
        self.dir = folder
        self.began = time.monotonic()
        ports = Ports(*args.ports)
        self.cluster = Cluster(args.jars, folder, ports, args.brokers)
        self.registry = Registry(ports)
        self.codecs = {it.name: Codec(ROOT / "schemas", it, self.registry) for it in ALL}
        files = write_all(ROOT / "topology", folder, self.registry.url)
        self.program = Program(args.binary.resolve(), self.cluster.bootstrap, files)
        processes = [Process(name, self.program, folder, ports) for name in ("a", "b")]
        self.crew = Crew(processes, self.cluster.end_hanging)

    def say(self, what: str) -> None:
        """Prints it with the time since the start."""
        print(f"  {time.monotonic() - self.began:.0f} s: {what}", flush=True)

    def whole(self) -> None:
        """All of it; raises `Failure` where it does not end well."""
        writers = self.prepare()
        stories = self.begin(writers)
        scene = self.inflict(writers, stories)
        verdicts = self.settle(scene, stories)
        self.judge(verdicts)
        every = list(ending.KINDS) if self.args.long and self.args.brokers == 3 else []
        for kind in self.args.ending or every or ["topic created again"]:
            self.say(f"at the end: {kind}")
            print(f"    {ending.KINDS[kind](scene)}", flush=True)
        self.say("in all")

    def prepare(self) -> dict[str, Writer]:
        """Brokers, topics, and the facts of the grid."""
        self.cluster.begin()
        self.cluster.settle_internal_topics()
        for domain in ALL:
            code, out, error = self.program.verb(domain.name, "topology", "apply")
            if code != 0:
                raise Failure(f"topology apply: exit code {code}\n{out}{error}")
        self.cluster.complete()
        for topic in REMOTE:
            self.cluster.place_alone(ATLAS.topic(topic))
        writers = {it.name: Writer(self.cluster.bootstrap, self.codecs[it.name]) for it in ALL}
        write_grid(writers[ATLAS.name], now())
        writers[ATLAS.name].flush()
        return writers

    def begin(self, writers: dict[str, Writer]) -> dict[str, Telling]:
        """Both processes, and what they are to see."""
        for process in self.crew.members:
            process.start()
        seed, scale = self.args.seed, self.args.scale
        stories = {
            ATLAS.name: Story(writers[ATLAS.name], seed, scale=scale),
            CMS.name: Pool(writers[CMS.name], seed, jobs_a_second=5 * scale),
            NORDUGRID.name: Clusters(writers[NORDUGRID.name], seed, jobs_a_second=3 * scale),
        }
        for story in stories.values():
            story.start()
        for domain in ALL:
            self.crew.wait_for_leader(domain.name)
        self.say("all domains are led")
        return stories

    def inflict(self, writers: dict[str, Writer], stories: dict[str, Telling]) -> Scene:
        """One fault after the other, until time is over."""
        args, crew = self.args, self.crew
        requests = stories[ATLAS.name].requests
        scene = Scene(
            crew,
            self.cluster,
            self.registry,
            writers,
            stories,
            requests,
            args.seed,
            args.pause_max,
        )
        faults = Faults(scene, args.only or [])
        until = time.monotonic() + args.minutes * MINUTE_S
        while time.monotonic() < until or (args.long and faults.left()):
            faults.inflict()
            for story in stories.values():
                if story.error is not None:
                    raise story.error
        self.say(f"faults: {faults.done}; did not come: {faults.left()}")
        return scene

    def settle(self, scene: Scene, stories: dict[str, Telling]) -> list[Verdict]:
        """Nobody asks any more; waits until everything is read and answered."""
        for domain in ALL:
            self.crew.wait_for_leader(domain.name)
        for story in stories.values():
            story.finish()
        atlas, cms, nordugrid = (stories[it.name] for it in ALL)
        answers: dict[str, Requests | Matches] = {
            ATLAS.name: Requests(atlas.requests.expected, atlas.requests.kinds),
            CMS.name: Matches(cms.expected, cms.kinds),
            NORDUGRID.name: SingleJobs(nordugrid.expected, nordugrid.kinds),
        }
        verdicts = [
            Verdict(self.program, self.crew, self.codecs[name], it, scene.strays[name])
            for name, it in answers.items()
        ]
        for verdict in verdicts:
            verdict.read_inputs()
        self._wait(verdicts, stories)
        for writer in scene.writers.values():
            writer.flush()
        # What was written while stories settled counts, too.
        for verdict in verdicts:
            verdict.read_inputs()
        self._wait(verdicts, {})
        asked = ", ".join(f"{it.domain} {len(it.answers)}" for it in verdicts)
        self.say(f"everything is read and has its answer: {asked}")
        return verdicts

    def _wait(self, verdicts: list[Verdict], stories: dict[str, Telling]) -> None:
        """Until nothing is unread and nothing open; fails when that comes no nearer."""
        fewest, changed = None, time.monotonic()
        while True:
            self.crew.wait(1)
            for story in stories.values():
                story.settle()
            lag, waiting = self._left(verdicts)
            left = (lag, len(waiting), sum(it.unsettled() for it in stories.values()))
            if left == (0, 0, 0):
                return
            if fewest is None or left < fewest:
                fewest, changed = left, time.monotonic()
                if len(waiting) < 10:
                    self.say(f"{lag} records unread, open: {waiting}")
            if time.monotonic() - changed > FINAL_MAX_S:
                states = [f"{it.name}: {it.state()}" for it in self.crew.members]
                shown = "\n".join([*states, *waiting[:25]])
                raise Failure(f"lag {lag}, {left} for {FINAL_MAX_S:.0f} s\n{shown}")

    @staticmethod
    def _left(verdicts: list[Verdict]) -> tuple[int, list[str]]:
        """How many records are unread, and what is open."""
        lag = sum(it.lag() for it in verdicts)
        return lag, [f"{it.domain}: {open}" for it in verdicts for open in it.open()]

    def judge(self, verdicts: list[Verdict]) -> None:
        """Everything that must be so; raises `Failure` with all that is not."""
        for verdict in verdicts:
            verdict.check_counters()
        for process in self.crew.members:
            code = process.stop()
            ended = [] if code == 0 else [f"exit code {code}", *process.tail().splitlines()]
            verdicts[0].demand(f"the end of {process.name} at SIGTERM", ended)
        for verdict in verdicts:
            verdict.check_log()
            verdict.check_verbs()
        for process in self.crew.members:
            self.say(
                f"{process.name}: {process.restarts} restarts by the supervisor, "
                f"not ready for {process.longest_s:.0f} s at most"
            )
        failures = [it for verdict in verdicts for it in verdict.failures]
        if failures:
            raise Failure(f"{len(failures)} checks failed:\n" + "\n".join(failures))

    def close(self) -> None:
        """Ends what it started."""
        self.crew.end()
        self.registry.stop()
        self.cluster.stop()


def main() -> int:
    """Runs, and prints the line that test.sh counts."""
    args = arguments()
    command = f"--seed {args.seed} --minutes {args.minutes:g} --brokers {args.brokers}"
    command += f" --scale {args.scale:g}"
    print(f"killer {command}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = args.dir or Path(tempfile.mkdtemp(prefix="yardmaster-killer-"))
    folder.mkdir(parents=True, exist_ok=True)
    run = Run(args, folder.resolve())
    try:
        run.whole()
    except Exception as failure:
        if not isinstance(failure, Failure):
            traceback.print_exc(file=sys.stdout)
        print(f"FAILED: {failure}")
        print(f"  again with: {command}")
        print(f"  data are kept in {folder}: logs of a and b, stores, the brokers' logs")
        print("test result: FAILED. 0 passed; 1 failed; 0 ignored", flush=True)
        return 1
    finally:
        run.close()
    shutil.rmtree(folder, ignore_errors=True)
    print("test result: ok. 1 passed; 0 failed; 0 ignored", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
