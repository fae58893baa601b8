"""Offers: announced when something changed, renewed while nothing did, and never twice the same
cores."""

import fixtures
from world import SLOT

from yardmaster_htcondor.offers import Offers, Promise
from yardmaster_htcondor.values import Ad

NOW = 1_000_000.0


def slot(cores: int = 8, memory: int = 16_000, made: float = NOW, **more: object) -> Ad:
    ad = fixtures.slots()[SLOT]
    ad["Cpus"], ad["Memory"], ad["MyCurrentTime"] = cores, memory, int(made)
    ad["GLIDEIN_ToRetire"] = int(NOW) + 50_000
    for key, value in more.items():
        ad[key] = value
    return ad


def promise(cores: int = 2, memory: int = 2048) -> Promise:
    return Promise({"cores": cores}, memory)


def test_announced_once_and_renewed_at_a_third() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot()], NOW)
    assert (first["kind"], first["cores_free"], first["attempt"]) == ("slot_offer", 8, int(NOW))
    assert offers.read([slot()], NOW + 20) == []
    (again,) = offers.read([slot()], NOW + 31)
    assert again["attempt"] == first["attempt"] and again["cores_free"] == 8
    assert again["expires_at"] > first["expires_at"] and again["wall_left_s"] < first["wall_left_s"]


def test_a_match_is_taken_off_until_the_ad_shows_it() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot()], NOW)
    offers.give(SLOT, first["attempt"], "m", promise())
    assert offers.read([slot()], NOW + 1) == [], "as Yardmaster reckons"
    assert offers.read([slot(6, 13_952)], NOW + 2) == [], "the ad shows it before the queue does"
    offers.started(SLOT, "m", NOW + 2)
    assert offers.read([slot(6, 13_952, NOW + 5)], NOW + 6) == []
    assert offers.places[SLOT].promises == {}
    (again,) = offers.read([slot(8, 16_000, NOW + 20)], NOW + 21)
    assert again["cores_free"] == 8 and again["attempt"] > first["attempt"], "the job ended"


def test_given_back_to_the_same_announcement() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot()], NOW)
    offers.give(SLOT, first["attempt"], "m", promise())
    offers.give_back(SLOT, first["attempt"], "m")
    assert offers.read([slot()], NOW + 1) == []


def test_a_decision_on_an_older_announcement_makes_a_new_one() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot(4)], NOW)
    (second,) = offers.read([slot(8)], NOW + 5)
    offers.give(SLOT, first["attempt"], "m", promise())
    (third,) = offers.read([slot(8)], NOW + 6)
    assert (second["cores_free"], third["cores_free"]) == (8, 6)
    assert third["attempt"] > second["attempt"]


def test_has_room() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot(4)], NOW)
    offers.give(SLOT, first["attempt"], "a", promise(3))
    assert offers.has_room(SLOT, 0) and not offers.has_room(SLOT, 2)
    offers.give(SLOT, first["attempt"], "b", promise(3))
    assert not offers.has_room(SLOT, 0) and not offers.has_room("another", 0)


def test_full_slots_say_nothing_and_come_back() -> None:
    offers = Offers(90)
    (first,) = offers.read([slot(2)], NOW)
    offers.give(SLOT, first["attempt"], "m", promise(2))
    assert offers.read([slot(2)], NOW + 1) == []
    offers.started(SLOT, "m", NOW + 1)
    assert offers.read([slot(0, 13_952, NOW + 9)], NOW + 9) == []
    (again,) = offers.read([slot(2, 16_000, NOW + 99)], NOW + 99)
    assert again["attempt"] > first["attempt"]


def test_withdrawn() -> None:
    for gone in ([], [slot(State="Drained")], [slot(GLIDEIN_ToRetire=int(NOW))]):
        offers = Offers(90)
        (first,) = offers.read([slot()], NOW)
        (record,) = offers.read(gone, NOW + 1)
        assert record["kind"] == "slot_withdrawn" and record["attempt"] == first["attempt"]
        assert offers.read(gone, NOW + 2) == []
        (again,) = offers.read([slot()], NOW + 3)
        assert again["attempt"] > first["attempt"]


def test_filled_by_others() -> None:
    offers = Offers(90)
    offers.read([slot()], NOW)
    (record,) = offers.read([slot(3)], NOW + 1)
    assert (record["kind"], record["cores_free"]) == ("slot_offer", 3)
    (record,) = offers.read([slot(0)], NOW + 2)
    assert record["kind"] == "slot_withdrawn"
