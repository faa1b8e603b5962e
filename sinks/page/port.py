"""What the page needs of the daemon: its calls, and what a person may see of a project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from msgspec import Struct

from ...bus.results import Result
from ...bus.values import Scope

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
    """Answers for whoever opened the page. ``fields`` are those of the command that opened it."""

    async def ask(
        self, fields: dict[str, str], call: str, kind: type[T], params: Mapping[str, object]
    ) -> T:
        """Make a call of the daemon, as the command line does. Raises ``Refused``."""

    def has_team(self) -> bool:
        """Whether a team was joined."""

    def project(self, fields: dict[str, str]) -> str:
        """The name of the project, for a title."""

    def readable(self, fields: dict[str, str]) -> Sequence[Scope]:
        """What may be read from the project."""

    def clean(self, text: str) -> str:
        """``text`` without its secrets."""

    async def doctor(self) -> tuple[Finding, ...]:
        """Run ``subcog doctor``, which takes seconds. Raises ``Refused``."""
