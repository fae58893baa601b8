#!/usr/bin/env python3
"""Submits jobs to the pool of pool.sh; runs beside its schedd, as root.

stdin: a list of jobs, {"user": ..., "ad": {...}}. stdout: the list of their clusters. Each is
submitted by the user that it is for.
"""

import json
import os
import pwd
import sys

import htcondor2 as htcondor


def submit_all(user: str, ads: list[dict[str, str]]) -> list[int]:
    """Submits as that user, in a process of its own."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        who = pwd.getpwnam(user)
        os.setgid(who.pw_gid)
        os.setuid(who.pw_uid)
        os.chdir("/tmp")
        os.environ["HOME"] = who.pw_dir
        schedd = htcondor.Schedd()
        clusters = [schedd.submit(htcondor.Submit(ad)).cluster() for ad in ads]
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
        for at, cluster in zip(
            places, submit_all(user, [jobs[at]["ad"] for at in places]), strict=True
        ):
            clusters[at] = cluster
    print(json.dumps(clusters))


main()
