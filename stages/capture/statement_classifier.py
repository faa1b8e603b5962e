"""Finds the statements in a message that are worth keeping.

Statements (``stages/capture/statements.py``) are weighed by a linear model on
their words, cues and place (``stages/capture/features.py``). Code, quotations, questions,
suppositions, plans, small talk, reports of routine work and other people's words weigh little; so
do trigger phrases alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...bus.values import Noted
from ..text.envelope import strip_envelopes
from ..text.markup import strip_private
from ..text.summary import headline
from ..text.unicode import visible
from .features import every_feature, load
from .records import Record, find_records
from .statements import READ_CHARS, Statement, own_text, statements

FLOOR_PERCENT = 85
MAX_CONFIDENCE_PERCENT = 95
RECORD_PERCENT = 95
MAX_NOTED_CHARS = 600
_DEFAULT_NAMESPACE = "learnings"
_MATTERS = frozenset(
    ("decision", "trap", "blocker", "resolution", "preference", "progress", "pattern", "debt")
)
_ASKING = ("?", "？")
_ASKS = re.compile(
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
    seen = every_feature(statements(own), role="user")
    telling = [one for one in seen if one.marks & _MATTERS]
    if not telling:
        return _DEFAULT_NAMESPACE
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
