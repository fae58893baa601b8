"""How long one call of a broker takes, PanDA's own and ours in lead, in worlds of some sizes.

PanDA's brokers are unmodified and run under PanDA's factories; so do ours, which ask a running
Yardmaster. The stubs of the task buffer and of Rucio answer at once: the time of SQL and of Rucio
is in no figure. Writing of PanDA's logs is in all. A call is what JEDI does for a chunk (or for one
task without nucleus): the factory makes the broker, the broker decides.

    PYTHONPATH=src:../python/src python tests/bench_brokers.py [--calls 30] [--queues 20,100,300]

Without YARDMASTER_TEST_BINARY and YARDMASTER_TEST_KAFKA (see test.sh) only PanDA's are measured.
CPU time is that of this process with all its threads, so Yardmaster's own is in no figure.
Yardmaster's reservations stay: later calls find the queues with data fuller than PanDA's do, so
in a small world its candidates become others than PanDA's.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import conftest  # noqa: F401  Gives PanDA a configuration, before any of it is imported.
import world
import yard
from pandajedi.jediconfig import jedi_config
from pandajedi.jedicore import Interaction
from pandajedi.jediorder.JobBroker import JobBroker
from pandajedi.jediorder.TaskBroker import TaskBroker
from pandaserver.taskbuffer.NucleusSpec import NucleusSpec
from rucio_stub import QUEUES, DdmInterface, FakeRucio, use_fake_rucio
from test_end_to_end import BINARY, KAFKA, Real
from test_task_broker import WORK_QUEUE, inputs

FILES = 20
"""Of a chunk."""

RUNNING = 8000
"""Jobs that run, at all queues together."""

COPIES = 10
"""One site in so many has the whole dataset, beside the sites of `world`."""

_, ANALYSIS, NUCLEUS = KINDS = ("production jobs", "analysis jobs", "nucleus")

OF_PANDA = {"getJobStatisticsByGlobalShare", "getBackloggedNuclei"}
"""Calls of the task buffer that PanDA's brokers make when they decide, and ours never."""

_brokerage = "pandajedi.jedibrokerage"
PANDA_JOBS = (
    f"atlas:any:{_brokerage}.AtlasProdJobBroker:AtlasProdJobBroker,"
    f"atlas:user:{_brokerage}.AtlasAnalJobBroker:AtlasAnalJobBroker"
)
PANDA_TASKS = f"atlas:any:{_brokerage}.AtlasProdTaskBroker:AtlasProdTaskBroker"


