"""Which mode a task has."""

from yardmaster_jedi.modes import Rule, draw, mode_of

RULES = (
    Rule("production", "MC Default*", "lead", 0.3),
    Rule("analysis", "*", "off"),
    Rule("*", "*", "shadow"),
)


def test_the_first_rule_that_fits_holds() -> None:
    assert mode_of(RULES, "analysis", "MC Default evgensimul", 1) == "off"
    assert mode_of(RULES, "production", "Express", 1) == "shadow"
    assert mode_of(RULES, "nucleus", "MC Default", 1) == "shadow"
    assert mode_of((), "production", "Express", 1) == "off"


def test_the_canary_leads_its_fraction_and_shadows_the_rest() -> None:
    tasks = range(45_000_000, 45_010_000)
    modes = [mode_of(RULES, "production", "MC Default evgensimul", task) for task in tasks]
    assert set(modes) == {"lead", "shadow"}
    assert 0.28 < modes.count("lead") / len(modes) < 0.32


def test_a_task_keeps_its_side_when_the_canary_grows() -> None:
    def led(canary: float) -> set[int]:
        rules = (Rule("*", "*", "lead", canary),)
        return {task for task in range(1000) if mode_of(rules, "production", "", task) == "lead"}

    assert led(0.0) == set() and len(led(1.0)) == 1000
    assert led(0.1) < led(0.2) < led(0.9)


def test_the_draw_is_the_same_in_every_process_and_version() -> None:
    # Digits computed from SHA-256 by another program (`printf 45123456 | sha256sum`).
    assert draw(45123456) == draw("45123456")
    assert f"{draw(45123456):.6f}" == DRAWN


DRAWN = "0.214790"
