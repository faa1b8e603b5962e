"""Reminds a session that starts of the one before it: what was asked there, and how it ended.

What says nothing of any work ("hi! new project", "You're welcome!") is passed over, and so is a
note that the user only had kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from ...bus.sessions import Passage, Speaker
from ...config.languages import ENGLISH, language_of
from ...config.patterns import regex
from ..language.sentences import is_order, opening, sentences
from ..language.words import FAULTS, word_list, words_of
from ..text.code import CODE_NAME
from ..text.envelope import neutralise, preview
from ..text.markup import split_markers
from .quote import day_of, short_id

SOURCES = frozenset({"startup", "clear"})
"""How a session starts that knows nothing of the one before it."""

MAX_REMINDER_CHARS = 160

_SMALL_TALK = word_list("small_talk")
_FEWEST_WORDS = 2
# What somebody asks beside the work, if it is of no fault and asks for nothing to be done.
_ASIDE = regex(
    r"\bjust (?:curious|wondering)\b|\bout of curiosity\b"
    r"|\b(?:what|how)(?:['\u2019]s| is) the weather(?: like)?(?: (?:today|tomorrow|outside|there))?"
    r"\W*(?:lol|haha)?\W*$"
    r"|^\W*(?:can|could) you (?:explain|tell me) what \w+ (?:is|means)\W*$",
    re.IGNORECASE,
)
_OF_WORK = regex(
    r"\b(?:you|we) (?:can|could|should|would|might)\b"
    rf"|\b(?:{FAULTS}|missing|drops|los(?:es|t))\b",
    re.IGNORECASE,
)
_ACRONYM = regex(r"\b[A-Z]{2}[A-Z0-9]*\b")
# They belong to the word that follows: "[ci] run it nightly".
_OPENING_SIGNS = "[({<\"'`*@#~./-"


def last_session(
    passages: Sequence[Passage], *, now: datetime, clean: Callable[[str], str] = str
) -> str:
    """The lines for the envelope about the session of ``passages``.

    "" where nobody asked anything in it; ``clean`` redacts. Where the agent said nothing to the
    last request, the requests stand alone: the first, and the last if that is another one.
    """
    passages = _without_asides(passages)
    asked = _first(passages, "user")
    if asked is None:
        return ""
    latest = _first(passages[::-1], "user")
    since = passages[passages.index(latest[0]) :] if latest else passages
    ended = _first(since[::-1], "agent")
    day = day_of(asked[0].said_at, now)
    lines = [f"- {short_id(asked[0].session)} · {day} · the last one in this project"]
    lines.append(_line("The user asked", asked[1], clean))
    if latest is not None and latest != asked:
        lines.append(_line("The user's last request", latest[1], clean))
    if ended is not None:
        lines.append(_line("It ended with", ended[1], clean))
    return "\n".join(lines)


def tells_of_work(passages: Sequence[Passage]) -> bool:
    """Whether the user says in any of ``passages`` what is to be worked on."""
    return _first(_without_asides(passages), "user") is not None


def _without_asides(passages: Sequence[Passage]) -> list[Passage]:
    """``passages`` without what the user asked beside the work, and without the answers to it."""
    kept: list[Passage] = []
    is_aside = False
    for one in passages:
        if one.speaker == "user":
            is_aside = _is_aside(one.text)
        if not is_aside:
            kept.append(one)
    return kept


def _is_aside(text: str) -> bool:
    if not _ASIDE.search(text) or _OF_WORK.search(text) or CODE_NAME.search(text):
        return False
    return not any(is_order(one) for one in sentences(text) if opening(one) < len(one.words))


def _first(passages: Sequence[Passage], speaker: Speaker) -> tuple[Passage, str] | None:
    """The first of ``passages`` in which ``speaker`` says something of the work, from there on."""
    told = ((one, _from_work_on(_asked(one))) for one in passages if one.speaker == speaker)
    return next(((one, text) for one, text in told if text), None)


def _asked(passage: Passage) -> str:
    """What ``passage`` says beside what the user had kept with a marker."""
    return split_markers(passage.text)[0] if passage.speaker == "user" else passage.text


def _from_work_on(text: str) -> str:
    """``text`` from the first sentence on that says something of any work.

    "" where it says too little: one word that is no name. Of another language than English only a
    word of goodbye is known.
    """
    if language_of(text) != ENGLISH:
        spoken = set(words_of(text))
        return "" if spoken and spoken <= _SMALL_TALK else text
    start, said = len(text), set[str]()
    for sentence in sentences(text):
        own = set(words_of(" ".join(sentence.words))) - _SMALL_TALK
        if own:
            start = min(start, sentence.spans[0][0])
            said |= own
    own_name = _ACRONYM.search(text[start:]) or CODE_NAME.search(text[start:])
    if len(said) < _FEWEST_WORDS and not own_name:
        return ""
    return text[len(text[:start].rstrip(_OPENING_SIGNS)) :]


def _line(what: str, text: str, clean: Callable[[str], str]) -> str:
    room = MAX_REMINDER_CHARS - len(what) - len("  > : ")
    return f"  > {what}: {preview(neutralise(clean(text)), room)}"
