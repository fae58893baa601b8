"""Jobs as WMAgent, Tier-0 and CRAB submit them, of the kinds that the fixtures of clients/htcondor
have."""

import json
from typing import Any

Job = dict[str, Any]

ALL = "T2_DE_DESY,T2_US_Nebraska,T1_US_FNAL,T2_CH_CERN"

quote = json.dumps


def common(seconds: float, code: int, lead: bool) -> dict[str, str]:
    """The part that all have. The payload sleeps, and ends with a code."""
    return {
        "executable": "/bin/sh",
        "transfer_executable": "false",
        "arguments": f"\"-c 'sleep {seconds}; exit {code}'\"",
        "universe": "vanilla",
        "should_transfer_files": "YES",
        "when_to_transfer_output": "ON_EXIT",
        "getenv": "false",
        "My.Fixture_Lead": str(lead).lower(),
        "request_disk": "1000",
    }


def wmagent(
    request: str,
    number: int,
    kind: str = "Processing",
    sites: str = ALL,
    cores: int = 1,
    memory: int = 1000,
    minutes: int = 60,
    priority: int = 110_000,
    level: int = 0,
    retry: int = 0,
    resize: bool = False,
    cores_max: int = 0,
    account: str = "production",
    gpus: int = 0,
    seconds: float = 2,
    code: int = 0,
    lead: bool = True,
    **more: str,
) -> Job:
    """A job of a request."""
    ad = common(seconds, code, lead) | {
        "accounting_group": account,
        "accounting_group_user": "cmsdataops",
        "My.WMAgent_AgentName": quote("wmagent-test-1"),
        "My.WMAgent_RequestName": quote(request),
        "My.WMAgent_JobID": str(number),
        "My.CMS_JobType": quote(kind),
        "My.CMS_Type": quote("tier0" if account == "tier0" else "production"),
        "My.CMS_JobRetryCount": str(retry),
        "My.CMSGroups": quote("B2G"),
        "My.DESIRED_Sites": quote(sites),
        "My.Requestioslots": "1" if kind in ("Merge", "Cleanup") else "0",
        "My.RequiresGPU": str(int(gpus > 0)),
        "request_GPUs": str(gpus),
        "My.EstimatedSingleCoreMins": str(minutes * cores),
        "My.OriginalMaxWallTimeMins": str(minutes),
        "My.MaxWallTimeMins": (
            "WMCore_ResizeJob ? (EstimatedSingleCoreMins/RequestCpus + 15) "
            ": OriginalMaxWallTimeMins"
        ),
        "My.OriginalMemory": str(memory),
        "My.ExtraMemory": "500",
        "request_memory": (
            "OriginalMemory + ExtraMemory * (WMCore_ResizeJob ? (RequestCpus-OriginalCpus) : 0)"
        ),
        "My.MinCores": str(max(1, cores / 2)),
        "My.MaxCores": str(cores_max or cores),
        "My.OriginalCpus": str(cores),
        "My.RequestResizedCpus": (
            "(Cpus>MaxCores) ? MaxCores : ((Cpus < MinCores) ? MinCores : Cpus)"
        ),
        "My.JobCpus": "OriginalCpus",
        "request_cpus": (
            "WMCore_ResizeJob ? (!isUndefined(Cpus) ? RequestResizedCpus : JobCpus) : OriginalCpus"
        ),
        "My.WMCore_ResizeJob": str(resize).lower(),
        "My.JobPrio": str(priority + level * 10_000_000),
        "My.REQUIRED_OS": quote("rhel8"),
        "My.JobMachineAttrs": quote("GLIDEIN_CMSSite"),
        "My.REQUIRED_ARCH": quote("X86_64"),
        "requirements": "stringListMember(TARGET.Arch, REQUIRED_ARCH)",
    }
    return {"user": "cmsdataops", "ad": ad | more}


def crab(
    task: str,
    number: str,
    user: str = "user1",
    sites: str = ALL,
    cores: int = 1,
    memory: int = 1000,
    minutes: int = 60,
    count: int = 500,
    retry: int = 0,
    priority: int = 10,
    account: str = "analysis",
    gpus: int = 0,
    seconds: float = 2,
    code: int = 0,
    lead: bool = True,
    **more: str,
) -> Job:
    """A job of a CRAB task."""
    ad = common(seconds, code, lead) | {
        "accounting_group": account,
        "accounting_group_user": user,
        "My.CRAB_ReqName": quote(task),
        "My.CRAB_Id": quote(number),
        "My.CRAB_JobCount": str(count),
        "My.CRAB_Retry": str(retry),
        "My.CRAB_UserHN": quote(user),
        "My.CRAB_NumAutomJobRetries": "2",
        "My.CMS_Type": quote("analysis"),
        "My.CMS_TaskType": quote("analysis"),
        "My.CMSGroups": quote("dcms"),
        "My.DESIRED_SITES": quote(sites),
        "My.REQUIRED_ARCH": quote("X86_64"),
        "My.REQUIRED_MINIMUM_MICROARCH": "2",
        "My.MaxWallTimeMins": str(minutes),
        "request_memory": str(memory),
        "request_cpus": str(cores),
        "priority": str(priority),
        "requirements": "stringListMember(TARGET.Arch, REQUIRED_ARCH)",
        "leave_in_queue": (
            "ifThenElse((JobStatus=?=4 || JobStatus=?=3) && "
            "(time() - EnteredCurrentStatus < 30 * 60*60), true, false)"
        ),
    }
    if gpus:
        ad |= {"My.RequiresGPU": "1", "request_gpus": str(gpus)}
    return {"user": user, "ad": ad | more}


def mixed(count: int, name: str, first: int = 1, lead: bool = True) -> list[Job]:
    """So many jobs of all kinds: short, and each fits a slot of the pool."""
    tier0 = f"PromptReco_{name}"
    makers = (
        lambda n: wmagent(f"request_{name}", n, lead=lead),
        lambda n: crab(f"240101_000000:user1_{name}", str(n), lead=lead),
        lambda n: wmagent(f"request_{name}", n, kind="Merge", level=5, lead=lead),
        lambda n: crab(f"240101_000000:user2_{name}", f"0-{n}", user="user2", lead=lead),
        lambda n: wmagent(f"request_{name}", n, cores=4, memory=4000, retry=1, lead=lead),
        lambda n: crab(
            f"240101_000000:user2_{name}", f"1-{n}", "user2", account="highprio", lead=lead
        ),
        lambda n: wmagent(tier0, n, cores=2, memory=2000, account="tier0", lead=lead),
        lambda n: crab(f"240101_000000:user1_{name}", str(n), code=1, lead=lead),
        lambda n: wmagent(
            f"request_{name}", n, cores=4, memory=4000, resize=True, cores_max=6, lead=lead
        ),
        lambda n: wmagent(f"request_{name}", n, sites="T2_CH_CERN", gpus=1, lead=lead),
    )
    return [makers[number % len(makers)](number) for number in range(first, first + count)]
