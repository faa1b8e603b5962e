"""The options that a memory speaks against or asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from ..shell.invocations import invocation_of
from .claims import READ_CHARS, RULE_FORMS
from .denied_commands import (
    CODE,
    KNOWN_PROGRAM,
    TRIES,
    DeniedCommand,
    as_written,
    specific_places,
)
from .named_places import is_named
from .protected_places import places_named

_FORMS, _WORDS = RULE_FORMS["options"]


class DeniedOption(Struct, frozen=True):
    """An option that no command is to have, or none of ``program``, or none about ``targets``."""

    option: str
    value: str = ""
    program: str = ""
    targets: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        """The option."""
        return self.option

    def is_given_to(self, command: str) -> bool:
        """Whether the plain ``command`` has it."""
        run = invocation_of(command)
        if self.program and run.words[:1] != (self.program,):
            return False
        return (
            not TRIES.search(command)
            and not _FORMS["tries"].search(command)
            and self.option in run.options
            and (not self.value or self.value in command)
            and (not self.targets or any(is_named(one, command) for one in self.targets))
        )


def option_keys(command: str) -> Iterator[str]:
    """The keys that a denied option has which the plain ``command`` could be given."""
    yield from invocation_of(command).options


def options_against(text: str) -> Iterator[DeniedOption]:
    """The options that the memory ``text`` speaks against."""
    text = text[:READ_CHARS]
    is_over = _FORMS["resolved"].match(text) is not None
    for found in _FORMS["spoils"].finditer(text) if not is_over else ():
        if _FORMS["asks"].search(found["rest"]):
            yield _spoiling(found)
    for found in _FORMS["never"].finditer(text):
        targets = _targets(found["rest"])
        if targets or not _FORMS["about"].match(found["rest"]):
            yield DeniedOption(found["option"], targets=targets)
    for found in _FORMS["off"].finditer(text):
        yield DeniedOption(found["option"])


def _spoiling(found: re.Match[str]) -> DeniedOption:
    program = (found["command"] or "").casefold().partition(" ")[0]
    return DeniedOption(
        found["option"],
        value=found["value"] or "",
        program="" if _FORMS["no_program"].match(program) else program,
        targets=_targets(found["there"] or ""),
    )


def _targets(rest: str) -> frozenset[str]:
    return frozenset(_FORMS["target"].findall(rest))


def commands_by_option(text: str) -> Iterator[DeniedCommand]:
    """The commands that are denied unless they have an option, or together with others."""
    text = text[:READ_CHARS]
    yield from _always(text)
    yield from _always_given(text)
    yield from _listed(text)
    if not _FORMS["resolved"].match(text):
        yield from _harmful(text)


def _harmful(text: str) -> Iterator[DeniedCommand]:
    """The commands that are said to do harm where another way is told."""
    for found in _FORMS["harmful"].finditer(text):
        rest = found["rest"]
        asked = frozenset(_FORMS["option"].findall(rest))
        places = _where(found["there"] or "")
        if found["there"] and not places:
            continue
        if (found["bare"] and not asked) or not _FORMS["asks"].search(rest):
            continue
        for command in _commands(found["codes"]):
            own = invocation_of(command).options
            yield DeniedCommand(command, True, places, spared=asked - own)


def _where(there: str) -> frozenset[str]:
    named = frozenset(one.casefold() for one in places_named(there))
    return named | specific_places(there) | frozenset(_FORMS["port"].findall(there))


def _commands(codes: str) -> Iterator[str]:
    """The commands in ``codes``; one without a program is of that of the first."""
    program = ""
    for code in CODE.findall(codes):
        command = _FORMS["rest_of_code"].sub("", code).strip()
        if " " not in command or not _FORMS["program"].match(command):
            return
        if program and not KNOWN_PROGRAM.match(command):
            command = f"{program} {command}"
        program = program or command.partition(" ")[0]
        yield as_written(command)


def _always(text: str) -> Iterator[DeniedCommand]:
    """The commands that always have options."""
    for found in _FORMS["always"].finditer(text):
        code = found["code"] or f"{found['command']} {found['options']}"
        code = _FORMS["rest_of_code"].sub("", code)
        run = invocation_of(as_written(code) if code.strip() else "")
        words = tuple(word for at, word in enumerate(run.words) if at not in run.values)
        for option in run.options:
            if (
                len(words) > 1
                and option.startswith("-")
                and option.strip("-")
                and "=" not in option
            ):
                yield DeniedCommand(" ".join(words), True, lacking=option)


def _always_given(text: str) -> Iterator[DeniedCommand]:
    """What changes something, and is always told where."""
    for found in _FORMS["always_given"].finditer(text):
        for named in set(_FORMS["of_places"].findall(text.casefold())):
            program = "kubectl" if named == "kube" else named
            spared = _WORDS["only_look"]
            yield DeniedCommand(program, True, lacking=found["option"], spared=spared)


def _listed(text: str) -> Iterator[DeniedCommand]:
    """The commands that stand in parentheses behind what they do: "the volume (down -v)"."""
    for found in _FORMS["listed"].finditer(text):
        is_of_docker = _FORMS["of_docker"].search(found["what"])
        for one in found["list"].split(",") if is_of_docker else ():
            for program in ("docker compose", "docker"):
                yield DeniedCommand(f"{program} {one.strip().removeprefix('or ')}", True)
