"""Two sentences that are the same but for one value, of which the newer says that it holds now.

"From now on we run the tests with nox" of "We run the tests with tox". What the value is need not
be known, since the sentence around it says what it is a value of.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, pairwise

from ...config.patterns import regex
from ..language.time_expressions import MONTHS, WEEKDAYS
from ..language.words import FROM_NOW_ON
from .canonical import LIGHT, SLOTS, TIMES, UNITS, canonical
from .statement import ENDS_LEAD, Statement

SAYS_NOW = regex(
    rf" (?:{FROM_NOW_ON}|as of (?:now|today)|these days|nowadays|now(?! that )"
    r"|starting (?:now|today))(?= )(?: ,(?= ))?"
)
_ARTICLES = frozenset("the a an our".split())
MEANS = frozenset("with by via using through".split())
_PLACES = frozenset("is are was in on at to from under into uses use".split())
_ORDERS = frozenset("after before".split())
_QUALIFIES = frozenset("for of in on at".split())
_JOINS = frozenset("and or but not".split())
_VERSION = regex(r"v?\d+(?:\.\d+){1,2}")
_BY_SO_MUCH = regex(r" by \d")
_CHANGING = frozenset(
    map(
        canonical,
        "extended raised lowered increased reduced moved changed bumped cut shortened doubled "
        "halved limited set grew shrunk updated".split(),
    )
)
_UNITS = frozenset(map(canonical, UNITS))
_ALL = frozenset("all every each any everyone everybody anyone anybody".split())
_VERBS = frozenset("may can must should is are need needs get gets has have run runs".split())
_COMES_ONCE = regex(
    r" (?:ends?|expires?|starts?|begins?|due|deadline|(?:switched|turned) (?:on|off|[a-z]+abled)"
    r"|shut down|dropped|removed|retired|decommissioned|deprecated|discontinued|released"
    r"|launch(?:es|ed)|ships?|shipped|(?:goes|go) live|phased out|migrated|moved|moves) "
)
_MOST_WORDS = 3


def is_updated(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` gives another value for the place of one in ``older``, from now on."""
    if not newer.is_new or newer.adds or newer.excepts or newer.denies or older.denies:
        return False
    line, count = SAYS_NOW.subn(" ", newer.line)
    if not count:
        return False
    ours, theirs = _words(line.split()), _words(older.tokens)
    start, end = _common(ours, theirs), _common(ours[::-1], theirs[::-1])
    if not end:  # what follows the older value is left as it is: "…, restarts at 03:00"
        theirs = _to_end_of_value(older, start)
    end = min(end, len(ours) - start, len(theirs) - start)
    lead, tail = ours[:start], ours[len(ours) - end :]
    one, other = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if not (_is_value(one) and _is_value(other) and _may_follow(tail)):
        return False
    if _are_numbers(one, other):  # "reviews need two approvals" of "one approval"
        return not newer.heavy.isdisjoint(map(canonical, lead))
    if not _leads(lead, newer):
        return False
    needs_no_more = lead[-1] in MEANS or lead[-1] in _ORDERS
    return needs_no_more or (_is_known(one, newer) and _is_known(other, older))


def is_narrowed(newer: Statement, older: Statement) -> bool:
    """Whether only some do by ``newer`` just what all do by ``older``."""
    if newer.denies or older.denies or newer.tokens[:1] != ["only"] or not older.tokens:
        return False
    if older.tokens[0] not in _ALL:
        return False
    ours, theirs = (_predicate(one) for one in (newer, older))
    return len(ours) > 1 and ours == theirs


def _predicate(statement: Statement) -> list[str]:
    """Its words from the first on that says what is done."""
    words = [canonical(word) for word in dropwhile(_is_no_verb, statement.tokens)]
    return [word for word in words if word[-1].isalnum() and word not in _ARTICLES]


def _is_no_verb(word: str) -> bool:
    return word not in _VERBS


def is_redated(newer: Statement, older: Statement) -> bool:
    """Whether the two tell of one event that comes once, and another month or weekday of it."""
    if newer.denies != older.denies or not _COMES_ONCE.search(older.line):
        return False
    ours, theirs = (_words(SAYS_NOW.sub(" ", one.line).split()) for one in (newer, older))
    if len(ours) != len(theirs):
        return False
    pairs = [*zip(ours, theirs, strict=True)]
    dates = [at for at, two in enumerate(pairs) if _are_dates(*two)]
    apart = [at for at, two in enumerate(pairs) if canonical(two[0]) != canonical(two[1])]
    days = {beside for at in dates for beside in (at - 1, at + 1) if _is_figure(pairs, beside)}
    return bool({*dates} & {*apart}) and {*dates} | days >= {*apart}


def _are_dates(one: str, other: str) -> bool:
    """Whether both are months, or both weekdays."""
    return any(one in kind and other in kind for kind in (MONTHS, WEEKDAYS))


def _is_figure(pairs: Sequence[tuple[str, str]], at: int) -> bool:
    return 0 <= at < len(pairs) and all(word[0].isdigit() for word in pairs[at])


