"""What became of the memories that a session was shown: used, quoted, objected to, heeded or not.

That is told by names. A name counts where the memory has it, and neither the user nor the agent had
used it in this session before the memory was shown. What a memory speaks against does not count:
doing that is no use of it. Whoever read a name elsewhere meanwhile is not told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Literal, NamedTuple

from ...bus.values import Action, Memory, UseKind
from ...config.patterns import regex
from ..actions.commands import Command, commands_run
from ..actions.failures import FailureRecord, Repetition, read_record, repetition
from ..language.words import fold, words_of
from ..rules.claims import claims_of, speaks_against, terms
from ..text.markup import own_text
from .names import MOST_NAMES, Name, ReadText, names_of

MOST_SHOWN = 64
"""So many memories of a session are followed, the latest."""

KNOWN_CHARS = 16_000
"""So much of what was said and done in a session is kept, to tell what was known before."""

_LONG_CHARS = 4_000
# A memory that names a few things must be met once; one of many names by more of them.
_FEW, _SOME = 3, 8
_CONTENT_CHARS = 2_000
_ANSWER_START, _ANSWER_END = 5_000, 3_000
_ID = regex(r"\bmem_[0-9a-z]{10,40}\b")
READ_CHARS = 600
"""An objection comes first. What comes after so much is about something else."""

_LEAST_SHARED = 2
_MEMORY_CHARS = 2_000
_OBJECTS = regex(
    r"\b(?:(?:that|this|it)(?:'s| is| was|'re| are)? (?:just |simply |completely |totally )?"
    r"(?:not (?:right|true|correct|how|the case|so|what we)|wrong|incorrect|outdated|obsolete|stale"
    r"|old|false|out of date|no longer)"
    r"|(?:outdated|obsolete|out of date|no longer (?:true|holds?|valid|the case|correct|applies))"
    r"|not any ?more|isn't true|isn't right"
    r"|we (?:don't|do not|no longer|never|stopped|quit|dropped|abandoned|replaced|got rid of"
    r"|moved (?:away|off|from)|switched|changed|migrated)"
    r"|(?:stop|don't|do not) (?:using|use|trust(?:ing)?|rely(?:ing)?)"
    r"|(?:forget|ignore) (?:that|this|the) (?:memory|note))\b"
    r"|\A(?:no|nope|wrong|incorrect|not true)\b[,.:!; –—-]+(?!(?:problem|idea|worries|rush|need)\b)"
    r".{0,80}\b(?:not|n't|never|no longer|instead|anymore|wrong|outdated)\b"
)
_OF_MEMORY = regex(r"\b(?:memory|memories|note|notes|subcog)\b")
_SENTENCES = regex(r"(?<=[.!?\n])\s+|\n")
_MOST_SENTENCES = 3
# To delete a memory, or to put another in its place, is no use of it.
_PUTS_AWAY = regex(r"\b(?:forget|supersede|expire|bury|update)\b")
_WORD = regex(r"[a-z]\w{3,}")


class Use(NamedTuple):
    """What became of a memory, and in a few words how that was seen."""

    memory_id: str
    kind: UseKind
    detail: str = ""


class _Followed:
    """A memory in the session's context, and what of it would show that it was used.

    ``known`` gives what the session knew before. It is called once, when there is something to
    compare: most memories are never compared with anything.
    """

    def __init__(self, memory: Memory, trace: str, turn: int, known: Callable[[], str]) -> None:
        self.id = memory.id
        self.trace = trace
        self.turn = turn
        self.content = memory.content[:_CONTENT_CHARS]
        self.record = read_record(memory)
        self.noted: set[str] = set()
        self.is_stuffed = False
        self._known = known

    @cached_property
    def names(self) -> list[Name]:
        """What it names that was not known before; of the record of a failure nothing."""
        named = () if self.record else _asserted(self.content)
        self.is_stuffed = len(named) > MOST_NAMES
        known = ReadText(self._known(), most=KNOWN_CHARS)
        return [name for name in named[:MOST_NAMES] if not known.knows(name)]

    @property
    def is_traceable(self) -> bool:
        """Whether its use could be told by more than its id."""
        return self.record is not None or len(self.names) >= self.least(is_long=False)

    def least(self, *, is_long: bool) -> int:
        """How many of its names have to be met at once."""
        count = len(self.names)
        least = 1 if count <= _FEW else 2 if count <= _SOME else 3
        return least + self.is_stuffed + is_long

    def met(self, read: ReadText) -> list[Name]:
        if self.words.isdisjoint(read.words):
            return []
        return [name for name in self.names if read.has(name)]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset() if self.record else ReadText(self.content).words


@lru_cache(maxsize=512)
def _asserted(content: str) -> tuple[Name, ...]:
    """What a memory names and does not speak against; the same ones are shown again and again."""
    names = names_of(content)
    if not speaks_against(content):
        return names
    claims = claims_of(content)
    for_it = claims.asked | claims.neutral | claims.before

    def counts(name: Name) -> bool:
        words = terms(name.text)
        return not (words and words <= claims.against and not words <= for_it)

    return tuple(filter(counts, names))


class Showings:
    """The memories that one session was shown. Each method returns what was found out, once each.

    ``trace`` is that of the hook: what it was answered with cannot have led to it.
    """

    def __init__(self) -> None:
        self._followed: dict[str, _Followed] = {}
        self._read: dict[str, None] = {}
        self._known = ""
        self._forgotten = 0
        self._turn = 0

    def __len__(self) -> int:
        return len(self._followed)

    def show(self, memories: Iterable[Memory], *, trace: str) -> list[Use]:
        """``memories`` went into the context, in answer to the hook with ``trace``."""
        known = partial(self._known_until, self._forgotten + len(self._known))
        shown, untraceable = [], []
        for memory in memories:
            before = self._followed.pop(memory.id, None)
            followed = _Followed(memory, trace, self._turn, known)
            if before is not None:
                followed.noted = before.noted
            self._followed[memory.id] = followed
            shown.append(Use(memory.id, "shown"))
            if not followed.is_traceable:
                detail = "it names nothing to look out for"
                untraceable.append(Use(memory.id, "untraceable", detail))
        while len(self._followed) > MOST_SHOWN:
            del self._followed[next(iter(self._followed))]
        return [*shown, *untraceable]

    # --- what the user says ----------------------------------------------------------------------

    def prompted(self, text: str) -> list[Use]:
        """The user wrote ``text``; it may object to what was shown since the last prompt."""
        uses = self._corrected(text)
        self._turn += 1
        self.learn(text)
        return uses

    def _corrected(self, prompt: str) -> list[Use]:
        fresh = [one for one in self._followed.values() if one.turn == self._turn]
        objection = objection_of(prompt) if fresh else ""
        if not objection:
            return []
        rated = [(speaks_of(objection, one.content), at, one) for at, one in enumerate(fresh)]
        most, _, best = max(rated)
        if most or (len(fresh) == 1 and is_about_memory(objection)):
            return self._note(best, "corrected", "the next prompt objects to it")
        return []

    # --- what the agent does ---------------------------------------------------------------------

    def proposed(self, action: Action) -> None:
        """The agent is about to do ``action``: what it names, it knows."""
        self.learn(action.text, *action.paths)

    def acted(self, action: Action, *, trace: str, unfinished: bool = False) -> list[Use]:
        """The agent did ``action``, and it went well."""
        uses: list[Use] = []
        if older := self._older(trace):
            uses += [*self._quoted(older, action.command), *_flat(self._taken_up(older, action))]
            uses += self._heeded(older, action) if not unfinished else ()
        self.learn(action.text, *action.paths)
        return uses

    def failed(self, action: Action, error: str, *, trace: str) -> list[Use]:
        """The agent did ``action``, and it failed with ``error``."""
        uses: list[Use] = []
        if older := self._older(trace):
            uses += [*self._quoted(older, action.command), *_flat(self._taken_up(older, action))]
            uses += self._failed_anyway(older, action, error)
        self.learn(action.text, *action.paths, error)
        return uses

    def answered(self, said: str) -> list[Use]:
        """The agent's last word of a turn was ``said``."""
        older, text = list(self._followed.values()), _both_ends(own_text(said))
        uses = self._quoted(older, text)
        read = ReadText(text)
        for one in older:
            met = one.met(read)
            if len(met) >= one.least(is_long=len(text) > _LONG_CHARS):
                uses += self._note(one, "taken_up", _told("the answer", met))
        self.learn(text)
        return uses

    def read(self, memory_id: str) -> list[Use]:
        """The agent asked for a memory by its id."""
        use = Use(memory_id, "quoted", "read by its id")
        if (one := self._followed.get(memory_id)) is not None:
            return self._note(one, use.kind, use.detail)
        if memory_id in self._read:
            return []
        self._read[memory_id] = None
        if len(self._read) > MOST_SHOWN:
            del self._read[next(iter(self._read))]
        return [use]

    # --- how it is told --------------------------------------------------------------------------

    def _older(self, trace: str) -> list[_Followed]:
        return [one for one in self._followed.values() if one.trace != trace]

    def _taken_up(self, older: Sequence[_Followed], action: Action) -> Iterator[list[Use]]:
        """What of ``older`` the action names: by its files and its command, or by what it writes.

        What stood there before was written without the memory.
        """
        pointed = ReadText("\n".join((*action.paths, action.command)))
        written, replaced = ReadText(action.written), ReadText(action.replaced)
        is_long = len(action.written) > _LONG_CHARS
        for one in older:
            if "taken_up" in one.noted:
                continue
            met = one.met(pointed)
            if len(met) >= one.least(is_long=False):
                yield self._note(one, "taken_up", _told("an action", met))
                continue
            met += [name for name in one.met(written) if name not in met]
            met = [name for name in met if not replaced.has(name)]
            if len(met) >= one.least(is_long=is_long):
                yield self._note(one, "taken_up", _told("what was written", met))

    def _quoted(self, older: Sequence[_Followed], text: str) -> list[Use]:
        if "mem_" not in text:
            return []
        said = [one for one in _SENTENCES.split(text) if not _PUTS_AWAY.search(one)]
        named = set(_ID.findall("\n".join(said)))
        found = (one for one in older if one.id in named)
        return list(_flat(self._note(one, "quoted", "named by its id") for one in found))

    def _heeded(self, older: Sequence[_Followed], action: Action) -> list[Use]:
        def is_heeded(record: FailureRecord, commands: Sequence[Command]) -> bool:
            return bool(record.works) and repetition(record, commands) is Repetition.MENDED

        return self._by_record(older, action, is_heeded, "heeded", "what works was run, and passed")

    def _failed_anyway(self, older: Sequence[_Followed], action: Action, error: str) -> list[Use]:
        folded = fold(error)

        def is_same(record: FailureRecord, commands: Sequence[Command]) -> bool:
            known = repetition(record, commands) is not Repetition.OTHER
            return known and any(_is_in(line, folded) for line in record.errors)

        return self._by_record(older, action, is_same, "failed_anyway", "it failed the same way")

    def _by_record(
        self,
        older: Sequence[_Followed],
        action: Action,
        holds: Callable[[FailureRecord, Sequence[Command]], bool],
        kind: Literal["heeded", "failed_anyway"],
        detail: str,
    ) -> list[Use]:
        records = [(one, one.record) for one in older if one.record is not None]
        commands = commands_run(action.command) if records and action.command else ()
        found = (one for one, record in records if commands and holds(record, commands))
        return list(_flat(self._note(one, kind, detail) for one in found))

    def _note(self, one: _Followed, kind: UseKind, detail: str) -> list[Use]:
        """It, the first time that it is found out."""
        if kind in one.noted:
            return []
        one.noted.add(kind)
        return [Use(one.id, kind, detail)]

    def learn(self, *texts: str) -> None:
        """Remember what was said, done or given as known: naming it is no use of a memory."""
        new = " ".join(filter(None, (fold(text[:KNOWN_CHARS]) for text in texts)))
        if new and new not in self._known:
            both = f"{self._known} {new}"
            self._known = both[-KNOWN_CHARS:]
            self._forgotten += len(both) - len(self._known)

    def _known_until(self, end: int) -> str:
        """What is left of the first ``end`` characters of all that was known."""
        return self._known[: max(0, end - self._forgotten)]


