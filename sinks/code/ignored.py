"""The rules of a ``.gitignore``: which files and folders git leaves out, told by their paths."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from msgspec import Struct

from ...config.patterns import regex

_MOST_RULES = 500
_MAX_RULE_CHARS = 256
_ANY_FOLDERS = "(?:[^/]+/)*"
_PART = regex(r"(?P<star>\*+)|(?P<one>\?)|\[(?P<set>[!^]?\]?[^\]/]*)\]|\\(?P<plain>.)|(?P<char>.)")
_OF_SETS = regex(r"([\\\[\]^&~|])")


class _Rule(Struct, frozen=True):
    """One line: what it matches (with a ``/`` at the end), and whether it takes that back."""

    form: str
    is_taken_back: bool
    of_folders: bool


class Ignored:
    """The rules of one ``.gitignore``, in their order: the last one that matches decides.

    What lies in a folder that is ignored is not asked for. Lines that are no rule are left out.
    """

    def __init__(self, text: str) -> None:
        self.is_empty = not text
        # The last rule that matches is in the last group of rules of one kind with such a rule.
        groups = groupby(_rules(text), key=lambda rule: rule.is_taken_back)
        self._groups = [(is_taken_back, *_patterns(rules)) for is_taken_back, rules in groups]
        self._groups.reverse()

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Whether the file or folder at ``path``, seen from where the rules are, is left out."""
        for is_taken_back, of_folders, of_files in self._groups:
            if (of_folders if is_folder else of_files).fullmatch(f"{path}/"):
                return not is_taken_back
        return False


def _rules(text: str) -> Iterator[_Rule]:
    for line in islice(text.splitlines(), _MOST_RULES):
        rule = line.strip()
        if not rule or rule[0] == "#" or len(rule) > _MAX_RULE_CHARS:
            continue
        is_taken_back = rule[0] == "!"
        glob = rule.removeprefix("!")
        form = _form(glob)
        if _is_sound(form):
            yield _Rule(form, is_taken_back, glob.endswith("/"))


def _is_sound(form: str) -> bool:
    try:
        return bool(re.compile(form)) and form != ""
    except re.error:
        return False


def _patterns(rules: Iterable[_Rule]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What matches folders, and what matches files."""
    each = list(rules)
    return (
        _any_of(rule.form for rule in each),
        _any_of(rule.form for rule in each if not rule.of_folders),
    )


def _any_of(forms: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(forms) or r"(?!)")


# --- what a glob matches --------------------------------------------------------------------------


def _form(glob: str) -> str:
    """What matches the paths, with a ``/`` at the end, that ``glob`` names; "" for none.

    A glob without a slash before its end is met at any depth, and ``**`` is any number of folders.
    What was matched up to a star is not tried again: the first place is as good as any later one.
    """
    parts = [part for part in glob.strip("/").split("/") if part]
    if not parts:
        return ""
    if "/" not in glob.removesuffix("/"):
        parts.insert(0, "**")
    first, *others = _between_stars(parts)
    if not others:
        return first
    *middle, last = others
    form = first + "".join(f"(?>{_ANY_FOLDERS}?{block})" for block in middle if block)
    return form + (_ANY_FOLDERS + last if last else "[^/]+/" + _ANY_FOLDERS)


def _between_stars(parts: Iterable[str]) -> list[str]:
    """The forms of the parts of a path between those that are ``**``."""
    blocks = [""]
    for part in parts:
        if part == "**":
            blocks.append("")
        else:
            blocks[-1] += f"{_part_form(part)}/"
    return blocks


def _part_form(part: str) -> str:
    """What matches one part of a path."""
    pieces = [""]
    for found in _PART.finditer(part):
        if found["star"]:
            pieces.append("")
        elif found["one"]:
            pieces[-1] += "[^/]"
        elif found["set"] is not None:
            pieces[-1] += _set_form(found["set"])
        else:
            pieces[-1] += re.escape(found["plain"] or found["char"])
    first, *others = pieces
    if not others:
        return first
    *middle, last = others
    return first + "".join(f"(?>[^/]*?{piece})" for piece in middle if piece) + f"[^/]*{last}"


def _set_form(said: str) -> str:
    """One character of a set, or, after ``!``, any other one; never a slash."""
    is_other = said[:1] in {"!", "^"}
    inner = re.sub("-+", "-", _OF_SETS.sub(r"\\\1", said[1:] if is_other else said))
    return f"(?!/)[{'^' if is_other else ''}{inner}]" if inner else re.escape(f"[{said}]")
