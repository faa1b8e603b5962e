"""The answer types of a question (a reason, a person, a number, …), and which memories fit them.

Search says how well a memory matches a question by its words, but a question that no memory answers
shares its words as well. "Who …" is seldom answered by a pattern, "how far are we …" never by a
preference. ``perf/fit_relevance.py`` fits the log-odds in ``answer_type.json``.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from pathlib import Path

from msgspec.structs import replace

from ...bus.prompts import IntentType
from ...bus.values import Memory
from ...config.languages import ENGLISH, fold, language_of, number_words
from ...config.linear_model import LinearModel
from ...config.patterns import regex
from .questions import asked_types, asking_part

# The start and the end of a prompt; what lies between in a longer one is pasted.
_HEAD_CHARS = 1100
_TAIL_CHARS = 700
_READ_CHARS = 2000

EXPLORATORY = "exploratory"
"""The answer type of a question that asks for all there is about something."""

_WANTS = {
    "reason": r"\bwhy\b|\breasons?\b|\bhow come\b|\bwhat (?:made|speaks)\b|\bgrounds\b"
    r"|\bon purpose\b|\barguments?\b|\bdid we (?:ever|not)\b|\bvs\b|\bversus\b|\binstead of\b",
    "person": r"\bwho(?:m|'s|se)?\b",
    "number": r"\bhow (?:many|much|long|often|large|big|high|fast|old|tolerant)\b|\blimits?\b"
    r"|\bwhat (?:fraction|size|share)\b",
    "state": r"\bstatus\b|\bprogress\b|\bhow far\b|\bfinished\b|\bis [^.?!]{3,25} (?:ready|done)\b"
    r"|\bleft\b|\bmissing\b|\bstill (?:open|ha(?:ve|s) to|to)\b|\bremain|\bwaiting\b|\bblock"
    r"|\bholding up\b|\bhinder|\bopen\b|\btodo\b|\bto be done\b|\bpromised?\b|\bowe\b|\balready\b",
    "way": r"\bhow (?:do|should|to|would|can) (?:i|we)\b|\bhow (?:should|is|are|does|did)\b"
    r"|\bprocedure\b|\bconventions?\b|\bstyle\b|\bformat\b|\bguidelines?\b|\brules?\b"
    r"|\bwhat (?:should|goes|do i)\b",
    EXPLORATORY: r"\beverything\b|\banything\b|\bknown\b|\bpitfalls?\b|\btraps?\b|\bgotchas?\b"
    r"|\bsurpris|\baware\b|\bwatch out\b|\bshould i know\b|\bbefore (?:i|we)\b|\bsummar"
    r"|\boverview\b"
    r"|\b(?:need|have) to (?:know|respect|consider|think)\b|\bwhat (?:needs to be|must)\b"
    r"|\btell me about\b|\bwhat do we (?:know|have)\b|\bi(?:'m| am) (?:about|going) to\b"
    r"|\btake over\b|\bwhat (?:went wrong|bit us|did we (?:learn|settle|drop|do|find))\b|\bso far\b"
    r"|\b(?:conventions?|constraints?|rules?|problems|decisions|lessons?|limits|duties|debts?"
    r"|outages|things|experience)\b|\bobliged\b|\bhappened\b|\bstate (?:of|and)\b"
    r"|\bhow do we \w+ and\b",
}
_WANTED = {want: regex(pattern) for want, pattern in _WANTS.items()}
_REASON = regex(
    r"\b(?:because|since|as|due|so that|thus|therefore|cost|lost|too|made|dropped|rejected"
    r"|declined|refused|tried|instead|would)\b"
)
_DIGIT = regex(r"\d")
_ANY_NUMBER = regex(r"[\d一二三四五六七八九十百千万两半]")
_WORD = regex(r"[^\W\d_]+")

_GROUPS = {
    "gotchas": "problem",
    "learnings": "problem",
    "blockers": "problem",
    "decisions": "decision",
    "patterns": "guide",
    "preferences": "guide",
    "progress": "state",
    "tasks": "state",
    "tech-debt": "debt",
    "context": "fact",
}

WEIGHTS = Path(__file__).with_name("answer_type.json")
BY_WORDS_WEIGHTS = Path(__file__).with_name("answer_type_by_words.json")

MOST_LIFT = 2.0
"""Fitting may raise the log-odds of a memory by this much,"""
MOST_DROP = 3.0
"""and lower it by so much: words still count."""

_SMALLEST = 1e-6


def answer_types(text: str, intent: IntentType | None) -> frozenset[str]:
    """The answer types that the prompt ``text`` asks for; several, or none in particular."""
    if len(text) > _HEAD_CHARS + _TAIL_CHARS:
        text = f"{text[:_HEAD_CHARS]}\n{text[-_TAIL_CHARS:]}"
    if (language := language_of(text)) != ENGLISH:
        wanted = asked_types(asking_part(text), language) or ()
        return frozenset(f"{one} by words" for one in wanted)
    text = text.casefold()
    found = {want for want, pattern in _WANTED.items() if pattern.search(text)}
    if intent is IntentType.TROUBLESHOOT:
        found.add("remedy")
    return frozenset(found)


@cache
def load() -> LinearModel:
    """The log-odds by evidence, read once; those of questions by words are a file of their own."""
    model, by_words = LinearModel.load(WEIGHTS), LinearModel.load(BY_WORDS_WEIGHTS)
    return replace(model, weights=model.weights | by_words.weights)


def evidence(wanted: frozenset[str], memory: Memory) -> Iterator[str]:
    """The names, as in the weights, of the evidence for or against ``memory`` as an answer."""
    yield from _by_namespace(wanted, memory.namespace)
    content = memory.content[:_READ_CHARS]
    if "number" in wanted and not _DIGIT.search(content):
        yield "number: none in it"
    if "reason" in wanted and not _REASON.search(content):
        yield "reason: none in it"
    if "number by words" in wanted:
        yield f"number by words: {'one' if _has_number(content) else 'none'} in it"
    if "person by words" in wanted:
        yield "person by words"


def _has_number(content: str) -> bool:
    """Whether there is a number in ``content``, in figures or spelt out in any language."""
    if _ANY_NUMBER.search(content):
        return True
    return not number_words().isdisjoint(_WORD.findall(fold(content)))


def _by_namespace(wanted: Collection[str], namespace: str) -> Iterator[str]:
    group = _GROUPS.get(namespace)
    for want in wanted if group else ():
        # What stands in the way is a state of things, too.
        stands = want == "state" and namespace == "blockers"
        yield f"{want}: {'state' if stands else group}"


def adjust_for_answer_type(relevance: float, wanted: frozenset[str], memory: Memory) -> float:
    """``relevance`` by words, 0–1, corrected for whether ``memory`` is what is ``wanted``."""
    shift = load().total(set(evidence(wanted, memory)))
    return _shifted(relevance, min(MOST_LIFT, max(-MOST_DROP, shift))) if shift else relevance


@lru_cache(maxsize=64)
def floors(relevance: float, wanted: frozenset[str]) -> tuple[tuple[str, float], ...]:
    """The least relevance by words from which ``suited`` may reach ``relevance``, by namespace.

    Whatever the intent turns out to be of the prompt that has ``wanted``; namespaces without a pair
    are not corrected.
    """
    if relevance <= 0:
        return ()
    lifts = ((namespace, _lift(namespace, wanted)) for namespace in _GROUPS)
    return tuple((namespace, _shifted(relevance, -lift)) for namespace, lift in lifts if lift)


def _lift(namespace: str, wanted: frozenset[str]) -> float:
    """By how much the log-odds of a memory of ``namespace`` may be raised, or are lowered."""
    lift = load().total(set(_by_namespace(wanted, namespace)))
    remedy = load().total(set(_by_namespace({"remedy"}, namespace)))
    return min(MOST_LIFT, max(-MOST_DROP, lift + max(0.0, remedy)))


def _shifted(probability: float, log_odds: float) -> float:
    probability = min(1 - _SMALLEST, max(_SMALLEST, probability))
    return 1 / (1 + math.exp(-log_odds) * (1 - probability) / probability)