def _flat(found: Iterable[list[Use]]) -> Iterator[Use]:
    return (use for some in found for use in some)


def _told(where: str, met: Sequence[Name]) -> str:
    """How it was seen, by the kinds of what was met: the names are somebody's words."""
    kinds = ", ".join(dict.fromkeys(name.kind for name in met))
    return f"{where} has its {kinds}"


def _is_in(line: str, error: str) -> bool:
    """Whether the folded ``error`` has most words of the ``line`` that was kept of one."""
    words = set(_WORD.findall(fold(line)))
    return bool(words) and 2 * sum(word in error for word in words) > len(words)


def _both_ends(text: str) -> str:
    if len(text) <= _ANSWER_START + _ANSWER_END:
        return text
    return f"{text[:_ANSWER_START]}\n{text[-_ANSWER_END:]}"


def objection_of(prompt: str) -> str:
    """The sentences of ``prompt`` that object to something, folded; "" where none does."""
    begin = fold(prompt[:READ_CHARS]).strip()
    if "```" in begin or _OBJECTS.search(begin) is None:
        return ""
    first = _SENTENCES.split(begin)[:_MOST_SENTENCES]
    text = " ".join(first)
    return text if _OBJECTS.search(text) else ""


def speaks_of(objection: str, content: str) -> int:
    """How much of the memory ``content`` an objection names: 0 where it is about something else.

    Its names count twice; a single ordinary word is not enough.
    """
    read = ReadText(objection)
    named = sum(read.knows(name) for name in names_of(content[:_MEMORY_CHARS]))
    shared = len(set(words_of(objection)) & set(words_of(content[:_MEMORY_CHARS])))
    return 2 * named + shared if named or shared >= _LEAST_SHARED else 0


def is_about_memory(objection: str) -> bool:
    """Whether it says itself that a note of the memory is meant."""
    return _OF_MEMORY.search(objection) is not None
