"""Finds the lines that an agent writes in order to have them kept.

Such a line begins with a bold label (``**Decision**: …``), a plain one of those that mostly mean it
(``Decision: …``), or with ``[remember]`` or ``[remember:namespace]``. It is one memory; the label
becomes its namespace. Labels within code, quotations and other people's texts do not count, nor
does a line that says nothing ("none").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...config.patterns import regex
from ..text.authorship import Line, disowns, read_lines
from ..text.markup import namespace_of
from .namespaces import remembered_as
from .statements import UNSPACED

LABELS: dict[str, tuple[str, str]] = {
    "decision": ("decision", "decisions"),
    "key decision": ("decision", "decisions"),
    "learned": ("learning", "learnings"),
    "key learning": ("learning", "learnings"),
    "learning": ("learning", "learnings"),
    "lesson": ("learning", "learnings"),
    "lesson learned": ("learning", "learnings"),
    "til": ("learning", "learnings"),
    "gotcha": ("learning", "gotchas"),
    "context": ("learning", "context"),
    "tech debt": ("learning", "tech-debt"),
    "technical debt": ("learning", "tech-debt"),
    "blocker": ("blocker", "blockers"),
    "resolution": ("resolution", "blockers"),
    "resolved": ("resolution", "blockers"),
    "preference": ("preference", "preferences"),
    "pattern": ("pattern", "patterns"),
    "convention": ("pattern", "patterns"),
}
"""Each label with the kind and the namespace of what it introduces."""

_RESOLVED = LABELS["resolution"]
_DETAILS = frozenset(
    (
        "choice",
        "rationale",
        "reason",
        "why",
        "because",
        "alternative",
        "alternatives considered",
        "impact",
        "status",
        "application",
        "fix",
        "workaround",
        "cause",
        "evidence",
        "note",
    )
)
# What is settled is not asked for.
_SETTLED, _ASKING = frozenset(("decision", "pattern", "preference")), ("?", "\uff1f")
_MAY_LABEL = ("prose", "item", "heading")
MAX_RECORD_CHARS = 2_000
_SIGN = r"(?:[\u2190-\u2bff\U0001f000-\U0001faff]\ufe0f?[ \t]++)?"
_ITEM = rf"[ \t]*+(?:(?:[-*+•–]|\d{{1,3}}[.)])[ \t]++)?(?:\[[ xX]\][ \t]++)?{_SIGN}"
_LABELLED = regex(
    rf"{_ITEM}(?P<bold>\*\*|__)(?P<label>[^*_:：\n]{{2,40}}?)[ \t]*+"
    r"(?:[:：][ \t]*+(?P=bold)[ \t]*+[:：]?|(?P=bold)[ \t]*+[:：])[ \t]*+(?P<said>\S.*)"
)
_PLAIN = regex(rf"{_ITEM}(?P<label>Decision|Gotcha|Learned|Lesson learned): (?P<said>\S.*)")
_MARKED = regex(
    rf"{_ITEM}\[(?:remember|capture)(?:[ \t]?:[ \t]?(?P<ns>[\w-]{{1,40}}))?\](?!\()"
    r"[ \t]*+[:：]?[ \t]*+(?P<said>\S.*)",
    re.IGNORECASE,
)
_OPENING, _CLOSING = frozenset("[<{("), frozenset("]>})")
# The words of a line that says that there is nothing to say.
_EMPTY_WORDS = frozenset(
    "still currently to be not yet none no nothing n a na tbd tbc tba pending unknown todo open"
    " unclear undecided unresolved resolved done confirmed decided determined discussed required"
    " needed applicable see above below same as before yes ok okay blocker blockers decision"
    " decisions gotcha gotchas new so far at this the moment time for now made found identified"
    " known issue issues awaiting waiting your user input approval confirmation review feedback in"
    " progress here report on text one line remaining left anymore any more under"
    " discussion that it works working".split()
)
# One of several that are offered is not what was chosen.
_OFFERED = regex(r"\((?:not |un|less )?recommended\)", re.IGNORECASE)
# So many lines below a record tell whether it was merely quoted.
_LOOKED_AT = 4
_LEAST_CHARS = 8
_LEAST_WORDS = 2
_STARS = regex(r"\*\*|(?<!\w)__|__(?!\w)")


class Record(NamedTuple):
    """The characters ``start`` to ``end`` of a text; ``text`` is what they say, without markup.

    ``namespace`` is empty where it has to be found from the words.
    """

    kind: str
    namespace: str
    text: str
    start: int
    end: int


def find_records(text: str, *, role: str) -> list[Record]:
    """The labelled lines of ``text`` that its speaker wrote, in order, each a record.

    Lines directly below one that explain it (``**Rationale**: …``) go with it; so does a context
    that such lines follow, and what resolved a blocker. ``[remember]`` counts in what the agent
    says; in a prompt it was kept when the prompt came.
    """
    found: list[Record] = []
    lines = read_lines(text, role)
    is_open = False
    for number, (at, line, kind, whose, _) in enumerate(lines):
        may_label = kind in _MAY_LABEL and not whose
        label, record = _read(at, line, role) if may_label else ("", None)
        following = lines[number + 1].text if number + 1 < len(lines) else ""
        if is_open and may_label and _explains(found[-1], label, _label_of(following)):
            found[-1] = _with_detail(found[-1], label, line)
        else:
            is_open = record is not None and not (
                role == "assistant" and _is_disowned(lines, number + 1)
            )
            found += [record] if record is not None and is_open else []
    return found


def _is_disowned(lines: Sequence[Line], start: int) -> bool:
    """Whether the ``lines`` from ``start`` say that the agent does not go by what it quoted."""
    following = lines[start : start + _LOOKED_AT]
    said = (line.text for line in following if line.kind == "prose")
    return any(disowns(line) for line in said if not is_record(line))


def _read(start: int, line: str, role: str) -> tuple[str, Record | None]:
    """The label of a line, and the record that it is; none where its label is no such one."""
    match, label = _labelled(line), _label_of(line)
    found = LABELS.get(label)
    if match is None and role == "assistant":
        match = _MARKED.match(line)
        found = _marked(match["ns"], match["said"]) if match is not None else None
    if match is None or found is None or not _is_filled(match["said"]):
        return label, None
    if found[0] in _SETTLED and match["said"].rstrip(" *_").endswith(_ASKING):
        return label, None
    said = match["said"][:MAX_RECORD_CHARS].rstrip()
    at = start + match.start("said")
    return label, Record(*found, _STARS.sub("", said).strip(), at, at + len(said))


def is_record(line: str) -> bool:
    """Whether ``line`` is a labelled line, which is kept by itself."""
    return _label_of(line) in LABELS


def _label_of(line: str) -> str:
    match = _labelled(line)
    return _singular(match["label"]) if match is not None else ""


def _labelled(line: str) -> re.Match[str] | None:
    return _LABELLED.match(line) or _PLAIN.match(line)


def _explains(record: Record, label: str, following: str) -> bool:
    """Whether a line with ``label`` directly below ``record`` belongs to it."""
    if label == "context":
        return following in _DETAILS
    return label in _DETAILS or (record.kind == "blocker" and LABELS.get(label) == _RESOLVED)


def _with_detail(record: Record, label: str, line: str) -> Record:
    match = _labelled(line)
    said = _STARS.sub("", match["said"]).strip() if match is not None else ""
    if not _is_filled(said) or len(record.text) + len(line) > MAX_RECORD_CHARS:
        return record
    kind = "resolution" if LABELS.get(label) == _RESOLVED else record.kind
    return record._replace(kind=kind, text=f"{record.text}\n{label.capitalize()}: {said}")


def _singular(label: str) -> str:
    bare = " ".join(re.sub(r"[^\w\s]|_", " ", label).split()).lower()
    return bare if bare in LABELS or bare in _DETAILS else bare.removesuffix("s")


def _marked(name: str | None, said: str) -> tuple[str, str]:
    """The kind and namespace that a marker names; without a name what suits ``said``."""
    namespace = namespace_of(name) if name else remembered_as(said)
    kinds = {of: kind for kind, of in reversed(LABELS.values()) if kind != "resolution"}
    return kinds.get(namespace or "", "learning"), namespace or ""


def _is_filled(said: str) -> bool:
    bare = _STARS.sub("", said).strip()
    words = re.findall(r"\w+", bare.lower())
    if _OFFERED.search(bare) or _is_form(bare) or _EMPTY_WORDS.issuperset(words):
        return False
    if UNSPACED.search(bare):
        return len(bare) >= _LEAST_WORDS * 2
    return len(bare) >= _LEAST_CHARS and len(bare.split()) >= _LEAST_WORDS


def _is_form(bare: str) -> bool:
    """Whether a bracket opens before its first word and one closes after its last.

    So a form looks that nobody filled in.
    """
    around = re.split(r"\w+", bare)
    return not (_OPENING.isdisjoint(around[0]) or _CLOSING.isdisjoint(around[-1]))
