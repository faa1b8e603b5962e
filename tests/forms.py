"""One statement typed in many ways, and statements to be forgotten."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

_WORDS = (
    "parser crawler sitemap invoice ledger auditor webhook broker queue tenant billing export "
    "cursor replica snapshot migration schema fixture printer label template session token "
    "password gateway firewall proxy container image registry scheduler worker retry budget "
    "tracer metric alert dashboard handler router cookie locale currency rounding calendar "
    "holiday shipment courier parcel warehouse barcode scanner receipt refund voucher loyalty"
).split()
_SENTENCES = (
    "Always rebuild the {0} before the {1} is deployed, otherwise the {2} breaks.",
    "Never touch the {0} by hand: the {1} (and its {2}) is written at night.",
    "We chose the {0} over the {1}, since the {2} can't be reached from Café Zürich's office.",
    "The {0} of staging runs on local time; the {1} and the {2} run on UTC.",
)


def statements(count: int, first: int = 0) -> list[str]:
    """``count`` statements that have little in common."""
    size = len(_WORDS)
    return [
        _SENTENCES[number % len(_SENTENCES)].format(
            _WORDS[number % size], _WORDS[(number * 7 + 3) % size], _WORDS[(number * 11 + 5) % size]
        )
        for number in range(first, first + count)
    ]


FORMS: dict[str, Callable[[str], str]] = {
    "as it was": str,
    "in capitals": str.upper,
    "in bold": lambda text: f"**{text}**",
    "with words in italics and code": lambda text: " ".join(
        f"_{word}_" if at % 4 == 1 else f"`{word}`" if at % 4 == 3 else word
        for at, word in enumerate(text.split())
    ),
    "without its end": lambda text: text.rstrip(".").replace(",", ""),
    "exclaimed": lambda text: text.rstrip(".") + "!!",
    "quoted": lambda text: f"“{text}”",
    "spaced": lambda text: text.replace(" ", "  ").replace("  the", "\u00a0the"),
    "decomposed": lambda text: unicodedata.normalize("NFD", text),
    "typeset": lambda text: text.replace("'", "’").replace("o", "o\u200b", 1),
    "full width": lambda text: "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" and char.isalnum() else char for char in text
    ),
}
