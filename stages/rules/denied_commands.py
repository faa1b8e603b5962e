"""The commands that a memory speaks against by name, and those that it asks an option of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ...config.patterns import regex
from ..actions.reading import as_usual, plain_commands
from ..shell.invocations import Invocation, follows, invocation_of
from .claims import AGAINST, NEGATIONS, READ_CHARS, RULE_FORMS, cues_in
from .named_places import is_named

_FORMS, _WORDS = RULE_FORMS["commands"]

TRIES = _FORMS["tries"]
"""Options with which a command only says what it would do."""

NEEDED_FIRST = _FORMS["needed_first"]
"""Where a memory may name what has to be run before."""

CODE = _FORMS["code"]
"""What stands in backticks."""

KNOWN_PROGRAM = _FORMS["known_program"]
"""The begin of a command of a program that is used by commands of its own."""

_DENIED_WITHIN = 40
_HARM_WITHIN = 60
_TOLD_WITHIN = 80
_SHORT_VALUE = regex(r"(?<!\S)(-([A-Za-z]) ([^\s-]\S*))")
_PYTHON3 = regex(r"\Apython3(?= \S)")
_SHORTEST_PART = 6
"""So long is an option at least that a longer one may stand for: ``--selector``."""

_SAME_OPTIONS = {"--select": ("--models", "-m")}


class DeniedCommand(Struct, frozen=True, dict=True):
    """A command that a memory speaks against; ``more`` is whether also with more arguments.

    Where ``places`` are named, the action has to name one of them, or with ``anywhere`` no other
    environment. With ``lacking``, it is denied
    where that option, variable or runner is missing. Where one of those is named that are
    ``spared``, it is not denied. With ``limited`` it is denied where that option is more than
    ``most``. A ``command`` that ends with a slash is each script of that folder.
    """

    command: str
    more: bool
    places: frozenset[str] = frozenset()
    lacking: str = ""
    spared: frozenset[str] = frozenset()
    anywhere: bool = False
    limited: str = ""
    most: float = 0.0

    @property
    def _is_folder(self) -> bool:
        return self.command[-1:] == "/"

    @property
    def key(self) -> str:
        """The program, or the last folder."""
        if self._is_folder:
            return f"{self.command.split('/')[-2]}/"
        return self.command.partition(" ")[0]

    @cached_property
    def _denied(self) -> Invocation:
        return invocation_of(self.command)

    def is_run_by(self, command: str, said: str) -> bool:
        """Whether ``command``, in its plain form, is this one; ``said`` is all that is run."""
        if TRIES.search(command):
            return False
        run = invocation_of(self._respelled(command))
        if self.lacking:
            return self._is_in(run) and self._is_there(said) and not self._has_lacking(run, said)
        if self.limited and not self._is_beyond(command):
            return False
        if not self.more:
            return run == self._denied and self._is_there(said)
        return self._is_in(run) and self._is_there(said)

    @cached_property
    def _spellings(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Other forms of what it names: an option joined to its value, or in its long form."""
        python = ((_PYTHON3, "python"),) if self.command.startswith("python ") else ()
        given = (
            (re.compile(rf"(?<!\S)-(?:{key}=?|-{key}[\w-]+[ =]){re.escape(value)}(?!\S)"), found)
            for found, key, value in _SHORT_VALUE.findall(self.command)
        )
        return (*python, *given)

    def _respelled(self, command: str) -> str:
        for other, usual in self._spellings:
            command = other.sub(usual.replace("\\", r"\\"), command)
        return command

    def _is_in(self, run: Invocation) -> bool:
        if self._is_folder:
            return self._holds(run.script)
        return follows(self._denied.words, run) and all(map(run.has, self._denied.options))

    def _holds(self, script: str) -> bool:
        """Whether ``script`` lies in the folder."""
        return f"/{self.command}" in f"/{script}"

    def _has_lacking(self, run: Invocation, said: str) -> bool:
        if not self.lacking.startswith("-"):
            return self.lacking in said
        option, *value = self.lacking.split()[:2]
        if run.has(option, *value):
            return True
        letter = option[1:3] if option[:2] == "--" else option
        same = (letter, *_SAME_OPTIONS.get(option, ()))
        longer = len(option) >= _SHORTEST_PART and any(o.startswith(option) for o in run.options)
        return not value and (longer or not run.options.isdisjoint(same))

    def _is_beyond(self, command: str) -> bool:
        given = re.search(rf"(?<!\S){re.escape(self.limited)}[ =]?(\d+(?:\.\d+)?)(?!\S)", command)
        return given is not None and float(given[1]) > self.most

    def _is_there(self, said: str) -> bool:
        beside = said.replace(self.command, "")
        if any(is_named(place, beside) for place in self.spared):
            return False
        if not self.places or any(is_named(place, said) for place in self.places):
            return True
        return self.anywhere and not _FORMS["environments"].search(beside)


