"""The doors that take bytes: the socket's frames, hooks, calls, MCP and HTTP.

Each door has ``make(rng)``, which is pure, and ``send(made, bench)``, which says how it went and
raises ``Finding``.
"""

from __future__ import annotations

import json
import random
import re
import socket
import struct
from collections.abc import Callable
from typing import Any, cast

from subcog.bus.frames import request_frame
from subcog.pipeline.api.dispatch import Calls
from tests.integration.mcp_client import INITIALIZE, META

from .bench import ABROAD, BOUND_S, Bench, Finding, read_reply
from .mutate import Mutator
from .payloads import ABROAD as PLACES
from .payloads import CLIENTS, params, payload

SPLIT_WRITES = 0.1
# A newer client has the daemon leave, which is what it is for.
_VERSIONS = ("", "x", "0.0." + "0" * 30, "0." * 20 + "0", "0.0." + "0" * 5000)
_MOST_ERROR_CHARS = 4000


class Hook:
    """A payload at the socket, as the pipe sends it."""

    name, weight = "hook", 30

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        client = rng.choice(list(CLIENTS))
        event = rng.choice(CLIENTS[client])
        body = maker.mutated(payload(maker, event), rng.choice((0.0, 0.02, 0.1, 0.4)))
        if maker.chance(0.03):
            body = maker.value()
        fields = {
            "client": client,
            "id": f"{rng.getrandbits(128):032x}",
            "session": "fuzz-1",
            "budget_ms": "200",
            "version": rng.choice(_VERSIONS),
        }
        if maker.chance(0.1):
            key = rng.choice((*fields, "project", "cwd", "scope"))
            if key != "version":
                fields[key] = maker.strange().replace("\0", "")[:20_000]
        return event, fields, maker.encoded(body)

    def send(self, made: Any, bench: Bench) -> str:
        event, fields, body = made
        told = bench.fields(**{key: bench.text(value) for key, value in fields.items()})
        whole = request_frame("hook", event, _plain(told), bench.filled(body))
        with bench.connect() as connection, connection.makefile("rb") as stream:
            connection.sendall(whole)
            status, answer = read_reply(stream)
        check_hook(event, status, answer)
        return "answered" if answer not in {b"", b"{}"} else "refused"


def check_hook(event: str, status: str, answer: bytes) -> None:
    """Raises ``Finding`` unless an agent can read ``answer``."""
    if status not in {"ok", "unsettled"}:
        raise Finding(f"{event} was answered {status or 'nothing: the daemon hung up'}")
    if event in {"PreCompact"} or not answer:  # plain text, as Claude Code takes it there
        return
    check_json(answer)


def check_json(answer: bytes) -> Any:
    try:
        said = answer.decode()
        if ABROAD.search(said):
            raise Finding(f"the answer speaks of an inner failure: {said[:200]}")
        return json.loads(said)
    except ValueError:
        raise Finding(f"the answer is no JSON: {answer[:100]!r}") from None


def _plain(fields: dict[str, str]) -> dict[str, str]:
    """Fields that can be packed: bytes that are not UTF-8 come as surrogates, the others do not."""
    return {
        key: value.encode("utf-8", "replace").decode() if not _packs(value) else value
        for key, value in fields.items()
    }


def _packs(value: str) -> bool:
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


# --- calls ----------------------------------------------------------------------------------------


def call_table() -> dict[str, Any]:
    """Each call with what it takes; nothing of the daemon's is needed for that."""
    nothing = cast(Any, _Nothing())
    table = Calls(nothing, nothing, nothing)._table
    return {name: kind for name, (kind, _) in table.items()}


class _Nothing:
    def __getattr__(self, name: str) -> Any:
        return _Nothing()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _Nothing()


# What changes what a run is measured by, or ends it, is done seldom.
_SELDOM = {"restore_backup": 0.02, "backup": 0.05, "team-join": 0.1, "forgotten_since": 0.2}


class Call:
    """A call of the command line; every call of the table, and unknown ones."""

    name, weight = "call", 25

    def __init__(self) -> None:
        self._table = call_table()

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        name = rng.choice(list(self._table))
        if not maker.chance(_SELDOM.get(name, 1)):
            name = "recall"
        given = params(maker, self._table[name])
        kept = {key: value for key, value in given.items() if key in PLACES}
        changed = maker.mutated(given, rng.choice((0.0, 0.05, 0.2, 0.5))) | kept
        body = maker.encoded(maker.value() if maker.chance(0.02) and not kept else changed)
        if maker.chance(0.02):
            name = rng.choice(("nonsense", "Recall", "__init__", "x" * 60))
        fields = {"client": "cli"}
        if maker.chance(0.1):
            key = rng.choice(("project", "cwd", "scope", "client", "session"))
            fields[key] = maker.strange().replace("\0", "")[:20_000]
        return name, fields, body

    def send(self, made: Any, bench: Bench) -> str:
        name, fields, body = made
        told = bench.fields(**{key: bench.text(value) for key, value in fields.items()})
        status, answer = bench.exchange("call", name, _plain(told), bench.filled(body))
        if not status:
            raise Finding(f"{name} was not answered: the daemon hung up")
        said = check_json(answer)
        if status == "error":
            check_error(name, said)
        return "answered" if status == "ok" else "refused"


