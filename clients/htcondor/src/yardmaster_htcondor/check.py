"""Whether an agent can work with a configuration: what is wrong, and the remedy."""

import re
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from yardmaster_client.codec import codec
from yardmaster_htcondor.bindings import AD_TYPES, classad, htcondor
from yardmaster_htcondor.clauses import without_brackets
from yardmaster_htcondor.config import Config
from yardmaster_htcondor.look import TOPICS
from yardmaster_htcondor.values import Ad, text

CYCLE_MAX_S = 5
CYCLES = {"NEGOTIATOR_CYCLE_DELAY": "20", "NEGOTIATOR_INTERVAL": "60"}
"""What decides how soon the negotiator begins again, and HTCondor's defaults; s."""

FILE = "50-yardmaster.conf"

NO_SHARE = '(AcctGroup =?= "none")'
"""The share of the file as it is shipped: no job."""

TRANSFORMS = ("YARDMASTER_CLEAR", "YARDMASTER")
"""Those of the file, in their order."""

OF_JOB = re.compile(r"\$\(MY\.\w+:(\w+)\)")
"""A job's attribute in a transform. A schedd that is asked for the transform shows the default in
its place."""

SETS_REQUIREMENTS = re.compile(r"(?i)\bset[\s_]+requirements\b")

LOOK_S = 5.0

PROGRESS_S, PROGRESS_RECORDS = 5.0, 20
"""How long the newest of the last records of `progress` is waited for; s."""


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
    return [*metrics(config), *kafka(config), *pool(config)]


def metrics(config: Config) -> Iterator[Finding]:
    """Whether the agent can serve its metrics."""
    if not config.metrics:
        return
    try:
        host, port = config.metrics_address()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        stated = f'metrics = "{config.metrics}"'
        if is_agent(host, port):
            remedy = "end it before you start another one with this configuration"
            yield note(f"{stated}: an agent works here", remedy)
        else:
            yield wrong(f"{stated}: {error.strerror or error}", "state another address")


def is_agent(host: str, port: int) -> bool:
    """Whether an agent serves its metrics there."""
    named = f"[{host}]" if ":" in host else host or "127.0.0.1"
    url = f"http://{named}:{port}/metrics"
    try:
        with urllib.request.urlopen(url, timeout=LOOK_S) as answer:
            return b"yardmaster_htcondor_" in answer.read()
    except (OSError, ValueError):
        return False


def kafka(config: Config) -> Iterator[Finding]:
    """Kafka and its topics."""
    settings: dict[str, Any] = dict(config.client)
    settings |= {"bootstrap.servers": config.bootstrap_servers, "group.id": config.group}
    settings |= {"allow.auto.create.topics": False, "log_level": 0}
    settings |= {"enable.auto.commit": False, "isolation.level": "read_committed"}
    try:
        consumer = Consumer(settings)
    except KafkaException as error:
        yield wrong(f"[client]: {error.args[0].str()}", "mend or drop it")
        return
    try:
        yield from topics(consumer, config)
    except KafkaException as error:
        remedy = "see bootstrap_servers and [client]: the agent waits until Kafka answers"
        yield wrong(f"Kafka at {config.bootstrap_servers} does not answer: {error}", remedy)
    finally:
        consumer.close()


def topics(consumer: Any, config: Config) -> Iterator[Finding]:
    """All topics are there, and are those of the domain."""
    found = consumer.list_topics(timeout=10).topics
    missing = [config.topic(word) for word in TOPICS if config.topic(word) not in found]
    if missing:
        remedy = "`yardmaster topology apply` makes them; see topic_prefix"
        yield wrong(f"topics are not there: {', '.join(missing)}", remedy)
        return
    yield ok(f"Kafka at {config.bootstrap_servers}, with all topics {config.topic_prefix}*")
    name = config.topic("progress")
    domains = domains_of(consumer, name, list(found[name].partitions))
    if not domains:
        remedy = "start `yardmaster run`, and check again"
        yield note(f"{name} has no record yet: whether domain is right is not known", remedy)
    elif config.domain not in domains:
        others = ", ".join(sorted(domains))
        remedy = "state that one, or see topic_prefix: decisions of others are passed over"
        yield wrong(f"domain is {config.domain}, and Yardmaster there decides for {others}", remedy)
    else:
        yield ok(f"Yardmaster decides for the domain {config.domain}")


