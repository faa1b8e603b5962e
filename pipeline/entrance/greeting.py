"""The greeting of a session, which is said once: at its start, or with a prompt after that.

It waits for a prompt where the agent cannot take it earlier, where the memories were not loaded in
time, and where no daemon listened yet (``hooks/starter.py`` notes that in a file). It comes in
front of the prompt's own context.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...bus.bus import BusClosed, StageFailed
from ...bus.events import ResponseReady, SessionStarted
from ...bus.signals import degraded, emit
from ...hooks.starter import missed_start_name
from ...stages.inject import MAX_TOKENS
from ...stages.text.envelope import MAX_UNITS, hook_answer
from ...stages.text.unicode import count_tokens, count_units
from ..app.app import App
from .events import NOTHING

WITH_PROMPT = frozenset({"gemini"})
"""Agents that are greeted with the first prompt.

Gemini CLI puts the answer of SessionStart in front of the first prompt, as one message, and drops
that message when the session is resumed: the user's words would be lost with the greeting. What is
added to a prompt comes behind it.
"""
NO_KIN = (
    "subcog: this directory has the remote or the name of a project that is known, and shares no "
    "commit with it, so it has a memory of its own. If it is that project: subcog project alias"
)
BEFORE_STARTS = frozenset({"PreCompact", "SessionEnd"})
"""Hooks after which the same session starts again."""

NOTE_S = 0.05
"""The time limit for looking for a start that was missed, in seconds."""
MAX_NOTE_BYTES = 16_384
_log = logging.getLogger(__name__)


class MissedStart(Struct):
    """A session's start that no daemon answered, as ``hooks/starter.py`` notes it.

    ``id`` is the identity of its request: of two, the later is the greater.
    """

    id: str
    session_id: str
    source: str = ""
    cwd: str = ""


class Made(NamedTuple):
    """A greeting as it was made of ``start``; ``undo`` has what it shows count as not shown."""

    start: SessionStarted
    context: str
    undo: Callable[[], None]


class Greeting:
    """What became of a session's greeting.

    ``owed`` is a start that is to be greeted with the next prompt that has room for that. Its
    greeting is made for that prompt alone, since its memories may be others by the next: that is
    ``made``. ``sent`` was the answer to the start whose request was ``request``. ``sought`` tells
    whether a start that was missed was looked for since the session's last start.
    """

    def __init__(self) -> None:
        self.owed: SessionStarted | None = None
        self.made: Made | None = None
        self.sent: Made | None = None
        self.request = ""
        self.sought = False

    def owe_again(self, made: Made | None) -> None:
        """``made`` did not reach the agent; a later start that is owed is greeted instead."""
        if made is not None:
            made.undo()
            self.owed = self.owed or made.start
        self.made = None


class Greetings:
    """Greets sessions."""

    def __init__(self, app: App) -> None:
        self._app = app

    def _of(self, session: str) -> Greeting:
        return self._app.sessions.state(session).part(Greeting)

    async def at_start(self, event: SessionStarted, request: str, *, within_s: float) -> bytes:
        """The answer to a session's start. Raises ``TimeoutError``; the greeting is owed then.

        So it is where the hook hangs up. While the memories are being loaded they are waited for:
        a greeting without them would be the only one that the session gets.
        """
        greeting = self._of(event.session)
        greeting.owe_again(greeting.made)
        greeting.owed, greeting.sent = event, None
        greeting.request, greeting.sought = request, False
        body = NOTHING
        if event.client not in WITH_PROMPT:
            with anyio.fail_after(within_s):
                await self._app.archive.wait_until_settled()
                body, greeting.sent = await self._greet(event)
            greeting.owed = None
        with anyio.move_on_after(within_s):  # the disk may hang since its place was found
            refused, root = self._app.projects.is_refused, event.place.root
            if await anyio.to_thread.run_sync(refused, root, abandon_on_cancel=True):
                body = with_message("SessionStart", body, NO_KIN)
        return body

    def owe(self, event: SessionStarted) -> None:
        """Greet with the next prompt: ``event`` was never answered."""
        self._of(event.session).owed = event

    def expect_start(self, session: str) -> None:
        """``session`` will start again, which no daemon may see."""
        self._of(session).sought = False

    async def find_missed(self, session: str) -> MissedStart | None:
        """The start of ``session`` that no daemon has seen, if there was one; it is found once.

        Its first prompt looks for it. An answer that was sent and did not arrive goes out again
        with the next prompt.
        """
        greeting = self._of(session)
        if greeting.sought or not session:
            return None
        file = self._app.paths.missed_starts / missed_start_name(session)
        found: MissedStart | None = None
        with anyio.move_on_after(NOTE_S):
            found = await anyio.to_thread.run_sync(_read_note, file, abandon_on_cancel=True)
            greeting.sought = found is None
        if found is None:
            return None
        with anyio.move_on_after(NOTE_S), contextlib.suppress(OSError):
            await anyio.to_thread.run_sync(file.unlink, abandon_on_cancel=True)
        if found.id == greeting.request:
            greeting.owe_again(greeting.sent)
            greeting.sent = None
        if found.session_id != session or found.id <= greeting.request:
            return None
        greeting.request = found.id  # it counts once, though the file cannot be removed
        return found

    @asynccontextmanager
    async def made_meanwhile(
        self, session: str, deadline: float, *, wanted: bool
    ) -> AsyncIterator[None]:
        """Make the greeting that ``session`` is owed beside what the block does, where ``wanted``.

        ``deadline`` is by the event loop's clock. What is not made by then is owed on.
        """
        greeting = self._of(session) if wanted else Greeting()
        greeting.owe_again(greeting.made)  # the prompt that it was made for has failed
        if greeting.owed is None:
            yield
            return
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._make_owed, greeting, greeting.owed, deadline)
            try:
                yield
            except (TimeoutError, StageFailed, BusClosed, ValueError, RecursionError) as error:
                failure = error  # raised again outside of the group, which would wrap it
        if failure is not None:
            raise failure

    async def _make_owed(self, greeting: Greeting, owed: SessionStarted, deadline: float) -> None:
        within_s = deadline - anyio.current_time()
        try:
            with anyio.fail_after(within_s):
                await self._app.archive.wait_until_settled()
                _, made = await self._greet(replace(owed, trace=self._app.new_id()))
        except TimeoutError:
            emit(degraded, "entrance", reason="greeting.late")
            return
        except (StageFailed, BusClosed) as error:
            _log.warning("a session was not greeted", extra={"error": type(error).__name__})
        else:
            greeting.made = made or greeting.made
        greeting.owed = None

    def with_prompt(self, session: str, body: bytes) -> tuple[bytes, Callable[[], None]]:
        """``body``, the answer to a prompt, with the session's greeting in front if it was made.

        One that does not fit beside the prompt's own context is owed on. The second is to be
        called where the answer did not reach the agent: the greeting is owed again then, unless
        the session has started again.
        """
        greeting = self._of(session)
        greeting.sent = None
        if (made := greeting.made) is None:
            return body, nothing
        if count_tokens(made.context) > room_beside(context_of(body)):
            greeting.owe_again(made)
            return body, nothing
        greeting.made = None
        request = greeting.request

        def take_back() -> None:
            if greeting.owed is None and greeting.request == request:
                greeting.owe_again(made)

        return with_context("UserPromptSubmit", body, made.context), take_back

    async def _greet(self, event: SessionStarted) -> tuple[bytes, Made | None]:
        """The greeting; what it would have shown counts as shown only where there is one."""
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        with self._app.sessions.kept_on_failure(event.trace) as undo:
            reply = await self._app.bus.request(event, ResponseReady, within_s=left_s)
        context = context_of(reply.body)
        return reply.body, Made(event, context, undo) if context else None


def nothing() -> None:
    """Take back nothing."""


def _read_note(file: Path) -> MissedStart | None:
    """The note in ``file``; None where there is none. Nonsense is a note of no session."""
    try:
        with file.open("rb") as source:
            return msgspec.json.decode(source.read(MAX_NOTE_BYTES), type=MissedStart)
    except OSError:
        return None
    except (ValueError, RecursionError):
        return MissedStart(id="", session_id="")


def context_of(body: bytes) -> str:
    """The context that a hook's answer adds, or ""."""
    context: str = (
        msgspec.json.decode(body).get("hookSpecificOutput", {}).get("additionalContext", "")
    )
    return context


def with_context(event: str, body: bytes, context: str) -> bytes:
    """``body`` with ``context`` in front of its own."""
    answer, own = msgspec.json.decode(body), context_of(body)
    both = f"{context}\n{own}" if own else context
    return msgspec.json.encode(answer | hook_answer(event, both, answer.get("systemMessage", "")))


def with_message(event: str, body: bytes, message: str) -> bytes:
    """``body`` with another line for the user."""
    answer = msgspec.json.decode(body)
    lines = [line for line in (answer.get("systemMessage", ""), message) if line]
    return msgspec.json.encode(answer | hook_answer(event, context_of(body), "\n".join(lines)))


def room_beside(context: str) -> int:
    """How many tokens of another context one answer can take beside ``context``."""
    tokens, units = count_tokens(context), count_units(context)
    # A token is at most four units.
    return max(0, min(MAX_TOKENS - tokens, (MAX_UNITS - units) // 4 - 1))