def check_error(name: str, said: Any) -> None:
    """Raises ``Finding`` unless ``said`` is a sentence for the user."""
    if not isinstance(said, dict) or set(said) != {"error"} or not said["error"]:
        raise Finding(f"{name} was refused with {said!r:.200}")
    if len(said["error"]) > _MOST_ERROR_CHARS:
        raise Finding(f"{name} was refused with {len(said['error'])} characters")


# --- frames ---------------------------------------------------------------------------------------


class Frame:
    """Bytes that are nearly a frame: heads, fields, lengths, split writes, early closes."""

    name, weight = "frame", 15

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        kind = rng.choice(("hook", "call", "call", "mcp"))
        name = {"hook": "UserPromptSubmit", "call": "recall", "mcp": "stdio"}[kind]
        body = b"" if kind == "mcp" else maker.encoded({"query": "x", "prompt": maker.text()})
        fields = {"project": "@PROJECT@", "version": rng.choice(_VERSIONS)}
        data = request_frame(kind, name, fields, body)
        data = self._changed(maker, data)
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
        end = rng.choice(("finish", "finish", "close", "reset"))
        return [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)], end

    def _changed(self, maker: Mutator, data: bytes) -> bytes:
        rng = maker.rng
        head, _, rest = data.partition(b"\n")
        parts = head.split(b" ")
        how = rng.randrange(6)
        if how == 0:
            return data
        if how == 1:
            return maker.damaged(data)
        if how == 2:
            wild = (b"0", b"-1", b"99999999999", b"9" * 400, b"x", b"", b"\xb2", b"1.5", b"+3")
            parts[rng.randrange(len(parts))] = rng.choice(wild)
        elif how == 3:
            rng.shuffle(parts)
        elif how == 4:
            parts = parts[: rng.randrange(len(parts))] * rng.choice((1, 2, 30))
        else:
            return bytes(rng.getrandbits(8) for _ in range(rng.choice((1, 10, 300, 5000))))
        return b" ".join(parts) + b"\n" + rest

    def send(self, made: Any, bench: Bench) -> str:
        chunks, end = made
        chunks = [bench.filled(b"".join(chunks))] if len(chunks) == 1 else chunks
        with bench.connect() as connection:
            try:
                for chunk in chunks:
                    connection.sendall(chunk)
                if end == "reset":
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                if end != "finish":
                    return "left"
                connection.shutdown(socket.SHUT_WR)
                answer = read_all(connection)
            except (BrokenPipeError, ConnectionResetError):
                return "refused"
        if answer and not answer.startswith((b"subcog/1 ", b"{")):
            raise Finding(f"what is no frame was answered {answer[:100]!r}")
        if ABROAD.search(answer.decode("utf-8", "replace")):
            raise Finding(f"the answer speaks of an inner failure: {answer[:200]!r}")
        return "answered" if b"subcog/1 ok" in answer else "refused"


