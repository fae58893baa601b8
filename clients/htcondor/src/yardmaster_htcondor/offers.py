"""Offers: the newest announcement of each slot, and what Yardmaster gave away of it.

Between a match and the moment when the slot's own ad shows the job, the same cores would be given
twice. So each match is a promise that is taken off what the ad has, until the ad is newer than the
job's start. The ad may show a promise before that is known: what Yardmaster believes is right as
long as it is between what the ad has with all promises taken off, and without.
"""

from dataclasses import dataclass, field
from typing import Any

from yardmaster_htcondor.slots import free_amounts, is_offering, slot_offer, withdrawal
from yardmaster_htcondor.values import Ad, number, text, whole

MEMORY_TOLERANCE_MB = 512
"""By how much memory may differ from what Yardmaster reckons with before a slot is announced
again."""

SEEN_AFTER_S = 1.0
"""A slot's ad shows a job that started so long before the ad was made; s."""


@dataclass
class Promise:
    """A part of a slot that a match takes, until the slot's ad shows it."""

    amounts: dict[str, int]
    memory_mb: int
    started_s: float | None = None
    until_s: float = float("inf")


@dataclass
class Place:
    """A slot: its newest ad and announcement, and what was given away."""

    ad: Ad | None = None
    announced: dict[str, Any] | None = None
    believed: dict[str, int] = field(default_factory=dict)
    believed_mb: int = 0
    is_stale: bool = False
    promises: dict[str, Promise] = field(default_factory=dict)

    def promised(self) -> tuple[dict[str, int], int]:
        """The sum of promises: amounts, and memory."""
        amounts: dict[str, int] = {}
        for promise in self.promises.values():
            for name, of in promise.amounts.items():
                amounts[name] = amounts.get(name, 0) + of
        return amounts, sum(promise.memory_mb for promise in self.promises.values())

    def free(self) -> tuple[dict[str, int], int]:
        """The rest that is free with all promises taken off."""
        if self.ad is None:
            return {"cores": 0}, 0
        promised, memory_mb = self.promised()
        free = {name: of - promised.get(name, 0) for name, of in free_amounts(self.ad).items()}
        return free, whole(self.ad, "Memory") - memory_mb

    def is_as_believed(self) -> bool:
        """Whether what Yardmaster reckons with may be what is free."""
        if self.ad is None or self.is_stale:
            return False
        free, memory_mb = self.free()
        for name, most in free_amounts(self.ad).items():
            if not free[name] <= self.believed.get(name, 0) <= most:
                return False
        least_mb, most_mb = memory_mb - MEMORY_TOLERANCE_MB, whole(self.ad, "Memory")
        return least_mb <= self.believed_mb <= most_mb + MEMORY_TOLERANCE_MB


class Offers:
    """All slots of the pool."""

    def __init__(self, lifetime_s: float) -> None:
        self.lifetime_s = lifetime_s
        self.places: dict[str, Place] = {}
        self.has_read = False

    def is_gone(self, offer: str) -> bool:
        """Whether a slot is known to be gone."""
        return self.has_read and self.ad(offer) is None

    def site(self, offer: str) -> str:
        """The site of a slot; empty if it is gone."""
        place = self.places.get(offer)
        return "" if place is None or place.ad is None else text(place.ad, "GLIDEIN_CMSSite")

    def ad(self, offer: str) -> Ad | None:
        """The newest ad of a slot; None if it is gone."""
        place = self.places.get(offer)
        return None if place is None else place.ad

    def read(self, ads: list[Ad], now_s: float) -> list[dict[str, Any]]:
        """Takes in all slots of the collector; the records that say what changed."""
        found = {text(ad, "Name"): ad for ad in ads}
        self.has_read = True
        for name in [*found, *self.places]:
            self.places.setdefault(name, Place()).ad = found.get(name)
        records = []
        for name, place in list(self.places.items()):
            self._drop_seen(place, now_s)
            records += self._say(place, now_s)
            if place.ad is None and not place.promises and place.announced is None:
                del self.places[name]
        return records

    def _drop_seen(self, place: Place, now_s: float) -> None:
        """Promises that the slot's ad shows by now, or that were not kept."""
        made_s = number(place.ad, "MyCurrentTime") or 0.0 if place.ad is not None else now_s
        for match, promise in list(place.promises.items()):
            started_s = promise.started_s
            is_seen = started_s is not None and started_s + SEEN_AFTER_S < made_s
            if is_seen or promise.until_s < now_s or (place.ad is None and started_s is not None):
                del place.promises[match]

    def _say(self, place: Place, now_s: float) -> list[dict[str, Any]]:
        known = place.announced
        free, memory_mb = place.free()
        is_open = place.ad is not None and is_offering(place.ad, now_s) and free["cores"] > 0
        if place.ad is None or not is_open:
            # That nothing is left Yardmaster knows where it gave the last core away itself.
            is_full = place.is_as_believed() and place.ad is not None
            if known is None or (is_full and is_offering(place.ad, now_s)):
                return []
            place.announced = None
            return [withdrawal(known, now_s)]
        if known is not None and place.is_as_believed():
            if now_s * 1000 < known["expires_at"] - 1000 * self.lifetime_s * 2 / 3:
                return []
            renewed = slot_offer(
                place.ad, known["attempt"], free, memory_mb, now_s, self.lifetime_s
            )
            kept = ("cores_free", "cores_total", "mem_free_mb", "resources", "labels")
            place.announced = {**renewed, **{name: known[name] for name in kept}}
            return [place.announced]
        attempt = int(now_s) if known is None else max(known["attempt"] + 1, int(now_s))
        place.announced = slot_offer(place.ad, attempt, free, memory_mb, now_s, self.lifetime_s)
        place.believed, place.believed_mb, place.is_stale = free, memory_mb, False
        return [place.announced]

    def give(self, offer: str, attempt: int, match: str, promise: Promise) -> None:
        """Yardmaster gave a job a part of a slot; the match is named by its decision."""
        place = self.places.setdefault(offer, Place())
        place.promises[match] = promise
        self._reckon(place, attempt, promise, -1)

    def give_back(self, offer: str, attempt: int, match: str) -> None:
        """A match is not carried out: Yardmaster gives the part back to the announcement as
        well."""
        place = self.places.get(offer)
        promise = None if place is None else place.promises.pop(match, None)
        if place is not None and promise is not None:
            self._reckon(place, attempt, promise, 1)

    def _reckon(self, place: Place, attempt: int, promise: Promise, sign: int) -> None:
        """Of an announcement that was replaced, the newest knows nothing: it is made again."""
        if place.announced is None or place.announced["attempt"] != attempt:
            place.is_stale = True
            return
        for name, of in promise.amounts.items():
            place.believed[name] = place.believed.get(name, 0) + sign * of
        place.believed_mb += sign * promise.memory_mb

    def drop(self, offer: str, match: str) -> None:
        """A match is over whose job waits no more: the slot is announced again as it is."""
        place = self.places.get(offer)
        if place is not None and place.promises.pop(match, None) is not None:
            place.is_stale = True

    def started(self, offer: str, match: str, at_s: float) -> None:
        """The job of a match started on its slot."""
        place = self.places.get(offer)
        if place is not None and match in place.promises:
            place.promises[match].started_s = at_s

    def has_room(self, offer: str, cores: int) -> bool:
        """Whether a slot has cores left, all promises taken off."""
        place = self.places.get(offer)
        return place is not None and place.free()[0]["cores"] >= cores
