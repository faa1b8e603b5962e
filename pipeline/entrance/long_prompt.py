"""Cuts a prompt of megabytes down to its beginning, its end, and what is marked between them.

To decode and read 15 MB would hold the event loop for 285 ms, and nobody typed so much: it is a
paste, which is recognised by its ends. So the payload is cut as bytes, before it is decoded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import anyio.to_thread
import msgspec
from msgspec import Raw

from ..agents.agent import Payload, read_payload

LONG_BYTES = 512 * 1024
END_BYTES = 64 * 1024
"""What is kept at each end. Both ends together can still be set aside by ``hooks/spool.py``."""
MARKED_BYTES = 40_000
"""What is kept from a marker on; where it ends in there is found when the prompt is parsed."""
MOST_MARKED = 20
MOST_LOOKED_AT = 50_000
"""So many lines that begin with a marker or a code fence are looked at: a tenth of a second."""

# A string of JSON may be cut before such a byte: it begins a character, and no escape, which has at
# most 6 bytes, has begun before it.
_SAFE = re.compile(rb"(?<=[^\\]{6})[^\x80-\xbf]|(?<!\\)\\")
# A code fence (1) or a marker (2) that begins a line. What it begins with can be searched for.
_LINE = re.compile(rb"\\n(?: |\\t){0,3}(?:(```|~~~)|((?i:\[(?:remember|capture)|@memory)))")
# A search holds the interpreter's lock; so much of it takes a millisecond, of empty lines ten.
_SLICE = 1 << 18
_LONGEST_MARK = 20
_MOST_BACKSLASHES = 64
_BETWEEN = rb"\n\n[...]\n\n"


async def read_shortened(body: bytes) -> Payload:
    """The payload in ``body``, with its prompt cut where it is very long. Raises ``ValueError``.

    What is long is read in a thread, also where the prompt is short: to mend half a character in
    the answer of a tool takes long.
    """
    if len(body) <= LONG_BYTES:
        return read_payload(body)
    return await anyio.to_thread.run_sync(lambda: read_payload(shorten(body)))


def shorten(body: bytes) -> bytes:
    """``body``, a payload, with its prompt cut where it is very long; in a worker thread.

    What is no object of JSON comes back as it is.
    """
    if len(body) <= LONG_BYTES:
        return body
    try:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
    except (ValueError, RecursionError):
        return body
    prompt = memoryview(fields.get("prompt", b""))  # a copy would take longer than all the rest
    if len(prompt) <= LONG_BYTES or prompt[0] != ord('"'):
        return body
    fields["prompt"] = Raw(b'"%s"' % _BETWEEN.join(_kept(prompt[1:-1])))
    return msgspec.json.encode(fields)


def _kept(text: memoryview) -> Iterator[memoryview]:
    first, last = _safe(text, END_BYTES), _safe(text, len(text) - END_BYTES)
    yield text[:first]
    at, found = first, 0
    for start in _markers(text, first, last):
        if start >= at:
            at, found = min(last, _safe(text, start + MARKED_BYTES)), found + 1
            yield text[start:at]
        if found == MOST_MARKED:
            break
    yield text[last:]


def _safe(text: memoryview, at: int) -> int:
    """The first place from ``at`` on where ``text`` may be cut."""
    found = _SAFE.search(text, at)
    return found.start() if found else len(text)


def _markers(text: memoryview, first: int, last: int) -> Iterator[int]:
    """Where a marker begins a line outside a code fence, from ``first`` to ``last``."""
    fenced = False
    for found in islice(_lines(text, last), MOST_LOOKED_AT):
        if _is_escaped(text, found.start()):
            continue
        if found[1]:
            fenced = not fenced
        elif not fenced and found.start(2) >= first:
            yield found.start(2)


def _lines(text: memoryview, last: int) -> Iterator[re.Match[bytes]]:
    for start in range(0, last, _SLICE):
        end = min(last, start + _SLICE)
        for found in _LINE.finditer(text, start, min(last, end + _LONGEST_MARK)):
            if found.start() < end:
                yield found


def _is_escaped(text: memoryview, at: int) -> bool:
    """Whether the backslash at ``at`` is one of the text, and no escape of JSON begins with it."""
    before = bytes(text[max(0, at - _MOST_BACKSLASHES) : at])
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1
