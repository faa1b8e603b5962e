"""Whether a newer statement lies beside an older one, so that it replaces nothing of it, or a part.

What is replaced is not shown any more: where both may hold, they had better stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import chain, takewhile

from ...config.patterns import regex
from ..language.words import FROM_NOW_ON
from .canonical import SURROUNDINGS, TIMES, UNITS, canonical, is_technology
from .changes import said_of_past
from .contradiction import Pair
from .frame import SAYS_NOW, measures_another
from .siblings import ARTICLES, qualified_apart, set_apart
from .statement import TESTS, Statement

_ADDS = regex(
    r" (?:also|additionally|as well(?! as )|in addition(?! to )|too(?= (?:[,;.!)]|and |$))) "
)
# What is said of the rest: "the services keep their format", "logs stay where they are".
LEAVES_REST = regex(
    r" (?:(?:stays?|remains?|keeps?) (?:as|in|on|with|where|the same|what|its?|their|them|using)"
    r"|unchanged|unaffected|untouched|not (?:affected|changed?|touched)"
    r"|(?:everything|everyone|all) else"
    r"|(?<!like )the (?:rest|others?)|as before|apart from|except|(?:only|just) (?:for|in|on)) "
)
_NOT_DECIDED = regex(
    r" (?:asked (?:for|if|whether)|propos(?:es?|ed|al)|suggest(?:s|ed|ion)?|nothing (?:is )?decided"
    r"|consider(?:s|ed|ing)?|dream(?:s|ed)?|thinks|maybe|perhaps|might|would|said no|back in) |\? $"
)
_NO_LONGER = regex(r" no longer (?P<old>(?:[^ ,;.]+ ){1,6}?)but ")
# How something does just then: "the tests are green now", "the staging server is up again".
_STATES = frozenset("green red down up broken failing passing flaky stuck slow fast busy".split())
_OF_THE_MOMENT = regex(
    rf" (?:is|are) (?:(?:all|still|now|again|finally|just) )*(?:{'|'.join(sorted(_STATES))}) "
    r"(?:(?:now|again|today|since yesterday) )*(?=[,;:.!(]|and |but |$)"
)
# "The bundle is 400 KB now" tells nothing of how large it may be.
_BOUND = regex(
    r" (?:at (?:most|least)|(?:more|less|fewer|longer|larger|greater|higher|lower|smaller) than"
    r"|(?:below|under|above|over|exceeds?|within|up to|limited to|must (?:be|stay|have|reach))"
    r"(?: (?:a|the|about))?(?= \d)) "
)
_OF_A_BOUND = regex(
    r" (?:must|may|can|max(?:imum)?|min(?:imum)?|limit(?:s|ed)?|thresholds?|budgets?|quotas?|caps?"
    r"|allow(?:s|ed)?|requires?|required|needs?|raised|lowered|increased|reduced|extended|relaxed|tightened|changed|moved"
    r"|set) "
)
_CHANGE = regex(
    r" (?:dropped|removed|retired|abandoned|stopped|moved|switched|migrated|changed|replaced|gone"
    rf"|no longer|instead|{FROM_NOW_ON}) "
)
_END_PHRASE = (
    "for,in,on,of,at,to,from,into,and,but,now,since,because,as,so,with,by,which,that,is,are,was,"
    "were,has,have,instead,where,when,after,before,until,if,no,not,we,it,they,only"
).replace(",", "|")
_PHRASE = rf"(?P<what>(?:(?!(?:{_END_PHRASE}) )[^ ,;:!?()]+ ){{1,4}})"
_FOR = regex(rf" for {_PHRASE}")
_AT = "in|on|under|inside|within|at"
_BEGINS_AT = regex(rf"^ (?:(?:and|so|ok|also) )*(?:for|{_AT}) {_PHRASE}")
# After what came, or went: "to Vitest in the web package", "no longer use tabs in the Makefile".
_VALUE_AT = regex(rf" (?P<lead>[^ ]+) (?P<value>[^ ,;:.!?()]+) (?:{_AT}) {_PHRASE}")
_LEADS_VALUE = frozenset("to with by of than use using".split())
_OCCASIONS = frozenset(
    "end meantime past sprint quarter release version meeting call retro week month year spring "
    "summer autumn winter fall next last first second advice request basis way hope process course "
    "same once example instance while record sake hand light upside downside wish behalf "
    "suggestion recommendation decision background interest being run term name".split()
)
_ALL_OF_IT = frozenset(
    "project projects repo repository codebase code company team monorepo workspace product "
    "application app system stack whole entire production prod live".split()
)
_REASONS = frozenset(
    map(
        canonical,
        "cost costs price reason reasons speed performance security licence license licensing good "
        "everything everybody everyone all both simplicity safety compliance latency scale legal "
        "support stability maintenance favour favor place addition future moment".split(),
    )
)
_WHOLE = frozenset("all every each everything".split())
PART = regex(r"[;,:.()\u2013\u2014] ")
_REASONS_BEGIN = frozenset(("because", "since"))
_OWN_WORDS = 2


def both_hold(newer: Statement, older: Statement) -> bool:
    """Whether the two plainly do not contradict each other, whatever else their words say."""
    tests = (
        _only_adds, _is_of_its_reason, set_apart, _is_passing, only_measures, measures_another,
        _is_of_the_past, _adds_number,
    )  # fmt: skip
    return any(test(newer, older) for test in tests)


def _is_of_the_past(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` tells what held once, and ``older`` something else, which may hold now.

    What held once may be what ``older`` states: then that is no more.
    """
    told = said_of_past(newer.line)
    if not told or said_of_past(older.line):
        return False
    held = frozenset(map(canonical, told.split()))
    return bool(_values(newer) & held - older.canonical_words) and bool(_values(older) - held)


