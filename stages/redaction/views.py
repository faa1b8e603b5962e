"""Secrets that stand in a text otherwise than they are read.

Escaped, in wide letters, in base64, or in the columns of a table. The rules read the text as it is
meant; the spans say where that stands.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...config.patterns import regex
from .rules import Rules, Span
from .sentences import in_column

_RUN = regex(r"[^\s\"'<>]{8,4000}")
# For an address, in a string of code, in markup.
_CODED = regex(
    r"%([0-9A-Fa-f]{2})|\\(?:u00|U000000|u\{0{0,6}|x)([0-9A-Fa-f]{2})\}?"
    r"|&#[xX]0{0,6}([0-9A-Fa-f]{2});|&#0{0,6}(\d{2,3});"
)
# What may join the parts of a secret, or its name to it; markup and quoted code escape the rest.
_SAYS_MORE = regex(r"[^\t\n\r\"'<>&,;()]")
# The wide characters of East Asian input. Those of prose tell of no secret, so they start no look.
_NARROW = {0x3000: 0x20, **{wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}}
_WIDE = regex(
    r"[\uff0b\uff0d-\uff19\uff1d\uff20-\uff3a\uff3f\uff41-\uff5a]"
    r"|(?<=[A-Za-z0-9])[\uff01\uff1a\u3000]"
)
_LINE = regex(r"[^\n]{8,4000}")
_BASE64 = regex(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,8000}={0,2}(?![\w+/=-])")
_READABLE = re.compile(rb"[\t\n\r\x20-\x7e]+")
_MAX_DEPTH = 2  # an address within an address

_NAME = (
    r"(?:[\w-]{1,16}[ _-]){0,3}?(?:password|passwd|pass|pwd|pw|passphrase|secret|token|api[ _-]?key"
    r"|secret[ _-]?key|access[ _-]?key|key|pin|passwort|kennwort|mot de passe|contraseña|clave)s?"
)
_HEADER = regex(_NAME, re.IGNORECASE)
_EDGE = r"[|\t,;]| {2}"
_NAMED = regex(
    rf"(?:^|{_EDGE}) ?[\"']?{_NAME}[\"']?[ \r]?(?:$|{_EDGE})", re.IGNORECASE | re.MULTILINE
)
_BESIDE = " \t\r`\"'"
_MAX_ROWS = 200


class _Layout(NamedTuple):
    """How the cells of a row are told apart; ``around`` is what may stand at its ends."""

    around: str
    cell: re.Pattern[str]

    def cells(self, line: str) -> list[tuple[int, str]]:
        """Where the text of each cell begins in ``line``, and that text; it may be empty."""
        body = line.strip(self.around)
        offset = line.find(body)
        texts = [(found, found[0].strip(_BESIDE)) for found in self.cell.finditer(body)]
        return [(offset + found.start() + found[0].find(text), text) for found, text in texts]


def _separated(mark: str, around: str) -> _Layout:
    """Cells with ``mark`` between them, which a quoted one may contain."""
    return _Layout(around, regex(rf'(?:^|(?<={mark}))(?:"(?:[^"\n]|"")*"|[^{mark}\n]*)'))


_LAYOUTS = (
    _separated(r"\|", "| \t\r"),
    _separated(r"\t", "\r"),
    _separated(",", " \t\r"),
    _separated(";", " \t\r"),
    _Layout("| \t\r", regex(r"\S+(?: \S+)*")),
)


def spans_of_views(text: str, rules: Rules) -> list[Span]:
    """What is to be redacted in ``text`` and cannot be seen in it as it stands."""
    found = list(_columns(text)) if "\n" in text else []
    narrow = text
    if _WIDE.search(text):
        narrow = text.translate(_NARROW)
        found += _in_wide(text, narrow, rules)
    if _CODED.search(narrow):
        found += _in_quoted(narrow, rules, _MAX_DEPTH)
    return [*found, *_in_base64(text, rules)]


def _in_wide(text: str, narrow: str, rules: Rules) -> Iterator[Span]:
    for line in _LINE.finditer(text):
        if _WIDE.search(line[0]):
            at = line.start()
            for span in rules.spans(narrow[at : line.end()]):
                yield Span(at + span.start, at + span.end, span.name)


def _in_quoted(text: str, rules: Rules, depth: int) -> Iterator[Span]:
    for run in _RUN.finditer(text):
        if not any(_SAYS_MORE.match(_meant(coded)) for coded in _CODED.finditer(run[0])):
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
    for coded in _CODED.finditer(run):
        plain += [run[at : coded.start()], _meant(coded)]
        places += range(at, coded.start() + 1)
        at = coded.end()
    return "".join([*plain, run[at:]]), [*places, *range(at, len(run) + 1)]


def _meant(coded: re.Match[str]) -> str:
    *in_hex, decimal = coded.groups()
    return chr(int(decimal) if decimal else int(next(filter(None, in_hex)), 16))


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
        for layout in _LAYOUTS:
            names = layout.cells(line)
            columns = [at for at, (_, name) in enumerate(names) if _HEADER.fullmatch(name)]
            if columns and len(names) > 1:
                rows = range(number + 1, min(len(lines), number + _MAX_ROWS))
                for row, at, cell in _below(lines, rows, layout, columns, len(names)):
                    yield Span(starts[row] + at, starts[row] + at + len(cell), "table-secret")
                break


def _below(
    lines: Sequence[str], rows: range, layout: _Layout, columns: Sequence[int], count: int
) -> Iterator[tuple[int, int, str]]:
    """What is secret in ``columns`` to the end of the table: its row, where it begins, the text.

    A row with another number of cells is passed over.
    """
    for row in rows:
        line = lines[row]
        if line and not line.strip("+-=|: \t\r"):
            continue
        cells = layout.cells(line)
        if len(cells) < 2:
            return
        for at, cell in [cells[column] for column in columns] if len(cells) == count else ():
            if in_column(cell):
                yield row, at, cell
