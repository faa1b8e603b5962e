"""Who may open the page, and what the page may ask for them.

``subcog ui`` gets an invitation over the daemon's own socket and puts it into the address after
``#``, which no browser sends anywhere. The page's script trades it for a visit: a path of its own
with an unguessable name, and a cookie for that path alone. Cookies know no ports, so a server on
another port of this machine would be sent a cookie for all of it; but not one for a path that it
does not know.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import Protocol, TypeVar

from cachetools import TTLCache
from msgspec import Struct

from ...bus.results import Result
from ...bus.values import Scope

INVITATION_S = 60.0
VISIT_S = 12 * 3600.0
"""A visit ends so long after its last request."""

_MAX_INVITATIONS = 16
_MAX_VISITS = 32
_NAME_BYTES = 16
_SECRET_BYTES = 32


class Visit(Struct, frozen=True):
    """Somebody who was let in. ``fields`` say for which project, ``name`` is part of the path."""

    name: str
    secret: str
    fields: dict[str, str]

    @property
    def path(self) -> str:
        """Where this visit's screens are."""
        return f"/ui/{self.name}/"


class Visits:
    """Invitations and visits, in memory alone: they end with the daemon. ``now`` in seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._invited: MutableMapping[str, dict[str, str]] = TTLCache(
            _MAX_INVITATIONS, INVITATION_S, timer=now
        )
        self._open: MutableMapping[str, Visit] = TTLCache(_MAX_VISITS, VISIT_S, timer=now)

    def invite(self, fields: dict[str, str]) -> str:
        """A code that lets one visitor in, once, within ``INVITATION_S``."""
        code = secrets.token_urlsafe(_SECRET_BYTES)
        self._invited[code] = fields
        return code

    def enter(self, code: str) -> Visit | None:
        """A new visit for an invitation; None where there is none, or not any more."""
        fields = self._invited.pop(code, None)
        if fields is None:
            return None
        name, secret = secrets.token_urlsafe(_NAME_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        self._open[name] = visit = Visit(name, secret, fields)
        return visit

    def find(self, name: str, secret: str) -> Visit | None:
        """The visit of that name, where ``secret`` is its own; it lives on from now."""
        visit = self._open.get(name)
        if visit is None or not secrets.compare_digest(visit.secret.encode(), secret.encode()):
            return None
        self._open[name] = visit
        return visit


T = TypeVar("T", bound=Result)


class Refused(ValueError):
    """A call that cannot be answered as asked; the message is for the person."""


class Finding(Struct, frozen=True):
    """One check of ``subcog doctor``: what was ``seen``, and what to do where it is not ``ok``."""

    check: str
    ok: bool
    seen: str
    mend: str | None = None


class PagePort(Protocol):
    """Answers for whoever opened the page.

    ``fields`` are those of the command that opened it; ``project`` in them is the project's root.
    """

    async def ask(
        self, fields: dict[str, str], call: str, kind: type[T], params: Mapping[str, object]
    ) -> T:
        """Make a call of the daemon, as the command line does. Raises ``Refused``."""

    def has_team(self) -> bool:
        """Whether a team was joined."""

    def project(self, fields: dict[str, str]) -> str:
        """The name of the project, for a title."""

    async def readable(self, fields: dict[str, str]) -> Sequence[Scope]:
        """What may be read from the project. Raises ``Refused`` where its disk does not answer."""

    def clean(self, text: str) -> str:
        """``text`` without its secrets."""

    async def doctor(self, fields: dict[str, str]) -> tuple[Finding, ...]:
        """Run ``subcog doctor``, which takes seconds. Raises ``Refused``."""
