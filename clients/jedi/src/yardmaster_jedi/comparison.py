"""Both answers to a request as a `comparison` record."""

from typing import Any

from yardmaster_client.codec import Record
from yardmaster_jedi.connection import now_millis

FATES_MAX = 200
FIGURES_MAX = 200

REASON_MAX = 500
"""Of what a broker raised; characters."""

ABSENT: Record = {"outcome": "absent"}


def comparison(
    request: Record, brokerage: str, in_charge: str, yardmaster: Record, other: Record
) -> Record:
    """The record; `in_charge` is the side whose answer was carried out."""
    if brokerage != "nucleus":
        yardmaster, other = as_drawn(yardmaster), as_drawn(other)
    same = ("domain", "subject", "attempt", "task", "policy", "gshare", "resource_type", "label")
    return {
        **{name: request[name] for name in same},
        "queue_type": "analysis" if brokerage == "analysis" else "production",
        "asked_at": request["asked_at"],
        "compared_at": now_millis(),
        "in_charge": in_charge,
        "yardmaster": first_what_matters(yardmaster, other),
        "other": first_what_matters(other, yardmaster),
    }


def yardmaster_answer(decision: Record | None, took_ms: int) -> Record:
    """Yardmaster's side; `took_ms` from the question to its answer."""
    if decision is None:
        return {**ABSENT, "took_ms": took_ms}
    ranked = decision["ranked"]
    return {
        "outcome": decision["outcome"],
        "reason": reason_of(decision),
        "took_ms": took_ms,
        "queues": [{name: it[name] for name in ("queue", "weight", "jobs")} for it in ranked],
        "fates": [
            {"queue": it["queue"], "filter": it["filter"], "reason": _why(it)}
            for it in _out(decision)
        ],
        "figures": [_figures(it, decision["factor_names"]) for it in ranked],
        "notes": list(decision["notes"]),
    }


def crashed_answer(error: Exception, took_ms: int) -> Record:
    """That of a broker that raised instead of answering, after `took_ms`."""
    reason = f"{type(error).__name__}: {error}"[:REASON_MAX]
    return {"outcome": "failed", "reason": reason, "took_ms": took_ms}


def reason_of(decision: Record) -> str:
    """Why a decision assigns nothing: its reason, or how many queues each filter rejected."""
    if decision["outcome"] == "assign":
        return ""
    counts = " ".join(f"{it['filter']}:{it['rejected']}" for it in decision["counts"])
    return " ".join(part for part in (decision["reason"], counts) if part)


def as_drawn(side: Record) -> Record:
    """A side with its queues as JEDI draws them: one of weight 0 ahead of all others, then by
    weight; equal ones by name. Brokers list queues that the task used first too, whatever their
    weight: that says nothing of what is drawn."""

    def place(it: Record) -> tuple[bool, float, str]:
        return it["weight"] != 0, -it["weight"], it["queue"]

    return {**side, "queues": sorted(side.get("queues", []), key=place)}


def first_what_matters(side: Record, other: Record) -> Record:
    """A side with its fates in bounds: those of queues that the other side chose come first."""
    chosen = {it["queue"] for it in other.get("queues", [])}
    fates = sorted(side.get("fates", []), key=lambda it: it["queue"] not in chosen)
    figures = side.get("figures", [])
    return {**side, "fates": fates[:FATES_MAX], "figures": figures[:FIGURES_MAX]}


def _out(decision: Record) -> list[Record]:
    """Rejected queues; in a repeated deferral an empty filter marks one that no longer is."""
    return [it for it in decision["fates"] if it["filter"]]


def _why(fate: Record) -> str:
    """The reason of a rejection, with what was measured and what would have passed."""
    measured, limit = fate.get("measured", 0.0), fate.get("limit", 0.0)
    figures = f"{measured:.10g} for {limit:.10g}" if measured or limit else ""
    return " ".join(part for part in (fate["reason"], figures) if part)


def _figures(ranked: Record, names: list[str]) -> Record:
    """Figures of the weight of a queue that a decision chose, by their names."""
    shown = dict(zip(names, ranked["factors"], strict=False))

    def figure(*among: str) -> int | None:
        return next((int(shown[name]) for name in among if name in shown), None)

    figures: dict[str, Any] = {
        "queue": ranked["queue"],
        "running": figure("running", "R"),
        "queued": figure("queued"),
        "pilots": None,
    }
    return figures
