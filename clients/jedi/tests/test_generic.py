"""Jobs outside ATLAS: a fourth class, with PanDA's generic broker behind it."""

import copy
from collections import Counter
from typing import Any

import pytest
from pandajedi.jedibrokerage import GenJobBroker
from pandajedi.jedicore import Interaction
from pandaserver.taskbuffer.InputChunk import InputChunk
from place import Place
from rucio_stub import GB, FakeRucio, GenDdmInterface
from standin import assign, decision, ranked, wait_for
from world import chunk_of, dataset, task_spec

from yardmaster_jedi.job_brokers import YardmasterGenJobBroker

ALPHA_AND_BETA = assign(ranked("SYNTH_ALPHA", 15, 2.0), ranked("SYNTH_BETA", 5, 1.0))
OUTSIDE: dict[str, Any] = {
    "vo": "wlcg",
    "cloud": "WORLD",
    "nucleus": None,
    "coreCount": 8,
    "ramCount": 0,
}
GENERIC = '[[rule]]\nbrokerage = "generic"\nmode = "{}"'


@pytest.fixture(autouse=True)
def sites(place: Place) -> None:
    """What PanDA's generic broker looks at of a site beside."""
    place.configure(rules=GENERIC.format("lead"))
    for spec in place.task_buffer.mapper.siteSpecList.values():
        spec.space = 0


def outside(task: int, **more: Any) -> InputChunk:
    return chunk_of(task, **{**OUTSIDE, **more})


def container(task: int) -> InputChunk:
    """A chunk of a container of two datasets: both are at NUC, the first alone at BETA_SITE."""
    chunk = outside(task)
    master = chunk.masterDataset
    name = f"synthetic.{task}.EVNT"
    master.datasetName = f"mc:{name}/"
    FakeRucio.datasets[name] = {"length": 20, "did_type": "CONTAINER"}
    for part, others in enumerate(({"BETA_SITE_DATADISK": 10}, {"GAMMA_SITE_DATADISK": 9})):
        FakeRucio.datasets[f"{name}.part{part}"] = {
            "length": 10,
            "replicas": {"NUC_DATADISK": 10, **others},
            "files": [it.lfn for it in master.Files[part * 10 : part * 10 + 10]],
        }
    return chunk


def pseudo(task: int) -> InputChunk:
    """A chunk whose dataset stands for no data."""
    spec = task_spec(task, **OUTSIDE)
    master = dataset(task, 0, "pseudo_dataset", 4)
    master.datasetName, master.type = "pseudo_dataset", "pp_input"
    return InputChunk(spec, master, [], 0)


def test_the_factory_makes_the_class_that_the_configuration_of_jedi_names(place: Place) -> None:
    assert isinstance(place.broker(outside(600))[1], YardmasterGenJobBroker)


