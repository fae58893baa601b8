#!/usr/bin/env python3
"""Proves `import arc` and `submit --wait` on real clusters of ARC, with a real Kafka.

  run.py --jars DIR --binary PATH --root DIR [--port 29818] [PART...]

A part is the name of a function below without its `part_`; `client` and `fetched` prove the
clusters alone, by ARC's own client. Exit code 77: clusters cannot be had here. Conditions are
waited for, never times.
"""

import argparse
import concurrent.futures
import json
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clusters import (
    CLUSTERS,
    NODE_MEMORY_MB,
    NOT_HERE,
    TOKEN_USER,
    TOTAL_SLOTS,
    Cluster,
    Clusters,
    NoClustersError,
    archery,
    with_names,
)
from real import Broker, Topic, Yard, end, wait_for
from servers import HOST, Files, Names

INDEX = "index.example.org"
SERVER = f"http://{HOST}:8080"
FAR, NEAR = "/far/data.txt", "/near/"
FILES = {FAR: b"one two three four\n", NEAR: b"from close by\n"}
JOB_S = 120.0
"""Until a job must have ended that waits for nothing, on a machine on which much goes on."""

CE_A, CE_B, CE_C = CLUSTERS

WORDS = {
    "count.sh": "#!/bin/sh\nwc -w < $1 > result.txt\necho counted\n",
    "words.txt": "one two three\n",
}
UPLOAD = """&(executable=count.sh)(arguments=words.txt)(inputfiles=(words.txt ""))
(stdout=out.txt)(outputfiles=(result.txt ""))(cputime=10)(memory=100)"""

URL = f"""&(executable=/bin/sh)(arguments=-c "wc -w < data.txt")
(inputfiles=(data.txt {SERVER}{FAR}))(stdout=out.txt)(cputime=10)"""

ENVIRONMENT = """&(executable=/bin/sh)(arguments=-c "echo $RUN_IN")
(runtimeenvironment>=APPS/GREETING-1.3)(stdout=out.txt)(cputime=10)"""


def near(name: str, command: str) -> str:
    """A job that wants much memory, which two queues have, and a file that is close to ce-a, and in
    nobody's cache, since each job has its own."""
    return f"""&(executable=/bin/sh)(arguments=-c "{command}")
(inputfiles=(data.txt {SERVER}{NEAR}{name}))(memory=8000)(stdout=out.txt)(cputime=10)"""


READ = "cat data.txt"
JOBS = {
    "upload": UPLOAD,
    "url": URL,
    "environment": ENVIRONMENT,
    "token": UPLOAD,
    "refused": near("refused", READ),
    "survivor": near("survivor", f"sleep 12; {READ}"),
    "elsewhere": near("elsewhere", READ),
    "avoids": near("avoids", READ),
    "failing": near("failing", "exit 3"),
    "cancelled": near("cancelled", "sleep 600"),
}
USER = {"refused": "bob", "token": TOKEN_USER}
"""Who submits a job; Ann without an entry."""


