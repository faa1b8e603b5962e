"""Words as data: the files beside the stages that hold what people write, and how they are read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from msgspec import Struct, ValidationError, convert

from ...config.patterns import regex

T = TypeVar("T")


class BadLexicon(ValueError):
    """A file of words cannot be used; the message names the file and what is wrong with it."""

    def __init__(self, file: Path, why: str) -> None:
        super().__init__(f"the lexicon {file.name} cannot be used: {why}")


def load_lexicon(file: Path, kind: type[T]) -> T:
    """What is in ``file``, as a ``kind``. Raises ``BadLexicon``, or ``OSError``."""
    try:
        return convert(tomllib.loads(file.read_text("utf-8")), kind)
    except (tomllib.TOMLDecodeError, ValidationError, UnicodeDecodeError) as error:
        raise BadLexicon(file, str(error)) from None


class Wording(NamedTuple):
    """What a section of a file of forms has, by name: patterns, and lists of words."""

    forms: dict[str, re.Pattern[str]]
    words: dict[str, frozenset[str]]


class _Section(Struct, forbid_unknown_fields=True):
    parts: dict[str, str] = {}
    forms: dict[str, str] = {}
    words: dict[str, str] = {}


_PART = regex(r"<([A-Z_]{2,})>")


@cache
def load_wordings(*files: Path) -> dict[str, Wording]:
    """The sections of all ``files``, but for "shared", the parts of which all of them may use.

    ``<NAME>`` stands for the part called so, and the ends of lines do not count. Raises
    ``BadLexicon``, or ``OSError``.
    """
    loaded = [load_lexicon(file, dict[str, _Section]) for file in files]
    shared: dict[str, str] = {}
    for sections in loaded:
        shared |= sections.pop("shared", _Section()).parts
    wordings: dict[str, Wording] = {}
    for file, sections in zip(files, loaded, strict=True):
        if twice := wordings.keys() & sections:
            raise BadLexicon(file, f"another file has {', '.join(sorted(twice))} as well")
        try:
            wordings |= {name: _wording(one, shared | one.parts) for name, one in sections.items()}
        except KeyError as error:
            raise BadLexicon(file, f"there is no part {error}") from None
    return wordings


def _wording(section: _Section, parts: Mapping[str, str]) -> Wording:
    def whole(text: str) -> str:
        return _PART.sub(lambda part: whole(parts[part[1]]), text.replace("\n", ""))

    forms = {name: regex(whole(text)) for name, text in section.forms.items()}
    return Wording(forms, {name: frozenset(text.split()) for name, text in section.words.items()})
