"""A place where brokers run: a configuration, a stand-in for Yardmaster, JEDI's factory."""

import itertools
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pandajedi.jedicore.ThreadUtils import MapWithLock
from pandajedi.jediorder.JobBroker import JobBroker
from rucio_stub import DdmInterface
from standin import Standin, make_topics
from world import TaskBuffer

from yardmaster_jedi import process
from yardmaster_jedi.config import FILE_VARIABLE, Topics

_numbers = itertools.count()

TEMPLATE = """\
bootstrap_servers = "{bootstrap}"
domain = "{domain}"
[topics]
task = "{prefix}.task"
decision = "{prefix}.decision"
outcome = "{prefix}.outcome"
comparison = "{prefix}.comparison"
[timeouts]
connect_s = {connect_s}
answer_s = {answer_s}
nucleus_answer_s = {answer_s}
compare_s = {compare_s}
[breaker]
failures = 2
rest_s = {rest_s}
{rules}
"""


@dataclass
class Place:
    """A folder with a configuration, and the stand-ins that a test's broker talks to."""

    folder: Path
    bootstrap: str
    task_buffer: TaskBuffer = field(default_factory=TaskBuffer)
    ddm: Any = field(default_factory=DdmInterface)

    def __post_init__(self) -> None:
        self.prepare()
        self.file = self.folder / "jedi.toml"
        os.environ[FILE_VARIABLE] = str(self.file)
        process._forget_parent()

    def prepare(self) -> None:
        """Topics, and who answers on them."""
        self.prefix = f"jedi-{os.getpid()}-{time.time_ns()}-{next(_numbers)}"
        names = ("task", "decision", "outcome", "comparison")
        self.topics = Topics(**{name: f"{self.prefix}.{name}" for name in names})
        make_topics(self.bootstrap, vars(self.topics).values())
        self.standin = Standin(self.bootstrap, self.topics)

    def configure(self, mode: str = "lead", rules: str = "", **more: Any) -> None:
        values = {
            "bootstrap": self.bootstrap,
            "domain": "atlas",
            "prefix": self.prefix,
            "connect_s": 5,
            "answer_s": 10,
            "compare_s": 10,
            "rest_s": 60,
            "rules": rules or f'[[rule]]\nmode = "{mode}"',
            **more,
        }
        self.file.write_text(TEMPLATE.format(**values))

    def broker(self, chunk: Any) -> tuple[Any, Any]:
        """JEDI's factory, and the class that it made; new for each chunk, as in JobGenerator."""
        task = chunk.taskSpec
        factory = JobBroker(task.vo, task.prodSourceLabel)
        assert factory.initializeMods(self.ddm, self.task_buffer)
        made = factory.getImpl(task.vo, task.prodSourceLabel)
        return factory, made

    def run(self, chunk: Any, params: Any = None, counter: MapWithLock | None = None) -> Any:
        """Brokers a chunk as JobGenerator does; gives the status."""
        factory, made = self.broker(chunk)
        made.setLiveCounter(counter)
        made.setLockID(1, 2)
        made.set_task_common_dict({})
        if counter is not None:
            counter.acquire()
        try:
            status, filled = factory.doBrokerage(chunk.taskSpec, "WORLD", chunk, params)
        finally:
            if counter is not None:
                counter.release()
        assert filled is chunk
        return status

    def close(self) -> None:
        if process._process is not None and process._process._connection is not None:
            process._process._connection.close()
        self.standin.stop()
