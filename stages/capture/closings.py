"""Finds where the user says that something is done, and which open blocker or task that means.

"The CI runner is fixed now", "we finished the import of the old orders". Whoever says so names it;
what is asked, supposed, ordered or said of a way of working ("deploys are done by ArgoCD") ends
nothing, and neither does what may mean two of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

from ...bus.values import Memory
from ...config.patterns import regex
from ..language.words import STOP_WORDS, fold, is_negation, spelled_words, words
from ..statements.canonical import canonical
from ..statements.statement import Statement, sentences_of
from .statements import statements

MOST_SAID = 8
"""So many sentences of one look are followed."""

_MOST_WORDS = 16
_READ_SENTENCES = 2
_SEVERAL = 2
_LEADS = r"\W*(?:(?:ok|okay|yes|great|good news|fyi|btw|by the way|so|and|well)\b[ ,:!.]+)*"
_NOW = r"(?:(?:now|finally|already|all|just|meanwhile|fully|completely)\s+)*"
# A leak that is "back" is open again, and a port that is closed is shut.
_DONE = "done|fixed|resolved|solved|finished|completed?|unblocked|over|back (?:up|online|to normal)"
_TICKET = r"(?:issue|ticket|bug|task|pr|pull request|mr|merge request|milestone)s?\b"
_ENDS = (
    r"(?:[ ,]++(?:now|again|already|finally|meanwhile|for good|today|yesterday|this morning"
    r"|(?:since|thanks to) [^\s,]+(?: [^\s,]+)?|thanks|thank you))*"
    r"(?:[ ,]++(?:(?:so|and) )?(?:we|you|i) can [^,;:?!]{2,50})?\W*$"
)
_SUBJECT = r"(?P<what>[^,;:?!]{2,90}?)"
_HOW = r"(?P<how>\w{2,20}(?:ed|en|pt|ilt|ade)|gave|sent|got|brought)"
_STATES = regex(
    rf"{_LEADS}{_SUBJECT}(?:\s+(?:is|are|was|were|has been|have been|got)|['\u2019]s)\s+{_NOW}"
    rf"(?:{_DONE}|{_HOW}){_ENDS}",
    re.IGNORECASE,
)
_WORKS = regex(rf"{_LEADS}{_SUBJECT}\s+{_NOW}works?\s+(?:again|now){_ENDS}", re.IGNORECASE)
_DID = regex(
    rf"{_LEADS}(?:we|i)(?:\s+(?:have|are|am)|['\u2019](?:ve|re|m))?\s+{_NOW}"
    r"(?:fixed|resolved|solved|finished|completed|unblocked|done with"
    rf"|closed(?=.{{0,90}}\b{_TICKET}))\s+{_SUBJECT}{_ENDS}",
    re.IGNORECASE,
)
# "Legal approved the contract", which somebody waits for.
_THEY_DID = regex(
    rf"{_LEADS}(?P<who>(?:[^\s,;:?!]{{1,30}} ){{1,3}}?){_NOW}{_HOW} {_SUBJECT}{_ENDS}",
    re.IGNORECASE,
)
_FREE = regex(
    rf"{_LEADS}{_SUBJECT}(?: (?:is|are)|['\u2019]s)(?: no longer|(?P<no>n['\u2019]t| not))"
    rf" (?:blocked|stuck)(?(no) (?:any ?more|any longer)){_ENDS}",
    re.IGNORECASE,
)
_NAMES_TICKET = regex(rf"\b(?:{_TICKET}|[a-z]{{2,10}}-\d{{1,6}}\b)", re.IGNORECASE)
_NO_REPORT = regex(
    r"\b(?:if|when|whenever|once|until|unless|after|before|as soon as|whether|should|would|could"
    r"|must|need|needs|make sure|please|can you|let|think|thought|hope|hopefully|almost|nearly"
    r"|half|partly|mostly|maybe|perhaps|probably|says?|said|every|each|always|usually)\b",
    re.IGNORECASE,
)
_WAITS = regex(r"\b(?:until|till|before|unless|wait\w{0,3}|has to be|must be)\b", re.IGNORECASE)
_CANNOT = regex(r"\b(?:cannot|can not|can['\u2019]t) (?P<act>[^,;:.?!]{2,90})", re.IGNORECASE)
_IS_NOT = regex(r"\b(?:not|never)(?: yet| been| fully| even)* (?P<how>\w{3,20})", re.IGNORECASE)
# Somebody lacks a thing, and waits for nobody to do anything with it.
_LACKS = regex(
    r"\b(?:stuck|missing|pending|delayed|held up|lack(?:s|ing)?|needs?|waiting (?:for|on))\b",
    re.IGNORECASE,
)
_AWAITS_AN_ACT = regex(
    r"\b(?:until|till|before|unless|wait\w{0,3} (?:for|on) [^,;.]{1,60}? to) ", re.IGNORECASE
)
_GIVEN = frozenset(
    "gave given sent got brought delivered received issued granted handed shipped provided "
    "supplied arrived released published".split()
)
_OVERTURNS = {
    "approved": frozenset("rejected refused declined denied".split()),
    "accepted": frozenset("rejected refused declined".split()),
    "enabled": frozenset(("disabled",)),
    "unlocked": frozenset(("locked",)),
    "restored": frozenset("lost deleted gone".split()),
}
_RESTRICTS = regex(
    r"\W*(?:but|except|apart|aside|only|though|although|at least|however|on|in|for|with|without"
    r"|still|just)\b",
    re.IGNORECASE,
)
_ENDING = regex(r"(?<=\w{2})(?:e?[sd]|e)$")
_TICKET_NAME = regex(r"[a-z]{2,10}-\d{1,6}")
_SAYS_LITTLE = frozenset(
    "it this that these those they everything all thing things stuff one problem problems issue "
    "bug task blocker ticket".split()
)


class Closing(NamedTuple):
    """That something is done: the canonical words of ``what``; ``how`` where no plain word says so.

    ``said`` is the sentence, ``said_at_ms`` counts Unix milliseconds.
    """

    said: str
    what: frozenset[str]
    how: str = ""
    said_at_ms: int = 0


def find_closings(text: str) -> tuple[Closing, ...]:
    """What the user says in ``text``, their own words, to be done, in order."""
    parts = (part.text for part in statements(text, role="user") if not part.is_item)
    return tuple(chain.from_iterable(map(_closings, parts)))[:MOST_SAID]


def _closings(said: str) -> Iterator[Closing]:
    spelled = spelled_words(said)
    if len(spelled) > _MOST_WORDS or said.endswith("?") or _NO_REPORT.search(said):
        return
    line = " ".join(said.split())  # the forms take time with the cube of a run of blanks
    if free := _FREE.match(line):
        if what := _named(free["what"]):
            yield Closing(said, what)
    elif not any(map(is_negation, spelled)):
        parts = [one for part in _clauses(line) if (one := _closing(said, part))]
        whole = _closing(said, line) if len(parts) < _SEVERAL else None
        yield from (whole,) if whole else parts


def _clauses(line: str) -> Iterator[str]:
    """What ``line`` joins by "and", each without what follows its comma and does not restrict it.

    As in "the certificate is done, Dekra sent it today".
    """
    for part in line.split(" and "):
        clause, _, rest = part.partition(", ")
        if not _RESTRICTS.match(rest):
            yield clause.rstrip(",")


def _closing(said: str, line: str) -> Closing | None:
    """What ``line``, which is ``said`` or a clause of it, says to be done."""
    forms = (_STATES, _WORKS, _DID, _THEY_DID)
    match = next((found for form in forms if (found := form.match(line))), None)
    if match is None:
        return None
    given = match.groupdict(default="")
    what, how = _named(f"{given.get('who', '')} {given['what']}"), fold(given.get("how", ""))
    if how == "closed" and _NAMES_TICKET.search(match["what"]):
        how = ""
    return Closing(said, what, how) if what else None


def _named(text: str) -> frozenset[str]:
    return frozenset(
        canonical(word)
        for word in spelled_words(text)
        if word not in STOP_WORDS and word not in _SAYS_LITTLE
    )


def closed_by(closing: Closing, open_ones: Iterable[Memory]) -> Memory | None:
    """The one of ``open_ones`` that ``closing`` can mean; None where it may be several, or none.

    It may be each whose beginning has all that the closing names; a single word has to be what the
    memory is about, or the number of its ticket.
    """
    named = [memory for memory in open_ones if _names_all(closing, memory.content)]
    if len(named) != 1 or not (len(closing.what) > 1 or _is_about(closing, named[0].content)):
        return None
    return named[0]


def _names_all(closing: Closing, content: str) -> bool:
    said = {canonical(word) for one in _read(content) for word in one.words}
    return closing.what <= said and _is_awaited(closing, content)


def _is_about(closing: Closing, content: str) -> bool:
    if closing.what and all(map(_TICKET_NAME.fullmatch, closing.what)):
        words = (canonical(word) for one in _read(content) for word in one.words)
        return closing.what == set(filter(_TICKET_NAME.fullmatch, words))
    return any(closing.what <= one.topic for one in _read(content)[:1])


def _read(content: str) -> list[Statement]:
    return [Statement(sentence) for sentence in sentences_of(content, _READ_SENTENCES)]


def _is_awaited(closing: Closing, content: str) -> bool:
    """Whether ``content`` waits for that to happen; a plain word for "done" needs no such wait.

    "We cannot delete the old cluster" waits for its deletion.
    """
    if not closing.how:
        return True
    how = _bare(closing.how)
    if (awaited := _WAITS.search(content)) and how in _acts(content[awaited.end() :]):
        return True
    if _lacks(closing.how, content):
        return True
    if (hindered := _CANNOT.search(content)) is None:
        return False
    act = _WAITS.split(hindered["act"])[0]
    return how in _acts(act) and closing.what <= set(map(canonical, spelled_words(act)))


def _lacks(how: str, content: str) -> bool:
    """Whether ``content`` says that there is not what ``how`` brings about, or the contrary of it.

    "Not enabled" and "disabled" lack what is enabled; what is stuck somewhere lacks being sent.
    """
    if how in _GIVEN and _LACKS.search(content) and not _AWAITS_AN_ACT.search(content):
        return True
    spelled = spelled_words(content)
    denied = {found["how"] for found in _IS_NOT.finditer(" ".join(spelled))}
    return how in denied or not _OVERTURNS.get(how, frozenset()).isdisjoint(spelled)


def _acts(text: str) -> set[str]:
    return {_bare(fold(word)) for word in words(text)}


def _bare(verb: str) -> str:
    """``verb`` as "renew", "renews" and "renewed" have it in common, but not "renewing"."""
    return _ENDING.sub("", verb)
