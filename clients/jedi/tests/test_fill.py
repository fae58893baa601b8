"""Candidates as PanDA's own brokers make them: tape, remote reading, distributed datasets, jumbo
jobs, platforms, scratch space."""

from typing import Any

import pytest
import world
from pandajedi.jedicore import Interaction
from place import Place
from rucio_stub import FakeRucio
from standin import assign, ranked
from world import chunk_of

ALPHA_AND_BETA = assign(ranked("SYNTH_ALPHA", 15), ranked("SYNTH_BETA", 5))


def files_of(candidate: Any) -> dict[str, int]:
    return {
        "disk": len(candidate.localDiskFiles),
        "tape": len(candidate.localTapeFiles),
        "cache": len(candidate.cacheFiles),
        "remote": len(candidate.remoteFiles),
    }


@pytest.mark.parametrize("label", ["managed", "user"])
def test_locality_and_attributes_are_those_that_panda_gives(place: Place, label: str) -> None:
    """The same queue, filled by both."""
    place.configure("off")
    theirs_chunk = chunk_of(601, label)
    assert place.run(theirs_chunk) == Interaction.SC_SUCCEEDED
    place.configure("lead")
    place.standin.answer = assign(*(ranked(it, 5) for it in theirs_chunk.siteCandidates))
    ours_chunk = chunk_of(601, label)
    assert place.run(ours_chunk) == Interaction.SC_SUCCEEDED
    for name, theirs in theirs_chunk.siteCandidates.items():
        ours = ours_chunk.getSiteCandidate(name)
        for attribute in [
            "siteName",
            "unifiedName",
            "localDiskFiles",
            "localTapeFiles",
            "cacheFiles",
            "remoteFiles",
            "allFiles",
            "remoteProtocol",
            "remoteSource",
            "overriddenAttrs",
        ]:
            assert getattr(ours, attribute) == getattr(theirs, attribute), (name, attribute)


