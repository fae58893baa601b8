"""Names of slots and the patterns of them, as HTCondor's own regexp takes them."""

import pytest
from world import SLOT

from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.slots import offer_of, offer_of_pattern, offer_pattern


def takes(pattern: str, name: str) -> bool:
    ad = classad.ClassAd()
    ad["Pattern"], ad["Name"] = pattern, name
    return bool(classad.ExprTree("regexp(Pattern, Name)").eval(ad))


@pytest.mark.parametrize(
    "offer",
    [
        SLOT,
        "slot1@a+b(c)@d.e",
        "slot2@x",
        "p_slot1@x",
        "p_1@x",
        "slot1@a[0]",
        "slot1@a[.]b]",
        "slot1@a^b",
        "slot1@a\\b",
        "slot1@{a}|$b?*",
    ],
)
def test_a_pattern_matches_its_slot_and_what_is_cut_from_it(offer: str) -> None:
    pattern, (slot, _, pilot) = offer_pattern(offer), offer.partition("@")
    assert "\\" not in pattern and offer_of_pattern(pattern) == offer
    assert takes(pattern, offer) and takes(pattern, f"{slot}_12@{pilot}")
    others = (f"{slot}1@{pilot}", f"{slot}@{pilot}x", f"x{offer}", f"{slot}_1_2@{pilot}")
    assert not any(takes(pattern, other) for other in others)


@pytest.mark.parametrize(
    ("host", "offer"),
    [
        ("slot1_3@glidein_11_1@desy-wn1.test", "slot1@glidein_11_1@desy-wn1.test"),
        ("slot1@x", "slot1@x"),
        ("p_slot1_1@x", "p_slot1@x"),
        ("p_1_12@x_2", "p_1@x_2"),
        ("", ""),
    ],
)
def test_the_offer_of_a_host(host: str, offer: str) -> None:
    assert offer_of(host) == offer
