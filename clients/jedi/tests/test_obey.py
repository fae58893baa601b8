"""obey.py with the client of the installed panda-server, over HTTP to a stand-in of its API."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

OBEY = Path(__file__).parents[2] / "panda" / "obey.py"


class Api(ThreadingHTTPServer):
    """Notes what is posted to /api/v1, and replies as pandaserver.api.v1.job_api does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.refuses = ""
        self.status = 200

    def reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.calls.append((path, body))
        if self.refuses:
            return {"success": False, "message": self.refuses, "data": None}
        is_kill = path == "/api/v1/job/kill"
        data = [number % 2 == 0 for number in body["job_ids"]] if is_kill else None
        return {"success": True, "message": "", "data": data}


class Handler(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps(self.server.reply(self.path, body)).encode()
        self.send_response(self.server.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[Api]:
    with Api() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def obey(api: Api, kind: str, rule: str, jobs: list[str], *flags: str) -> tuple[int, str]:
    """Exit code, and the reason."""
    environment = {
        "PANDA_API_URL_SSL": f"http://127.0.0.1:{api.server_port}/api/v1",
        "PANDA_BEHIND_REAL_LB": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": "/nonexistent",
    }
    done = subprocess.run(
        [sys.executable, str(OBEY), *flags],
        input=json.dumps({"kind": kind, "rule": rule, "jobs": jobs}),
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr.strip().splitlines()[-1]


def test_each_kind_is_a_call_of_the_api(api: Api) -> None:
    for kind, rule, code in [
        ("reassign", "T3", 51),
        ("rebroker", "fast_rebrokerage", 10),
        ("kill", "T1", 4),
        ("kill", "T8", 2),
        ("fail", "T9", 99),
    ]:
        assert obey(api, kind, rule, ["11", "12"]) == (0, "PanDA acted on 1 of 2 jobs")
        path, body = api.calls.pop()
        assert (path, body["job_ids"], body["code"]) == ("/api/v1/job/kill", [11, 12], code)
        assert body["kill_options"] == ["keepUnmerged"]
    assert obey(api, "reassign", "T3", ["7"], "--without-jedi")[0] == 0
    assert api.calls.pop() == ("/api/v1/job/reassign", {"job_ids": [7]})


def test_what_panda_does_not_do_is_tried_again_with_its_reason(api: Api) -> None:
    code, reason = obey(api, "kill", "T8", ["11"])
    assert code == 1 and "none of 1 jobs" in reason
    api.refuses = "production role required"
    code, reason = obey(api, "kill", "T8", ["12"])
    assert code == 1 and "production role required" in reason
    api.status = 503
    code, reason = obey(api, "reassign", "T3", ["12"], "--without-jedi")
    assert code == 1 and "503" in reason
