"""What was said in sessions, before it is loaded, while it is kept, and as it is quoted."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from msgspec.structs import replace

from ...bus.events import ReviewRequested
from ...bus.prompts import Span
from ...bus.sessions import Message, Passage, SessionHit
from ...bus.values import Place
from ...config.settings import SessionsSettings
from ...sinks.project.reflog import Checkout, Checkouts
from ...stages.ports import RecallUnavailable
from ...stages.sessions.exchanges import Utterance
from ...stages.sessions.last_session import tells_of_work
from .archives import Awaited, LazyArchive, NotStored

if TYPE_CHECKING:
    from ...sinks.passages.archive import PassageArchive
    from ...sinks.passages.forgotten import ForgottenPassages

# So long a session's start waits for the passages of a daemon that has only just started.
_PATIENCE_S = 0.1
# So many of the newest sessions are looked through for one that tells of some work.
_LAST_SESSIONS = 4
_log = logging.getLogger(__name__)


class Conversations(Awaited["PassageArchive"]):
    """Stands for the archive of passages; fulfils ``ports.Conversations``."""

    def __init__(
        self,
        settings: SessionsSettings,
        checkouts: Checkouts | None = None,
        *,
        memories: LazyArchive | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        """``clean`` redacts the names of branches; what was said is redacted already.

        The store of ``memories`` tells what was forgotten before sessions were switched off.
        """
        super().__init__("sessions")
        self._settings = settings
        self._checkouts = checkouts or Checkouts()
        self._memories = memories
        self._clean = clean

    async def get(self) -> PassageArchive:
        """The archive, when it is there.

        Raises ``RecallUnavailable`` when time runs out, or where sessions are switched off.
        """
        if not self._settings.enabled:
            raise RecallUnavailable("sessions are switched off: sessions.enabled is false")
        return await super().get()

    def concerns(self, place: Place) -> bool:
        """Whether anything of the project at ``place`` is kept and quoted."""
        return self._settings.enabled and self._settings.excluded(place.root) is None

    async def find(self, text: str, place: Place, *, session: str) -> tuple[SessionHit, ...]:
        if not self.concerns(place):
            return ()
        archive = await self.get()
        found = list(await archive.find(text, place.project, session=session))
        earlier = set(place.before).intersection(archive.scopes) if place.before else ()
        for scope in earlier:
            found += await archive.find(text, scope, session=session)
        return tuple(found)

    async def current(self, found: tuple[SessionHit, ...]) -> tuple[SessionHit, ...]:
        """``found`` without the passages that are no longer kept."""
        ids = [one.id for hit in found for one in hit.passages]
        if not ids:
            return found
        stored = await (await self.get()).get(ids, {hit.scope for hit in found})
        kept = {one.id for one in stored}
        return tuple(
            replace(hit, passages=tuple(one for one in hit.passages if one.id in kept))
            for hit in found
        )

    async def said(
        self, place: Place, span: Span | None, *, session: str, limit: int
    ) -> tuple[SessionHit, ...]:
        if not self.concerns(place):
            return ()
        archive = await self.get()
        return await archive.said(place.project, span, session=session, limit=limit)

    async def before(self, place: Place, session: str) -> tuple[Passage, ...]:
        """What was said in the newest session of the project at ``place`` other than ``session``.

        One that tells of no work is passed over. Empty where there is none, nothing is kept of this
        project, or it cannot be read now.
        """
        if not self.concerns(place):
            return ()
        try:
            with anyio.move_on_after(_PATIENCE_S):
                await self._settled.wait()
            if (archive := self.loaded) is None:
                return ()
            for one in await archive.list(place.own, limit=_LAST_SESSIONS):
                if one.session == session:
                    continue
                if tells_of_work(said := await archive.show(one.scope, one.session)):
                    return said
        except OSError as error:
            _log.warning("cannot read the last session", extra={"error": type(error).__name__})
        return ()

    async def all_of(self, place: Place, session: str) -> tuple[Passage, ...]:
        """All that is kept of ``session``; empty where nothing is, or it cannot be read now."""
        if not self.concerns(place) or (archive := self.loaded) is None:
            return ()
        return await archive.show(place.project, session)

    @asynccontextmanager
    async def holding(self, place: Place, session: str) -> AsyncIterator[Collection[str]]:
        """The ids of what is kept of ``session``; nothing is forgotten until the block ends."""
        if (archive := self.loaded) is None:
            yield ()
            return
        async with archive.holding(place.project, session) as ids:
            yield ids

    async def keep(self, event: ReviewRequested, said: Sequence[Utterance]) -> int:
        """Keep what was read of the session of ``event``; how many passages are new.

        Raises ``NotStored`` while there is nothing to store it in.
        """
        if not said or not self.concerns(event.place):
            return 0
        try:
            archive = await self.get()
            checkouts = await self._checkouts.find(event, [_moment(one) for one in said])
            passages = [self._passage(event, *each) for each in zip(said, checkouts, strict=True)]
            return await archive.add(passages, event.place.before)
        except ConnectionError:
            raise NotStored from None

    async def forgotten(self, event: ReviewRequested) -> Callable[[Message], bool]:
        """Tells which messages of the session of ``event`` were forgotten with it.

        Nothing is learned from those. Raises ``NotStored`` while that cannot be told.
        """
        known, own, session = await self._forgotten(), event.place.own, event.session
        return lambda one: bool(one.said_at_ms) and known.has_all(own, session, _moment(one))

    async def was_forgotten(self, event: ReviewRequested) -> bool:
        """Whether the session of ``event`` was forgotten before. Raises ``NotStored``."""
        return (await self._forgotten()).of_session(event.place.own, event.session)

    async def _forgotten(self) -> ForgottenPassages:
        try:
            if self._settings.enabled or self._memories is None:
                return (await self.get()).forgotten
            from ...sinks.passages.archive import read_forgotten

            return await read_forgotten((await self._memories.opened()).store)
        except ConnectionError:
            raise NotStored from None

    def _passage(self, event: ReviewRequested, said: Utterance, then: Checkout) -> Passage:
        return Passage(
            id=said.id,
            session=event.session,
            scope=event.place.project,
            speaker=said.speaker,
            text=said.text,
            said_at=_moment(said),
            client=event.client,
            branch=self._clean(then.branch),
            files=said.files,
        )


def _moment(said: Message | Utterance) -> datetime:
    return datetime.fromtimestamp(said.said_at_ms / 1000, UTC)
