"""Servers that clusters and clients ask, on a loopback address of their own: a DNS server with an
ARCHERY zone, and a source of input files. They run in threads of the test."""

import http.server
import socket
import struct
import threading
import urllib.parse

HOST = "127.0.0.10"

Zone = dict[str, list[str]]
"""Texts by name; each text is a TXT record."""

TXT, ANY = 16, 255
TTL_S = 3600


class Names:
    """A DNS server of TXT records, on UDP."""

    def __init__(self, zone: Zone) -> None:
        self._zone = zone
        self.asked: list[str] = []
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((HOST, 0))
        self.address = f"{HOST}:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            question, client = self._socket.recvfrom(4096)
            self._socket.sendto(self._answer(question), client)

    def _answer(self, question: bytes) -> bytes:
        labels, at = [], 12
        while size := question[at]:
            labels.append(question[at + 1 : at + 1 + size].decode())
            at += size + 1
        name = ".".join(labels).lower()
        self.asked.append(name)
        (kind,) = struct.unpack(">H", question[at + 1 : at + 3])
        texts = self._zone.get(name, []) if kind in (TXT, ANY) else []
        body = b"".join(record(text.encode()) for text in texts)
        # Of this zone, asked to recurse, recursion is there; 3: there is no such name.
        flags = 0x8580 | (0 if name in self._zone else 3)
        head = struct.pack(">HHHHH", flags, 1, len(texts), 0, 0)
        return question[:2] + head + question[12 : at + 5] + body


def record(text: bytes) -> bytes:
    """A TXT record of the name in the question."""
    head = struct.pack(">HHHIH", 0xC00C, TXT, 1, TTL_S, len(text) + 1)
    return head + bytes([len(text)]) + text


class Files:
    """An HTTP server of files in memory; a name with a slash at its end has any that begins so."""

    def __init__(self, port: int, files: dict[str, bytes]) -> None:
        asked: list[str] = []
        self.asked = asked

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_HEAD(self) -> None:
                self._found()

            def do_GET(self) -> None:
                self.wfile.write(self._found())

            def _found(self) -> bytes:
                # ARC asks with the whole URL in the request line.
                path = urllib.parse.urlsplit(self.path).path
                asked.append(f"{self.command} {path}")
                content = files.get(path, files.get(path[: path.rindex("/") + 1]))
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                return content or b""

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer((HOST, port), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
