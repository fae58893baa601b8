"""Yardmaster leads: its decisions fill JEDI's input chunk, under JEDI's own factory."""

import time

import pytest
from pandajedi.jedicore import Interaction
from pandajedi.jedicore.ThreadUtils import MapWithLock
from place import Place
from rucio_stub import FakeRucio
from standin import assign, decision, ranked
from world import chunk_of

from yardmaster_jedi.job_brokers import YardmasterAnalJobBroker, YardmasterProdJobBroker

ALPHA_AND_BETA = assign(ranked("SYNTH_ALPHA", 15, 2.0), ranked("SYNTH_BETA", 5, 1.0))


def test_the_factory_makes_the_classes_that_the_configuration_of_jedi_names(place: Place) -> None:
    assert isinstance(place.broker(chunk_of(100))[1], YardmasterProdJobBroker)
    assert isinstance(place.broker(chunk_of(100, "user"))[1], YardmasterAnalJobBroker)


def test_a_decision_fills_the_input_chunk(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(101)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.get_candidate_names()) == ["SYNTH_ALPHA", "SYNTH_BETA"]
    alpha, beta = (chunk.getSiteCandidate(name) for name in ("SYNTH_ALPHA", "SYNTH_BETA"))
    assert (alpha.weight, beta.weight) == (15.0, 5.0)
    assert (len(alpha.localDiskFiles), len(beta.localDiskFiles)) == (20, 10)
    # As JobSplitter draws.
    drawn, _ = chunk.getOneSiteCandidate(5, get_msg=True)
    assert drawn.siteName in ("SYNTH_ALPHA", "SYNTH_BETA")
    assert (alpha.weight, beta.weight) == (15.0, 5.0)  # not changed by the draw


def test_the_database_is_not_read_for_a_broker_that_does_not_decide(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    place.run(chunk_of(102))
    assert set(place.task_buffer.calls) == {"getConfigValue"}
    assert place.task_buffer.calls["getConfigValue"] <= 2


def test_an_analysis_decision_fills_the_input_chunk(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(103, "user")
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    request = place.standin.requests[0]
    assert (request["policy"], request["nucleus"]) == ("analysis-job", "")
    alpha = chunk.getSiteCandidate("SYNTH_ALPHA")
    assert (len(alpha.localDiskFiles), len(alpha.allFiles)) == (20, 20)


def test_a_deferral_waits_without_blame(place: Place) -> None:
    counts = [{"filter": "status", "rejected": 3}]
    place.standin.answer = lambda it: [decision(it, "defer", counts=counts)]
    chunk = chunk_of(104)
    assert place.run(chunk) == Interaction.SC_WAITING
    assert chunk.taskSpec.errorDialog == "yardmaster: defer status:3"


def test_what_is_not_admitted_is_left_to_panda(place: Place) -> None:
    """As of a task that had ended, and that its user tries again."""
    place.standin.answer = lambda it: [decision(it, "reject", reason="task_ended(at 1)")]
    chunk = chunk_of(105)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert len(chunk.siteCandidates) == 3
    assert place.standin.outcomes == []


def test_the_live_counter_is_held_meanwhile_and_the_wait_is_bounded(place: Place) -> None:
    place.configure(answer_s=0.3)
    counter = MapWithLock()
    began = time.monotonic()
    assert place.run(chunk_of(106), counter=counter) == Interaction.SC_SUCCEEDED  # PanDA's own
    assert time.monotonic() - began < 8
    counter.acquire()  # it is free again
    counter.release()


def test_candidates_take_what_other_threads_have_generated(place: Place) -> None:
    """`update_n_queue` adds to `nQueuedJobs`, so it is a number."""
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(107)
    place.run(chunk)
    counter = MapWithLock()
    counter.add("SYNTH_ALPHA", 7)
    chunk.update_n_queue(counter)
    assert chunk.getSiteCandidate("SYNTH_ALPHA").nQueuedJobs == 7
    assert all(it.can_accept_jobs() for it in chunk.siteCandidates.values())


def test_a_queue_without_jobs_is_a_spare_and_not_one_to_bootstrap(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20), ranked("SYNTH_BETA", 0, 3.0))
    chunk = chunk_of(108)
    place.run(chunk)
    assert 0 < chunk.getSiteCandidate("SYNTH_BETA").weight < 1e-4
    drawn = [chunk.getOneSiteCandidate(5).siteName for _ in range(50)]
    assert drawn == ["SYNTH_ALPHA"] * 50
    assert chunk.getOneSiteCandidate(5, ["SYNTH_ALPHA"]).siteName == "SYNTH_BETA"


def test_a_weight_of_zero_with_jobs_bootstraps_a_queue(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_BETA", 1, 0.0), ranked("SYNTH_ALPHA", 19))
    chunk = chunk_of(109)
    place.run(chunk)
    drawn = [chunk.getOneSiteCandidate(5).siteName for _ in range(20)]
    assert drawn == ["SYNTH_BETA"] + ["SYNTH_ALPHA"] * 19


def test_off_asks_nothing(place: Place) -> None:
    place.configure("off")
    assert place.run(chunk_of(110)) == Interaction.SC_SUCCEEDED
    assert place.standin.requests == []


def test_a_hint_for_the_task_broker_is_panda_s_alone(place: Place) -> None:
    chunk = chunk_of(111)
    _, made = place.broker(chunk)
    status, sites = made.doBrokerage(chunk.taskSpec, "WORLD", chunk, None, True, ["SYNTH_ALPHA"])
    assert status == Interaction.SC_SUCCEEDED and list(sites) == ["SYNTH_ALPHA"]
    assert place.standin.requests == []


def test_the_request_has_the_facts(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(112, splitRule="NF=1,TW=-1")
    place.run(chunk)
    request = place.standin.requests[0]
    assert request["subject"] == f"112/{chunk.masterIndexName}"
    assert (request["jobs"], request["total_files"], request["nucleus"]) == (20, 20, "NUC")
    assert (request["core_count"], request["ram_unit"]) == (8, "mb_per_core")
    assert request["options"]["remaining_events"] == 20_000
    replicas = {it["endpoint"]: it["files"] for it in request["replicas"]}
    assert replicas == {"NUC_DATADISK": 20, "BETA_SITE_DATADISK": 10}
    data = request["input"]["datasets"][0]
    # JEDI names a container of it; as a part of one it would not count for where the input lies.
    assert chunk.masterDataset.containerName and data["container"] == ""
    assert (data["name"], data["primary"], data["files"]) == ("synthetic.112.EVNT", True, 20)
    found = {tuple(it["endpoints"]): it["files"] for it in request["input"]["placements"]}
    assert found == {("NUC_DATADISK",): 10, ("BETA_SITE_DATADISK", "NUC_DATADISK"): 10}


@pytest.mark.parametrize("label", ["managed", "user"])
def test_a_chunk_with_a_failing_rucio_ends_as_without_us(place: Place, label: str) -> None:
    def outcome(mode: str) -> str:
        place.configure(mode)
        FakeRucio.error = RuntimeError("Rucio is down")
        try:
            return str(place.run(chunk_of(113, label)))
        except Exception as error:
            return type(error).__name__

    assert outcome("lead") == outcome("off")
    assert place.standin.requests == []
    FakeRucio.error = None
    place.configure("lead")
    place.standin.answer = ALPHA_AND_BETA
    assert place.run(chunk_of(114, label)) == Interaction.SC_SUCCEEDED  # the breaker is not open
    assert len(place.standin.requests) == 1
