"""Whether two statements speak of two things of one kind: "crane 4", "crane 5"; "Redis on staging".

What is said of one of them says nothing of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import dropwhile, pairwise, takewhile

from ...config.patterns import regex
from .canonical import (
    LIGHT,
    POLES,
    ROLES,
    SLOTS,
    SURROUNDINGS,
    TIMES,
    UNITS,
    canonical,
    is_technology,
)
from .frame import SAYS_NOW
from .statement import Statement

ARTICLES = frozenset("the a an our its his her their your every each all any these those".split())
_VERBS = frozenset(
    "is are was were be been has have had must may can should will shall do does did go goes went "
    "no not now run runs ran start starts happen happens live lives come comes came get gets need "
    "needs moved moves switched changed use uses take takes stay stays".split()
)
_ENDS_SUBJECT = _VERBS | frozenset((",", ";", ":", "(", "\u2014", "\u2013"))
_DAYS = frozenset(("day", "days"))
_MOST_IN_SUBJECT = 6
_SPEAKERS = frozenset("we i you they it he she there nobody everybody".split())
_NUMBERED = regex(r"[a-z]{1,10}[-_#]?\d{1,6}(?:\.\d{1,3})*")
_COUNTED = frozenset("rev revision version phase tier zone region shard level".split())
_PREPOSITIONS = frozenset(SLOTS) | frozenset(
    "during over from off per than and or but with".split()
)
# What tells one of several from the others: "crane 4", "gate B", "pump 2a".
_ONE_OF_SEVERAL = regex(r"\d{1,4}[a-z]?|[a-z]")
_ALSO_ONE = frozenset((",", "and", "or", "to", "&"))
# A number after these is a value.
_MEASURED = frozenset(
    "size limit timeout port max maximum min minimum quota batch top ttl interval ratio status "
    "budget code error rate threshold count number width height depth length weight retention "
    "price cost age delay total page step major release build http java node".split()
)
_OF_ONE = frozenset("in at of for".split())
_MOST_IN_COMPLEMENT = 4
_SHORT = 3
_IDENTIFIER = regex(r"[a-z0-9]+(?:[-_][a-z0-9]+)+")
_END = regex(r"[-_]")
_THING = r"(?:the|our|all) (?P<what>(?:[a-z0-9-]+ ){1,3}?)"
_DONE_BY_US = regex(
    rf" (?:so |ok |and )?we (?:also |always |only |still )?(?P<verb>[a-z]{{3,}}) {_THING}"
    r"(?:with|by|via|using|through|on|to|in|from|at) "
)
_IS_DONE = regex(rf" {_THING}(?:is|are|gets?) (?P<verb>[a-z]{{3,}}) ")


def set_apart(newer: Statement, older: Statement) -> bool:
    """Whether the subjects are two of one kind, or the same at another time or place.

    As in "crane 4" and "crane 5", "the booking site in Kiel" and "in Oslo", "Redis on staging" and
    "on production".
    """
    ours, theirs = frozenset(_setting(newer)), frozenset(_setting(older))
    if ours and theirs and not ours & theirs and theirs.isdisjoint(map(canonical, newer.words)):
        return True
    tests = (
        _counted_apart,
        _called_apart,
        _named_apart,
        _placed_apart,
        _done_to_another,
        _is_of_others,
    )
    return any(test(newer, older) for test in tests)


def _setting(statement: Statement) -> Iterator[str]:
    before = ""
    for word in subject_of(statement):
        if word in TIMES or word in SURROUNDINGS or canonical(word) in SURROUNDINGS:
            yield canonical(word).rstrip("s")
        elif word in _DAYS or _NUMBERED.fullmatch(word):
            yield word
        elif before in _COUNTED:
            yield f"{before} {word}"
        before = word


def subject_of(statement: Statement) -> list[str]:
    """The first words of ``statement``, up to its verb."""
    words = SAYS_NOW.sub(" ", statement.line).split()
    if not words or words[0] in _SPEAKERS:  # "we deploy on Fridays" is of what they deploy
        return []
    end = next((at for at, word in enumerate(words) if word in _ENDS_SUBJECT), len(words))
    return words[: min(end, _MOST_IN_SUBJECT)]


# --- told apart by a number or a letter ----------------------------------------------------------


def _counted_apart(newer: Statement, older: Statement) -> bool:
    ours, theirs = _counted(newer), _counted(older)
    return any(
        ours[head].isdisjoint(theirs[head])
        and not _takes_over(newer, older, ours[head], theirs[head])
        and not _names_one(newer, head, theirs[head])
        and not _names_one(older, head, ours[head])
        for head in ours.keys() & theirs.keys()
    )


def _counted(statement: Statement) -> dict[str, frozenset[str]]:
    """For the noun before a number or letter in its subject these: "cranes 4 and 5"."""
    words = [*SAYS_NOW.sub(" ", statement.line).split(), "", ""]
    for at, (head, word) in enumerate(pairwise(words[: len(subject_of(statement))])):
        if _ONE_OF_SEVERAL.fullmatch(word) and _may_be_counted(head):
            end = at + 2
            while words[end] in _ALSO_ONE and _ONE_OF_SEVERAL.fullmatch(words[end + 1]):
                end += 2
            several = end > at + 2
            if (several or head[-1] != "s") and _does(words[end]):
                ones = filter(_ONE_OF_SEVERAL.fullmatch, words[at + 1 : end])
                return {canonical(head): frozenset(ones)}
    return {}


def _may_be_counted(word: str) -> bool:
    """Whether there may be several of what the noun ``word`` names."""
    if not word.isalpha() or len(word) == 1 or word in _MEASURED:
        return False
    if word in LIGHT and word != "team":
        return False
    if word in _PREPOSITIONS or word in ARTICLES or word in UNITS or word in TIMES:
        return False
    return not is_technology(word)


def _does(word: str) -> bool:
    """Whether ``word`` after a noun may be what it does, or where it is."""
    if word in _ENDS_SUBJECT or word in _OF_ONE:
        return word not in (",", "for")
    is_deed = len(word) > _SHORT and word[-1] == "s"
    return is_deed and word not in UNITS and word not in TIMES and word not in LIGHT


def _takes_over(
    newer: Statement, older: Statement, ours: frozenset[str], theirs: frozenset[str]
) -> bool:
    """Whether all that differs is which one it is, and that is new: "server 4 hosts it now"."""
    if not newer.is_new:
        return False
    said = frozenset(map(canonical, SAYS_NOW.sub(" ", newer.line).split()))
    known = older.canonical_words
    return said - known - ARTICLES <= ours and known - said - ARTICLES <= theirs


def _names_one(statement: Statement, head: str, ones: frozenset[str]) -> bool:
    pairs = pairwise(statement.tokens)
    return any(word in ones and canonical(before) == head for before, word in pairs)


# --- told apart by another word ------------------------------------------------------------------


def _called_apart(newer: Statement, older: Statement) -> bool:
    """Whether the subjects are one noun with another word beside it in each."""
    ours, theirs = _called(newer), _called(older)
    said, known = newer.canonical_words, older.canonical_words
    return any(
        ours[head] - known
        and theirs[head] - said
        and not _takes_over(newer, older, ours[head], theirs[head])
        for head in ours.keys() & theirs.keys()
    )


def _called(statement: Statement) -> dict[str, frozenset[str]]:
    """For each noun of its subject the words before it, and those after its preposition."""
    words = [*SAYS_NOW.sub(" ", statement.line).split(), ""]
    subject = _without_deed(subject_of(statement))
    found: dict[str, frozenset[str]] = {}
    for at, word in enumerate(subject):
        if word in ROLES or not _may_be_counted(word):
            continue
        beside = [*_run(reversed(subject[:at]))]
        if words[at + 1] in _OF_ONE:
            beside += _complement_of(words[at + 2 : at + 2 + _MOST_IN_COMPLEMENT])
        if beside:
            found.setdefault(canonical(word), frozenset(map(canonical, beside)))
    return found


def _without_deed(subject: list[str]) -> list[str]:
    """``subject`` up to what is done to something: "Bea" of "Bea leads the team"."""
    deeds = (
        at
        for at, (word, then) in enumerate(pairwise(subject))
        if at and word[-1] == "s" and then in ARTICLES
    )
    return subject[: next(deeds, len(subject))]


def _complement_of(words: list[str]) -> list[str]:
    """The noun that ``words`` begin with, after a preposition, however it looks: "of GOES"."""
    first, *more = [*dropwhile(ARTICLES.__contains__, words)] or [""]
    if not first.isalnum() or is_technology(first):
        return []
    return [first, *_run(more)] if _may_qualify(first) else [first]


def _run(words: Iterable[str]) -> Iterator[str]:
    """The first of ``words`` that say which one is spoken of."""
    for word in takewhile(lambda one: one not in _VERBS, words):
        if word not in ARTICLES:
            if not _may_qualify(word):
                return
            if word not in POLES and not is_technology(word):
                yield word


def _named_apart(newer: Statement, older: Statement) -> bool:
    """Whether the subjects are identifiers with the same end: "gate-api" and "billing-api"."""
    ours, theirs = _identifier(newer), _identifier(older)
    if not ours or not theirs or ours in older.words or theirs in newer.words:
        return False
    return ours != theirs and _END.split(ours)[-1] == _END.split(theirs)[-1]


def _identifier(statement: Statement) -> str:
    words = dropwhile(ARTICLES.__contains__, subject_of(statement))
    first = next(words, "")
    return first if _IDENTIFIER.fullmatch(first) else ""


def _placed_apart(newer: Statement, older: Statement) -> bool:
    """Whether each is of a place that the other one does not know, and the newer one no move to it.

    As in "the telemetry of the Zeebrugge terminal moved …" and "the telemetry runs in Antwerp".
    """
    ours = _names_beside(newer) - older.heavy
    theirs = _places(older) - newer.heavy
    return bool(ours and theirs)


def _names_beside(statement: Statement) -> frozenset[str]:
    """The names after a preposition in its subject: "of the Zeebrugge terminal"."""
    subject = subject_of(statement)
    at = next((at for at, word in enumerate(subject) if word in _OF_ONE), len(subject))
    return _proper(statement, subject[at:]) if at else frozenset()


def _places(statement: Statement) -> frozenset[str]:
    """The names in what ``statement`` says last: where, or of what."""
    words = statement.line.split()
    at = max((at for at, word in enumerate(words) if word in _OF_ONE), default=len(words))
    return _proper(statement, words[at:])


def _proper(statement: Statement, words: Iterable[str]) -> frozenset[str]:
    named = (canonical(word) for word in words if word.isalpha() and not is_technology(word))
    return frozenset(statement.names.intersection(named))


def _done_to_another(newer: Statement, older: Statement) -> bool:
    """Whether the same is done to another thing: "we deploy the shop", "the admin is deployed"."""
    ours, theirs = _object(newer), _object(older)
    if not ours or not theirs:
        return False
    (verb, one), (other_verb, other) = ours, theirs
    said, known = newer.canonical_words, older.canonical_words
    return verb == other_verb and one.isdisjoint(known) and other.isdisjoint(said)


def _object(statement: Statement) -> tuple[str, frozenset[str]] | None:
    """What is done, and to what: (deploy, {web, shop}); None where it is told otherwise."""
    line = SAYS_NOW.sub(" ", statement.line)
    found = _DONE_BY_US.match(line) or _IS_DONE.match(line)
    if found is None:
        return None
    what = found["what"].split()
    if any(map(is_technology, what)):
        return None
    return canonical(found["verb"]), frozenset(map(canonical, what))


def _is_of_others(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` tells what others did with theirs: "the Acme people … for their cache"."""
    if "their" not in newer.words:
        return False
    names = newer.names.intersection(map(canonical, subject_of(newer)))
    return bool(names) and names.isdisjoint(older.heavy)


