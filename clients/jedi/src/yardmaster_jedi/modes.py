"""Who decides for a task: PanDA alone (`off`), PanDA with Yardmaster asked beside it (`shadow`), or
Yardmaster (`lead`).

The first rule that fits the brokerage and the share of a task holds; where none fits it is `off`.
"""

import fnmatch
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

MODES = ("off", "shadow", "lead")
BROKERAGES = ("production", "analysis", "generic", "nucleus")


@dataclass(frozen=True)
class Rule:
    """The mode of some tasks."""

    brokerage: str
    """`production`, `analysis` and `generic` jobs, `nucleus` of tasks, or `*`."""
    gshare: str
    """Shares it is for; `*` stands for any letters."""
    mode: str
    canary: float = 1.0
    """Of `lead`: the fraction of tasks that is led; the others are `shadow`."""

    def fits(self, brokerage: str, gshare: str) -> bool:
        """Whether it is for such a task."""
        is_brokerage = self.brokerage in ("*", brokerage)
        return is_brokerage and fnmatch.fnmatchcase(gshare, self.gshare)


def mode_of(rules: Iterable[Rule], brokerage: str, gshare: str, task: int | str) -> str:
    """The mode of a task. A task keeps its side of the canary, in every process and on every host,
    and one that is led stays so when the fraction grows."""
    rule = first_rule(rules, brokerage, gshare)
    if rule is None:
        return "off"
    if rule.mode == "lead" and draw(task) >= rule.canary:
        return "shadow"
    return rule.mode


def first_rule(rules: Iterable[Rule], brokerage: str, gshare: str) -> Rule | None:
    """The rule that holds, if any."""
    return next((rule for rule in rules if rule.fits(brokerage, gshare)), None)


def draw(task: int | str) -> float:
    """A number from 0 to below 1 that depends on the id of the task alone."""
    digest = hashlib.sha256(str(task).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