def read_all(connection: socket.socket) -> bytes:
    """Everything up to the end. Raises ``Finding`` where that does not come."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except TimeoutError:
        raise Finding(f"the connection is still open after {BOUND_S:g} s") from None
    return b"".join(parts)


# --- MCP ------------------------------------------------------------------------------------------

_TOOLS: dict[str, dict[str, Any]] = {
    "recall": {"query": "how do we deploy?", "limit": 3},
    "search_sessions": {"query": "deploy"},
    "get": {"id": "@ID@"},
    "capture": {"text": "The bench is blue.", "namespace": "decisions", "tags": ["a"]},
    "update": {"id": "@ID@", "tags": ["b"]},
    "supersede": {"old": "@ID@", "text": "Releases are tagged by a script."},
    "forget": {"id": "mem_00000000000000000000000000"},
    "topics": {"topic": "release", "limit": 3},
    "status": {},
    "hook": {"event": "UserPromptSubmit", "payload": {"prompt": "x"}},
}
_URIS = ("subcog://help", "subcog://topics", "subcog://memory/@ID@", "subcog://search/deploy")
_PROMPTS = ("recall_context", "capture_decision", "review_session")


def message(maker: Mutator) -> Any:
    """One message of a client, nearly right."""
    rng = maker.rng
    tool = rng.choice(list(_TOOLS))
    method, given = rng.choice(
        (
            ("tools/call", {"name": tool, "arguments": _TOOLS[tool]}),
            ("tools/call", {"name": tool, "arguments": _TOOLS[tool]}),
            ("resources/read", {"uri": rng.choice(_URIS)}),
            ("prompts/get", {"name": rng.choice(_PROMPTS), "arguments": {"query": "x"}}),
            ("resources/subscribe", {"uri": rng.choice(_URIS)}),
            ("completion/complete", {"ref": {"type": "ref/prompt", "name": "recall_context"}}),
            (rng.choice(("tools/list", "resources/list", "prompts/list", "ping")), {}),
            ("logging/setLevel", {"level": "debug"}),
            ("initialize", INITIALIZE),
            ("notifications/cancelled", {"requestId": rng.randrange(9)}),
            ("subscriptions/listen", {}),
        )
    )
    if maker.chance(0.3):
        given = given | {"_meta": META}
    told = {"jsonrpc": "2.0", "id": rng.randrange(1, 9), "method": method, "params": given}
    return maker.mutated(told, rng.choice((0.0, 0.05, 0.2)))


class McpPipe:
    """A client of the pipe: it introduces itself, says odd things, and asks something right."""

    name, weight = "mcp", 5

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        lines = [maker.encoded(message(maker)) for _ in range(rng.randrange(1, 5))]
        if maker.chance(0.05):
            lines.append(maker.deep())
        return [line.replace(b"\n", b" ") for line in lines], maker.chance(0.05)

    def send(self, made: Any, bench: Bench) -> str:
        lines, leaves = made
        hello = {"jsonrpc": "2.0", "id": "first", "method": "initialize", "params": INITIALIZE}
        last = {"jsonrpc": "2.0", "id": "last", "method": "ping"}
        ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        said = [json.dumps(each).encode() for each in (hello, ready)]
        said += [bench.filled(line) for line in lines] + [json.dumps(last).encode()]
        with bench.connect() as connection, connection.makefile("rb") as stream:
            head = request_frame("mcp", "stdio", bench.fields(), b"")
            connection.sendall(head + b"\n".join(said) + b"\n")
            if leaves:
                return "left"
            try:
                while line := stream.readline():
                    answer = check_json(line)
                    check_rpc(answer)
                    if isinstance(answer, dict) and answer.get("id") == "last":
                        return "answered"
            except TimeoutError:
                raise Finding(f"MCP was not answered within {BOUND_S:g} s") from None
            except ConnectionResetError:
                pass
        raise Finding("the daemon hung up on an MCP client")


def check_rpc(answer: Any) -> None:
    """Raises ``Finding`` for the protocol's internal error."""
    error = answer.get("error") if isinstance(answer, dict) else None
    if isinstance(error, dict) and error.get("code") == -32603:
        raise Finding(f"MCP answered an internal error: {error}")


# --- HTTP -----------------------------------------------------------------------------------------

_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_HOSTS = ("@HOST@", "@HOST@", "@HOST@", "localhost", "evil.example", "[::1", "", "127.0.0.1:x")
_ORIGINS = ("http://@HOST@", "http://evil.example", "null", "http://[", "http://127.0.0.1:1")
_METHODS = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "x", "\xff")
_PAGES = ("", "now", "memories", "memory/@ID@", "review", "sessions", "sessions/fuzz-1", "try")
_LEFT_S = 0.3


class Http:
    """Raw requests, with the token and without: metrics, hooks, MCP and the page."""

    name, weight = "http", 15

    def make(self, rng: random.Random) -> Any:
        maker = Mutator(rng)
        makers: tuple[Callable[[Mutator], Any], ...] = (_open, _hook, _hook, _mcp, _mcp, _page)
        method, path, headers, body = rng.choice(makers)(maker)
        if maker.chance(0.1):
            method = rng.choice(_METHODS)
        if maker.chance(0.1):
            path += rng.choice(
                ("?" + "a=b&" * 30, "/../..", "%00", "%ff", "?project=@PROJECT@", "#")
            )
        headers = {
            "Host": rng.choice(_HOSTS) if maker.chance(0.2) else "@HOST@",
            "Connection": "close",
            **headers,
        }
        if maker.chance(0.15):
            headers["Origin"] = rng.choice(_ORIGINS)
        if maker.chance(0.2):
            headers.pop(rng.choice(list(headers)))
        if maker.chance(0.1):
            name = rng.choice((*headers, "X-Odd", "Transfer-Encoding", "Expect", "Content-Length"))
            headers[name] = maker.strange().encode("utf-8", "replace").decode("latin-1")[:70_000]
        head = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        return "\r\n".join(head).encode("latin-1", "replace"), body, rng.choice(("", "", "short"))

    def send(self, made: Any, bench: Bench) -> str:
        head, body, how = made
        body = bench.filled(body)
        length = len(body) + (7 if how == "short" and body else 0)
        head = bench.filled(head) + b"\r\nContent-Length: %d\r\n\r\n" % length
        with socket.create_connection(("127.0.0.1", bench.port), timeout=BOUND_S) as connection:
            try:
                connection.sendall(head + body)
            except (BrokenPipeError, ConnectionResetError):
                return "refused"
            answer = _response(connection, lazily=length > len(body))
        return _judged(head, answer)


