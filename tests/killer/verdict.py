"""Reads the whole log of a domain with clients of its own, and says what is wrong with it."""

import json
import time
from dataclasses import dataclass, field

import account
from account import Letter, Output, Place
from answers import Matches, Requests
from codec import Codec, Record, Unreadable
from crew import Crew, Process, Program
from domain import NO_NULLS, OWN
from kafka import Read, Reader
from promise import Promises, joined
from recount import Counters, Recount
from scene import Strays

COUNTERS_MAX_S = 180.0
COMPLAINTS_MAX = 25


@dataclass
class Verdict:
    """The log of one domain, and what must be so of it."""

    program: Program
    crew: Crew
    codec: Codec
    answers: Requests | Matches
    strays: Strays
    readers: dict[str, Reader] = field(default_factory=dict)
    # What each record of an own topic is: an output, or why it is none. Decoding it costs most.
    decoded: dict[str, list[Output | str]] = field(default_factory=dict)
    recount: Counters = field(default_factory=dict)
    promises: Promises = field(default_factory=lambda: Promises([], []))
    unreadable: set[Place] = field(default_factory=set)
    job_records: int = 0
    outcomes: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def domain(self) -> str:
        """Its name."""
        return self.codec.domain.name

    def demand(self, what: str, complaints: list[str]) -> None:
        """Notes the first complaints, if there are any; the rest is checked all the same."""
        what = f"{self.domain}: {what}"
        if not complaints:
            print(f"  {what}: nothing to complain of", flush=True)
            return
        shown = "\n".join(f"    {it[:400]}" for it in complaints[:COMPLAINTS_MAX])
        self.failures.append(f"{what}: {len(complaints)} complaints\n{shown}")
        print(f"  {self.failures[-1]}", flush=True)

    def _read(self, topic: str) -> list[Read]:
        if topic not in self.readers:
            self.readers[topic] = Reader(self.program.bootstrap, self.codec.domain.topic(topic))
        return self.readers[topic].read()

    def _outputs(self, topic: str) -> list[Output]:
        """The records of an own topic that are not the killer's own strays."""
        records = self._read(topic)
        decoded = self.decoded.setdefault(topic, [])
        decoded += [self._output(topic, it) for it in records[len(decoded) :]]
        outputs, unreadable = [], []
        for it, output in zip(records, decoded, strict=True):
            if (topic, it.partition, it.offset) in self.strays.own:
                continue
            if isinstance(output, str):
                unreadable.append(f"{topic}/{it.partition}/{it.offset}: {output}")
            else:
                outputs.append(output)
        if unreadable:
            self.demand(f"own topic {topic} can be read", unreadable)
        return outputs

    def _output(self, topic: str, it: Read) -> Output | str:
        """A record of an own topic, a stray maybe; the reason, when it cannot be read."""
        try:
            record = self.codec.decode(topic, it.value)
            return Output(it.partition, it.offset, it.key.decode("utf-8"), record)
        except (Unreadable, UnicodeDecodeError) as error:
            return str(error)

    # --- What was asked ---------------------------------------------------------------------------

    def read_inputs(self) -> None:
        """Reads every input to its end: requests asked, the recount, what nobody can read."""
        kinds = self.codec.schemas
        statuses = _symbols(kinds["job-state"], "status")
        recount = Recount(statuses, _symbols(kinds["transfer"], "state"))
        for topic in self.codec.domain.inputs:
            for it in self._read(topic):
                place = (topic, it.partition, it.offset)
                if place in self.strays.ahead and topic != "task":
                    # Requests are read all the same.
                    continue
                if place in self.strays.large:
                    self._note_large(it)
                elif it.value is None and topic not in NO_NULLS:
                    continue
                else:
                    self._take(topic, place, it, recount)
        self.recount = recount.counters()
        self.promises = Promises(recount.jobs.values(), recount.outcomes)
        self.outcomes = len(recount.outcomes)
        self.answers.note_outcomes(recount.outcomes)

    def _take(self, topic: str, place: Place, it: Read, recount: Recount) -> None:
        try:
            record = self.codec.decode(topic, it.value)
        except Unreadable:
            self.unreadable.add(place)
            return
        self.answers.note(topic, record)
        self.job_records += topic == "job-state"
        recount.take(topic, record, it.stamp)

    def _note_large(self, it: Read) -> None:
        try:
            record = self.codec.decode("task", it.value)
        except Unreadable:
            return
        if isinstance(self.answers, Requests):
            self.answers.note_large(record)

    def open(self) -> list[str]:
        """Subjects that have no final answer and must have one."""
        return self.answers.open(self._outputs("decision"))

    def lag(self) -> int:
        """How many records of all inputs lie behind the cut of the last cycle."""
        cut = account.cut_of(self._outputs("progress"))
        return sum(
            max(0, end - cut.get((topic, partition), 0))
            for topic in self.codec.domain.inputs
            for partition, end in self.readers[topic].next.items()
        )

    # --- Counters ---------------------------------------------------------------------------------

    def check_counters(self) -> None:
        """Counters of both processes, and of the counter topic, against the recount."""
        for process in self.crew.members:
            self._until(f"counters of {process.name}", lambda it=process: self._told_by(it))
        self._until("the counter topic", self._told_on_topic)

    def _until(self, what: str, look: object) -> None:
        until = time.monotonic() + COUNTERS_MAX_S
        while True:
            complaints = look()  # type: ignore[operator]
            if not complaints or time.monotonic() > until:
                return self.demand(what, complaints)
            self.crew.wait(1)

    def _told_by(self, process: Process) -> list[str]:
        text = process.page(f"/v1/counters?domain={self.domain}", 60)
        if text is None:
            return [f"{process.name} does not answer /v1/counters"]
        told: Counters = {}
        for line in text.splitlines():
            row = json.loads(line) if line else {}
            names = [value for value in row.values() if isinstance(value, str)]
            figures = {name: value for name, value in row.items() if not isinstance(value, str)}
            if names:
                told[tuple(names)] = figures
        # What a pool gave is held by its matches, which are no promises.
        promising = [] if isinstance(self.answers, Matches) else self._outputs("decision")
        promised = self.promises.counters(it.record for it in promising)
        return account.check_counters(process.name, joined(self.recount, promised), told)

    def _told_on_topic(self) -> list[str]:
        newest: dict[str, int] = {}
        for output in sorted(self._outputs("counter"), key=lambda it: it.offset):
            newest[output.key] = output.record["value"]
        return account.check_counter_topic(self.recount, newest)

    # --- The log ----------------------------------------------------------------------------------

    def check_log(self) -> None:
        """Answers, cycles, dead letters: of the whole log, after everybody has ended."""
        decisions = self._outputs("decision")
        progress = self._outputs("progress")
        self.demand("answers", self.answers.complaints(decisions))
        self.demand("cycles", account.check_progress(progress))
        outputs = {topic: self._outputs(topic) for topic in ("throttle", "command")}
        outputs["decision"] = decisions
        self.demand("outputs of each cycle", account.check_outputs(progress, outputs))
        letters = [
            Letter(
                it.headers["topic"].decode(),
                int(it.headers["partition"]),
                int(it.headers["offset"]),
                it.headers["reason"].decode(),
            )
            for it in self._read("dead-letter")
            if ("dead-letter", it.partition, it.offset) not in self.strays.own
        ]
        tolerated = self.strays.large | self.strays.own
        ahead = {it for it in self.strays.ahead if it[0] != "task"}
        complaints = account.check_dead_letters(letters, self.unreadable, ahead, tolerated)
        self.demand("dead letters", complaints)
        self._summary(decisions, progress, len(letters))

    def _summary(self, decisions: list[Output], progress: list[Output], letters: int) -> None:
        outcomes: dict[str, int] = {}
        for output in decisions:
            outcome = output.record["outcome"]
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        epochs = {output.record["epoch"] for output in progress}
        print(
            f"  {self.domain}: {self.job_records} job records, {len(self.answers)} asked, "
            f"{len(decisions)} decisions {outcomes}, {len(progress)} cycles in {len(epochs)} "
            f"epochs, {letters} dead letters, {len(self.strays.ahead)} stamped ahead, "
            f"{self.outcomes} outcomes, {len(self.recount)} counters, "
            f"{len(self.strays.own)} strays on {len(OWN)} own topics",
            flush=True,
        )

    # --- The product's own verbs ------------------------------------------------------------------

    def check_verbs(self) -> None:
        """Replays to one digest from the log and from each store; audits."""
        text = self._verb("replay", "--verify")
        digests = {"the log": _line(text, "digest")}
        verified = _line(text, "verified")
        if ", 0 different, 0 not verifiable" not in verified:
            self.demand("replay --verify", text.splitlines()[-COMPLAINTS_MAX:])
        for process in self.crew.members:
            store = str(process.store_of(self.domain))
            told = self._verb("replay", "--from-store", "--store", store)
            digests[f"store {process.name}"] = _line(told, "digest")
            self._verb("audit", "--store", store)
        differ = [f"{what}: {it}" for what, it in digests.items()]
        same = len(set(digests.values())) == 1
        self.demand("one digest, whatever a replay begins with", [] if same else differ)
        print(f"  {self.domain}: replay: {verified}", flush=True)

    def _verb(self, *args: str) -> str:
        code, out, error = self.program.verb(self.domain, *args)
        lines = [f"exit code {code}", *out.splitlines()[-10:], *error.splitlines()[-10:]]
        self.demand(" ".join(args), lines if code != 0 else [])
        return out


def _line(text: str, word: str) -> str:
    found = [line for line in text.splitlines() if line.startswith(f"{word} ")]
    if len(found) != 1:
        return f"no line {word!r} in {text[-300:]!r}"
    return found[0]


def _symbols(schema: Record, name: str) -> list[str]:
    """The words of an enum, in the order of the schema."""
    kind = next(it["type"] for it in schema["fields"] if it["name"] == name)
    return list(kind["symbols"])
