"""A match becomes edits of the job's ad, or an outcome that states why not. Pure.

A job's ad holds all that is known of its match, so an agent that begins again needs nothing else:
`YM_Offer` (a pattern of the slot's name), `YM_Match` (the decision's id and the job's attempt) and
`YM_Until` (until when only that slot is right).
"""

import math
import re
from dataclasses import dataclass, field
from typing import Any

from yardmaster_htcondor.identity import COMPLETED, HELD, IDLE, ON_SLOT, attempt
from yardmaster_htcondor.job_state import is_led
from yardmaster_htcondor.slots import offer_of, offer_of_pattern, offer_pattern
from yardmaster_htcondor.values import Ad, number, text, truth, whole

GRID_S = 60
"""`YM_Until` of jobs that wait is a multiple of so many s: it is a part of their Requirements, and
jobs that are alike stay in one autocluster."""

UNDEFINED = "undefined"


@dataclass(frozen=True)
class Match:
    """A decision that gives a job a part of a slot."""

    id: str
    offer: str
    offer_attempt: int
    job: str
    job_attempt: int
    cores: int
    memory_mb: int
    resources: dict[str, int] = field(default_factory=dict)
    made_s: float = 0.0
    task: str = ""
    policy: str = ""
    gshare: str = ""
    job_class: str = ""
    site: str = ""

    def mark(self) -> str:
        """`YM_Match` of a job that has it."""
        return f"{self.id}/{self.job_attempt}"

    def amounts(self) -> dict[str, int]:
        """Amounts that it takes, by the names that offers have."""
        named = ("gpus", "io_slots")
        return {"cores": self.cores, **{name: self.resources.get(name, 0) for name in named}}


@dataclass(frozen=True)
class End:
    """The end of a match: the kind of its outcome, and why."""

    kind: str
    reason: str


@dataclass(frozen=True)
class Terms:
    """How long things may take; s."""

    grace_s: float
    match_s: float
    misses: int


def match_of(decision: dict[str, Any]) -> Match | None:
    """The match in a decision; None if it matches nothing."""
    matched = decision.get("matched")
    if not matched or decision["outcome"] != "assign" or decision["dry_run"]:
        return None
    made = decision["now"]
    ranked = decision["ranked"]
    return Match(
        id=decision["id"].hex(),
        offer=decision["subject"],
        offer_attempt=decision["attempt"],
        job=matched["job"],
        job_attempt=matched["job_attempt"],
        cores=matched["cores"],
        memory_mb=matched["rss_mb"],
        resources={it["name"]: it["amount"] for it in matched["resources"]},
        made_s=made.timestamp() if hasattr(made, "timestamp") else made / 1000,
        task=decision["task"],
        policy=decision["policy"],
        gshare=decision["gshare"],
        job_class=matched["class"],
        site=ranked[0]["queue"] if ranked else "",
    )


def objection(match: Match, ad: Ad | None, now_s: float, terms: Terms) -> End | None:
    """Why a match is not carried out, by the job's ad alone; None if nothing objects."""
    if ad is None or whole(ad, "JobStatus") != IDLE:
        return End("failed", "the job does not wait any more")
    if attempt(ad) != match.job_attempt:
        tried = f"attempt {attempt(ad)}, the match of attempt {match.job_attempt}"
        return End("failed", f"the job is in {tried}")
    if not is_led(ad):
        return End("refused", "the job is HTCondor's: YM_Lead is not true")
    if now_s - match.made_s > terms.match_s:
        return End("expired", f"the match was read {now_s - match.made_s:.0f} s after it was made")
    under_way = carried(ad)
    if under_way is not None and under_way[1] == match.job_attempt and under_way[0] != match.id:
        return End("failed", "another match of the job is under way")
    return None


def carried(ad: Ad) -> tuple[str, int, str] | None:
    """The match that a job's ad names: the decision's id, the job's attempt, and the offer."""
    mark, pattern = text(ad, "YM_Match"), text(ad, "YM_Offer")
    found = re.fullmatch(r"([0-9a-f]{32})/([0-9]{1,10})", mark)
    if found is None or not pattern:
        return None
    return found[1], int(found[2]), offer_of_pattern(pattern)


def is_carried(match: Match, ad: Ad) -> bool:
    """Whether a decision that is read was carried out before."""
    return text(ad, "YM_Match") == match.mark() and bool(text(ad, "YM_Offer"))


def edits_of_match(match: Match, ad: Ad, now_s: float, terms: Terms) -> dict[str, str]:
    """Attributes that carry a match out, in this order: the last one opens the gate."""
    edits = {"YM_Until": str(int(now_s + terms.match_s)), "YM_Match": quoted(match.mark())}
    if truth(ad, "WMCore_ResizeJob"):
        edits["YM_Cores"] = str(match.cores)
    return {**edits, "YM_Offer": quoted(offer_pattern(match.offer))}


def edits_of_miss(misses: int, now_s: float, terms: Terms) -> dict[str, str]:
    """Attributes of a job whose match was not carried out: it waits again, or is left to HTCondor
    once that happened too often."""
    edits = {"YM_Misses": str(misses), "YM_Offer": UNDEFINED, "YM_Cores": UNDEFINED}
    if misses >= terms.misses:
        return {**edits, "YM_Lead": "false", "YM_Until": "0"}
    return {**edits, "YM_Until": str(grid(now_s + terms.grace_s))}


def misses_after(ad: Ad, end: End) -> int:
    """How many matches in vain a job has after one more. A slot that is gone is no fault of the
    job."""
    return max(0, whole(ad, "YM_Misses")) + (end.kind in ("refused", "expired"))


def what_became(
    match: Match, ad: Ad | None, is_slot_there: bool, until_s: float, now_s: float
) -> End | None:
    """The end of a match that was carried out; None while it is under way."""
    if ad is None:
        return End("failed", "the job is gone")
    status, tried = whole(ad, "JobStatus"), attempt(ad)
    if status in ON_SLOT and not text(ad, "RemoteHost"):
        return None  # it has just started: the next reading shows where
    if status in (*ON_SLOT, COMPLETED):
        return started(match, ad)
    if status != IDLE:
        held = "held" if status == HELD else "removed"
        return End("failed", f"the job was {held} before it started")
    if tried != match.job_attempt:
        return End("failed", "the job started, and waits again")
    if not is_slot_there:
        return End("failed", "the slot is gone")
    if now_s > until_s:
        return End("expired", f"the job did not start within {until_s - match.made_s:.0f} s")
    return None


def started(match: Match, ad: Ad) -> End:
    """The end of a match whose job started."""
    host = text(ad, "RemoteHost") or text(ad, "LastRemoteHost")
    if offer_of(host) == match.offer:
        return End("accepted", f"runs on {host}")
    return End("failed", f"runs on {host}, not on {match.offer}")


def started_s(ad: Ad) -> float:
    """When the job last started; s since 1970."""
    return number(ad, "JobCurrentStartDate") or 0.0


def grid(at_s: float) -> int:
    """The next moment of the grid after a time."""
    return GRID_S * (math.floor(at_s / GRID_S) + 1)


def quoted(value: str) -> str:
    """A text as a ClassAd literal; what is written here has neither quotes nor backslashes."""
    return '"' + value.replace("\\", "").replace('"', "") + '"'
