"""Check names what is wrong, and the remedy."""

import re
import socket
from pathlib import Path
from typing import Any

import pytest

from yardmaster_client.codec import codec
from yardmaster_htcondor import check as module
from yardmaster_htcondor.bindings import classad, htcondor
from yardmaster_htcondor.check import Finding, share, shipped_settings, shipped_text
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.look import TOPICS
from yardmaster_htcondor.matching import Terms

AD = classad.ClassAd()
AD["Name"] = "schedd-1"

SHARE = '(AcctGroup =?= "analysis")'


def params(share: str = SHARE, **changes: str) -> dict[str, str]:
    """A schedd's configuration as its daemon has it."""
    stated = shipped_settings(changes.get("YM_GRACE", "120"), share)
    names = {"JOB_TRANSFORM_NAMES": "OTHER YARDMASTER_CLEAR YARDMASTER"}
    users = {"QUEUE_SUPER_USERS": "root, condor, yardmaster", "JOB_TRANSFORM_OTHER": "SET A 1"}
    return {**stated, **users, **names, **changes}


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
        looked.ok = [it.about for it in module.schedd(AD, config) if it.level == "ok"]  # type: ignore[attr-defined]
        return [it for it in module.schedd(AD, config) if it.level != "ok"]

    return looked


def test_all_is_well(look: Any) -> None:
    assert look(params()) == []
    assert look.ok[-1] == f"schedd schedd-1: jobs with {SHARE} wait"


NAMES = "JOB_TRANSFORM_NAMES"


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (params(**{NAMES: ""}), "has no 50-yardmaster.conf"),
        (params(**{NAMES: "YARDMASTER"}), "YARDMASTER_CLEAR is not in force"),
        (params(**{NAMES: "YARDMASTER_CLEAR"}), "YARDMASTER is not in force"),
        (params(**{NAMES: "YARDMASTER YARDMASTER_CLEAR"}), "YARDMASTER comes before YARDMASTER_CL"),
        (
            params(JOB_TRANSFORM_YARDMASTER="SET YM_Lead true"),
            "YARDMASTER is not as it was shipped",
        ),
        (params(JOB_TRANSFORM_YARDMASTER_CLEAR="DELETE YM_Lead"), "CLEAR is not as it was shipped"),
        (params(PROTECTED_JOB_ATTRS="A, ym_lead"), "users may edit YM_Until, YM_Offer, YM_Match"),
        (params('(A =?= "x") || true'), "share .* is not one expression in brackets"),
        (params("true"), "share true is not one expression in brackets"),
        (params("(A =?= )"), "share .* is not one expression in brackets"),
    ],
)
def test_what_is_not_in_force_makes_no_job_wait(
    look: Any, stated: dict[str, str], message: str
) -> None:
    found = look(stated)
    assert any(re.search(message, it.about) and it.remedy for it in found), [
        str(it) for it in found
    ]
    assert all(it.level == "WRONG" for it in found)
    assert not any("wait" in about for about in look.ok)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (params(YM_GRACE="60"), "YM_GRACE is 60, grace_s 120"),
        (params(QUEUE_SUPER_USERS="root"), "yardmaster@pool.test may not edit"),
    ],
)
def test_what_is_wrong(look: Any, stated: dict[str, str], message: str) -> None:
    (found,) = look(stated)
    assert found.level == "WRONG" and re.search(message, found.about) and found.remedy


def test_the_schedd_shows_defaults_of_a_jobs_attributes(look: Any) -> None:
    """So does one of 23.9.6 that is asked; the transform itself has the attribute."""
    shown = params()["JOB_TRANSFORM_YARDMASTER"].replace("$(MY.Requirements:true)", "true")
    assert look(params(JOB_TRANSFORM_YARDMASTER=shown.replace("$(MY.RequestCpus:1)", "1"))) == []


@pytest.mark.parametrize("text", ["SET Requirements true", "[ set_Requirements = true; ]"])
def test_a_transform_afterwards_may_take_the_gate_away(look: Any, text: str) -> None:
    names = {NAMES: "YARDMASTER_CLEAR YARDMASTER LAST", "JOB_TRANSFORM_LAST": text}
    (found,) = look(params(**names))
    assert found.level == "note" and "JOB_TRANSFORM_LAST sets Requirements" in found.about
    assert look(params(**{**names, NAMES: "LAST YARDMASTER_CLEAR YARDMASTER"})) == []


def test_a_user_that_the_schedd_does_not_know(look: Any) -> None:
    FakeSchedd.known = ()
    (found,) = look(params())
    assert "does not know yardmaster@pool.test" in found.about and "held job" in found.remedy


