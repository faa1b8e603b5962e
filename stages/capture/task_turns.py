"""Tells a prompt that goes on with a task from one that begins another, and what it wants.

A prompt goes on where it says so, points back, says next to nothing, or shares words with the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from ...config.languages import ENGLISH, language_of
from ...config.patterns import regex
from ..language.sentences import (
    HANDLING_VERBS,
    ORDER_VERBS,
    SUBJECTS,
    Sentence,
    is_order,
    is_pasted_line,
    opening,
    sentences,
)
from ..language.topics import own_words, searched_words
from ..text.code import CODE_NAME
from .task_prose import verdict_of

_KEEPS_TO_IT = r"yes|no|nope|sure|also|and|but|still|again|wait|instead|actually|same"
# Such an opening keeps to what is being done, whatever follows.
_STAYS = regex(rf"(?:{_KEEPS_TO_IT})\b", re.IGNORECASE)
# A prompt that goes on with what is being done, rather than asking for something else.
_GOES_ON = regex(
    rf"(?:{_KEEPS_TO_IT}|ok(?:ay)?|thanks?|thank you|good|great|nice|perfect|stop|then|now|so"
    r"|go on|go ahead|continue|proceed|do it|try|retry|hm+|please (?:also|continue|go on|do)|that"
    r"|this|it|undo|revert|why|looks?|run|commit|push)\b",
    re.IGNORECASE,
)
# "Now the importer. It …" begins another task, "Now the importer crashes." does not.
_TURNS_TO = regex(
    r"(?:(?:ok(?:ay)?|great|good|nice|cool|fine|perfect|thanks|thx|alright)\b[,.! ]+)*now,? "
    r"(?:(?:on )?to |for )?(?:the|our|my|a) (?P<what>(?:[a-z][\w-]* ){0,3}"
    r"[a-z][\w-]*(?<!s)(?<!ed))[.:]\s+\S",
    re.IGNORECASE,
)
_NO_THING = frozenset(
    "is was did has does went broke froze came got fell hung threw began down dead slow wrong empty"
    " red green gone back away same".split()
)
_OPENS_ANOTHER = regex(
    r"(?:\w+[!.,]*\s+){0,2}?(?:today\s*:|(?:next(?: up| thing| one| task)?|another thing"
    r"|something else|(?:new|other|different) (?:topic|task|thing|subject)|unrelated(?:ly)?)"
    r"\s*[:,.\u2013\u2014-])\s",
    re.IGNORECASE,
)
# What corrects or points back is about what is being done, in whatever words.
_CORRECTS = regex(
    r"(?:(?:ok(?:ay)?|hm+|so|and|now)\b[,.! ]+)*(?:no|nope|but|wait|instead|actually|same|still"
    r"|again|it|this|that|they|these|those|undo|revert|why|continue|go on)\b",
    re.IGNORECASE,
)
# What answers the agent is about something else with more words only.
_REPLIES = regex(
    r"(?:yes|yeah|yep|sure|true|right|good|fine|perfect|great|nice|oh|ok(?:ay)?|h+m+|then)\b",
    re.IGNORECASE,
)
# Trouble that shows after a change may come from it.
_REPORTS_TROUBLE = regex(
    r"\b(?:crash|fail|br[eo]a?k|error|exception|wrong|missing|gone|empty|hang|hung|slow|red\b"
    r"|do(?:es)? ?n.?t|not work|lost)",
    re.IGNORECASE,
)
_ASKS_REASON = regex(
    r"\b(?:why|how come|(?:the|its|root) (?:cause|reason)|what (?:was|went|caused|did you"
    r" (?:do|change)))\b",
    re.IGNORECASE,
)
# "Why does it fail" asks of what is being done, "why did you …" of what was.
_ASKS_OF_IT = regex(
    r"\b(?:why|how come|reason|what caused)\b(?:[,\s]+(?:exactly|for|the hell))?\s+"
    r"(?:(?:is|was|are|were|do|does|did|has|had|would|should)(?:n['\u2019]?t)?\s+)?"
    r"(?:it|this|these|those|they|that(?!\s+\w+\s+\w))\b|\bdid(?:n['\u2019]?t)? you\b",
    re.IGNORECASE,
)
_BRINGS_UP = regex(
    r"(?:\w+[!.,]*\s+){0,2}?there(?:'s| is| are| was) (?:an?|another|some)\b", re.IGNORECASE
)
# "Can't we just restart it?" is a proposal for what is being talked about.
_PROPOSES = regex(
    r"(?:can|could|should|would)(?:n?'?t|not)? (?:we|you|i)\b.*\b(?:it|that|this|them|just)\b",
    re.IGNORECASE,
)
# What a prompt opens with that is no part of what is wanted.
_LEADS_IN = regex(
    r"(?:(?:(?:h+m+|ok(?:ay)?|hi|hey|hello|oh|ah|and|but|also|so|now|then|thanks|thank you|lol|btw"
    r"|yes please)\b|(?:yes|yeah|no|nah|nope|right|sure|great|good|nice|cool|fine|perfect|super"
    r"|well|wow|works|interesting|(?:good )?morning|next(?: up| thing| one| task)?|today)\b"
    r"(?=\s*[,.!:;\u2013\u2014-]))[,.!:;\s\u2013\u2014-]*)+",
    re.IGNORECASE,
)
_ITS_OBJECT = frozenset(("it", "them", "that", "this"))
_BEFORE_IT = frozenset(("first", "then"))
_ALIKE = frozenset(("same", "instead", "too"))
# Two prompts are about the same where they share so many stems; with a changed file, one will do.
_SHARED_STEMS = 2
# A prompt of so few words of its own begins no task.
_MAX_TALK_CHARS, _FEWEST_OWN_WORDS = 80, 2
_FEWEST_WORDS = 4
# A prompt with so many stems is about something else where it shares fewer than two of them, and
# less than a quarter.
_OWN_SUBJECT = 4
_OWN_SUBJECT_OF_A_REPLY = 6
_STEM_CHARS = 4
# Stems of what is done in every task, and of folders that every project has.
_COMMON = frozenset(
    "chan code comm crea docs docu edit file func impl inde init line main make need plea read "
    "remo shou test they this upda very want with work writ".split()
)


class Spoken(Struct, frozen=True, kw_only=True):
    """What was spoken of in a task so far, as stems.

    ``asked`` is what was asked for, ``said`` are the stems of the user's words, ``named`` those in
    the names of changed files, ``told`` the agent's. ``is_begun`` says whether anything was done.
    """

    asked: str
    said: frozenset[str]
    named: frozenset[str]
    told: frozenset[str]
    is_begun: bool

    @property
    def known(self) -> frozenset[str]:
        """All of them."""
        return self.said | self.named | self.told


def wanted(text: str) -> str:
    """``text`` from where it says what is wanted: without greeting, replies and pasted lines."""
    lines = text.split("\n")
    own = "\n".join(line for line in lines if len(lines) == 1 or not is_pasted_line(line)).strip()
    told = (one.spans[0][0] for one in sentences(own) if _says_something(one))
    own = own[next(told, 0) :]
    lead = _LEADS_IN.match(own)
    return (own[lead.end() :] if lead is not None else own) or text


def _says_something(sentence: Sentence) -> bool:
    """Whether ``sentence`` has words of its own; beside a pronoun ("leave it") one does not do."""
    own = set(own_words(" ".join(sentence.words)))
    return len(own) > (not _ITS_OBJECT.isdisjoint(sentence.words))


def goes_on(text: str, task: Spoken) -> bool:
    """Whether the prompt ``text`` goes on with ``task``.

    An order about something that was not spoken of yet is another task, however like it reads.
    """
    order = [] if _STAYS.match(text) else _order(text)
    verdict = verdict_of(text)
    if verdict == "later" or (order and _points_back(order, task)):
        return True
    stems = stems_of(text)
    if order and stems_in(searched_words(text) - {order[0]}) - task.said - task.named:
        return False
    if _is_of_another(text, stems, task) or (not verdict and _turns_to_another(text, task)):
        return False
    few = len(text.split()) < _FEWEST_WORDS or (not order and _is_talk(text))
    if few or _GOES_ON.match(text) or verdict == "undone":
        return True
    if not task.is_begun:
        return _takes_up(text, stems, task)
    least = 1 if verdict else _SHARED_STEMS
    return not stems or bool(stems & task.named) or len(stems & task.said) >= least


def asks_reason(text: str, task: Spoken) -> bool:
    """Whether the prompt ``text`` asks why ``task`` is as it is, or what was done in it.

    A question with words of its own that were not said of the task asks the reason of another
    thing: "why is the sky blue?"
    """
    if _ASKS_REASON.search(text) is None:
        return False
    asked = searched_words(_ASKS_REASON.sub(" ", text))
    own = {one for one in asked if one[:_STEM_CHARS] not in _COMMON}
    if _ASKS_OF_IT.search(text) or all(map(_REPORTS_TROUBLE.search, own)):
        return True
    return bool(stems_in(own) & task.known or own & searched_words(task.asked))


def _points_back(order: list[str], task: Spoken) -> bool:
    """Whether an ``order`` is about "it", the same, or what has to be done before the rest."""
    if order[1] in _ITS_OBJECT or not _ALIKE.isdisjoint(order):
        return True
    return order[-1] in _BEFORE_IT and task.is_begun


def _takes_up(text: str, stems: frozenset[str], task: Spoken) -> bool:
    """Whether a reply in the agent's words, or a proposal, belongs to what was asked before."""
    if _PROPOSES.match(text):
        return True
    asks_for_something = len(set(own_words(task.asked))) >= _FEWEST_OWN_WORDS
    return asks_for_something and len(stems & task.told) >= _SHARED_STEMS and not _orders(text)


