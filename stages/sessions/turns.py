"""Which turns of a session are quoted: those about the prompt that no memory beside them says.

A session may be found by a word of one turn. What was said of other things in it is left out; a
turn of few words belongs to what was said before it ("No. Seven. Eight trips it."), if either side
speaks of that or it is a bare reply. What a marker keeps is a memory, and is for that one to say.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import log1p

from msgspec.structs import replace

from ...bus.sessions import Passage
from ...bus.values import Memory
from ...config.patterns import regex
from ..language.sentences import (
    Sentence,
    is_order,
    opening,
    prompt_sentences,
    sentences,
)
from ..language.topics import retrieval_words
from ..language.words import HESITATES, STOP_WORDS, TAKES_BACK, fold
from ..statements.comparison import contradicts, says_same
from ..statements.outdated import outdates
from ..text.code import CODE_NAME
from ..text.markup import split_markers
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
# A turn that has words enough goes on with what was said before if it has so many of its words.
_GOES_ON = 2
# So few words that state something are a reply to what was said before.
_BARE_REPLY = 1
# A reply to words that are left out needs more than one that follows them.
_ENOUGH_OF_A_REPLY = 3
# With fewer words beside a marker a turn is for the marker alone ("ok, next thing:").
_FEWEST_BESIDE_MARKER = 3
# A topic that holds a smaller part of what is asked than this, beside the best, is about something
# else. An order with more words asks for details that it has no words for.
_LEAST_OF_BEST = 0.2
_MOST_ASKED = 8
_STEM_CHARS = 5
_SENTENCE_ENDS = regex(r"(?<=[.!?])\s+|\n+")
_PART = regex(r"[^\W_]+")
# What many files have in common says nothing: "src/retry.py" is about retry.
_OF_A_PATH = regex(r"(?<=\w)\.[a-z]{1,4}\b(?![\w/-]|\.\w)|\b(?:src|lib)/")
_PLEASE = frozenset(("please", "pls", "plz"))
_GOODBYE = regex(
    r"\W*(?:(?:ok(?:ay)?|great|good|nice|perfect)\W+)?(?:thanks?|thx|cheers|(?:good ?)?bye)\b",
    re.IGNORECASE,
)
_KNOWS_NOT = regex(
    r"\b(?:(?:do|does|did) ?n[o'\u2019]t (?:know|remember|recall)|no (?:idea|clue)"
    r"|not (?:sure|aware)"
    r"|(?:can ?not|can['\u2019]t|could ?n[o'\u2019]t) (?:find|tell|see|say|answer)"
    r"|(?:found|find|is|see|have|has|says?) (?:nothing|no (?:notes?|records?|mention|hints?)))\b",
    re.IGNORECASE,
)
_SHORT_ANSWER_CHARS = 300
# "No wait, scrap that, the audit needs the single commits".
_TAKES_BACK = regex(
    rf"\W*(?:(?:{HESITATES}|ok(?:ay)?\b)\W*)*"
    rf"(?:wait\b|actually,? (?:no|not|wait|scrap|forget)\b|{TAKES_BACK})",
    re.IGNORECASE,
)


def telling_turns(
    passages: Sequence[Passage], question: str, memories: Sequence[Memory]
) -> tuple[Passage, ...]:
    """Those of ``passages``, or what is left of them, that are quoted beside ``memories``.

    () where nothing is left that tells anything, as of who asked the same and was told that nobody
    knows, or of what the agent asked, and a memory answers. Where no turn shares a word with
    ``question``, the session was found by its meaning, and all of it counts.
    """
    asked = _asked(question)
    said = _topics(_known(passages) if question else passages)
    if len(asked) <= _MOST_ASKED and asked & _stems_of(passages):
        said = _nearest(_naming(said, question, asked), asked)
    answered = frozenset(_answered(passages, memories))
    topics = [list(_unasked(_unsaid(topic, asked, memories), answered)) for topic in said]
    found = [passage for topic in topics for passage in topic]
    if asked & _stems_of(passages):
        is_whole = found == _flat(chain.from_iterable(said))
        about = [topic for topic in topics if _is_about(topic, asked, is_whole=is_whole)]
        found = [passage for topic in about for passage in topic]
    return tuple(found) if any(map(_tells, found)) else ()


def _known(passages: Sequence[Passage]) -> list[Passage]:
    """``passages`` without the exchanges in which somebody asks what the agent does not know."""
    return [
        passage
        for exchange in _exchanges(passages)
        if _tells(exchange[0]) or not any(map(_denies_to_know, exchange[1:]))
        for passage in exchange
    ]


def _denies_to_know(passage: Passage) -> bool:
    first = ENDS.split(passage.text, 1)[0]
    return len(passage.text) <= _SHORT_ANSWER_CHARS and _KNOWS_NOT.search(first) is not None


def _answered(passages: Sequence[Passage], memories: Sequence[Memory]) -> Iterator[str]:
    """The ids of those of the agent's ``passages`` whose question is answered by a memory."""
    for one, then in pairwise(passages):
        asks = one.speaker == "agent" and one.text.rstrip().endswith("?")
        if asks and then.speaker == "user" and _rest(then, memories) != then.text:
            yield one.id


