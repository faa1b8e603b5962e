"""The commands that a memory speaks against by name, and those that it asks an option of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from ...config.patterns import regex
from .claims import AGAINST, NEGATIONS, NOT, READ_CHARS, cues_in

TRIES = regex(r"\s--?(?:check|dry[-_]?run|help|noop|what-?if)\b|^make\b.* -n\b")
"""Options with which a command only says what it would do."""

# Programs that are used by a command of theirs: "never run kubectl apply" names one.
_PROGRAMS = (
    "kubectl|helm|terraform|tofu|pulumi|ansible-playbook|git|gh|docker(?: compose)?|podman|npm|pnpm"
    "|yarn|bun|npx|pip3?|uv(?: pip)?|poetry|pipenv|conda|cargo|go|gradlew?|mvn|make|just|alembic"
    "|rails|rake|bundle|composer|artisan|dotnet|mix|prisma|knex|aws|gcloud|az|fly(?:ctl)?|heroku"
    "|vercel|netlify|firebase|supabase|psql|mysql|redis-cli|systemctl|brew|apt(?:-get)?|pytest"
    "|tox|nox|sqitch|flyway|dbt|bazel|nx|turbo|eas|fastlane|kamal|nomad|vault|consul|argocd|flux"
)
_NO_ARGUMENT = (
    "on|in|inside|for|by|to|from|against|with|without|or|and|nor|here|there|directly|anywhere|at|as"
    "|if|when|unless|since|because|it|its|the|an?|any|only|manually|locally|is|are|needs?|requires?"
    "|always|must|again|yourself|please|outside|after|before|until|while|instead|deletes?"
    "|also|breaks?|fails?|hangs?|of|that|this|our|your|all|until|during|would|silently|then|still"
    "|loses?|wipes?|drops?|destroys?|overwrites?|removes?|kills?|resets?|prunes?|takes"
)
_ARGUMENTS = rf"(?: (?!(?:{_NO_ARGUMENT})(?![\w-]))[\w./:=@+-]*[\w+])"
_KNOWN = rf"(?:{_PROGRAMS}){_ARGUMENTS}{{1,4}}"
_ANY = rf"(?!(?:{_NO_ARGUMENT}|more|raw|bare|plain)\b)[\w./-]*\w{_ARGUMENTS}{{0,4}}"
_NAMED = regex(
    rf"\b(?:{NOT}|no)\s++(?:ever |just |directly )?(?:"
    rf"(?:run|running|execute|executing|type|invoke)\s++(?:an? |bare |plain |raw )*(?P<any>{_ANY})"
    rf"|(?:use|call|do|using|calling|with|via|by|a|bare|plain|raw)?\s*+(?P<known>{_KNOWN})"
    rf"|(?:point|aim|connect|run)\s++(?P<program>{_PROGRAMS})"
    r")(?P<rest>[^.;:,\n]*)",
    re.IGNORECASE,
)
_FORBIDDEN = regex(
    rf"(?<![\w-])(?P<command>`[^`\n]{{3,80}}`|{_KNOWN})\s+(?:by hand\s+|locally\s+|manually\s+)?(?:"
    r"(?:is|are)\s+(?:strictly\s+)?(?:forbidden|banned|not allowed|prohibited|off[ -]limits)"
    r"|only\s+(?:ever\s+)?(?:from|via|through|by)\b)",
    re.IGNORECASE,
)
_HARMFUL = regex(
    rf"(?:\A|(?<=[.;:,]\s))`?(?P<command>{_KNOWN})`?\s+(?:also |would |silently |then |still )*"
    r"(?:deletes?|loses?|wipes?|drops?|destroys?|overwrites?|removes?|kills?|resets?|breaks?|prunes?"
    r"|takes down)\b",
    re.IGNORECASE,
)
_FORCED = regex(
    rf"\b(?:{NOT}|no)\s+(?:ever\s+)?force[- ]?push(?:es|ing|en)?(?P<rest>[^.;:,\n]*)",
    re.IGNORECASE,
)
_BRANCH = regex(
    r"\s+(?P<branch>(?:main|master|develop|trunk|release|production)\b"
    r"|[\w-]+(?=/)|[\w-]+(?= branch))"
)
_COMMITTED = regex(
    rf"\b{NOT}\s+(?:ever\s+)?commit(?:ting)?\s+(?:(?:an?|the|any|your)\s+)?`?"
    r"(?P<file>[\w./*-]*\.[\w.*-]*\w)",
    re.IGNORECASE,
)
_NEVER = regex(rf"\b{NOT}\s+(?:ever\s+)?(?:run|call|use)?\s*`?\Z", re.IGNORECASE)
_OPTION = r"--?[A-Za-z][\w-]*(?:=[\w:./-]+| [\w-]+:[\w-]+)?"
_NEEDS = regex(
    rf"(?<![\w-])(?:`(?P<code>[^`\n]{{3,60}})`|(?P<command>[a-z][\w.-]*(?: [\w.:-]+){{0,2}}?))\s+"
    r"(?:here\s+|always\s+|only\s+)?(?:needs|requires|must have|must be (?:run|called) with"
    rf"|only (?:works )?with|(?P<never>without))\s+`?(?P<option>{_OPTION})(?!\w)"
    r"|\b(?:(?P<first>always\s+)?run|always\s+call)\s+(?P<run>[a-z][\w.-]*(?: [\w.:-]+){0,2}?)"
    rf"\s+with\s+`?(?P<given>{_OPTION})`?(?(first)|,? always\b)",
    re.IGNORECASE,
)

_CODE = regex(r"`([^`\n]{3,80})`")
_STATEMENT = regex(
    r"(?<=[.;!?])\s+|\n|→|=>|\bbut\b|\binstead\b(?! of)|(?<!not )(?<!n't )(?<!never )\buse\b"
    r"|,\s+always\b",
    re.IGNORECASE,
)
_HARMS = regex(r"\b(?:break|fail|kill|lose|lost|wipe|hang|crash|destroy|drop|prune)", re.IGNORECASE)
# What is denied is the command as it stands: with more arguments it is another one.
_BARE = regex(r"\b(?:bare|plain|raw|blanket|alone|without)\b", re.IGNORECASE)
# "If the tests fail, run `make clean`", "never merge before `make check` passes".
_ASKED = regex(
    r",|:|\b(?:first|before|after|without|forget|skip|unless|until|instead|then|merge|push|release)\b",
    re.IGNORECASE,
)
_DENIED_WITHIN = 40
_HARM_WITHIN = 60
# "on the release branch", "against prod": where alone it is denied. An agent works on a laptop.
_WHERE = regex(
    r"\b(?:on|in|to|against|from|inside|for|at|auf|sur|en)\s+([^,.;:]{2,60})", re.IGNORECASE
)
_OWN_PLACE = regex(r"\b(?:laptop|machine|workstation|computer|shell|terminal|hand)s?\b", re.I)
_PLACE_WORD = regex(r"[\w./-]*\w")
_PLACE_FILLER = frozenset(
    "a an the or and any our your this that it repo repository branch branches here there project"
    " codebase monorepo purpose ci env environment environments db database cluster".split()
)
_MOST_BETWEEN = 3


_NEED_CUES = frozenset("needs requires must only without always".split())
_SUBJECT_CUES = frozenset(
    "forbidden banned allowed prohibited off only delete deletes lose loses wipe wipes drop drops"
    " destroy destroys overwrite overwrites remove removes kill kills reset resets break breaks"
    " prune prunes takes".split()
)


_ONE_LETTER = {"--signoff": "-s", "--force": "-f", "--verbose": "-v", "--all": "-a"}


class Invocation(Struct, frozen=True, dict=True):
    """A command as it is run: its words in order, and its options."""

    words: tuple[str, ...]
    options: frozenset[str]

    def has(self, option: str, value: str = "") -> bool:
        """Whether ``option`` is there, also as one letter of several, and its ``value`` if any."""
        if value and not any(value in one for one in (*self.words, *self.options)):
            return False
        if option in self.options:
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
            return self._is_in(run) and not run.has(*self.lacking.split()[:2])
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
            re.search(rf"(?<![\w-]){re.escape(place)}(?![\w-])", said, re.IGNORECASE)
            for place in self.places
        )


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
    """The commands that the memory ``text`` speaks against.

    They stand in backticks, are said to be run, or begin with a known program.
    """
    text = text[:READ_CHARS]
    said = cues_in(text)
    if not said.isdisjoint(_NEED_CUES):
        for found in _NEEDS.finditer(text):
            command = found["code"] or found["run"] or found["command"].split(" run ")[-1]
            option = found["option"] or found["given"]
            if found["never"] and not _NEVER.search(text, 0, found.start()):
                continue  # "we install without --force"
            yield DeniedCommand(command, more=True, lacking=" ".join(option.split()))
    if not said.isdisjoint(_SUBJECT_CUES):
        for pattern in (_FORBIDDEN, _HARMFUL):
            for found in pattern.finditer(text):
                yield DeniedCommand(_written(found["command"]), more=True)
    if not said.isdisjoint(NEGATIONS):
        yield from _denied_by_practice(text)
    for statement in filter(None, _STATEMENT.split(text)):
        if denied := AGAINST.search(statement):
            yield from _denied_in(statement, denied.end())


def _denied_by_practice(text: str) -> Iterator[DeniedCommand]:
    """The commands of what has a name of its own: a forced push, a file that is committed."""
    for found in _COMMITTED.finditer(text):
        yield DeniedCommand(f"git add {found['file']}", more=True)
    for found in _FORCED.finditer(text):
        branch = _BRANCH.match(found["rest"])
        places = frozenset({branch["branch"]}) if branch else _places(found["rest"])
        yield DeniedCommand("git push --force", True, places)
        if places:
            yield DeniedCommand("git push --force-with-lease", True, places)


def _denied_in(statement: str, denied: int) -> Iterator[DeniedCommand]:
    more = _BARE.search(statement) is None
    for code in _CODE.finditer(statement):
        between = statement[denied : code.start()]
        close = 0 <= code.start() - denied < _DENIED_WITHIN and not _ASKED.search(between)
        harms = _HARMS.search(statement, code.end(), code.end() + _HARM_WITHIN)
        if (close or harms) and " " in code[1].strip():
            yield DeniedCommand(_written(code[1]), more)
    for named in _NAMED.finditer(statement):
        command = _written(named["any"] or named["known"] or named["program"])
        places = _places(named["rest"])
        if places or not named["program"]:
            yield DeniedCommand(command, more, places)


def _written(command: str) -> str:
    return " ".join(command.strip("` ").split())


def _places(rest: str) -> frozenset[str]:
    """The places that ``rest`` names, but for one's own machine."""
    named = (where for where in _WHERE.findall(rest) if not _OWN_PLACE.search(where))
    words = (word.casefold() for where in named for word in _PLACE_WORD.findall(where))
    return frozenset(word for word in words if word not in _PLACE_FILLER)