def domains_of(consumer: Any, topic: str, numbers: list[int]) -> set[str]:
    """Domains of the last records of `progress`."""
    parts = []
    for number in numbers:
        low, end = consumer.get_watermark_offsets(TopicPartition(topic, number), 5)
        if end > low:
            parts.append(TopicPartition(topic, number, max(low, end - PROGRESS_RECORDS)))
    found: set[str] = set()
    if not parts:
        return found
    consumer.assign(parts)
    until = time.monotonic() + PROGRESS_S
    while not found and time.monotonic() < until:
        for message in consumer.consume(PROGRESS_RECORDS, 0.5):
            if message.error() is None and message.value() is not None:
                found.add(str(codec("progress").decode(message.value())["domain"]))
    return found


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
    """Whether what was shipped is in force, and which jobs wait."""
    names = settings["JOB_TRANSFORM_NAMES"].replace(",", " ").upper().split()
    if not set(TRANSFORMS) & set(names):
        level = wrong if config.leads else note
        remedy = f"copy {FILE} into the schedd's config.d, and condor_reconfig"
        yield level(f"schedd {name} has no {FILE}: no job waits for Yardmaster", remedy)
        return
    troubles = list(deviations(name, names, settings))
    yield from troubles
    stated, grace = share(settings), settings["YM_GRACE"]
    if grace != f"{config.terms.grace_s:g}":
        yield wrong(
            f"schedd {name}: YM_GRACE is {grace or 'not there'}, grace_s {config.terms.grace_s:g}",
            "state the same in both",
        )
    is_none = squeezed(stated) == squeezed(NO_SHARE)
    if not config.leads and not is_none:
        yield wrong(
            f"schedd {name} has {FILE}, and the agent is in shadow: jobs wait for YM_GRACE in vain",
            f'state the share {NO_SHARE} and condor_reconfig, or mode = "lead"',
        )
    if not any(it.level == "WRONG" for it in troubles):
        whose = f"no job waits for Yardmaster: the share is {stated}"
        yield ok(f"schedd {name}: {whose if is_none else f'jobs with {stated} wait'}")


def deviations(name: str, names: list[str], settings: "Settings") -> Iterator[Finding]:
    """In what a schedd's configuration is not as it was shipped."""
    remedy = f"copy {FILE} into the schedd's config.d again, state your share, and condor_reconfig"
    stated = share(settings)
    wanted = shipped_settings(settings["YM_GRACE"], stated)
    for transform in TRANSFORMS:
        key = f"JOB_TRANSFORM_{transform}"
        if transform not in names:
            about = f"{transform} is not in force: it is not in JOB_TRANSFORM_NAMES"
            yield wrong(f"schedd {name}: {about}", remedy)
        elif squeezed(settings[key]) != squeezed(wanted[key]):
            yield wrong(f"schedd {name}: {key} is not as it was shipped", remedy)
    if [it for it in names if it in TRANSFORMS] == list(reversed(TRANSFORMS)):
        yield wrong(f"schedd {name}: {TRANSFORMS[1]} comes before {TRANSFORMS[0]}", remedy)
    if not is_share(stated):
        yield wrong(
            f"schedd {name}: the share {stated} is not one expression in brackets",
            "put brackets around all of it: && comes before ||, so it may be another share",
        )
    after = names[names.index("YARDMASTER") + 1 :] if "YARDMASTER" in names else []
    for other in after:
        if SETS_REQUIREMENTS.search(settings[f"JOB_TRANSFORM_{other}"]):
            yield note(
                f"schedd {name}: JOB_TRANSFORM_{other} sets Requirements after YARDMASTER",
                "name it before YARDMASTER: it may take the gate away",
            )
    stated_attributes = settings["PROTECTED_JOB_ATTRS"].replace(",", " ").upper().split()
    open_to_users = [
        it for it in wanted["PROTECTED_JOB_ATTRS"].split() if it.upper() not in stated_attributes
    ]
    if open_to_users:
        about = f"users may edit {', '.join(open_to_users)}: not in PROTECTED_JOB_ATTRS"
        yield wrong(f"schedd {name}: {about}", remedy)


def is_share(stated: str) -> bool:
    """Whether it is an expression in one pair of brackets."""
    try:
        classad.ExprTree(stated)
    except Exception:
        return False
    return without_brackets(stated.strip()) != stated.strip()


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
        found[name] = re.sub(rf"\$\({name}\)", "", value).strip()
    return found


def squeezed(stated: str) -> str:
    """A text without its spaces, with defaults of a job's attributes in their place."""
    return "".join(OF_JOB.sub(r"\1", stated).split())
