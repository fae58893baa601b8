"""JEDI with the broker classes of clients/jedi in its configuration: first in shadow, where PanDA's
own brokers of ATLAS decide and both answers are compared, then as a canary, where half of the tasks
is led by Yardmaster."""

import json
import os
import re
import sys

import world
from stand import ROOT, wait
from story import Story

BROKERS = (
    "atlas:managed:yardmaster_jedi.brokers:YardmasterProdJobBroker,"
    "atlas:user:yardmaster_jedi.brokers:YardmasterAnalJobBroker"
)
# Requests whose answers of the same outcome are fewer are a fault of the rules.
SAME_OUTCOME = "95%"


class Beside(Story):
    """The two modes, after the rounds."""

    def prepare(self) -> None:
        """The client as an operator installs and configures it, and the facts of software."""
        from pandajedi.jediconfig import jedi_config

        sys.path += [str(ROOT / "clients" / name / "src") for name in ("python", "jedi")]
        self.file = self.stand.folder / "jedi.toml"
        os.environ["YARDMASTER_JEDI_CONFIG"] = str(self.file)
        self.settings, self.generic = jedi_config.jobbroker, jedi_config.jobbroker.modConfig
        self.settings.modConfig = BROKERS
        tags = self.stand.folder / "tags.json"
        tags.write_text(json.dumps(dict.fromkeys(world.QUEUES, world.SOFTWARE)))
        self.stand.yardmaster("import", "releases", str(tags))

    def configure(self, rule: str) -> None:
        self.file.write_text(
            f'bootstrap_servers = "{self.stand.bootstrap}"\ndomain = "atlas"\n[[rule]]\n{rule}\n'
        )

    def shadow(self, rounds: int, scale: int) -> None:
        """PanDA's brokers decide; all answers have the same outcome."""
        self.configure('mode = "shadow"')
        asked = 0
        for _ in range(rounds):
            asked += len(self.submit(scale))
            self.make("JEDI's brokers are compared")
            self.panda.activate(self.jobs(table="jobsdefined4"))
            self.compare("jobs of a shadow are activated")
        self.compared(asked)
        limit = ["--measure", "outcome", "--min-agreement", SAME_OUTCOME]
        print(self.stand.yardmaster("compare", *limit), flush=True)
        print(self.stand.yardmaster("compare", "--by", "gshare"), flush=True)

    def canary(self, scale: int) -> None:
        """Some tasks are led, the others compared: jobs are made where Yardmaster decided, and are
        counted."""
        self.configure('mode = "lead"\ncanary = 0.5')
        before, asked = self.compared(0), 0
        for _ in range(2):
            asked += len(self.submit(scale))
            self.make("a canary is led")
        # Answers that are carried out are not compared.
        others = self.compared(before + 1) - before
        if not 0 < others < asked:
            raise RuntimeError(f"of {asked} tasks {others} were not led")
        print(f"{asked - others} tasks are led, {others} are compared", flush=True)
        # The brokers of ATLAS would ask Rucio where the inputs of merge jobs are.
        self.settings.modConfig = self.generic
        self.to_the_end()

    def compared(self, least: int) -> int:
        """How many requests are compared, once they are as many as that."""

        def found() -> int | None:
            it = re.match(r"(\d+) requests asked", self.stand.yardmaster("compare"))
            number = int(it[1]) if it else 0
            return number + 1 if number >= least else None

        return wait(found, lambda: f"fewer than {least} requests are compared", 90) - 1
