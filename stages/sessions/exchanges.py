"""Follows a conversation: what the user said, and with what words the agent concluded.

An exchange begins with the user's words and ends with the last words of the agent before the user
speaks again, if only with what is not kept: a log that they paste, an image, what is private. What
the agent said on the way is not kept, nor what a tool returned, a file held or a hook added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from copy import copy

from msgspec import Struct

from ...bus.sessions import Message, Speaker
from ...config.ids import ulid_beside, ulid_of
from ...config.patterns import regex
from ..text.authorship import THEIRS, read_lines
from ..text.unicode import cut, fenced, is_quoted

MAX_USER_CHARS = 4_000
MAX_AGENT_CHARS = 3_000
"""Of a longer answer the beginning and, mostly, the end: that is where it is summed up."""

UNREAD = "…"
"""Stands for what somebody said, and what is not to be read: it is private, or too long."""

MAX_FILES = 8
_HEAD_SHARE = 0.35
_MAX_MESSAGE_CHARS = 200_000
_DATA_LINE_CHARS = 1_000
_WORD_CHARS = 15
# Fewer lines of this kind in a row may be the speaker's own.
_PASTED_RUN = 3
_BLANK_LINES = regex(r"\n\s*\n+")
_PASTED = regex(
    r"\s*(?:"
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b"
    r"|Traceback \(|File \".{1,400}\", line \d|at [\w.$<>]{1,200}\(|\.\.\. \d+ more|Caused by:"
    r"|\d{1,5} ?\| |@@ -|diff --git|index [0-9a-f]{6,}|(?:\+\+\+|---) [ab]/|[EF] {3}"
    r"|[{}\[\]<>]|[\w./-]{1,200}:\d{1,6}:|[=_*-]{8,}|FAILED |PASSED |\$ |#\d+ +0x"
    r")"
)


def _nothing(message: Message) -> bool:
    return False


class Utterance(Struct, frozen=True, kw_only=True):
    """What one side said. ``id`` is the same whenever the same transcript is read."""

    id: str
    speaker: Speaker
    text: str
    said_at_ms: int
    files: tuple[str, ...] = ()


class ExchangeReader:
    """Reads on in one session, however it is cut into slices. It only computes.

    ``agent`` says that a sub-agent is read: what stands there as the user's words is what another
    model told it, so its conclusion alone counts. ``relative`` makes a path relative to the
    project, or "" where it lies elsewhere; ``clean`` redacts. ``own`` gives what a person or a
    model wrote of a text: "" for nothing, ``UNREAD`` for what is private. ``is_forgotten`` says
    that what it begins with may go on with what was forgotten.
    """

    def __init__(
        self,
        session: str,
        *,
        clean: Callable[[str], str],
        own: Callable[[str], str],
        relative: Callable[[str], str],
        agent: bool = False,
        is_forgotten: bool = False,
    ) -> None:
        self._session = session
        self._clean = clean
        self._own = own
        self._relative = relative
        self._agent = agent
        # The user's words that the exchange began with, whether a part of it was forgotten, and
        # what was changed since.
        self._opened = ""
        self._is_forgotten = is_forgotten
        self._files: tuple[str, ...] = ()
        self._said: dict[str, Utterance] = {}

    def fork(self) -> ExchangeReader:
        """Another one that reads on from here, with nothing to take yet."""
        other = copy(self)
        other._said = {}
        return other

    def read(
        self,
        messages: Iterable[Message],
        forgotten: Callable[[Message], bool] = _nothing,
    ) -> list[Message]:
        """Follow ``messages``, which come after those read before.

        What is ``forgotten`` is left out, and so is the rest of its exchange; the others come back.
        """
        kept = []
        for message in messages:
            is_forgotten = forgotten(message)
            if not message.aside or self._agent:
                self._hear(message, is_forgotten=is_forgotten)
            if not (is_forgotten or self._is_forgotten):
                kept.append(message)
        return kept

    def forget(self) -> None:
        """Say nothing of the exchange that goes on, nor of what was not taken yet."""
        self._said, self._is_forgotten = {}, True

    def take(self) -> tuple[Utterance, ...]:
        """What was said since the last call, in order.

        The conclusion of an exchange that goes on is among it; when the agent says more, another
        one comes with the same id, and replaces it.
        """
        said, self._said = tuple(self._said.values()), {}
        return said

    def _note_files(self, message: Message) -> None:
        paths = (path for call in message.calls for path in call.paths)
        inside = (self._clean(file) for path in paths if (file := self._relative(path)))
        self._files = tuple(dict.fromkeys((*self._files, *inside)))[-MAX_FILES:]

    def _hear(self, message: Message, *, is_forgotten: bool) -> None:
        self._note_files(message)
        if message.role == "user":
            self._hear_user(message, is_forgotten=is_forgotten)
        elif is_forgotten:
            self._is_forgotten = True
        elif message.text and not self._is_forgotten:
            self._hear_agent(message)

    def _hear_user(self, message: Message, *, is_forgotten: bool) -> None:
        own = self._own_of(message)
        if message.results or (message.text and not own):  # no person said that
            return
        text = self._prose(own, "user", MAX_USER_CHARS, head=1.0)
        known = f"{self._session} user {message.said_at_ms} {text}"
        made = Utterance(
            id=f"psg_{ulid_of(message.said_at_ms, _digest(known))}",
            speaker="user",
            text=text,
            said_at_ms=message.said_at_ms,
        )
        if text and not (self._agent or is_forgotten):
            self._said[made.id] = made
        self._opened, self._files, self._is_forgotten = made.id, (), is_forgotten

    def _hear_agent(self, message: Message) -> None:
        own = self._own_of(message)
        text = self._prose(own, "assistant", MAX_AGENT_CHARS, head=_HEAD_SHARE)
        if not text:
            return
        if self._opened:  # what it says later in this exchange takes the place of this
            beside = _digest(f"{self._session} agent")
            identity = ulid_beside(self._opened.removeprefix("psg_"), beside)
        else:
            known = f"{self._session} agent {message.said_at_ms} {text}"
            identity = ulid_of(message.said_at_ms, _digest(known))
        self._said[f"psg_{identity}"] = Utterance(
            id=f"psg_{identity}",
            speaker="agent",
            text=text,
            said_at_ms=message.said_at_ms,
            files=self._files,
        )

    def _own_of(self, message: Message) -> str:
        return self._own(message.text) if len(message.text) <= _MAX_MESSAGE_CHARS else UNREAD

    def _prose(self, own: str, role: str, limit: int, *, head: float) -> str:
        if own in {"", UNREAD}:
            return ""
        return _shortened(self._clean(prose(own, role)), limit, head=head)


def prose(text: str, role: str = "user") -> str:
    """What ``role`` said in ``text``: no code fence, no quotation, and nothing that was pasted.

    A log, a stack trace, a diff or a file is not what somebody says, and a user did not write the
    mail, the ticket or the conversation that a prompt hands over.
    """
    lines = text.split("\n")
    if role == "user":
        theirs = [line.whose == THEIRS for line in read_lines(text)]
    else:
        theirs = [False] * len(lines)
    said = [
        line
        for line, inside, is_theirs in zip(lines, fenced(lines), theirs, strict=True)
        if not (inside or is_theirs or is_quoted(line) or _is_data(line))
    ]
    kept: list[str] = []
    run: list[str] = []
    for line in said:
        if _PASTED.match(line):
            run.append(line)
            continue
        kept += run if len(run) < _PASTED_RUN else []
        run = []
        kept.append(line)
    kept += run if len(run) < _PASTED_RUN else []
    return _BLANK_LINES.sub("\n", "\n".join(kept)).strip()


def _is_data(line: str) -> bool:
    """Whether a long ``line`` has too few words to have been written by a person."""
    return len(line) > _DATA_LINE_CHARS and line.count(" ") * _WORD_CHARS < len(line)


def _shortened(text: str, limit: int, *, head: float) -> str:
    """The beginning and the end of ``text``; ``head`` is the beginning's share of ``limit``."""
    if len(text) <= limit:
        return text
    if head >= 1:
        return cut(text, limit)
    beginning = cut(text[: int(limit * head)], int(limit * head))
    end = text[-int(limit * (1 - head)) :]
    return f"{beginning}\n{end[end.find(' ') + 1 :]}"


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
