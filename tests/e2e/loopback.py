"""A fake HTTP API that listens on loopback; what it answers is a subclass's."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = tuple[str, bytes]
"""The content type, and the body."""
JSON, EVENTS = "application/json", "text/event-stream"


class LoopbackApi:
    """Listens from the start until ``close``."""

    # What every GET is answered with.
    found = b"{}"

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def post(self, path: str, data: bytes) -> Answer:
        raise NotImplementedError

    def forget(self) -> None:
        """Begin anew: no requests so far, and nothing more to say than `done`."""
        raise NotImplementedError

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_HEAD(self) -> None:
                self.answer(JSON, b"{}")

            def do_GET(self) -> None:
                self.answer(JSON, api.found)

            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                self.answer(*api.post(self.path, data))

            def answer(self, kind: str, data: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

        return Handler
