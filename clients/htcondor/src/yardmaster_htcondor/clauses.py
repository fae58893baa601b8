"""Whether a job and a slot take each other, by their own expressions, and which clause objects."""

import re

from yardmaster_htcondor.bindings import classad
from yardmaster_htcondor.values import Ad

CLAUSE_LETTERS = 160
"""A clause that is longer is cut in the text of an outcome."""


def misfit(job: Ad, slot: Ad) -> str:
    """Why they do not take each other; empty if they do. Yardmaster knows only a part of this."""
    if not slot.matches(job):
        return f"the job does not take the slot{_objecting(job, slot)}"
    if not job.matches(slot):
        return f"the slot does not take the job{_objecting(slot, job)}"
    return ""


def _objecting(owner: Ad, other: Ad) -> str:
    """The first clause of the owner's Requirements that objects to the other ad."""
    clause = objecting_clause(owner, other, "Requirements")
    if not clause:
        return ""
    shown = clause if len(clause) <= CLAUSE_LETTERS else f"{clause[:CLAUSE_LETTERS]} ..."
    return f": {shown}"


def objecting_clause(owner: Ad, other: Ad, attribute: str) -> str:
    """The first clause of an expression that is not true; of an attribute that is named, its
    own."""
    for clause in clauses(str(owner.lookup(attribute))):
        if _holds(owner, other, clause):
            continue
        inner = clause.strip("()").removeprefix("MY.").strip()
        is_named = re.fullmatch(r"[A-Za-z_]\w*", inner) and inner in owner
        is_expression = is_named and not isinstance(owner.lookup(inner), bool | int | float | str)
        deeper = objecting_clause(owner, other, inner) if is_expression else ""
        return deeper or clause
    return ""


def _holds(owner: Ad, other: Ad, clause: str) -> bool:
    """Whether the owner would take the other if the clause were all that it asks."""
    try:
        asking = classad.ClassAd(str(owner))
        asking["Requirements"] = classad.ExprTree(clause)
        return bool(other.matches(asking))
    except Exception:
        return True  # a clause that cannot be read alone is not the one that is named


def clauses(expression: str) -> list[str]:
    """The parts of an expression that `&&` connects at its top, without brackets around all of
    it."""
    stripped = expression.strip()
    while (bare := _without_brackets(stripped)) != stripped:
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


def _without_brackets(expression: str) -> str:
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