class Place:
    """Everything that runs."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.number = int(time.time()) % 10_000_000
        self.clusters = Clusters(Path(options.root))
        self.names, self.files = Names(archery()), Files(8080, FILES)
        self.broker: Broker | None = None
        self._yard: Yard | None = None
        self.jobs: dict[str, Submission] = {}
        self._topics: dict[str, Topic] = {}
        self._is_imported = False
        try:
            begun = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor() as pool:
                started = pool.submit(self.clusters.start)
                self.broker = Broker(Path(options.jars), folder / "kafka", options.port)
                started.result()
            self.figure("versions", ", ".join(self.clusters.versions.split("\n")).strip(", "))
            self.figure("three clusters and Kafka are up after", seconds(begun))
        except BaseException:
            self.close()
            raise

    @property
    def yard(self) -> Yard:
        """Yardmaster, which runs."""
        assert self.broker is not None
        if self._yard is None:
            yard = Yard(self.folder, self.options.binary, self.broker.address, "nordugrid")
            yard.verb("topology", "apply")
            yard.start()
            self._yard = yard
        return self._yard

    def imported(self, all_answer: bool = True) -> None:
        """All that the clusters publish now is imported."""
        ca = str(self.clusters.ca / "ca.pem")
        words = ("--archery", INDEX, "--dns", self.names.address, "--ca", ca, "--prune")
        self.yard.verb("import", "arc", *words, code=0 if all_answer else 1)
        self._is_imported = True

    def answers_wholly(self) -> bool:
        """Imports, and says whether every cluster answers by all its interfaces."""
        # What is published while nobody reads for LDAP is lost.
        self.clusters.publish()
        try:
            self.imported()
        except AssertionError:
            return False
        return True

    def newest(self, word: str) -> dict[str, dict[str, Any]]:
        """The newest records of a topic, by key."""
        return self.topic(word).newest()

    def topic(self, word: str) -> Topic:
        """A topic of the domain."""
        assert self.broker is not None
        if word not in self._topics:
            self._topics[word] = Topic(self.broker.address, f"nordugrid.{word}")
        return self._topics[word]

    def begin(self, *names: str) -> None:
        """Submits these jobs, but for those that were, and follows them."""
        if not self._is_imported:
            self.imported()
        names = tuple(name for name in names if name not in self.jobs)
        close_by = [name for name in names if NEAR + name in JOBS[name]]
        if close_by:
            self._lie_near(close_by)
        for name in names:
            self.jobs[name] = Submission(self, name)

    def job(self, name: str) -> "Submission":
        """A job that was submitted, or is now."""
        self.begin(name)
        return self.jobs[name]

    def _lie_near(self, names: list[str]) -> None:
        size = len(FILES[NEAR])
        copy = {"endpoint": CE_A.near[0], "files": 1, "bytes": size}
        records = [
            {"name": f"{SERVER}{NEAR}{name}", "bytes": size, "files": 1, "locations": [copy]}
            for name in names
        ]
        file = self.folder / "replica.json"
        file.write_text(json.dumps(records))
        self.yard.verb("publish", "replica", "--json", str(file))

    def figure(self, name: str, value: Any) -> None:
        """Prints a figure."""
        print(f"  {name}: {value}", flush=True)

    def close(self) -> None:
        """Ends all that was started."""
        for it in self.jobs.values():
            end(it.process)
        for topic in self._topics.values():
            topic.close()
        if self._yard is not None:
            self._yard.stop()
        if self.broker is not None:
            self.broker.stop()
        self.clusters.stop()


class Submission:
    """`submit --wait` of one job."""

    def __init__(self, place: Place, name: str) -> None:
        self.place, user = place, USER.get(name, "ann")
        self.name = f"{name}-{place.number}"
        self.folder = place.folder / name
        self.outputs = self.folder / "outputs"
        self.outputs.mkdir(parents=True)
        (self.folder / "job.xrsl").write_text(JOBS[name])
        for upload, content in WORDS.items():
            (self.folder / upload).write_text(content)
        self.begun = time.time()
        flag, file = place.clusters.pass_of(user)
        words = {
            "--xrsl": self.folder / "job.xrsl",
            "--user": place.clusters.name_of(user),
            "--job-id": self.name,
            "--index-server": INDEX,
            flag: file,
            "--ca": place.clusters.ca / "ca.pem",
            "--get": self.outputs,
        }
        command = [place.options.binary, "submit", "--wait", *place.yard.place()]
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            self.process = subprocess.Popen(
                [*command, *(str(word) for pair in words.items() for word in pair)],
                stdout=out,
                stderr=err,
            )

    def ended(self) -> "Submission":
        """Waits for its end."""
        self.process.wait(JOB_S)
        return self

    def said(self) -> str:
        """All that it printed."""
        return (self.folder / "out").read_text() + (self.folder / "err").read_text()

    def output(self, name: str) -> str:
        """An output that it fetched, without the end of its last line."""
        found = list(self.outputs.rglob(name))
        assert len(found) == 1, f"{self.name}: {name} is not among its outputs: {self.said()}"
        return found[0].read_text().strip()

    def state(self) -> dict[str, Any]:
        """Its newest record, by its name here; empty without any."""
        return self.place.newest("job-state").get(self.name, {})

    def runs(self) -> bool:
        """Whether it runs, as its newest record says."""
        return self.state().get("status") == "running"

    def targets(self) -> list[tuple[str, str]]:
        """The targets that it was assigned, in their order, each with what became of it."""
        decisions = list(self.place.topic("decision").records())
        mine = sorted(
            (it for it in decisions if it["subject"] == self.name and it["outcome"] == "assign"),
            key=lambda it: int(it["attempt"]),
        )
        kinds = {it["decision"]: it["kind"] for it in self.place.topic("outcome").records()}
        return [(it["ranked"][0]["queue"], kinds.get(it["id"], "")) for it in mine]

    def accepted_after_s(self) -> float:
        """From submit until a cluster had taken it."""
        outcomes = self.place.topic("outcome").records()
        at = [it for it in outcomes if it["subject"] == self.name and it["kind"] == "accepted"]
        return float(at[0]["at"].timestamp()) - self.begun

    def check(self, *targets: tuple[str, str]) -> None:
        """It ended well, at the last of these targets, and its record says so."""
        assert self.process.returncode == 0, f"{self.name}: {self.said()}"
        assert self.targets() == list(targets), f"{self.name}: {self.targets()}"
        state = self.state()
        stated = (state["queue"], state["status"], state["sub_status"])
        assert stated == (targets[-1][0], "finished", "FINISHED"), state
        assert state["cluster_job"] and state["cluster_job"] in self.said(), self.said()


def seconds(begun: float) -> str:
    """How long it is since."""
    return f"{time.monotonic() - begun:.1f} s"


def queue(cluster: Cluster, name: str) -> str:
    """A target's name."""
    return f"{cluster.host}/{name}"


