"""The hygiene of text from anywhere: well-formed, visible, and cut only where a reader would cut.

Nothing here knows what a text means. Every function is linear in its input.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ...config.characters import HIDDEN, IDLE
from ...config.patterns import regex

ELLIPSIS = "…"
MAX_NAME_CHARS = 80

_ANSI = (
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[@-Z\\^_]"
)
_INVISIBLE = regex(f"{_ANSI}|[{HIDDEN}]")
_LINE_ENDS = regex(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_IDLE = regex(IDLE)
_UNUSUAL = regex(r"[^\n\t -~]")
_SURROGATES = regex(r"[\ud800-\udfff]")
_FENCE = regex(r"[ \t>]*(`{3,}|~{3,})([^\n]*)")
_QUOTED = regex(r"[ \t]*>")


def well_formed(text: str) -> str:
    """``text`` that every encoder takes: surrogate pairs joined, lone ones become U+FFFD."""
    if _SURROGATES.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def visible(text: str) -> str:
    """``text`` without what a reader cannot see: escapes, controls, bidi marks, zero widths.

    Newlines and tabs stay, and one joiner or selector after a letter or symbol that it changes;
    the rarer kinds of line end become newlines.
    """
    if _UNUSUAL.search(text) is None:
        return text
    seen = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", well_formed(text)))
    return _IDLE.sub("", seen)


def fenced(lines: Sequence[str]) -> Iterator[bool]:
    """For each line, whether it belongs to a code fence; one never closed runs to the end."""
    fence = ""
    for line in lines:
        match = _FENCE.match(line)
        if match is None:
            yield bool(fence)
        elif not fence:
            opens = match[1][0] not in match[2] or match[1][0] == "~"
            fence = match[1] if opens else ""
            yield opens
        else:
            yield True
            if match[1].startswith(fence) and not match[2].strip():
                fence = ""


def is_quoted(line: str) -> bool:
    """Whether ``line`` is a Markdown quotation."""
    return _QUOTED.match(line) is not None


def one_line(text: str) -> str:
    """``text`` with every run of white space made a single space."""
    return " ".join(text.split())


def name_line(name: str) -> str:
    """A name that somebody else gave, as one short line without anything that moves a cursor."""
    return cut(one_line(visible(name)), MAX_NAME_CHARS)


def cut(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters, ending in ``…`` where something is missing.

    The cut falls between words; in a word longer than half of ``limit`` (a script without spaces,
    a hash) it falls between characters as a reader counts them.
    """
    if len(text) <= limit:
        return text
    if limit < 1:
        return ""
    end = limit - len(ELLIPSIS)
    space = _last_space(text, end)
    if space <= limit // 2:
        space = _character_start(text, end)
    return text[:space].rstrip(" \t\n,;:–—-([{") + ELLIPSIS


def _last_space(text: str, end: int) -> int:
    if text[end].isspace():
        return end
    while end and not text[end - 1].isspace():
        end -= 1
    return end


def _character_start(text: str, at: int) -> int:
    """The last place at or before ``at`` that does not divide a character as readers see it."""
    while at and _continues(text, at):
        at -= 1
    return at


def _continues(text: str, at: int) -> bool:
    here, before = text[at], text[at - 1]
    if before == "\u200d" or here == "\u200d":
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff":  # skin tones
        return True
    if _is_regional(here):  # flags are pairs, counted from the start of their run
        return _regional_run(text, at) % 2 == 1
    if "\u1160" <= here <= "\u11ff":  # Hangul vowels and finals
        return True
    return unicodedata.category(here)[0] == "M"


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _regional_run(text: str, at: int) -> int:
    count = 0
    while count < at and _is_regional(text[at - count - 1]):
        count += 1
    return count


# --- how long a text is ---------------------------------------------------------------------------


# A lower-case word is a token for each six letters, a shouted one for each two.
_PIECES = regex(r"[a-z]{1,6}|[A-Z][a-z]{1,5}|[A-Z]{1,2}|[0-9]{1,2}|[^\sA-Za-z0-9]|\n+")
_WIDE = regex(r"[\u0800-\uffff]")
_ASTRAL = regex(r"[\U00010000-\U0010ffff]")
_CHARS_PER_TOKEN = 4


class Size(Struct, frozen=True):
    """How long a text is. The sizes of texts that are joined at an end of a line add up exactly."""

    chars: int
    pieces: int
    units: int

    def __add__(self, other: Size) -> Size:
        return Size(self.chars + other.chars, self.pieces + other.pieces, self.units + other.units)

    @property
    def tokens(self) -> int:
        """Estimated tokens: never fewer than a quarter of the characters."""
        return max(-(-self.chars // _CHARS_PER_TOKEN), self.pieces)


def size_of(text: str) -> Size:
    """Measure ``text``.

    Letters of other scripts, and emoji, count by their UTF-8 bytes, since that is how a
    vocabulary without a word for them spells them: one, two or three tokens each.
    """
    pieces = len(_PIECES.findall(text))
    if text.isascii():
        return Size(len(text), pieces, len(text))
    astral = len(_ASTRAL.findall(text))
    return Size(len(text), pieces + len(_WIDE.findall(text)) + 2 * astral, len(text) + astral)


def count_tokens(text: str) -> int:
    """Estimate the tokens of ``text``."""
    return size_of(text).tokens


def count_units(text: str) -> int:
    """Count UTF-16 code units, by which agents measure what they are handed."""
    return len(text) if text.isascii() else len(text) + len(_ASTRAL.findall(text))
