"""Which memories a newer one outdates, and how much of it.

That a newer memory contradicts an older one says that both cannot hold, and not yet that the older
one is void. A plan outdates nothing before its day, an exception leaves its rule, a proposal
decides nothing; and of an older one with several clauses those hold of which the newer says
nothing. What may still hold is shown beside the newer rather than lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import date, datetime, timedelta
from itertools import islice, product

from ...bus.values import Memory, Scope
from ...config.patterns import regex
from ..language.time_expressions import MONTHS, SEASONS, WEEKDAYS
from ..language.words import FROM_NOW_ON
from .comparison import Claim, Relation, claim_of, contradicts, settles
from .frame import SAYS_NOW
from .open_work import claimed, is_closed_since, tell_of_others
from .remainder import CLAUSE, LABEL, MOST_SENTENCES, leaves_clause
from .statement import Statement, sentences_of

# Of those that share words with an older one so many are compared with it, the newest first: in a
# store of near duplicates there is no end of them.
_MOST_RIVALS = 3
# "In 0.9, we will …"
_LEAD_WORDS = 3
_PROPOSES = regex(
    r"\A(?:\w+,? ){0,3}?(?:maybe|perhaps|possibly|what if|how about"
    r"|(?:idea|proposal|suggestion)(?=\s*[:\u2013\u2014]|\s-|(?: is| would be)? (?:to|that)\b)"
    r"|(?<=\bmy )(?:idea|proposal|suggestion)"
    r"|what about|why (?:not|don['\u2019]?t we)|(?:should|shall|could|can) we|i wonder"
    r"|i(?:['\u2019]m| am) wondering|(?:we|i|it|they) (?:might|could)\b(?! (?:not|never|no)\b)"
    r"|considering(?! [^,]*, (?:we|i|they) (?!might|could|would|should|may|can)\w)"
    r"|let['\u2019]?s (?:consider|discuss|talk|think|see)|asked (?:if|whether)"
    r"|(?<!\bthe )(?<!\bour )(?:propose|suggest)s?|(?:propos|suggest)(?:ed|ing))\b",
    re.IGNORECASE,
)
_THINKS_ALOUD = regex(
    r"\b(?:thinking (?:aloud|out loud)|just (?:an idea|a thought|thinking)|nothing (?:is )?decided"
    r"|not decided)\b",
    re.IGNORECASE,
)
_OF_OTHERS = regex(
    r"\A(?:the )?(?:\S+ ){0,2}(?:people|folks|guys|crowd|competit\w+|they|somebody|someone)\b"
    # "The people table moved": a thing.
    r"(?! (?!\w+ly\b|just|also|now|never|all|here|there|who|have|had)\w+"
    r" (?:is|was|has|moved|switched|uses|runs|lives|goes)\b)"
    r"(?!.*\b(?:we|our|us)\b)",
    re.IGNORECASE,
)
_EXCEPTS = regex(
    r"\A(?:(?:the|one|an?|only|sole|another) )*exceptions?(?:\s*:| (?:is|are|to|for|from)\b"
    r"(?! (?:now )?(?:(?!grant|allow|approv|permitt|limit)\w+ed|sent|thrown|caught)\b))|\Aexcept\b"
    r"|\b(?:(?:is|are) (?:exempt\w*|an exception|the (?:only )?exception)|nowhere else)\b",
    re.IGNORECASE,
)
_PERMITS = regex(r"\b(?:may|can|allowed|free to)\b", re.IGNORECASE)
_ONLY_MAY = regex(r"\A(?:only|just) .{1,60}? (?:may|can)\b", re.IGNORECASE)

_WILL = regex(
    r"\b(?:will|shall|won['\u2019]?t|going to|gonna|plan(?:s|ned|ning)? to|intend(?:s|ing)? to"
    r"|want(?:s|ing)? to|hop(?:es?|ing) to|aim(?:s|ing)? to|(?:would|['\u2019]d) like to)\b"
    r"|['\u2019]ll\b",
    re.IGNORECASE,
)
_AT = r"\b(?:in|by|on|from|starting|beginning|effective|as of|after|with|until|for)"
_FROM = regex(r"\b(?:from .{1,20}? on(?:wards?)?|starting|beginning|effective|as of)\b", re.I)
_FROM_NOW = regex(rf"\b(?:{FROM_NOW_ON}|as of (?:now|today)|starting (?:now|today))\b", re.I)
_OF_MONTH = regex(
    rf"{_AT} (?:in |from |early |mid[- ]|late |the (?:end|middle|beginning) of |\d{{1,2}}\.? )*"
    rf"(?P<month>{'|'.join(MONTHS)})\b(?: \d{{1,2}}\b,?)?(?: (?P<year>20\d\d))?",
    re.IGNORECASE,
)
_OF_YEAR = regex(rf"{_AT} (?:in |from |early |mid[- ]|late )*(?P<year>20\d\d)\b(?!-)", re.I)
_OF_DAY = regex(r"\b(?P<day>20\d\d-\d\d-\d\d)\b")
_SOON = regex(
    r"\b(?:next (?P<next>\w+)|(?P<tomorrow>tomorrow)|in (?P<count>an?|one|two|three) "
    r"(?P<unit>day|week|sprint|month|quarter|year)s?"
    rf"|(?:on|from) (?P<weekday>{'|'.join(WEEKDAYS)}))\b",
    re.IGNORECASE,
)
# An address has more dots.
_IN_RELEASE = regex(
    r"\b(?:in|from|with|as of) (?:release |version |v)?\d+(?:\.\d+){1,2}\b(?!\.\d)"
    r"(?!\s?(?:[smh]|ms|mins?|minutes?|sec\w*|hours?|days?|[kmgt]i?b|%|x|times)\b)",
    re.IGNORECASE,
)
_SOME_DAY = regex(
    r"\b(?:some ?day|eventually|later(?! than)|as soon as|in the long run|Q[1-4]"
    r"|plan(?:s|ned|ning)? to|intend(?:s|ing)? to|hop(?:es?|ing) to"
    r"|once (?:the|we|it|they|this|that|all|everything|\w+ (?:is|are|has|have)))\b",
    re.IGNORECASE,
)
_DAYS = {"day": 1, "week": 7, "sprint": 14, "month": 30, "quarter": 91, "year": 365}
_SEASONS = SEASONS | {"fall": 9}
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3}
# "As of October" is told of the October that is nearer.
_HALF_A_YEAR = 183
_SOME_TIME = datetime.fromisoformat("2000-01-01")


# --- how much of it is void ----------------------------------------------------------------------


def outdates(newer: str, older: str, *, said: datetime | None, now: datetime | None = None) -> bool:
    """Whether ``newer``, which contradicts ``older``, makes void anything of it by ``now``.

    ``newer`` was ``said`` then; without both a plan stays one.
    """
    first = _first_statement(newer)
    if not first or _PROPOSES.search(first) or _THINKS_ALOUD.search(newer):
        return False
    if _EXCEPTS.search(first) or (_allows_only(first) and not _permits(older)):
        return False
    begins = planned_for(first, (said or _SOME_TIME).date())
    return begins is None or (said is not None and now is not None and begins <= now.date())


def _allows_only(sentence: str) -> bool:
    """Whether ``sentence`` allows something to some, and does not say that this is new."""
    is_found = _ONLY_MAY.search(sentence) is not None
    return is_found and SAYS_NOW.search(Statement(sentence).line) is None


def _permits(text: str) -> bool:
    """Whether ``text`` allows what a newer one may allow to some only."""
    return _PERMITS.search(text) is not None and not Statement(text).denies


def tells_of_others(said: str) -> bool:
    """Whether ``said`` tells what others do: "the Ardour people moved from S3 to R2"."""
    return _OF_OTHERS.search(said.lstrip()) is not None


def takes_effect(newer: str, older: str) -> bool:
    """Whether ``newer``, which contradicts ``older``, outdates it at once, and is told of us."""
    return outdates(newer, older, said=None) and not tells_of_others(newer)


def replaces(newer: str, older: str) -> bool:
    """Whether ``newer`` settles what ``older`` states, and at once: where to act upon it."""
    return settles(newer, older) and takes_effect(newer, older)


def amends(newer: Iterable[str], older: Iterable[str]) -> bool:
    """Whether one of ``newer``, which were said later, outdates one of ``older``."""
    return any(
        contradicts(one, other) and takes_effect(one, other) for one, other in product(newer, older)
    )


def _first_statement(text: str) -> str:
    """The first sentence of ``text`` that asks nothing; "" if all ask."""
    sentences = sentences_of(LABEL.sub("", text), MOST_SENTENCES)
    return next((one for one in sentences if not one.rstrip().endswith("?")), "")


# --- plans ---------------------------------------------------------------------------------------


def planned_for(sentence: str, said: date) -> date | None:
    """The day from which on what ``sentence`` announces is to hold; None if it is no plan.

    The last day of all where it names none that can be told: "in 0.9", "once it is approved".
    """
    is_future = _WILL.search(sentence) is not None
    if _FROM_NOW.search(sentence) or not (is_future or _FROM.search(sentence)):
        return None
    day = _on_calendar(sentence, said, is_future)
    if day is None and (named := _SOON.search(sentence)):
        day = _soon(named, said)
    if day is None and is_future and (_SOME_DAY.search(sentence) or _is_for_release(sentence)):
        return date.max
    return day


def _is_for_release(sentence: str) -> bool:
    """Whether ``sentence`` names the release with which that comes which will be."""
    named = (one for one in CLAUSE.split(sentence) if _IN_RELEASE.search(one))
    return any(_WILL.search(one) or len(one.split()) <= _LEAD_WORDS for one in named)


def _on_calendar(sentence: str, said: date, is_future: bool) -> date | None:
    """The day, month or year that ``sentence`` names, by its first day."""
    if named := _OF_DAY.search(sentence):
        return _day(named["day"])
    if named := _OF_MONTH.search(sentence):
        return _month(MONTHS.index(named["month"].lower()) + 1, named["year"], said, is_future)
    named = _OF_YEAR.search(sentence)
    return date(int(named["year"]), 1, 1) if named else None


def _day(written: str) -> date | None:
    try:
        return date.fromisoformat(written)
    except ValueError:
        return None


def _month(month: int, year: str | None, said: date, is_future: bool) -> date:
    """The first day of ``month`` that is meant by who ``said`` it then."""
    if year:
        return date(int(year), month, 1)
    this = date(said.year, month, 1)
    if month >= said.month:
        return this
    coming = date(said.year + 1, month, 1)
    return coming if is_future or (coming - said).days <= _HALF_A_YEAR else this


def _soon(named: re.Match[str], said: date) -> date | None:
    if named["tomorrow"]:
        return said + timedelta(days=1)
    word = (named["next"] or "").lower()
    weekday = (named["weekday"] or "").lower() or word
    if weekday in WEEKDAYS:
        ahead = (WEEKDAYS.index(weekday) - said.weekday() - 1) % 7 + 1
        return said + timedelta(days=ahead)
    if word in MONTHS:
        return _month(MONTHS.index(word) + 1, None, said, is_future=True)
    if word in _SEASONS:
        begins = date(said.year, _SEASONS[word], 1)
        return begins if begins > said else begins.replace(year=said.year + 1)
    unit = word or named["unit"]
    number = _COUNTS[(named["count"] or "a").lower()]
    return said + timedelta(days=_DAYS[unit.lower()] * number) if unit.lower() in _DAYS else None


# --- of several memories -------------------------------------------------------------------------


def contradicted(
    memories: Iterable[Memory], *, asked: Set[str] | None = None, now: datetime | None = None
) -> dict[str, str]:
    """The id of each memory that a newer one of them contradicts, and the newest such one's id.

    It was noted when the newer one was kept, or their words tell it. Of two of the same time the
    one with the later id is the newer; a blocker that was closed since is no news on anything, and
    neither is what outdates nothing yet, or at all. Of two that make the same void the older is
    void itself, unless its words may be about another part of it. With ``asked``, of those ids.
    """
    return {old: new[0] for old, new in contradictions(memories, asked=asked, now=now).items()}


def contradictions(
    memories: Iterable[Memory], *, asked: Set[str] | None = None, now: datetime | None = None
) -> dict[str, list[str]]:
    """The same with every newer one that was noted to contradict it, the newest first.

    Several may contradict one memory, each another clause of it.
    """
    in_force: dict[str, Claim] = {}
    by_id: dict[str, Memory] = {}
    noted: dict[tuple[Scope, str | None], list[str]] = {}
    found: dict[str, list[str]] = {}

    def is_void(newer: str, older: Memory) -> bool:
        other = by_id[newer]
        if tell_of_others(other, older) or tells_of_others(other.content):
            return False
        if claimed(other) != other.content:  # a record tells what was done
            return True
        return outdates(other.content, claimed(older), said=other.updated_at, now=now)

    def makes_void(newer: str, memory: Memory, claim: Claim) -> bool:
        denied = every.get(memory.contradicts or "")
        return (
            denied is not None
            and is_void(newer, memory)
            and not leaves_clause(by_id[newer].content, denied.content)
            and _may_be_of_same(in_force[newer], claim, claim_of(claimed(denied)))
        )

    every = {memory.id: memory for memory in memories}
    for memory in sorted(every.values(), key=_newness, reverse=True):
        claim = claim_of(claimed(memory))
        is_asked = asked is None or memory.id in asked
        others = [
            other
            for other in noted.get((memory.scope, memory.id), ())
            if not in_force[other].holds_beside(claim) and is_void(other, memory)
        ]
        if memory.contradicts and not others:
            same = noted.get((memory.scope, memory.contradicts), ())
            others = [other for other in same if makes_void(other, memory, claim)][:1]
        if is_asked and not others:
            rivals = _rivals(in_force, claim)
            others = list(islice((id_ for id_ in rivals if is_void(id_, memory)), 1))
        if is_asked and others:
            found[memory.id] = others
        else:
            in_force[memory.id], by_id[memory.id] = claim, memory
            noted.setdefault((memory.scope, memory.contradicts), []).append(memory.id)
    return found


def _may_be_of_same(newer: Claim, other: Claim, denied: Claim) -> bool:
    """Whether ``other``, which contradicts ``denied`` too, may be about the same part of it."""
    return newer.contradiction(other) is not None or other.subject.isdisjoint(denied.subject)


def _newness(memory: Memory) -> tuple[bool, datetime, str]:
    return (not is_closed_since(memory), memory.updated_at, memory.id)


def _rivals(newer: Mapping[str, Claim], older: Claim) -> Iterator[str]:
    """Which of the first that speak of the same as ``older`` contradict it."""
    told = ((id_, found) for id_, one in newer.items() if (found := one.bearing(older)))
    rivals = islice(told, _MOST_RIVALS)
    return (id_ for id_, found in rivals if found is not Relation.DIFFERENT)
