"""Whether a job and a slot take each other, by their own expressions, and which clause objects."""

import re

from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.values import Ad

CLAUSE_LETTERS = 160
"""A clause that is longer is cut in the text of an outcome."""

DEPTH_MAX = 8
"""So many attributes are followed, each named by the one before: they may name each other in a
ring."""


def misfit(job: Ad, slot: Ad) -> str:
    """Why they do not take each other; empty if they do. Yardmaster knows only a part of this. What
    cannot be evaluated here is a reason too: nobody could say what a match of it would do."""
    try:
        if not slot.matches(job):
            return f"the job does not take the slot{_objecting(job, slot)}"
        if not job.matches(slot):
            return f"the slot does not take the job{_objecting(slot, job)}"
    except Exception as error:
        return f"its expressions cannot be evaluated: {_cut(str(error))}"
    return ""


def _objecting(owner: Ad, other: Ad) -> str:
    """The first clause of the owner's Requirements that objects to the other ad."""
    try:
        clause = objecting_clause(owner, other, "Requirements")
    except Exception:
        return ""  # that they do not fit is known; only the clause is not
    return f": {_cut(clause)}" if clause else ""


def _cut(text: str) -> str:
    """A text as an outcome has it."""
    return text if len(text) <= CLAUSE_LETTERS else f"{text[:CLAUSE_LETTERS]} ..."


def objecting_clause(owner: Ad, other: Ad, attribute: str, depth: int = 0) -> str:
    """The first clause of an expression that is not true; of an attribute that is named, its
    own."""
    asking = classad.ClassAd(str(owner))
    for clause in clauses(str(owner.lookup(attribute))):
        if _holds(asking, other, clause):
            continue
        inner = clause.strip("()").removeprefix("MY.").strip()
        is_named = re.fullmatch(r"[A-Za-z_]\w*", inner) and inner in owner
        is_expression = is_named and not isinstance(owner.lookup(inner), bool | int | float | str)
        if is_expression and depth < DEPTH_MAX:
            return objecting_clause(owner, other, inner, depth + 1) or clause
        return clause
    return ""


def _holds(asking: Ad, other: Ad, clause: str) -> bool:
    """Whether the owner would take the other if the clause were all that it asks."""
    try:
        asking["Requirements"] = classad.ExprTree(clause)
        return bool(other.matches(asking))
    except Exception:
        return True  # a clause that cannot be read alone is not the one that is named


def clauses(expression: str) -> list[str]:
    """The parts of an expression that `&&` connects at its top, without brackets around all of
    it."""
    stripped = expression.strip()
    while (bare := without_brackets(stripped)) != stripped:
        stripped = bare
    parts, depth, start, quoted, at = [], 0, 0, "", 0
    while at < len(stripped):
        letter = stripped[at]
        if quoted:
            at += letter == "\\"
            quoted = "" if letter == quoted else quoted
        elif letter in "\"'":
            quoted = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif (depth == 0 and stripped.startswith("||", at)) or (depth == 0 and letter == "?"):
            return [stripped]
        elif depth == 0 and stripped.startswith("&&", at):
            parts.append(stripped[start:at])
            start, at = at + 2, at + 1
        at += 1
    parts.append(stripped[start:])
    if len(parts) == 1:
        return [stripped] if stripped else []
    return [clause for part in parts for clause in clauses(part)]


def without_brackets(expression: str) -> str:
    """The expression without brackets around all of it."""
    if not (expression.startswith("(") and expression.endswith(")")):
        return expression
    depth, quoted = 0, False
    for at, letter in enumerate(expression):
        if letter == '"' and expression[at - 1] != "\\":
            quoted = not quoted
        if quoted:
            continue
        depth += (letter == "(") - (letter == ")")
        if depth == 0 and at < len(expression) - 1:
            return expression
    return expression[1:-1].strip()