def test_shadow_with_a_share_makes_jobs_wait_in_vain(look: Any) -> None:
    (found,) = look(params(), mode="shadow")
    assert "in vain" in found.about
    (found,) = look(params(JOB_TRANSFORM_NAMES=""), mode="shadow")
    assert found.level == "note"


def test_shadow_with_the_share_as_it_was_shipped_is_the_way_back(look: Any) -> None:
    for mode in ("shadow", "lead"):
        assert look(params(module.NO_SHARE), mode=mode) == []
        assert "no job waits for Yardmaster" in look.ok[-1]


def test_a_negotiator_that_rests_too_long(monkeypatch: Any) -> None:
    monkeypatch.setattr(
        htcondor, "RemoteParam", lambda ad: params(NEGOTIATOR_CYCLE_DELAY="1", DAEMON_LIST="")
    )
    levels = {it.about.split()[0]: it.level for it in module.negotiator(AD, Config("k:1", "lead"))}
    assert levels == {"NEGOTIATOR_CYCLE_DELAY": "ok", "NEGOTIATOR_INTERVAL": "note"}
    assert {it.level for it in module.negotiator(AD, Config("k:1"))} == {"ok"}


def test_the_share_is_shown() -> None:
    settings: Any = params()
    assert share(settings) == SHARE
    settings = {"JOB_TRANSFORM_YARDMASTER": ""}
    assert share(settings) == module.NO_SHARE


def test_what_is_shipped_leads_nothing() -> None:
    lines = [line for line in shipped_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 20
    assert any(line.strip().endswith(module.NO_SHARE) for line in lines)
    unit = Path(module.__file__).with_name("shipped") / "yardmaster-htcondor.service"
    assert "yardmaster-htcondor agent --config" in unit.read_text()
    assert "APPEND_REQ" not in shipped_text(), "a pool may have one of its own"


def kafka(monkeypatch: pytest.MonkeyPatch, domain: str | None, config: Config) -> list[Finding]:
    """What is found in a Kafka whose `progress` is of that domain."""

    class Message:
        def error(self) -> None:
            pass

        def value(self) -> bytes:
            stated = {"domain": domain, "epoch": 1, "number": 1, "now": 1}
            return codec("progress").encode(stated)

    class FakeConsumer:
        def __init__(self, properties: Any) -> None:
            words = TOPICS
            self.topics = {f"yardmaster.cms.{it}": self for it in words}
            self.partitions = {0: None}

        def list_topics(self, timeout: float) -> Any:
            return self

        def get_watermark_offsets(self, part: Any, timeout: float) -> tuple[int, int]:
            return 0, 2

        def assign(self, parts: list[Any]) -> None:
            pass

        def consume(self, count: int, timeout: float) -> list[Any]:
            return [] if domain is None else [Message()]

        def close(self) -> None:
            pass

    monkeypatch.setattr(module, "Consumer", FakeConsumer)
    monkeypatch.setattr(module, "PROGRESS_S", 0.01)
    return list(module.kafka(config))


def test_a_domain_that_nobody_decides_for(monkeypatch: pytest.MonkeyPatch) -> None:
    found = kafka(monkeypatch, "cms", Config("k:1", domain="cmss"))[-1]
    assert found.level == "WRONG" and "domain is cmss, and Yardmaster there decides for cms" in (
        found.about
    )
    assert [it.level for it in kafka(monkeypatch, "cms", Config("k:1"))] == ["ok", "ok"]
    assert kafka(monkeypatch, None, Config("k:1"))[-1].level == "note"


def test_a_property_of_the_client_that_nobody_knows() -> None:
    (found,) = module.kafka(Config("k:1", client={"no.such": "x"}))
    assert found.about.startswith("[client]: No such configuration property")


def test_an_address_of_metrics_that_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        # It takes the connection, and says nothing.
        monkeypatch.setattr(module, "LOOK_S", 0.2)
        (found,) = module.metrics(Config("k:1", metrics=address))
    assert found.level == "WRONG" and "Address already in use" in found.about
    assert list(module.metrics(Config("k:1", metrics=address))) == []
    assert list(module.metrics(Config("k:1", metrics=""))) == []


def test_an_agent_that_works_here_already() -> None:
    from yardmaster_htcondor.metrics import Metrics

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    Metrics().serve("127.0.0.1", port)
    (found,) = module.metrics(Config("k:1", metrics=f"127.0.0.1:{port}"))
    assert found.level == "note" and "an agent works here" in found.about


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_metrics_of_ipv6() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        (finding,) = module.metrics(Config("k:1", metrics=f"[::1]:{port}"))
        assert "Address already in use" in str(finding)
    assert list(module.metrics(Config("k:1", metrics=f"[::1]:{port}"))) == []
