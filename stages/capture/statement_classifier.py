"""Finds the statements in a message that are worth keeping, and those that become memories.

Statements (``stages/capture/statements.py``) are weighed by a linear model on their words, cues and
place (``stages/capture/features.py``). Code, quotations, questions, suppositions, plans, small
talk, reports of routine work and other people's words weigh little; so do trigger phrases alone.

A memory is earned by what the user states as a rule, a choice or a preference, and by the lines
that the agent labels for keeping (``stages/capture/records.py``). A sentence is judged by its
grammar first, since that holds for projects that nobody has seen: it must have a form in which
people state rules, and none in which they ask, propose, report or give an order for once. The
linear model must then not think it idle talk. Precision comes before recall: a session's passages
are kept in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ...bus.values import EARNED_PERCENT, Noted
from ...config.languages import ENGLISH, language_of
from ...config.patterns import regex
from ..text.authorship import READ_CHARS
from ..text.envelope import strip_envelopes
from ..text.markup import strip_private
from ..text.summary import headline
from ..text.unicode import visible
from .features import every_feature, load
from .namespaces import DEFAULT, namespace_of
from .records import Record, find_records
from .statement_forms import (
    ASIDE,
    ASKS_BACK,
    DENIES,
    DOUBTS,
    FEWEST_WORDS,
    FEWEST_WORDS_OUTRIGHT,
    FRAGMENT,
    GIVES_REASON,
    HALF_A_RULE,
    HINT,
    JOINS,
    LEADS_TO_RULES,
    MAKES_A_RULE,
    MINE,
    OUTRIGHT,
    QUOTED,
    SAYS,
    SPEAKS_FOR_SELF,
    SUPPOSES,
    VETOES,
)
from .statements import Statement, own_text, statements

FLOOR_PERCENT = 85
MAX_CONFIDENCE_PERCENT = 95
RECORD_PERCENT = 95
MAX_NOTED_CHARS = 600
_MATTERS = frozenset(
    ("decision", "trap", "blocker", "resolution", "preference", "progress", "pattern", "debt")
)
_ASKING = ("?", "？")
_ASKS = regex(
    r"\W{0,8}(?:(?:and|so|but|ok|hm+|btw)[ ,]+)?(?:what|what's|why|how|where|who|whose|any idea)\b",
    re.IGNORECASE,
)


class _Weighed(NamedTuple):
    statement: Statement
    worth: float
    kind: str
    namespace: str


def find_noteworthy(
    text: str, *, role: str = "user", min_percent: int = FLOOR_PERCENT
) -> tuple[Noted, ...]:
    """What ``text`` says that is worth keeping, in order, none overlapping another.

    ``role`` says who spoke, "user" or "assistant". A labelled line such as ``**Decision**: …`` is
    found without its label; neighbouring statements of the same paragraph are one. The confidence
    is calibrated: of those at 85 %, 85 in 100 are right; what is below ``min_percent`` is left out.
    What is private, what follows a marker of the user, and what subcog itself put into ``text`` is
    never found; ``start`` and ``end`` count the characters of ``said_by(text, role)``. A kind of
    "resolution" ends a blocker, which is to be looked for by the resolution's ``text``.
    """
    own = said_by(text, role)
    records = find_records(own, role=role)
    found = [_noted_record(record) for record in records]
    groups = _groups(_weighed(own, role, min_percent))
    found.extend(_noted(own, group) for group in groups if not _overlaps(group, records))
    return tuple(sorted(found, key=lambda noted: noted.start))


def said_by(text: str, role: str) -> str:
    """What ``find`` reads of ``text``: the speaker's own; an agent's markers are left in it."""
    if role == "assistant":
        return strip_envelopes(strip_private(visible(text)))[:READ_CHARS]
    return own_text(text)[:READ_CHARS]


def detect_namespace(text: str) -> str:
    """The namespace that suits ``text``, which somebody wants to keep; "learnings" by default."""
    own = own_text(text)[:READ_CHARS]
    for record in find_records(own, role="user"):
        return record.namespace
    return _namespace_of(own)


def _namespace_of(own: str) -> str:
    return namespace_of(own) if language_of(own) == ENGLISH else _namespace_by_cues(own)


def _namespace_by_cues(own: str) -> str:
    seen = every_feature(statements(own), role="user")
    telling = [one for one in seen if one.marks & _MATTERS]
    if not telling:
        return DEFAULT
    model = load()
    return model.matter(max(telling, key=model.worth))[1]


def _weighed(own: str, role: str, min_percent: int) -> list[_Weighed]:
    """The statements of at least ``min_percent``, with what they would be kept as."""
    parts = statements(own, role=role)
    model = load()
    found = []
    for part, seen in zip(parts, every_feature(parts, role=role), strict=True):
        worth = model.worth(seen)
        if worth * 100 >= min_percent and not _asks(part.text, role):
            found.append(_Weighed(part, worth, *model.matter(seen)))
    return found


def _asks(text: str, role: str) -> bool:
    """Whether ``text`` is a question; people often leave out the mark."""
    return text.endswith(_ASKING) or (role != "assistant" and _ASKS.match(text) is not None)


def _groups(weighed: Sequence[_Weighed]) -> list[list[_Weighed]]:
    """Neighbours of a paragraph together, as far as one memory should be long."""
    groups: list[list[_Weighed]] = []
    for one in weighed:
        if groups and _follows(groups[-1], one.statement):
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _follows(group: Sequence[_Weighed], statement: Statement) -> bool:
    first, last = group[0].statement, group[-1].statement
    return (
        last.paragraph == statement.paragraph
        and last.number + 1 == statement.number
        and statement.end - first.start <= MAX_NOTED_CHARS
    )


def _overlaps(group: Sequence[_Weighed], records: Sequence[Record]) -> bool:
    start, end = group[0].statement.start, group[-1].statement.end
    return any(record.start < end and start < record.end for record in records)


def _noted(text: str, group: Sequence[_Weighed]) -> Noted:
    surest = max(group, key=lambda one: one.worth)
    start, end = group[0].statement.start, group[-1].statement.end
    return Noted(
        kind=surest.kind,
        namespace=surest.namespace,
        text=text[start:end],
        summary=headline(surest.statement.text),
        confidence_percent=min(MAX_CONFIDENCE_PERCENT, round(surest.worth * 100)),
        start=start,
        end=end,
    )


def _noted_record(record: Record) -> Noted:
    return Noted(
        kind=record.kind,
        namespace=record.namespace or _namespace_of(record.text),
        text=record.text,
        summary=headline(record.text.partition("\n")[0]),
        confidence_percent=RECORD_PERCENT,
        start=record.start,
        end=record.end,
        earned=True,
    )


# --- what is earned -----------------------------------------------------------------------------

_FOUND_MOST_PERCENT = EARNED_PERCENT - 1
_LEAST_WORTH = 0.8
_LEAST_WORTH_OUTRIGHT = 0.2
_LEAST_WORTH_OF_HINT = 0.99
_MOST_CHARS = 400

_APOSTROPHE = str.maketrans("’‘", "''")
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "preferences"}


def find_earned(text: str, *, role: str) -> tuple[Noted, ...]:
    """What ``text`` says that may become a memory by itself, in order, none overlapping another."""
    return tuple(noted for noted in find_all(text, role=role) if noted.earned)


def find_all(text: str, *, role: str) -> tuple[Noted, ...]:
    """What is earned, and what else is noteworthy: points for a summary, and no memories.

    Of these is ``doubted`` what the user takes back, questions or supposes in the same message.
    """
    found = find_noteworthy(text, role=role)
    earned = [noted for noted in found if noted.earned]
    doubted: list[Statement] = []
    if role != "assistant":
        parts = statements(said_by(text, role), role="user")
        doubted = [parts[at] for at in unsure_places(parts)]
        stated = _stated(said_by(text, role))
        records = tuple(earned)
        earned += [noted for noted in stated if not _overlaps_any(noted, records)]
    points = (
        replace(
            noted,
            confidence_percent=min(noted.confidence_percent, _FOUND_MOST_PERCENT),
            doubted=_overlaps_any(noted, doubted),
        )
        for noted in found
        if not _overlaps_any(noted, earned)
    )
    return tuple(sorted((*earned, *points), key=lambda noted: noted.start))


def is_supposed(said: str) -> bool:
    """Whether ``said`` asks, proposes, reports or supposes something, or means it for once."""
    plain = unquoted(said)
    return any(form.search(plain) for form in (*VETOES, SUPPOSES, DOUBTS))


def _overlaps_any(noted: Noted, others: Iterable[Noted | Statement]) -> bool:
    return any(noted.start < other.end and other.start < noted.end for other in others)


def _stated(own: str) -> list[Noted]:
    """The rules, choices and preferences that the user states in ``own``."""
    parts = statements(own, role="user")
    model, doubted = load(), unsure_places(parts)
    found: list[Noted] = []
    lists_rules = all(part.is_item for part in parts)
    for at, (part, seen) in enumerate(zip(parts, every_feature(parts, role="user"), strict=True)):
        said, kind = _judged(part, model.worth(seen))
        if at and MAKES_A_RULE.search(unquoted(part.text)):
            said, kind = _ruled(own, parts[at - 1], part)
        if not kind or at in doubted:
            continue
        if at and HALF_A_RULE.search(said.text):
            said = _with_subject(own, parts[at - 1], said)
        if lists_rules or not part.is_item or LEADS_TO_RULES.search(part.lead):
            found.append(_noted_statement(_with_reason(own, said, parts[at + 1 :]), kind))
    return found


def _with_subject(own: str, before: Statement, part: Statement) -> Statement:
    """``part`` together with the sentence before it, which may say what it is about."""
    apart = before.paragraph != part.paragraph or _asks(before.text, "user")
    if apart or part.end - before.start > MAX_NOTED_CHARS:
        return part
    return part._replace(text=own[before.start : part.end], start=before.start)


def _ruled(own: str, before: Statement, part: Statement) -> tuple[Statement, str]:
    """What ``before`` says, which ``part`` makes a rule; its kind is "" where it says nothing."""
    said = unquoted(before.text)
    both = before._replace(text=own[before.start : part.end], end=part.end)
    apart = before.paragraph != part.paragraph or len(both.text) > _MOST_CHARS
    return both, "" if apart or _is_no_statement(said, said, FEWEST_WORDS) else "pattern"


def _judged(part: Statement, worth: float) -> tuple[Statement, str]:
    """``part`` and its kind; without the "and" or "ok, so" before it, where the rest says all."""
    if aside := ASIDE.search(part.text):
        at = aside.start()
        part = part._replace(text=part.text[:at], end=part.start + at)
    joins = JOINS.match(part.text)
    if joins is None:
        return part, _kind_of(part, worth)
    start = joins.end()
    rest = part._replace(text=part.text[start:], start=part.start + start)
    states = any(form.search(unquoted(rest.text)) for form in SAYS.values())
    return rest, _kind_of(rest, worth) if states else ""


def _with_reason(own: str, part: Statement, following: Sequence[Statement]) -> Statement:
    """``part`` together with the sentence after it that gives the reason, if there is one."""
    reason = next(iter(following), None)
    if reason is None or reason.paragraph != part.paragraph or _asks(reason.text, "user"):
        return part
    if not GIVES_REASON.search(reason.text) or reason.end - part.start > MAX_NOTED_CHARS:
        return part
    return part._replace(text=own[part.start : reason.end], end=reason.end)


def unsure_places(parts: Sequence[Statement]) -> frozenset[int]:
    """The places of those of ``parts`` that the message takes back, questions or supposes."""
    if any(DOUBTS.search(unquoted(part.text)) for part in parts):
        return frozenset(range(len(parts)))
    doubted, supposed = set[int](), set[int]()
    for at, part in enumerate(parts):
        if SUPPOSES.search(unquoted(part.text)):
            supposed.add(part.paragraph)
        if part.paragraph in supposed or _is_questioned(parts, at):
            doubted.add(at)
    return frozenset(doubted)


def _is_questioned(parts: Sequence[Statement], at: int) -> bool:
    """Whether the speaker asks in the next sentences whether it should be so, or denies it."""
    following = [unquoted(one.text) for one in parts[at + 1 : at + 3]]
    return any(ASKS_BACK.search(said) or DENIES.search(said) for said in following)


def unquoted(said: str) -> str:
    """``said`` without what it quotes, with plain apostrophes."""
    return QUOTED.sub(" x ", said.translate(_APOSTROPHE))


def _kind_of(part: Statement, worth: float) -> str:
    """Which kind of statement ``part`` is; "" where it earns nothing."""
    said = unquoted(part.text)
    outright = OUTRIGHT.search(said) is not None
    fewest = FEWEST_WORDS_OUTRIGHT if outright else FEWEST_WORDS
    if _is_no_statement(said, SPEAKS_FOR_SELF.sub(" ", said), fewest):
        return ""
    kinds = [kind for kind, form in SAYS.items() if form.search(said)]
    usual = _LEAST_WORTH_OUTRIGHT if outright else _LEAST_WORTH
    least = usual if kinds else _LEAST_WORTH_OF_HINT
    if not (kinds or HINT.search(said)) or worth < least:
        return ""
    return _surest(kinds, said)


def _is_no_statement(said: str, judged: str, fewest: int) -> bool:
    """Whether ``said`` lacks its subject, is too long, or is vetoed by what it says of itself."""
    is_short = len(said.split()) < fewest and not MINE.search(said)
    if is_short or FRAGMENT.search(said) or len(said) > _MOST_CHARS:
        return True
    return any(veto.search(judged) for veto in VETOES)


def _surest(kinds: list[str], said: str) -> str:
    if "preference" in kinds or (MINE.search(said) and "decision" not in kinds):
        return "preference"
    if "pattern" in kinds:
        return "pattern"
    return kinds[0] if kinds else "decision"


def _noted_statement(part: Statement, kind: str) -> Noted:
    return Noted(
        kind=kind,
        namespace=_NAMESPACES[kind],
        text=part.text,
        summary=headline(part.text),
        confidence_percent=EARNED_PERCENT,
        start=part.start,
        end=part.end,
        earned=True,
    )
