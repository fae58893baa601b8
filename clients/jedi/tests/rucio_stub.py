"""A stub of Rucio's client, behind PanDA's own client, behind JEDI's interface to it."""

import datetime
import threading
import time
from typing import Any, ClassVar

from pandajedi.jedicore import Interaction
from pandajedi.jediddm import AtlasDDMClient
from pandajedi.jediddm.GenDDMClient import GenDDMClient

GB = 1024**3

QUEUES = {"SYNTH_ALPHA": "NUC", "SYNTH_BETA": "BETA_SITE", "SYNTH_GAMMA": "GAMMA_SITE"}
"""Queue, and its site."""


class FakeRucio:
    """Rucio's client. `calls` has every call that goes to Rucio's server."""

    calls: ClassVar[list[tuple[Any, ...]]] = []
    delay_s = 0.0
    error: Exception | None = None
    lock = threading.Lock()

    # The master dataset lies at NUC and half of it at BETA.
    files: ClassVar[dict[str, list[str]]] = {}
    datasets: ClassVar[dict[str, dict[str, Any]]] = {}

    def _called(self, *call: Any) -> None:
        with self.lock:
            FakeRucio.calls.append(call)
        time.sleep(self.delay_s)
        if self.error is not None:
            raise self.error

    def get_metadata(self, scope: str, name: str) -> dict[str, Any]:
        self._called("get_metadata", name)
        known = self.datasets[name]
        return {
            "is_open": False,
            "did_type": known.get("did_type", "DATASET"),
            "length": known["length"],
            "bytes": known["length"] * GB,
        }

    def list_did_rules(self, scope: str, name: str) -> list[dict[str, Any]]:
        self._called("list_did_rules", name)
        return [{"grouping": self.datasets[name].get("grouping", "ALL")}]

    def list_dataset_replicas(
        self, scope: str, name: str, deep: bool = False
    ) -> list[dict[str, Any]]:
        self._called("list_dataset_replicas", name, deep)
        known = self.datasets[name]
        return [
            {
                "rse": rse,
                "length": known["length"],
                "available_length": found,
                "bytes": known["length"] * GB,
                "available_bytes": found * GB,
            }
            for rse, found in known["replicas"].items()
        ]

    def list_dataset_replicas_vp(self, scope: str, name: str) -> list[dict[str, Any]]:
        self._called("list_dataset_replicas_vp", name)
        return []

    def list_content(self, scope: str, name: str) -> list[dict[str, str]]:
        self._called("list_content", name)
        parts = [it for it in self.datasets if it.startswith(f"{name}.part")]
        return [{"scope": scope, "name": it, "type": "DATASET"} for it in parts]

    def list_files(self, scope: str, name: str, long: bool = False) -> list[dict[str, str]]:
        self._called("list_files", name)
        return [{"name": it} for it in self.datasets[name]["files"]]

    def list_replicas(
        self, dids: list[dict[str, str]], resolve_archives: bool = True
    ) -> list[dict[str, Any]]:
        self._called("list_replicas", tuple(sorted(it["name"] for it in dids)))
        return [{"name": it["name"], "rses": self.files[it["name"]]} for it in dids]

    def get_global_account_usage(self, _: str) -> list[Any]:
        return []

    def get_local_account_usage(self, _: str) -> list[Any]:
        return []


class DdmInterface:
    """As `CommandSendInterface`, without processes: what the client's method returns with a status
    is given as a bare value, or raised."""

    def __init__(self) -> None:
        self.moduleName = "pandajedi.jediddm.AtlasDDMClient"
        self.className = "AtlasDDMClient"
        self._client = AtlasDDMClient.AtlasDDMClient(None)
        self._client.lastUpdateEP = datetime.datetime(2100, 1, 1)
        ends = {f"{site}_{kind}" for site in QUEUES.values() for kind in ("DATADISK", "DATATAPE")}
        self._client.endPointDict = {name: {"is_tape": name.endswith("TAPE")} for name in ends}
        self._client.finger = lambda _: (Interaction.SC_SUCCEEDED, {"nickname": "someone"})

    def getInterface(self, *_: Any) -> "DdmInterface":
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            kwargs.pop("useResultCache", None)
            if not hasattr(self._client, name):
                raise Interaction.JEDIFatalError(f"{self.className} has no attribute {name}")
            returned = getattr(self._client, name)(*args, **kwargs)
            if not isinstance(returned, tuple) or not isinstance(
                returned[0], Interaction.StatusCode
            ):
                return returned
            status, *values = returned
            value = values[0] if len(values) == 1 else tuple(values)
            if status == Interaction.SC_SUCCEEDED:
                return value
            raise Interaction.JEDITemporaryError(f"VO=atlas {value}")

        return call


class GenDdmInterface(DdmInterface):
    """The same with the client that PanDA has where no other is configured; it lists no files."""

    def __init__(self) -> None:
        self.moduleName = "pandajedi.jediddm.GenDDMClient"
        self.className = "GenDDMClient"
        self._client = GenDDMClient(None)


def use_fake_rucio() -> None:
    """Before each test: nothing known, nothing called."""
    AtlasDDMClient.RucioClient = FakeRucio
    FakeRucio.calls, FakeRucio.files, FakeRucio.datasets = [], {}, {}
    FakeRucio.delay_s, FakeRucio.error = 0.0, None
