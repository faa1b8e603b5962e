"""From what a text names to anchors, and what became of an anchor: where each of it is now.

A symbol is looked for in the files that the text names, and else in the whole project, where it
must be defined in exactly one place. Where a file is named and a symbol of it, the symbol counts.
What is anchored stays the same, moves, changes or goes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from msgspec.structs import replace

from ...bus.anchors import (
    MAX_ANCHORS,
    MAX_SYMBOL_CHARS,
    Anchor,
    AnchorState,
    CodeName,
    State,
    is_inside,
)
from ...config.patterns import regex
from .checkout import Checkout, Late, Unreadable, places_of
from .forms import VERSION
from .outline import Outline, are_related, mentions, outline
from .survey import Place, Survey, count_like, find_file, is_code, survey

_MOST_SEARCHED = 8
_MOST_NAMED_FILES = 8
_COMMAND_FILES = {
    "make": (("Makefile", "makefile", "GNUmakefile"), ""),
    "just": (("justfile", "Justfile", ".justfile"), ""),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), (("package.json",), "scripts.")),
}
_SECRET_KEY = regex(
    r"(?:.*[._-])?(?:password|passwd|passphrase|secret|secrets|api[_-]?key|private[_-]?key"
    r"|credentials?|(?:access|auth|bearer|refresh)[_-]?token)",
    re.IGNORECASE,
)
_FILE_NAME = regex(r"[^/]*\.[A-Za-z]\w*|Makefile|Dockerfile|[Jj]ustfile")

Told = Callable[[tuple[Anchor, ...]], None]


def resolve(
    names: Sequence[CodeName],
    checkout: Checkout,
    *,
    folder: str = "",
    late: Late,
    tell: Told = lambda _: None,
) -> tuple[Anchor, ...]:
    """The anchors of what a text names, in its order, at most 8, their commits still empty.

    ``folder`` is where in the project the text was written. ``tell`` gets what is known before the
    whole project is searched. It ends early where ``late()`` says so.
    """
    resolver = _Resolver(names, checkout, folder, late)
    resolver.look_in_files()
    tell(resolver.anchors())
    resolver.search()
    return resolver.anchors()


class _Resolver:
    """Finds the anchors of one text: a slot for each name."""

    def __init__(
        self, names: Sequence[CodeName], checkout: Checkout, folder: str, late: Late
    ) -> None:
        self._names = names
        self._checkout = checkout
        self._folder = folder
        self._late = late
        self._slots: dict[int, Anchor] = {}
        self._files: dict[str, Outline] = {}
        self._sizes: dict[str, int] = {}

    # --- what the text names itself --------------------------------------------------------------

    def look_in_files(self) -> None:
        for slot, name in enumerate(self._names):
            if name.kind == "path" and len(self._files) < _MOST_NAMED_FILES:
                self._name_file(slot, name)
        for slot, name in enumerate(self._names):
            if name.kind == "symbol":
                self._find_in_files(slot, name)
            elif name.kind == "command":
                self._find_command(slot, name)

    def _name_file(self, slot: int, name: CodeName) -> None:
        path = self._located(name.value)
        found = self._opened(path) if path else None
        if found is None:
            return
        self._files[path] = found
        symbol = found.at_line(name.line) if name.line else ""
        self._put(slot, path, symbol, found)

    def _located(self, named: str) -> str:
        """The path from the top of the file that is ``named``; "" for none, or for several."""
        plain = named.replace("\\", "/").removeprefix("./").rstrip("/")
        if plain.startswith("/"):
            plain = _below(self._checkout.top, plain)
        if path := self._first(plain):
            return path
        if not is_inside(plain) or not _FILE_NAME.fullmatch(PurePosixPath(plain).name):
            return ""
        ending = f"/{plain}"
        found = [path for path in self._checkout.files() if path.endswith(ending)]
        is_sure = len(found) == 1 and self._checkout.is_whole and not self._late()
        return found[0] if is_sure else ""

    def _first(self, named: str) -> str:
        return next(filter(self._is_there, places_of(named, self._folder)), "")

    def _is_there(self, path: str) -> bool:
        try:
            return self._checkout.stamp(path) is not None
        except Unreadable:
            return False

    def _opened(self, path: str) -> Outline | None:
        try:
            read = self._checkout.read(path)
        except Unreadable:
            return None
        if read is None:
            return None
        self._sizes[path] = read.stamp[2]
        return outline(path, read.data)

    def _find_in_files(self, slot: int, name: CodeName) -> None:
        found = [
            (path, own, file)
            for path, file in self._files.items()
            for own in _matching(file, path, name.value)
        ]
        if len(found) == 1:
            path, own, file = found[0]
            self._put(slot, path, own, file)

    def _find_command(self, slot: int, name: CodeName) -> None:
        files, prefix = _COMMAND_FILES[name.tool]
        for file in files:
            path = self._first(file)
            found = self._opened(path) if path else None
            if found is not None and f"{prefix}{name.value}" in found.names:
                self._put(slot, path, f"{prefix}{name.value}", found)
                return

    def _put(self, slot: int, path: str, symbol: str, found: Outline) -> None:
        digest = found.digest_of(symbol) if symbol else found.digest()
        if len(symbol) > MAX_SYMBOL_CHARS or not digest or not symbol.isprintable():
            return
        if symbol and not is_code(path) and _SECRET_KEY.fullmatch(symbol):
            return
        self._slots[slot] = Anchor(path=path, symbol=symbol, digest=digest, twins=-1)

    # --- the whole project -----------------------------------------------------------------------

    def search(self) -> None:
        """Look for the other symbols, and count what else is like those that were found."""
        open_slots = [
            slot
            for slot, name in enumerate(self._names)
            if slot not in self._slots and name.kind == "symbol" and name.distinctive
        ][:_MOST_SEARCHED]
        sought = [self._names[slot].value for slot in open_slots]
        symbols = [one for one in self._slots.values() if one.symbol]
        wanted = {_last(name) for name in (*sought, *(one.symbol for one in symbols))}
        keys = {_last(name) for name in sought if _may_be_key(name)}
        keys |= {_last(one.symbol) for one in symbols if not is_code(one.path)}
        if wanted:
            seen = survey(self._checkout, wanted, keys=keys, late=self._late)
            for slot in open_slots if seen.is_whole else ():
                self._settle(slot, seen)
            for slot, one in self._slots.items():
                if one.symbol and seen.is_whole:
                    self._slots[slot] = replace(one, twins=_twins(one, seen.places))
        for slot, one in self._slots.items():
            if not one.symbol and one in self.anchors():
                size = self._sizes[one.path]
                count = count_like(self._checkout, one.path, size, one.digest, late=self._late)
                self._slots[slot] = replace(one, twins=count)

    def _settle(self, slot: int, seen: Survey) -> None:
        name = self._names[slot].value
        found = [place for place in seen.places if _is_meant(place, name)]
        if len(found) == 1:
            file = self._opened(found[0].path)
            if file is not None:
                self._put(slot, found[0].path, found[0].name, file)

    # --- the result ------------------------------------------------------------------------------

    def anchors(self) -> tuple[Anchor, ...]:
        """In the order of the text, each once; no file or class beside a part of it."""
        found = {(one.path, one.symbol): one for _, one in sorted(self._slots.items())}
        places = [place for place in found if not any(_holds(place, other) for other in found)]
        return tuple(found[place] for place in places)[:MAX_ANCHORS]


def _holds(place: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether ``other`` is a part of ``place``."""
    (path, symbol), (other_path, other_symbol) = place, other
    if path != other_path or symbol == other_symbol:
        return False
    return not symbol or other_symbol.startswith(f"{symbol}.")


