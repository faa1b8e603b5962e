"""Raw HTTP to the daemon's ``/mcp``, right or wrong."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
from typing import Any
from urllib.parse import quote, urlsplit

from .house import PATIENCE_S, House
from .mcp_client import INITIALIZE, META

_ids = itertools.count(1)

Answer = tuple[int, dict[str, str], Any]


class Raw:
    """A client in ``era`` that may be rude; it speaks about the house's project."""

    def __init__(self, house: House, era: str, *, query: str | None = None) -> None:
        self.era = era
        self.address = urlsplit(house.mcp_url)
        self.token = house.paths.http_token.read_text().strip()
        project = f"?project={quote(str(house.project))}"
        self.target = self.address.path + (project if query is None else query)
        self.session = ""
        if era == "legacy":
            self.session = self.open()

    def open(self) -> str:
        """Introduce this client; returns the id of its session."""
        status, headers, answer = self.post(message("initialize", INITIALIZE))
        assert status == 200, answer
        self.session = headers["mcp-session-id"]
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        assert self.post(told)[0] == 202
        return self.session

    def headers(self, body: Any = None) -> dict[str, str]:
        headers = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        if self.era != "legacy":
            headers["MCP-Protocol-Version"] = self.era
            if isinstance(body, dict) and isinstance(body.get("method"), str):
                headers["Mcp-Method"] = body["method"]
                params = body.get("params") or {}
                name = params.get("name") or params.get("uri")
                if isinstance(name, str) and name.isascii() and name.isprintable():
                    headers["Mcp-Name"] = name
        return headers

    def post(self, body: Any, **headers: str | None) -> Answer:
        return self.send("POST", body, **headers)

    def send(self, method: str, body: Any = None, **headers: str | None) -> Answer:
        """One request; ``headers`` replace ours, and None takes one away."""
        changed = {name.replace("_", "-"): value for name, value in headers.items()}
        whole = self.headers(body) | changed
        kept = {name: value for name, value in whole.items() if value is not None}
        data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else None
        connection = self.connect()
        try:
            connection.request(method, self.target, data, kept)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        told = {name.lower(): value for name, value in answer.getheaders()}
        is_json = told.get("content-type", "").startswith("application/json") and text
        return answer.status, told, json.loads(text) if is_json else text

    def connect(self) -> http.client.HTTPConnection:
        host, port = self.address.hostname, self.address.port
        return http.client.HTTPConnection(str(host), port, timeout=PATIENCE_S)

    def ask(self, method: str, params: Any = None) -> Any:
        """The answer to a request, an error included."""
        return self.post(self.request(method, params))[2]

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        params = dict(params or {})
        if self.era != "legacy":
            params["_meta"] = META
        return message(method, params)

    def tool(self, name: str, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def leave_hanging(self, body: dict[str, Any]) -> socket.socket:
        """Send a request whose answer nobody reads yet."""
        data = json.dumps(body).encode()
        lines = [f"POST {self.target} HTTP/1.1", f"Host: {self.address.netloc}"]
        lines += [f"{name}: {value}" for name, value in self.headers(body).items()]
        head = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""])
        hanging = socket.create_connection((str(self.address.hostname), self.address.port or 0))
        hanging.sendall(head.encode() + data)
        return hanging


def message(method: str, params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": next(_ids), "method": method, "params": params}
