"""PanDA's attributes as fields of a record: by cases that the reader of recorded cases is tested by
too, and by PanDA's own getters."""

import datetime
import json
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pandaserver.taskbuffer.InputChunk import InputChunk
from pandaserver.taskbuffer.JediDatasetSpec import JediDatasetSpec
from pandaserver.taskbuffer.JediFileSpec import JediFileSpec
from pandaserver.taskbuffer.JediTaskSpec import JediTaskSpec

from yardmaster_client.codec import codec
from yardmaster_jedi.facts import request_fields
from yardmaster_jedi.panda_task import COUNT_MAX, number, table, task_fields

LINES = Path(__file__).resolve().parents[3] / "tests/fixtures/panda-task.jsonl"
CASES = [json.loads(line) for line in LINES.read_text().splitlines()]


def spec_of(made: Any, values: dict[str, Any]) -> Any:
    for name, value in values.items():
        setattr(made, name, value)
    return made


def things_of(case: dict[str, Any]) -> tuple[JediTaskSpec, InputChunk]:
    values = dict(case["task"])
    if frozen := values.get("frozenTime"):
        values["frozenTime"] = datetime.datetime.fromisoformat(frozen)
    task = spec_of(JediTaskSpec(), values)
    master = None
    if stated := case.get("master"):
        others = {name: value for name, value in stated.items() if name != "Files"}
        least = {"datasetID": 1, "nFiles": 0, "nFilesToBeUsed": 0}
        master = spec_of(JediDatasetSpec(), least | others)
        for file in stated.get("Files", ()):
            master.addFile(spec_of(JediFileSpec(), file))
    return task, spec_of(InputChunk(task, master, []), case["chunk"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["about"])
def test_attributes_are_read_as_for_recorded_cases(case: dict[str, Any]) -> None:
    task, chunk = things_of(case)
    record = request_fields(task, chunk, case.get("params"))
    flat = {**record, **{f"options.{name}": value for name, value in record["options"].items()}}
    found = {field: flat[field] for field in case["fields"]}
    assert found == case["fields"]
    assert {f: type(v) for f, v in found.items()} == {f: type(v) for f, v in case["fields"].items()}
    named = {"subject": "1/1", "task": "1", "domain": "d", "policy": "p"}
    data = codec("task").encode({**record, **named, "asked_at": 1, "changed_at": 1})
    assert codec("task").decode(data)["core_count"] == record["core_count"]


def test_the_tokens_of_split_rules_are_those_of_panda() -> None:
    tokens = JediTaskSpec.splitRuleToken
    assert table()["rules"] == {name: tokens[name] for name in table()["rules"]}
    places = [
        row_place
        for row in table()["fields"]
        for part in row.get("of", [row])
        for row_place in part["from"]
    ]
    rules = {place.removeprefix("rule.") for place in places if place.startswith("rule.")}
    attributes = {place.removeprefix("task.") for place in places if place.startswith("task.")}
    assert rules | {"limitedSites"} == set(table()["rules"])
    assert attributes - set(JediTaskSpec.attributes) == {"origUserName"}


GETTERS: dict[str, Callable[[JediTaskSpec, InputChunk], Any]] = {
    "max_core_count": lambda task, _: task.get_max_core_count(),
    "ram_unit": lambda task, _: "mb_per_core" if task.ramPerCore() else "mb",
    "ram_count_mb": lambda task, chunk: chunk.getMaxRamCount(),
    "cpu_hs06s_per_event": lambda task, _: task.getCpuTime(),
    "output_per_event": lambda task, _: task.getOutDiskSize() * task.outputScaleWithEvents(),
    "output_per_mb": lambda task, _: task.getOutDiskSize() * (not task.outputScaleWithEvents()),
    "work_bytes": lambda task, _: max(0, int(task.getWorkDiskSize()) - 300 * 1024**2),
    "allow_input_lan": lambda task, _: task.allowInputLAN() is not None,
    "use_local_io": lambda task, _: task.useLocalIO(),
    "options.t1_weight": lambda task, _: task.getT1Weight(),
    "options.merge_output": lambda task, _: task.mergeOutput(),
    "options.only_tags": lambda task, _: task.use_only_tags_fc(),
    "options.input_lan_only": lambda task, _: task.allowInputLAN() == "only",
    "options.input_wan": lambda task, _: task.allowInputWAN(),
    "options.input_prestaging": lambda task, _: task.inputPreStaging(),
    "options.event_service": lambda task, _: task.useEventService(),
    "options.job_cloning": lambda task, _: task.useJobCloning(),
    "options.es_consumers": lambda task, _: task.getNumEventServiceConsumer(),
    "options.es_attempts_max": lambda task, _: task.getMaxAttemptEsJob(),
    "options.dynamic_events": lambda task, _: task.get_min_granularity(),
    "options.events_per_job": lambda task, _: task.getNumEventsPerJob(),
    "options.events_per_job_max": lambda task, _: task.get_max_events_per_job(),
    "options.disable_reassign": lambda task, _: task.disableReassign(),
    "options.avoid_vp": lambda task, _: task.avoid_vp(),
    "options.incomplete_input": lambda task, _: task.allow_incomplete_input(),
    "options.sites_per_job": lambda task, _: task.getNumSitesPerJob(),
    "options.gb_per_job": lambda task, _: (task.getMaxSizePerJob() or 0) // 1024**3,
    "options.jumbo": lambda task, _: task.getNumJumboJobs() is not None,
    "options.scouts_due": lambda task, _: task.useScout(),
    "options.hpo_workflow": lambda task, _: task.is_hpo_workflow(),
    "options.cpu_in_hs06": lambda task, _: task.useHS06(),
}

PANDA_IS_OTHERWISE = ("below 0", "huge", "words", "numbers as they come", "a flag is", "empty text")
"""Cases of values that PanDA's code computes with as they are, or that let it fail."""


@pytest.mark.parametrize("field", GETTERS)
def test_fields_are_what_pandas_own_getters_give(field: str) -> None:
    compared = 0
    for case in CASES:
        if any(words in case["about"] for words in PANDA_IS_OTHERWISE):
            continue
        task, chunk = things_of(case)
        try:
            theirs = GETTERS[field](task, chunk)
        except KeyError:  # a value that its enumeration does not have
            continue
        record = request_fields(task, chunk, None)
        ours = record["options"].get(field.removeprefix("options."), record.get(field))
        assert (ours or 0) == (theirs or 0), case["about"]
        compared += 1
    assert compared > 20


def test_figures_of_a_database_driver_are_numbers_too() -> None:
    task = JediTaskSpec()
    task.coreCount, task.cpuTimeUnit, task.cpuTime = Decimal(8), "HS06sPerEvent", Decimal("2.5")
    record = task_fields(task)
    assert (record["core_count"], record["cpu_hs06s_per_event"]) == (8, 2.5)
    words = ("1_0", "\u0663", "0x1")
    odd: list[Any] = [math.nan, math.inf, Decimal("NaN"), 10**400, True, None, [], *words]
    assert [number(value) for value in odd] == [None] * len(odd)
    task.coreCount = 10**400
    assert task_fields(task)["core_count"] == COUNT_MAX