def compare(what: str, found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    """Fields that are not as they should be."""
    return [
        f"{what}: {name} is {found[name]!r}, not {value!r}"
        for name, value in wanted.items()
        if found[name] != value
    ]


# --- Parts ----------------------------------------------------------------------------------------


def part_import(place: Place) -> None:
    """What is imported is what the clusters are configured as."""
    begun = time.monotonic()
    place.imported()
    place.figure("import arc, by ARCHERY, of three clusters", seconds(begun))
    wrong: list[str] = []
    sites, queues = place.newest("site"), place.newest("queue")
    shares, registered = place.newest("user-share"), place.newest("registration")
    assert set(sites) == {it.host for it in CLUSTERS}, sorted(sites)
    assert set(queues) == {queue(it, name) for it in CLUSTERS for name in it.queues}, sorted(queues)
    for it in CLUSTERS:
        wrong += compare(it.host, sites[it.host]["cluster"], site_facts(it))
        for name, limits in it.queues.items():
            target = queue(it, name)
            stated = {
                "status": "active",
                "max_memory_mb": limits.max_memory_mb,
                "max_cpu_time_s": limits.max_time_s,
                "max_wall_time_s": limits.max_wall_time_s,
            }
            wrong += compare(target, queues[target]["batch"], stated)
            wrong += share_wrong(target, shares[f"{target} *"], it)
    valid = {it["child"] for it in registered.values() if it["status"] == "valid"}
    computing = {it["child"] for it in registered.values() if it["kind"] == "computing"}
    if {it.host for it in CLUSTERS} - valid or computing - {it.host for it in CLUSTERS}:
        wrong.append(f"registered: {sorted(registered)}")
    wrong += [f"{child} is valid" for child in valid if "gone" in child]
    assert not wrong, "; ".join(wrong)
    count = len(sites) + len(queues) + len(shares) + len(registered)
    place.figure("records of clusters, queues, shares and registrations", count)


def site_facts(of: Cluster) -> dict[str, Any]:
    """What the record of a cluster must say."""
    return {
        "answered": True,
        "alias": of.alias,
        "total_slots": TOTAL_SLOTS,
        # REST has the memory of queues alone.
        "node_memory_mb": NODE_MEMORY_MB if of.ldap_port else None,
        "architecture": platform.machine(),
        "runtime_environments": of.environments,
        "outbound": of.outbound,
        "inbound": False,
        "local_storage": of.near,
        "submission_url": of.url,
    }


def share_wrong(target: str, share: dict[str, Any], of: Cluster) -> list[str]:
    """What is not as it should be in what a queue has for all users."""
    wrong = compare(target, share, {"authorised": True})
    if not share["free_slots"].startswith(str(TOTAL_SLOTS)):
        wrong.append(f"{target}: free are {share['free_slots']}")
    # REST rounds up to whole GiB, jobs that were there have left some kB.
    rounded, free = 1 << 30, share["disk_free_bytes"]
    if not (of.disk_mb << 20) - (64 << 20) <= free <= (of.disk_mb << 20) + rounded:
        wrong.append(f"{target}: disk free is {free}")
    return wrong


def part_client(place: Place) -> None:
    """ARC's own client gives a job to each cluster, beside ours."""
    begun, home = time.monotonic(), place.clusters.home("bob")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for name, content in {**WORDS, "job.xrsl": UPLOAD}.items():
        (home / name).write_text(content)
    for it in CLUSTERS:
        place.clusters.client("bob", "arcsub", "-T", "arcrest", "-C", f"{it.host}:8443", "job.xrsl")
    place.figure("three jobs are taken after", seconds(begun))


def part_submit(place: Place) -> None:
    """Three descriptions: with an upload, with a file from a URL, with a runtime environment; and
    one of a user with a token instead of a proxy."""
    begun = time.monotonic()
    names = ("upload", "url", "environment", "token")
    place.begin(*names)
    # Those of other parts meanwhile wait for the same scripts.
    place.begin("refused", "failing", "cancelled")
    upload, url, environment, token = (place.job(it).ended() for it in names)
    place.figure("all have ended after", seconds(begun))
    for it in (upload, url, environment, token):
        # A draw may fall on the queue that refuses all but Ann.
        it.check(*it.targets())
        place.figure(
            f"{it.name} at {it.state()['queue']}, taken after", f"{it.accepted_after_s():.1f} s"
        )
    for it in (upload, token):
        assert (it.output("result.txt"), it.output("out.txt")) == ("3", "counted")
    assert url.output("out.txt") == "4"
    assert f"GET {FAR}" in place.files.asked
    assert environment.output("out.txt") == "APPS/GREETING-1.4"
    environment.check((queue(CE_B, "main"), "accepted"))


def part_refusal(place: Place) -> None:
    """A queue refuses a user, which nothing that is published tells: the next target takes the
    job."""
    job = place.job("refused").ended()
    job.check((queue(CE_A, "long"), "refused"), (queue(CE_C, "long"), "accepted"))
    assert job.output("out.txt") == "from close by"
    outcomes = place.topic("outcome").records()
    (reason,) = (
        it["reason"] for it in outcomes if it["subject"] == job.name and it["kind"] == "refused"
    )
    place.figure(f"taken elsewhere than {reason!r}", f"{job.accepted_after_s():.1f} s after submit")


def part_killed(place: Place) -> None:
    """A cluster is killed: its job lives on, others go elsewhere, and it is known to be silent."""
    wait_for("it runs", place.job("survivor").runs, JOB_S)
    place.clusters.script("kill", CE_A.name)
    killed = time.monotonic()
    elsewhere = place.job("elsewhere")
    wait_for("it is taken elsewhere", lambda: len(elsewhere.targets()) > 1, JOB_S)
    place.imported(all_answer=False)
    answered = {name: it["cluster"]["answered"] for name, it in place.newest("site").items()}
    assert answered == {it.host: it is not CE_A for it in CLUSTERS}, answered
    wait_for("it is assigned", place.job("avoids").targets, JOB_S)
    place.clusters.script("restart", CE_A.name)
    place.figure("killed and up again after", seconds(killed))
    wait_for("its LDAP answers, too", place.answers_wholly, JOB_S)
    assert place.newest("site")[CE_A.host]["cluster"]["answered"]
    survivor, elsewhere, avoids = (
        place.job(it).ended() for it in ("survivor", "elsewhere", "avoids")
    )
    elsewhere.check((queue(CE_A, "long"), "failed"), (queue(CE_C, "long"), "accepted"))
    avoids.check((queue(CE_C, "long"), "accepted"))
    survivor.check((queue(CE_A, "long"), "accepted"))
    assert survivor.output("out.txt") == "from close by"
    place.figure("taken by the next target", f"{elsewhere.accepted_after_s():.1f} s after submit")


STATUS_OF = {"FINISHED": ("finished",), "FAILED": ("failed",), "KILLED": ("cancelled", "failed")}
"""REST calls a cancelled job FAILED, LDAP KILLED: a submitter who looks no further says failed."""


def part_ends(place: Place) -> None:
    """Jobs end in three ways, and the newest states say for every job what A-REX says."""
    place.begin("failing", "cancelled")
    failing, cancelled = place.job("failing"), place.job("cancelled")
    wait_for("it runs", cancelled.runs, JOB_S)
    job, target = cancelled.state()["cluster_job"], cancelled.state()["queue"]
    (cluster,) = (it for it in CLUSTERS if target.startswith(it.host))
    place.clusters.cancel(cluster, "ann", job)
    for it in place.jobs.values():
        it.ended()
    assert failing.process.returncode != 0 != cancelled.process.returncode
    assert failing.state()["status"] == "failed" and cancelled.state()["status"] != "finished"
    place.clusters.publish()
    place.imported()
    known = list(place.newest("job-state").values())
    words = {(it.host, *found) for it in CLUSTERS for found in place.clusters.states(it).items()}
    wrong = [
        f"{job} at {host} is {it['status']}, {it['sub_status']}; A-REX says {word}"
        for host, job, word in words
        for it in known
        if it["queue"].startswith(f"{host}/") and job in (it["cluster_job"], it["job"])
        # Of somebody else's jobs only those are published that take room.
        if it["status"] not in (*STATUS_OF[word], "closed")
    ]
    assert not wrong, wrong
    ours = {it.state()["cluster_job"] for it in place.jobs.values()}
    assert ours <= {job for _, job, _ in words}, ours
    counts = Counter(word for _, _, word in words)
    assert (counts["FAILED"], counts["KILLED"]) == (1, 1), counts
    place.figure("A-REX's own words, as the newest states", dict(counts))


def part_fetched(place: Place) -> None:
    """ARC's own client finds its jobs ended, and fetches what they wrote."""

    def all_ended() -> bool:
        words = [word for it in CLUSTERS for word in place.clusters.states(it).values()]
        return len(words) >= len(CLUSTERS) and set(words) <= set(STATUS_OF)

    wait_for("all jobs have ended", all_ended, JOB_S)
    # The client believes what the information providers wrote last.
    place.clusters.publish()
    place.clusters.client("bob", "arcget", "--all", "--keep")
    home = place.clusters.home("bob")
    results = [file.read_text().strip() for file in home.glob("*/result.txt")]
    assert results == ["3", "3", "3"], results


def part_once(place: Place) -> None:
    """A job that several take up at once runs once, as A-REX has it."""
    place.imported()
    name, file = f"once-{place.number}", place.folder / "once.xrsl"
    file.write_text("&(executable=/bin/sh)(arguments=-c true)(memory=8000)(cputime=10)")
    user = place.clusters.name_of("ann")
    words = ("--user", user, "--job-id", name, "--index-server", INDEX)
    place.yard.verb("submit", "--xrsl", str(file), *words)
    flag, credentials = place.clusters.pass_of("ann")
    ca = str(place.clusters.ca / "ca.pem")
    resume = ("submit", "--wait", "--resume", name, flag, str(credentials), "--ca", ca)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        ended = [pool.submit(place.yard.verb, *resume, seconds=JOB_S) for _ in range(4)]
        said = [it.result() for it in ended]
    assert all("FINISHED" in it for it in said), said
    (decision,) = (
        it["id"].hex() for it in place.topic("decision").records() if it["subject"] == name
    )
    words_of = {}
    for it in CLUSTERS:
        for job, word in place.clusters.states(it).items():
            text = place.clusters.rest(it, "ann", "GET", f"/jobs/{job}/diagnose/description")
            if decision in text:
                words_of[job] = word
    finished = [job for job, word in words_of.items() if word == "FINISHED"]
    assert len(finished) == 1, (words_of, said)
    assert place.newest("job-state")[name]["cluster_job"] == finished[0], words_of
    place.figure("four took it up, A-REX's words", Counter(words_of.values()))


def part_audit(place: Place) -> None:
    """Every counter is what the log says, and every decision comes out as it did."""
    audit = json.loads(
        place.yard.verb("audit", "--json", "--store", str(place.folder / "store")).splitlines()[-1]
    )
    assert audit["drifted"] == 0, audit
    assert not place.yard.verb("dead-letters", "--json").strip()
    place.yard.verb("replay", "--verify")
    place.figure("audit", audit)


PARTS: dict[str, Callable[[Place], None]] = {
    name.removeprefix("part_"): of for name, of in globals().items() if name.startswith("part_")
}


def main() -> int:
    """Runs parts; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", required=True)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--root", required=True)
    parser.add_argument("--port", type=int, default=29818)
    parser.add_argument("--keep", action="store_true", help="keeps logs of a run that succeeds")
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with_names(Path(options.root).resolve(), [sys.executable, *sys.argv])
        folder, failed = Path(tempfile.mkdtemp(prefix="arc-run-")), []
        begun = time.monotonic()
        place = Place(options, folder)
    except NoClustersError as error:
        print(error)
        return NOT_HERE
    try:
        for name in options.parts or PARTS:
            print(f"{name}: {' '.join((PARTS[name].__doc__ or '').split())}", flush=True)
            part = time.monotonic()
            try:
                PARTS[name](place)
                place.figure("passed in", seconds(part))
            except Exception as error:
                failed.append(name)
                print(f"  FAILED: {type(error).__name__}: {error}", flush=True)
    finally:
        place.close()
    passed = len(options.parts or PARTS) - len(failed)
    print(f"{passed} parts passed, {len(failed)} failed, in {time.monotonic() - begun:.0f} s")
    if failed or options.keep:
        print(f"logs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
