"""Asks a schedd whether it answers, in a process of its own: in a call of the bindings all threads
of a process stand still.

stdin has the schedd's ad in its first line, then a line for each question; stdout a line for each
answer: empty, or why there is none.
"""

import json
import os
import select
import signal
import subprocess
import sys

from yardmaster_htcondor.bindings import classad, htcondor
from yardmaster_htcondor.values import Ad

NO_JOB = "ClusterId == 0"
"""A query that finds nothing, by the job's key."""


class Asker:
    """The process, as the agent sees it. It ends when the agent does."""

    def __init__(self, ad: Ad) -> None:
        command = [sys.executable, "-m", "yardmaster_htcondor.asking"]
        pipe = subprocess.PIPE
        # It finds this package where the agent does.
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(it for it in sys.path if it)}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env)
        self._write(json.dumps(str(ad)))

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        print(line, file=self._process.stdin, flush=True)

    def ask(self) -> None:
        """Asks; nothing is asked before the answer is there."""
        self._write("")

    def answer(self, wait_s: float) -> str | None:
        """The answer; None if there is none yet."""
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], wait_s)[0]:
            return None
        line = out.readline()
        if not line:
            raise OSError("the process that asks has ended")
        return line.strip()

    def close(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Answers questions until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    schedd = htcondor.Schedd(classad.ClassAd(json.loads(sys.stdin.readline())))
    for _ in sys.stdin:
        try:
            list(schedd.query(NO_JOB, ["ClusterId"]))
            print(flush=True)
        except Exception as error:
            print(" ".join(str(error).split()) or type(error).__name__, flush=True)


if __name__ == "__main__":
    main()
