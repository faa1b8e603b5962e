"""What was forgotten of what was said, and must not come back when a transcript is read again."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from msgspec import Struct

from ...bus.sessions import Passage
from ...bus.values import Scope

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)


class Forgotten(Struct, frozen=True, kw_only=True):
    """What must not come back: all of ``scope``, session and passage ("" for any) in a span.

    ``since`` and ``until`` bound when it was said, both included. Where they are the same, it is
    one moment, whatever the session: the transcript of a forked session has a copy of it.
    """

    scope: Scope
    since: datetime
    until: datetime
    session: str = ""
    passage: str = ""

    def covers(self, passage: Passage, scopes: Collection[Scope]) -> bool:
        """Whether ``passage`` was forgotten in one of ``scopes``."""
        return self.passage in {"", passage.id} and self._spans(
            scopes, passage.session, passage.said_at
        )

    def covers_all(self, scopes: Collection[Scope], session: str, said_at: datetime) -> bool:
        """Whether everything that was said then in ``session`` was forgotten."""
        return not self.passage and self._spans(scopes, session, said_at)

    def _spans(self, scopes: Collection[Scope], session: str, said_at: datetime) -> bool:
        return (
            self.scope in scopes
            and self.session in {"", session}
            and self.since <= said_at <= self.until
        )


class ForgottenPassages:
    """All that was forgotten. There may be many moments, and they are looked up at once."""

    def __init__(self, known: Iterable[Forgotten] = ()) -> None:
        self._moments: set[tuple[Scope, datetime]] = set()
        self._spans: list[Forgotten] = []
        self.add(known)

    def add(self, forgotten: Iterable[Forgotten]) -> None:
        for one in forgotten:
            if one.since == one.until == EPOCH:
                continue  # its time is not known: copies of it cannot be told from anything else
            if one.since == one.until:
                self._moments.add((one.scope, one.since))
            else:
                self._spans.append(one)

    def has(self, passage: Passage, before: Collection[Scope]) -> bool:
        """Whether ``passage`` was forgotten, in its scope or those that its project had before."""
        scopes = (passage.scope, *before)
        return self._at(scopes, passage.said_at) or any(
            one.covers(passage, scopes) for one in self._spans
        )

    def has_all(self, scopes: Collection[Scope], session: str, said_at: datetime) -> bool:
        """Whether all that was said then in ``session`` was forgotten, in one of ``scopes``."""
        return self._at(scopes, said_at) or any(
            one.covers_all(scopes, session, said_at) for one in self._spans
        )

    def of_session(self, scopes: Collection[Scope], session: str) -> bool:
        """Whether a part of ``session`` was forgotten as such, in one of ``scopes``."""
        return any(one.scope in scopes and one.session == session for one in self._spans)

    def _at(self, scopes: Collection[Scope], said_at: datetime) -> bool:
        return any((scope, said_at) in self._moments for scope in scopes)


def moment_of(passage: Passage) -> Forgotten:
    """What bars the copies of ``passage`` in the transcripts of other sessions."""
    return Forgotten(scope=passage.scope, since=passage.said_at, until=passage.said_at)


def one_passage(passage: Passage) -> tuple[Forgotten, Forgotten]:
    """What bars ``passage``, however it goes on, and its copies."""
    alone = Forgotten(scope=passage.scope, passage=passage.id, since=EPOCH, until=FOREVER)
    return alone, moment_of(passage)
