"""Secrets that stand in a text otherwise than they are read.

Quoted for an address, in base64, or in the columns of a table. The rules read the text as it is
meant; the spans say where that stands.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

from ...config.patterns import regex
from .rules import Rules, Span
from .sentences import in_column

_RUN = regex(r"[^\s\"'<>]{8,4000}")
_QUOTED = regex(r"%([0-9A-Fa-f]{2})")
_BASE64 = regex(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,8000}={0,2}(?![\w+/=-])")
_READABLE = re.compile(rb"[\t\n\r\x20-\x7e]+")
_MAX_DEPTH = 2  # an address within an address

_NAME = (
    r"(?:[\w-]{1,16}[ _-]){0,3}?(?:password|passwd|pass|pwd|pw|passphrase|secret|token|api[ _-]?key"
    r"|secret[ _-]?key|access[ _-]?key|key|pin|passwort|kennwort|mot de passe|contraseña|clave)s?"
)
_HEADER = regex(_NAME, re.IGNORECASE)
_EDGE = r"[|\t,;]| {2}"
_NAMED = regex(rf"(?:^|{_EDGE}) ?{_NAME}[ \r]?(?:$|{_EDGE})", re.IGNORECASE | re.MULTILINE)
_CELLS = (
    regex(r"[^|\n]+"),
    regex(r"[^\t\n]+"),
    regex(r"[^,\n]+"),
    regex(r"[^;\n]+"),
    regex(r"\S+(?: \S+)*"),
)
_MAX_ROWS = 200


def spans_of_views(text: str, rules: Rules) -> list[Span]:
    """What is to be redacted in ``text`` and cannot be seen in it as it stands."""
    found = list(_columns(text)) if "\n" in text else []
    if "%" in text:
        found += _in_quoted(text, rules, _MAX_DEPTH)
    return [*found, *_in_base64(text, rules)]


def _in_quoted(text: str, rules: Rules, depth: int) -> Iterator[Span]:
    for run in _RUN.finditer(text):
        if _QUOTED.search(run[0]) is None:
            continue
        plain, places = _unquoted(run[0])
        spans = rules.spans(plain)
        if depth > 1:
            spans += _in_quoted(plain, rules, depth - 1)
        for span in spans:
            start, end = run.start() + places[span.start], run.start() + places[span.end]
            yield Span(start, end, span.name)


def _unquoted(run: str) -> tuple[str, list[int]]:
    """``run`` without its quoting, and where each of its characters stood, and its end."""
    plain: list[str] = []
    places: list[int] = []
    at = 0
    while at < len(run):
        quoted = _QUOTED.match(run, at)
        plain.append(chr(int(quoted[1], 16)) if quoted else run[at])
        places.append(at)
        at += 3 if quoted else 1
    return "".join(plain), [*places, len(run)]


def _in_base64(text: str, rules: Rules) -> Iterator[Span]:
    for run in _BASE64.finditer(text):
        plain = _decoded(run[0])
        if plain and (spans := rules.spans(plain)):
            yield Span(run.start(), run.end(), spans[0].name)


def _decoded(run: str) -> str:
    """What ``run`` says, if that is text."""
    packed = run.rstrip("=").replace("-", "+").replace("_", "/")
    packed = packed[: len(packed) - (len(packed) % 4 == 1)]
    try:
        plain = base64.b64decode(packed + "=" * (-len(packed) % 4))
    except binascii.Error:
        return ""
    return plain.decode("ascii") if _READABLE.fullmatch(plain) else ""


def _columns(text: str) -> Iterator[Span]:
    """What stands in a column that is named for secrets."""
    if _NAMED.search(text) is None:
        return
    starts = [match.end() for match in re.finditer(r"\A|\n", text)]
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1]):
        if len(line) > 400 or _NAMED.search(line) is None:
            continue
        for cells in _CELLS:
            columns = [
                one for one, name in enumerate(_texts(cells, line)) if _HEADER.fullmatch(name)
            ]
            count = len(_texts(cells, line))
            if columns and count > 1:
                rows = range(number + 1, min(len(lines), number + _MAX_ROWS))
                yield from _below(lines, starts, rows, cells, columns, count)
                break


def _texts(cells: re.Pattern[str], line: str) -> list[str]:
    return [cell.strip() for cell in cells.findall(line.strip("| \t\r"))]


def _below(
    lines: list[str],
    starts: list[int],
    rows: range,
    cells: re.Pattern[str],
    columns: list[int],
    count: int,
) -> Iterator[Span]:
    for row in rows:
        line = lines[row]
        if line and not line.strip("+-=|: \t\r"):
            continue
        body = line.strip("| \t\r")
        offset = line.find(body)
        found = list(cells.finditer(body))
        if len(found) != count:
            return
        for column in columns:
            cell = found[column][0].strip(" `\"'")
            if in_column(cell):
                start = starts[row] + offset + found[column].start() + found[column][0].find(cell)
                yield Span(start, start + len(cell), "table-secret")
