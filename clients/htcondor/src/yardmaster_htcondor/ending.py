"""How a job ended, or that it is held."""

from typing import Any

from yardmaster_htcondor.identity import COMPLETED, HELD, REMOVED
from yardmaster_htcondor.values import Ad, ms, number, text, value, whole

BY_YARDMASTER = "Yardmaster: "
"""A reason for a removal begins so where a command of Yardmaster asked for it."""


def exit_code(ad: Ad, is_central: bool) -> int | None:
    """The code that the payload means; HTCondor's own has 8 bits. None: it did not end by
    itself."""
    if "ExitCode" not in ad and not value(ad, "ExitBySignal"):
        return None
    own = whole(ad, "ExitCode", 128 + whole(ad, "ExitSignal"))
    if is_central:
        return whole(ad, "Chirp_WMCore_cmsRun_ExitCode") or own
    return whole(ad, "JobExitCode", whole(ad, "Chirp_CRAB3_Job_ExitCode", own))


def is_last(ad: Ad) -> bool:
    """Whether no other try follows if this one fails. WMAgent does not state that."""
    retries = number(ad, "CRAB_NumAutomJobRetries")
    return retries is not None and whole(ad, "CRAB_Retry") >= retries


def removed_itself(ad: Ad) -> bool:
    """Whether its own expressions removed it (too long, too big), not a person or Yardmaster. Such
    an expression always states a reason; HTCondor's bindings may leave it out."""
    reason = text(ad, "RemoveReason")
    return bool(reason) and "(by user" not in reason and not reason.startswith(BY_YARDMASTER)


def add_ending(record: dict[str, Any], ad: Ad, is_central: bool) -> None:
    """Completes the record of a job that ended or is held. The class of a failure is the topology's
    (`exit_codes`); here it is stated only where there is no code."""
    status, wants = number(ad, "JobStatus"), record["requirements"]
    if status == HELD:
        record["sub_status"] = f"held {whole(ad, 'HoldReasonCode')}"
        return
    if status not in (COMPLETED, REMOVED):
        return
    entered = number(ad, "EnteredCurrentStatus")
    record["ended_at"] = ms(number(ad, "CompletionDate") if status == COMPLETED else entered)
    wants["last_attempt"] = is_last(ad)
    if record["started_at"]:
        wants["used_rss_mb"] = whole(ad, "MemoryUsage")
    code = exit_code(ad, is_central) if status == COMPLETED else None
    if code:
        record.update(status="failed", sub_status=f"exit {code}")
        wants["exit_code"] = code
    elif status == REMOVED:
        record["sub_status"] = "removed"
        if removed_itself(ad):
            record["status"] = "failed"
            wants["failure"] = "payload" if record["started_at"] else "infrastructure"
