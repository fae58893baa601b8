"""JEDI's interface to Rucio, with a memory for one brokerage.

Yardmaster's facts and PanDA's own broker need the same answers of Rucio. Both get them here, so
each is asked for once, whichever of them asks first. Failures are remembered too: Rucio is not
tried twice as long because two ask.

In JEDI the interface (`pandajedi.jedicore.Interaction.CommandSendInterface`) returns bare values
and raises what failed; the status codes of the client's methods stay in the client's process.
"""

import importlib
import logging
import threading
from collections.abc import Callable
from typing import Any

from pandajedi.jedicore import Interaction

logger = logging.getLogger("yardmaster_jedi")

REMEMBERED = frozenset(
    {
        "check_global_quota",
        "getDatasetMetaData",
        "getFilesInDataset",
        "getSiteProperty",
        "get_endpoints_over_local_quota",
        "isDistributedDataset",
        "listDatasetReplicas",
        "listDatasetsInContainer",
        "listReplicasPerDataset",
    }
)
"""Calls that only read, and give the same answer a moment later."""

LISTING = ("jedi_list_replicas", "listDatasetReplicas")
"""Calls by which it is found where input lies."""


class _Answer:
    """One remembered answer, or failure; made by the first thread that needs it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_known = False
        self.value: Any = None
        self.error: Exception | None = None

    def get(self, ask: Callable[[], Any]) -> Any:
        with self.lock:
            if not self.is_known:
                try:
                    self.value = ask()
                except Exception as error:
                    self.error = error
                self.is_known = True
        if self.error is not None:
            raise self.error
        return self.value


class RememberingDdm:
    """Passes calls on to `inner`, and remembers answers for one brokerage."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._lock = threading.Lock()
        self._answers: dict[tuple[str, str], _Answer] = {}
        self._places: dict[str, list[str]] = {}
        self._looked_up: set[str] = set()
        self._lookup_error: Exception | None = None
        self._local: Any = None

    def __getattr__(self, name: str) -> Any:
        inner = getattr(self._inner, name)
        if name not in REMEMBERED:
            return inner

        def call(*args: Any, **kwargs: Any) -> Any:
            key = name, repr((args, sorted(kwargs.items())))
            with self._lock:
                answer = self._answers.setdefault(key, _Answer())
            return answer.get(lambda: inner(*args, **kwargs))

        return call

    def jedi_list_replicas(
        self, files: dict[str, str], storages: Any, scopes: dict[str, str]
    ) -> dict[str, list[str]]:
        """Endpoints of each file, by its name; `files` has names by GUID. Only files that were not
        looked up yet are asked for; PanDA's client does not regard `storages`."""
        with self._lock:
            if self._lookup_error is not None:
                raise self._lookup_error
            new = {guid: lfn for guid, lfn in files.items() if lfn not in self._looked_up}
            if new:
                try:
                    found = self._inner.jedi_list_replicas(new, storages, scopes)
                except Exception as error:
                    self._lookup_error = error
                    raise
                self._looked_up.update(new.values())
                self._places.update(found)
            wanted = set(files.values())
            return {lfn: self._places[lfn] for lfn in wanted if lfn in self._places}

    def getAvailableFiles(self, *args: Any, **kwargs: Any) -> Any:
        """Files at sites, by what holds them there. PanDA's own client works it out, here instead
        of in its own process, so that what Rucio answered already is not asked for again."""
        local = self._local_client()
        if local is None:
            return self._inner.getAvailableFiles(*args, **kwargs)
        status, found = local.getAvailableFiles(*args, **kwargs)
        if status == Interaction.SC_SUCCEEDED:
            return found
        if local.error is not None:
            raise Interaction.JEDITemporaryError(str(found))
        logger.error("%s cannot work here, its process is asked instead: %s", local, found)
        return self._inner.getAvailableFiles(*args, **kwargs)

    def lists_files(self) -> bool:
        """Whether where input lies can be asked: `GenDDMClient` has no calls for it, and where
        PanDA configures no client for a VO there is no interface."""
        if self._inner is None:
            return False
        client = _client_class(self._inner)
        return client is None or all(hasattr(client, name) for name in LISTING)

    def _local_client(self) -> Any:
        with self._lock:
            if self._local is None:
                made = _local_class(self._inner)
                self._local = False if made is None else made(self)
            return self._local or None


