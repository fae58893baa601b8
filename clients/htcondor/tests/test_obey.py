"""Commands as `yardmaster commands --exec` hands them over; each twice does no harm."""

import io
import json
import re
import sys
import time
from typing import Any

import fixtures
import pytest
from world import SLOT

from yardmaster_htcondor import obey as module
from yardmaster_htcondor.bindings import classad, htcondor
from yardmaster_htcondor.main import main
from yardmaster_htcondor.obey import AGAIN, DONE, REFUSED, obey
from yardmaster_htcondor.values import Ad

WORKFLOW = "cmsunified_task_B2G-Run3Summer22-00123__v1_T_230101_000000_1234"
NODE = SLOT.partition("@")[2]


class FakeSchedd:
    """Evaluates constraints on real ads."""

    def __init__(self, ads: list[Ad]) -> None:
        self.ads, self.calls = ads, list[tuple[Any, ...]]()

    def query(self, constraint: str, names: list[str]) -> list[Ad]:
        wanted = classad.ExprTree(constraint)
        return [ad for ad in self.ads if wanted.eval(ad) is True]

    def edit(self, constraint: str, name: str, value: str) -> None:
        self.calls.append(("edit", name, value))
        for ad in self.query(constraint, []):
            # As a schedd reads a value: in the old syntax, where a backslash is none of an escape.
            ad[name] = classad.parseOne(f"{name} = {value}").lookup(name)

    def act(self, action: Any, constraint: str, why: str) -> None:
        found = self.query(constraint, [])
        self.calls.append((repr(action), len(found), why))
        for ad in found:
            ad["JobStatus"] = 3 if "Remove" in repr(action) else 5


class FakeStartd:
    calls: list[tuple[Any, ...]] = []  # noqa: RUF012

    def __init__(self, ad: Ad) -> None:
        self.ad = ad

    def drainJobs(self, *words: Any) -> None:  # noqa: N802
        self.calls.append(("drain", *words))
        self.ad["State"], self.ad["DrainReason"] = "Drained", words[-1]

    def cancelDrainJobs(self) -> None:  # noqa: N802
        self.calls.append(("undrain",))
        self.ad["State"] = "Unclaimed"
        del self.ad["DrainReason"]


class FakeCollector:
    def __init__(self, slots: list[Ad]) -> None:
        self.slots = slots

    def query(self, kind: Any, constraint: str = "true") -> list[Ad]:
        return self.slots if "Partitionable" in constraint else [classad.ClassAd()]


@pytest.fixture
def schedd(monkeypatch: pytest.MonkeyPatch) -> FakeSchedd:
    names = ("wm-idle-1core", "wm-idle-resize", "wm-idle-retry2")
    made = FakeSchedd([fixtures.job(name) for name in names])
    made.ads[2]["JobPrio"] = 50_110_000
    monkeypatch.setattr(htcondor, "Schedd", lambda ad: made)
    monkeypatch.setattr(htcondor, "Startd", FakeStartd)
    FakeStartd.calls = []
    return made


def run(kind: str, subject: str = WORKFLOW, **more: Any) -> tuple[int, str]:
    slot = fixtures.slots()[SLOT]
    collector = more.pop("collector", FakeCollector([slot]))
    command = json.loads(json.dumps({"kind": kind, "subject": subject, "expires_at": 0, **more}))
    return obey(command, collector)


def test_boost_level_by_level(schedd: FakeSchedd) -> None:
    assert run("boost", measured=900_000.0)[0] == DONE
    assert [ad["JobPrio"] for ad in schedd.ads] == [900_000, 900_000, 50_900_000]
    calls = len(schedd.calls)
    assert run("boost", measured=900_000.0) == (DONE, f"JobPrio of {WORKFLOW} is 900000 (0 edits)")
    assert len(schedd.calls) == calls


