"""What the local classifier sees of a prompt: its words, how its sentences open, and its form.

Pasted parts are left out: what somebody typed beside a paste tells what is wanted of it. Names of
code are one feature together, and words stand beside their classes, so that little of a project's
own vocabulary is left to learn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ...bus.prompts import SearchIntent
from ...config.patterns import regex
from .paste import find_paste
from .search_intent import detect_search_intent
from .sentences import (
    ORDER_VERBS,
    Sentence,
    addresses_agent,
    is_order,
    opening,
    reports_success,
    sentences,
    windows,
)
from .words import FILLERS, word_list

Feature = tuple[str, float]
"""The name of a feature, and how strong it is."""

MAX_WORDS = 160
CUE = "="
NAME = "~"

_PLAIN = regex(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_LENGTHS = (1, 2, 3, 5, 8, 12, 18, 30, 60)
_WHOLE_WORDS = 3
_TICKET = regex(r"\W{0,3}(?:todo|fixme|hack|ticket|story|bug|[a-z]{2,5}-\d+)\b", re.IGNORECASE)
_HEADED = regex(r"[\w./()-]+(?: [\w./-]+){0,2}: ")
_CLASSES = {
    "filler": FILLERS,
    "order": ORDER_VERBS,
    "preposition": word_list("prepositions"),
    "determiner": word_list("determiners"),
    "pronoun": word_list("pronouns"),
    "auxiliary": word_list("auxiliaries"),
    "question": word_list("question_words"),
}
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words}
_ENDINGS = ("ing", "ed", "ly", "s")
_LEAST_CHARS = 5


def features(text: str, read: Sequence[Sentence], found: SearchIntent | None) -> list[Feature]:
    """What ``text`` has, given its sentences and what the keywords ``found`` in it.

    Words together weigh the same in a short and in a long prompt: each counts 3 / √(their number).
    """
    text = "\n".join(text[start:end] for start, end in windows(text))
    paste = find_paste(text)
    if paste is not None:
        text, read = paste.own, sentences(paste.own)
        found = detect_search_intent(text, read)
    spoken = [part for sentence in read for part in _spoken(sentence)][:MAX_WORDS]
    grams = {*spoken, *(f"{first} {second}" for first, second in pairwise(spoken))} - {"?", "."}
    scale = 3.0 / max(1.0, len(grams)) ** 0.5
    cues = {*_noticed(read, found), *_form(text.strip(), spoken), *_openings(read)}
    if paste is not None:
        cues.add("paste asks" if read else "paste alone")
    return [(gram, scale) for gram in sorted(grams)] + [(CUE + cue, 1.0) for cue in sorted(cues)]


def _spoken(sentence: Sentence) -> Iterator[str]:
    """The words of a sentence with its end; numbers and names of code are not told apart."""
    for word in sentence.words:
        if word.isdigit():
            yield "0"
        elif _PLAIN.fullmatch(word):
            yield from word.split("-")
        else:
            yield NAME
    yield "?" if sentence.asks else "."


def _noticed(read: Sequence[Sentence], found: SearchIntent | None) -> Iterator[str]:
    """What the keyword racer noticed, and what the sentences are, taken together."""
    yield f"keyword {found.intent_type if found else 'none'}"
    for evidence in found.evidence if found else ():
        yield f"signal {evidence.signal}"
        yield f"type {evidence.intent}"
    if not read:
        yield "pasted"
        return
    orders = [is_order(sentence) or addresses_agent(sentence) for sentence in read]
    yield f"first {'order' if orders[0] else 'other'}"
    if all(orders):
        yield "orders only"
    if any(reports_success(sentence) for sentence in read):
        yield "settled"
    if any(sentence.asks for sentence in read):
        yield "asks"
    yield f"sentences {min(len(read), 4)}"


def _form(text: str, spoken: Sequence[str]) -> Iterator[str]:
    """The length, the ends, and what kind of words the prompt begins with."""
    words = [word for word in spoken if word not in {"?", "."}]
    yield f"words:{sum(len(words) > bound for bound in _LENGTHS)}"
    yield f"ends {text[-1] if text.endswith(('?', '.', '!', ':', ')')) else 'bare'}"
    for cue, there in (
        ("?", "?" in spoken),
        ("lines", "\n" in text),
        ("code", "`" in text),
        ("names", NAME in words),
        ("capital", text[:1].isupper()),
        ("ticket", _TICKET.match(text)),
        ("headed", _HEADED.match(text)),
    ):
        if there:
            yield cue
    for count in (1, 2, 3):
        yield f"^ {' '.join(words[:count])}"
        yield f"^^ {' '.join(map(_class_of, words[: count + 1]))}"
    for count in (1, 2):
        yield f"$ {' '.join(words[-count:])}"
    if len(words) <= _WHOLE_WORDS:
        yield f"whole {' '.join(words)}"


def _openings(read: Sequence[Sentence]) -> Iterator[str]:
    """How each sentence and each clause opens, and whether the last sentence asks."""
    last = len(read) - 1
    for at, sentence in enumerate(read):
        words = sentence.words[opening(sentence) :][:2]
        if not words:
            continue
        place = "first" if at == 0 else "last" if at == last else "inner"
        kinds = [_class_of(word) for word in words]
        for where in (place, "later") if at else (place,):
            yield f"{where} {kinds[0]}"
            yield f"{where} opens {words[0]}"
        yield f"{place} {' '.join(kinds)}"
        yield f"opens {words[0]} {' '.join(kinds[1:])}"
        if place == "last":
            tells = "asks" if sentence.asks else "tells"
            yield f"last {tells}"
            yield f"last {tells} {min(len(sentence.words), 4)}"
        for begin in sentence.opens:
            if 0 < begin < len(sentence.words):
                yield f"clause {_class_of(sentence.words[begin])}"
                yield f"clause opens {sentence.words[begin]}"


def _class_of(word: str) -> str:
    known = _CLASS_OF.get(word)
    if known is None and len(word) >= _LEAST_CHARS:
        known = next((f"-{ending}" for ending in _ENDINGS if word.endswith(ending)), None)
    return known or "word"
