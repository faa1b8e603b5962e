"""Reads a lexicon: words and phrases in a TOML file that lies beside the module that uses it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from msgspec import ValidationError, convert

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
