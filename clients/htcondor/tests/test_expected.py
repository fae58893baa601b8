"""Ads of a real pool and the records that they mean.

`expected.jsonl` was written before the engine had some fields. Where it has one now the newer
mapping is right: `DEVIATIONS` states each place, all other figures hold.
"""

from typing import Any

import fixtures
import pytest

from yardmaster_client.codec import codec
from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.identity import is_of_pool
from yardmaster_htcondor.job_state import job_state
from yardmaster_htcondor.slots import free_amounts, is_offering, slot_offer
from yardmaster_htcondor.values import whole
from yardmaster_htcondor.workflow import user_record, workflow_record

DIALECT = Dialect()

ABSENT = object()

DEVIATIONS: dict[tuple[str, str], tuple[Any, str]] = {
    ("wm-*", "requirements.seq"): (
        None,
        "WMAgent numbers jobs over all workflows: seq may be null",
    ),
    ("tier0-idle", "requirements.seq"): (None, "the same"),
    ("wm-held", "status"): ("held", "a state of its own: neither waits nor runs nor has ended"),
    ("wm-held", "ended_at"): (ABSENT, "a job that is held has not ended"),
    ("wm-held", "requirements.failure"): (ABSENT, "nor failed"),
    ("wm-held", "requirements.last_attempt"): (ABSENT, "nor was it its last try"),
    ("wm-done-8021", "requirements.failure"): (ABSENT, "the topology's exit_codes class the code"),
    ("crab-done-50660", "requirements.failure"): (ABSENT, "the same"),
    ("tier0-idle", "group"): ("tier0", "group_order orders working groups: the share is one"),
    ("crab-highprio", "group"): ("highprio", "the same"),
    ("tier0-idle/task", "working_group"): ("tier0", "the same"),
}

CODES = {"wm-done-8021": 8021, "crab-done-50660": 50660}
"""Codes that stand in place of `failure`."""


def deviation(name: str, path: str) -> tuple[Any, str] | None:
    family = "wm-*" if name.startswith("wm-") else ""
    return DEVIATIONS.get((name, path)) or DEVIATIONS.get((family, path))


def differences(name: str, want: Any, have: Any, path: str = "") -> list[str]:
    """Places that are not as expected. Absent, null, false, 0 and empty text mean the same."""
    if isinstance(want, dict) and isinstance(have, dict):
        nested = (
            differences(name, of, have.get(key, ABSENT), f"{path}.{key}")
            for key, of in want.items()
        )
        return [line for lines in nested for line in lines]
    found = deviation(name, path[1:])
    wanted = found[0] if found else want
    nothing = (None, False, 0, "", ABSENT)
    is_same = wanted == have or (
        any(wanted is it or wanted == it for it in nothing)
        and any(have is it or have == it for it in nothing)
    )
    return [] if is_same else [f"{path[1:]}: expected {wanted!r}, made {have!r}"]


def made(line: dict[str, Any]) -> tuple[str, Any]:
    if "slot" in line:
        ad = fixtures.slots()[line["slot"]]
        if not is_offering(ad, line["now"]):
            return line["slot"], None
        return line["slot"], slot_offer(
            ad, 0, free_amounts(ad), whole(ad, "Memory"), line["now"], 60
        )
    name, topic = line["fixture"], line["topic"]
    ad = fixtures.jobs()[name]
    if not is_of_pool(ad):
        return name, None
    makers = {
        "job-state": lambda: job_state(ad, DIALECT),
        "task": lambda: {**workflow_record(ad, DIALECT, "cms", "cms"), "changed_at": 0},
        "user": lambda: {**user_record(ad, DIALECT), "changed_at": 0},
    }
    return (name if topic == "job-state" else f"{name}/{topic}"), makers[topic]()


@pytest.mark.parametrize(
    "line", fixtures.expected(), ids=lambda it: f"{it.get('fixture') or it['slot']}-{it['topic']}"
)
def test_line(line: dict[str, Any]) -> None:
    name, record = made(line)
    if line["topic"] is None:
        assert record is None, line["why"]
        return
    assert differences(name, line["record"], record) == []
    # The schema takes it, and so do those who read it.
    read = codec(line["topic"]).decode(codec(line["topic"]).encode(record))
    assert read[
        {"job-state": "job", "task": "subject", "user": "name", "pilot": "offer"}[line["topic"]]
    ]


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_codes_stand_in_place_of_failures(name: str, code: int) -> None:
    wants = job_state(fixtures.job(name), DIALECT)["requirements"]
    assert wants["exit_code"] == code and "failure" not in wants


def test_each_deviation_is_one() -> None:
    """A line of the table that nothing needs is wrong."""
    used = set()
    for line in fixtures.expected():
        if line["topic"] is None:
            continue
        name, _ = made(line)
        for found, path in DEVIATIONS:
            family = found.removesuffix("*")
            if name == found or (found.endswith("*") and name.startswith(family)):
                want: Any = line["record"]
                for part in path.split("."):
                    want = want.get(part, ABSENT) if isinstance(want, dict) else ABSENT
                if want is not ABSENT and want != DEVIATIONS[found, path][0]:
                    used.add((found, path))
    assert used == set(DEVIATIONS)


def test_what_was_missing_has_fields_now() -> None:
    gpu = job_state(fixtures.job("crab-gpu-idle"), DIALECT)["requirements"]
    assert {"name": "gpus", "amount": 1} in gpu["resources"]
    assert {"name": "Microarch", "any_of": [], "at_least": "x86_64-v2"} in gpu["labels"]
    assert {"name": "Arch", "any_of": ["X86_64"], "at_least": None} in gpu["labels"]
    merge = job_state(fixtures.job("wm-running-merge"), DIALECT)["requirements"]
    assert {"name": "io_slots", "amount": 1} in merge["resources"] and merge["high_io"]
    ad = fixtures.slots()["slot1@glidein_14_1@gpu-wn1.test"]
    offer = slot_offer(ad, 0, free_amounts(ad), 1, 0.0, 60)
    assert {"name": "gpus", "amount": 1} in offer["resources"]
    assert {"name": "Microarch", "values": ["x86_64-v4"]} in offer["labels"]
