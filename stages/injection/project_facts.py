"""Answers what a prompt asks about the project itself from what the project's own files say.

Whoever can write a file of the project can write these facts, so they are quoted as data: short,
harmless, with the file that they come from. What is too long to be quoted whole is left out, since
half a command is another command.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from zlib import crc32

from msgspec import Struct

from ...bus.prompts import ProjectAnswer, ProjectFacts
from ..language.project_question import BUILD, LINT, MANAGER, QUIRKS, STACK, START, TEST
from ..text.envelope import neutralise, quote_facts
from ..text.unicode import Size, one_line, size_of

MAX_TOKENS = 80
"""Of all the facts that one prompt is told."""

_MAX_FACT_CHARS = 160
_MAX_FILE_CHARS = 80
_MOST_QUIRKS = 4
_MOST_QUIRKS_BESIDE = 1
_MOST_FILES = 2
_LABELS = {
    TEST: "test command",
    BUILD: "build command",
    LINT: "lint command",
    START: "command that starts it",
    STACK: "stack",
    MANAGER: "package manager",
    QUIRKS: "quirk",
}
# A quirk that speaks of what is asked for is told beside it.
_SPOKEN_OF = {TEST: "test", BUILD: "build", LINT: "lint", START: "start", MANAGER: "package"}


class Told(Struct, frozen=True):
    """The ``lines`` for the envelope, what they add to it, and what became of each fact.

    ``keys`` are what is noted as shown.
    """

    lines: tuple[str, ...] = ()
    answers: tuple[ProjectAnswer, ...] = ()
    keys: frozenset[tuple[str, int]] = frozenset()

    @property
    def size(self) -> Size:
        return size_of("".join(f"\n{line}" for line in self.lines))

    @property
    def only_repeats(self) -> bool:
        """Whether nothing is told because the session knows it already."""
        return not self.lines and any(one.outcome == "already_shown" for one in self.answers)


def tell_facts(
    asked: Sequence[str],
    facts: ProjectFacts,
    *,
    shown: Collection[tuple[str, int]],
    max_tokens: int,
    clean: Callable[[str], str] = str,
) -> Told:
    """What the files say of each fact in ``asked``, within ``max_tokens`` and ``MAX_TOKENS``.

    ``shown`` has the keys of what this session has seen; a fact that changed since is new.
    ``clean`` redacts.
    """
    told: list[str] = []
    answers: list[ProjectAnswer] = []
    keys: set[tuple[str, int]] = set()
    for fact in asked:
        lines = list(_lines(fact, facts, clean))
        key = (f"project {fact}", crc32("\n".join(lines).encode("utf-8", "replace")))
        fitting = _fitting(told, lines, min(max_tokens, MAX_TOKENS))
        if not lines:
            answers.append(ProjectAnswer(fact=fact, outcome="unknown"))
        elif key in shown:
            answers.append(ProjectAnswer(fact=fact, outcome="already_shown"))
        elif not fitting:
            answers.append(ProjectAnswer(fact=fact, outcome="no_room"))
        else:
            told += fitting
            keys.add(key)
            answers.append(ProjectAnswer(fact=fact, outcome="shown", source=_source(fact, facts)))
    return Told(quote_facts(told), tuple(answers), frozenset(keys))


def _fitting(told: Sequence[str], lines: Sequence[str], max_tokens: int) -> list[str]:
    """As many of ``lines``, from the first on, as fit beside what is ``told``."""
    fitting = list(lines)
    while fitting and Told(quote_facts([*told, *fitting])).size.tokens > max_tokens:
        fitting.pop()
    return fitting


def _lines(fact: str, facts: ProjectFacts, clean: Callable[[str], str]) -> Iterator[str]:
    """What is said of ``fact``, what it says itself first; nothing where that is unknown."""
    if fact == QUIRKS:
        yield from _quirks(facts, clean, "", _MOST_QUIRKS)
        return
    value = getattr(facts, fact)
    said = _joined(value, clean) if isinstance(value, tuple) else _fit(value, clean)
    if said:
        source = _source(fact, facts)
        yield f"{_LABELS[fact]}: {said}" + (f" ({source})" if source else "")
        if subject := _SPOKEN_OF.get(fact):
            yield from _quirks(facts, clean, subject, _MOST_QUIRKS_BESIDE)


def _quirks(
    facts: ProjectFacts, clean: Callable[[str], str], subject: str, most: int
) -> Iterator[str]:
    """The first ``most`` quirks that speak of ``subject``."""
    fitting = (_fit(quirk, clean) for quirk in facts.quirks if subject in quirk.lower())
    source = _source(QUIRKS, facts)
    for quirk in [one for one in fitting if one][:most]:
        yield f"{_LABELS[QUIRKS]}: {quirk}" + (f" ({source})" if source else "")


def _fit(value: str, clean: Callable[[str], str]) -> str:
    """``value`` as a harmless line, or "" where it is too long for one."""
    if len(value) > _MAX_FACT_CHARS:
        return ""
    return one_line(neutralise(clean(value)))


def _joined(values: Sequence[str], clean: Callable[[str], str]) -> str:
    """As many of ``values``, from the first on, as make a short line."""
    said = ""
    for value in values:
        more = ", ".join(filter(None, (said, _fit(value, clean))))
        if len(more) > _MAX_FACT_CHARS:
            break
        said = more
    return said


def _source(fact: str, facts: ProjectFacts) -> str:
    """The files that ``fact`` comes from, as a harmless line."""
    files = [file for name, file in facts.sources if name == fact][:_MOST_FILES]
    plain = one_line(neutralise(", ".join(files)))
    return plain if len(plain) <= _MAX_FILE_CHARS else ""
