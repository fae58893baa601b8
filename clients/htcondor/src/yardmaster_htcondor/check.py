"""Whether an agent can work with a configuration: what is wrong, and the remedy."""

from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

from confluent_kafka import Consumer

from yardmaster_htcondor.bindings import AD_TYPES, htcondor
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.values import Ad, text

READ = ("decision", "progress")
WRITTEN = ("job-state", "task", "user", "pilot", "outcome", "comparison")

CYCLE_MAX_S = 5
CYCLES = {"NEGOTIATOR_CYCLE_DELAY": "20", "NEGOTIATOR_INTERVAL": "60"}
"""What decides how soon the negotiator begins again, and HTCondor's defaults; s."""

FILE = "50-yardmaster.conf"

NO_SHARE = '(AcctGroup =?= "none")'
"""The share of the file as it is shipped: no job."""


class Finding:
    """One line: whether it is well, and what to do where it is not."""

    def __init__(self, level: str, about: str, remedy: str = "") -> None:
        self.level, self.about, self.remedy = level, about, remedy

    def __str__(self) -> str:
        return f"{self.level:5} {self.about}" + (f"\n      {self.remedy}" if self.remedy else "")


def ok(about: str) -> Finding:
    """All is well."""
    return Finding("ok", about)


def note(about: str, remedy: str) -> Finding:
    """It works, but not well."""
    return Finding("note", about, remedy)


def wrong(about: str, remedy: str) -> Finding:
    """It does not work."""
    return Finding("WRONG", about, remedy)


def check(config: Config) -> list[Finding]:
    """Everything, in the order in which it is needed."""
    findings = list(kafka(config))
    return findings + list(pool(config))


def kafka(config: Config) -> Iterator[Finding]:
    """Kafka and its topics."""
    settings: dict[str, Any] = dict(config.client)
    settings |= {"bootstrap.servers": config.bootstrap_servers, "group.id": config.group}
    settings |= {"allow.auto.create.topics": False, "log_level": 0}
    try:
        consumer = Consumer(settings)
        topics = consumer.list_topics(timeout=10).topics
    except Exception as error:
        remedy = "see bootstrap_servers and [client]: the agent waits until Kafka answers"
        yield wrong(f"Kafka at {config.bootstrap_servers} does not answer: {error}", remedy)
        return
    missing = [config.topic(word) for word in (*READ, *WRITTEN) if config.topic(word) not in topics]
    if missing:
        remedy = "`yardmaster topology apply` makes them; see topic_prefix"
        yield wrong(f"topics are not there: {', '.join(missing)}", remedy)
    else:
        yield ok(f"Kafka at {config.bootstrap_servers}, with all topics {config.topic_prefix}*")
    consumer.close()


def pool(config: Config) -> Iterator[Finding]:
    """Collector, schedds, negotiator."""
    collector = htcondor.Collector(config.collector) if config.collector else htcondor.Collector()
    try:
        schedds = [
            ad
            for ad in collector.query(AD_TYPES.Schedd)
            if not config.schedds or text(ad, "Name") in config.schedds
        ]
        slots = collector.query(AD_TYPES.Startd, "PartitionableSlot", ["Name", "GLIDEIN_CMSSite"])
        negotiators = collector.query(AD_TYPES.Negotiator)
    except Exception as error:
        remedy = "see `collector` here, COLLECTOR_HOST and CONDOR_CONFIG: condor_status must answer"
        yield wrong(f"the collector does not answer: {error}", remedy)
        return
    yield ok(f"collector: {len(schedds)} schedds, {len(slots)} partitionable slots")
    missing = set(config.schedds) - {text(ad, "Name") for ad in schedds}
    for name in sorted(missing):
        yield wrong(
            f"schedd {name} is not known", "see `schedds`; condor_status -schedd lists them"
        )
    if not schedds:
        yield wrong("there is no schedd", "condor_status -schedd must list one")
    nameless = sum("GLIDEIN_CMSSite" not in ad for ad in slots)
    if nameless:
        remedy = "the site of a slot is GLIDEIN_CMSSite, in STARTD_ATTRS of the pilot"
        yield note(f"{nameless} slots name no site and are not offered", remedy)
    for ad in schedds:
        yield from schedd(ad, config)
    for ad in negotiators:
        yield from negotiator(ad, config)
    yield from drained(collector)