def grow(queues: int) -> None:
    """Makes `world` and `yard` a grid of so many queues, each at a site of its own."""
    for number in range(len(QUEUES), queues):
        QUEUES[f"SYNTH_{number:03}"] = f"SITE_{number:03}"
    yard.RUNNING = max(1, RUNNING // queues)
    running = {q: {"MC Default evgensimul": {"running": yard.RUNNING}} for q in QUEUES}
    world.ANSWERS |= {
        "getJobStatisticsByGlobalShare": (True, running),
        "getJobStatisticsWithWorkQueue_JEDI": (True, running),
        "getCurrentSiteData": {queue: {"getJob": 5, "updateJob": 50} for queue in QUEUES},
        "getPandaSiteToOutputStorageSiteMapping": {q: {"default": s} for q, s in QUEUES.items()},
        "getUsersJobsStats_JEDI": {queue: {} for queue in QUEUES},
    }


def task_buffer() -> world.TaskBuffer:
    """All sites but GAMMA_SITE are nuclei, as in `yard`."""
    made = world.TaskBuffer()
    for queue, site in QUEUES.items():
        if site in made.mapper.nuclei or queue == "SYNTH_GAMMA":
            continue
        spec = made.mapper.siteSpecList[queue]
        nucleus = NucleusSpec(site)
        nucleus.add(queue, spec.ddm_endpoints_output, spec.ddm_endpoints_input)
        nucleus.state = "ACTIVE"
        nucleus.set_default_endpoint_out(f"{site}_DATADISK")
        made.mapper.nuclei[site] = nucleus
    made.mapper.make_endpoint_to_sites_map()
    return made


def spread() -> None:
    """Copies of what the stub of Rucio knows."""
    disks = [f"{site}_DATADISK" for site in list(QUEUES.values())[3::COPIES]]
    for known in FakeRucio.datasets.values():
        known["replicas"] |= dict.fromkeys(disks, known["length"])
    for lfn, found in FakeRucio.files.items():
        FakeRucio.files[lfn] = [*found, *(disk for disk in disks if disk not in found)]


def job_call(grid: Any, task: int, label: str) -> Callable[[], int]:
    """A call for a chunk that is ready; the call gives the number of candidates."""
    chunk = world.chunk_of(task, label, FILES)
    spread()

    def call() -> int:
        factory = JobBroker("atlas", label)
        assert factory.initializeMods(grid.ddm, grid.task_buffer)
        made = factory.getImpl("atlas", label)
        made.setLiveCounter(None)
        made.setLockID(1, 2)
        made.set_task_common_dict({})
        status, filled = factory.doBrokerage(chunk.taskSpec, "WORLD", chunk, None)
        assert status == Interaction.SC_SUCCEEDED, chunk.taskSpec.errorDialog
        return len(filled.siteCandidates)

    return call


def task_call(grid: Any, task: int) -> Callable[[], int]:
    """A call for a task without nucleus; the call gives the number of tasks that have one then."""
    tasks = inputs(task)
    spread()

    def call() -> int:
        factory = TaskBroker(None, grid.task_buffer, grid.ddm, "atlas", "managed")
        assert factory.initializeMods(grid.task_buffer, grid.ddm)
        made = factory.getImpl("atlas", "managed")
        status = made.doBrokerage(tasks, "atlas", "managed", WORK_QUEUE, "MCORE")
        assert status == Interaction.SC_SUCCEEDED
        assert task in grid.task_buffer.nuclei, "no nucleus"
        return 1

    return call


def prepared(grid: Any, kind: str, task: int) -> Callable[[], int]:
    use_fake_rucio()
    if kind == NUCLEUS:
        return task_call(grid, task)
    return job_call(grid, task, "user" if kind == ANALYSIS else "managed")


def measure(who: str, grid: Any, calls: int) -> None:
    """Prints a row for each kind of broker. The first call of each is not counted."""
    for position, kind in enumerate(KINDS):
        wall, cpu, found = [], [], []
        for number in range(calls + 1):
            call = prepared(grid, kind, 1000 * (position + 1) + number)
            began, busy = time.perf_counter(), time.process_time()
            found.append(call())
            cpu.append((time.process_time() - busy) * 1000)
            wall.append((time.perf_counter() - began) * 1000)
        wall, cpu = sorted(wall[1:]), sorted(cpu[1:])
        p95 = wall[int(len(wall) * 0.95)]
        print(
            f"{len(QUEUES):>6} | {who:<10} | {kind:<15} | {statistics.median(wall):>9.1f} | "
            f"{p95:>9.1f} | {statistics.median(cpu):>8.1f} | {statistics.median(found):>10.0f}",
            flush=True,
        )


@contextmanager
def panda_alone() -> Iterator[None]:
    """PanDA's own classes in `panda_jedi.cfg`."""
    before = jedi_config.jobbroker.modConfig, jedi_config.taskbroker.modConfig
    jedi_config.jobbroker.modConfig, jedi_config.taskbroker.modConfig = PANDA_JOBS, PANDA_TASKS
    try:
        yield
    finally:
        jedi_config.jobbroker.modConfig, jedi_config.taskbroker.modConfig = before


def lead(folder: Path, calls: int) -> None:
    """Ours, which ask a running Yardmaster. Where PanDA's broker had to decide, this fails."""
    grid = Real(folder, KAFKA, task_buffer=task_buffer())
    try:
        grid.configure(domain=grid.prefix, answer_s=120)
        for position, kind in enumerate(KINDS):  # waits until Yardmaster has the lead
            prepared(grid, kind, 100 + position)()
        # The last, for a nucleus: all are judged, and those without a copy are rejected.
        rejected = sum(it["rejected"] for it in grid.decision_of("102")["counts"])
        least = len(QUEUES) - len(QUEUES) // COPIES - 4
        assert rejected >= least, f"Yardmaster knows {rejected} nuclei without data, not {least}"
        grid.task_buffer.calls.clear()
        measure("Yardmaster", grid, calls)
        assert not OF_PANDA & set(grid.task_buffer.calls), "PanDA's broker decided"
    finally:
        grid.close()


def one_world(queues: int, calls: int) -> None:
    grow(queues)
    with panda_alone():
        grid = SimpleNamespace(task_buffer=task_buffer(), ddm=DdmInterface())
        measure("PanDA", grid, calls)
        assert set(grid.task_buffer.calls) >= OF_PANDA
    if BINARY and KAFKA:
        with tempfile.TemporaryDirectory() as folder:
            lead(Path(folder), calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--calls", type=int, default=30, help="calls that are counted of each")
    parser.add_argument("--queues", default="20,100,300", help="sizes of worlds")
    given = parser.parse_args()
    sizes = [int(it) for it in given.queues.split(",")]
    if len(sizes) == 1:
        one_world(sizes[0], given.calls)
        return
    print(
        f"queues | {'who':<10} | {'for':<15} | wall, p50 | wall, p95 | CPU, p50 | candidates\n"
        f"       | {'':<10} | {'':<15} |        ms |        ms |       ms |        p50",
        flush=True,
    )
    for size in sizes:  # each in a process of its own: PanDA remembers much in its modules
        again = [sys.executable, __file__, "--calls", str(given.calls), "--queues", str(size)]
        subprocess.run(again, check=True)


if __name__ == "__main__":
    main()
