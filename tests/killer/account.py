"""Checks of a log: every function returns complaints, none where all is as it must be."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from codec import Record
from recount import Counters
from request import Expected

Lane = tuple[str, int]
Place = tuple[str, int, int]


@dataclass(frozen=True)
class Output:
    """A record of an own topic that the killer did not write itself."""

    partition: int
    offset: int
    key: str
    record: Record


@dataclass(frozen=True)
class Letter:
    """Which record a dead letter stands for, and why."""

    topic: str
    partition: int
    offset: int
    reason: str


def decision_id(
    domain: str, subject: str, attempt: int, ordinal: int, what: str = "decision"
) -> bytes:
    """The id that follows from what is answered; `what` is "offer" for offers of slots."""
    hashed = hashlib.sha256()
    for part in (what, domain, subject):
        hashed.update(len(part.encode()).to_bytes(8, "little"))
        hashed.update(part.encode())
    hashed.update(attempt.to_bytes(4, "little"))
    hashed.update(ordinal.to_bytes(4, "little"))
    return hashed.digest()[:16]


def is_final(decision: Record) -> bool:
    """Whether no other answer may follow."""
    return decision["outcome"] != "defer"


def by_attempt(decisions: Iterable[Output]) -> dict[tuple[str, int], list[Record]]:
    """The answers to each attempt of a subject, in order."""
    found: dict[tuple[str, int], list[Record]] = defaultdict(list)
    for output in decisions:
        found[(output.record["subject"], output.record["attempt"])].append(output.record)
    for answers in found.values():
        answers.sort(key=lambda it: (it["ordinal"], it["cycle"]))
    return found


def check_ids(domain: str, decisions: Collection[Output], what: str = "decision") -> list[str]:
    """Answers are numbered without gap, keyed by their subject, and each id stands once."""
    found: list[str] = []
    ids = Counter(bytes(output.record["id"]) for output in decisions)
    for output in decisions:
        if output.key != output.record["subject"]:
            found.append(f"{output.record['subject']}: the key is {output.key[:80]!r}")
        if output.record["domain"] != domain:
            found.append(f"{output.record['subject']}: of domain {output.record['domain']}")
    found += [
        f"id {id.hex()} stands on {count} decisions" for id, count in ids.items() if count > 1
    ]
    for (subject, attempt), answers in by_attempt(decisions).items():
        name = f"{subject[:80]}:{attempt}"
        ordinals = [it["ordinal"] for it in answers]
        if ordinals != list(range(1, len(answers) + 1)):
            found.append(f"{name}: the answers are numbered {ordinals}")
        for it in answers:
            if bytes(it["id"]) != decision_id(domain, subject, attempt, it["ordinal"], what):
                found.append(f"{name}: answer {it['ordinal']} has the id {it['id'].hex()}")
    return found


def check_answers(
    domain: str,
    decisions: Collection[Output],
    asked: Mapping[str, int],
    expected: Mapping[str, Expected],
) -> list[str]:
    """Complaints about the decisions.

    `asked` has the newest attempt of each subject, `expected` how many final answers it must have.
    An older attempt that was deferred must have one, too.
    """
    found = check_ids(domain, decisions)
    by_request = by_attempt(decisions)
    for (subject, attempt), answers in by_request.items():
        name = f"{subject[:80]}:{attempt}"
        finals = [is_final(it) for it in answers]
        if sum(finals) > 1:
            found.append(f"{name}: {sum(finals)} final answers")
        elif any(finals) and not finals[-1]:
            found.append(f"{name}: the final answer is not the last")
        elif not any(finals) and attempt < asked.get(subject, 0):
            found.append(f"{name}: deferred, superseded, no final answer")
        if subject not in asked:
            found.append(f"{name}: answered, and nobody asked")
        elif attempt > asked[subject]:
            found.append(f"{name}: answered, and {asked[subject]} is the newest that was asked")
    for subject in open_requests(asked, expected, by_request):
        answers = by_request.get((subject, asked[subject]), [])
        last = f"; {len(answers)} deferrals" if answers else "; no answer at all"
        found.append(f"{subject[:80]}:{asked[subject]}: no final answer{last}")
    for subject, wanted in expected.items():
        if wanted == Expected.NONE and any(key[0] == subject for key in by_request):
            found.append(f"{subject[:80]}: answered, and it was another domain's")
    return found


def open_requests(
    asked: Mapping[str, int],
    expected: Mapping[str, Expected],
    answers: Mapping[tuple[str, int], list[Record]],
) -> list[str]:
    """Subjects whose newest attempt has no final answer and must have one."""
    return [
        subject
        for subject, attempt in asked.items()
        if expected.get(subject, Expected.AT_MOST_ONE) == Expected.ONE
        and not any(is_final(it) for it in answers.get((subject, attempt), []))
    ]


def check_progress(progress: Iterable[Output]) -> list[str]:
    """Cycles are numbered without gap, by one instance in each epoch."""
    found: list[str] = []
    instances: dict[int, str] = {}
    before: Record | None = None
    for output in sorted(progress, key=lambda it: it.offset):
        cycle = output.record
        epoch, number = cycle["epoch"], cycle["number"]
        if before is not None:
            if number != before["number"] + 1:
                found.append(f"cycle {number} of epoch {epoch} follows cycle {before['number']}")
            if epoch not in (before["epoch"], before["epoch"] + 1):
                found.append(f"cycle {number}: epoch {epoch} follows epoch {before['epoch']}")
            if cycle["now"] < before["now"]:
                found.append(f"cycle {number}: now goes back by {before['now'] - cycle['now']} ms")
        writer = instances.setdefault(epoch, cycle["instance"])
        if writer != cycle["instance"]:
            found.append(f"epoch {epoch} has two writers: {writer}, {cycle['instance']}")
        before = cycle
    return found


def check_outputs(progress: Iterable[Output], outputs: Mapping[str, list[Output]]) -> list[str]:
    """Each cycle counts the decisions, throttles and commands that name it, lane by lane."""
    counted: Counter[tuple[str, int, int]] = Counter()
    for topic, records in outputs.items():
        for output in records:
            counted[(topic, output.partition, output.record["cycle"])] += 1
    claimed: Counter[tuple[str, int, int]] = Counter()
    for output in progress:
        for lane in output.record["outputs"]:
            topic, partition = lane["lane"]["topic"], lane["lane"]["partition"]
            if topic in outputs:
                claimed[(topic, partition, output.record["number"])] += lane["records"]
    return [
        f"cycle {key[2]}: {claimed[key]} records on {key[0]}/{key[1]}, but there are {counted[key]}"
        for key in sorted(claimed.keys() | counted.keys())
        if claimed[key] != counted[key]
    ]


def cut_of(progress: Iterable[Output]) -> dict[Lane, int]:
    """How far each input was read at the last cycle."""
    cut: dict[Lane, int] = {}
    for output in sorted(progress, key=lambda it: it.offset):
        for lane in output.record["lanes"]:
            cut[(lane["lane"]["topic"], lane["lane"]["partition"])] = lane["next"]
    return cut


def check_dead_letters(
    letters: Collection[Letter], unreadable: set[Place], ahead: set[Place], tolerated: set[Place]
) -> list[str]:
    """Each unreadable record has one dead letter, no other has one; `tolerated` may have one.

    `ahead` are records that are stamped ahead of the clock, which their dead letters say.
    """
    reasons = {(it.topic, it.partition, it.offset): it.reason for it in letters}
    count = Counter((it.topic, it.partition, it.offset) for it in letters)
    found = [f"{place}: unreadable, no dead letter" for place in unreadable - count.keys()]
    found += [f"{place}: stamped ahead, no dead letter" for place in ahead - count.keys()]
    found += [f"{place}: {number} dead letters" for place, number in count.items() if number > 1]
    found += [
        f"{place}: the reason of the dead letter is {reason}"
        for place, reason in reasons.items()
        if (reason == "stamp_ahead") != (place in ahead)
    ]
    rest = count.keys() - unreadable - ahead - tolerated
    return found + [f"{place}: a dead letter, and it can be read" for place in rest]


def check_counters(name: str, recount: Counters, told: Counters) -> list[str]:
    """Every counter that the killer can know equals its recount."""
    kinds = {"load", "queue", "share", "user", "group", "nucleus", "task", "starts", "link", "into"}
    known = {key: row for key, row in told.items() if key[0] in kinds}
    found = []
    for key in sorted(recount.keys() | known.keys()):
        ours, theirs = recount.get(key, {}), known.get(key, {})
        for figure in sorted(ours.keys() | theirs.keys()):
            if ours.get(figure, 0) != theirs.get(figure, 0):
                found.append(
                    f"{name}: {'/'.join(key)} {figure}: {theirs.get(figure, 0)}, "
                    f"recount {ours.get(figure, 0)}"
                )
    return found


def counter_topic(recount: Counters) -> dict[str, int]:
    """The keys of the counter topic with the values that the recount gives, those of 0 left out."""
    labels = {
        "load": ("queue", "gshare", "resource_type"),
        "user": ("user", "queue"),
        "group": ("working_group", "queue"),
        "nucleus": ("nucleus",),
    }
    values = {}
    for key, row in recount.items():
        for figure, value in row.items() if key[0] in labels else ():
            name, status = figure.split("_", 1)
            parts = [f"{label}={it}" for label, it in zip(labels[key[0]], key[1:], strict=True)]
            values[",".join([name, *parts, f"status={status}"])] = value
    return values


def check_counter_topic(recount: Counters, newest: Mapping[str, int]) -> list[str]:
    """The last value of each key is the counter; one that is not there is 0."""
    wanted = counter_topic(recount)
    return [
        f"counter topic: {key}: {newest.get(key, 0)}, recount {wanted.get(key, 0)}"
        for key in sorted(wanted.keys() | newest.keys())
        if wanted.get(key, 0) != newest.get(key, 0)
    ]
