"""Needs of a job: the `requirements` of its record."""

import math
from typing import Any

from yardmaster_htcondor.dialect import Dialect
from yardmaster_htcondor.identity import seq
from yardmaster_htcondor.values import Ad, number, text, truth, value, whole, words

SYSTEM_KINDS = ("Merge", "LogCollect", "Cleanup")
"""Job types that free resources when they are done."""


def requirements(ad: Ad, dialect: Dialect) -> dict[str, Any]:
    """The needs of a job. Run time and memory are as they evaluate at its original cores."""
    resizes = truth(ad, "WMCore_ResizeJob") or False
    cores = number(ad, "OriginalCpus") or number(ad, "RequestCpus") or 1
    minutes, memory = number(ad, "MaxWallTimeMins"), number(ad, "RequestMemory")
    sites = value(ad, "DESIRED_Sites")
    job_class = dialect.job_class(ad)
    return {
        "seq": seq(ad),
        "class": job_class,
        "site_whitelist": ",".join(words(sites)) if isinstance(sites, str) else None,
        "allow_overflow": allows_overflow(ad),
        "high_io": whole(ad, "Requestioslots") > 0,
        "system_job": text(ad, "CMS_JobType") in SYSTEM_KINDS,
        "cores_min": math.ceil(number(ad, "MinCores") or cores) if resizes else int(cores),
        "cores_max": int(number(ad, "MaxCores") or cores) if resizes else None,
        "base_cores": int(cores) if resizes else None,
        "max_wall_time_s": None if minutes is None else int(60 * minutes),
        "max_rss_mb": None if memory is None else int(memory),
        "user_priority": whole(ad, "JobPrio") if job_class == "analysis" else 0,
        "resources": resources(ad),
        "labels": labels(ad, dialect),
    }


def allows_overflow(ad: Ad) -> bool | None:
    """Whether it may run where its input is not; None where it states nothing."""
    stated = truth(ad, "CMS_ALLOW_OVERFLOW")
    return truth(ad, "CRAB_AllowOverflow") if stated is None else stated


def resources(ad: Ad) -> list[dict[str, Any]]:
    """Amounts of resources beside cores and memory. RequestDisk is in KiB."""
    amounts = {
        "gpus": whole(ad, "RequestGPUs"),
        "disk_mb": math.ceil((number(ad, "RequestDisk") or 0) / 1024),
        "io_slots": whole(ad, "Requestioslots"),
    }
    return [{"name": name, "amount": amount} for name, amount in amounts.items() if amount > 0]


def labels(ad: Ad, dialect: Dialect) -> list[dict[str, Any]]:
    """Labels that its slot must have."""
    needed = []
    level = whole(ad, "REQUIRED_MINIMUM_MICROARCH")
    stated: dict[str, dict[str, Any]] = {
        "Arch": {"any_of": words(text(ad, "REQUIRED_ARCH")), "at_least": None},
        "Microarch": {"any_of": [], "at_least": f"x86_64-v{level}" if level > 0 else None},
        "CUDACapability": {"any_of": words(text(ad, "CUDACapability")), "at_least": None},
    }
    for name, label in stated.items():
        if name in dialect.labels and (label["any_of"] or label["at_least"]):
            needed.append({"name": name, **label})
    return needed
