"""Check names what is wrong, and the remedy."""

from pathlib import Path
from typing import Any

import pytest

from yardmaster_htcondor import check as module
from yardmaster_htcondor.bindings import classad, htcondor
from yardmaster_htcondor.check import Finding, share, shipped_settings, shipped_text
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.matching import Terms

AD = classad.ClassAd()
AD["Name"] = "schedd-1"

SHARE = '(AcctGroup =?= "analysis")'


def params(**changes: str) -> dict[str, str]:
    stated = shipped_settings("120", SHARE)
    users = {"QUEUE_SUPER_USERS": "root, condor, yardmaster", "YM_GRACE": "120"}
    return {**stated, **users, "JOB_TRANSFORM_NAMES": " YARDMASTER YARDMASTER_CORES", **changes}


def gate(**changes: str) -> dict[str, str]:
    stated = params(**changes)
    stated.setdefault("APPEND_REQUIREMENTS", "")
    return {**stated, "APPEND_REQUIREMENTS": stated["YM_GATE"]}


class FakeSchedd:
    known: tuple[str, ...] = ("yardmaster@pool.test",)

    def __init__(self, ad: Any) -> None:
        pass

    def query(self, *words: Any) -> list[Any]:
        return []

    def queryUserAds(self) -> list[Any]:  # noqa: N802
        found = []
        for name in self.known:
            ad = classad.ClassAd()
            ad["User"] = name
            found.append(ad)
        return found


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Any:
    pong = classad.ClassAd()
    pong["MyRemoteUserName"] = "yardmaster@pool.test"
    monkeypatch.setattr(htcondor, "Schedd", FakeSchedd)
    monkeypatch.setattr(htcondor, "ping", lambda ad, right: pong)
    FakeSchedd.known = ("yardmaster@pool.test",)

    def looked(stated: dict[str, str], mode: str = "lead", grace_s: float = 120.0) -> list[Finding]:
        monkeypatch.setattr(htcondor, "RemoteParam", lambda ad: stated)
        config = Config("k:1", mode=mode, terms=Terms(grace_s, 180.0, 3))
        return [it for it in module.schedd(AD, config) if it.level != "ok"]

    return looked


def test_all_is_well(look: Any) -> None:
    assert look(gate()) == []


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (gate(JOB_TRANSFORM_NAMES="OTHER"), "transform of 50-yardmaster.conf is not in force"),
        (params(), "gate .* is not in force"),
        (params(JOB_TRANSFORM_NAMES=""), "has no 50-yardmaster.conf"),
        (gate(YM_GRACE="60"), "YM_GRACE is 60, grace_s 120"),
        (gate(QUEUE_SUPER_USERS="root"), "yardmaster@pool.test may not edit"),
        (gate(JOB_TRANSFORM_YARDMASTER="SET YM_Lead true"), "not as it was shipped"),
    ],
)
def test_what_is_wrong(look: Any, stated: dict[str, str], message: str) -> None:
    import re

    found = look(stated)
    assert any(re.search(message, it.about) and it.remedy for it in found), [
        str(it) for it in found
    ]
    assert all(it.level == "WRONG" for it in found)


def test_a_user_that_the_schedd_does_not_know(look: Any) -> None:
    FakeSchedd.known = ()
    (found,) = look(gate())
    assert "does not know yardmaster@pool.test" in found.about and "held job" in found.remedy


def test_shadow_with_a_gate_makes_jobs_wait_in_vain(look: Any) -> None:
    (found,) = look(gate(), mode="shadow")
    assert "in vain" in found.about
    (found,) = look(params(JOB_TRANSFORM_NAMES=""), mode="shadow")
    assert found.level == "note"


def test_a_negotiator_that_rests_too_long(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        htcondor, "RemoteParam", lambda ad: params(NEGOTIATOR_CYCLE_DELAY="1", DAEMON_LIST="")
    )
    levels = {it.about.split()[0]: it.level for it in module.negotiator(AD, Config("k:1", "lead"))}
    assert levels == {"NEGOTIATOR_CYCLE_DELAY": "ok", "NEGOTIATOR_INTERVAL": "note"}
    assert {it.level for it in module.negotiator(AD, Config("k:1"))} == {"ok"}


def test_the_share_is_shown() -> None:
    class Stated(dict[str, str]):
        pass

    settings: Any = Stated(gate())
    assert share(settings) == SHARE
    assert share(Stated({"JOB_TRANSFORM_YARDMASTER": ""})) == module.NO_SHARE  # type: ignore[arg-type]


def test_what_is_shipped_leads_nothing() -> None:
    lines = [line for line in shipped_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 20
    assert any(line.strip().endswith(module.NO_SHARE) for line in lines)
    unit = Path(module.__file__).with_name("shipped") / "yardmaster-htcondor.service"
    assert "yardmaster-htcondor agent --config" in unit.read_text()