def _is_of_another(text: str, stems: frozenset[str], task: Spoken) -> bool:
    """Whether a prompt says that it is, or has words enough, of which next to none are known."""
    if _OPENS_ANOTHER.match(text):
        return True
    if _CORRECTS.match(text):
        return False
    shared = len(stems & task.known)
    if _BRINGS_UP.match(text):
        return not shared
    return (
        len(stems) >= (_OWN_SUBJECT_OF_A_REPLY if _REPLIES.match(text) else _OWN_SUBJECT)
        and shared < _SHARED_STEMS
        and _OWN_SUBJECT * shared < len(stems)
        and not _REPORTS_TROUBLE.search(text)
    )


def _is_talk(text: str) -> bool:
    """Whether a prompt says next to nothing: "Aha, that explains it", "what would you do"."""
    short = len(text) <= _MAX_TALK_CHARS and language_of(text) == ENGLISH
    return short and len(set(own_words(text))) < _FEWEST_OWN_WORDS and not CODE_NAME.search(text)


def _turns_to_another(text: str, task: Spoken) -> bool:
    """Whether a prompt begins by naming a thing alone, of which nothing was said yet."""
    found = _TURNS_TO.match(text)
    if found is None:
        return False
    named = frozenset(found["what"].casefold().split())
    stems = stems_in(named)
    return named.isdisjoint(_NO_THING) and bool(stems) and stems.isdisjoint(task.said | task.named)


