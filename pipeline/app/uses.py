"""Follows what becomes of the memories that a session was shown, and notes it.

No hook waits for it, and what cannot be followed in time is let go. What is noted has the ids of
memory and session, a kind and a few words of ours; never what anybody wrote.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread

from ...bus.events import (
    ActionProposed,
    CaptureSettled,
    ContextBuilt,
    MemoriesShown,
    PromptSubmitted,
    ToolFailed,
    ToolUsed,
    TurnEnded,
)
from ...bus.prompts import ProjectFacts
from ...bus.values import LEARN, UNASKED, Memory, UseEvent
from ...sinks.sessions import Sessions
from ...stages.moments.take_up import Showings, Use
from ...stages.text.markup import is_machine, own_text
from ...stages.text.unicode import well_formed
from .archives import LazyArchive

if TYPE_CHECKING:
    from datetime import datetime

T = TypeVar("T")
MAX_SESSION_CHARS = 200
MAX_HOOK_CHARS = 40
MAX_PROMPT_CHARS = 20_000
# Hooks whose captures nobody asked for: they repeat what was said in the session.
_REVIEWS = UNASKED - {LEARN}


class Followed(Showings):
    """What one session was shown; who reads or changes it holds ``turn``."""

    def __init__(self) -> None:
        super().__init__()
        self.turn = anyio.Lock()


class UseWatcher:
    """Handles what the agent and the user do after memories were shown."""

    def __init__(
        self, archive: LazyArchive, *, sessions: Sessions, clock: Callable[[], datetime]
    ) -> None:
        self._archive = archive
        self._sessions = sessions
        self._clock = clock
        self._one_at_a_time = anyio.CapacityLimiter(1)
        self.handlers: Mapping[str, Callable[[Any], Awaitable[None]]] = {
            "follow_prompt": self.follow_prompt,
            "follow_context": self.follow_context,
            "follow_shown": self.follow_shown,
            "follow_action": self.follow_action,
            "follow_use": self.follow_use,
            "follow_failure": self.follow_failure,
            "follow_answer": self.follow_answer,
            "follow_capture": self.follow_capture,
        }

    # --- what is shown ---------------------------------------------------------------------------

    async def follow_context(self, event: ContextBuilt) -> None:
        """Memories went into the context of a prompt."""
        enriched = event.classified.enriched
        prompt = enriched.prompt
        if prompt.rehearsal or not event.context.injected_memories:
            return
        known = {one.memory.id: one.memory for one in enriched.candidates}
        known |= {one.memory.id: one.memory for one in enriched.bearing}
        chosen = [known[one.id] for one in event.context.injected_memories if one.id in known]
        await self._show(
            prompt.session, "UserPromptSubmit", chosen, event.trace, _told_by(enriched.project)
        )

    async def follow_shown(self, event: MemoriesShown) -> None:
        """Memories went into a context at another hook."""
        ids = [one.memory_id for one in event.shown]
        try:
            found = await self._archive.fetch(ids, event.scopes) if event.scopes else ()
        except ConnectionError:
            return
        await self._show(event.session, event.hook, found, event.trace)

    async def _show(
        self, session: str, hook: str, memories: Iterable[Memory], trace: str, known: str = ""
    ) -> None:
        shown = tuple(memories)
        if not session or not shown:
            return

        def work(followed: Followed) -> list[Use]:
            followed.learn(known)
            return followed.show(shown, trace=trace)

        await self._follow(session, hook, work, ranked=True)

    # --- what follows ----------------------------------------------------------------------------

    async def follow_prompt(self, event: PromptSubmitted) -> None:
        """The user typed a prompt."""
        said = "" if event.rehearsal else own_text(event.text[:MAX_PROMPT_CHARS])
        if not is_machine(said):
            await self._follow(event.session, "UserPromptSubmit", lambda one: one.prompted(said))

    async def follow_action(self, event: ActionProposed) -> None:
        """The agent is about to use a tool."""
        if event.detailed:
            return

        def work(shown: Followed) -> list[Use]:
            shown.proposed(event.action)
            return []

        await self._follow(event.session, "PreToolUse", work)

    async def follow_use(self, event: ToolUsed) -> None:
        """The agent used a tool."""
        if not event.detailed:
            work = partial(
                Followed.acted,
                action=event.action,
                trace=event.trace,
                unfinished=event.unfinished,
            )
            await self._follow(event.session, "PostToolUse", work)

    async def follow_failure(self, event: ToolFailed) -> None:
        """The agent used a tool, and it failed."""
        if not event.detailed and not event.interrupted:
            work = partial(
                Followed.failed, action=event.action, error=event.error, trace=event.trace
            )
            await self._follow(event.session, event.hook, work)

    async def follow_answer(self, event: TurnEnded) -> None:
        """The agent said its last word on what it was asked."""
        if event.said:
            hook = "SubagentStop" if event.agent else "Stop"
            await self._follow(event.session, hook, lambda shown: shown.answered(event.said))

    async def follow_capture(self, event: CaptureSettled) -> None:
        """A capture was settled: where it was merged, somebody wanted the memory once more.

        What a review finds in a session that was shown the memory may be its echo.
        """
        if event.kept.outcome != "merged" or event.memory is None:
            return
        memory = event.memory
        source = memory.sources[-1] if memory.sources else memory.provenance
        state = self._sessions.find(source.session)
        was_shown = state is not None and any(id_ == memory.id for id_, _ in state.shown)
        if source.hook in _REVIEWS and was_shown:
            return
        use = Use(memory.id, "captured_again", "merged with it")
        self._note(source.session or event.trace, source.hook, [use])

    async def was_read(self, session: str, memory_id: str) -> None:
        """The agent asked for a memory by its id."""
        await self._follow(session, "mcp", lambda shown: shown.read(memory_id))

    # --- how -------------------------------------------------------------------------------------

    async def _follow(
        self,
        session: str,
        hook: str,
        work: Callable[[Followed], list[Use]],
        *,
        ranked: bool = False,
    ) -> None:
        """Do ``work`` on what ``session`` was shown, in a thread, and note what comes of it."""
        if not session:
            return
        followed = self._sessions.state(session).part(Followed)
        # It is short, and the time of the hook that it follows may be over.
        with anyio.CancelScope(shield=True):
            async with followed.turn:
                uses = await anyio.to_thread.run_sync(work, followed, limiter=self._one_at_a_time)
        self._note(session, hook, uses, ranked=ranked)

    def _note(self, session: str, hook: str, uses: Iterable[Use], *, ranked: bool = False) -> None:
        now, archive = self._clock(), self._archive.loaded
        events = [
            UseEvent(
                memory_id=use.memory_id,
                session=well_formed(session[:MAX_SESSION_CHARS]),
                at=now,
                kind=use.kind,
                moment=well_formed(hook[:MAX_HOOK_CHARS]),
                rank=rank if ranked and use.kind == "shown" else 0,
                detail=use.detail,
            )
            for rank, use in enumerate(uses, 1)
        ]
        if archive is not None and events:
            with suppress(ConnectionError):  # the store is being closed
                archive.uses.note(events)


def _told_by(facts: ProjectFacts) -> str:
    """What the project's own files name: an agent reads that there."""
    return " ".join(
        (
            facts.name,
            *facts.stack,
            facts.package_manager,
            facts.test_command,
            facts.build_command,
            facts.lint_command,
            facts.start_command,
        )
    )
