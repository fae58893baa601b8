"""Bounds that Yardmaster reads records by. What is beyond becomes a dead letter there, and nobody
answers it, so it is not published.

They are those of a topology that states no others.
"""

from typing import Any

NAME_BYTES = 1024
"""Longest name: `name_bytes` of src/core/limits.rs. Names are all texts of a record but its reason
(src/core/event/names.rs)."""

RECORD_BYTES = 1_048_576
"""Longest record: `max_record_bytes` of src/core/limits.rs."""

ATTEMPT_MAX = 2**32 - 1
"""Highest attempt: src/wire/avro/form.rs. Figures else are cut there."""


class LimitError(ValueError):
    """A record is beyond a bound. The message names field and limit."""


def check_limits(record: dict[str, Any]) -> None:
    """`LimitError` if Yardmaster would not read a record."""
    attempt = record.get("attempt", 0)
    if attempt > ATTEMPT_MAX:
        raise LimitError(f"attempt is {attempt}, more than {ATTEMPT_MAX}")
    for field, value in record.items():
        if isinstance(value, str) and field != "reason" and not fits(value):
            length = len(value.encode())
            raise LimitError(f"{field} has {length} bytes, more than name_bytes of {NAME_BYTES}")


def check_length(value: bytes) -> None:
    """`LimitError` if Yardmaster would not read a record of so many bytes."""
    if len(value) > RECORD_BYTES:
        found = f"the record has {len(value)} bytes"
        raise LimitError(f"{found}, more than max_record_bytes of {RECORD_BYTES}")


def fits(name: str) -> bool:
    """Whether Yardmaster reads a name."""
    return len(name.encode()) <= NAME_BYTES
