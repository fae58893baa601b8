"""Carries one command of Yardmaster out in the pool.

  yardmaster commands --follow --topology cms --bootstrap-server kafka:9092 \\
      --exec yardmaster-htcondor obey

One line of JSON on stdin. Exit code 0: done; 3: refused; 1: to be tried again. Doing it twice does
no harm. What cannot be understood is refused: it would be no other the next time.
"""

import json
import time
from typing import Any

from yardmaster_htcondor.bindings import AD_TYPES, classad, htcondor
from yardmaster_htcondor.ending import BY_YARDMASTER
from yardmaster_htcondor.values import Ad, text, whole
from yardmaster_htcondor.workflow import TASK_PRIORITY

DONE, AGAIN, REFUSED = 0, 1, 3

WAITING = "JobStatus == 1 && JobUniverse == 5"

PLACED_BY_YARDMASTER = "TARGET.YM_Until isnt undefined && time() < TARGET.YM_Until"
"""Starts on a node that drains: jobs that Yardmaster put there."""

LAG_LOOKS, LAG_S = 10, 0.5
"""How often, and after what time, a slot's ad is looked at again; s."""

FIGURE_MAX = 1e15

BOOST_MAX = TASK_PRIORITY // 2
"""Priorities below this keep the levels of a workflow apart."""

Answer = tuple[int, str]


class CommandError(ValueError):
    """A command that nobody could carry out. The message names field and remedy."""


def command_of(line: str) -> dict[str, Any]:
    """The command in a line; `CommandError` if it is none."""
    try:
        command = json.loads(line)
    except ValueError as error:
        remedy = "one line is wanted on stdin, as `yardmaster commands --json` prints it"
        raise CommandError(f"the command is no JSON ({error}): {remedy}") from error
    if not isinstance(command, dict):
        raise CommandError("the command is no JSON object: state {...} with kind and subject")
    return command


def word(command: dict[str, Any], field: str) -> str:
    """A text of a command that must be there."""
    found = command.get(field)
    if not isinstance(found, str) or not found:
        raise CommandError(f"{field} is {found!r}: state a text that is not empty")
    return found


def figure(command: dict[str, Any], field: str) -> float:
    """A number of a command; 0 where it has none."""
    found = command.get(field, 0.0)
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    if not is_number or not 0 <= found < FIGURE_MAX:
        raise CommandError(f"{field} is {found!r}: state a number, 0 or more")
    return float(found)


def words(command: dict[str, Any], field: str) -> list[str]:
    """A list of texts of a command; empty where it has none."""
    found = command.get(field) or []
    if not isinstance(found, list) or not all(isinstance(it, str) for it in found):
        raise CommandError(f"{field} is {found!r}: state a list of texts")
    return found


def obey(command: dict[str, Any], collector: Any) -> Answer:
    """Does it; the exit code, and a reason."""
    try:
        return _obey(command, collector)
    except CommandError as error:
        return REFUSED, str(error)


def _obey(command: dict[str, Any], collector: Any) -> Answer:
    kind, subject = word(command, "kind"), word(command, "subject")
    if command.get("dry_run"):
        return REFUSED, "a dry run"
    if 0 < figure(command, "expires_at") < time.time() * 1000:
        return REFUSED, "the command has expired"
    kinds = {"boost": boost, "kill_workflow": kill_workflow, "profile": profile}
    if kind in kinds:
        schedds = [htcondor.Schedd(ad) for ad in collector.query(AD_TYPES.Schedd)]
        return kinds[kind](command, schedds, of_workflow(subject))
    if kind in ("drain", "undrain"):
        return drain(command, collector)
    return REFUSED, f"there is nothing to do in HTCondor for {kind}"


def of_workflow(name: str) -> str:
    """Matches the jobs of a workflow."""
    quoted = classad.quote(name)
    return f"(WMAgent_RequestName =?= {quoted} || CRAB_ReqName =?= {quoted})"


def boost(command: dict[str, Any], schedds: list[Any], of_it: str) -> Answer:
    """Sets JobPrio of the jobs that wait, level by level: merges stay before what they merge."""
    if "measured" not in command:
        raise CommandError("measured is missing: state the priority")
    priority, edits = int(figure(command, "measured")), 0
    if priority >= BOOST_MAX:
        raise CommandError(f"measured is {priority}: a priority is below {BOOST_MAX}")
    for schedd in schedds:
        waiting = schedd.query(f"{of_it} && {WAITING}", ["JobPrio"])
        for level, new in levels_to_edit(waiting, priority).items():
            low = level * TASK_PRIORITY - BOOST_MAX
            least = f"JobPrio >= {low} && " if level else ""
            of_level = f"{least}JobPrio < {low + TASK_PRIORITY}"
            schedd.edit(f"{of_it} && {WAITING} && {of_level}", "JobPrio", str(new))
            edits += 1
    return DONE, f"JobPrio of {command['subject']} is {priority} ({edits} edits)"


