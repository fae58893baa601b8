"""Offers of slots: the `pilot` record of a partitionable slot, and the pattern that names it."""

import re
from typing import Any

from yardmaster_htcondor.values import Ad, text, truth, whole, words

UNCLAIMED = "Unclaimed"
"""The state of a partitionable slot that gives slots away; one that is drained has another."""


def is_offering(ad: Ad, now_s: float) -> bool:
    """Whether a slot gives slots away at all."""
    is_open = truth(ad, "PartitionableSlot") and text(ad, "State") == UNCLAIMED
    has_time = whole(ad, "GLIDEIN_ToRetire") > now_s
    return bool(is_open and has_time and text(ad, "GLIDEIN_CMSSite"))


def free_amounts(ad: Ad) -> dict[str, int]:
    """Free amounts beside memory, by the names that records have."""
    amounts = {"cores": whole(ad, "Cpus"), "gpus": whole(ad, "GPUs")}
    if "Ioslots" in ad:
        amounts["io_slots"] = whole(ad, "Ioslots")
    return amounts


def slot_offer(
    ad: Ad, attempt: int, free: dict[str, int], memory_mb: int, now_s: float, lifetime_s: float
) -> dict[str, Any]:
    """The record of what is free: the ad's amounts less what was promised."""
    others = {"gpus": free.get("gpus", 0), "disk_mb": whole(ad, "Disk") // 1024}
    others["io_slots"] = free.get("io_slots", 0)
    return {
        "kind": "slot_offer",
        "queue": text(ad, "GLIDEIN_CMSSite"),
        "at": int(now_s * 1000),
        "node": node(text(ad, "Name")),
        "offer": text(ad, "Name"),
        "attempt": attempt,
        "cores_free": free["cores"],
        "cores_total": whole(ad, "TotalSlotCpus", free["cores"]),
        "wall_left_s": int(whole(ad, "GLIDEIN_ToRetire") - now_s),
        "mem_free_mb": memory_mb,
        "expires_at": int((now_s + lifetime_s) * 1000),
        "resources": [{"name": name, "amount": of} for name, of in others.items() if of > 0],
        "labels": labels(ad),
    }


def labels(ad: Ad) -> list[dict[str, Any]]:
    """Properties of the slot that jobs may need."""
    stated = {
        "Arch": words(text(ad, "Arch")),
        "Microarch": words(text(ad, "Microarch")),
        "OpSysAndVer": words(text(ad, "OpSysAndVer")),
        "CUDACapability": capabilities(ad),
    }
    return [{"name": name, "values": values} for name, values in stated.items() if values]


def capabilities(ad: Ad) -> list[str]:
    """CUDA capabilities of its GPUs."""
    for name in ("CUDACapability", "GPUs_Capability"):
        if name in ad:
            found = ad.eval(name)
            return [f"{found:.1f}"] if isinstance(found, float) else words(str(found))
    return []


def withdrawal(known: dict[str, Any], now_s: float) -> dict[str, Any]:
    """The record that takes an offer back."""
    kept = {name: known[name] for name in ("queue", "offer", "attempt")}
    return {"kind": "slot_withdrawn", "at": int(now_s * 1000), **kept}


def node(offer: str) -> str:
    """The pilot: pilots of one machine are drained each for itself."""
    return offer.partition("@")[2]


OF_PARTS = "(_[0-9]+)?"

ESCAPES = {**{it: f"[{it}]" for it in ".+*?(){}|$["}, "^": "[]^]", "\\": "[[-^]"}
"""How a pattern has letters that mean something in one: without a backslash, as an edit doubles
them. Brackets take neither `^` nor a backslash alone, so each stands for its neighbours as
well."""

LETTERS = {escape: letter for letter, escape in ESCAPES.items()}


def offer_pattern(offer: str) -> str:
    """Matches the slot of an offer, and the dynamic slots that are cut from it."""
    slot, at, pilot = ("".join(ESCAPES.get(it, it) for it in of) for of in offer.partition("@"))
    return f"^{slot}{OF_PARTS}{at}{pilot}$"


def offer_of_pattern(pattern: str) -> str:
    """The offer that a pattern was made of."""
    body = pattern.removeprefix("^").removesuffix("$").replace(f"{OF_PARTS}@", "@", 1)
    escapes = "|".join(re.escape(it) for it in LETTERS)
    return re.sub(escapes, lambda it: LETTERS[it[0]], body)


def offer_of(host: str) -> str:
    """The offer whose slot a host is cut from: slot1_3@pilot is of slot1@pilot. A prefix may have
    a `_` as well: p_slot1_3@pilot is of p_slot1@pilot."""
    slot, at, pilot = host.partition("@")
    return re.sub(r"_[0-9]+$", "", slot) + at + pilot
