"""How likely a memory warns of an action.

It is computed from the figures of the search and from what both say.

What a memory says is read by clauses: what it speaks against ("never `alembic upgrade head`"), and
what it asks for ("use scripts/migrate.sh"). ``perf/fit_actions.py`` fits the weights.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path

from msgspec import Struct

from ...bus.values import Hit
from ...config.linear_model import LinearModel
from ...config.patterns import regex
from .reading import ActionText

WEIGHTS = Path(__file__).with_name("action_relevance.json")

FEATURES = (
    "text", "late", "vector", "order", "first stage log-odds", "lead", "vector lead", "first",
    "against added", "against removed", "asked added", "asked removed", "before against added",
    "path", "elsewhere", "same environment", "document", "command", "whole file",
)  # fmt: skip

LIMIT = 4
"""How many memories are looked at for an action."""

SURE = 0.9
"""The relevance of a memory that speaks against the very command."""

_MOST = 3.0
_READ_CHARS = 2_000
_SMALLEST = 1e-4
_TERM = regex(r"--?[A-Za-z][\w-]*|[A-Za-z_@$](?:[.$/:@-]{0,3}\w)+|\d(?:\.?\w)+")
_TERM_PARTS = regex(r"[./:@\s]|(?<![\w-])-{1,2}")
_AGAINST = regex(
    r"\b(?:never|no|not|\w+n't|dont|cannot|avoid|without|forbidden|banned?|bare|plain|raw"
    r"|instead of|rather than|refuse[sd]?|reject(?:ed|s)?|dropped|turned down|hands off|stop using"
    r"|nobody"
    r"|breaks?|broke|kill(?:s|ed)?|fail(?:s|ed)?|wrong|lost|loses|wipes?|hangs?|blocks?"
    r"|destroy(?:s|ed)?|crash(?:es|ed)?)\b",
    re.IGNORECASE,
)
_ASKS = regex(
    r"\b(?:use|always|only|must|via|through|call|run|instead|prefer|keep|put|add|set|pass|wrap"
    r"|should|needs?)\b",
    re.IGNORECASE,
)
_CLAUSE = regex(
    r"(?<=[.;!?])\s+|\n|,\s+|\s[-–—]+\s|→|=>|:\s|\bbut\b|\binstead\b(?! of)|\buse\b|[()]"
)
_ASKED_FOR = regex(r"\b(?:use|via|through|only|always)\s+([^.;,]{2,60})", re.IGNORECASE)
_HARMLESS_PLACE = regex(
    r"\b(?:local|localhost|127\.0\.0\.1|docker|sandbox|dry[-_]?run|test|dev)\b|--(?:dry-run|check|help)",
    re.IGNORECASE,
)
_SHARED_PLACE = regex(r"\b(?:prod|production|staging|live|main|master|shared)\b", re.IGNORECASE)
_DOCUMENT = regex(r"\.(?:md|mdx|rst|txt|adoc)\Z")


class Claims(Struct, frozen=True):
    """The terms of a memory: what it speaks against, what it asks for, and the rest.

    ``before`` are those that stand before what is denied, in the same clause.
    """

    against: frozenset[str]
    before: frozenset[str]
    asked: frozenset[str]
    neutral: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        return self.against | self.before | self.asked | self.neutral


def terms(text: str) -> set[str]:
    """Words, identifiers, paths and flags of ``text``, folded, each also by its parts."""
    folded = text.casefold()
    found = {term for match in _TERM.findall(folded) if len(term := match.strip(".:/")) > 1}
    joined = [term for term in found if not term.isalnum()]
    parts = _TERM_PARTS.split(" ".join(joined)) if joined else ()
    return found.union([part for part in parts if len(part) > 2])


def speaks_against(text: str) -> bool:
    """Whether the memory ``text`` may speak against anything."""
    return _AGAINST.search(text[:_READ_CHARS]) is not None


@lru_cache(maxsize=256)
def claims_of(text: str) -> Claims:
    """What the memory ``text`` claims; the same few are found again and again. About 2 MB."""
    against: set[str] = set()
    before: set[str] = set()
    asked = set(chain.from_iterable(map(terms, _ASKED_FOR.findall(text[:_READ_CHARS]))))
    neutral: set[str] = set()
    for clause in filter(None, _CLAUSE.split(text[:_READ_CHARS])):
        if denied := _AGAINST.search(clause):
            against |= terms(clause[denied.start() :])
            before |= terms(clause[: denied.start()])
        elif _ASKS.search(clause):
            asked |= terms(clause)
        else:
            neutral |= terms(clause)
    return Claims(
        against=frozenset(against),
        before=frozenset(before - against - asked),
        asked=frozenset(asked - against),
        neutral=frozenset(neutral - against - asked - before),
    )


class Matcher:
    """Matches one action with the memories that a search found for it, best first."""

    def __init__(self, action: ActionText, hits: Sequence[Hit]) -> None:
        self._action = action
        self._hits = hits
        self._claims = [claims_of(hit.memory.content) for hit in hits]
        self._held = Counter(chain.from_iterable(claims.terms for claims in self._claims))
        ran = " ".join((*action.commands, action.purpose))
        added, removed = terms("\n".join((*action.added, ran))), terms("\n".join(action.removed))
        self._new, self._gone = added - removed, removed - added
        self._path = terms(action.path)
        said = " ".join((ran, *action.added))
        self._is_harmless_place = _HARMLESS_PLACE.search(said) is not None
        self._is_shared_place = _SHARED_PLACE.search(said) is not None
        self._ran = [plain_command(command) for command in action.commands]

    def relevance(self, at: int) -> float:
        """The probability, 0–1, that the hit at place ``at`` warns of the action."""
        return self.certainty(at) or _model().probability(self.features(at))

    def certainty(self, at: int) -> float:
        """``SURE`` where the hit speaks against the very command, else 0.0."""
        return SURE if self._is_spoken_against(at) else 0.0

    def _is_spoken_against(self, at: int) -> bool:
        """Whether a command of the action is one that the memory denies."""
        content = self._hits[at].memory.content
        if not self._ran or self._is_elsewhere(content):
            return False
        return any(
            denied.is_run_by(command)
            for denied in commands_against(content)
            for command in self._ran
        )

    def _is_elsewhere(self, content: str) -> bool:
        """Whether the memory is about what is shared, and the action about what is not."""
        return self._is_harmless_place and _SHARED_PLACE.search(content) is not None

    def features(self, at: int) -> tuple[float, ...]:
        """``FEATURES`` of the hit at place ``at``."""
        return (*self._by_search(at), *self._by_claims(at))

    def _by_search(self, at: int) -> tuple[float, ...]:
        hit = self._hits[at]
        others = [other for place, other in enumerate(self._hits) if place != at]
        relevance = min(max(hit.relevance, _SMALLEST), 1 - _SMALLEST)
        return (
            math.log1p(hit.text),
            hit.late,
            hit.vector,
            hit.order,
            math.log(relevance / (1 - relevance)),
            hit.order - max((other.order for other in others), default=0.0),
            hit.vector - max((other.vector for other in others), default=0.0),
            float(at == 0),
        )

    def _by_claims(self, at: int) -> tuple[float, ...]:
        action, claims = self._action, self._claims[at]
        new, gone, content = self._new, self._gone, self._hits[at].memory.content
        return (
            self._weight(claims.against & new),
            self._weight(claims.against & gone),
            self._weight(claims.asked & new),
            self._weight(claims.asked & gone),
            self._weight(claims.before & new),
            self._weight(claims.terms & self._path),
            float(self._is_elsewhere(content)),
            float(self._is_shared_place and _SHARED_PLACE.search(content) is not None),
            float(_DOCUMENT.search(action.path) is not None),
            float(bool(action.commands)),
            float(bool(action.added) and not action.removed),
        )

    def _weight(self, shared: Iterable[str]) -> float:
        """How telling ``shared`` are: those that few of the memories found have count more."""
        held, count = self._held, len(self._hits)
        return min(sum([math.log(1 + count / max(1, held[one])) for one in shared]) / 5, _MOST)


@cache
def _model() -> LinearModel:
    return LinearModel.load(WEIGHTS, features=FEATURES)


# --- the very command -----------------------------------------------------------------------------


_CODE = regex(r"`([^`\n]{3,80})`")
_STATEMENT = regex(
    r"(?<=[.;!?])\s+|\n|→|=>|\bbut\b|\binstead\b(?! of)|(?<!not )(?<!n't )(?<!never )\buse\b"
    r"|,\s+always\b",
    re.IGNORECASE,
)
_HARMS = regex(r"\b(?:break|fail|kill|lose|lost|wipe|hang|crash|destroy|drop|prune)", re.IGNORECASE)
# What is denied is the command as it stands: with more arguments it is another one.
_BARE = regex(r"\b(?:bare|plain|raw|blanket|alone|without)\b", re.IGNORECASE)
_TRIES = regex(r"\s--?(?:check|dry[-_]?run|help|noop|what-?if)\b")
_RUNNER = regex(
    r"(?:(?:sudo|time|command|npx|bunx|pnpm exec|uv run|poetry run|pipenv run|bundle exec"
    r"|python[\d.]* -m) +"
    r"|\w+=\S* +)+"
)
_DENIED_WITHIN = 40
_HARM_WITHIN = 60


# Programs that are used by a command of theirs: "never run kubectl apply" names one.
_PROGRAMS = (
    "kubectl|helm|terraform|tofu|pulumi|ansible-playbook|git|gh|docker(?: compose)?|podman|npm|pnpm"
    "|yarn|bun|npx|pip3?|uv(?: pip)?|poetry|pipenv|conda|cargo|go|gradlew?|mvn|make|just|alembic"
    "|rails|rake|bundle|composer|artisan|dotnet|mix|prisma|knex|aws|gcloud|az|fly(?:ctl)?|heroku"
    "|vercel|netlify|firebase|supabase|psql|mysql|redis-cli|systemctl|brew|apt(?:-get)?"
)
_NO_ARGUMENT = (
    "on|in|inside|for|by|to|from|against|with|without|or|and|here|there|directly|anywhere|at|as|if"
    "|when|unless|since|because|it|the|a|any"
)
_NAMED = regex(
    r"\b(?:never|(?:do|must|should|can) ?n[o'’]t|dont|no|avoid|stop)\s++(?:ever |just |directly )?"
    r"(?:run|use|call|do|execute|running|using|calling|type|a|bare|plain|raw)?\s*+"
    rf"(?P<command>(?:{_PROGRAMS})(?: (?!(?:{_NO_ARGUMENT})\b)[\w./:-]*\w){{1,3}})"
    r"(?P<rest>[^.;\n]*)",
    re.IGNORECASE,
)
# "Use pnpm, not npm": of such programs, another does what the denied one does, whatever that is.
_REPLACEABLE = "npm|pnpm|yarn|bun|npx|pip3?|poetry|pipenv|conda|docker|podman"
_REPLACED = regex(
    rf"\b(?:use|with|via)\s+`?(?:{_PROGRAMS})`?[\s,;(]{{1,3}}(?:and\s+)?"
    rf"(?:never|not|instead of|rather than)\s+`?(?P<program>{_REPLACEABLE})`?"
    r"(?=\s*(?:[.,;)!\n]|\Z|\b(?:for|to|here|anywhere|since|because)\b"
    r"|in (?:this|the|our) (?:repo|repository|monorepo|project|codebase)\b))",
    re.IGNORECASE,
)
# "on the release branch", "against prod": where alone it is denied.
_PLACE = regex(r"\b(?:on|in|to|against|from|inside|for|at)\s+([^,.;]{2,60})", re.IGNORECASE)


class DeniedCommand(Struct, frozen=True):
    """A command that a memory speaks against; ``more`` is whether also with more arguments.

    Where ``places`` are named, the action has to name one of them.
    """

    command: str
    more: bool
    places: frozenset[str] = frozenset()

    def is_run_by(self, command: str) -> bool:
        """Whether ``command``, in its plain form, is this one."""
        if self.places and self.places.isdisjoint(terms(command)):
            return False
        if command == self.command:
            return True
        return self.more and command.startswith(f"{self.command} ") and not _tries(command)


def plain_command(command: str) -> str:
    """``command`` without what only runs it and without variables that are set for it."""
    runs = _RUNNER.match(command)
    return " ".join(command[runs.end() if runs else 0 :].split()).rstrip(";,.")


@lru_cache(maxsize=256)
def commands_against(text: str) -> tuple[DeniedCommand, ...]:
    """The commands that the memory ``text`` speaks against.

    They stand in backticks, begin with a known program, or are of one that another replaces.
    """
    replaced = (found["program"].casefold() for found in _REPLACED.finditer(text[:_READ_CHARS]))
    return (*_commands_against(text), *(DeniedCommand(one, more=True) for one in replaced))


def _commands_against(text: str) -> Iterator[DeniedCommand]:
    for statement in filter(None, _STATEMENT.split(text)):
        denied = _AGAINST.search(statement)
        more = _BARE.search(statement) is None
        if denied is None:
            continue
        for code in _CODE.finditer(statement):
            close = 0 <= code.start() - denied.end() < _DENIED_WITHIN
            harms = _HARMS.search(statement, code.end(), code.end() + _HARM_WITHIN)
            if (close or harms) and " " in code[1].strip():
                yield DeniedCommand(plain_command(code[1]), more)
        for named in _NAMED.finditer(statement):
            places = (terms(place) for place in _PLACE.findall(named["rest"]))
            command = plain_command(named["command"])
            yield DeniedCommand(command, more, frozenset().union(*places))


def _tries(command: str) -> bool:
    return _TRIES.search(command) is not None
