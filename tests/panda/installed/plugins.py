"""The plug-ins that PanDA has for each VO, for a VO without Rucio: what the plug-ins of ATLAS do in
the database stays, what they ask Rucio is left out."""

import uuid
from typing import Any

from pandaserver.dataservice.adder_dummy_plugin import AdderDummyPlugin
from pandaserver.dataservice.setupper_dummy_plugin import SetupperDummyPlugin
from pandaserver.taskbuffer.DatasetSpec import DatasetSpec


class Setupper(SetupperDummyPlugin):
    """Before jobs are activated: their inputs are there, and the datasets of their outputs are
    made."""

    def run(self) -> None:
        super().run()
        for file in (file for job in self.jobs for file in job.Files if file.type == "input"):
            file.status = "ready"
        for job in self.jobs:
            if job.processingType == "stages":
                job.dispatchDBlock = f"panda.dispatch.{job.PandaID}"
        names = {
            file.destinationDBlock
            for job in self.jobs
            for file in job.Files
            if file.type in ("output", "log")
        }
        for name in sorted(names):
            if self.task_buffer.queryDatasetWithMap({"name": name}) is None:
                dataset = DatasetSpec()
                dataset.vuid, dataset.name, dataset.type = str(uuid.uuid4()), name, "output"
                dataset.status, dataset.numberfiles, dataset.currentfiles = "defined", 0, 0
                self.task_buffer.insertDatasets([dataset])


class Adder(AdderDummyPlugin):
    """After a job: what is to be merged waits, and what must travel does so once."""

    def execute(self) -> None:
        super().execute()
        outputs = [file.lfn for file in self.job.Files if file.type in ("output", "log")]
        if self.job.jobStatus == "failed":
            return
        if self.job.produceUnMerge():
            self.result.merging_files = outputs
        elif self.job.processingType == "travels" and self.job.jobStatus != "transferring":
            self.result.transferring_files = outputs


class Everywhere:
    """JEDI's view of Rucio: each file is on the disk of each site."""

    def getInterface(self, vo: str, group: str | None = None) -> "Everywhere":
        return self

    def getAvailableFiles(
        self, dataset: Any, endpoints: dict[str, Any], mapper: Any, **_: Any
    ) -> dict[str, Any]:
        return {site: {"localdisk": list(dataset.Files)} for site in endpoints}

    def isDistributedDataset(self, name: str) -> bool:
        return False

    def check_global_quota(self, owner: str) -> tuple[bool, bool, None]:
        return True, False, None

    def get_endpoints_over_local_quota(self, owner: str) -> tuple[bool, set[str]]:
        return True, set()
