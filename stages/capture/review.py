"""Finds statements worth keeping in a session, and which of them are known already.

Only what the user and the model wrote themselves is read: never what a tool returned, a file held,
a hook added or subcog injected. So a file cannot plant a memory.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...bus.sessions import Message
from ...bus.values import AUTO_CAPTURED, Hit, Noted, Scope
from ...config.ids import ulid_of
from ...config.patterns import regex
from ..language.topics import searched_words
from ..language.words import is_negation, words
from ..statements.comparison import contradicts
from ..text.markup import is_machine, own_text
from ..text.unicode import fenced, one_line
from . import task_record as task
from .closings import MOST_SAID, Closing, find_closings
from .retractions import KINDS, find_changes, says_more, taken_back, tells_change
from .statement_classifier import find_all
from .statements import statements as sentences_of
from .task_record import MAX_TEXT_CHARS, within

_READ_CHARS = 10_000
# Of what a search finds: this much of the words, or of the meaning, and it says nothing new.
_SAME_WORDS = 0.88
_SAME_MEANING = 0.9
# Within one look, where both are one conversation's, less of it is enough.
_SAID_AGAIN = 0.75
# Such a word can turn a statement into its opposite, and the rest of its words stay the same.
_CHANGES = regex(
    r"\b(?:rather than|switch(?:ed)?|replac\w+|chang\w+|drop(?:ped)?|revert\w*|moved?|anymore"
    r"|migrat\w+)\b",
    re.IGNORECASE,
)
# What a resolution and its blocker share at least, and how far it must be ahead of the next one.
_SURELY_ABOUT = 0.9
_SHARED_WORDS = 0.5
_AHEAD = 0.1


class Statement(Struct, frozen=True, kw_only=True):
    """What somebody noted, when, and the file that was changed last before (from ``root``)."""

    note: Noted
    role: str
    said_at_ms: int = 0
    file: str = ""

    @property
    def key(self) -> str:
        """Equal for statements that differ in case and white space alone."""
        return one_line(self.note.text).casefold()

    @property
    def is_labelled(self) -> bool:
        """Whether the agent wrote it in order to have it kept."""
        return self.note.earned and self.role == "assistant"


def find_statements(
    messages: Iterable[Message], *, root: str = "", agent: bool = False
) -> tuple[Statement, ...]:
    """The statements in ``messages``, in order; those that are ``earned`` may become memories.

    ``agent``: the messages are a sub-agent's, where the "user" is another model and is not read.
    Elsewhere the messages of sub-agents are skipped.
    """
    found: list[Statement] = []
    file = ""
    for message in messages:
        for call in message.calls:
            file = next((within(path, root) for path in reversed(call.paths)), file)
        if message.aside and not agent:
            continue
        if message.text and not (agent and message.role == "user"):
            found += [
                Statement(note=note, role=message.role, said_at_ms=message.said_at_ms, file=file)
                for part in _parts(message)
                for note in _noted(part, message.role)
            ]
    return tuple(found)


def _noted(part: str, role: str) -> list[Noted]:
    """What is noteworthy in ``part``, and what the user says to have changed beside that.

    A sentence that is noteworthy and no more is read as the change that it tells.
    """
    noted = list(find_all(part, role=role))
    for told in find_changes(part) if role == "user" else ():
        over = [one for one in noted if one.start < told.end and told.start < one.end]
        if all(not one.earned and len(sentences_of(one.text)) == 1 for one in over):
            noted = [*(one for one in noted if one not in over), told]
    return sorted(noted, key=lambda one: one.start)


def _parts(message: Message) -> tuple[str, ...]:
    """What is the speaker's own in ``message``; of a long one the beginning.

    Of a long answer the end as well. A prompt becomes long by what is pasted, and at its end
    nothing tells any more whose words these are.
    """
    if len(message.text) > MAX_TEXT_CHARS:
        return ()
    text = own_text(message.text)
    if is_machine(text):
        return ()
    if len(text) <= 2 * _READ_CHARS or message.role == "user":
        return (text[: 2 * _READ_CHARS],)
    return (text[:_READ_CHARS], _end(text))


def _end(text: str) -> str:
    """The end of ``text``, beginning outside of a code fence."""
    start = len(text) - _READ_CHARS
    lines = text.split("\n")
    at = 0
    for line, inside in zip(lines, fenced(lines), strict=True):
        if at >= start and not inside:
            return text[at:]
        at += len(line) + 1
    return ""


def choose(
    statements: Iterable[Statement], *, min_confidence: float, limit: int
) -> tuple[Statement, ...]:
    """The ``limit`` surest of ``statements`` from ``min_confidence`` (0–1) on, each once.

    Of equally sure ones the later; in the order in which they were said. What the agent says once
    more stays the user's own.
    """
    least = min_confidence * 100
    sure: dict[str, Statement] = {}
    for said in statements:
        if said.note.confidence_percent >= least:
            sure[said.key] = max(said, sure.get(said.key, said), key=_weight)
    ranked = sorted(
        enumerate(sure.values()), key=lambda pair: (pair[1].note.confidence_percent, pair[0])
    )
    return tuple(statement for _, statement in sorted(ranked[-limit:] if limit else ()))


def _weight(said: Statement) -> tuple[bool, bool]:
    """Of the same words those count that may become a memory, then the user's own."""
    return said.note.earned, said.role == "user"