def _values(statement: Statement) -> frozenset[str]:
    return statement.heavy.union(map(canonical, chain(statement.times, statement.figures)))


def _adds_number(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` repeats ``older``, which has no number, and adds one: "on port 6390"."""
    if not newer.numbers or older.numbers or not older.heavy <= newer.heavy:
        return False
    return Pair(newer, older).only_repeats


def _is_of_its_reason(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` is about what ``older`` names in its reason alone.

    As in "CI runs on Buildkite, since GitHub has no USB for the rig" and "the rig moved". Not where
    a technology is, which may be chosen now.
    """
    if _REASONS_BEGIN.isdisjoint(older.words):
        return False
    tokens = older.tokens
    at = next((at for at, word in enumerate(tokens) if _gives_reason(tokens, at)), len(tokens))
    lead = frozenset(map(canonical, tokens[:at]))
    shared = newer.heavy & older.heavy
    if shared.isdisjoint(newer.subject) or len(lead & older.heavy) < _OWN_WORDS:
        return False
    return shared.isdisjoint(lead) and not any(map(is_technology, shared))


def _gives_reason(tokens: Sequence[str], at: int) -> bool:
    if tokens[at] == "because":
        return True
    then = tokens[at + 1] if at + 1 < len(tokens) else ""
    return tokens[at] == "since" and then not in TIMES and not then[:1].isdigit()


def only_measures(newer: Statement, older: Statement) -> bool:
    """Whether ``older`` bounds a number, and ``newer`` tells what it is, whatever the bound."""
    if not newer.figures or newer.replaced or not _BOUND.search(older.line):
        return False
    return not (_BOUND.search(newer.line) or _OF_A_BOUND.search(newer.line))


def _is_passing(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` tells of a state of the moment, and ``older`` of none."""
    return _STATES.isdisjoint(older.words) and _OF_THE_MOMENT.search(newer.line) is not None


def leaves_in_force(newer: Statement, older: Statement) -> bool:
    """Whether ``older`` may hold, or most of it, though ``newer`` tells a change."""
    if any(pattern.search(newer.line) for pattern in (_ADDS, LEAVES_REST, _NOT_DECIDED)):
        return True
    pair = Pair(newer, older)
    if pair.around or pair.begin_apart or set_apart(newer, older):
        return True
    return any(test(newer, older) for test in (qualified_apart, _gives_up_another, is_of_a_part))


# --- another one of its kind ---------------------------------------------------------------------


def _only_adds(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` says what holds also, and denies nothing."""
    if newer.denies or newer.replaced or not _ADDS.search(newer.line):
        return False
    if newer.is_new and newer.excepts:  # "one approval now, except in crypto/, where … too"
        return False
    pair = Pair(newer, older)
    return not (pair.poles or pair.permission)


# --- what is given up ----------------------------------------------------------------------------


def _gives_up_another(newer: Statement, older: Statement) -> bool:
    """Whether all that ``newer`` says by name or number is no more, ``older`` does not name."""
    values = newer.names | frozenset(map(canonical, (*newer.figures, *newer.times)))
    phrases = [*newer.replaced, *(_canonical(m["old"]) for m in _NO_LONGER.finditer(newer.line))]
    telling = [values & phrase for phrase in phrases if values & phrase]
    return bool(telling) and all(words.isdisjoint(older.stated) for words in telling)


def _canonical(phrase: str) -> frozenset[str]:
    return frozenset(map(canonical, phrase.split()))


def is_of_a_part(newer: Statement, older: Statement) -> bool:
    """Whether ``newer`` tells a change for what ``older`` does not speak of."""
    change = _CHANGE.search(newer.line)
    clause, *_ = PART.split(newer.line[change.end() - 1 :] if change else newer.line, maxsplit=1)
    parts = [match["what"].split() for match in _FOR.finditer(clause)]
    known = older.canonical_words
    return any(_is_strange(what, known) for what in (*parts, *_places(newer, known)))


def _is_strange(what: Sequence[str], known: Set[str]) -> bool:
    """Whether ``what`` is a part that is not ``known``, and no reason, time or measure."""
    words = [word for word in what if word not in ARTICLES]
    if not _WHOLE.isdisjoint(what) or any(map(_is_measure, words)):
        return False
    if _ALL_OF_IT.issuperset(words) or not _OCCASIONS.isdisjoint(words):
        return False
    return known.isdisjoint(map(canonical, words)) and _REASONS.isdisjoint(map(canonical, words))


def _places(newer: Statement, known: Set[str]) -> Iterator[list[str]]:
    """Where the change that ``newer`` tells was made, as far as it says so.

    What it begins with ends where it comes to what is ``known``: "in the web package tests use".
    """
    line = " ".join(SAYS_NOW.sub(" ", newer.line).split())
    if (begin := _BEGINS_AT.match(f" {line} ")) and _is_place(begin["what"].split()):
        words = begin["what"].split()
        yield [*takewhile(lambda one: one in ARTICLES or canonical(one) not in known, words)]
    for clause in PART.split(newer.line):
        if not _CHANGE.search(f" {clause} "):
            continue
        for match in _VALUE_AT.finditer(f" {clause} "):
            what = match["what"].split()
            is_value = match["lead"] in _LEADS_VALUE or canonical(match["value"]) in newer.names
            if is_value and _is_place(what):
                yield what


def _is_place(what: Sequence[str]) -> bool:
    """Whether it is "the web package", "staging" or "packages/ui", rather than "March"."""
    return bool(what) and (
        what[0] in ("the", "our")
        or "/" in what[0]
        or what[0] in SURROUNDINGS
        or canonical(what[0]) in SURROUNDINGS
        or what[0] in TESTS
    )


def _is_measure(word: str) -> bool:
    return word in UNITS or word in TIMES or canonical(word)[:1].isdigit()
