"""A schema registry: as much of Confluent's interface as is asked for, kept while it is gone."""

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kafka import Ports

Answer = tuple[int, Any]


class Registry:
    """Schemas by number from 1, and which are under which subject."""

    def __init__(self, ports: Ports) -> None:
        self.port = ports.take()
        self.texts: list[str] = []
        self.subjects: dict[str, list[int]] = {}
        self.lock = threading.Lock()
        self.server: ThreadingHTTPServer | None = None
        self.start()

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Answers from now on."""
        registry = self

        class Handler(BaseHTTPRequestHandler):
            def _reply(self, method: str) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"{}")
                with registry.lock:
                    status, answer = registry.answer(method, self.path, body)
                text = json.dumps(answer).encode()
                # Who asked may have been killed meanwhile.
                with contextlib.suppress(ConnectionError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)

            def do_GET(self) -> None:
                self._reply("GET")

            def do_POST(self) -> None:
                self._reply("POST")

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Takes no connection any more."""
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def put(self, subject: str, text: str) -> int:
        """Puts a schema under a subject, unless it is there; its number."""
        with self.lock:
            return self._put(subject, text)

    def text(self, number: int) -> str | None:
        """The schema of a number."""
        with self.lock:
            return self.texts[number - 1] if 0 < number <= len(self.texts) else None

    def _put(self, subject: str, text: str) -> int:
        if text not in self.texts:
            self.texts.append(text)
        number = self.texts.index(text) + 1
        known = self.subjects.setdefault(subject, [])
        if number not in known:
            known.append(number)
        return number

    def answer(self, method: str, path: str, body: Any) -> Answer:
        """The answer to a request."""
        absent = 404, {"error_code": 40_403, "message": "absent"}
        match method, path.split("?")[0].strip("/").split("/"):
            case "GET", ["schemas", "types"]:
                return 200, ["AVRO"]
            case "GET", ["schemas", "ids", number]:
                at = int(number) if number.isdecimal() else 0
                found = 0 < at <= len(self.texts)
                return (200, {"schema": self.texts[at - 1]}) if found else absent
            case "GET", ["subjects", subject, "versions"]:
                known = self.subjects.get(subject)
                return (200, list(range(1, len(known) + 1))) if known else absent
            case "GET", ["subjects", subject, "versions", version]:
                known = self.subjects.get(subject, [])
                at = int(version) if version.isdecimal() else len(known)
                if not 0 < at <= len(known):
                    return absent
                number = known[at - 1]
                return 200, {"id": number, "version": at, "schema": self.texts[number - 1]}
            case "POST", ["subjects", subject]:
                known = self.subjects.get(subject, [])
                same = [it for it in known if self.texts[it - 1] == body.get("schema")]
                return (200, {"id": same[0]}) if same else absent
            case "POST", ["subjects", subject, "versions"]:
                return 200, {"id": self._put(subject, body["schema"])}
            case "POST", ["compatibility", "subjects", *_]:
                return 200, {"is_compatible": True}
        return 404, {"error_code": 0, "message": "no such path"}
