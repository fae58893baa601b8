"""HTCondor's Python bindings: those of version 2, or where a pool has only these, version 1."""

from typing import Any

htcondor: Any
classad: Any
try:
    import classad2 as _classad
    import htcondor2 as _htcondor
except ImportError:
    import classad as _classad
    import htcondor as _htcondor

htcondor, classad = _htcondor, _classad

AD_TYPES: Any = getattr(htcondor, "AdTypes", None) or htcondor.AdType

_flags: Any = getattr(htcondor, "TransactionFlag", None) or htcondor.TransactionFlags
NOT_SYNCED: Any = _flags.NonDurable
"""Edits are not forced to the schedd's disk one by one: one that a crash of the machine loses is a
match that did not start, and expires."""
