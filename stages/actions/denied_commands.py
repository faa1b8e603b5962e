"""The commands that a memory speaks against by name, and those that it asks an option of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

from msgspec import Struct

from .claims import AGAINST, NEGATIONS, READ_CHARS, RULE_FORMS, cues_in
from .reading import as_usual

_FORMS, _WORDS = RULE_FORMS["commands"]

TRIES = _FORMS["tries"]
"""Options with which a command only says what it would do."""

NEEDED_FIRST = _FORMS["needed_first"]
"""Where a memory may name what has to be run before."""

CODE = _FORMS["code"]

_DENIED_WITHIN = 40
_HARM_WITHIN = 60
_MOST_BETWEEN = 3
_ONE_LETTER = {"--signoff": "-s", "--force": "-f", "--verbose": "-v", "--all": "-a"}


class Invocation(Struct, frozen=True, dict=True):
    """A command as it is run: its words in order, and its options."""

    words: tuple[str, ...]
    options: frozenset[str]

    def has(self, option: str, value: str = "") -> bool:
        """Whether ``option`` is there, also as one letter of several, and its ``value`` if any."""
        if value and not any(value in one for one in (*self.words, *self.options)):
            return False
        if option in self.options or (option[:2] in self.options and option[2:] in self.words):
            return True
        short = _ONE_LETTER.get(option, option)
        return len(short) == 2 and any(
            one[:1] == "-" != one[1:2] and short[1] in one[1:] for one in self.options
        )


def invocation_of(command: str) -> Invocation:
    """The plain ``command``, read; an option has its value where that is joined by ``=``."""
    tokens = command.split()
    words = tuple(token for token in tokens if not token.startswith("-"))
    options = (token for token in tokens if token.startswith("-"))
    return Invocation(words, frozenset(part for one in options for part in (one, _unset(one))))


def _unset(option: str) -> str:
    return option.partition("=")[0]


class DeniedCommand(Struct, frozen=True, dict=True):
    """A command that a memory speaks against; ``more`` is whether also with more arguments.

    Where ``places`` are named, the action has to name one of them. With ``lacking``, it is denied
    where that option is missing.
    """

    command: str
    more: bool
    places: frozenset[str] = frozenset()
    lacking: str = ""

    @property
    def key(self) -> str:
        """The program."""
        return self.command.partition(" ")[0]

    @cached_property
    def _denied(self) -> Invocation:
        return invocation_of(self.command)

    def is_run_by(self, command: str, said: str) -> bool:
        """Whether ``command``, in its plain form, is this one; ``said`` is all that is run."""
        run = invocation_of(command)
        if self.lacking:
            option, *value = self.lacking.split()[:2]
            letter = option[1:3] if option[:2] == "--" else option
            lacks = not (run.has(option, *value) or (letter in run.options and not value))
            return lacks and self._is_in(run) and self._is_there(said)
        if not self.more:
            return run == self._denied and self._is_there(said)
        return self._is_in(run) and self._is_there(said) and not TRIES.search(command)

    def is_about(self, command: str) -> bool:
        """Whether ``command`` is of the same program, and the same command of it if it has any."""
        return _follows(self._denied.words[:2], invocation_of(command).words)

    def _is_in(self, run: Invocation) -> bool:
        return _follows(self._denied.words, run.words) and all(map(run.has, self._denied.options))

    def _is_there(self, said: str) -> bool:
        return not self.places or any(
            re.search(rf"(?<![\w-]){re.escape(place)}{_ends(place)}", said, re.IGNORECASE)
            for place in self.places
        )


def _ends(place: str) -> str:
    """What may not follow ``place``: no other place is named like "billing-worker-1"."""
    return r"(?!\w)" if _FORMS["specific"].search(place) else r"(?![\w-])"


def _follows(denied: Sequence[str], words: Sequence[str]) -> bool:
    """Whether ``words`` begin with ``denied``, but for some values of options between them."""
    at = 0
    for place, wanted in enumerate(denied):
        near = words[at : at + (_MOST_BETWEEN + 1 if place else 1)]
        if wanted not in near:
            return False
        at += near.index(wanted) + 1
    return bool(denied)


def commands_against(text: str) -> Iterator[DeniedCommand]:
    """The commands that the memory ``text`` speaks against, but none that another one needs first.

    They stand in backticks, are said to be run, or begin with a known program.
    """
    text = text[:READ_CHARS]
    said = cues_in(text)
    against = _spoken_against(text, said)
    if said.isdisjoint(_WORDS["need_cues"]):
        yield from against
        return
    first = list(_FORMS["needs_first"].finditer(text))
    needed = {_written(code) for found in first for code in CODE.findall(found["what"])}
    lacking = chain(_lacking(text), _without_option(text), *map(_needing, first))
    yield from (one for one in chain(lacking, against) if one.command not in needed)


def _spoken_against(text: str, said: frozenset[str]) -> Iterator[DeniedCommand]:
    """Those that no option and no other command makes right."""
    if not said.isdisjoint(_WORDS["subject_cues"]):
        for pattern in (_FORMS["forbidden"], _FORMS["harmful"]):
            for found in pattern.finditer(text):
                yield DeniedCommand(_written(found["command"]), more=True)
    if not said.isdisjoint(NEGATIONS):
        yield from _denied_by_practice(text)
    if not said.isdisjoint(_WORDS["unused_cues"]):
        for found in _FORMS["unused"].finditer(text):
            yield DeniedCommand(found["command"].lower(), more=True)
    for statement in filter(None, _FORMS["statement"].split(text)):
        if denied := AGAINST.search(statement):
            yield from _denied_in(statement, denied.end())


def _lacking(text: str) -> Iterator[DeniedCommand]:
    """The commands that need an option."""
    for found in _FORMS["needs"].finditer(text):
        command = found["code"] or found["run"] or found["to"] or found["command"]
        option = found["option"] or found["given"] or found["passed"]
        places = frozenset({found["place"].casefold()}) if found["place"] else frozenset[str]()
        yield _without(command.split(" run ")[-1], option, places)


def _without_option(text: str) -> Iterator[DeniedCommand]:
    """The commands that are denied, or do harm, without an option."""
    for found in _FORMS["without"].finditer(text):
        harms = _FORMS["verb"].match(found["rest"]) and not _FORMS["fine"].search(found["rest"])
        if found["never"] or harms:
            there = _FORMS["there"].match(found["rest"])
            places = _places(there[0]) if there else frozenset[str]()
            yield _without(found["command"], found["option"], places)


def _needing(found: re.Match[str]) -> Iterator[DeniedCommand]:
    """The commands that need something else first: "`a b` and a c need …"."""
    command = _written(found["code"] or found["command"])
    if found["code"] or found["second"] or "first" in found["what"]:
        yield DeniedCommand(command, more=True)
    if found["second"]:
        yield DeniedCommand(f"{command.partition(' ')[0]} {found['second']}", more=True)


def _without(command: str, option: str, places: frozenset[str]) -> DeniedCommand:
    """``command``, denied without ``option``; who says "commit" or "the images" means a command."""
    command = "docker build" if _FORMS["images"].fullmatch(command) else _written(command)
    command = command[0].lower() + command[1:]
    if _FORMS["git"].match(command):
        command = f"git {command}"
    return DeniedCommand(command, True, places, " ".join(option.split()))


def _denied_by_practice(text: str) -> Iterator[DeniedCommand]:
    """The commands of what has a name of its own: a forced push, a file that is committed."""
    for found in _FORMS["committed"].finditer(text):
        yield DeniedCommand(f"git add {found['file']}", more=True)
    for found in _FORMS["forced"].finditer(text):
        branch = _FORMS["branch"].match(found["rest"])
        places = frozenset({branch["branch"]}) if branch else _places(found["rest"])
        yield DeniedCommand("git push --force", True, places)
        if places:
            yield DeniedCommand("git push --force-with-lease", True, places)


def _denied_in(statement: str, denied: int) -> Iterator[DeniedCommand]:
    """What ``statement`` speaks against; ``denied`` is where its first "never" ends."""
    more = _FORMS["bare"].search(statement) is None
    for code in CODE.finditer(statement):
        between = statement[denied : code.start()]
        close = 0 <= code.start() - denied < _DENIED_WITHIN and not _FORMS["asked"].search(between)
        harms = _FORMS["harms"].search(statement, code.end(), code.end() + _HARM_WITHIN)
        if harms and _FORMS["others"].search(statement, code.end(), harms.start()):
            harms = None
        if (close or harms) and " " in code[1].strip():
            rest = statement[code.end() : harms.start() if harms else len(statement)]
            there = filter(_FORMS["specific"].search, _places(_FORMS["clause_end"].split(rest)[0]))
            yield DeniedCommand(_written(code[1]), more, frozenset(there))
    for named in _FORMS["named"].finditer(statement):
        written = named["any"] or named["known"] or named["program"] or named["script"]
        command, places = _written(written or named["other"]), _places(named["rest"])
        if given := _FORMS["with"].match(named["rest"]):
            command = f"{command} {given['option']}"
        is_told = places or given or not named["program"]
        if is_told and not _FORMS["others"].match(named["rest"].lstrip()):
            yield DeniedCommand(command, more, places)


def _written(command: str) -> str:
    """``command`` as a memory names it, in its usual spelling."""
    return as_usual(" ".join(command.strip("` ").split()))


def _places(rest: str) -> frozenset[str]:
    """The places that ``rest`` names, but for one's own machine."""
    named = [one for one in _FORMS["where"].findall(rest) if not _FORMS["own_place"].search(one)]
    words = _FORMS["place_word"].findall(" ".join(named).casefold())
    return frozenset(words) - _WORDS["place_filler"]