def _matching(file: Outline, path: str, name: str) -> Iterator[str]:
    """What ``name`` may be in ``file``: a part of a qualified name, or with the module before."""
    found = file.ending_in(name)
    module, _, rest = name.rpartition(".")
    if not found and rest and module.rpartition(".")[2] == PurePosixPath(path).stem:
        found = file.ending_in(rest)
    yield from found


def _is_meant(place: Place, name: str) -> bool:
    """Whether a definition is what ``name`` names; a plain word means no key of a setting."""
    if not is_code(place.path) and not _may_be_key(name):
        return False
    return place.name == name or place.name.endswith(f".{name}") or _has_module(place, name)


def _may_be_key(name: str) -> bool:
    """Whether a name that stands alone may be a setting's key: no plain word is taken for one."""
    return re.search(r"[._-]", name) is not None


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _has_module(place: Place, name: str) -> bool:
    module, _, rest = name.partition(".")
    return bool(rest) and place.name == rest and PurePosixPath(place.path).stem == module


def _twins(anchor: Anchor, places: Sequence[Place]) -> int:
    return sum(
        place.digest == anchor.digest
        and (place.path, place.name) != (anchor.path, anchor.symbol)
        and are_related(place.path, anchor.path)
        for place in places
    )


def _below(top: Path, absolute: str) -> str:
    try:
        return PurePosixPath(absolute).relative_to(top).as_posix()
    except ValueError:
        return ""