def _response(connection: socket.socket, *, lazily: bool) -> bytes:
    """What comes; of a stream, or of a request that lacks its end, what comes at once."""
    answer = b""
    try:
        while True:
            streams = b"text/event-stream" in answer[:4000]
            connection.settimeout(_LEFT_S if lazily or streams else BOUND_S)
            part = connection.recv(1 << 16)
            answer += part
            if not part or _is_whole(answer):
                return answer
    except TimeoutError:
        if not (lazily or streams):
            raise Finding(f"HTTP was not answered within {BOUND_S:g} s") from None
    except ConnectionResetError:
        pass
    return answer


def _is_whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: (\d+)", head)
    return bool(end) and length is not None and len(body) >= int(length[1])


def _judged(head: bytes, answer: bytes) -> str:
    if not answer:
        return "left"
    status = _STATUS.match(answer)
    if status is None:
        raise Finding(f"HTTP was answered {answer[:80]!r}")
    if int(status[1]) in {500, 502} or ABROAD.search(answer.decode("utf-8", "replace")):
        raise Finding(f"{head[:60]!r} was answered {status[1].decode()}: {answer[-120:]!r}")
    if b"application/json" in answer and _is_whole(answer):
        body = answer.partition(b"\r\n\r\n")[2]
        if body:
            check_rpc(check_json(body))
    return "answered" if status[1] == b"200" else "refused"


_Request = tuple[str, str, dict[str, str], bytes]
_TOKEN = "Bearer @TOKEN@"


def _open(maker: Mutator) -> _Request:
    path = maker.rng.choice(("/metrics", "/healthz", "/", "/none", "/ui", "/ui/", "/ui/static/x"))
    return "GET", path, {}, b""


def _hook(maker: Mutator) -> _Request:
    client = maker.rng.choice(list(CLIENTS))
    event = maker.rng.choice((*CLIENTS[client], "None", "%00", "é", "x" * 70))
    body = maker.encoded(maker.mutated(payload(maker, event), 0.1))
    return "POST", f"/hooks/{event}", {"Authorization": _TOKEN, "X-Subcog-Client": client}, body


def _mcp(maker: Mutator) -> _Request:
    told = message(maker)
    headers = {
        "Authorization": _TOKEN,
        "Accept": "application/json, text/event-stream",
        "Content-Type": maker.rng.choice(("application/json", "application/json", "text/plain")),
    }
    if maker.chance(0.7):
        headers["MCP-Protocol-Version"] = maker.rng.choice(("2026-07-28", "2025-11-25", "x"))
        if isinstance(told, dict) and isinstance(told.get("method"), str):
            headers["Mcp-Method"] = re.sub(r"[^ -~]", "?", told["method"])[:500]
            given = told.get("params")
            name = given.get("name") or given.get("uri") if isinstance(given, dict) else None
            headers["Mcp-Name"] = re.sub(r"[^ -~]", "?", str(name or ""))[:500]
    if maker.chance(0.1):
        headers["Mcp-Session-Id"] = maker.rng.choice(("x", "0" * 32))
    method = maker.rng.choice(("POST", "POST", "POST", "POST", "GET", "DELETE"))
    return method, "/mcp", headers, maker.encoded(told)


def _page(maker: Mutator) -> _Request:
    cookie = {"Cookie": "@COOKIE@"} if maker.chance(0.9) else {}
    if maker.chance(0.3):
        act = {"do": maker.rng.choice(("keep", "bury", "forget", "undo", "tag")), "ids": ["@ID@"]}
        path = maker.rng.choice(("@VISIT@act", "@VISIT@act", "@VISIT@live", "/ui/enter"))
        origin = {"Origin": "http://@HOST@", "Content-Type": "application/json"}
        return "POST", path, cookie | origin, maker.encoded(maker.mutated(act, 0.3))
    query = maker.rng.choice(("", "?q=x", "?after=@ID@&limit=1", "?limit=-1", "?q=%ff%00", "?=&&"))
    return "GET", f"@VISIT@{maker.rng.choice(_PAGES)}{query}", cookie, b""
