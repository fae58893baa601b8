"""Rucio is asked nothing twice, and answers as JEDI's interface has them: bare values."""

import threading
from collections import Counter
from typing import Any

import pytest
from pandajedi.jedicore import Interaction
from pandajedi.jediddm.AtlasDDMClient import AtlasDDMClient
from place import Place
from rucio_stub import DdmInterface, FakeRucio
from standin import assign, ranked
from world import chunk_of, dataset

from yardmaster_jedi.ddm import RememberingDdm


def two_datasets(task: int, label: str) -> Any:
    """A chunk with a secondary dataset beside the master."""
    chunk = chunk_of(task, label)
    name = f"synthetic.{task}.minbias"
    chunk.addSecondaryDS(dataset(task, 1, name, 5, master=False))
    FakeRucio.datasets[name] = {
        "length": 5,
        "replicas": {"NUC_DATADISK": 5, "GAMMA_SITE_DATADISK": 3},
    }
    return chunk


def rucio_calls(
    place: Place, mode: str, label: str, kind: str = "usual", **more: Any
) -> Counter[Any]:
    place.configure(mode, **more)
    chunk = two_datasets(501, label)
    chunk.isMerging = kind == "merging"
    if kind == "many-time":
        chunk.masterDataset.isManyTime = lambda: True
    FakeRucio.calls.clear()
    place.run(chunk)
    return Counter(FakeRucio.calls)


@pytest.mark.parametrize("label", ["managed", "user"])
def test_panda_s_broker_after_ours_asks_rucio_nothing_twice(place: Place, label: str) -> None:
    alone = rucio_calls(place, "off", label)
    assert alone
    fallen_back = rucio_calls(place, "lead", label, answer_s=0.1)
    # Fewer than PanDA alone: its client asks for the same metadata several times.
    assert set(fallen_back) == set(alone)
    for call, count in fallen_back.items():
        assert count <= alone[call], call
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    shadow = rucio_calls(place, "shadow", label)
    assert shadow == fallen_back


@pytest.mark.parametrize("label", ["managed", "user"])
@pytest.mark.parametrize("kind", ["usual", "merging", "many-time"])
def test_to_lead_asks_no_more_than_panda_alone(place: Place, label: str, kind: str) -> None:
    alone = rucio_calls(place, "off", label, kind)
    # PanDA's broker for analysis looks at files only at queues without a complete copy.
    beta = [ranked("SYNTH_BETA", 5)] if label == "managed" else []
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 15), *beta)
    led = rucio_calls(place, "lead", label, kind)
    if kind == "merging":
        # PanDA's broker for production finds no queue here before it would look for files.
        assert "list_replicas" not in {call[0] for call in led}
        return
    assert set(led) <= set(alone), set(led) - set(alone)
    for call, count in led.items():
        assert count <= alone[call], call


def test_the_interface_gives_bare_values_and_raises_failures() -> None:
    chunk_of(502)
    ddm = RememberingDdm(DdmInterface())
    name = "mc:synthetic.502.EVNT"
    assert ddm.isDistributedDataset(name) is False
    assert ddm.getDatasetMetaData(name)["length"] == 20
    # Two values come as a tuple, without a status.
    summed, detailed = ddm.listDatasetReplicas(name, detailed=True)
    assert detailed[name] == summed
    FakeRucio.error = RuntimeError("down")
    for _ in range(2):
        with pytest.raises(Interaction.JEDITemporaryError, match="down"):
            ddm.listReplicasPerDataset(name, True)
    assert [call[0] for call in FakeRucio.calls].count("list_dataset_replicas") == 2


def test_files_are_looked_up_once_whoever_asks(place: Place) -> None:
    chunk = chunk_of(503)
    ddm = RememberingDdm(place.ddm)
    files = {spec.GUID: spec.lfn for spec in chunk.masterDataset.Files}
    scopes = {spec.lfn: "mc" for spec in chunk.masterDataset.Files}
    some = dict(list(files.items())[:5])
    assert set(ddm.jedi_list_replicas(some, [], scopes)) == set(some.values())
    assert set(ddm.jedi_list_replicas(files, ["NUC_DATADISK"], scopes=scopes)) == set(
        files.values()
    )
    looked_up = [call[1] for call in FakeRucio.calls if call[0] == "list_replicas"]
    assert [len(names) for names in looked_up] == [5, 15]


def test_available_files_are_those_of_panda_s_client(place: Place) -> None:
    chunk = chunk_of(504)
    site = place.task_buffer.mapper.getSite("SYNTH_BETA")
    assert site is not None
    endpoints = {
        "SYNTH_ALPHA": ["NUC_DATADISK", "NUC_DATATAPE"],
        "SYNTH_BETA": ["BETA_SITE_DATADISK"],
    }
    call = (chunk.masterDataset, endpoints, place.task_buffer.mapper)
    theirs = place.ddm.getAvailableFiles(*call)
    ours = RememberingDdm(place.ddm).getAvailableFiles(*call)
    assert ours == theirs and len(ours["SYNTH_BETA"]["localdisk"]) == 10


def test_a_client_that_does_not_work_here_is_asked_in_its_process(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    chunk = chunk_of(505)
    ddm = RememberingDdm(place.ddm)

    def changed(self: Any, *_: Any, **__: Any) -> Any:
        return self.SC_FAILED, "no attribute that a later version needs"

    monkeypatch.setattr(type(ddm._local_client()).__mro__[1], "getAvailableFiles", changed)
    monkeypatch.setattr(
        place.ddm, "getAvailableFiles", lambda *_, **__: {"asked": True}, raising=False
    )
    assert AtlasDDMClient.getAvailableFiles is changed
    found = ddm.getAvailableFiles(chunk.masterDataset, {}, place.task_buffer.mapper)
    assert found == {"asked": True} and "its process is asked" in caplog.text


def test_another_client_than_that_of_atlas_is_asked_in_its_process(place: Place) -> None:
    place.ddm.className = "GenDDMClient"
    chunk = chunk_of(506)
    place.standin.answer = assign(ranked("SYNTH_ALPHA", 20))
    assert place.run(chunk) == Interaction.SC_SUCCEEDED
    assert len(chunk.getSiteCandidate("SYNTH_ALPHA").localDiskFiles) == 20


def test_calls_that_change_something_are_not_remembered() -> None:
    class Inner:
        def __init__(self) -> None:
            self.className = "other"

        calls = 0

        def registerNewDataset(self, _: str) -> int:
            self.calls += 1
            return self.calls

    ddm = RememberingDdm(Inner())
    assert [ddm.registerNewDataset("x"), ddm.registerNewDataset("x")] == [1, 2]


def test_an_answer_that_two_threads_need_is_asked_for_once(place: Place) -> None:
    chunk_of(507)
    FakeRucio.delay_s = 0.05
    ddm = RememberingDdm(place.ddm)
    threads = [
        threading.Thread(target=ddm.listReplicasPerDataset, args=("mc:synthetic.507.EVNT", True))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(FakeRucio.calls) == 1
