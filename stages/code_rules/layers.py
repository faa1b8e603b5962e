"""The layers of a project's code, by what people and their folders and files call them."""

from __future__ import annotations

from collections.abc import Iterator

from ..rules.claims import RULE_FORMS
from ..rules.denied_files import PathPattern

_FORMS, _WORDS = RULE_FORMS["layers"]
LAYER = _FORMS["layer"]
"""A word for what lies in a layer: "handlers", "use cases"."""


def places_of_layers(said: str) -> Iterator[PathPattern]:
    """Where the layers lie that are ``said``: "services" in ``app/services`` and ``use_cases``."""
    named = {found[0].casefold().rstrip("s") for found in LAYER.finditer(said)}
    for words in _WORDS.values():
        if any(name.startswith(word) for name in named for word in words):
            yield from (PathPattern(f"*{word}*", existing=False) for word in sorted(words))