def test_boost_of_a_priority_below_zero_raises_it(schedd: FakeSchedd) -> None:
    for ad, priority in zip(schedd.ads, (-5, -20_000_000, 9_999_995), strict=True):
        ad["JobPrio"] = priority
    assert run("boost", measured=900_000.0)[0] == DONE
    assert [ad["JobPrio"] for ad in schedd.ads] == [900_000, 900_000, 10_900_000]
    assert "(0 edits)" in run("boost", measured=900_000.0)[1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "the command is no JSON .*: one line is wanted on stdin"),
        ("{", "the command is no JSON .*: one line is wanted on stdin"),
        ("[]", "the command is no JSON object: state"),
        ("{}", "kind is None: state a text"),
        ('{"kind": "boost"}', "subject is None: state a text"),
        ('{"kind": "boost", "subject": ""}', "subject is '': state a text"),
        ('{"kind": "boost", "subject": "w", "expires_at": "x"}', "expires_at is 'x': state a num"),
        ('{"kind": "boost", "subject": "w", "measured": "abc"}', "measured is 'abc': state a num"),
        ('{"kind": "boost", "subject": "w"}', "measured is missing: state the priority"),
        ('{"kind": "boost", "subject": "w", "measured": -1}', "measured is -1: state a number, 0"),
        ('{"kind": "boost", "subject": "w", "measured": NaN}', "measured is nan: state a number"),
        ('{"kind": "boost", "subject": "w", "measured": 1e999}', "measured is inf: state a number"),
        (f'{{"kind": "boost", "subject": "w", "measured": {10**400}}}', "measured is 1000"),
        ('{"kind": "boost", "subject": "w", "measured": 5e6}', "measured is 5000000: a priority"),
        ('{"kind": "profile", "subject": "w", "limit": null}', "limit is None: state a number"),
        ('{"kind": "kill_workflow", "subject": "w", "notes": "x"}', "notes is 'x': state a list"),
        ('{"kind": "drain", "subject": "NODE", "jobs": [1]}', "jobs is \\[1\\]: state a list"),
    ],
)
def test_a_command_that_cannot_be_understood_is_refused(
    schedd: FakeSchedd,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    line: str,
    reason: str,
) -> None:
    collector = FakeCollector([fixtures.slots()[SLOT]])
    monkeypatch.setattr(htcondor, "Collector", lambda: collector)
    monkeypatch.setattr(sys, "stdin", io.StringIO(line.replace("NODE", NODE) + "\n"))
    assert main(["obey", "--config", "/nowhere.toml"]) == REFUSED
    assert re.match(reason, capsys.readouterr().err)
    assert schedd.calls == [] and FakeStartd.calls == []


def test_kill_holds_dagman_first(schedd: FakeSchedd) -> None:
    assert run("kill_workflow", notes=["test_failed_100pct"])[0] == DONE
    words = [call[0] for call in schedd.calls]
    assert "Hold" in words[0] and words[1] == "edit" and "Remove" in words[2]
    assert all(ad["JobStatus"] == 3 for ad in schedd.ads)
    assert schedd.ads[0]["RemoveReason"] == "Yardmaster: test_failed_100pct"
    assert run("kill_workflow")[1].startswith("0 jobs are removed")


def test_a_reason_reaches_the_ad_as_it_is(schedd: FakeSchedd) -> None:
    note = 'C:\\data is "full\\", \\"x'
    assert run("kill_workflow", notes=[note])[0] == DONE
    assert schedd.ads[0]["RemoveReason"] == f"Yardmaster: {note}"


def test_profile(schedd: FakeSchedd) -> None:
    assert run("profile", measured=1801.0, limit=3000.0)[0] == DONE
    assert schedd.ads[0]["OriginalMemory"] == 3000
    assert schedd.ads[0]["OriginalMaxWallTimeMins"] == 31
    assert "(0 edits)" in run("profile", measured=1801.0, limit=3000.0)[1]


def test_profile_that_knows_nothing_changes_nothing(schedd: FakeSchedd) -> None:
    run("profile", measured=0.0, limit=0.0)
    assert schedd.calls == []


def test_drain_and_undrain(schedd: FakeSchedd) -> None:
    collector = FakeCollector([fixtures.slots()[SLOT]])
    for _ in range(2):
        assert run("drain", NODE, jobs=["j"], collector=collector)[0] == DONE
    assert [call[0] for call in FakeStartd.calls] == ["drain"]
    assert FakeStartd.calls[0][-1] == "Yardmaster for j"
    for _ in range(2):
        assert run("undrain", NODE, collector=collector)[0] == DONE
    assert [call[0] for call in FakeStartd.calls] == ["drain", "undrain"]
    assert run("drain", "nobody", jobs=["j"], collector=collector)[0] == REFUSED


def test_drain_that_the_collector_does_not_show_yet(
    schedd: FakeSchedd, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lags(FakeStartd):
        def drainJobs(self, *words: Any) -> None:  # noqa: N802
            super().drainJobs(*words)
            raise RuntimeError("Startd failed to start draining jobs.")

    monkeypatch.setattr(htcondor, "Startd", Lags)
    monkeypatch.setattr(module, "LAG_S", 0.0)
    assert run("drain", NODE, jobs=["j"]) == (DONE, "drains already")


def test_what_is_refused(schedd: FakeSchedd) -> None:
    assert run("boost", measured=1.0, dry_run=True)[0] == REFUSED
    assert run("alert")[0] == REFUSED
    assert run("boost", measured=1.0, expires_at=1)[0] == REFUSED
    later = int(time.time() * 1000) + 60_000
    assert run("boost", measured=1.0, expires_at=later)[0] == DONE
    assert AGAIN not in (DONE, REFUSED) and schedd.calls