def schedd(ad: Ad, config: Config) -> Iterator[Finding]:
    """One schedd: it answers, takes edits, and has what was shipped."""
    name = text(ad, "Name")
    try:
        htcondor.Schedd(ad).query("false", ["ClusterId"])
    except Exception as error:
        yield wrong(f"schedd {name} does not answer: {error}", "condor_q -name must answer")
        return
    yield ok(f"schedd {name} answers")
    settings = Settings(ad)
    problem = settings.problem()
    if problem:
        remedy = "the agent needs READ there; without it look by hand: condor_config_val"
        yield note(f"configuration of schedd {name} cannot be read: {problem}", remedy)
        return
    if config.leads:
        yield from rights(ad, settings)
    yield from shipped(name, settings, config)


def rights(ad: Ad, settings: "Settings") -> Iterator[Finding]:
    """Whether the agent may edit jobs of others."""
    name = text(ad, "Name")
    try:
        me = text(htcondor.ping(ad, "WRITE"), "MyRemoteUserName")
    except Exception as error:
        remedy = "a token (condor_token_create) or a user that ALLOW_WRITE has"
        yield wrong(f"schedd {name} does not let the agent write: {error}", remedy)
        return
    account, users = me.partition("@")[0], settings["QUEUE_SUPER_USERS"].replace(",", " ").split()
    if me not in users and account not in users:
        remedy = f"add {account} to QUEUE_SUPER_USERS of the schedd, and condor_reconfig"
        yield wrong(f"schedd {name}: {me} may not edit jobs of others", remedy)
        return
    known = known_users(htcondor.Schedd(ad))
    if known is not None and me not in known:
        remedy = f"a schedd knows who has submitted: as {account}, submit a held job and remove it"
        yield wrong(f"schedd {name} does not know {me}, and takes no edit of it", remedy)
        return
    yield ok(f"schedd {name}: {me} may edit all jobs")


def known_users(schedd: Any) -> set[str] | None:
    """Users that a schedd knows; None where it cannot be asked. Who never submitted is unknown, and
    may not edit a job, whatever QUEUE_SUPER_USERS has (seen in 23.9.6)."""
    try:
        return {text(user, "User") for user in schedd.queryUserAds()}
    except Exception:
        return None


def shipped(name: str, settings: "Settings", config: Config) -> Iterator[Finding]:
    """Whether transform and gate are there, as they were shipped."""
    remedy = f"copy {FILE} into the schedd's config.d, and condor_reconfig -schedd"
    names = settings["JOB_TRANSFORM_NAMES"].replace(",", " ").upper().split()
    wanted = shipped_settings(settings["YM_GRACE"], share(settings))
    gate = squeezed(wanted["YM_GATE"])
    has_gate = gate in squeezed(settings["APPEND_REQUIREMENTS"] + settings["APPEND_REQ_VANILLA"])
    if "YARDMASTER" not in names and not has_gate:
        level = wrong if config.leads else note
        yield level(f"schedd {name} has no {FILE}: no job waits for Yardmaster", remedy)
        return
    if "YARDMASTER" not in names or not has_gate:
        part = "transform" if "YARDMASTER" not in names else "gate (APPEND_REQUIREMENTS)"
        yield wrong(f"schedd {name}: the {part} of {FILE} is not in force", remedy)
    for transform in ("JOB_TRANSFORM_YARDMASTER", "JOB_TRANSFORM_YARDMASTER_CORES"):
        if squeezed(settings[transform]) != squeezed(wanted[transform]):
            yield wrong(f"schedd {name}: {transform} is not as it was shipped", remedy)
    grace = settings["YM_GRACE"]
    if grace != f"{config.terms.grace_s:g}":
        yield wrong(
            f"schedd {name}: YM_GRACE is {grace or 'not there'}, grace_s {config.terms.grace_s:g}",
            "state the same in both",
        )
    if not config.leads:
        yield wrong(
            f"schedd {name} has {FILE}, and the agent is in shadow: jobs wait for YM_GRACE in vain",
            f'remove {FILE} and condor_reconfig, or state mode = "lead"',
        )
    yield ok(f"schedd {name}: jobs with {share(settings)} wait for Yardmaster")


