"""An action, held against the patterns that whoever keeps a memory gave with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import combinations

from msgspec import Struct

from ...bus.triggers import Trigger
from ..actions.written import Written
from ..language.words import words_of
from ..rules.denied_commands import TRIES
from ..rules.denied_files import PathPattern

_TOKEN = re.compile(r"\w+")
_NOWHERE = "/dev/null"
_ANY_TEXT = "text *"
# Of a longer command only the beginning is held against the words of a trigger.
_MOST_WORDS = 24


class LineText(Struct, frozen=True, dict=True):
    """A text of whole words, ``*`` standing for anything in its line, also for a part of a word."""

    text: str

    @cached_property
    def _parts(self) -> tuple[re.Pattern[str], ...]:
        parts = self.text.split("*")
        last = len(parts) - 1
        return tuple(
            _whole_words(part, begins=not at or part[0] == " ", ends=at == last or part[-1] == " ")
            for at, part in enumerate(parts)
            if part.strip()
        )

    def is_in(self, text: str) -> bool:
        """Whether a line of ``text`` has it. Takes time linear in the length of ``text``."""
        return any(map(self._is_in_line, text.split("\n")))

    def _is_in_line(self, line: str) -> bool:
        at = 0
        for part in self._parts:
            found = part.search(line, at)
            if found is None:
                return False
            at = found.end()
        return True

    @property
    def key(self) -> str:
        """The longest word that stands whole in each text that has this; empty for none."""
        whole = (
            word[0]
            for word in _TOKEN.finditer(self.text)
            if "*" not in {self.text[word.start() - 1 : word.start()], self.text[word.end() :][:1]}
        )
        return max(whole, key=len, default="").casefold()


def _whole_words(part: str, *, begins: bool, ends: bool) -> re.Pattern[str]:
    """``part``, with a word at its beginning and its end where it ``begins`` and ``ends`` one."""
    part = part.strip()
    before = r"(?<!\w)" if begins and _TOKEN.match(part) else ""
    behind = r"(?!\w)" if ends and _TOKEN.match(part[-1:]) else ""
    return re.compile(before + re.escape(part) + behind)


class TriggerForm(Struct, frozen=True, dict=True):
    """A trigger, read once."""

    words: tuple[str, ...]
    text: LineText | None
    files: PathPattern | None
    within: PathPattern | None
    unless: tuple[LineText, ...]

    @property
    def key(self) -> str:
        """What each action has that it is met by; see ``trigger_keys``."""
        if self.words:
            plain = [word for word in self.words if "*" not in word][:2]
            return f"words {' '.join(plain)}".rstrip()
        if self.text is not None:
            return f"text {self.text.key or '*'}"
        return f"file {self.files.key}" if self.files is not None and self.files.key else "file *"

    def is_run_by(self, command: str, said: str) -> bool:
        """Whether ``command``, in its plain form, is such a one; ``said`` is all that is run."""
        if not self.words or TRIES.search(command):
            return False
        left = iter(command.split())
        in_order = all(any(_is_like(word, wanted) for word in left) for wanted in self.words)
        return in_order and not self._is_spared(said)

    def is_written_in(self, code: Written) -> bool:
        """Whether ``code`` adds such a text."""
        if self.text is None or not self.text.is_in(code.added):
            return False
        here = self.within is None or self.within.holds(code.path)
        return here and not self._is_spared(f"{code.path}\n{code.added}")

    def is_change_of(self, paths: Iterable[str], said: str) -> bool:
        """Whether one of ``paths`` is such a file; ``said`` is what is changed or run."""
        if self.files is None or not any(map(self.files.holds, paths)):
            return False
        return not self._is_spared(said)

    def _is_spared(self, said: str) -> bool:
        plain = said.replace(_NOWHERE, "")
        return any(text.is_in(plain) for text in self.unless)


def _is_like(word: str, wanted: str) -> bool:
    """Whether ``word`` is ``wanted``, in which ``*`` is any part of a word."""
    first, *parts = wanted.split("*")
    word = word.strip("\"'")
    if not parts:
        return word == first
    *middle, last = parts
    at = len(first)
    for part in middle:
        at = word.find(part, at) + len(part) if part in word[at:] else len(word) + 1
    return word.startswith(first) and word.endswith(last) and at <= len(word) - len(last)


@lru_cache(maxsize=2048)
def read_trigger(trigger: Trigger) -> TriggerForm:
    """``trigger``, prepared to be held against actions."""
    return TriggerForm(
        words=tuple(trigger.run.split()),
        text=LineText(trigger.write) if trigger.write else None,
        files=_pattern(trigger.edit),
        within=_pattern(trigger.within),
        unless=tuple(map(LineText, trigger.unless)),
    )


def _pattern(glob: str) -> PathPattern | None:
    # There ** is any text, so the slash after it is in it.
    path = glob.removeprefix("./").lstrip("/").replace("/**/", "/**").removeprefix("**/")
    return PathPattern(path, existing=False) if path else None


def trigger_keys(
    commands: Iterable[str], paths: Iterable[str], codes: Iterable[Written]
) -> Iterator[str]:
    """The keys of triggers that an action may meet which runs, changes and writes these.

    A key is shared by more than what is met: what it finds is looked at again.
    """
    yield "words"
    for command in commands:
        words = [word.strip("\"'") for word in command.split()[:_MOST_WORDS]]
        yield from (f"words {word}" for word in words)
        yield from (f"words {one} {other}" for one, other in combinations(words, 2))
    if any(paths):
        yield "file *"
    added = "\n".join(code.added for code in codes)
    if added.strip():
        yield _ANY_TEXT
    yield from {f"text {token.casefold()}" for token in _TOKEN.findall(added)}


ORDERED = "order"
"""The key of each memory that says for which orders it is needed."""


def order_keys(order: str) -> tuple[str, ...]:
    """The keys of an order and of what is needed for such a one: a key a word that says much."""
    return tuple(dict.fromkeys(f"{ORDERED} {word}" for word in words_of(order)))