def _unasked(left: Iterable[Passage], answered: Collection[str]) -> Iterator[Passage]:
    """What is ``left``, without the questions with which those that are ``answered`` end."""
    for passage in left:
        said = ENDS.split(passage.text.rstrip()) if passage.id in answered else []
        while said and said[-1].endswith("?"):
            said.pop()
        if said or passage.id not in answered:
            yield replace(passage, text=" ".join(said)) if said else passage


def _asked(question: str) -> frozenset[str]:
    """The stems of what ``question`` is about: what an order tells to do with it is not."""
    read = prompt_sentences(question)
    verbs = (one.words[opening(one) :][:1] for one in read if is_order(one))
    stems = _stems(" ".join(retrieval_words(question)))
    return stems - _stems(" ".join(chain.from_iterable(verbs))) or stems


def _naming(
    topics: Sequence[list[list[Passage]]], question: str, asked: frozenset[str]
) -> Sequence[list[list[Passage]]]:
    """Those of ``topics`` with the name that ``question`` is about; all where there are none.

    That is one as code has it, with half of what is ``asked``: "is test_gap_detection fixed?".
    """
    named = (word.strip("`'\"()[],.:;?!") for word in question.split() if CODE_NAME.search(word))
    names = [word.casefold() for word in named if 2 * len(_stems(word) & asked) >= len(asked)]
    naming = [
        topic
        for topic in topics
        if any(name in one.text.casefold() for one in _flat(topic) for name in names)
    ]
    return naming or topics


def _nearest(
    topics: Sequence[list[list[Passage]]], asked: frozenset[str]
) -> list[list[list[Passage]]]:
    """Those of ``topics`` that hold much of what is ``asked`` beside the one that holds most.

    A word counts the more the fewer exchanges have it.
    """
    held = [[_stems_of(exchange) & asked for exchange in topic] for topic in topics]
    every = [stems for topic in held for stems in topic]
    times = Counter(chain.from_iterable(every))
    worth = [
        sum(log1p(len(every) / times[stem]) for stem in frozenset().union(*topic)) for topic in held
    ]
    least = _LEAST_OF_BEST * max(worth, default=0.0)
    return [topic for topic, whole in zip(topics, worth, strict=True) if whole >= least]


def _flat(exchanges: Iterable[Sequence[Passage]]) -> list[Passage]:
    return list(chain.from_iterable(exchanges))


def _is_about(topic: Sequence[Passage], asked: frozenset[str], *, is_whole: bool) -> bool:
    """Whether ``topic`` shares enough with what is ``asked``.

    One word more tells little where the session is not quoted whole, since a memory beside it
    answers from it, or where the user neither states nor asks anything.
    """
    heard = [one for one in topic if one.speaker == "user"]
    only_orders = heard and not any("?" in one.text or _tells(one) for one in heard)
    enough = 1 if is_whole and not only_orders else min(_ENOUGH_SHARED, len(asked))
    return len(asked & _stems_of(topic)) >= enough


