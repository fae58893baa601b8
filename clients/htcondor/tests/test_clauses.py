import fixtures
import pytest
from world import SLOT, World

from yardmaster_htcondor import clauses as module
from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.clauses import clauses, misfit


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("a && b", ["a", "b"]),
        ("((a) && (b && c))", ["a", "b", "c"]),
        ("(a) && (b)", ["a", "b"]),
        ("a || b && c", ["a || b && c"]),
        ("(a || b) && c", ["a || b", "c"]),
        ('regexp("&&", x) && y', ['regexp("&&", x)', "y"]),
        ("a ? b && c : d", ["a ? b && c : d"]),
        ('f("a)\\"(") && b', ['f("a)\\"(")', "b"]),
        ("", []),
    ],
)
def test_clauses(expression: str, parts: list[str]) -> None:
    assert [it.strip() for it in clauses(expression)] == parts


def test_no_misfit() -> None:
    world = World()
    ad = world.job()
    ad["YM_Until"] = 0
    assert misfit(ad, world.pool.slots_there[SLOT]) == ""


def test_the_jobs_clause_is_named() -> None:
    world = World()
    ad = world.job(RequestMemory=999_999)
    ad["YM_Until"] = 0
    why = misfit(ad, world.pool.slots_there[SLOT])
    assert why.startswith("the job does not take the slot: ") and "RequestMemory" in why


def test_the_slots_clause_is_named() -> None:
    world = World()
    ad = world.job(DESIRED_SITES="T1_IT_CNAF")
    ad["YM_Until"] = 0
    why = misfit(ad, world.pool.slots_there[SLOT])
    assert why.startswith("the slot does not take the job: ") and "DESIRED_Sites" in why


def test_the_gate() -> None:
    """A job that waits for Yardmaster takes no slot but the one that it was given."""
    world, slot = World(), fixtures.slots()[SLOT]
    ad = world.job()
    slot["Cpus"], slot["Memory"], slot["GLIDEIN_ToRetire"] = 8, 16_000, ad["YM_Until"] + 999_999
    assert not slot.matches(ad)
    ad["YM_Offer"] = "^slot1(_[0-9]+)?@glidein_11_1@desy-wn1[.]test$"
    assert slot.matches(ad)
    ad["YM_Offer"] = "^slot1(_[0-9]+)?@glidein_12_1@neb-wn1[.]test$"
    assert not slot.matches(ad)
    ad["YM_Until"] = 5
    assert slot.matches(ad)
    ad["YM_Until"], ad["YM_Offer"] = classad.ExprTree("undefined"), classad.ExprTree("undefined")
    assert slot.matches(ad)


@pytest.mark.parametrize("operator", [" || ", " && "])
def test_expressions_that_are_too_long_to_be_evaluated_are_a_reason(operator: str) -> None:
    """The bindings give up on some 400 terms; the agent must not."""
    world = World()
    ad = world.job()
    terms = (f'TARGET.Name =!= "slot{number}"' for number in range(1000))
    ad["Requirements"] = classad.ExprTree(operator.join(terms))
    why = misfit(ad, world.pool.slots_there[SLOT])
    assert why.startswith("its expressions cannot be evaluated: "), why


def test_attributes_that_name_each_other_in_a_ring() -> None:
    world = World()
    ad = world.job()
    ad["A"], ad["B"] = classad.ExprTree("MY.B"), classad.ExprTree("A")
    ad["Requirements"] = classad.ExprTree("A && true")
    assert misfit(ad, world.pool.slots_there[SLOT]).startswith("the job does not take the slot: ")


def test_a_clause_that_cannot_be_named_leaves_the_misfit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise RecursionError

    monkeypatch.setattr(module, "objecting_clause", fails)
    world = World()
    ad = world.job(RequestMemory=999_999)
    ad["YM_Until"] = 0
    assert misfit(ad, world.pool.slots_there[SLOT]) == "the job does not take the slot"
