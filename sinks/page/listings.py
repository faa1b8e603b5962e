"""What a list on the page is asked for, and what a line of it shows."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

from msgspec import Struct
from starlette.requests import Request

from ...bus.results import FoundMemory, ListedMemory, StaleMemory
from ...bus.sessions import FoundSession, ListedSession
from .render import times
from .visits import Refused

MAX_OPENING = 200
WHICH = {
    "": "all that hold",
    "automatic": "kept by itself",
    "asked": "asked for",
    "unused": "never shown",
    "contradicting": "contradicting another",
    "stale": "whose code changed",
}


class Asked(Struct, frozen=True):
    """What the filters of the memories' screen ask for; empty means any."""

    q: str = ""
    namespace: str = ""
    which: str = ""
    tag: str = ""
    scope: str = ""
    author: str = ""
    since: str = ""
    until: str = ""
    after: str = ""

    def params(self) -> dict[str, object]:
        """The filters as the call ``list`` takes them. Raises ``Refused`` for a date that is none.

        A day begins and ends on this machine's clock.
        """
        given: dict[str, object] = {
            name: value
            for name in ("namespace", "tag", "scope", "author", "after")
            if (value := getattr(self, name))
        }
        if self.since:
            given["since"] = _midnight(self.since)
        if self.until:
            given["until"] = _midnight(self.until) + timedelta(days=1, microseconds=-1)
        if self.which in {"automatic", "asked"}:
            given["automatic"] = self.which == "automatic"
        elif self.which in {"unused", "contradicting"}:
            given[self.which] = True
        return given


class Listing(Struct, frozen=True):
    """A memory in a list, with a ``note`` on what the list is about."""

    id: str
    summary: str
    namespace: str
    tags: tuple[str, ...]
    scope: str
    author: str
    created_at: datetime
    note: str = ""


class SessionLine(Struct, frozen=True):
    """A session in a list: how it began, and a ``note`` on what the list is about."""

    id: str
    opening: str
    began_at: datetime
    note: str


def asked_by(request: Request) -> Asked:
    """The filters of a request. Raises ``Refused`` for a choice that there is not."""
    known = {
        name: value.strip()
        for name, value in request.query_params.items()
        if name in Asked.__struct_fields__
    }
    if (which := known.get("which", "")) not in WHICH:
        raise Refused(f"which={which}: there is no such choice")
    return Asked(**known)


def _midnight(day: str) -> datetime:
    try:
        return datetime.combine(date.fromisoformat(day), time()).astimezone()
    except ValueError:
        raise Refused(f"{day} is no date; write it as 2026-01-31") from None


def listing(memory: ListedMemory | FoundMemory, note: str = "") -> Listing:
    """A memory that was listed or found; of what was listed the note tells how it came."""
    if isinstance(memory, ListedMemory):
        shown = f"shown {times(memory.times_shown)}" if memory.times_shown else ""
        note = ", ".join(filter(None, ("kept by itself" if memory.automatic else "", shown)))
    elif memory.buried:
        note += ", buried"
    return Listing(
        id=memory.id,
        summary=memory.summary,
        namespace=memory.namespace,
        tags=memory.tags,
        scope=memory.scope,
        author=memory.author,
        created_at=memory.created_at,
        note=note,
    )


def found_session(hit: FoundSession) -> SessionLine:
    """A session that a search found."""
    opening = hit.said[0].text[:MAX_OPENING] if hit.said else ""
    return SessionLine(hit.id, opening, hit.began_at, f"relevance {hit.relevance:.2f}")


def listed_session(each: ListedSession) -> SessionLine:
    """A session of the project."""
    note = f"{each.client or 'agent'}, {each.passages} passages"
    return SessionLine(each.id, each.opening, each.began_at, note)


def day_of(session: SessionLine) -> str:
    """The day on which a session began, by this machine's clock."""
    return f"{session.began_at.astimezone():%A, %d %B %Y}"


def stale_listing(memory: StaleMemory) -> Listing:
    """A memory whose code changed, and which and how."""
    return Listing(
        id=memory.id,
        summary=memory.summary,
        namespace=memory.namespace,
        tags=(),
        scope="project:",
        author=memory.author,
        created_at=memory.created_at,
        note=", ".join(
            f"{place.path} {place.symbol}".strip() + f" is {place.state}"
            for place in memory.code.anchors
            if place.state not in {None, "unchanged"}
        ),
    )
