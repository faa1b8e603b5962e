"""What an action writes and runs, as far as it is new: names in code, libraries, commands."""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

from ...config.patterns import regex

_COMMENT = regex(r"\s*(?:#(?!\[|include)|//|\*|--\s|/\*|\"\"\"|<!--)")
_COMMENT_BEHIND = regex(r"\s(?://|#)\s.*")
_IMPORTS = regex(
    r"^\s*(?:import|from)\s+([A-Za-z_][\w-]*)|\bfrom\s+['\"](@?[\w-]+(?:/[\w.-]+)?)"
    r"|^\s*import\s+['\"](@?[\w-]+(?:/[\w.-]+)?)|\brequire\(\s*['\"](@?[\w-]+(?:/[\w.-]+)?)"
    r"|^\s*use\s+([A-Za-z_]\w*)|^\s*(?:import\s+)?(?:\w+\s+)?\"(?:[\w.-]+/)+([\w-]+)\"\s*$"
    r"|^\s*(?:using|alias)\s+([A-Za-z_]\w*)",
    re.MULTILINE,
)
_INSTALL = regex(
    r"(?:\w+=\S+ +)*(?:sudo +)?(?:npm|pnpm|yarn|bun|pip3?|uv|poetry|pipenv|cargo|go|gem|bundle|mix"
    r"|composer|flutter|dart|dotnet|expo|npx|conda|brew)\s(?:.*\s)?(?:add|install|i|get|require)\s"
    r"(?P<packages>.*)"
)
_MANIFEST = regex(
    r"(?:^|/)(?:package\.json|pyproject\.toml|Cargo\.toml|Pipfile|pubspec\.yaml|requirements[\w/.-]*\.txt"
    r"|composer\.json|go\.mod|Gemfile)\Z"
)
_REQUIRED = regex(
    r"(?<![\w./-])[\"']?(@?[A-Za-z][\w./-]++)[\"']?(?:\[[\w,]*\])?[ ]*(?:[:=<>~^!]|,? v?\d)"
)
_VERSION = regex(r"(?<=.)[@=<>~!\[].*")
IDENTIFIER = regex(r"[A-Za-z_]\w*(?:-\w+)*")
"""A name in code, or in the name of an option."""


_WORD = regex(r"[a-z]{3,}")
FILLER = frozenset(
    "push merge commit deploy release run skip forget start stop build ship touch edit change"
    " the any all this that its are for from into new our not never use using with and you can"
    " don they them there here must should have has was were will only always instead but".split()
)
"""Words that say nothing, or name what is done rather than what is used."""

_STEM = 5


class Written(Struct, frozen=True, dict=True):
    """What an action writes and runs, as far as it is new.

    ``added`` and ``removed`` are lines without comments, ``commands`` those that change something,
    ``said`` is all that it says of itself, and ``path`` its file.
    """

    path: str
    added: str
    removed: str
    commands: tuple[str, ...]
    said: str

    def identifiers(self) -> set[str]:
        """Those that are new, folded."""
        new = set(IDENTIFIER.findall(self.added)) - set(IDENTIFIER.findall(self.removed))
        ran = IDENTIFIER.findall("\n".join(self.commands))
        return {name.casefold() for name in new.union(ran)}

    @cached_property
    def stems(self) -> frozenset[str]:
        """The beginnings of the words of ``said``."""
        return stems(self.said)

    @cached_property
    def brought_in(self) -> frozenset[str]:
        """What is imported, installed or run, and was not before, folded."""
        imported = _imported(self.added) - _imported(self.removed)
        if _MANIFEST.search(self.path):
            imported |= set(_REQUIRED.findall(self.added)) - set(_REQUIRED.findall(self.removed))
        installed = (
            _VERSION.sub("", word.strip("'\""))
            for command in self.commands
            if (install := _INSTALL.match(command))
            for word in install["packages"].split()
            if not word.startswith("-")
        )
        programs = (command.partition(" ")[0] for command in self.commands)
        return frozenset(name.casefold() for name in (*imported, *installed, *programs))


def _imported(code: str) -> set[str]:
    return {name for groups in _IMPORTS.findall(code) for name in groups if name}


def without_comments(lines: tuple[str, ...]) -> str:
    """The ``lines`` of code as one text; what only explains them is left out."""
    return "\n".join(_COMMENT_BEHIND.sub("", line) for line in lines if not _COMMENT.match(line))


def stems(text: str) -> frozenset[str]:
    """The beginnings of the words of ``text`` that say something."""
    words = _WORD.findall(text.casefold())
    return frozenset(word[:_STEM] for word in words if word not in FILLER)
