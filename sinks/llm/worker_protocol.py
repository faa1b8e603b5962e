"""What the daemon and its model worker say to each other: one JSON object a line, either way."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

# The longest line that either side takes; an answer is cut far below that.
MAX_LINE = 256 * 1024
MAX_ANSWER_CHARS = 8192

Kind = Literal["timeout", "connection", "status", "malformed", "refused"]


class Configure(Struct, frozen=True, kw_only=True, tag="configure"):
    """The first line: which model, and where, empty for the provider's own address."""

    model: str
    api_base: str


class Ask(Struct, frozen=True, kw_only=True, tag="ask"):
    """One question. ``timeout_s`` is when the worker gives up by itself."""

    id: int
    system: str
    user: str
    max_tokens: int
    timeout_s: float


class Cancel(Struct, frozen=True, kw_only=True, tag="cancel"):
    """Nobody wants the answer to ``id`` any more: close its connection."""

    id: int


class Ready(Struct, frozen=True, kw_only=True, tag="ready"):
    """The worker has loaded what it needs."""


class Answer(Struct, frozen=True, kw_only=True, tag="answer"):
    """What the model wrote, cut at ``MAX_ANSWER_CHARS``."""

    id: int
    text: str


class Trouble(Struct, frozen=True, kw_only=True, tag="trouble"):
    """There is no answer. ``retry_after_s`` is what the provider asked for, 0 for nothing."""

    id: int
    kind: Kind
    status: int = 0
    retry_after_s: float = 0.0


ToWorker = Configure | Ask | Cancel
FromWorker = Ready | Answer | Trouble

_encoder = msgspec.json.Encoder()
_to_worker: msgspec.json.Decoder[ToWorker] = msgspec.json.Decoder(ToWorker)
_from_worker: msgspec.json.Decoder[FromWorker] = msgspec.json.Decoder(FromWorker)


def line_of(message: ToWorker | FromWorker) -> bytes:
    """``message`` as a line."""
    return _encoder.encode(message) + b"\n"


def read_to_worker(line: bytes) -> ToWorker:
    """What the daemon said. Raises ``ValueError``."""
    return _to_worker.decode(line)


def read_from_worker(line: bytes) -> FromWorker:
    """What the worker said. Raises ``ValueError``."""
    return _from_worker.decode(line)