def test_files_on_tape_are_staged_first(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(602)
    FakeRucio.datasets["synthetic.602.EVNT"]["replicas"] = {
        "NUC_DATATAPE": 20,
        "BETA_SITE_DATADISK": 10,
    }
    for lfn, places in FakeRucio.files.items():
        FakeRucio.files[lfn] = [it.replace("NUC_DATADISK", "NUC_DATATAPE") for it in places]
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    replicas = {it["endpoint"]: it["tape"] for it in place.standin.requests[0]["replicas"]}
    assert replicas == {"NUC_DATATAPE": True, "BETA_SITE_DATADISK": False}
    alpha, beta = (chunk.getSiteCandidate(it) for it in ("SYNTH_ALPHA", "SYNTH_BETA"))
    assert files_of(alpha) == {"disk": 0, "tape": 20, "cache": 0, "remote": 0}
    assert files_of(beta) == {"disk": 10, "tape": 0, "cache": 0, "remote": 0}
    assert alpha.getFileLocality(chunk.masterDataset.Files[0]) == "localtape"


def test_input_is_read_over_the_wan_where_task_and_queue_allow_it(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    place.task_buffer.mapper.siteSpecList["SYNTH_BETA"].direct_access_wan = True
    chunk = chunk_of(603)
    chunk.taskSpec.splitRule += ",IW=1"
    assert chunk.taskSpec.allowInputWAN()
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    alpha, beta = (chunk.getSiteCandidate(it) for it in ("SYNTH_ALPHA", "SYNTH_BETA"))
    assert (alpha.remoteProtocol, len(alpha.remoteFiles)) == (None, 0)
    assert (beta.remoteProtocol, len(beta.remoteFiles)) == ("direct", 20)


def test_files_of_a_distributed_dataset_go_where_they_are(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(604, "user")
    name = "synthetic.604.EVNT"
    FakeRucio.datasets[name] |= {
        "grouping": "NONE",
        "replicas": {"NUC_DATADISK": 10, "BETA_SITE_DATADISK": 10},
    }
    for index, spec in enumerate(chunk.masterDataset.Files):
        FakeRucio.files[spec.lfn] = ["BETA_SITE_DATADISK" if index % 2 else "NUC_DATADISK"]
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert place.standin.requests[0]["input"]["datasets"][0]["distributed"]
    assert chunk.masterDataset.isDistributed()
    # The next file lies at one queue alone, so that one is drawn.
    assert chunk.getOneSiteCandidate(5).siteName == "SYNTH_ALPHA"
    chunk.datasetMap[chunk.masterDataset.datasetID]["used"] = 1
    assert chunk.getOneSiteCandidate(5).siteName == "SYNTH_BETA"


def test_jumbo_jobs_have_candidates_of_their_own(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    place.task_buffer.mapper.siteSpecList["SYNTH_BETA"].catchall = "useJumboJobs"
    chunk = chunk_of(605, splitRule="NF=1,NJ=2", useJumbo="R")
    assert chunk.taskSpec.getNumJumboJobs() == 2
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]
    assert list(chunk.siteCandidatesJumbo) == ["SYNTH_BETA"]
    request = place.standin.requests[0]["options"]
    assert (request["jumbo"], request["ready_events"]) == (True, 0)


def test_a_platform_that_was_resolved_is_that_of_the_jobs(place: Place) -> None:
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 5, platform="x86_64-el9-gcc13-opt"))
    chunk = chunk_of(606)
    place.run(chunk)
    alpha = chunk.getSiteCandidate("SYNTH_ALPHA")
    assert alpha.get_overridden_attribute("platforms") == "x86_64-el9-gcc13-opt"


def test_an_analysis_task_has_no_candidates_for_jumbo_jobs_alone(place: Place) -> None:
    """PanDA's broker for analysis has none."""
    place.standin.answer = ALPHA_AND_BETA
    place.task_buffer.mapper.siteSpecList["SYNTH_BETA"].catchall = "useJumboJobs"
    chunk = chunk_of(614, "user", splitRule="NF=1,NJ=2", useJumbo="R")
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ["SYNTH_ALPHA", "SYNTH_BETA"]
    assert chunk.siteCandidatesJumbo == {}


@pytest.mark.parametrize(("cores", "megabytes"), [(1, 62_500.0), (8, 500_000.0), (None, 62_500.0)])
def test_scratch_space_is_for_all_cores_of_a_slot(
    place: Place, cores: int | None, megabytes: float
) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(607, coreCount=cores)
    place.run(chunk)
    alpha = chunk.getSiteCandidate("SYNTH_ALPHA")
    assert alpha.get_overridden_attribute("maxwdir") == megabytes


def test_merge_jobs_are_asked_for_as_such(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(608)
    chunk.isMerging = True
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    request = place.standin.requests[0]
    assert request["chunk"] == "merge" and request["subject"].endswith("/m")


@pytest.mark.parametrize(
    ("rule", "changes", "asked"),
    [
        ("US=2", {}, {"scouts_due"}),
        ("US=3", {}, set()),
        ("HO=1", {}, {"hpo_workflow"}),
        ("NJ=2", {"useJumbo": "fake"}, {"jumbo_chunk"}),
        ("NJ=2", {"useJumbo": "R"}, set()),
        ("DI=1", {}, {"disable_reassign"}),
        ("NE=400", {}, {"events_per_job"}),
    ],
)
def test_what_few_tasks_state_is_asked_with(
    place: Place, rule: str, changes: dict[str, str], asked: set[str]
) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(611, splitRule=f"NF=1,{rule}")
    for name, value in changes.items():
        setattr(chunk, name, value)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    options = place.standin.requests[0]["options"]
    names = {"scouts_due", "hpo_workflow", "jumbo_chunk", "merge_scout"}
    names |= {"disable_reassign", "events_per_job"}
    assert {name for name in names if options[name]} == asked
    assert options["cpu_in_hs06"] == chunk.taskSpec.useHS06()
    assert options["events_per_job"] == (400 if "events_per_job" in asked else None)


@pytest.mark.parametrize(("label", "used"), [("user", ["ANALY_X", "SYNTH_BETA"]), ("managed", [])])
def test_queues_with_jobs_of_an_analysis_task_are_asked_with(
    place: Place, monkeypatch: pytest.MonkeyPatch, label: str, used: list[str]
) -> None:
    sites = (True, {"SYNTH_BETA", None, "ANALY_X"})
    monkeypatch.setitem(world.ANSWERS, "getSitesUsedByTask_JEDI", sites)
    place.standin.answer = ALPHA_AND_BETA
    assert place.run(chunk_of(612, label)) == Interaction.SC_SUCCEEDED
    assert place.standin.requests[0]["options"]["used_queues"] == used


@pytest.mark.parametrize("label", ["user", "managed"])
def test_a_task_of_atlas_has_no_cloud_but_its_own(place: Place, label: str) -> None:
    """As for PanDA's broker for analysis; the one outside ATLAS looks at the parameters too."""
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(613, label, cloud=None)
    assert place.run(chunk, {"cloud": "US"}) == Interaction.SC_SUCCEEDED
    assert place.standin.requests[0]["options"]["cloud"] == ""


def test_a_chunk_without_input_is_filled(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = chunk_of(609)
    chunk.masterDataset.datasetName = "pseudo_dataset"
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert place.standin.requests[0]["total_files"] == 0
    assert files_of(chunk.getSiteCandidate("SYNTH_ALPHA"))["disk"] == 0
    assert FakeRucio.calls == []