def _topics(passages: Sequence[Passage]) -> list[list[list[Passage]]]:
    """The exchanges, each with those before it unless something else begins with it."""
    topics: list[list[list[Passage]]] = []
    for exchange in filter(None, map(_beside_marker, _exchanges(passages))):
        if topics and _goes_on(exchange, topics[-1]):
            topics[-1].append(exchange)
        else:
            topics.append([exchange])
    return topics


def _goes_on(exchange: Sequence[Passage], topic: Sequence[Sequence[Passage]]) -> bool:
    """Whether ``exchange`` goes on with ``topic``.

    Where the user has words enough, some have to be of the exchange before. Of fewer it suffices if
    either side has a word in common with it, and a bare reply needs none ("yes", "seven").
    What takes back goes on with what it takes back, whatever its words.
    """
    if _TAKES_BACK.match(exchange[0].text):
        return True
    begun = _stems(exchange[0].text)
    if len(begun) >= _OWN_SUBJECT:
        return len(begun & _stems_of(topic[-1])) >= _GOES_ON
    is_reply = len(begun) <= _BARE_REPLY and (not begun or _tells(exchange[0]))
    if is_reply and not _GOODBYE.match(exchange[0].text):
        return True
    return not _stems_of(exchange).isdisjoint(_stems_of(topic[-1]))


def _exchanges(passages: Sequence[Passage]) -> list[list[Passage]]:
    """``passages`` in parts, each of which begins with the user's words."""
    exchanges: list[list[Passage]] = []
    for passage in passages:
        if exchanges and passage.speaker == "agent":
            exchanges[-1].append(passage)
        else:
            exchanges.append([passage])
    return exchanges


def _beside_marker(exchange: list[Passage]) -> list[Passage]:
    """``exchange`` without what the user had kept with a marker; [] if there is little else."""
    if exchange[0].speaker != "user":
        return exchange
    text, marked = split_markers(exchange[0].text)
    if not marked:
        return exchange
    is_more = len(_stems(text)) >= _FEWEST_BESIDE_MARKER
    return [replace(exchange[0], text=text), *exchange[1:]] if is_more else []


def _stems_of(passages: Sequence[Passage]) -> frozenset[str]:
    return frozenset[str]().union(*(_stems(passage.text) for passage in passages))


@lru_cache(maxsize=64)
def _stems(text: str) -> frozenset[str]:
    """The beginnings of the words of ``text`` that say something, and of the parts of its names."""
    parts = _PART.findall(_OF_A_PATH.sub(" ", fold(text)))
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
    return any(
        contradicts(memory.content, passage.text)
        and outdates(memory.content, passage.text, said=memory.updated_at, now=None)
        for memory in later
    )


def _is_said(passage: Passage, texts: Sequence[str], memories: Sequence[Memory]) -> bool:
    said = one_line(passage.text).casefold()
    if any(said in text and (" " in said or said == text) for text in texts):
        return True
    if len(said) > _CLAIM_CHARS:
        return False
    return any(says_same(passage.text, memory.content) for memory in memories)


def _tells(passage: Passage) -> bool:
    """Whether ``passage`` states anything: a question or an order alone does not."""
    if passage.speaker == "agent":
        return True
    return any(_states(one, passage.text) for one in sentences(passage.text))


def _states(sentence: Sentence, text: str) -> bool:
    """Whether ``sentence`` of ``text`` states anything, as an order does that settles something.

    What leads in to a request does not: "the map is blank, please debug".
    """
    if sentence.asks or _begs(sentence):
        return False
    begin, end = sentence.spans[0][0], sentence.spans[-1][1]
    return not is_order(sentence) or SETTLES.search(text, begin, end) is not None


def _begs(sentence: Sentence) -> bool:
    """Whether a later clause of ``sentence`` begins with "please"."""
    words = sentence.words
    return any(words[at] in _PLEASE for at in sentence.opens if 0 < at < len(words) - 1)
