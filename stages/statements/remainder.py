"""What of an older text stays where a newer one tells a change: that of which it says nothing.

"Backups go to B2 every night and are kept for 35 days" of "We switched from B2 to Wasabi". Who
replaced such a text would lose the night and the 35 days.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain, pairwise, product

from ...config.patterns import regex
from .beside import LEAVES_REST, PART, is_of_a_part
from .canonical import TIMES, UNITS, canonical, measure
from .frame import MEANS
from .siblings import ARTICLES, subject_of
from .statement import Statement, sentences_of
from .use import is_over, only_tells_of_it

MOST_SENTENCES = 4
"""So many sentences of a text are compared with those of another."""

LABEL = regex(r"\A\W*(?:\w+\*\*\W*)?")
"""What stands before a text that is labelled: "**Decision**:"."""

CLAUSE = regex(
    r"[;,:.()\u2013\u2014](?:\s|\Z)|\s(?:and|but)\s(?=(?:we|they|it|is|are|has|can|must|may|should"
    r"|will|never|don['\u2019]t|[a-z]+(?:s|ed))\s)"
)
"""Where a clause ends in a sentence as it was written."""

_BEGINS_NO_CLAUSE = frozenset(
    "because since as who that never not no for so it this they these those he she instead".split()
)
_GIVES_REASON = frozenset("because since as which who that never not for".split())
_EXCEPTION = regex(r" (?:(?:an?|one|the|only|new|but) )*exceptions? ")
_OWN_WORDS = 2
_MARKS = frozenset((",", ";", ".", "(", ")", "\u2013", "\u2014"))
_JOINS = frozenset(("and", "but", "then"))
# What a clause of its own goes on with after "and", besides "kept", "resized".
_GOES_ON = frozenset(
    "is are was were has have must may can take takes run runs need needs stay stays keep keeps "
    "never not kept sent held built".split()
)
_BEGINS = frozenset(("whose", "where", "while"))
_BEGINS_REASON = frozenset(
    "because since as which who that not instead so for rather after before until if when".split()
)
_PLACES = frozenset("in at on to from under into behind".split())
_NO_SUBJECT = frozenset("there is are a an the".split())


def leaves_clause(newer: str, older: str) -> bool:
    """Whether ``newer``, which contradicts ``older``, leaves a clause of it in force.

    In doubt it does: what is shown then is marked, and stands beside the newer.
    """
    line = Statement(newer).line
    if says_more(older, newer) or LEAVES_REST.search(line) or _EXCEPTION.match(line):
        return True
    ours, theirs = (_read(one) for one in (newer, older))
    pairs = tuple(product(ours, theirs))
    if any(is_of_a_part(*pair) for pair in pairs):
        return True
    told = any(phrase & two.stated for one, two in pairs for phrase in one.replaced)
    if told and keeps_a_fact(newer, older):
        return True
    if any(only_tells_of_it(*pair) for pair in pairs) and not any(is_over(*pair) for pair in pairs):
        return True
    return _has_clause_beside(older, newer)


def says_more(older: str, newer: str) -> bool:
    """Whether ``older`` has a clause of its own beside what ``newer`` speaks of."""
    told = frozenset().union(*(_told_by(one) for one in sentences_of(newer, MOST_SENTENCES)))
    parts = _clauses(older, lambda sentence: PART.split(f"{sentence} "), _GIVES_REASON)
    clauses = [_told_by(part) for part in parts]
    own = [len(words - told) >= _OWN_WORDS and not _mostly(words, told) for words in clauses]
    return any(own) and not all(own)


def _has_clause_beside(older: str, newer: str) -> bool:
    """Whether ``older`` has a clause with something of its own, other than the one spoken of."""
    told, read = _told_by(newer), Statement(newer)
    parts = _clauses(LABEL.sub("", older), CLAUSE.split, _BEGINS_NO_CLAUSE)
    clauses = [one for one in map(Statement, parts) if one.heavy or one.figures]
    if len(clauses) > 1 and any(_is_of_another_kind(one, read) for one in clauses):
        return True
    shares = [len(one.heavy & told) / max(1, len(one.heavy)) for one in clauses]
    spoken_of = shares.index(max(shares)) if shares else 0
    return any(
        at != spoken_of and 2 * shares[at] <= 1 and _has_own(one, told)
        for at, one in enumerate(clauses)
    )


def _is_of_another_kind(clause: Statement, newer: Statement) -> bool:
    """Whether both have numbers, and of other kinds: a time of day, and minutes."""
    ours, theirs = newer.numbers.keys(), clause.numbers.keys()
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def _has_own(clause: Statement, told: frozenset[str]) -> bool:
    """Whether ``clause`` names something, or has a number, or a few words that are not ``told``."""
    values = clause.names | frozenset(map(canonical, clause.figures))
    return bool(values - told) or len(clause.heavy - told) >= _OWN_WORDS


def _told_by(text: str) -> frozenset[str]:
    """What ``text`` is about, its names and its numbers."""
    read = Statement(text)
    return read.heavy | frozenset(map(canonical, read.figures))


def _mostly(words: frozenset[str], told: frozenset[str]) -> bool:
    return 2 * len(words & told) > len(words)


def _clauses(text: str, split: Callable[[str], Iterable[str]], left_out: Set[str]) -> Iterator[str]:
    """The clauses into which each sentence of ``text`` is ``split``.

    Without those that begin with a word ``left_out``, or with what the sentence says is no more.
    """
    for sentence in sentences_of(text, MOST_SENTENCES):
        gone = Statement(sentence).gone
        for at, clause in enumerate(split(sentence)):
            first = next(iter(clause.lower().split()), "")
            if first and first not in left_out and not (at and canonical(first) in gone):
                yield clause


def _read(text: str) -> tuple[Statement, ...]:
    return tuple(map(Statement, sentences_of(text, MOST_SENTENCES)))


# --- a fact ---------------------------------------------------------------------------------------


def keeps_a_fact(newer: str, older: str) -> bool:
    """Whether ``older`` states a fact of which ``newer``, which tells a change, says nothing."""
    told = _Told(_read(newer))
    return any(map(told.leaves, _read(older)))


class _Told:
    """What the sentences of a text speak of."""

    def __init__(self, sentences: Sequence[Statement]) -> None:
        self._sentences = sentences
        self._phrases = [*chain.from_iterable(one.replaced for one in sentences)]
        self._gone = frozenset(chain.from_iterable(self._phrases))
        words = chain.from_iterable(one.words for one in sentences)
        self._words = frozenset(map(canonical, words)) | self._gone
        self._kinds = frozenset(chain.from_iterable(one.numbers for one in sentences))
        self._times = frozenset(map(_is_clock, chain(*(one.times for one in sentences))))

    def leaves(self, older: Statement) -> bool:
        """Whether ``older`` has a value, a name, a means or a clause beside what is told."""
        clauses = [
            clause
            for clause in _clauses_of(older.tokens)
            if not (clause.start and canonical(older.tokens[clause.start]) in older.gone)
        ]
        if self._is_gone(older) or not clauses:
            return False
        read = (self._number, self._time, self._name, self._means)
        if any(test(older, at) for at in chain(*clauses) for test in read):
            return True
        return len(clauses) > 1 and any(self._is_own(older, clause) for clause in clauses)

    def _is_gone(self, older: Statement) -> bool:
        """Whether all that ``older`` speaks of is no more: "the sandbox was shut down"."""
        subject = subject_of(older) or older.tokens
        begin = next((at for at, word in enumerate(subject) if word not in _NO_SUBJECT), 0)
        what = frozenset(map(canonical, subject[begin : begin + 2]))
        return any(what <= phrase for phrase in self._phrases)

    def _number(self, older: Statement, at: int) -> bool:
        word, before = older.tokens[at], _at(older.tokens, at - 1)
        number = measure(word, _at(older.tokens, at + 1))
        if number is None or number.value not in older.figures or canonical(before) in self._gone:
            return False
        return not (number.kind in self._kinds or canonical(number.value) in self._words)

    def _time(self, older: Statement, at: int) -> bool:
        word = older.tokens[at]
        if not (
            word in TIMES or (word in UNITS and _at(older.tokens, at - 1) in ("every", "each"))
        ):
            return False
        known = canonical(word) in self._words or word in subject_of(older)
        return not known and _is_clock(word) not in self._times

    def _name(self, older: Statement, at: int) -> bool:
        word = canonical(older.tokens[at])
        if word not in older.names - older.aside - older.around - older.turned_down:
            return False
        near = _near(older, at)
        if word in self._words or not self._gone.isdisjoint(near):
            return False
        subject = frozenset(map(canonical, subject_of(older)))
        return word not in subject and not (
            self._is_elsewhere(older, at) or self._is_otherwise(older, at)
        )

    def _is_elsewhere(self, older: Statement, at: int) -> bool:
        """Whether a place is told that may be instead of the one that stands ``at``."""
        if self._lead(older, at) not in _PLACES:
            return False
        leads = [
            self._lead(one, place)
            for one in self._sentences
            for place, word in enumerate(one.tokens)
            if canonical(word) in one.heavy - older.heavy - self._gone
        ]
        swapped = not self._gone.isdisjoint(older.names)  # "from A to B" tells of A alone
        places = [lead for lead in leads if lead in _PLACES and not (swapped and lead == "to")]
        own = [
            place
            for place, word in enumerate(older.tokens)
            if canonical(word) in older.names and self._lead(older, place) in _PLACES
        ]
        return bool(places) and len(own) <= len(places)

    @staticmethod
    def _lead(statement: Statement, at: int) -> str:
        """The word before what stands ``at``, without articles."""
        at -= 1
        while at >= 0 and statement.tokens[at] in ARTICLES:
            at -= 1
        return _at(statement.tokens, at)

    def _means(self, older: Statement, at: int) -> bool:
        if self._lead(older, at) not in MEANS or not self._gone.isdisjoint(_near(older, at)):
            return False
        known = canonical(older.tokens[at]) not in older.heavy - self._words
        return not known and not self._is_otherwise(older, at)

    def _is_otherwise(self, older: Statement, at: int) -> bool:
        """Whether means are told that may be instead of those that stand ``at``."""
        return self._lead(older, at) in MEANS and any(
            self._lead(one, place) in MEANS and canonical(word) in one.heavy - older.heavy
            for one in self._sentences
            for place, word in enumerate(one.tokens)
        )

    def _is_own(self, older: Statement, clause: range) -> bool:
        words = frozenset(canonical(older.tokens[at]) for at in clause)
        if not words.isdisjoint(self._gone):
            return False
        return bool(words & older.heavy - older.aside - self._words)


def _at(tokens: Sequence[str], at: int) -> str:
    return tokens[at] if 0 <= at < len(tokens) else ""


def _near(statement: Statement, at: int) -> frozenset[str]:
    """The words beside the one ``at``: of a name of several words one may be told."""
    around = chain(range(at - 1, at), range(at + 1, at + 3))
    return frozenset(canonical(_at(statement.tokens, one)) for one in around)


def _is_clock(time: str) -> bool:
    """Whether ``time`` is one of the clock, rather than a day or how often."""
    return time[:1].isdigit()


def _clauses_of(tokens: Sequence[str]) -> Iterator[range]:
    """The clauses that state something, rather than give a reason, as places in ``tokens``."""
    starts = [0, *(at for at in range(1, len(tokens)) if _begins(tokens, at)), len(tokens)]
    for begin, end in pairwise(starts):
        places = range(begin, end)
        start = next((at for at in places if tokens[at] not in _MARKS | _JOINS), end)
        if start < end and tokens[start] not in _BEGINS_REASON:
            yield range(start, end)


def _begins(tokens: Sequence[str], at: int) -> bool:
    word, then = tokens[at], _at(tokens, at + 1)
    if word in _JOINS:
        return then in _GOES_ON or (len(then) > 4 and then.endswith("ed"))
    return word in _MARKS or word in _BEGINS
