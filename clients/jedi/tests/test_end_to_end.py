"""JEDI's own factories and a running Yardmaster, on a real Kafka.

YARDMASTER_TEST_BINARY is the program, YARDMASTER_TEST_KAFKA a broker; without both this is left
out.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pandajedi.jedicore import Interaction
from place import Place
from standin import Standin, wait_for
from test_task_broker import inputs, nuclei, run
from world import chunk_of
from yard import Yard

from yardmaster_jedi import process
from yardmaster_jedi.config import Topics

BINARY = os.environ.get("YARDMASTER_TEST_BINARY", "")
KAFKA = os.environ.get("YARDMASTER_TEST_KAFKA", "")

pytestmark = pytest.mark.skipif(
    not (BINARY and KAFKA),
    reason="YARDMASTER_TEST_BINARY and YARDMASTER_TEST_KAFKA name no program or no Kafka",
)


class Real(Place):
    """A place whose topics are those of a running Yardmaster."""

    shipped = "atlas"

    def prepare(self) -> None:
        self.yard = Yard(self.folder, BINARY, self.bootstrap, self.shipped)
        self.prefix = self.yard.prefix
        names = ("task", "decision", "outcome", "comparison")
        self.topics = Topics(**{name: f"{self.prefix}.{name}" for name in names})
        self.standin = Standin(self.bootstrap, self.topics)  # reads, and answers nothing

    def decision_of(self, task: str) -> dict[str, Any]:
        """The newest decision on a task that this process has read."""
        known = process.current().connection().answers._subjects
        [found] = [it for subject, it in known.items() if subject.startswith(f"{task}/")]
        assert found.decision is not None
        return found.decision

    def close(self) -> None:
        super().close()
        self.yard.stop()


class Outside(Real):
    """The same of a PanDA outside ATLAS."""

    shipped = "panda"


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Outside]:
    made = Outside(tmp_path, KAFKA)
    yield made
    made.close()


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Real]:
    made = Real(tmp_path_factory.mktemp("real"), KAFKA)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def led(real: Real) -> None:
    real.configure(domain=real.prefix, answer_s=30)


def decided(real: Real, chunk: Any) -> Any:
    status = real.run(chunk)
    log = real.yard.log.read_text()
    assert status == Interaction.SC_SUCCEEDED, f"{chunk.taskSpec.errorDialog}\n{log}"
    return chunk


def test_production_jobs(real: Real) -> None:
    chunk = decided(real, chunk_of(9001))
    jobs = {name: it.weight for name, it in chunk.siteCandidates.items()}
    assert sum(weight for weight in jobs.values() if weight >= 1) == 20
    drawn, _ = chunk.getOneSiteCandidate(5, get_msg=True)
    assert drawn.siteName in jobs
    alpha = chunk.getSiteCandidate("SYNTH_ALPHA")
    assert len(alpha.localDiskFiles) == 20 and alpha.nQueuedJobs == 0
    explained = real.yard.verb("explain", "9001")
    assert "SYNTH_ALPHA" in explained


def test_analysis_jobs(real: Real) -> None:
    chunk = decided(real, chunk_of(9101, "user"))
    assert sum(it.weight for it in chunk.siteCandidates.values() if it.weight >= 1) == 20
    assert len(chunk.getSiteCandidate("SYNTH_ALPHA").localDiskFiles) == 20
    assert real.decision_of("9101")["policy"] == "analysis-job"
    # Jobs go where all input lies.
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]


def test_nuclei_of_tasks(real: Real) -> None:
    real.task_buffer.nuclei.clear()
    assert run(real, inputs(*range(9201, 9206))) == Interaction.SC_SUCCEEDED
    found = nuclei(real)
    assert sorted(found) == list(range(9201, 9206))
    assert set(found.values()) <= {"NUC", "BETA_SITE"}
    assert real.decision_of("9201")["nucleus"] == found[9201]


def test_a_deferral_becomes_an_assignment_that_is_taken(real: Real) -> None:
    """All queues go offline, and come back."""
    real.yard.set_status("offline")
    chunk = chunk_of(9251, files=2)
    wait_for(lambda: real.run(chunk) == Interaction.SC_WAITING or chunk.siteCandidates.clear())
    first = real.decision_of("9251")
    real.yard.set_status("online")
    wait_for(lambda: real.decision_of("9251")["outcome"] == "assign", 60)
    assert real.run(chunk) == Interaction.SC_SUCCEEDED and chunk.siteCandidates
    taken = real.decision_of("9251")
    assert (taken["attempt"], taken["ordinal"] > 1) == (first["attempt"], True)


def test_shadow_gives_up_what_is_reserved(real: Real) -> None:
    real.configure("shadow", domain=real.prefix, answer_s=30)
    chunk = decided(real, chunk_of(9301))
    assert chunk.siteCandidates
    record = wait_for(lambda: [it for it in real.standin.comparisons if it["task"] == "9301"])[0]
    assert record["yardmaster"]["outcome"] == "assign" and record["other"]["outcome"] == "assign"
    figures = record["yardmaster"]["figures"][0]
    assert figures["running"] > 0 and figures["queued"] is not None


def test_jobs_outside_atlas_are_led_and_shadowed(outside: Outside) -> None:
    """PanDA's own generic broker and ours choose the same queues, by the topology that ships."""
    for spec in outside.task_buffer.mapper.siteSpecList.values():
        spec.space = 0
    task: dict[str, Any] = {"vo": "wlcg", "nucleus": None, "ramCount": 0}
    outside.configure("lead", domain=outside.prefix, answer_s=30)
    led = decided(outside, chunk_of(9401, **task))
    assert outside.decision_of("9401")["policy"] == "generic-job"
    assert sum(it.weight for it in led.siteCandidates.values() if it.weight >= 1) == 20

    outside.configure("shadow", domain=outside.prefix, answer_s=30)
    outside.task_buffer.mapper.siteSpecList["SYNTH_GAMMA"].status = "offline"
    outside.yard.publish_place("SYNTH_GAMMA", "GAMMA_SITE", int(time.time() * 1000), "offline")
    assert outside.yard.producer.flush(30) == 0

    def compared() -> Any:
        """A comparison, of a chunk that was asked for once the queue is known to be offline."""
        outside.standin.comparisons.clear()
        decided(outside, chunk_of(9402, **task))
        record = wait_for(lambda: outside.standin.comparisons)[0]
        return record if record["yardmaster"]["fates"] else None

    record = wait_for(compared, 60)
    sides = [record[it] for it in ("yardmaster", "other")]
    assert [{it["queue"] for it in side["queues"]} for side in sides] == [
        set(led.siteCandidates) - {"SYNTH_GAMMA"}
    ] * 2
    assert [[(it["queue"], it["filter"]) for it in side["fates"]] for side in sides] == [
        [("SYNTH_GAMMA", "status")]
    ] * 2