def qualified_apart(newer: Statement, older: Statement) -> bool:
    """Whether one noun, wherever it stands, has another word beside it in each.

    As in "nightly jobs" and "weekly jobs", "tickets from schools" and "tickets from parents".
    """
    return _differ(newer, older, _qualifiers) or _differ(newer, older, _complement)


def _differ(
    newer: Statement, older: Statement, read: Callable[[Statement], dict[str, str]]
) -> bool:
    """Whether what ``read`` finds beside one noun is another word, unknown to the other one."""
    ours, theirs = read(newer), read(older)
    said, known = newer.canonical_words, older.canonical_words
    return any(
        ours[head] != theirs[head] and ours[head] not in known and theirs[head] not in said
        for head in ours.keys() & theirs.keys()
    )


def _qualifiers(statement: Statement) -> dict[str, str]:
    """For each noun the word right before it."""
    words = ["", *SAYS_NOW.sub(" ", statement.line).split(), ""]
    found: dict[str, str] = {}
    for at in range(2, len(words) - 1):
        before, word, after = words[at - 1 : at + 2]
        if not (_may_qualify(before) and word[0].isalpha() and word not in LIGHT):
            continue
        if word in _VERBS or word in _PREPOSITIONS or after in ARTICLES:  # "Mara reviews every"
            continue
        found.setdefault(canonical(word), canonical(before))
    return found


def _complement(statement: Statement) -> dict[str, str]:
    """For the noun that the subject begins with the word after its preposition."""
    words = [word for word in subject_of(statement) if word not in ARTICLES]
    for head, preposition, word in zip(words[:2], words[1:], words[2:], strict=False):
        if preposition in _PREPOSITIONS and head not in LIGHT:
            return {canonical(head): canonical(word)}
    return {}


def _may_qualify(word: str) -> bool:
    if not word or not (word[0].isalnum()):
        return False
    if word in TIMES or word in SURROUNDINGS or _NUMBERED.fullmatch(word):
        return True
    return not (
        word in LIGHT
        or word in ARTICLES
        or word in _VERBS
        or word in _PREPOSITIONS
        or word in UNITS
        or word[0].isdigit()
    )