def is_of_it(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` says what holds now of something that a longer ``older`` speaks of."""
    if has_other_version(newer, older):
        return True
    gone = newer.names.intersection(frozenset().union(*newer.replaced))
    subject = newer.subject - gone
    if not newer.is_new or not subject or not subject <= older.heavy:
        return False
    return 4 * len(newer.heavy & older.heavy) >= len(newer.heavy)


def has_other_version(newer: Statement, older: Statement) -> bool:
    """Whether all that ``newer`` tells is that of something in ``older`` another version is used.

    As in "We are on Zephyr 3.7 LTS now" of "Firmware is built with Zephyr 3.6 and west".
    """
    if newer.denies or newer.adds or newer.around or not SAYS_NOW.search(newer.line):
        return False
    ours, theirs = _versions(newer), _versions(older)
    return any(
        theirs.get(what, (version,))[0] != version
        and newer.heavy - older.heavy <= {canonical(then)}
        for what, (version, then) in ours.items()
    )


def _versions(statement: Statement) -> dict[str, tuple[str, str]]:
    """For each name with a version behind it that version, and the word then: {"zephyr": …}."""
    words = [*statement.tokens, ""]
    return {
        canonical(words[at - 1]): (words[at], words[at + 1])
        for at in range(1, len(words) - 1)
        if _VERSION.fullmatch(words[at]) and canonical(words[at - 1]) in statement.names
    }


def is_revalued(newer: Statement, older: Statement) -> bool:
    """Whether all that ``newer`` says first is another number, from now on, of what is in both.

    As in "Kafka retention is 14 days now" of "The bus is Kafka, …, retention is 7 days". Where it
    names the number of ``older`` as well ("10 buoys instead of 5"), it may say more.
    """
    if not newer.is_new or newer.adds or newer.excepts:
        return False
    gone = frozenset().union(*newer.replaced)
    if newer.denies > older.denies and not gone:
        return False
    if _BY_SO_MUCH.search(newer.line) and not _BY_SO_MUCH.search(older.line):
        return False
    end = next((at for at, word in enumerate(newer.tokens) if word in ENDS_LEAD), None)
    first = frozenset(map(canonical, newer.tokens[:end]))
    own = (newer.heavy & first) - older.heavy - gone - _CHANGING
    ours, theirs = _measured(newer), _measured(older)
    if own:
        return any(
            what not in _UNITS
            and theirs[what] <= gone
            and ours[what].isdisjoint(gone)
            and not newer.heavy.isdisjoint(older.heavy - {what})
            for what in ours.keys() & theirs.keys()
        )
    if newer.heavy.isdisjoint(older.heavy & first):
        return False
    return any(
        (ours[what] - gone).isdisjoint(theirs[what]) and len(theirs[what]) == 1
        for what in ours.keys() & theirs.keys()
    )


def measures_another(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` gives a number that holds now, and that of ``older`` is of another thing.

    All that they have in common is the unit.
    """
    if not newer.is_new or newer.replaced:
        return False
    ours, theirs = _measured(newer), _measured(older)
    common = ours.keys() & theirs.keys()
    numbers = (number for what in common for number in theirs[what])
    return bool(common) and not any(_may_measure(newer, older, number) for number in numbers)


def _may_measure(newer: Statement, older: Statement, number: str) -> bool:
    """Whether what ``number`` is told of in ``older`` may be what ``newer`` is about.

    Not "items larger than 1 GB" of the cache, nor "the museum shop opens 3 days" of the museum.
    """
    told = frozenset(map(canonical, newer.tokens))
    tokens = older.tokens[: older.tokens.index(number)]
    begins = max((at for at, word in enumerate(tokens, 1) if not word[-1].isalnum()), default=0)
    words = [canonical(word) for word in tokens[begins:]]
    known = older.heavy.intersection(words)
    if known.isdisjoint(told):
        return not known
    if tokens[-1] in LIGHT or tokens[-1] in SLOTS:  # "the token expires after 15 minutes"
        return True
    *before, whole, part, _ = ["", "", *words]
    return not known.isdisjoint(before) or whole not in known & told or part not in known - told


def _measured(statement: Statement) -> dict[str, frozenset[str]]:
    """The numbers by the word after each, or the month before: {"day": {"14"}}."""
    found: dict[str, frozenset[str]] = {}
    for word, then in pairwise(statement.tokens):
        if word in statement.figures and then[-1].isalpha() and then not in SLOTS:
            what = canonical(then)
            found[what] = found.get(what, frozenset()) | {word}
        elif then in statement.figures and word in TIMES:
            found[word] = found.get(word, frozenset()) | {then}
    return found


def _to_end_of_value(statement: Statement, start: int) -> list[str]:
    """Its words up to the end of the value that follows the first ``start``."""
    found: list[str] = []
    for word in statement.tokens:
        ends = word in SLOTS or word in _JOINS or not word[-1].isalnum()
        if len(found) > start and ends and word != "for":  # another may be used for something else
            break
        found += _words([word])
    return found


def _words(tokens: Sequence[str]) -> list[str]:
    return [word for word in tokens if word[-1].isalnum() and word not in _ARTICLES]


def _common(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """How many words both begin with."""
    pairs = zip(map(canonical, ours), map(canonical, theirs), strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(ours), len(theirs)))


def _is_value(words: Sequence[str]) -> bool:
    """Whether ``words`` may be one value, rather than a part of a sentence."""
    return 0 < len(words) <= _MOST_WORDS and not any(w in SLOTS or w in _JOINS for w in words)


def _are_numbers(*values: Sequence[str]) -> bool:
    return all(len(words) == 1 and canonical(words[0]).isdigit() for words in values)


def _leads(words: Sequence[str], newer: Statement) -> bool:
    """Whether ``words`` say what is spoken of, and end with what introduces a value of it."""
    if not words or words[-1] not in MEANS | _PLACES | _ORDERS:
        return False
    return not newer.heavy.isdisjoint(map(canonical, words[:-1]))


def _may_follow(words: Sequence[str]) -> bool:
    """Whether ``words`` after the value leave it one: nothing, a noun, "for the web app"."""
    return len(words) < 2 or words[0] in _QUALIFIES


def _is_known(words: Sequence[str], statement: Statement) -> bool:
    """Whether one of ``words`` is a name, a number or a time in ``statement``."""
    known = statement.names | statement.figures | statement.times
    return any(canonical(word) in known or word in known for word in words)
