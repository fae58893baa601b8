"""The pool of pool.sh, as a test sees it: from outside, with a token."""

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent

NOT_HERE = 77


class NoPoolError(Exception):
    """A pool cannot be had here."""


class Pool:
    """A running pool."""

    def __init__(self, root: Path, folder: Path, port: int) -> None:
        self.root, self.client = root, folder / "client"
        self._script("install", str(root))
        self._script("start", str(root), str(port))
        self._script("token", str(root), str(self.client))
        os.environ["CONDOR_CONFIG"] = str(self.client / "condor_config")
        from yardmaster_htcondor.bindings import htcondor

        self.htcondor = htcondor

    def _script(self, verb: str, *words: str, **env: str) -> str:
        done = subprocess.run(
            [str(HERE / "pool.sh"), verb, *words],
            capture_output=True,
            text=True,
            timeout=1200,
            env={**os.environ, **env},
        )
        if done.returncode == NOT_HERE:
            raise NoPoolError(done.stderr.strip())
        assert done.returncode == 0, f"pool.sh {verb}: {done.stdout}{done.stderr}"
        return done.stdout

    def lead(self, grace_s: int) -> None:
        """Jobs that are submitted from now on wait for Yardmaster, where they are marked so."""
        self._script("lead", str(self.root), YARDMASTER_POOL_GRACE_S=str(grace_s))
        # The schedd reads its configuration after the command has returned.
        until = time.monotonic() + 20
        for ad in self.schedd_ads():
            while "YARDMASTER" not in self.htcondor.RemoteParam(ad).get("JOB_TRANSFORM_NAMES", ""):
                assert time.monotonic() < until, "a schedd does not read its configuration"
                time.sleep(0.2)

    def shadow(self) -> None:
        """As it was before `lead`."""
        self._script("shadow", str(self.root))

    def stop(self) -> None:
        """Ends it."""
        self._script("stop", str(self.root))

    def run(self, *words: str, stdin: str = "") -> str:
        """Runs a program beside the pool's daemons."""
        inside = [] if str(self.root) == "/" else ["chroot", str(self.root)]
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/root"}
        done = subprocess.run(
            [*inside, *words], input=stdin, capture_output=True, text=True, env=env, timeout=120
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def submit(self, jobs: list[dict[str, Any]], schedd: str = "a") -> list[int]:
        """Submits jobs at a schedd; their clusters."""
        program, name = (HERE / "submit.py").read_text(), f"{schedd}@pool.test"
        done = self.run("python3", "-c", program, name, stdin=json.dumps(jobs))
        return list(json.loads(done))

    def collector(self) -> Any:
        """The collector."""
        return self.htcondor.Collector()

    def schedd_ads(self) -> list[Any]:
        """Ads of both schedds."""
        found = self.collector().query(self.htcondor.AdType.Schedd)
        assert len(found) == 2, "not both schedds are there"
        return list(found)

    def jobs(self, clusters: list[int]) -> dict[int, Any]:
        """Ads of jobs, from queue or history."""
        low, high, wanted = min(clusters), max(clusters), set(clusters)
        within = f"ClusterId >= {low} && ClusterId <= {high}"
        found = {}
        for schedd in map(self.htcondor.Schedd, self.schedd_ads()):
            for ad in [*schedd.history(within, [], -1), *schedd.query(within)]:
                if int(ad["ClusterId"]) in wanted:
                    found[int(ad["ClusterId"])] = ad
        return found

    def statuses(self, clusters: list[int]) -> list[int]:
        """JobStatus of jobs."""
        return [int(ad["JobStatus"]) for ad in self.jobs(clusters).values()]

    def have_ended(self, clusters: list[int]) -> bool:
        """Whether all are over."""
        found = self.statuses(clusters)
        return len(found) == len(clusters) and all(it in (3, 4) for it in found)

    def have_started(self, clusters: list[int]) -> bool:
        """Whether all have started."""
        found = self.jobs(clusters).values()
        return len(found) == len(clusters) and all("JobCurrentStartDate" in ad for ad in found)

    def starts(self, clusters: list[int]) -> dict[int, int]:
        """How often each job was started: more than once is twice run."""
        return {at: int(ad.get("NumShadowStarts", 0)) for at, ad in self.jobs(clusters).items()}
