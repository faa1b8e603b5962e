"""What was said in sessions, from the daemon's first moment on: kept, found, and switched off."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import PurePath
from typing import TYPE_CHECKING

import anyio

from ...bus.events import ReviewRequested
from ...bus.passages import Passage, SessionHit
from ...bus.values import Place
from ...config.settings import SessionsSettings
from ...stages.ports import RecallUnavailable
from ...stages.sessions.exchanges import Utterance
from .lazy_archive import RESERVE_S
from .review_captures import NotStored

if TYPE_CHECKING:
    from ...sinks.passages.archive import PassageArchive


_log = logging.getLogger(__name__)
# So long a session's start waits for the passages of a daemon that has only just started.
_PATIENCE_S = 0.1


class Conversations:
    """Stands for the archive of passages; fulfils ``ports.Conversations``."""

    def __init__(self, settings: SessionsSettings) -> None:
        self._settings = settings
        self._archive: PassageArchive | None = None
        self._settled = anyio.Event()
        self._problem = ""

    def arrive(self, archive: PassageArchive) -> None:
        """Use ``archive`` from now on."""
        self._archive, self._problem = archive, ""
        self._settled.set()

    @property
    def loaded(self) -> PassageArchive | None:
        """The archive, or None while it loads or where sessions are switched off."""
        return self._archive

    def depart(self) -> None:
        """The store is being closed; whoever needs the archive waits for the next."""
        self._archive, self._settled = None, anyio.Event()

    def fail(self, problem: str) -> None:
        """Loading failed; ``problem`` says why, in words for the user."""
        self._problem = problem
        self._settled.set()

    async def archive(self) -> PassageArchive:
        """The archive, when it is there.

        Raises ``RecallUnavailable`` when time runs out, or where sessions are switched off.
        """
        if not self._settings.enabled:
            raise RecallUnavailable("sessions are switched off: sessions.enabled is false")
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        with anyio.move_on_after(max(0.0, left_s - RESERVE_S)):
            await self._settled.wait()
        if self._archive is None:
            raise RecallUnavailable(self._problem or "the sessions are still being loaded")
        return self._archive

    def concerns(self, place: Place) -> bool:
        """Whether anything of the project at ``place`` is kept and quoted."""
        root = PurePath(place.root)
        outside = all(not root.is_relative_to(folder) for folder in self._settings.exclude)
        return self._settings.enabled and outside

    async def find(self, text: str, place: Place, *, session: str) -> tuple[SessionHit, ...]:
        if not self.concerns(place):
            return ()
        return await (await self.archive()).find(text, place.project, session=session)

    async def before(self, place: Place, session: str) -> tuple[Passage, ...]:
        """What was said in the newest session of the project at ``place`` other than ``session``.

        Empty where there is none, nothing is kept of this project, or it cannot be read now.
        """
        if not self.concerns(place):
            return ()
        scopes = (place.project,)
        try:
            with anyio.move_on_after(_PATIENCE_S):
                await self._settled.wait()
            if (archive := self._archive) is None:
                return ()
            for one in await archive.list(scopes, limit=2):
                if one.session != session:
                    return await archive.show(scopes, one.session)
        except OSError as error:
            _log.warning("cannot read the last session", extra={"error": type(error).__name__})
        return ()

    async def keep(self, event: ReviewRequested, said: Sequence[Utterance]) -> int:
        """Keep what was read of the session of ``event``; how many passages are new.

        Raises ``NotStored`` while there is nothing to store it in.
        """
        if not said or not self.concerns(event.place):
            return 0
        try:
            return await (await self.archive()).add([_passage(event, one) for one in said])
        except ConnectionError:
            raise NotStored from None


def _passage(event: ReviewRequested, said: Utterance) -> Passage:
    return Passage(
        id=said.id,
        session=event.session,
        scope=event.place.project,
        speaker=said.speaker,
        text=said.text,
        said_at=datetime.fromtimestamp(said.said_at_ms / 1000, UTC),
        client=event.client,
        branch=event.place.branch or "",
        files=said.files,
    )
