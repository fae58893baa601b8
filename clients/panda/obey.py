#!/usr/bin/env python3
"""Carries one command of Yardmaster out with PanDA's client.

    yardmaster commands --follow --bootstrap-server kafka:9092 --exec clients/panda/obey.py

stdin: the command as JSON, one line. Exit code 0: PanDA did it. 3: it will never be done (an unknown
kind, a job that is no PandaID). 1: not this time; it is handed over again later. The last line of
stderr is published as the reason.

It may be handed over twice. PanDA leaves a job alone that has ended, and then reports so, so a second
time does no harm. It needs the package panda-server and a proxy or token with the production role.

A job that JEDI made is brokered again by closing it (kill_jobs, code 51), as PanDA's own daemons do;
reassign_jobs leaves such a job where it is. With --without-jedi it is called instead.
"""

import json
import sys

# The codes of kill_jobs (killJobs before 0.6.8), see pandaserver.userinterface.Client.
EXPIRE = 2  # closed, its input is brokered again; one that runs is told to stop by its pilot
EXPIRE_PENDING = 4  # the same of one that waits for its input
FAST_REBROKERAGE = 10  # closed, its input is brokered again, possibly to the same queue
REASSIGN = 51  # closed as "toreassign", its input is brokered again
FORCE = 99  # ended at once, whatever its pilot does: its heartbeat is lost, or it is stuck

BATCH = 100  # jobs of one call, as PanDA's daemons have it


def kill(client, ids, code):
    """A status and, for each job, whether it was acted on."""
    if hasattr(client, "kill_jobs"):
        return data_of(client.kill_jobs(ids, code=code, keep_unmerged=True))
    return client.killJobs(ids, code=code, keepUnmerged=True)


def reassign(client, ids):
    """The same. PanDA says only whether the request was taken."""
    if hasattr(client, "reassign_jobs"):
        status, answer = data_of(client.reassign_jobs(ids))
        return status, [True] * len(ids) if answer is None else answer
    status, taken = client.reassignJobs(ids)
    return status, [taken] * len(ids) if isinstance(taken, bool) else taken


def data_of(reply):
    """The data of a reply of a client since panda-server 0.6.8, which names its calls otherwise: a status, and
    {success, message, data}. What was not granted is an answer that names the message."""
    status, answer = reply
    if status != 0 or not isinstance(answer, dict):
        return status, answer
    if not answer.get("success"):
        return status, answer.get("message") or "no reason given"
    return status, answer.get("data")


def action(command, without_jedi):
    """The function to call for a command; None if its kind is not known here."""
    kind = command["kind"]
    if kind == "reassign" and without_jedi:
        return reassign
    codes = {
        "reassign": REASSIGN,
        "rebroker": FAST_REBROKERAGE,
        "kill": EXPIRE_PENDING if command["rule"] == "T1" else EXPIRE,
        "fail": FORCE,
    }
    code = codes.get(kind)
    return code and (lambda client, ids: kill(client, ids, code))


def obey(command, client, without_jedi=False):
    """Does it; gives the exit code and the reason."""
    act = action(command, without_jedi)
    if act is None:
        return 3, f"no call of PanDA's client is known for {command['kind']}"
    try:
        ids = [int(job) for job in command["jobs"]]
    except ValueError as error:
        return 3, f"not a PandaID: {error}"
    done = 0
    for at in range(0, len(ids), BATCH):
        batch = ids[at : at + BATCH]
        status, answers = act(client, batch)
        if status != 0 or not isinstance(answers, list):
            return 1, f"PanDA does not answer as it should: status {status}, {answers}"
        done += sum(bool(answer) for answer in answers)
    if done == 0:
        return 1, f"PanDA acted on none of {len(ids)} jobs: they have ended, or the role is missing"
    return 0, f"PanDA acted on {done} of {len(ids)} jobs"


def main():
    from pandaserver.userinterface import Client

    code, reason = obey(json.load(sys.stdin), Client, "--without-jedi" in sys.argv[1:])
    print(reason, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
