"""Where the files and commands of an action lie, seen from the top of the project's working tree.

Nothing is looked at on disk. A path that leads out of the project begins with ``../``.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence

from ...bus.values import Memory
from ...config.patterns import regex

_OUTSIDE_PARTS = 3
_DRIVE = regex(r"[A-Za-z]:/")
_OUTSIDE = regex(r"/|\.\./|\.\.\Z|[A-Za-z]:/")
_FOLDER = r"(?P<folder>'[^'\n]*'|\"[^\"\n]*\"|[^\s;|&()\"'-][^\s;|&()\"']*)"
_GOES = regex(rf"(?:cd|pushd)(?: +-[LP-])? +{_FOLDER}")
_GOES_BACK = regex(r"popd\b|(?:cd|pushd)(?: +-)?[ )}]*\Z")
# Programs that are told by an option where to work, behind at most a few words.
_WORKS_IN = regex(
    r"(?:(?:sudo|command|time) +|\w+=\S+ +)*(?:git|g?make|go|cargo|ninja|npm|pnpm|yarn|uv|poetry"
    r"|terraform|tofu|docker(?: compose|-compose)?)(?: +[\w:=./@-]+){0,4}?"
    rf" +(?:-C[ =]?|--(?:cwd|dir|directory|prefix|project-directory)[ =]|-chdir=) *{_FOLDER}"
)


def seen_from(tops: Sequence[str], path: str, folder: str = "") -> str:
    """``path`` relative to that of ``tops``, the project's working trees, which it lies in.

    One that is in none of them is seen from the first. Where ``path`` is relative, it begins in
    ``folder``, which was seen from there as well. What begins with ``~`` stays as it is.
    """
    path = _slashed(path)
    if path[:1] == "~" or _DRIVE.match(path):
        return path
    path = posixpath.normpath(posixpath.join(tops[0] if tops else "", folder, path))
    if path.startswith("/"):
        inside = [one for one in map(_as_folder, tops) if one and f"{path}/".startswith(one)]
        if inside:
            path = path[len(max(inside, key=len)) :]
        elif tops and tops[0]:
            path = posixpath.relpath(path, tops[0])
    return "" if path == "." else path


def _as_folder(top: str) -> str:
    return top and f"{top.rstrip('/')}/"


def _slashed(path: str) -> str:
    return re.sub(r"/{2,}", "/", path.replace("\\", "/"))


def way_out(path: str) -> str:
    """The first folder outside of the project on the way to ``path``; "" for what is in it.

    ``path`` is as ``seen_from`` gives it: of "../infra/main.tf" it is "infra".
    """
    if not _OUTSIDE.match(path):
        return ""
    parts = [part for part in path.split("/") if part not in {"", ".."}]
    return parts[0] if parts else ".."


def shortened(path: str) -> str:
    """``path``, as ``seen_from`` gives it; of one outside of the project the last parts alone."""
    return "/".join(path.split("/")[-_OUTSIDE_PARTS:]) if way_out(path) else path


def concerns(memory: Memory, outside: str) -> bool:
    """Whether ``memory`` is about what is done in the folder ``outside`` of the project.

    That is as ``way_out`` gives it; "" is the project itself. What a project keeps is about itself,
    unless it names that folder.
    """
    if not outside or memory.scope.kind != "project":
        return True
    return re.search(rf"(?<!\w){re.escape(outside)}(?!\w)", memory.content, re.I) is not None


def directories(commands: Sequence[str], begin: str, tops: Sequence[str]) -> Iterator[str]:
    """Where each of the single ``commands`` of a shell line is run, as ``seen_from`` gives it.

    ``begin`` is where the line begins.
    """
    here, outer = begin, list[str]()
    for command in commands:
        deeper = command.count("(") - command.count(")")
        outer += [here] * deeper
        plain = command.lstrip("({ ")
        if found := _GOES.match(plain):
            here = seen_from(tops, found["folder"].strip("'\""), here)
        elif _GOES_BACK.match(plain):
            here = begin
        works_in = _WORKS_IN.match(plain)
        yield seen_from(tops, works_in["folder"].strip("'\""), here) if works_in else here
        for _ in range(min(-deeper, len(outer))):
            here = outer.pop()
