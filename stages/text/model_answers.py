"""Reads what a language model answered: JSON, with whatever it wrote around that."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

_DECODER = json.JSONDecoder()
# So many opening braces of an answer are tried; models put a sentence before it, or an example.
_MOST_OBJECTS = 4


def objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The first JSON objects in ``text``, whatever stands around them."""
    starts = (match.start() for match in re.finditer(r"\{", text))
    for start in islice(starts, _MOST_OBJECTS):
        try:
            yield _DECODER.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
