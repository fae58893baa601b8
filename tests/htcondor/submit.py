#!/usr/bin/env python3
"""Submits jobs to the pool of pool.sh; runs beside its schedd, as root.

stdin: a list of jobs, {"user": ..., "ad": {...}}, with "count" where a cluster has more than one.
stdout: the list of their clusters. Each is submitted by the user that it is for. The first argument
names the schedd.
"""

import json
import os
import pwd
import sys
from typing import Any

import htcondor2 as htcondor


def submit_all(user: str, jobs: list[dict[str, Any]]) -> list[int]:
    """Submits as that user, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        who = pwd.getpwnam(user)
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)
        os.chdir("/tmp")
        os.environ["HOME"] = who.pw_dir
        found = htcondor.Collector().locate(htcondor.DaemonType.Schedd, sys.argv[1])
        schedd = htcondor.Schedd(found)
        made = [schedd.submit(htcondor.Submit(it["ad"]), count=it.get("count", 1)) for it in jobs]
        clusters = [it.cluster() for it in made]
        os.write(write, json.dumps(clusters).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return [int(cluster) for cluster in json.loads(text)]


def main() -> None:
    """Submits all, in their order for each user."""
    jobs = json.load(sys.stdin)
    clusters: list[int] = [0] * len(jobs)
    for user in sorted({job["user"] for job in jobs}):
        places = [at for at, job in enumerate(jobs) if job["user"] == user]
        made = submit_all(user, [jobs[at] for at in places])
        for at, cluster in zip(places, made, strict=True):
            clusters[at] = cluster
    print(json.dumps(clusters))


main()
