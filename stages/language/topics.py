"""What a prompt is about: its topics, and the words that are worth searching for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...bus.values import Evidence, IntentType
from .sentences import Sentence, phrase_at, sentences, word_spans
from .words import STOP_WORDS, fold, word_list

MAX_TOPICS = 5
MAX_RETRIEVAL_WORDS = 120

TRIGGER_WORDS = word_list("trigger_words")
_ACTIONS = word_list("actions")
# What a question says of itself, or of the kind of memory that it wants, and not of its subject.
ASKING_WORDS = word_list("asking_words")
_TRAILING = frozenset(("set", "read", "run", "go", "work", "works"))
_BEFORE_ACTION = frozenset(
    """
    to i we you one they can could should would might must not and
""".split()
)

Anchor = tuple[Sentence, int]


def extract_topics(text: str, evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """At most five subjects of ``text``, lower-cased, those after its first signal before others.

    ``evidence`` is what ``detect_search_intent`` found in the same text; without any the whole
    text counts. Empty if nothing is left beside stop words and trigger words.
    """
    read = sentences(text)
    anchors = [anchor for one in evidence for anchor in _located(read, one)]
    return topics_of(read, anchors)


def topics_of(read: Sequence[Sentence], anchors: Sequence[Anchor]) -> tuple[str, ...]:
    """``extract_topics`` for sentences already read; an anchor is where a signal has ended."""
    topics: dict[str, None] = {}
    for sentence, at in _reading_order(read, anchors):
        for topic in _subjects(sentence, at):
            topics.setdefault(topic)
            if len(topics) == MAX_TOPICS:
                return tuple(topics)
    return tuple(topics)


def retrieval_words(text: str) -> tuple[str, ...]:
    """The words of ``text`` worth searching for, as written, in order, each once.

    Question phrases and stop words are left out, and asking words where there are others;
    identifiers stay whole. Pasted lines count too: an error message is the best query there is.
    """
    words: dict[str, str] = {}
    spans = word_spans(text)
    folded = [fold(text[start:end]) for start, end in spans]
    asked = _asked(folded)
    for at, word in enumerate(folded):
        if at in asked or not _is_content(word):
            continue
        start, end = spans[at]
        words.setdefault(word, text[start:end].strip("`"))
        if len(words) == MAX_RETRIEVAL_WORDS:
            break
    subjects = tuple(written for word, written in words.items() if word not in ASKING_WORDS)
    return subjects or tuple(words.values())


def _located(read: Sequence[Sentence], evidence: Evidence) -> Iterator[Anchor]:
    for sentence in read:
        for at, span in enumerate(sentence.spans):
            if span[1] == evidence.end:
                yield sentence, 0 if evidence.intent is IntentType.COMPARISON else at + 1
                return


def _reading_order(read: Sequence[Sentence], anchors: Sequence[Anchor]) -> Iterator[Anchor]:
    """After the first signal, then the sentences that ask, then everything."""
    yield from anchors[:1]
    asking = {id(sentence) for sentence, _ in anchors}
    yield from ((sentence, 0) for sentence in read if id(sentence) in asking)
    yield from ((sentence, 0) for sentence in read if id(sentence) not in asking)


def _subjects(sentence: Sentence, first: int) -> Iterator[str]:
    words = sentence.words
    for at in range(first, len(words)):
        word = words[at]
        if not _is_content(word) or word in TRIGGER_WORDS:
            continue
        if word in _ACTIONS and (at == first or words[at - 1] in _BEFORE_ACTION):
            continue
        if word in _TRAILING and at == len(words) - 1:
            continue
        yield word.strip("`")


def _is_content(word: str) -> bool:
    return word not in STOP_WORDS and (len(word) > 1 or not word.isascii()) and word != "``"


def _asked(words: Sequence[str]) -> frozenset[int]:
    """The positions that belong to a question phrase ("what is the difference between")."""
    asked: set[int] = set()
    at = 0
    while at < len(words):
        if words[at] in _QUESTION_ONLY:
            asked.add(at)
        phrase = phrase_at(words, at)
        length = len(phrase.words) if phrase else 1
        if length > 1:
            asked.update(i for i in range(at, at + length) if words[i] in TRIGGER_WORDS)
        at += length
    return frozenset(asked)


_QUESTION_ONLY = frozenset(
    """
    explain describe vs versus compare locate whereabouts howto find show recall clarify
    """.split()
)
