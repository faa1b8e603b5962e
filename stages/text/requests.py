"""A request in plain words to keep something, at the beginning of a prompt: "Remember that …"."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from .lexicons import load_wordings

_FORMS = load_wordings(Path(__file__).with_name("requests.toml"))["requests"].forms
_FEWEST_WORDS = 3
_FEWEST_CHARS_UNSPACED = 6
_MOST_CHARS = 600


class Request(NamedTuple):
    """What is to be kept, and what else the line says behind it."""

    what: str
    rest: str


def read_request(text: str) -> Request | None:
    """What the first line of the prompt ``text`` asks to keep, or None.

    After "remember that", and where the prompt goes on below, it is the first sentence alone, as an
    order may follow. A question asks for nothing of the kind, and neither does "remember to run the
    tests": that is an order.
    """
    line, _, below = text.partition("\n")
    found = _FORMS["request"].match(line[:_MOST_CHARS])
    if found is None or len(line) > _MOST_CHARS or _FORMS["asks"].search(found["what"]):
        return None
    what, rest = found["what"], ""
    end = _FORMS["sentence_end"].search(what)
    if end and (below.strip() or found["that"]):
        what, rest = what[: end.start()], what[end.end() :]
    return Request(what.strip(), rest) if says_enough(what) else None


def says_enough(what: str) -> bool:
    """Whether ``what`` is long enough to be a statement rather than a name."""
    return len(what.split()) >= _FEWEST_WORDS or (
        not what.isascii() and len(what) >= _FEWEST_CHARS_UNSPACED
    )
