"""An installed PanDA, and Yardmaster beside it: PanDA's own code drives jobs and tasks through
their lives, and all counters are compared with SQL after each step. Exits with 1 at the first
difference, which it prints."""

import argparse
import os
import signal
import sys
import time
import traceback
from pathlib import Path

import home
import world
from stand import DATABASE, OWNER, SECRET, Stand

BROKER = "any:any:pandajedi.jedibrokerage.GenJobBroker:GenJobBroker"


def drive(stand: Stand, seconds: float, scale: int) -> None:
    """Rounds until the time is over, one at least."""
    stand.tables()
    with stand.sql(OWNER, SECRET) as link, link.cursor() as cursor:
        world.fill(cursor)
    stand.capture()
    stand.serve()
    home.prepare(
        stand.folder / "panda",
        port=stand.port,
        user=OWNER,
        password=SECRET,
        database=DATABASE,
        broker=BROKER,
    )
    # Only now: PanDA's modules read their configuration as they are imported.
    from beside import Beside
    from server import Panda

    story = Beside(stand, Panda())
    began, rounds, longest = time.monotonic(), 0, 0.0
    while not rounds or time.monotonic() - began + longest < seconds:
        start = time.monotonic()
        story.round(scale)
        rounds, longest = rounds + 1, max(longest, time.monotonic() - start)
    story.prepare()
    story.shadow(max(1, rounds), scale)
    story.canary(scale)
    story.end_of_all()
    print(
        f"{rounds} rounds, {story.steps} comparisons of {story.figures} figures, all the same; "
        f"audit: {stand.yardmaster('audit', '--store', str(stand.folder / 'store')).strip()}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("folder", "binary", "postgres", "jars", "connect"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--scale", type=int, default=4, help="how many jobs there are")
    given = parser.parse_args()
    # Asked to stop, it ends its servers as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    code = 1
    with Stand(given.folder, given.binary, given.postgres, given.jars, given.connect) as stand:
        try:
            drive(stand, given.seconds, given.scale)
            code = 0
        except Exception:
            traceback.print_exc()
    return code


if __name__ == "__main__":
    try:
        ended = main()
    except SystemExit as asked:
        ended = int(asked.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of PanDA's own would keep the process.
    os._exit(ended)
