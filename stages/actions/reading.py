"""What of an action matters: what it changes, what it runs, and whether it only looks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ...bus.values import Action, Value
from ...config.patterns import regex
from ..text.unicode import one_line

MAX_LINES = 80
"""Of a longer change only the beginning is read."""

QUERY_CHARS = 400

_OUTSIDE_PARTS = 3
_READ_CHARS = 6_000
# Where one command of a shell line ends and the next begins.
_SEPARATOR = regex(r"&&|\|\||[;\n|]")
_LOOKS = regex(
    r"(?:(?:sudo|time|command|timeout \S+) +|cd \S+ *$|\w+=\S+ +)*(?:"
    r"(?:rg|e?grep|ag|ack|cat|bat|less|more|head|tail|ls|ll|tree|find|fd|stat|file|wc|du|df|pwd|cd"
    r"|echo|printf|which|type|man|diff|jq|yq|sort|uniq|cut|awk|column|date|env|whoami|ps|top)\b"
    r"|sed -n\b"
    r"|git (?:-C \S+ )?(?:log|diff|show|grep|blame|status|branch(?: -[av]+)?|remote -v|rev-parse"
    r"|ls-files|describe)\b(?!.*(?:--delete| -[dD] ))"
    r"|gh (?:pr|issue|run|release) (?:view|list|diff|checks)\b"
    r"|kubectl (?:-\S+ \S+ )*(?:get|describe|logs|top|explain)\b"
    r"|docker (?:compose )?(?:ps|logs|images|inspect|stats)\b"
    r"|(?:npm|pnpm|yarn|pip|uv pip|cargo|go|poetry) (?:ls|list|show|view|outdated|tree|why|info)\b"
    r"|\S+ (?:--version|--help|-h|version|help)$)"
)


_GIT = r"(?:(?:sudo|command) +|\w+=\S+ +)*git (?:-C \S+ )?"
_SHORT_FLAGS = (
    (regex(rf"{_GIT}push\b"), regex(r"(?<= )-f(?= |\Z)"), "--force"),
    (regex(rf"{_GIT}commit\b"), regex(r"(?<= )-n(?= |\Z)"), "--no-verify"),
)


class ActionText(Value, frozen=True, kw_only=True):
    """An action, read.

    ``path`` is the first file, relative to the project where it is in it. ``added`` and ``removed``
    are the lines that a change of a file adds and takes away, ``commands`` the single commands of
    what is run; ``looks_only`` is whether none of them changes anything.
    """

    path: str = ""
    purpose: str = ""
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    looks_only: bool = False

    @property
    def head(self) -> str:
        """What the action is about, in the agent's words or by the file."""
        return self.path or self.purpose

    @property
    def query(self) -> str:
        """What to search for."""
        parts = (self.head, *self.commands, *self.removed, *self.added)
        return "\n".join(filter(None, parts))[:QUERY_CHARS]


def read_action(action: Action, *, root: str = "") -> ActionText:
    """Read ``action`` of a project at ``root``."""
    commands = tuple(_commands(action.command))
    removed, added = _changed(action.replaced, action.written)
    return ActionText(
        path=within(action.paths[0], root) if action.paths else "",
        purpose=one_line(action.purpose),
        added=added,
        removed=removed,
        commands=commands,
        looks_only=bool(commands) and not added and all(map(looks, commands)),
    )


def within(path: str, root: str) -> str:
    """``path`` relative to ``root``; the last parts alone of one that is outside of it."""
    path = re.sub(r"/{2,}", "/", path.replace("\\", "/")).removeprefix("./")
    root = root.replace("\\", "/").rstrip("/")
    if root and path.startswith(f"{root}/"):
        return path[len(root) + 1 :]
    if path.startswith("/") or path[1:3] == ":/":
        return "/".join(path.split("/")[-_OUTSIDE_PARTS:])
    return path


def _commands(command: str) -> Iterator[str]:
    lines = map(one_line, _SEPARATOR.split(command[:_READ_CHARS]))
    return map(_spelled_out, islice(filter(None, lines), MAX_LINES))


def _spelled_out(command: str) -> str:
    """``command`` with the long names of the short flags that rules are most often about."""
    for of, short, long in _SHORT_FLAGS:
        if of.match(command):
            return short.sub(long, command)
    return command


def looks(command: str) -> bool:
    """Whether the single ``command`` only looks, and changes nothing."""
    return _LOOKS.match(command) is not None and ">" not in command


def _changed(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The lines that only ``before`` has, and those that only ``after`` has."""
    old, new = _lines(before), _lines(after)
    if not old:
        return (), tuple(new)
    removed: list[str] = []
    added: list[str] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            removed += old[i:j]
            added += new[k:m]
    return tuple(removed), tuple(added)


def _lines(text: str) -> Sequence[str]:
    lines = (line.strip() for line in text[:_READ_CHARS].splitlines()[:MAX_LINES])
    return [line for line in lines if line]
