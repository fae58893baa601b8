"""Values of an ad's attributes. An ad is a `ClassAd` of HTCondor's bindings."""

import re
from typing import Any

Ad = Any
"""A `ClassAd`: the bindings state no types that could be checked."""

NUMBER_MAX = 2**53
"""A number beyond says nothing: users may write any into an ad."""


def value(ad: Ad, name: str, default: Any = None) -> Any:
    """An attribute's value; the default where it is missing, undefined or an error."""
    if name not in ad:
        return default
    try:
        found = ad.eval(name)
    except Exception:  # an expression that is too deep for the bindings
        return default
    is_plain = isinstance(found, bool | int | float | str | list)
    return found if is_plain and type(found).__name__ != "Value" else default


def text(ad: Ad, name: str) -> str:
    """An attribute's text; empty where it has none."""
    found = value(ad, name)
    return found if isinstance(found, str) else ""


def number(ad: Ad, name: str, default: float | None = None) -> float | None:
    """An attribute's number; the default where it has none that means something."""
    found = value(ad, name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return default
    return found if -NUMBER_MAX < found < NUMBER_MAX else default


def whole(ad: Ad, name: str, default: int = 0) -> int:
    """An attribute's number, cut to a whole one; the default where it has none."""
    found = number(ad, name)
    return default if found is None else int(found)


def truth(ad: Ad, name: str) -> bool | None:
    """True or False; None where nothing is stated. CMS writes some truths as text."""
    found = value(ad, name)
    if isinstance(found, str):
        return found.strip().lower() == "true"
    return None if found is None else bool(found)


def words(stated: str) -> list[str]:
    """The words of a list that is separated by commas or spaces."""
    return [word for word in re.split(r"[\s,]+", stated) if word]


def ms(seconds: float | None) -> int:
    """Seconds since 1970 as milliseconds; 0 where nothing is known."""
    return int(seconds or 0) * 1000
