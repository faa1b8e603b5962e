"""Looks through a project for what is defined under a name, or for a file with a digest."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from msgspec import Struct

from .checkout import Checkout, Late, Unreadable
from .languages import GRAMMARS
from .outline import Outline, are_related, is_read, may_define, outline, suffix_of

MOST_COMPARED = 400
"""Files of which the digest is computed, in the search for one that was renamed."""

_LOCKS = ("-lock.json", ".lock", "-lock.yaml", ".min.js")
_MOST_SETTINGS_BYTES = 50_000
_MOST_READ_BYTES = 64_000_000


class Place(Struct, frozen=True):
    """A definition: in which file, under which qualified name, and its digest."""

    path: str
    name: str
    digest: str


class Survey(Struct, frozen=True):
    """What was found. ``is_whole``: the whole project was looked through."""

    places: tuple[Place, ...]
    is_whole: bool


def survey(
    checkout: Checkout,
    names: Collection[str],
    *,
    late: Late,
    keys: Collection[str] = (),
    related_to: str = "",
) -> Survey:
    """Every definition whose last part is one of ``names``, in files of one language, or in all.

    In files of settings only ``keys`` are looked for. It ends early where ``late()`` says so. What
    may define a name, and is not understood, is not looked through.
    """
    places: list[Place] = []
    read_bytes, is_whole = 0, True
    for path in checkout.files():
        if late() or read_bytes > _MOST_READ_BYTES:
            return Survey(tuple(places), is_whole=False)
        if not _is_searched(path, related_to) or (data := checkout.read_listed(path)) is None:
            continue
        read_bytes += len(data)
        asked = names if is_code(path) or related_to else keys
        there = [name for name in asked if may_define(path, data, name)]
        if there and _is_data(path, len(data)):
            is_whole = is_whole and not related_to
        elif there:
            found = outline(path, data)
            places += _places(path, found, there)
            is_whole = is_whole and (not is_code(path) or _tells_of(found, there))
    return Survey(tuple(places), is_whole=is_whole and checkout.is_whole and not late())


def _is_searched(path: str, related_to: str) -> bool:
    if related_to:
        return are_related(path, related_to)
    return is_read(path) and not path.endswith(_LOCKS)


def _is_data(path: str, size: int) -> bool:
    """Whether settings of that size are rather data."""
    return not is_code(path) and size > _MOST_SETTINGS_BYTES


def _tells_of(found: Outline, names: Collection[str]) -> bool:
    """Whether it is known of each of ``names`` if it is defined there."""
    return found.is_whole or all(found.ending_in(name) for name in names)


def _places(path: str, found: Outline, names: Collection[str]) -> Iterator[Place]:
    for own in found.names:
        if own.rpartition(".")[2] in names:
            yield Place(path, own, found.digest_of(own))


def is_code(path: str) -> bool:
    """Whether it is a program, and no file of settings."""
    return suffix_of(path) in GRAMMARS


def find_file(checkout: Checkout, path: str, digest: str, *, twins: int, late: Late) -> str | None:
    """The file that has the ``digest`` which the one at ``path`` had.

    "" if there is none, None if not all that may be it were compared. Short files may be alike by
    chance: one of them is it by its name too, or where nothing was like it before (no ``twins``)
    and it alone is now.
    """
    related = [each for each in checkout.files() if each != path and are_related(each, path)]
    short: list[str] = []
    for each in _likeliest(checkout, related, path)[:MOST_COMPARED]:
        if late():
            return None
        if (data := checkout.read_listed(each)) is None:
            continue
        found = outline(each, data)
        if found.digest() == digest:
            if found.has_substance():
                return each
            short.append(each)
    name = PurePosixPath(path).name
    named = [each for each in short if PurePosixPath(each).name == name]
    likely = named or (short if twins == 0 else [])
    if len(likely) == 1:
        return likely[0]
    return "" if checkout.is_whole and len(related) <= MOST_COMPARED and not late() else None


def count_like(checkout: Checkout, path: str, size: int, digest: str, *, late: Late) -> int:
    """How many other files are the same as the one at ``path``; -1 where not all were seen."""
    count = 0
    for each in checkout.files():
        if late():
            return -1
        if each != path and are_related(each, path) and _size(checkout, each) == size:
            data = checkout.read_listed(each)
            count += data is not None and outline(each, data).digest() == digest
    return count if checkout.is_whole and not late() else -1


def _likeliest(checkout: Checkout, paths: list[str], path: str) -> list[str]:
    """Of the same name first, then what came there last."""
    name = PurePosixPath(path).name

    def order(each: str) -> tuple[bool, int]:
        return PurePosixPath(each).name != name, -_came_at(checkout, each)

    return sorted(paths, key=order)


def _came_at(checkout: Checkout, path: str) -> int:
    stamp = _stamp(checkout, path)
    return stamp[4] if stamp else 0


def _size(checkout: Checkout, path: str) -> int:
    stamp = _stamp(checkout, path)
    return stamp[2] if stamp else -1


def _stamp(checkout: Checkout, path: str) -> tuple[int, ...] | None:
    try:
        return checkout.stamp(path)
    except Unreadable:
        return None
