"""Kills, damages and disturbs two processes of Yardmaster on a real Kafka, and recounts it all.

An independent witness: it knows the product by its binary, its HTTP pages, its topics and the
schema files only, and reads the log with confluent-kafka and fastavro.
"""

import argparse
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from codec import Codec
from crew import Crew, Process, Program
from faults import REMOTE, Faults
from grid import write_grid, write_topology
from kafka import Cluster, Failure
from story import Story, now
from verdict import Verdict
from writer import Writer

ROOT = Path(__file__).resolve().parents[2]


def arguments() -> argparse.Namespace:
    """What is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path, default=ROOT / "target/debug/yardmaster")
    parser.add_argument("--jars", type=Path, default=ROOT / "target/kafka/jars")
    parser.add_argument("--dir", type=Path, help="where data are kept; a new one by default")
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--scale", type=float, default=1.0, help="how many records a second")
    parser.add_argument("--pause-max", type=float, default=40.0, help="longest SIGSTOP; s")
    parser.add_argument("--only", action="append", help="only faults of this name, repeatable")
    parser.add_argument("--all", action="store_true", help="also what NOT_YET leaves out")
    return parser.parse_args()


def prepare(args: argparse.Namespace, cluster: Cluster, codec: Codec) -> tuple[Program, Writer]:
    """Brokers, topics, and the facts of the grid."""
    cluster.start(1)
    cluster.settle_internal_topics()
    topology = cluster.dir / "topology.toml"
    write_topology(ROOT / "topology" / "atlas.toml", topology)
    program = Program(args.binary.resolve(), cluster.bootstrap, topology)
    code, out, error = program.verb("topology", "apply")
    if code != 0:
        raise Failure(f"topology apply: exit code {code}\n{out}{error}")
    cluster.start(2)
    for topic in REMOTE:
        cluster.add_partition(f"yardmaster.{topic}", 2)
    writer = Writer(cluster.bootstrap, codec)
    write_grid(writer, now())
    writer.flush()
    return program, writer


def run(args: argparse.Namespace, cluster: Cluster) -> None:
    """The whole story; raises `Failure` where it does not end well."""
    began = time.monotonic()
    codec = Codec(ROOT / "schemas")
    program, writer = prepare(args, cluster, codec)
    crew = Crew([Process(name, program, cluster.dir) for name in ("a", "b")])
    try:
        for process in crew.members:
            process.start()
        story = Story(writer, cluster.bootstrap, args.seed, args.scale)
        if args.all:
            story.requests.not_yet = ()
        story.start()
        crew.wait_for_leader()
        print(f"  {time.monotonic() - began:.0f} s until the first leader", flush=True)
        faults = Faults(crew, cluster, writer, story.requests, args.seed, args.pause_max)
        if args.all or args.only:
            faults.not_yet = ()
        if args.only:
            faults.kinds = {kind: faults.kinds[kind] for kind in args.only}
        for _ in range(args.faults):
            faults.inflict()
            if story.error is not None:
                raise story.error
        print(f"  {time.monotonic() - began:.0f} s; faults: {faults.done}", flush=True)
        crew.wait_for_leader()
        story.finish()
        verdict = Verdict(program, crew, codec, story, faults.strays)
        verdict.wait_until_final()
        verdict.check_counters()
        for process in crew.members:
            code = process.stop()
            ended = [] if code == 0 else [f"exit code {code}", *process.tail().splitlines()]
            verdict.demand(f"the end of {process.name} at SIGTERM", ended)
        verdict.check_log()
        verdict.check_verbs()
        verdict.judge()
        for process in crew.members:
            print(
                f"  {process.name}: {process.restarts} restarts by the supervisor, "
                f"not ready for {process.longest_s:.0f} s at most"
            )
        print(f"  {time.monotonic() - began:.0f} s in all")
    finally:
        crew.end()


def main() -> int:
    """Runs, and prints the line that test.sh counts."""
    args = arguments()
    command = f"--seed {args.seed} --faults {args.faults} --scale {args.scale}"
    print(f"killer {command}", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = args.dir or Path(tempfile.mkdtemp(prefix="yardmaster-killer-"))
    folder.mkdir(parents=True, exist_ok=True)
    cluster = Cluster(args.jars, folder.resolve())
    try:
        run(args, cluster)
    except Failure as failure:
        print(f"FAILED: {failure}")
        print(f"  again with: {command}")
        print(f"  data are kept in {folder}: logs a.log and b.log, stores, the brokers' logs")
        print("test result: FAILED. 0 passed; 1 failed; 0 ignored", flush=True)
        return 1
    finally:
        cluster.stop()
    shutil.rmtree(folder, ignore_errors=True)
    print("test result: ok. 1 passed; 0 failed; 0 ignored", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
