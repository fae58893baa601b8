"""Ads that a pool of HTCondor 23.9.6 had: jobs as WMAgent, Tier-0 and CRAB submit them, and
slots."""

import json
from pathlib import Path
from typing import Any

from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.values import Ad

FOLDER = Path(__file__).with_name("fixtures")


def _ads(name: str) -> list[Ad]:
    blocks = (FOLDER / name).read_text().strip().split("\n\n")
    return [classad.parseOne(block) for block in blocks]


def jobs() -> dict[str, Ad]:
    """Jobs by the name of the fixture."""
    return {str(ad["Fixture"]): ad for ad in _ads("jobs.ads")}


def job(name: str, **changes: Any) -> Ad:
    """A fixture's ad of one's own, with changes."""
    ad = jobs()[name]
    for key, value in changes.items():
        if value is None:
            del ad[key]
        else:
            ad[key] = value
    return ad


def slots() -> dict[str, Ad]:
    """Slots by their names."""
    return {str(ad["Name"]): ad for ad in _ads("slots.ads")}


def expected() -> list[dict[str, Any]]:
    """Records as a person wrote them from what the ads mean."""
    return [json.loads(line) for line in (FOLDER / "expected.jsonl").read_text().splitlines()]
