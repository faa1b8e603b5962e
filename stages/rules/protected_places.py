"""What a memory says is not to be done at a place that others rely on.

The place is an environment, a host, an account or a database, and what is done there has a name of
its own ("no restarts, no seeding"): which commands do it is said in ``wordings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from .claims import READ_CHARS, RULE_FORMS
from .denied_commands import CODE, TRIES
from .named_places import is_named

_FORMS = RULE_FORMS["protected"].forms
_DONE_BY, _CALLED = RULE_FORMS["works"]
_BEFORE = 250


class ProtectedPlace(Struct, frozen=True):
    """``works`` are not to be done at one of ``places``, but for what goes one of the ``ways``."""

    works: frozenset[str]
    places: frozenset[str]
    ways: frozenset[str] = frozenset()

    def keys(self) -> Iterator[str]:
        """What is denied: "work deploy"."""
        yield from (f"work {work}" for work in self.works)

    def is_changed_by(self, command: str, said: str) -> bool:
        """Whether ``command`` does it; ``said`` is all that is said of where it is run."""
        return (
            not self.works.isdisjoint(works_of(command))
            and not any(way in said for way in self.ways)
            and any(is_named(place, said) for place in self.places)
        )


def works_of(command: str) -> frozenset[str]:
    """What ``command`` does, as far as places are protected from it."""
    if _FORMS["not_done"].match(command) or TRIES.search(command):
        return frozenset()
    if _FORMS["harmless"].search(command):
        return frozenset()
    return frozenset(work for work, form in _DONE_BY.items() if form.search(command))


def places_protected(text: str) -> Iterator[ProtectedPlace]:
    """The places at which the memory ``text`` speaks against something."""
    text = text[:READ_CHARS]
    if _FORMS["resolved"].match(text):
        return
    for found in (*_one_way(text), *_denied(text), *_with_leave(text), *_frozen(text)):
        if found.works and found.places:
            yield found


def _one_way(text: str) -> Iterator[ProtectedPlace]:
    """Where something is done by one way alone: "prod is deployed only by the workflow"."""
    for found in _FORMS["one_way"].finditer(text):
        if found["at"] or _FORMS["goes_out"].search(f"{found['done']} {found['then']}"):
            places = _places((found["at"] or found["place"],))
            ways = _ways(found["by"] or found["way"])
            yield ProtectedPlace(frozenset({"deploy"}), places, ways)
    for found in _FORMS["deploys"].finditer(text):
        ways = _ways(found["way"] or found["who"])
        yield ProtectedPlace(frozenset({"deploy"}), frozenset({"prod"}), ways)


def _ways(way: str) -> frozenset[str]:
    return frozenset(code.split(" <")[0] for code in CODE.findall(way))


def _denied(text: str) -> Iterator[ProtectedPlace]:
    """What is denied at a place: "no restarts on db1", "never truncate it"."""
    for found in _FORMS["denied"].finditer(text):
        what = _FORMS["turns"].split(found["what"])[0]
        if not _FORMS["unless"].search(what) and not CODE.search(what):
            yield ProtectedPlace(_works(what), _where(what, text[: found.start()]))


def _with_leave(text: str) -> Iterator[ProtectedPlace]:
    """What somebody has to be asked about: "before seeding there, ask Ana"."""
    for found in _FORMS["before"].finditer(text):
        what = found["what"] or found["then"]
        yield ProtectedPlace(_works(what), _where(what, text[: found.start()]))
    for found in _FORMS["needs_leave"].finditer(text):
        before = text[max(0, found.start() - _BEFORE) : found.start()]
        yield ProtectedPlace(_works(_statement(before)), _places(places_named(before)))


def _frozen(text: str) -> Iterator[ProtectedPlace]:
    """Where nothing is to be changed for now: "the db qa_main is frozen"."""
    for found in _FORMS["frozen"].finditer(text):
        subject = _statement(text[max(0, found.start() - _BEFORE) : found.start()]).strip()
        named = list(places_named(subject))
        if subject.count(" ") > 1:  # of "the cache of prod is frozen" the cache is
            named = [one for one in named if not _FORMS["environment"].fullmatch(one)]
        works = {"delete", "edit"} if found["kept"] else {"write"}
        yield ProtectedPlace(frozenset(works), _places(named))


def _statement(before: str) -> str:
    """The begin of the statement that goes on behind ``before``."""
    return _FORMS["begins"].split(before)[-1]


def _works(what: str) -> frozenset[str]:
    words = set(_FORMS["word"].findall(what.casefold()))
    return frozenset(work for work, called in _CALLED.items() if not called.isdisjoint(words))


def _where(what: str, before: str) -> frozenset[str]:
    """The places that ``what`` names, or that "there" and "it" stand for."""
    named = [one for found in _FORMS["at"].finditer(what) for one in places_named(found[0])]
    if not named and _FORMS["pronoun"].search(what):
        named = list(places_named(before[-_BEFORE:]))
    return _places(named)


def places_named(text: str) -> Iterator[str]:
    """The environments, hosts and accounts that ``text`` names, as it is written."""
    for found in _FORMS["place"].finditer(text):
        parts = found["place"].split("/")
        yield from parts if all(map(_FORMS["host"].search, parts)) else (found["place"],)


def _places(named: Iterable[str]) -> frozenset[str]:
    """Those of ``named`` that are told from files, tickets and plain words."""
    stripped = (one.strip("`./") for one in named)
    return frozenset(one.casefold() for one in stripped if _is_place(one))


def _is_place(named: str) -> bool:
    if not named or _FORMS["file"].search(named) or _FORMS["ticket"].fullmatch(named):
        return False
    named = named.casefold()
    is_path = "/" in named and "://" not in named and "*" not in named
    return not is_path and _FORMS["told"].search(named) is not None
