"""The commands that a memory speaks against by name, and those that it asks an option of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from ...config.patterns import regex
from .claims import AGAINST, NEGATIONS, NOT, READ_CHARS, cues_in
from .reading import as_usual

TRIES = regex(r"\s--?(?:check|dry[-_]?run|help|noop|what-?if)\b|^make\b.* -n\b")
"""Options with which a command only says what it would do."""

# Programs that are used by a command of theirs: "never run kubectl apply" names one.
_PROGRAMS = (
    "kubectl|helm|terraform|tofu|pulumi|ansible-playbook|git|gh|docker(?: compose)?|podman|npm|pnpm"
    "|yarn|bun|npx|pip3?|uv(?: pip)?|poetry|pipenv|conda|cargo|go|gradlew?|mvn|make|just|alembic"
    "|rails|rake|bundle|composer|artisan|dotnet|mix|prisma|knex|aws|gcloud|az|fly(?:ctl)?|heroku"
    "|vercel|netlify|firebase|supabase|psql|mysql|redis-cli|systemctl|brew|apt(?:-get)?|pytest"
    "|tox|nox|sqitch|flyway|dbt|bazel|nx|turbo|eas|fastlane|kamal|nomad|vault|consul|argocd|flux"
    "|pod|cmake|gunicorn|celery|vitest|jest|playwright|cypress|flutter|dart|expo|xcodebuild|deno|bq"
    "|terragrunt|helmfile|ansible|wrangler|cdk|tsc|vite"
)
_NO_ARGUMENT = (
    "on|in|inside|for|by|to|from|against|with|without|or|and|nor|here|there|directly|anywhere|at|as"
    "|if|when|unless|since|because|it|its|the|an?|any|only|manually|locally|is|are|needs?|requires?"
    "|always|must|again|yourself|please|outside|after|before|until|while|instead|deletes"
    "|also|breaks?|fails?|hangs?|of|that|this|our|your|all|until|during|would|silently|then|still"
    "|loses?|wipes?|drops|destroys|overwrites?|removes|kills|resets|prunes|takes"
)
_ARGUMENTS = rf"(?: (?!(?:{_NO_ARGUMENT})(?![\w-]))[\w./:=@+-]*[\w+])"
_KNOWN = rf"(?:{_PROGRAMS}){_ARGUMENTS}{{1,4}}"
_ANY = rf"(?!(?:{_NO_ARGUMENT}|more|raw|bare|plain)\b)[\w./-]*\w{_ARGUMENTS}{{0,4}}"
_NAMED = regex(
    rf"(?:\b(?:{NOT}|no)\s++(?:ever |just |directly )?(?:"
    rf"(?:run|running|execute|executing|type|invoke)\s++(?:an? |bare |plain |raw )*(?P<any>{_ANY})"
    rf"|(?:use|call|do|using|calling|with|via|by|a|bare|plain|raw)?\s*+(?P<known>{_KNOWN})"
    rf"|(?:point|aim|connect|run)\s++(?P<program>{_PROGRAMS})"
    r"|(?:with|via|by|using)\s++(?P<script>[\w./-]+\.(?:sh|bash|bat|ps1)))"
    rf"|(?:,\s+(?:and\s+)?not|\binstead of|\brather than)\s+(?:with |via |by )?(?P<other>{_KNOWN})"
    r")(?P<rest>[^.;:,\n]*)",
    re.IGNORECASE,
)
_FORBIDDEN = regex(
    rf"(?<![\w-])(?P<command>`[^`\n]{{3,80}}`|{_KNOWN})\s+(?:by hand\s+|locally\s+|manually\s+)?(?:"
    r"(?:is|are)\s+(?:strictly\s+)?(?:forbidden|banned|not allowed|prohibited|off[ -]limits)"
    r"|only\s+(?:ever\s+)?(?:from|via|through|by)\b"
    r"|(?:(?:only\s+)?runs|(?:is|gets)\s+(?:only\s+)?run)\s+(?:only\s+)?(?:in|on|from|via|through|by)"
    r"\s+(?:the\s+)?(?:CI|pipeline)\b)",
    re.IGNORECASE,
)
# "Rollbacks are a revert in the repo, Helm isn't involved."
_UNUSED = regex(
    rf"\b(?P<command>{_PROGRAMS})\s+(?:is(?: not|n['’]t)|plays no)\s+(?:involved|used|part)"
    r"(?=\s*(?:[.,;:)]|\Z))",
    re.IGNORECASE,
)
_BEGINS = r"(?:\A|(?<=[.;:,]\s)|(?<=\n))"
_HARMFUL = regex(
    rf"{_BEGINS}`?(?P<command>{_KNOWN}|[a-z][\w.-]*(?: [\w.-]+)?? --?[A-Za-z][\w=-]*)`?\s+"
    r"(?:also |would |silently |then |still )*"
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
_OPTION = r"--?[A-Za-z][\w-]*(?:=[\w:./-]+| [\w-]+[:/][\w./-]+)?"
_NEEDS = regex(
    rf"(?<![\w-])(?:`(?P<code>[^`\n]{{3,60}})`|(?P<command>[a-z][\w.-]*(?: [\w.:-]+){{0,2}}?))\s+"
    r"(?:(?:for|in) `?(?P<place>[\w.-]+/[\w./-]*\w)`?\s+)?(?:here\s+|always\s+|only\s+)?"
    r"(?:needs|requires|must have|(?:must|ha(?:s|ve) to|needs? to)(?: always)? (?:be )?"
    r"(?:run|called|started|built) with"
    rf"|only (?:works )?with)\s+`?(?P<option>{_OPTION})(?!\w)"
    r"|\b(?:(?P<first>always\s+)?run|always\s+call)\s+(?P<run>[a-z][\w.-]*(?: [\w.:-]+){0,2}?)"
    rf"\s+with\s+`?(?P<given>{_OPTION})`?(?(first)|,? always\b)"
    rf"|\balways\s+(?:pass|give|add|set|use)\s+`?(?P<passed>{_OPTION})`?\s+(?:to|with|for)\s+"
    r"`?(?P<to>[a-z][\w.-]*(?: [a-z][\w:-]+)?)`?(?=\s*(?:[.,;:(]|\Z|\n))",
    re.IGNORECASE,
)
# "We install without --force" denies nothing; what the memory is about, or forbids, is denied so.
_WITHOUT = regex(
    rf"(?:(?P<never>\b(?:{NOT}|no)\s+(?:ever\s+|just\s+)?(?:(?:run|call|use|do|start|running)\s+)?)"
    rf"|{_BEGINS}(?!(?:we|i|you|they|it|he|she)\b))"
    r"`?(?P<command>[a-z][\w./-]*(?: [\w.:/-]+){0,3}?)`?\s+without\s+(?:an?\s+|the\s+)?"
    rf"`?(?P<option>{_OPTION})`?(?P<rest>[^.;\n]*)",
    re.IGNORECASE,
)
_FINE = regex(r"(?<!not )(?<!n't )\b(?:fine|ok(?:ay)?|enough|faster|works?|safe|allowed)\b", re.I)
_VERB = regex(r"\s+(?:(?:in|on|for|from)\s+(?:the\s+)?\S+\s+)?[a-z]", re.IGNORECASE)
_THERE = regex(r"\s+(?:in|on|for|from|against|at)\s+(?:the\s+|our\s+)?`?[\w./-]+", re.IGNORECASE)
_WITH = regex(rf"\s+(?:with|using)\s+(?:a\s+|the\s+)?`?(?P<option>{_OPTION})`?(?!\w)")
_GIT = regex(r"(?:commit|push|merge|rebase|pull)(?:\s|\Z)")
_IMAGES = regex(r"(?:(?:the|all) )?(?:docker )?images?", re.IGNORECASE)
# "`pnpm test` needs `docker compose up -d redis` first": what is needed is no option.
NEEDED_FIRST = regex(r"\b(?:first|before|needs?|requires?|unless)\b", re.IGNORECASE)
"""Where a memory may name what has to be run before."""

CODE = regex(r"`([^`\n]{3,80})`")
_NEEDS_FIRST = regex(
    rf"{_BEGINS}(?:`(?P<code>[^`\n]* [^`\n]*)`|(?P<command>{_KNOWN}|[a-z][\w-]* [\w-]+/[\w./-]*\w))"
    r"(?:\s+and\s+(?P<second>[a-z]+ [a-z]+))?\s+(?:always\s+|only\s+)?(?:needs?|requires?)\s+"
    r"(?!`?-)(?P<what>(?:[^.;\n]|\.(?=\w))*)",
    re.IGNORECASE,
)

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
# Of "bumped with `a`, not b: CI fails" what fails is b.
_OTHERS = regex(
    r"\b(?:not|never|instead of|rather than|unless)\b|\bwithout (?:an? |the )?`?-", re.IGNORECASE
)
_REST = regex(r"[^.;:,(\n]*")
# A place that no other is named like: "apps/api", "billing-worker".
_SPECIFIC = regex(r"\w[/_-]\w")
_DENIED_WITHIN = 40
_HARM_WITHIN = 60
# "on the release branch", "against prod": where alone it is denied. An agent works on a laptop.
_WHERE = regex(
    r"\b(?:on|in|to(?!\s+(?:get|avoid|make|skip|work|keep|save|speed|bypass|fix|do|be)\b)|against"
    r"|from|inside|for|at|auf|sur|en)\s+([^,.;:]{2,60})",
    re.IGNORECASE,
)
_OWN_PLACE = regex(r"\b(?:laptop|machine|workstation|computer|shell|terminal|hand)s?\b", re.I)
_PLACE_WORD = regex(r"[\w./-]*\w")
_PLACE_FILLER = frozenset(
    "a an the or and any our your this that it repo repository branch branches here there project"
    " codebase monorepo purpose ci env environment environments db database cluster".split()
)
_MOST_BETWEEN = 3


_NEED_CUES = frozenset("need needs requires require must has have only without always".split())
_UNUSED_CUES = frozenset({"involved", "used", "plays"})
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
    return r"(?!\w)" if _SPECIFIC.search(place) else r"(?![\w-])"


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
    if said.isdisjoint(_NEED_CUES):
        return against
    needed = {
        _written(code)
        for found in _NEEDS_FIRST.finditer(text)
        for code in CODE.findall(found["what"])
    }
    return (one for one in against if one.command not in needed)


def _spoken_against(text: str, said: frozenset[str]) -> Iterator[DeniedCommand]:
    if not said.isdisjoint(_NEED_CUES):
        yield from _lacking(text)
    if not said.isdisjoint(_SUBJECT_CUES):
        for pattern in (_FORBIDDEN, _HARMFUL):
            for found in pattern.finditer(text):
                yield DeniedCommand(_written(found["command"]), more=True)
    if not said.isdisjoint(NEGATIONS):
        yield from _denied_by_practice(text)
    if not said.isdisjoint(_UNUSED_CUES):
        for found in _UNUSED.finditer(text):
            yield DeniedCommand(found["command"].lower(), more=True)
    for statement in filter(None, _STATEMENT.split(text)):
        if denied := AGAINST.search(statement):
            yield from _denied_in(statement, denied.end())


def _lacking(text: str) -> Iterator[DeniedCommand]:
    """The commands that lack an option, or that need something else first."""
    for found in _NEEDS.finditer(text):
        command = found["code"] or found["run"] or found["to"] or found["command"]
        option = found["option"] or found["given"] or found["passed"]
        places = frozenset({found["place"].casefold()}) if found["place"] else frozenset[str]()
        yield _without(command.split(" run ")[-1], option, places)
    for found in _WITHOUT.finditer(text):
        harms = _VERB.match(found["rest"]) and not _FINE.search(found["rest"])
        if found["never"] or harms:
            there = _THERE.match(found["rest"])
            places = _places(there[0]) if there else frozenset[str]()
            yield _without(found["command"], found["option"], places)
    for found in _NEEDS_FIRST.finditer(text):
        command = _written(found["code"] or found["command"])
        if found["code"] or found["second"] or "first" in found["what"]:
            yield DeniedCommand(command, more=True)
        if found["second"]:
            yield DeniedCommand(f"{command.partition(' ')[0]} {found['second']}", more=True)


def _without(command: str, option: str, places: frozenset[str]) -> DeniedCommand:
    command = "docker build" if _IMAGES.fullmatch(command) else _written(command)
    command = command[0].lower() + command[1:]
    if _GIT.match(command):
        command = f"git {command}"
    return DeniedCommand(command, True, places, " ".join(option.split()))


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
    for code in CODE.finditer(statement):
        between = statement[denied : code.start()]
        close = 0 <= code.start() - denied < _DENIED_WITHIN and not _ASKED.search(between)
        harms = _HARMS.search(statement, code.end(), code.end() + _HARM_WITHIN)
        if harms and _OTHERS.search(statement, code.end(), harms.start()):
            harms = None
        if (close or harms) and " " in code[1].strip():
            rest = _REST.match(statement, code.end(), harms.start() if harms else len(statement))
            places = frozenset(filter(_SPECIFIC.search, _places(rest[0]))) if rest else frozenset()
            yield DeniedCommand(_written(code[1]), more, places)
    for named in _NAMED.finditer(statement):
        written = named["any"] or named["known"] or named["program"] or named["script"]
        command, places = _written(written or named["other"]), _places(named["rest"])
        if given := _WITH.match(named["rest"]):
            command = f"{command} {given['option']}"
        is_told = places or given or not named["program"]
        if is_told and not _OTHERS.match(named["rest"].lstrip()):
            yield DeniedCommand(command, more, places)


def _written(command: str) -> str:
    return as_usual(" ".join(command.strip("` ").split()))


def _places(rest: str) -> frozenset[str]:
    """The places that ``rest`` names, but for one's own machine."""
    named = (where for where in _WHERE.findall(rest) if not _OWN_PLACE.search(where))
    words = (word.casefold() for where in named for word in _PLACE_WORD.findall(where))
    return frozenset(word for word in words if word not in _PLACE_FILLER)