def command_keys(command: str) -> Iterator[str]:
    """The keys that a denied command has which the plain ``command`` could be."""
    program = command.partition(" ")[0]
    yield program
    if program == "python3":
        yield "python"
    yield from (f"{folder}/" for folder in invocation_of(command).script.split("/")[:-1])


def commands_against(text: str) -> Iterator[DeniedCommand]:
    """The commands that the memory ``text`` speaks against, but none that another one needs first.

    They stand in backticks, are said to be run, or begin with a known program.
    """
    text = text[:READ_CHARS]
    found = _denied(text, cues_in(text))
    excepted = chain.from_iterable(_FORMS["spared"].findall(text))
    spared = frozenset(place.rstrip(".").casefold() for place in excepted if place)
    for one in chain.from_iterable(map(_each, _there(found, text))):
        yield replace(one, places=one.places - spared, spared=spared) if spared else one


def _each(denied: DeniedCommand) -> Iterator[DeniedCommand]:
    """Each command of a list such as "kubectl apply/edit/patch"."""
    *before, last = denied.command.split(" ")
    names = last.split("/")
    if len(before) != 1 or len(names) == 1 or not all(map(str.isalpha, names)):
        yield denied
    else:
        yield from (replace(denied, command=f"{before[0]} {name}") for name in names)


def _there(found: Iterable[DeniedCommand], text: str) -> Iterator[DeniedCommand]:
    """``found``, denied where ``text`` begins to say that something is: "prod is deployed by …"."""
    about = _FORMS["is_about"].match(text)
    places = frozenset({(about["place"] or about["at"]).casefold()}) if about else frozenset[str]()
    for one in found:
        is_anywhere = not places or one.places or one.lacking
        yield one if is_anywhere else replace(one, places=places, anywhere=True)


def _denied(text: str, said: frozenset[str]) -> Iterator[DeniedCommand]:
    """The commands that ``text``, whose words are ``said``, speaks against."""
    against = _spoken_against(text, said)
    if said.isdisjoint(_WORDS["need_cues"]):
        yield from against
        return
    first = list(_FORMS["needs_first"].finditer(text))
    needed = {as_written(code) for found in first for code in CODE.findall(found["what"])}
    options = _lacking(text), _without_option(text), _scripts(text)
    lacking = chain(*options, _too_early(text), *map(_needing, first))
    yield from (one for one in chain(lacking, against) if one.command not in needed)


def _spoken_against(text: str, said: frozenset[str]) -> Iterator[DeniedCommand]:
    """Those that no option and no other command makes right."""
    if not said.isdisjoint(_WORDS["subject_cues"]):
        yield from _said_of(text)
    if not said.isdisjoint(NEGATIONS):
        yield from _denied_by_practice(text)
        yield from _passive(text)
        yield from _scripts(text)
    yield from _of_others(text, said)
    is_limit = not said.isdisjoint(_WORDS["limit_cues"])
    for found in _FORMS["limit"].finditer(text) if is_limit else ():
        command = found["code"] or found["known"] or found["of"] or found["to"]
        option, most = found["option"] or found["given"], found["most"] or found["above"]
        yield DeniedCommand(as_written(command), True, limited=option, most=float(most))
    if not said.isdisjoint(_WORDS["unused_cues"]):
        for found in _FORMS["unused"].finditer(text):
            yield DeniedCommand(found["command"].lower(), more=True)
    for statement in filter(None, _FORMS["statement"].split(text)):
        if denied := AGAINST.search(statement):
            yield from _denied_in(statement, denied.end())


def _said_of(text: str) -> Iterator[DeniedCommand]:
    """The commands that are said to be forbidden, or to do harm."""
    for found in _FORMS["forbidden"].finditer(text):
        there = _places(found["there"] or "") or specific_places(found["rest"] or "")
        yield DeniedCommand(as_written(found["command"]), True, there)
    for found in _FORMS["harmful"].finditer(text):
        command, there = found["code"] or found["command"], _places(found["there"] or "")
        if there or not found["there"]:
            yield DeniedCommand(as_written(command), True, there or specific_places(found["rest"]))


def _of_others(text: str, said: frozenset[str]) -> Iterator[DeniedCommand]:
    """The commands that only others run, or that somebody has to be asked about."""
    if said.isdisjoint(_WORDS["others_cues"]):
        return
    for found in _FORMS["left_to_others"].finditer(text):
        command = found["never"] or found["done"] or found["ran"]
        if found["never"] or not _FORMS["only_checks"].search(command):
            yield DeniedCommand(as_written(command), more=True)
    for found in _FORMS["asked_before"].finditer(text):
        yield DeniedCommand(as_written(found["command"]), True, _places(found["there"] or ""))


