"""Finds the statements in a message that are worth keeping.

Statements (``stages/capture/statements.py``) are weighed by a linear model on their words, cues and
place; its weights are in ``signals.json``, written by ``perf/train_captures.py``. Code, quotations,
questions, suppositions, plans, small talk, reports of routine work and other people's words weigh
little; so do trigger phrases alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from ...bus.values import Noted
from ...config.linear_model import LinearModel, logistic
from ..text.summary import headline
from .features import Features, every_feature
from .statements import READ_CHARS, Statement, own_lines, own_text, statements

WEIGHTS = Path(__file__).with_name("signals.json")

MATTERS: tuple[tuple[str, str], ...] = (
    ("decision", "decisions"),
    ("learning", "learnings"),
    ("learning", "gotchas"),
    ("learning", "tech-debt"),
    ("learning", "context"),
    ("blocker", "blockers"),
    ("resolution", "blockers"),
    ("preference", "preferences"),
    ("progress", "progress"),
    ("progress", "tasks"),
    ("pattern", "patterns"),
)
"""Each kind with the namespace that it belongs to."""

MARK = "#"
"""Before the name of a mark, since a word may be spelled like one."""

OUTPUTS = ("worth keeping", *(f"{kind}: {namespace}" for kind, namespace in MATTERS))


class SignalModel:
    """Weighs statements. Never changes after it was made."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    def score(self, seen: Features) -> float:
        """The log-odds of being worth keeping, before they are calibrated."""
        model = self._model
        total = model.total(seen.grams) * seen.scale + model.total(_marks(seen))
        return (model.bias[0] + total) / model.divisor

    def worth(self, seen: Features) -> float:
        """The probability of being worth keeping."""
        return logistic(self._model.slope * self.score(seen) + self._model.shift)

    def matter(self, seen: Features) -> tuple[str, str]:
        """The kind and the namespace of a statement, were it worth keeping."""
        model = self._model
        columns = zip(model.bias, model.totals(seen.grams), model.totals(_marks(seen)), strict=True)
        totals = [bias + words * seen.scale + marks for bias, words, marks in columns][1:]
        return MATTERS[totals.index(max(totals))]


def _marks(seen: Features) -> set[str]:
    return {MARK + mark for mark in seen.marks}


@cache
def load(path: Path = WEIGHTS) -> SignalModel:
    """The model with the weights of ``path``, read once.

    Raises ``OSError`` if there is no such file and ``ValueError`` if it holds no such weights.
    """
    return SignalModel(LinearModel.load(path, outputs=OUTPUTS))


FLOOR_PERCENT = 85
MAX_CONFIDENCE_PERCENT = 95
RECORD_PERCENT = 95
MAX_NOTED_CHARS = 600
_DEFAULT_NAMESPACE = "learnings"
_MATTERS = frozenset(
    ("decision", "trap", "blocker", "resolution", "preference", "progress", "pattern", "debt")
)
_NAMESPACES = dict(reversed(MATTERS))
_ASKING = ("?", "？")
_ASKS = re.compile(
    r"\W{0,8}(?:(?:and|so|but|ok|hm+|btw)[ ,]+)?(?:what|what's|why|how|where|who|whose|any idea)\b",
    re.IGNORECASE,
)
_KINDS = {"gotcha": ("learning", "gotchas"), "learning": ("learning", "learnings")}


class _Weighed(NamedTuple):
    statement: Statement
    worth: float
    kind: str
    namespace: str


def find_noteworthy(
    text: str, *, role: str = "user", min_percent: int = FLOOR_PERCENT
) -> tuple[Noted, ...]:
    """What ``text`` says that is worth keeping, in order, none overlapping another.

    ``role`` says who spoke, "user" or "assistant". A record such as ``**Decision**: …`` is found as
    a whole; neighbouring statements of the same paragraph are one. The confidence is calibrated:
    of those at 85 %, 85 in 100 are right; what is below ``min_percent`` is left out. What is
    private, what follows a marker, and what subcog itself put into ``text`` is never found;
    ``start`` and ``end`` count the characters of ``text`` without them. A kind of "resolution" ends
    a blocker, which is to be looked for by the resolution's ``text``.
    """
    own = own_text(text)[:READ_CHARS]
    records = find_records(own, role=role)
    found = [_noted_record(own, record) for record in records]
    groups = _groups(_weighed(own, role, min_percent))
    found.extend(_noted(own, group) for group in groups if not _overlaps(group, records))
    return tuple(sorted(found, key=lambda noted: noted.start))


def detect_namespace(text: str) -> str:
    """The namespace that suits ``text``, which somebody wants to keep; "learnings" by default."""
    own = own_text(text)[:READ_CHARS]
    for record in find_records(own, role="user"):
        return _matter_of(record)[1]
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


def _noted_record(text: str, record: Record) -> Noted:
    kind, namespace = _matter_of(record)
    return Noted(
        kind=kind,
        namespace=namespace,
        text=text[record.start : record.end],
        summary=headline(record.headline),
        confidence_percent=RECORD_PERCENT,
        start=record.start,
        end=record.end,
    )


def _matter_of(record: Record) -> tuple[str, str]:
    return _KINDS.get(record.kind) or (record.kind, _NAMESPACES[record.kind])


# --- records --------------------------------------------------------------------------------------


KINDS = {
    "decision": "decision",
    "learning": "learning",
    "lesson": "learning",
    "til": "learning",
    "gotcha": "gotcha",
    "blocker": "blocker",
    "resolution": "resolution",
    "preference": "preference",
    "completed": "progress",
    "milestone": "progress",
    "progress": "progress",
    "pattern": "pattern",
    "convention": "pattern",
}
MAX_RECORD_CHARS = 2_000
_LABELLED = re.compile(
    r"[ \t]*(?:[-*+] )?(?:\*\*|__)(?P<label>[^*_:\n]{2,40}?):?(?:\*\*|__)[ \t]*:?[ \t]*(?P<said>.*)"
)
_UNFILLED = re.compile(r"[\[<{].*[\]>}]|\.{3}|…|-|n/a|none", re.IGNORECASE)
_LEAST_CHARS = 8


class Record(NamedTuple):
    """The characters ``start`` to ``end`` of a text; ``headline`` is what its first line says."""

    kind: str
    headline: str
    start: int
    end: int


def find_records(text: str, *, role: str) -> list[Record]:
    """The records of ``text`` that its speaker wrote, in order.

    ``kind`` is that of its first heading, or "resolution" for a blocker that has one.
    """
    found: list[Record] = []
    is_open = False
    for start, line, kind in own_lines(text, role):
        match = _LABELLED.match(line) if kind in ("prose", "item") else None
        if match is None or not match["said"].strip():
            is_open = False
            continue
        label, said = match["label"].strip().lower(), match["said"].strip()
        if label in KINDS and not (is_open and label == "resolution"):
            is_open = _is_filled(said)
            if is_open:
                end = start + len(line)
                found.append(Record(KINDS[label], said, start + match.start("label"), end))
        elif is_open and start + len(line) - found[-1].start <= MAX_RECORD_CHARS:
            found[-1] = _continued(found[-1], label, said, start + len(line))
    return found


def _is_filled(said: str) -> bool:
    return len(said) >= _LEAST_CHARS and _UNFILLED.fullmatch(said) is None


def _continued(record: Record, label: str, said: str, end: int) -> Record:
    resolves = record.kind == "blocker" and label == "resolution" and _is_filled(said)
    return record._replace(kind="resolution" if resolves else record.kind, end=end)