def test_a_decision_fills_the_input_chunk(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = outside(601)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    alpha, beta = (chunk.getSiteCandidate(name) for name in ("SYNTH_ALPHA", "SYNTH_BETA"))
    assert (alpha.weight, beta.weight) == (15.0, 5.0)
    assert (len(alpha.localDiskFiles), len(beta.localDiskFiles)) == (20, 10)
    assert place.standin.requests[0]["policy"] == "generic-job"


def test_a_part_of_a_unified_queue_has_the_files_of_that_queue(place: Place) -> None:
    sites = place.task_buffer.mapper.siteSpecList
    part = copy.copy(sites["SYNTH_ALPHA"])
    part.sitename = "SYNTH_ALPHA/SCORE"
    sites[part.sitename] = part
    place.standin.answer = assign(
        ranked(part.sitename, 15, unified="SYNTH_ALPHA"), ranked("SYNTH_BETA", 5)
    )
    chunk = outside(613)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    files = {name: len(it.localDiskFiles) for name, it in chunk.siteCandidates.items()}
    assert files == {part.sitename: 20, "SYNTH_BETA": 10}


def test_a_request_has_what_the_generic_broker_reads(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    place.task_buffer.params = '{"cloud": "US", "PandaSite": "NUC"}'
    place.task_buffer.getSitesUsedByTask_JEDI = lambda _: (True, ["SYNTH_BETA", None])  # type: ignore[attr-defined]
    chunk = outside(602, cloud=None, walltime=3600)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    options = place.standin.requests[0]["options"]
    assert (options["cloud"], options["panda_site"]) == ("US", "NUC")
    assert (options["walltime_s"], options["used_queues"]) == (3600, ["SYNTH_BETA"])
    # As PanDA's own broker leaves the task: its jobs are of that cloud.
    assert chunk.taskSpec.cloud == "US"


def test_files_of_a_container_are_those_of_its_complete_datasets(place: Place) -> None:
    """As PanDA's own broker has them, without a further call of Rucio."""

    def run(mode: str) -> tuple[dict[str, int], Counter[str]]:
        place.configure(rules=GENERIC.format(mode))
        FakeRucio.calls.clear()
        chunk = container(614)
        assert place.run(chunk) == Interaction.SC_SUCCEEDED
        files = {name: len(it.localDiskFiles) for name, it in chunk.siteCandidates.items()}
        return files, Counter(map(str, FakeRucio.calls))

    place.standin.answer = assign(*(ranked(f"SYNTH_{it}", 5) for it in ("ALPHA", "BETA", "GAMMA")))
    theirs, ours = run("off"), run("lead")
    assert theirs[0] == ours[0] == {"SYNTH_ALPHA": 20, "SYNTH_BETA": 10, "SYNTH_GAMMA": 0}
    assert ours[1] <= theirs[1]
    placements = place.standin.requests[0]["input"]["placements"]
    found = [(it["files"], it["endpoints"]) for it in placements]
    assert found == [(10, ["BETA_SITE_DATADISK", "NUC_DATADISK"]), (10, ["NUC_DATADISK"])]


def test_no_client_of_rucio_is_asked_for_a_pseudo_dataset(place: Place) -> None:
    place.standin.answer = ALPHA_AND_BETA
    chunk = pseudo(603)
    place.ddm = None
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ["SYNTH_ALPHA", "SYNTH_BETA"]
    assert FakeRucio.calls == []


def without_client(place: Place) -> None:
    """As of a VO that `[ddm] modConfig` does not name."""
    place.ddm = None


def with_general_client(place: Place) -> None:
    place.ddm = GenDdmInterface()


NOT_LISTED: list[Any] = [with_general_client, without_client]


@pytest.mark.parametrize("use", NOT_LISTED)
def test_input_that_no_client_lists_is_asked_for_without_places(place: Place, use: Any) -> None:
    use(place)
    place.standin.answer = lambda it: [decision(it, "reject", reason="files_not_listed")]
    chunk = outside(610)
    assert place.run(chunk) == Interaction.SC_FAILED  # as PanDA's own broker has it
    request = place.standin.requests[0]
    placements = [{"dataset": 0, "files": 20, "bytes": 20 * GB, "endpoints": []}]
    assert request["input"]["placements"] == placements
    found = [(it["name"], it["pseudo"], it["replicas"]) for it in request["input"]["datasets"]]
    assert found == [("synthetic.610.EVNT", False, [])]
    assert (request["total_files"], request["replicas"]) == (20, [])
    assert FakeRucio.calls == []


@pytest.mark.parametrize("use", NOT_LISTED)
def test_input_that_no_client_lists_is_compared(place: Place, use: Any) -> None:
    use(place)
    place.configure(rules=GENERIC.format("shadow"))
    place.standin.answer = lambda it: [decision(it, "reject", reason="files_not_listed")]
    assert place.run(outside(611)) == Interaction.SC_FAILED
    record = wait_for(lambda: place.standin.comparisons)[0]
    ours = record["yardmaster"]
    assert (ours["outcome"], ours["reason"]) == ("reject", "files_not_listed")
    assert record["other"]["outcome"] == "defer"


@pytest.mark.parametrize("files", [20, 0])
def test_panda_decides_as_if_we_were_not_there(place: Place, files: int) -> None:
    def candidates(mode: str) -> dict[str, object]:
        place.configure(rules=GENERIC.format(mode), answer_s=0.2)
        chunk = outside(604) if files else pseudo(604)
        assert place.run(chunk) == Interaction.SC_SUCCEEDED
        return {name: vars(it) for name, it in chunk.siteCandidates.items()}

    found = candidates("lead")
    wait_for(lambda: place.standin.requests)
    assert found == candidates("off") and len(found) == 3


def test_no_queue_is_for_jumbo_jobs_alone(place: Place) -> None:
    """PanDA's own broker has no candidates for these."""
    place.standin.answer = ALPHA_AND_BETA
    place.task_buffer.mapper.siteSpecList["SYNTH_BETA"].catchall = "useJumboJobs"
    chunk = outside(615, splitRule="NF=1,NJ=2", useJumbo="R")
    assert chunk.taskSpec.getNumJumboJobs() == 2
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert sorted(chunk.siteCandidates) == ["SYNTH_ALPHA", "SYNTH_BETA"]
    assert chunk.siteCandidatesJumbo == {}


def test_what_is_rejected_is_left_to_panda(place: Place) -> None:
    place.standin.answer = lambda it: [decision(it, "reject", reason="no_queue_fits")]
    chunk = outside(605)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert len(chunk.siteCandidates) == 3


def test_to_lead_asks_rucio_for_no_more_than_panda(place: Place) -> None:
    def calls(mode: str) -> Counter[str]:
        place.configure(rules=GENERIC.format(mode))
        FakeRucio.calls.clear()
        place.run(outside(606))
        return Counter(map(str, FakeRucio.calls))

    place.standin.answer = assign(*(ranked(f"SYNTH_{it}", 5) for it in ("ALPHA", "BETA", "GAMMA")))
    assert calls("lead") <= calls("off")


def test_both_answers_are_compared_with_the_reasons_of_the_generic_broker(place: Place) -> None:
    place.configure(rules=GENERIC.format("shadow"))
    place.standin.answer = ALPHA_AND_BETA
    sites = place.task_buffer.mapper.siteSpecList
    sites["SYNTH_BETA"].space, sites["SYNTH_GAMMA"].status = 199, "offline"
    chunk = outside(607)
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert list(chunk.siteCandidates) == ["SYNTH_ALPHA"]  # PanDA's answer
    other = wait_for(lambda: place.standin.comparisons)[0]["other"]
    assert [it["queue"] for it in other["queues"]] == ["SYNTH_ALPHA"]
    fates = {it["queue"]: (it["filter"], it["reason"]) for it in other["fates"]}
    assert fates == {
        "SYNTH_BETA": ("space", "due to disk shortage in SE = 199 < 200GB"),
        "SYNTH_GAMMA": ("status", "due to status=offline"),
    }


def test_the_same_queues_are_in_the_same_order_where_the_task_used_one(place: Place) -> None:
    """The one that is used comes first in a decision, and JEDI draws by weight."""
    place.configure(rules=GENERIC.format("shadow"))
    place.task_buffer.mapper.siteSpecList["SYNTH_GAMMA"].status = "offline"
    running = {"SYNTH_BETA": {"any": {"running": 9}}}
    place.task_buffer.getJobStatisticsByGlobalShare = lambda _: (True, running)  # type: ignore[attr-defined]
    place.task_buffer.getSitesUsedByTask_JEDI = lambda _: (True, ["SYNTH_ALPHA"])  # type: ignore[attr-defined]
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 2, 1.0), ranked("SYNTH_BETA", 18, 10.0))
    place.run(outside(612))
    record = wait_for(lambda: place.standin.comparisons)[0]
    for side in (record["yardmaster"], record["other"]):
        weights = [(it["queue"], it["weight"]) for it in side["queues"]]
        assert weights == [("SYNTH_BETA", 10.0), ("SYNTH_ALPHA", 1.0)]