def _scripts(text: str) -> Iterator[DeniedCommand]:
    """The folders of scripts that are not to be run, or not without an option."""
    for found in _FORMS["scripts"].finditer(text):
        folder, option = found["folder"].removeprefix("./").rstrip("/"), found["option"] or ""
        yield DeniedCommand(f"{folder}/", True, _places(found["rest"] or ""), option)


def _passive(text: str) -> Iterator[DeniedCommand]:
    """The commands that are said never to be run with an option, or without it."""
    for found in _FORMS["passive"].finditer(text):
        command, option, places = found["command"], found["option"], _places(found["rest"])
        if " " not in command:  # "commits", "pushes"
            command = _FORMS["git_noun"].sub("", command.lower())
        denied = _without(command, option, places)
        if not found["without"]:
            denied = DeniedCommand(f"{denied.command} {option}", True, places)
        yield denied


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


def _too_early(text: str) -> Iterator[DeniedCommand]:
    """The commands before which another one is to be run."""
    for found in _FORMS["before"].finditer(text):
        begin = found.start()
        if _FORMS["no_order"].search(text, max(0, begin - _TOLD_WITHIN), begin):
            continue
        names_other = found["what"] or found["known"] or CODE.search(found["ahead"])
        command = found["code"] or found["command"] or found["then"] or found["other"]
        # What is to be done before a commit is done in the hours before it.
        if (names_other or found["other"]) and not command.startswith("git "):
            yield DeniedCommand(_to_run(command), more=True)


def _needing(found: re.Match[str]) -> Iterator[DeniedCommand]:
    """The commands that need something else first: "`a b` and a c need …"."""
    command = _to_run(found["code"] or found["command"])
    if found["code"] or found["second"] or "first" in found["what"]:
        yield DeniedCommand(command, more=True)
    if found["second"]:
        yield DeniedCommand(f"{command.partition(' ')[0]} {found['second']}", more=True)


def _without(command: str, option: str, places: frozenset[str]) -> DeniedCommand:
    """``command``, denied without ``option``; who says "commit" or "the images" means a command."""
    command = "docker build" if _FORMS["images"].fullmatch(command) else as_written(command)
    command = command[0].lower() + command[1:]
    if _FORMS["git"].match(command):
        command = f"git {command}"
    return DeniedCommand(command, True, places, " ".join(option.split()))


def _denied_by_practice(text: str) -> Iterator[DeniedCommand]:
    """The commands of what has a name of its own: a forced push, a file that is committed."""
    for found in _FORMS["committed"].finditer(text):
        yield DeniedCommand(f"git add {found['file']}", more=True)
    for found in _FORMS["git_with"].finditer(text):
        command = f"git {found['verb'].lower()} {found['option']}"
        yield DeniedCommand(command, True, _places(found["rest"]))
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
            there = specific_places(_FORMS["clause_end"].split(rest)[0])
            anywhere = all(map(_FORMS["environment"].search, there))
            yield DeniedCommand(as_written(code[1]), more, there, anywhere=anywhere)
    for named in _FORMS["named"].finditer(statement):
        written = named["any"] or named["known"] or named["program"] or named["script"]
        written = written or named["simple"]
        command, places = as_written(written or named["other"]), _places(named["rest"])
        if given := _FORMS["with"].match(named["rest"]):
            command = f"{command} {given['option']}"
        is_told = places or given or not named["program"]
        more = named["simple"] is not None or not _FORMS["bare"].search(named[0] + named["rest"])
        if is_told and not _FORMS["others"].match(named["rest"].lstrip()):
            yield DeniedCommand(command, more, places)


def as_written(command: str) -> str:
    """``command`` as a memory names it, in its usual spelling; "Helm upgrade" is helm's."""
    program, *rest = command.strip("` ").split()
    usual = as_usual(" ".join((program.casefold() if program.isalpha() else program, *rest)))
    return _PYTHON3.sub("python", usual)


def _to_run(command: str) -> str:
    """``command`` without what only runs it: `bundle exec`, where no other runner is asked for."""
    return next(plain_commands(as_written(command)))


def specific_places(rest: str) -> frozenset[str]:
    """The places that ``rest`` names, but for those that may as well be something else."""
    return frozenset(filter(_FORMS["specific"].search, _places(rest)))


def _places(rest: str) -> frozenset[str]:
    """The places that ``rest`` names, but for one's own machine; branches by how they begin.

    What is excepted is not among them.
    """
    rest = _FORMS["excepts"].split(rest)[0]
    named = [one for one in _FORMS["where"].findall(rest) if not _FORMS["own_place"].search(one)]
    words = _FORMS["place_word"].findall(" ".join(named).casefold())
    filler = _WORDS["place_filler"]
    return frozenset(f"{word}*" if many else word for word, many in words if word not in filler)
