"""Fields of work and technologies: which a text is about, under one name each.

"OAuth", "login" and "JWT" are all authentication; "Next.js 14", "nextjs" and "next.js" are one
technology. The tables stand in ``domains.toml``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

from msgspec import Struct

from ..text.lexicon import load_lexicon
from .words import STOP_WORDS, words

FILE = Path(__file__).with_name("domains.toml")


class Domains(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: technologies by name, other spellings of them, and the words of each field."""

    technologies: frozenset[str]
    spellings: dict[str, str]
    fields: dict[str, tuple[str, ...]]


_LEXICON = load_lexicon(FILE, Domains)
TECHNOLOGIES = _LEXICON.technologies
_DOMAIN_OF: dict[str, tuple[str, ...]] = {}
for _name, _listed in _LEXICON.fields.items():
    for _word in _listed:
        _DOMAIN_OF[_word] = (*_DOMAIN_OF.get(_word, ()), _name)

_VERSION = re.compile(r"[@v]\d[\w.]{0,20}$|\s.*", re.DOTALL)
_PLURAL = re.compile(r"(?<=[a-z]{3}[^sijou])s$")
_NO_PLURALS = frozenset(
    "postgres kubernetes rails pandas keras windows jenkins transformers https always".split()
)
_MARKS = re.compile(r"[\s._-]+")


def domains_of(names: Iterable[str]) -> tuple[str, ...]:
    """The fields that lower-case ``names`` belong to, each once, those named most often first."""
    known = map(_DOMAIN_OF.__getitem__, filter(_DOMAIN_OF.__contains__, names))
    return tuple(domain for domain, _ in Counter(chain.from_iterable(known)).most_common())


def technology(name: str) -> str:
    """One spelling for a technology: "Next.js 14" and "nextjs" are both ``nextjs``."""
    plain = _MARKS.sub("", _VERSION.sub("", name.strip().lower()))
    return _LEXICON.spellings.get(plain, plain)


def words_of(text: str) -> list[str]:
    """The words of ``text`` that say something, lower-cased, plurals as singulars, in order."""
    said = (word for word in words(text) if word not in STOP_WORDS and len(word) > 1)
    return [word if word in _NO_PLURALS else _PLURAL.sub("", word) for word in said]
