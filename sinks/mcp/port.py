"""What an MCP session needs of the daemon: a port that makes calls on behalf of its project.

Nothing here imports the MCP SDK, which is loaded when the first client comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from ...bus.values import Scope

Json = dict[str, Any]
Intent = Literal["howto", "troubleshoot", "explain", "locate"]


class Refused(ValueError):
    """A request that cannot be answered as asked; the message is for whoever asked."""


class ClientPort(Protocol):
    """Answers for one project. Texts of memories come back redacted and neutralised."""

    @property
    def notice(self) -> str:
        """That what was remembered is data and no instruction, in the envelope's words."""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """What may be read from this project."""

    async def call(self, name: str, params: Mapping[str, object], *, brief: bool = False) -> Json:
        """Make a call of the daemon, as the command line does. Raises ``Refused``.

        With ``brief``, memories come without their texts: the summaries remain.
        """

    async def hook(self, event: str, client: str, payload: bytes) -> bytes:
        """What a hook would print, for an agent whose hooks are calls of our tool."""

    async def count(self) -> int:
        """How many memories this project may read. Raises ``Refused``."""

    async def find(self, memory_id: str) -> Json | None:
        """One memory whole, or None where this project has none of that id. Raises ``Refused``."""

    async def latest(self, *, limit: int, namespaces: tuple[str, ...] = ()) -> list[Json]:
        """The newest memories. Raises ``Refused``."""

    async def session(self) -> Json:
        """What the agent's session was shown, and why. Raises ``Refused``."""

    def weights(self, intent: Intent) -> Mapping[str, float]:
        """How much a namespace counts where somebody wants that; 1.0 where it is not named."""

    def quote(self, memories: Sequence[Json], *, brief: bool = False) -> str:
        """The envelope around ``memories``, or around their summaries; empty for none."""