def memory_id(statement: Statement, scope: Scope) -> str:
    """The id of what ``statement`` becomes in ``scope``: the same whenever it is read again."""
    identity = f"{scope} {statement.note.namespace} {statement.key}"
    return f"mem_{ulid_of(statement.said_at_ms, hashlib.sha256(identity.encode()).digest())}"


def tags_of(statement: Statement, hook: str) -> tuple[str, ...]:
    """How a captured statement is marked. A resolution is no blocker that is still open."""
    how = {"PreCompact": "pre-compact", "SubagentStop": "sub-agent"}.get(hook, "")
    solved = "resolved" if statement.note.kind == "resolution" else ""
    return tuple(tag for tag in (AUTO_CAPTURED, how, solved) if tag)


def is_known(text: str, hits: Iterable[Hit], *, strictly: bool = False) -> bool:
    """Whether ``text`` repeats one of ``hits``, with fewer or other words; ``strictly``: with none.

    The record of a task does not count: what was learned on the way is more than a part of it.
    """
    hits = [hit for hit in hits if hit.memory.namespace != "tasks"]
    hits = [hit for hit in hits if not contradicts(text, hit.memory.content)]
    if strictly or _may_change(text):
        return any(hit.vector >= _SAME_MEANING and hit.late >= _SAME_MEANING for hit in hits)
    return any(hit.late >= _SAME_WORDS or hit.vector >= _SAME_MEANING for hit in hits)


def _may_change(text: str) -> bool:
    """Whether ``text`` has a word that may turn an older statement into its opposite."""
    return _CHANGES.search(text) is not None or any(map(is_negation, words(text)))


def may_outdate(said: Statement) -> bool:
    """Whether the user says, in earnest and not of others, that something is otherwise now."""
    is_told = said.role == "user" and not (said.note.earned or said.note.doubted)
    return is_told and tells_change(said.note.text)


def repeats(text: str, others: Iterable[str]) -> bool:
    """Whether ``text`` says with hardly another word what one of ``others`` says."""
    if _may_change(text):
        return False
    said = searched_words(text)
    least = _SAID_AGAIN * len(said)
    return any(len(said & searched_words(other)) >= least for other in others)


def resolved(hits: Sequence[Hit]) -> Hit | None:
    """The blocker among ``hits`` (open ones, best first) that a resolution is about, if clear."""
    about = [hit for hit in hits if hit.relevance >= _SURELY_ABOUT and hit.late >= _SHARED_WORDS]
    if not about:
        return None
    best = max(about, key=lambda hit: hit.late)
    others = (hit.late for hit in about if hit is not best)
    return best if best.late >= max(others, default=0.0) + _AHEAD else None


_MAX_STATED = 32


