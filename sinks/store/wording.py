"""When two texts are the same statement, however they were typed."""

from __future__ import annotations

import re
import unicodedata

from ...config.patterns import regex

# What a reader cannot see: controls, soft hyphens, joiners, bidi marks, variation selectors, tags.
_HIDDEN = regex(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]+"
)
_TYPOGRAPHY = str.maketrans(
    dict.fromkeys("‘’‚‛´", "'")
    | dict.fromkeys("“”„‟«»‹›", '"')
    | dict.fromkeys("‐‒–−", "-")
    | dict.fromkeys("—―", " ")
    | dict.fromkeys("。、·", ".")
)
_LINK = regex(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)")
_EMPHASIS = regex(r"`+|\*{2,}|~{2,}")
_LINE_START = regex(r"^[ \t]*+(?:(?:[#>+*•-]++|\d{1,3}[.)])[ \t]++)+", re.MULTILINE)
# A comma between two digits is part of a number.
_COMMA = regex(r"(?<!\d)[,;]|[,;](?!\d)")
_OPENING = "\"'*_~()[]{}¿¡"
_CLOSING = _OPENING + ".:!?"


def wording_of(text: str) -> str:
    """``text`` as it is compared: equal for texts that differ in nothing but their form.

    Case, white space, the Unicode form of characters, what cannot be seen, Markdown's emphasis,
    links, headings and list marks, quotation marks and the punctuation around words make no
    difference. Words, their order, digits and signs such as ``+``, ``#``, ``=`` and a leading
    ``!``, ``.`` or ``-`` do. A text of nothing but punctuation stays as it is. Takes 10 µs for a
    sentence, and time linear in ``text``.
    """
    plain = text
    if "](" in plain:
        plain = _LINK.sub(r"\1", plain)
    plain = _folded(plain)
    if "`" in plain or "**" in plain or "~~" in plain:
        plain = _EMPHASIS.sub("", plain)
    if "\n" in plain or not plain[:1].isalpha():
        plain = _LINE_START.sub("", plain)
    if "," in plain or ";" in plain:
        plain = _COMMA.sub(" ", plain)
    said = [word if word.isalnum() else _bare(word) for word in plain.split()]
    return " ".join(filter(None, said)) or " ".join(text.split())


def _bare(word: str) -> str:
    """``word`` without the punctuation around it; "" for a dash."""
    bare = word.lstrip(_OPENING).rstrip(_CLOSING)
    return bare if bare.strip("-") else ""


def _folded(text: str) -> str:
    """``text`` in one case and one Unicode form, without what cannot be seen."""
    if text.isascii():
        return (text if text.isprintable() else _HIDDEN.sub("", text)).lower()
    folded = unicodedata.normalize("NFKC", _HIDDEN.sub("", text)).casefold()
    return unicodedata.normalize("NFKC", folded).translate(_TYPOGRAPHY)
