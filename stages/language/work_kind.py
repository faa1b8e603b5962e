"""Tells what kind of work a prompt asks for, by the verbs that its orders open with.

"Add user authentication" is a feature; "add tests for it" is about tests, since what is added
decides. A prompt may ask for several things; the first one it orders is the primary one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bus.prompts import WorkKind, WorkSignal
from ...config.patterns import regex
from .sentences import (
    Sentence,
    addresses_agent,
    is_order,
    opening,
    prompt_sentences,
    reports_success,
)

MAX_SIGNALS = 8

_VERBS: dict[WorkKind, str] = {
    WorkKind.FEATURE: "add implement build create introduce support integrate enable extend "
    "develop make write provide expose allow generate scaffold wire hook offer include design",
    WorkKind.BUGFIX: "fix repair resolve debug patch hotfix correct solve handle address "
    "investigate",
    WorkKind.REFACTOR: "refactor restructure rename extract inline simplify clean cleanup tidy "
    "reorganise reorganize split dedupe deduplicate migrate port convert rewrite decouple move "
    "replace remove delete drop unify consolidate modernise modernize swap rework switch",
    WorkKind.TEST: "test cover mock",
    WorkKind.DOCS: "document annotate comment",
    WorkKind.PERFORMANCE: "optimise optimize speed profile memoise memoize parallelise parallelize "
    "cache",
    WorkKind.REVIEW: "review audit verify validate check inspect double-check critique",
    WorkKind.CHORE: "bump upgrade update downgrade pin unpin install uninstall release commit push "
    "publish tag format lint configure rebase squash revert run deploy merge open stop start "
    "restart set setup rollback sync lock close stash undo execute",
}
_KIND_OF = {verb: kind for kind, verbs in _VERBS.items() for verb in verbs.split()}
# What is done to these decides more than the verb does.
_OBJECTS: dict[str, WorkKind] = {
    **dict.fromkeys(
        "test tests spec specs coverage testcase unittest fixture fixtures".split(), WorkKind.TEST
    ),
    **dict.fromkeys(
        "docs doc documentation readme docstring docstrings changelog comment comments guide "
        "tutorial".split(),
        WorkKind.DOCS,
    ),
    **dict.fromkeys("bug bugs crash regression deadlock leak flake".split(), WorkKind.BUGFIX),
    **dict.fromkeys("dependency dependencies lockfile".split(), WorkKind.CHORE),
}
_MADE = frozenset((WorkKind.FEATURE, WorkKind.CHORE, WorkKind.REFACTOR))
_OBJECT_WORDS = 4
# Between the verb and what it is done to; after a preposition it is only what it is done for.
_PREPOSITIONS = frozenset("for to in on of from with into by at so that which when and or".split())
_SYMPTOM = regex(
    r"^(?:\w*(?:error|exception)s?|bugs?|broken|crash(?:es|ed|ing)?|fails?|failing|failed|hangs?"
    r"|hanging|regression|flaky|segfault|panics?|leaks?|leaking|stuck|wrong)$"
)
_ASKS = frozenset("what where why how who whom whose which when explain describe compare".split())
_WANTS = (
    ("i", "want", "to"),
    ("we", "want", "to"),
    ("i", "need", "to"),
    ("we", "need", "to"),
    ("we", "should",),
    ("we", "have", "to"),
    ("i", "have", "to"),
    ("i'd", "like", "to"),
    ("i", "would", "like", "to"),
    ("help", "me"),
    ("let's",),
    ("lets",),
    ("i", "want", "you", "to"),
    ("i", "need", "you", "to"),
    ("go", "ahead", "and"),
    ("time", "to"),
)  # fmt: skip


def work_signals(text: str) -> tuple[WorkSignal, ...]:
    """The words of ``text`` that tell what work it asks for, in order, at most 8.

    An order's verb tells, or what it is about; a symptom that is reported asks for a fix; a
    sentence that asks is a question. What is pasted tells nothing.
    """
    found: dict[WorkSignal, None] = {}
    for sentence in prompt_sentences(text):
        for at, kind in _signals_of(sentence):
            start, end = sentence.spans[at]
            found.setdefault(WorkSignal(keyword=text[start:end].strip("`"), kind=kind))
            if len(found) == MAX_SIGNALS:
                return tuple(found)
    return tuple(found)


def primary(signals: Sequence[WorkSignal]) -> WorkKind | None:
    """The kind of work of the first order, else of the first signal; None without any."""
    ordered = (signal.kind for signal in signals if signal.kind is not WorkKind.QUESTION)
    return next(ordered, signals[0].kind if signals else None)


def _signals_of(sentence: Sentence) -> Iterator[tuple[int, WorkKind]]:
    words = sentence.words
    at = _verb(sentence)
    if at is not None:
        yield at, _kind(words, at)
        for later in sorted(sentence.opens):
            if later > at and later < len(words) and words[later] in _KIND_OF:
                yield later, _kind(words, later)
        return
    if reports_success(sentence) or addresses_agent(sentence):
        return
    opens = opening(sentence)
    if opens < len(words) and (sentence.asks or words[opens] in _ASKS):
        yield opens, WorkKind.QUESTION
        return
    symptom = next((i for i, word in enumerate(words) if _SYMPTOM.match(word)), None)
    if symptom is not None:
        yield symptom, WorkKind.BUGFIX


def _verb(sentence: Sentence) -> int | None:
    """Where the verb of the order stands, if the sentence is one."""
    words = sentence.words
    at = opening(sentence)
    wanted = next((want for want in _WANTS if tuple(words[at : at + len(want)]) == want), ())
    if wanted:
        at += len(wanted)
    elif words[at : at + 1] and words[at] in {"can", "could", "would", "will"}:
        if words[at + 1 : at + 2] not in (["you"], ["we"]):
            return None
        at += 2
    elif not is_order(sentence):
        return None
    while at < len(words) and words[at] in _SOFTENERS:
        at += 1
    return at if at < len(words) and words[at] in _KIND_OF else None


def _kind(words: Sequence[str], at: int) -> WorkKind:
    """The kind of the verb at ``at``, or of what it is done to."""
    kind = _KIND_OF[words[at]]
    if kind not in _MADE:
        return kind
    for word in words[at + 1 : at + 1 + _OBJECT_WORDS]:
        if word in _PREPOSITIONS:
            break
        kind = _OBJECTS.get(word, kind)  # of "a regression test" the last word is what it is
    return kind


_SOFTENERS = frozenset("please just also now then quickly first maybe to kindly".split())
