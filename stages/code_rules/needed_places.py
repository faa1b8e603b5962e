"""The places where names are used alone, or are not to be used, by what a memory says.

"source() in models/staging only", "handlers never call http.Error".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from ..rules.claims import READ_CHARS, RULE_FORMS
from ..rules.denied_files import PLACE, PathPattern
from .denied_names import DeniedName
from .layers import LAYER, places_of_layers

_PLACED = RULE_FORMS["placed"].forms
_FORMS = RULE_FORMS["places_said"].forms


def names_out_of_place(text: str) -> Iterator[DeniedName]:
    """The names that the memory ``text`` keeps out of places, or in them."""
    text = text[:READ_CHARS]
    for form in _PLACED.values():
        yield from chain.from_iterable(map(_out_of_place, form.finditer(text)))


def _out_of_place(found: re.Match[str]) -> Iterator[DeniedName]:
    said = found.groupdict()
    within = _places(said.get("there") or "")
    allowed = _places(said.get("list") or said.get("kinds") or said.get("where") or "")
    if bool(within) != bool(allowed):
        yield from (DeniedName(name, True, False, allowed, within) for name in _names(said))


def _names(said: dict[str, str | None]) -> Iterator[str]:
    listed = " , ".join(filter(None, (said.get("names"), said.get("more"))))
    for quoted, bare in _FORMS["listed_name"].findall(listed):
        name, bracket, _ = (quoted or bare).partition("(")
        yield f"{name}()" if bracket else name
    yield from _FORMS["verb"].findall(said.get("verbs") or "")


def _places(said: str) -> tuple[PathPattern, ...]:
    """The folders, files and layers that are ``said``; none if one of them is something else."""
    named = [tuple(_places_of(one)) for one in _FORMS["said_place"].findall(said)]
    return tuple(chain.from_iterable(named)) if all(named) else ()


def _places_of(said: str) -> Iterator[PathPattern]:
    if all(map(LAYER.fullmatch, said.strip("/").split("/"))):
        yield from places_of_layers(said)
    elif PLACE.fullmatch(said):
        yield PathPattern(said.strip("./"), existing=False)
    elif said.endswith("_"):
        yield PathPattern(f"*{said}*", existing=False)
