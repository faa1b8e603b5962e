"""What every piece of code of a kind needs, by what a memory says.

"Each scheduled function goes through runOnce()": a kind is told by how it looks in code.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ..actions.written import Written, stems
from ..rules.claims import READ_CHARS, RULE_FORMS
from .needed_names import NeededName, signs_in

_KINDS, _CALLED = RULE_FORMS["needed_kinds"]
_FORMS = RULE_FORMS["kinds_need"].forms
_SAID_OF_ALL = stems(
    "something anything everything data side effect effects creates create changes writes user"
)


class NeededOfKind(Struct, frozen=True):
    """What code of a ``kind`` needs, where one of the words ``about`` is there, if any."""

    kind: str
    needed: NeededName
    about: frozenset[str]

    @property
    def key(self) -> str:
        return f"kind {self.kind}"

    def is_broken_by(self, written: Written) -> bool:
        """Whether code of the kind is new, without what it needs."""
        if self.about and self.about.isdisjoint(written.stems):
            return False
        return self.kind in kinds_in(written) and self.needed.is_missing_in(written)


def kinds_in(written: Written) -> Iterator[str]:
    """The kinds of code that are new."""
    for kind, pattern in _KINDS.items():
        if pattern.search(written.added) and not pattern.search(written.removed):
            yield kind


def needed_of_kinds(text: str) -> Iterator[NeededOfKind]:
    """What the memory ``text`` says that all code of a kind needs."""
    text = text[:READ_CHARS]
    for found in _FORMS["each"].finditer(text):
        signs = frozenset(signs_in(found["names"]))
        about = stems(found["which"] or "") - _SAID_OF_ALL
        if found["which"] and not about:
            continue
        for kind in _kinds_of(found["kind"]):
            if signs:
                yield NeededOfKind(kind, NeededName(kind, "kind", signs), about)


def _kinds_of(said: str) -> Iterator[str]:
    words = [word.rstrip("s") for word in _FORMS["word"].findall(said.casefold())]
    yield from (kind for kind, called in _CALLED.items() if not called.isdisjoint(words))
