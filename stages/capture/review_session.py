"""Reads a session incrementally: the statements worth keeping, and the tasks it works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from ...bus.sessions import Message
from . import task_record as task
from .review import Statement, choose, find_statements

MAX_FOUND = 64
_MAX_TASKS = 8
_BATCH_CHARS = 8_000


class SessionReader:
    """What was found so far, bounded. It only computes, so it may run in a thread.

    ``agent`` marks a sub-agent's messages: its actions count for the session's task, its words do
    not. ``work`` is the current task, ``finished`` are those that ended.
    """

    def __init__(
        self,
        *,
        session: str,
        root: str,
        agent: bool = False,
        work: task.Work | None = None,
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

    def read(self, messages: Sequence[Message]) -> None:
        """Find what is worth keeping in ``messages``, and follow what is done."""
        found = find_statements(messages, root=self._root, agent=self._agent)
        self.found = choose(
            (*self.found, *found), min_confidence=self._min_confidence, limit=MAX_FOUND
        )
        for message in messages:
            self._follow(replace(message, aside=True) if self._agent else message)

    def _follow(self, message: Message) -> None:
        before = self.work
        self.work = task.follow(
            before, message, session=self._session, root=self._root, clean=self._clean
        )
        if before is not None and before is not self.work:
            before.ended = True
            self.finished = [*self.finished, before][-_MAX_TASKS:]


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
