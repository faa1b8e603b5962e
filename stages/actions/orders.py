"""What an order proposes: the files, libraries, values and commands that it names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ..text.lexicons import load_wordings
from ..text.unicode import one_line
from .reading import ActionText

_FORMS, _WORDS = load_wordings(Path(__file__).with_name("order_forms.toml"))["orders"]

ORDER_CHARS = 1_000
"""Of a longer order only the beginning is read."""


def read_order(text: str) -> ActionText:
    """What the order ``text`` would have done, as far as it names it itself.

    A file that it says to change is one that is changed, a library that it says to use one that is
    imported, a value that it says to set one that is set, and a command that it says to run one
    that is run; ``purpose`` is all that it says.
    """
    text = _FORMS["breaks"].sub("\n", text[:ORDER_CHARS])
    edits = _FORMS["edits"].finditer(text)
    edited = (found for found in edits if not _FORMS["spares"].search(found[0]))
    files = (found["path"] or found["place"] for found in edited)
    paths = tuple(f"any{path}" if path.startswith(".") else path for path in files)
    uses = [found for found in _FORMS["uses"].finditer(text) if not _ends_use(text, found)]
    used = (one for found in uses for one in _FORMS["and"].split(found["things"]))
    things = (one for one in used if one.casefold() not in _WORDS["made"])
    if uses and not paths and (used_in := _FORMS["used_in"].search(text, uses[0].end())):
        paths = (used_in["place"],)
    imports = (f"import '{one}'" if one[0] == "@" else f"import {one}" for one in things)
    sets = (f"{found['key']} = {found['value']}" for found in _FORMS["sets"].finditer(text))
    changes = _FORMS["statement"].finditer(text)
    statements = (f"{found['does'].upper()} {found['rest']}" for found in changes)
    return ActionText(
        path=paths[0] if paths else "",
        other_paths=paths[1:],
        purpose=one_line(text),
        added=(*imports, *sets, *statements),
        commands=tuple(dict.fromkeys(_ordered_commands(text))),
        is_existing=True,
        is_ordered=True,
    )


def _ends_use(text: str, found: re.Match[str]) -> bool:
    """Whether what is used there is to be used no more: "remove what is still using moment"."""
    told = found[0].casefold().startswith("with")
    ending = _FORMS["removes"] if told else _FORMS["removes_or_replaces"]
    return ending.search(text, max(0, found.start() - 80), found.start()) is not None


def _ordered_commands(text: str) -> Iterator[str]:
    for found in _FORMS["quoted_command"].finditer(text):
        before = text[max(0, found.start() - 40) : found.start()]
        if _FORMS["runs_it"].search(before) and not _FORMS["spares"].search(before):
            yield found[1]
    for pattern in (_FORMS["run"], _FORMS["typed"]):
        for found in pattern.finditer(text):
            yield _FORMS["command_end"].sub("", found["command"])
    for found in _FORMS["with_option"].finditer(text):
        yield found["option"]
    for found in _FORMS["git_option"].finditer(text):
        yield f"git {found['verb']} {found['option']}"
    for found in _FORMS["force_push"].finditer(text):
        yield f"git push --force{found['rest']}"
