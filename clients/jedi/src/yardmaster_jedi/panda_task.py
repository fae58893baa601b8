"""PanDA's attributes of a task and its input chunk as fields of a `task` record, by the table
schemas/panda-task.json, which says what each row means. What evaluates recorded cases reads them by
the same table.
"""

import datetime
import functools
import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from importlib import resources
from typing import Any

from yardmaster_client.codec import Record

Row = dict[str, Any]

DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("text", "id"), ""),
    **dict.fromkeys(("given", "flag", "true"), False),
    "integer": 0,
    "list": [],
}
"""Values of fields that are not set, by kind of row; None of every other kind."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
COUNT_MAX, INTEGER_MAX, AMOUNT_MAX = 2**32 - 1, 2**31 - 1, 2**63 - 1
EPOCH = datetime.datetime(1970, 1, 1)


@functools.cache
def table() -> dict[str, Any]:
    """The table of the package."""
    path = resources.files("yardmaster_jedi").joinpath("panda-task.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def task_fields(
    task: Any, chunk: Any = None, params: Mapping[str, Any] | None = None, only: Any = None
) -> Record:
    """The fields that the table has, those of `options` in a record of their own; `only`: some of
    them, by their names."""
    master = None if chunk is None else chunk.masterDataset
    reader = _Reader({"task": task, "chunk": chunk, "master": master}, params or {})
    record: Record = {"options": {}}
    for row in table()["fields"]:
        name = row["field"]
        if only is not None and name not in only:
            continue
        within = record["options"] if name.startswith("options.") else record
        within[name.removeprefix("options.")] = reader.read(row)
    return record


def is_set(value: Any) -> bool:
    """No None, and no empty text."""
    return value is not None and not (isinstance(value, str) and not value.strip())


def number(value: Any) -> float | None:
    """A number, or text of one; None for anything else."""
    if isinstance(value, str):
        value = float(value) if NUMBER.fullmatch(value := value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def millis_of(moment: Any) -> int:
    """A time of PanDA, which is UTC without a zone, as ms since 1970; 0 for none."""
    if not isinstance(moment, datetime.datetime):
        return 0
    return max(0, (moment.replace(tzinfo=None) - EPOCH) // datetime.timedelta(milliseconds=1))


class _Reader:
    """The rows of the table, read of some objects of PanDA."""

    def __init__(self, things: dict[str, Any], params: Mapping[str, Any]) -> None:
        self._things = things
        self._params = params

    def read(self, row: Row) -> Any:
        """The value of a row."""
        is_meant = self._holds(row.get("when"), True) and not self._holds(row.get("unless"), False)
        found = self._value(row) if is_meant else None
        if found is None or found in row.get("none", ()):
            return row.get("default", DEFAULTS.get(row["kind"]))
        return found

    def _holds(self, name: str | None, otherwise: bool) -> bool:
        """Whether a condition of the table holds."""
        if name is None:
            return otherwise
        condition = table()["conditions"][name]
        stated = self._find(condition["from"])
        if "has" in condition:
            return condition["has"] in (_text(stated) or "")
        return _text(stated) in condition["in"] if "in" in condition else _is_given(stated)

    def _value(self, row: Row) -> Any:
        """The value of a row whose condition holds; None where it is not set."""
        if row["kind"] == "joined":
            parts = [self.read(part) for part in row["of"]]
            return row["by"].join(parts) if any(parts) else ""
        stated = self._stated(row)
        if row.get("largest"):
            return max((it for it in map(_count, stated) if it is not None), default=None)
        first = next(stated, None)
        if first is None:
            return None
        if row["kind"] in ("amount", "real"):
            scaled = self._scaled(number(first), row.get("unit"))
            if scaled is None or row["kind"] == "real":
                return scaled
            return min(int(scaled), AMOUNT_MAX)
        if row["kind"] == "word":
            return row["words"].get(_text(first))
        return KINDS[row["kind"]](first)

    def _stated(self, row: Row) -> Iterator[Any]:
        return filter(is_set, map(self._find, row["from"]))

    def _find(self, place: str) -> Any:
        """The attribute at a place of the table."""
        thing, name = place.split(".")
        if thing == "rule":
            return _rule(self._things["task"].splitRule, table()["rules"][name])
        if thing == "params":
            return self._params.get(name)
        return getattr(self._things[thing], name, None)

    def _scaled(self, value: float | None, unit: Row | None) -> float | None:
        """A number in the unit that its row has; 0 or more, finite."""
        if value is not None and unit is not None:
            stated = self._find(unit["from"])
            text = stated if isinstance(stated, str) else ""
            starts = [it for name, it in unit.get("starts", {}).items() if text.startswith(name)]
            factor = next(iter(starts), unit.get("is", {}).get(text, 1))
            value = value / factor if unit.get("over") else value * factor
        return value if value is not None and 0 <= value < math.inf else None


def _rule(rules: str | None, token: str) -> int | None:
    """The first whole number that a split rule has for a token."""
    found = re.search(rf"{token}=(-?\d+)", rules or "", re.ASCII)
    return int(found[1]) if found else None


def _is_given(value: Any) -> bool:
    """Whether there is a value; a number below 0 is none of a split rule's."""
    stated = number(value)
    return is_set(value) if stated is None else stated >= 0


def _text(value: Any) -> str | None:
    """Text as it is, or a whole number."""
    if isinstance(value, str):
        return value
    stated = number(value)
    return str(int(value)) if stated is not None and stated.is_integer() else None


def _whole(value: Any) -> int | None:
    """A number without its fraction."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    stated = number(value)
    return None if stated is None else int(stated)


def _count(value: Any) -> int | None:
    stated = _whole(value)
    is_below = stated is not None and (stated < 0 or (number(value) or 0) < 0)
    return None if stated is None or is_below else min(stated, COUNT_MAX)


def _integer(value: Any) -> int | None:
    stated = _whole(value)
    return None if stated is None else max(-INTEGER_MAX - 1, min(stated, INTEGER_MAX))


def _id(value: Any) -> str | None:
    stated = _whole(value)
    return str(stated) if stated is not None and stated > 0 else None


def _list(value: Any) -> list[str]:
    """Words of a list, or of text with commas; those that are blank are none."""
    words = value.split(",") if isinstance(value, str) else value
    texts = [_text(word) for word in words] if isinstance(words, list | tuple) else []
    return [text.strip() for text in texts if text is not None and text.strip()]


KINDS: dict[str, Any] = {
    "text": _text,
    "id": _id,
    "integer": _integer,
    "count": _count,
    "time": lambda moment: millis_of(moment) or None,
    "list": _list,
    "given": _is_given,
    "flag": lambda value: (number(value) or 0) > 0,
    "true": lambda value: value is True,
}
"""How a value that is set is read, by kind of row."""