@pytest.mark.parametrize(
    ("change", "filter_"),
    [
        ({"pandasite": "ELSEWHERE"}, "panda_site"),
        ({"maxwdir": 1}, "scratch"),
        ({"maxtime": 60}, "walltime"),
        ({"mintime": 90_000}, "walltime"),
        ({"coreCount": 4}, "cpucore"),
        ({"maxrss": 100}, "memory"),
        ({"minrss": 100_000}, "memory"),
        ({"catchall": "allowed_processing=x"}, "processing"),
        ({"catchall": "excluded_processing=simul"}, "processing"),
        ({"sitename": "NO_PILOT"}, "nopilot"),
    ],
)
def test_each_reason_of_the_generic_broker_has_our_filter(
    place: Place, change: dict[str, Any], filter_: str
) -> None:
    """Else a comparison shows two reasons where there is one."""
    place.configure(rules=GENERIC.format("shadow"))
    place.standin.answer = ALPHA_AND_BETA
    gamma = place.task_buffer.mapper.siteSpecList["SYNTH_GAMMA"]
    for name, value in change.items():
        setattr(gamma, name, value)
    if filter_ == "nopilot":
        pilots = {name: {"getJob": 1, "updateJob": 1} for name in ("SYNTH_ALPHA", "SYNTH_BETA")}
        place.task_buffer.getCurrentSiteData = lambda: pilots  # type: ignore[attr-defined]
    site = {"PandaSite": "NUC"} if filter_ == "panda_site" else {"x": 1}
    place.run(outside(608, walltime=3600, ramCount=500, ramUnit="MB"), site)
    other = wait_for(lambda: place.standin.comparisons)[0]["other"]
    assert [it["filter"] for it in other["fates"] if it["queue"] == "SYNTH_GAMMA"] == [filter_]


def test_disabled_dispatch_is_a_reason_too(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GenJobBroker.panda_config, "disable_file_dispatch", True, raising=False)
    place.configure(rules=GENERIC.format("shadow"))
    place.standin.answer = ALPHA_AND_BETA
    place.run(outside(609))
    other = wait_for(lambda: place.standin.comparisons)[0]["other"]
    assert {it["filter"] for it in other["fates"]} == {"incomplete_best"}
