"""Takes off what only runs a command: ``sudo``, ``env``, ``timeout``, ``uv run``, ``bash -c``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...bus.values import Value
from ...config.patterns import regex
from ..text.lexicons import load_wordings

_FORMS = load_wordings(Path(__file__).with_name("wrappers.toml"))["wrappers"].forms

_RAW_WORD = regex(r"""(?:'[^']*'|"(?:[^"\\]|\\.)*+"|\S)+""")
_BLANKS = regex(r"\s")


class Unwrapped(Value, frozen=True, kw_only=True):
    """A command without what only runs it.

    ``assigned`` are the variables that it is given, ``runners`` what sets up its environment, as
    written, ``words`` the command itself. ``script`` is the shell line that it hands to a shell.
    """

    assigned: tuple[str, ...] = ()
    runners: tuple[str, ...] = ()
    as_root: bool = False
    words: tuple[str, ...] = ()
    script: str = ""


def raw_words(command: str) -> tuple[str, ...]:
    """The words of ``command`` with their quotes, whether or not these are closed."""
    return tuple(_RAW_WORD.findall(command))


def unwrapped(words: Sequence[str]) -> Unwrapped:
    """The command ``words`` without its wrappers; at least one word of it is left."""
    text = _joined(words)
    at = taken = 0
    assigned: list[str] = []
    runners: list[str] = []
    as_root = False
    while True:
        kind, found = next(
            ((kind, found) for kind in _TAKEN_OFF if (found := _FORMS[kind].match(text, at))),
            ("", None),
        )
        if found is None or found.end() == len(text):
            break
        until = taken + found[0].count(" ")
        if kind == "assigned":
            assigned.append(words[taken])
        elif kind == "runner":
            runners.append(" ".join(words[taken:until]))
        elif found["root"]:
            as_root = True
        at, taken = found.end(), until
    rest = tuple(words[taken:])
    return Unwrapped(
        assigned=tuple(assigned),
        runners=tuple(runners),
        as_root=as_root,
        words=rest,
        script=_script(rest),
    )


def sent_elsewhere(words: Sequence[str]) -> str:
    """The shell line that ``words`` run on another machine or in a container; ""."""
    found = _FORMS["elsewhere"].match(_joined(words))
    rest = words[found[0].count(" ") :] if found else ()
    is_quoted = rest[:1] and rest[0][:1] in {"'", '"'} and len(rest[0]) > 1
    return rest[0] if is_quoted else " ".join(rest)


def reads_shell(command: str) -> bool:
    """Whether what ``command`` is handed as its input is a shell line."""
    words = unwrapped(raw_words(command)).words
    return _FORMS["reads_shell"].match(_joined(words)) is not None


_TAKEN_OFF = ("assigned", "prefix", "runner")


def _joined(words: Sequence[str]) -> str:
    """``words`` with a blank behind each, and no other blank."""
    return "".join(f"{_BLANKS.sub('_', word)} " for word in words)


def _script(words: Sequence[str]) -> str:
    found = _FORMS["shell"].match(_joined(words))
    if found is None:
        return ""
    rest = words[found[0].count(" ") :]
    return " ".join(rest if found["all"] else rest[:1])