def _orders(text: str) -> bool:
    """Whether any clause of ``text`` orders something."""
    return any(
        one.words[at] in ORDER_VERBS and one.words[at + 1] not in SUBJECTS
        for one in sentences(text)
        for at in {*one.opens, opening(one)}
        if at + 1 < len(one.words)
    )


def _order(text: str) -> list[str]:
    """The words of the first sentence that says more than "great", if it orders further work.

    They begin with the verb, and are at least two; else there are none.
    """
    said_more = (one for one in sentences(text) if opening(one) + 1 < len(one.words))
    first = next(said_more, None)
    if first is None or not is_order(first):
        return []
    ordered = first.words[opening(first) :]
    if ordered[1] == "you":  # "can you fix …"
        ordered = [word for word in ordered[2:] if word != "please"]
    return ordered if len(ordered) > 1 and ordered[0] in ORDER_VERBS - HANDLING_VERBS else []


def stems_of(text: str) -> frozenset[str]:
    """The stems of the words of ``text`` that say something."""
    return stems_in(searched_words(text))


def stems_in(words: Iterable[str]) -> frozenset[str]:
    """Roughly: "hash", "hashing" and "hashes" have one. Names of files count by their parts.

    A name such as ``updated_at`` counts as a whole beside its stem, which it shares with others.
    """
    parts = [part for word in words for part in re.split(r"[/.]", word)]
    stems = frozenset(part[:_STEM_CHARS] for part in parts if len(part) >= _STEM_CHARS) - _COMMON
    return stems | {part for part in parts if "_" in part}