def levels_to_edit(waiting: list[Ad], priority: int) -> dict[int, int]:
    """The levels with a job that has another priority, and the JobPrio that it is to have."""
    wanted = {}
    for ad in waiting:
        level = level_of(whole(ad, "JobPrio"))
        if whole(ad, "JobPrio") != level * TASK_PRIORITY + priority:
            wanted[level] = level * TASK_PRIORITY + priority
    return wanted


def level_of(job_prio: int) -> int:
    """The level of the task that a JobPrio is of. The priority within may be negative."""
    return max(0, (job_prio + BOOST_MAX) // TASK_PRIORITY)


def kill_workflow(command: dict[str, Any], schedds: list[Any], of_it: str) -> Answer:
    """Removes the jobs that wait. The DAGMan of a CRAB task is held first: it would submit what is
    removed again."""
    notes = words(command, "notes") or ["all test jobs failed"]
    why, removed = BY_YARDMASTER + notes[0], 0
    for schedd in schedds:
        act = htcondor.JobAction
        schedd.act(act.Hold, f"{of_it} && JobUniverse == 7 && JobStatus =!= 5", why)
        waiting = f"{of_it} && {WAITING}"
        count = len(schedd.query(waiting, ["ClusterId"]))
        if count:
            # The bindings' reason does not reach the ad.
            schedd.edit(waiting, "RemoveReason", old_quoted(why))
            schedd.act(act.Remove, waiting, why)
            removed += count
    return DONE, f"{removed} jobs are removed; {why}"


def old_quoted(value: str) -> str:
    """A text as an edit takes it: in the old syntax, where a backslash is itself."""
    return '"' + value.replace('"', '\\"') + '"'


def profile(command: dict[str, Any], schedds: list[Any], of_it: str) -> Answer:
    """Sets what the jobs that wait state of memory and time, where the command has a figure."""
    minutes = -(-int(figure(command, "measured")) // 60)
    memory, edits = int(figure(command, "limit")), 0
    wanted = []
    if memory > 0:
        wanted += [
            ("RequestMemory", memory, "CRAB_ReqName"),
            ("OriginalMemory", memory, "WMAgent_RequestName"),
        ]
    if minutes > 0:
        wanted += [
            ("MaxWallTimeMins", minutes, "CRAB_ReqName"),
            ("OriginalMaxWallTimeMins", minutes, "WMAgent_RequestName"),
        ]
    for schedd in schedds:
        for attribute, new, system in wanted:
            which = f"{of_it} && {system} isnt undefined && {WAITING} && {attribute} =!= {new}"
            if schedd.query(which, ["ClusterId"]):
                schedd.edit(which, attribute, str(new))
                edits += 1
    return DONE, f"{minutes} min, {memory} MB ({edits} edits)"


def drain(command: dict[str, Any], collector: Any) -> Answer:
    """Drains a pilot, or ends that. It needs the right ADMINISTRATOR at the pilot's startd."""
    node, wants = command["subject"], command["kind"] == "drain"
    ad = pilot(collector, node)
    if ad is None:
        return REFUSED, f"there is no pilot {node}"
    if is_draining(ad) == wants:
        return already(ad, wants)
    startd, jobs = htcondor.Startd(ad), ", ".join(words(command, "jobs"))
    try:
        if wants:
            # Graceful; when all its cores are free it takes any job again.
            startd.drainJobs(0, 1, "true", PLACED_BY_YARDMASTER, f"Yardmaster for {jobs}")
        else:
            startd.cancelDrainJobs()
    except Exception:
        # The collector's ad lags behind: it may be as it was to be.
        for _ in range(LAG_LOOKS):
            time.sleep(LAG_S)
            ad = pilot(collector, node)
            if ad is not None and is_draining(ad) == wants:
                return already(ad, wants)
        raise
    return DONE, "drains" if wants else "drains no more"


def pilot(collector: Any, node: str) -> Ad | None:
    """The partitionable slot of a pilot; None if it is gone."""
    found = collector.query(AD_TYPES.Startd, "PartitionableSlot")
    return next((ad for ad in found if text(ad, "Name").partition("@")[2] == node), None)


def is_draining(ad: Ad) -> bool:
    """Whether a slot drains."""
    return bool(text(ad, "DrainReason")) or text(ad, "State") == "Drained"


def already(ad: Ad, wants: bool) -> Answer:
    """The answer where a slot is as it was to be; one that others drain is theirs."""
    if not wants:
        return DONE, "it does not drain"
    is_ours = text(ad, "DrainReason").startswith("Yardmaster")
    return DONE if is_ours else REFUSED, "drains already"