def examine(anchor: Anchor, checkout: Checkout, *, late: Late) -> AnchorState:
    """The state of ``anchor`` now.

    None in it where the form is not known, or what was not found was not looked for everywhere.
    """
    if anchor.digest.partition(":")[0] != VERSION:
        return _of(anchor, None)
    try:
        read = checkout.read(anchor.path)
    except Unreadable:
        return _of(anchor, "changed" if _is_there(anchor, checkout) else None)
    if read is None:
        moved = _moved_symbol if anchor.symbol else _moved_file
        state = moved(anchor, checkout, late)
        is_left_out = state.state == "gone" and _is_left_out(anchor, checkout)
        return _of(anchor, None) if is_left_out else state
    found = outline(anchor.path, read.data)
    digest = _digest(anchor, found)
    if digest:
        return _of(anchor, "unchanged" if digest == anchor.digest else "changed")
    if not found.is_whole and mentions(read.data, anchor.symbol):
        return _of(anchor, "changed")
    return _moved_symbol(anchor, checkout, late)


def _digest(anchor: Anchor, found: Outline) -> str:
    return found.digest_of(anchor.symbol) if anchor.symbol else found.digest()


def _is_left_out(anchor: Anchor, checkout: Checkout) -> bool:
    """Whether a file of its name has it that lies where nothing is searched."""
    for path in checkout.namesakes(PurePosixPath(anchor.path).name):
        data = checkout.read_listed(path)
        if data is not None and _digest(anchor, outline(path, data)) == anchor.digest:
            return True
    return False


def _of(anchor: Anchor, state: State | None, now: str = "") -> AnchorState:
    return AnchorState(path=anchor.path, symbol=anchor.symbol, state=state, now=now)


def _is_there(anchor: Anchor, checkout: Checkout) -> bool:
    """Whether something stands where a text file was; a disk that cannot be read tells nothing."""
    try:
        return checkout.stamp(anchor.path) is not None
    except Unreadable:
        return False


def _moved_file(anchor: Anchor, checkout: Checkout, late: Late) -> AnchorState:
    if anchor.twins > 0:
        return _of(anchor, "gone")
    now = find_file(checkout, anchor.path, anchor.digest, twins=anchor.twins, late=late)
    if now:
        return _of(anchor, "moved", now)
    return _of(anchor, None if now is None else "gone")


def _moved_symbol(anchor: Anchor, checkout: Checkout, late: Late) -> AnchorState:
    """By its text among everything of its name; of a file that is gone, by its name alone too."""
    last = anchor.symbol.rpartition(".")[2]
    seen = survey(checkout, [last], late=late, related_to=anchor.path)
    if now := _with_text(anchor, seen.places):
        return _of(anchor, "moved", now)
    if not seen.is_whole:
        return _of(anchor, None)
    others = (place for place in seen.places if place.digest != anchor.digest)
    named = {place.path for place in others if place.name == anchor.symbol}
    if len(named) == 1 and not _is_there(anchor, checkout):
        return _of(anchor, "changed", named.pop())
    return _of(anchor, "gone")


def _with_text(anchor: Anchor, places: Sequence[Place]) -> str:
    """Where the same text is now, if it was not there already when the anchor was taken."""
    same = [place for place in places if place.digest == anchor.digest]
    if anchor.twins < 0:
        same = [place for place in same if place.name == anchor.symbol]
    return same[0].path if len(same) > max(0, anchor.twins) else ""
