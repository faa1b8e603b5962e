"""Which turns of a session are quoted: those about the prompt that no memory beside them says.

A session may be found by a word of one turn. What was said of other things in it is left out; a
turn of few words belongs to what was said before it ("No. Seven. Eight trips it.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec.structs import replace

from ...bus.sessions import Passage
from ...bus.values import Memory
from ...config.patterns import regex
from ..language.sentences import is_order, sentences
from ..language.topics import retrieval_words
from ..language.words import STOP_WORDS, fold
from ..statements.comparison import contradicts, says_same
from ..text.unicode import one_line

ENDS = regex(r"(?<=[.!?])\s+")
"""Where one sentence ends and another begins."""

SETTLES = regex(
    r"\d|\b(?:must|never|always|only|exactly|instead|except|unless|at (?:most|least)|first|then"
    r"|not|no|stays?|keeps?|limit|max|min|default|rule|final)\b",
    re.IGNORECASE,
)
"""A rule is told in such words, and by numbers."""

# A longer passage says more than one thing, and is not compared as one statement.
_CLAIM_CHARS = 400
_OWN_SUBJECT = 4
_ENOUGH_SHARED = 2
# A reply to words that are left out needs more than one that follows them.
_ENOUGH_OF_A_REPLY = 3
_STEM_CHARS = 5
_SENTENCE_ENDS = regex(r"(?<=[.!?])\s+|\n+")
_PART = regex(r"[^\W_]+")


def telling_turns(
    passages: Sequence[Passage], question: str, memories: Sequence[Memory]
) -> tuple[Passage, ...]:
    """Those of ``passages``, or what is left of them, that are quoted beside ``memories``.

    () where nothing is left that tells anything. Where no turn shares a word with ``question``, the
    session was found by its meaning, and all of it counts.
    """
    asked = _stems(" ".join(retrieval_words(question)))
    topics = [_unsaid(topic, asked, memories) for topic in _topics(passages)]
    found = [passage for topic in topics for passage in topic]
    if asked & _stems_of(passages):
        # Beside a memory that answers from this session, one word more tells little.
        enough = 1 if found == list(passages) else min(_ENOUGH_SHARED, len(asked))
        about = [topic for topic in topics if len(asked & _stems_of(topic)) >= enough]
        found = [passage for topic in about for passage in topic]
    return tuple(found) if any(map(_tells, found)) else ()


def _topics(passages: Sequence[Passage]) -> list[list[list[Passage]]]:
    """The exchanges, each with those before it unless the user begins with something else in it.

    That is where the user has words enough and none that the exchange before it has.
    """
    topics: list[list[list[Passage]]] = []
    before: frozenset[str] = frozenset()
    for exchange in _exchanges(passages):
        begun = _stems(exchange[0].text)
        if topics and (len(begun) < _OWN_SUBJECT or begun & before):
            topics[-1].append(exchange)
        else:
            topics.append([exchange])
        before = _stems_of(exchange)
    return topics


def _exchanges(passages: Sequence[Passage]) -> list[list[Passage]]:
    """``passages`` in parts, each of which begins with the user's words."""
    exchanges: list[list[Passage]] = []
    for passage in passages:
        if exchanges and passage.speaker == "agent":
            exchanges[-1].append(passage)
        else:
            exchanges.append([passage])
    return exchanges


def _stems_of(passages: Sequence[Passage]) -> frozenset[str]:
    return frozenset[str]().union(*(_stems(passage.text) for passage in passages))


@lru_cache(maxsize=64)
def _stems(text: str) -> frozenset[str]:
    """The beginnings of the words of ``text`` that say something, and of the parts of its names."""
    parts = _PART.findall(fold(text))
    telling = (part for part in parts if len(part) > 1 and part not in STOP_WORDS)
    return frozenset(part.removesuffix("s")[:_STEM_CHARS] for part in telling)


def _unsaid(
    topic: Sequence[Sequence[Passage]], asked: frozenset[str], memories: Sequence[Memory]
) -> list[Passage]:
    """What no memory says of ``topic``."""
    left: list[Passage] = []
    for place, exchange in enumerate(topic):
        rests = [_rest(passage, memories) for passage in exchange]
        if all(rest == passage.text for rest, passage in zip(rests, exchange, strict=True)):
            left += exchange
        else:
            parts = (replace(one, text=rest) for one, rest in zip(exchange, rests, strict=True))
            left += _rest_of_exchange([one for one in parts if one.text], asked, adds=place > 0)
    return left


def _rest_of_exchange(
    left: Sequence[Passage], asked: frozenset[str], *, adds: bool
) -> Iterator[Passage]:
    """Of what is ``left`` of an exchange that a memory tells, what says more of what is asked.

    The user's few words may have added to what was said before.
    """
    enough = _ENOUGH_OF_A_REPLY
    for passage in left:
        stems, is_user = _stems(passage.text), passage.speaker == "user"
        is_addition = adds and is_user and len(stems) < _OWN_SUBJECT
        if _tells(passage) and (is_addition or len(asked & stems) >= enough - is_user):
            enough -= is_user
            yield passage


def _rest(passage: Passage, memories: Sequence[Memory]) -> str:
    """What ``passage`` says beside ``memories``; "" where one of them says otherwise."""
    if not memories:
        return passage.text
    texts = [one_line(memory.content).casefold() for memory in memories]
    if _is_said(passage, texts, memories) or _is_outdated(passage, memories):
        return ""
    said = _SENTENCE_ENDS.split(passage.text)
    kept = [one for one in said if not _is_in(one_line(one).casefold(), texts)]
    return passage.text if len(kept) == len(said) else "\n".join(kept)


def _is_in(sentence: str, texts: Sequence[str]) -> bool:
    bare = sentence.rstrip(" .!")
    return any(
        (bare in text and " " in bare) or (text.strip(" .!") and text.rstrip(" .!") in sentence)
        for text in texts
    )


def _is_outdated(passage: Passage, memories: Sequence[Memory]) -> bool:
    """Whether a memory says otherwise than the user said before it."""
    if passage.speaker != "user" or len(passage.text) > _CLAIM_CHARS:
        return False
    later = (memory for memory in memories if memory.updated_at > passage.said_at)
    return any(contradicts(memory.content, passage.text) for memory in later)


def _is_said(passage: Passage, texts: Sequence[str], memories: Sequence[Memory]) -> bool:
    said = one_line(passage.text).casefold()
    if any(said in text and (" " in said or said == text) for text in texts):
        return True
    if len(said) > _CLAIM_CHARS:
        return False
    return any(says_same(passage.text, memory.content) for memory in memories)


def _tells(passage: Passage) -> bool:
    """Whether ``passage`` states anything: an order or a question alone does not."""
    if passage.speaker == "agent" or SETTLES.search(passage.text):
        return True
    return any(not (one.asks or is_order(one)) for one in sentences(passage.text))