class LastSaid(Struct, frozen=True):
    """What was stated last since the user's last message began, and whether that asked something.

    ``more``: it ordered something as well, or told of a fault.
    """

    stated: tuple[Statement, ...] = ()
    asked: bool = False
    more: bool = False

    @property
    def texts(self) -> list[str]:
        """What the user stated; what the agent labelled is the same, or stands for it."""
        return [one.note.text for one in self.stated]

    def with_those_of(self, message: Message, found: Sequence[Statement]) -> LastSaid:
        """The same with what ``message`` states, which is among ``found``."""
        if not message.said_at_ms:  # then it is not known who stated what
            return self
        new = _kept_of(message, found)
        stated = tuple(dict.fromkeys((*self.stated, *new)))
        return replace(self, stated=stated[-_MAX_STATED:])


def _kept_of(message: Message, found: Sequence[Statement]) -> tuple[Statement, ...]:
    """What ``message`` states, which is among ``found``, that may have been kept and taken back."""
    said = (message.role, message.said_at_ms)
    return tuple(
        one
        for one in found
        if (one.role, one.said_at_ms) == said
        and (one.note.kind in KINDS if one.note.earned else may_outdate(one))
    )


MAX_FOUND = 64
_BATCH_CHARS = 8_000


class SessionReader:
    """What was found so far in a slice, bounded. It only computes, so it may run in a thread.

    ``agent`` marks a sub-agent's messages: its actions count for the session's task, its words do
    not. ``work`` is the current task, ``finished`` are those that ended and are worth recording;
    ``closings`` are what the user says to be done; ``taken_back`` what they stated in the message
    before and want no more, and ``last`` what the next one may take back.
    """

    def __init__(
        self,
        *,
        session: str,
        root: str,
        agent: bool = False,
        work: task.Work | None = None,
        last: LastSaid | None = None,
        min_confidence: float = 0.0,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._session = session
        self._root = root
        self._agent = agent
        self._min_confidence = min_confidence
        self._clean = clean
        self.work = work
        self.finished: list[task.Work] = []
        self.found: tuple[Statement, ...] = ()
        self.closings: tuple[Closing, ...] = ()
        self.taken_back: tuple[Statement, ...] = ()
        self.last = last or LastSaid()

    def read(self, messages: Sequence[Message]) -> None:
        """Find what is worth keeping in ``messages``, and follow what is done."""
        found = find_statements(messages, root=self._root, agent=self._agent)
        if not self._agent:
            self._take_back(messages, found)
        found = tuple(one for one in (*self.found, *found) if one not in self.taken_back)
        self.found = choose(found, min_confidence=self._min_confidence, limit=MAX_FOUND)
        said = [] if self._agent else [one for one in messages if one.role == "user"]
        closings = (one for message in said if not message.aside for one in _closings(message))
        self.closings = (*self.closings, *closings)[-MOST_SAID:]
        for message in messages:
            self._follow(replace(message, aside=True) if self._agent else message)

    def _take_back(self, messages: Sequence[Message], found: Sequence[Statement]) -> None:
        """Note what each message of the user takes back of what was stated since the last one."""
        for message in messages:
            if message.aside or not message.text:
                continue
            if message.role == "user" and (text := "\n".join(_parts(message))):
                last = self.last
                gone = set(taken_back(text, last.texts, asked=last.asked, more=last.more))
                taken = (one for one in last.stated if one.note.text in gone)
                self.taken_back = (*self.taken_back, *taken)
                said = [one.note.text for one in _kept_of(message, found)]
                self.last = LastSaid(asked="?" in text, more=says_more(text, said))
            self.last = self.last.with_those_of(message, found)

    def _follow(self, message: Message) -> None:
        before = self.work
        self.work = task.follow(
            before, message, session=self._session, root=self._root, clean=self._clean
        )
        if before is not None and before is not self.work:
            before.ended = True
            if before.is_worth_recording:
                self.finished.append(before)


def _closings(message: Message) -> Iterator[Closing]:
    for part in _parts(message):
        for found in find_closings(part):
            yield found._replace(said_at_ms=message.said_at_ms)


def batches(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """``messages`` in parts of some milliseconds' work each."""
    start = chars = 0
    for at, message in enumerate(messages):
        chars += len(message.text)
        if chars >= _BATCH_CHARS:
            yield messages[start : at + 1]
            start, chars = at + 1, 0
    if start < len(messages):
        yield messages[start:]