class Unlisted:
    """In place of a client that cannot list files: no dataset has a copy, no file a place."""

    def getDatasetMetaData(self, *_: Any) -> dict[str, Any]:
        """GenDDMClient knows no more than that a dataset is closed."""
        return {}

    def listDatasetReplicas(self, *_: Any, **__: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """As with `detailed`."""
        return {}, {}

    def jedi_list_replicas(self, *_: Any, **__: Any) -> dict[str, list[str]]:
        """Places by file."""
        return {}


def tapes_at(endpoints: dict[str, list[str]], site_mapper: Any) -> dict[str, bool]:
    """Whether each of these endpoints, listed by site, is tape, as the sites have it."""
    tapes = {}
    for site, names in endpoints.items():
        specs = site_mapper.getSite(site).ddm_endpoints_input.values()
        for name in names:
            holders = [spec for spec in specs if name in spec.all]
            if holders:
                tapes[name] = any(name in spec.tape for spec in holders)
    return tapes


def _local_class(interface: Any) -> Any:
    """A class that works as the client behind the interface, with its calls answered by a
    `RememberingDdm`; None if that client is not PanDA's for ATLAS."""
    if vars(interface).get("className") != "AtlasDDMClient":
        return None
    base = _client_class(interface)
    return None if base is None else _local_client_of(base)


def _client_class(interface: Any) -> Any:
    """The class of the client behind the interface, which itself has a method of any name; None
    if it is not known."""
    names = vars(interface)
    module, name = names.get("moduleName"), names.get("className")
    if not module or not name:
        return None
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:
        logger.error("%s.%s cannot be used here: %s", module, name, error)
        return None


def _local_client_of(base: Any) -> Any:
    class LocalClient(base):  # type: ignore[misc]
        """PanDA's client, whose questions to Rucio are answered by what is remembered."""

        def __init__(self, ddm: RememberingDdm) -> None:
            super().__init__(None)
            self.ddm = ddm
            self.error: Exception | None = None
            self.tapes: dict[str, bool] = {}

        def getAvailableFiles(
            self, dataset_spec: Any, site_endpoint_map: Any, site_mapper: Any, *args: Any, **kw: Any
        ) -> Any:
            self.error = None
            self.tapes.update(tapes_at(site_endpoint_map, site_mapper))
            return super().getAvailableFiles(
                dataset_spec, site_endpoint_map, site_mapper, *args, **kw
            )

        def updateEndPointDict(self) -> None:
            """The client's own process has the endpoints."""

        def _ask(self, name: str, *args: Any, **kwargs: Any) -> Any:
            try:
                value = getattr(self.ddm, name)(*args, **kwargs)
            except Exception as error:
                self.error = error
                return self.SC_FAILED, str(error), None
            return (self.SC_SUCCEEDED, *(value if isinstance(value, tuple) else (value,)))

        def getSiteProperty(self, endpoint: str, attribute: str) -> Any:
            if attribute == "is_tape" and endpoint in self.tapes:
                return self.SC_SUCCEEDED, self.tapes[endpoint]
            return self._ask("getSiteProperty", endpoint, attribute)[:2]

        def getDatasetMetaData(self, *args: Any, **kwargs: Any) -> Any:
            return self._ask("getDatasetMetaData", *args, **kwargs)[:2]

        def getFilesInDataset(self, *args: Any, **kwargs: Any) -> Any:
            return self._ask("getFilesInDataset", *args, **kwargs)[:2]

        def jedi_list_replicas(self, *args: Any, **kwargs: Any) -> Any:
            return self._ask("jedi_list_replicas", *args, **kwargs)[:2]

        def listDatasetReplicas(self, *args: Any, **kwargs: Any) -> Any:
            answer = self._ask("listDatasetReplicas", *args, **kwargs)
            return answer if kwargs.get("detailed") else answer[:2]

    return LocalClient
