"""What an agent does with a tool: before it is done, when it was done, and when it failed."""

from __future__ import annotations

from .values import Value

COMMAND_TOOL = "Bash"
"""The tool that runs commands, by Claude Code's name for it."""


class Action(Value, frozen=True, kw_only=True):
    """What a tool is asked to do. All texts are capped.

    ``paths`` are the files that it names, as it names them. ``command`` is what is run, and
    ``purpose`` what the agent says that it is for. ``written`` is what goes into files, and
    ``replaced`` what stood there before; both are whole passages, of which some lines are the same.
    """

    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""
    purpose: str = ""
    written: str = ""
    replaced: str = ""

    @property
    def text(self) -> str:
        """What is written or run."""
        return "\n".join(filter(None, (self.written, self.command)))