def share(settings: "Settings") -> str:
    """The part of the transform's REQUIREMENTS that says which jobs wait."""
    lines = settings["JOB_TRANSFORM_YARDMASTER"].splitlines()
    stated = lines[0].strip() if lines else ""
    begin = next(line for line in shipped_text().splitlines() if NO_SHARE in line and "REQ" in line)
    before = begin.strip().removesuffix(NO_SHARE)
    return stated.removeprefix(before) if stated.startswith(before) else NO_SHARE


def negotiator(ad: Ad, config: Config) -> Iterator[Finding]:
    """How soon a match starts."""
    settings = Settings(ad)
    if settings.problem():
        return
    for name, default in CYCLES.items():
        stated = settings[name] or default
        if config.leads and stated.isdigit() and int(stated) > CYCLE_MAX_S:
            remedy = f"set {name} = 1 at the central manager, and condor_reconfig"
            yield note(f"{name} is {stated} s: a match waits so long for its negotiation", remedy)
        else:
            yield ok(f"{name} is {stated} s")
    if config.leads and "DEFRAG" in settings["DAEMON_LIST"].upper():
        remedy = (
            "take DEFRAG out of DAEMON_LIST, or let its DEFRAG_REQUIREMENTS leave our slots out"
        )
        yield note("condor_defrag runs: it drains slots that Yardmaster reckons with", remedy)


def drained(collector: Any) -> Iterator[Finding]:
    """Slots that others than Yardmaster drain."""
    others = 'DrainReason isnt undefined && !regexp("^Yardmaster", DrainReason)'
    found = collector.query(AD_TYPES.Startd, f"PartitionableSlot && {others}", ["Name"])
    if found:
        remedy = (
            "they are not offered meanwhile; condor_defrag must leave alone what Yardmaster drains"
        )
        yield note(
            f"{len(found)} slots are drained by others, first {text(found[0], 'Name')}", remedy
        )


class Settings:
    """Configuration of a daemon, as it has it."""

    def __init__(self, ad: Ad, ask: Callable[[Ad], Any] | None = None) -> None:
        self._params = (ask or htcondor.RemoteParam)(ad)

    def problem(self) -> str:
        """Why it cannot be read; empty if it can."""
        try:
            self._params.get("DAEMON_LIST")
        except Exception as error:
            return str(error)[:200]
        return ""

    def __getitem__(self, name: str) -> str:
        found = str(self._params.get(name, "") or "")
        return "" if found == "Not defined" else found


def shipped_text() -> str:
    """The schedd's configuration as this package has it."""
    return resources.files("yardmaster_htcondor").joinpath("shipped", FILE).read_text()


def shipped_settings(grace: str, stated_share: str) -> dict[str, str]:
    """The settings of that text, with a schedd's own grace and share in it."""
    found, lines = {}, iter(shipped_text().splitlines())
    for line in lines:
        name, is_set, value = line.partition("=")
        if line.startswith("#") or not is_set:
            continue
        if name.endswith("@"):
            block = []
            while (inner := next(lines)) != "@end":
                block.append(inner)
            found[name.strip(" @")] = "\n".join(block)
        else:
            found[name.strip()] = value.strip()
    replaced = {"$(YM_GRACE)": grace, NO_SHARE: stated_share}
    for name, value in found.items():
        for old, new in replaced.items():
            value = value.replace(old, new)
        found[name] = value
    return found


def squeezed(stated: str) -> str:
    """A text without its spaces."""
    return "".join(stated.split())
