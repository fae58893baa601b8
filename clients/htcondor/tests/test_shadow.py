"""Shadow edits nothing, ever, and compares."""

from typing import Any

import pytest
from world import NAME, OTHER, SLOT, FakePool, World

from yardmaster_client.codec import codec
from yardmaster_htcondor.agent import Agent
from yardmaster_htcondor.metrics import Metrics
from yardmaster_htcondor.pool import Pool


def test_nothing_is_edited_and_the_site_is_compared() -> None:
    world = World("shadow")
    before = str(world.job())
    world.round()
    world.decide(NAME, OTHER)
    world.round()
    assert str(world.pool.queue["1.0"]) == before
    assert world.editor.edits == [] and world.editor.moved == [] and world.editor.rescheduled == 0
    world.start()
    world.round()
    (record,) = world.records("comparison")
    read = codec("comparison").decode(codec("comparison").encode(record))
    assert (read["subject"], read["in_charge"]) == (NAME, "other")
    assert read["yardmaster"]["queues"][0]["queue"] == "T2_US_Nebraska"
    assert read["other"]["queues"][0]["queue"] == "T2_DE_DESY"
    compared = world.agent.metrics.compared.labels("false")._value.get()
    assert compared == 1 and world.outcomes() == []


def test_an_agent_in_shadow_has_no_editor() -> None:
    world = World("shadow")
    pool: Any = FakePool()
    editor: Any = world.editor
    with pytest.raises(ValueError, match="in mode lead, and in no other"):
        Agent(world.config, pool, world.bus, editor, Metrics())
    # The pool that it has has no call that changes anything.
    calls = {name for name in vars(Pool) if not name.startswith("_")}
    reads = {"schedd", "find_schedds", "jobs", "history", "slots", "whole_job", "whole_slot"}
    assert calls == reads


def test_all_waiting_jobs_are_published_in_shadow() -> None:
    world = World("shadow")
    world.job()
    world.job("wm-idle-1core", "2.0")
    world.round()
    assert sorted(it["status"] for it in world.records("job-state")) == ["pending", "pending"]


@pytest.mark.parametrize(("users", "count"), [("jobs", 1), ("import", 0)])
def test_users_are_left_to_an_import(users: str, count: int) -> None:
    world = World("shadow", users=users)
    world.job()
    world.round()
    assert len(world.records("user")) == count


def test_an_offer_counts_what_was_matched_until_it_starts() -> None:
    world = World("shadow")
    world.job()
    world.round()
    world.decide(NAME, SLOT)
    world.round()
    first = [it for it in world.records("pilot") if it["offer"] == SLOT]
    world.start()
    world.round()
    again = [it for it in world.records("pilot") if it["offer"] == SLOT]
    assert len(first) == 1 and len(again) == 2 and again[1]["attempt"] > again[0]["attempt"]
