r"""The wire format between thin clients and the daemon: one ASCII line, then two byte strings.

A request is ``subcog/1 KIND NAME FIELDS BODY\n``, then FIELDS bytes of ``key=value`` joined by NUL,
then BODY bytes. A reply is ``subcog/1 STATUS DETAIL BODY\n``, then BODY bytes. KIND is hook, call
or mcp. STATUS is ``ok`` or ``error`` (DETAIL: the daemon's version), ``unsettled`` (like ``ok``,
but something that the prompt asks to keep is not committed, and the client has to set it aside) or
``wait`` (DETAIL: more milliseconds that the client may wait from now; the real reply follows).
Lengths are decimal.

``hooks/client.py`` writes and reads the same bytes by itself; a contract test holds the two equal.

The JSON of other programs, in a body or a file, may hold half a character where they cut a text in
two. ``read_json`` reads it all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct

PROTOCOL = "subcog/1"
MAX_LINE = 256
MAX_FIELDS = 64 * 1024
MAX_BODY = 16 * 1024 * 1024
KINDS = ("hook", "call", "mcp")
STATUSES = ("ok", "error", "unsettled", "wait")

T = TypeVar("T")
Json = TypeVar("Json", bytes, str)


class BadFrame(ValueError):
    """The bytes are not a frame. The message names what is wrong, never what was sent."""


class Head(Struct, frozen=True):
    """The first line of a request: what follows it, in bytes."""

    kind: str
    name: str
    fields: int
    body: int


class ReplyHead(Struct, frozen=True):
    """The first line of a reply."""

    status: str
    detail: str
    body: int


def _parts(line: bytes, count: int) -> list[str]:
    try:
        parts = line.decode("ascii").rstrip("\n").split(" ")
    except UnicodeDecodeError:
        raise BadFrame("the head of the frame is not ASCII") from None
    if parts[0] != PROTOCOL:
        raise BadFrame(f"the frame does not begin with {PROTOCOL}")
    if len(parts) != count:
        raise BadFrame(f"the head of the frame has {len(parts)} parts, not {count}")
    return parts


def _length(digits: str, limit: int) -> int:
    if not (digits.isascii() and digits.isdigit() and len(digits) < 12):
        raise BadFrame("a length in the frame is not a number")
    if (length := int(digits)) > limit:
        raise BadFrame(f"the frame announces {length} bytes, more than {limit}")
    return length


def read_head(line: bytes) -> Head:
    """Read the first line of a request. Raises ``BadFrame``."""
    _, kind, name, fields, body = _parts(line, 5)
    if kind not in KINDS:
        raise BadFrame("the frame is of no known kind")
    return Head(kind, name, _length(fields, MAX_FIELDS), _length(body, MAX_BODY))


def read_fields(data: bytes) -> dict[str, str]:
    """Read the fields of a request; bytes that are not UTF-8 survive as surrogates."""
    pairs = (part.partition(b"=") for part in data.split(b"\0") if part)
    return {
        key.decode("ascii", "replace"): value.decode("utf-8", "surrogateescape")
        for key, _, value in pairs
    }


def read_reply_head(line: bytes) -> ReplyHead:
    """Read the first line of a reply. Raises ``BadFrame``."""
    _, status, detail, body = _parts(line, 4)
    if status not in STATUSES:
        raise BadFrame("the reply has no known status")
    return ReplyHead(status, detail, _length(body, MAX_BODY))


def request_frame(kind: str, name: str, fields: Mapping[str, str], body: bytes) -> bytes:
    """The bytes of a request."""
    packed = b"\0".join(
        f"{key}={value}".encode("utf-8", "surrogateescape") for key, value in fields.items()
    )
    return f"{PROTOCOL} {kind} {name} {len(packed)} {len(body)}\n".encode() + packed + body


def reply_frame(status: str, detail: str, body: bytes = b"") -> bytes:
    """The bytes of a reply."""
    return f"{PROTOCOL} {status} {detail} {len(body)}\n".encode() + body


def read_json(data: Json, decode: Callable[[Json | bytes], T]) -> T:
    """What ``decode`` makes of ``data``; a lone surrogate (half a character) is a question mark.

    Raises what ``decode`` raises.
    """
    try:
        return decode(data)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            whole = mended(data)
        except (ValueError, RecursionError):
            raise error from None
    return decode(whole)


def mended(data: bytes | str) -> bytes:
    """JSON without lone surrogates. Raises ``ValueError`` and ``RecursionError`` for no JSON."""
    return json.dumps(json.loads(data), ensure_ascii=False).encode("utf-8", "replace")
