"""Whether a statement says that something is used, or merely tells of it.

"We use RabbitMQ", "events go through RabbitMQ", "Kim does the releases" are over where RabbitMQ is
gone, or Kim. "The RabbitMQ admin UI is at mq.internal", "RabbitMQ lost messages in March", "ask
Anneke about RabbitMQ" may still be worth knowing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from ...config.patterns import regex
from .canonical import ROLES, TIMES, UNITS, canonical
from .statement import Statement

_ARTICLES = frozenset("the a an our its their your my only just always mainly mostly plain".split())
# Before what is used, chosen or in charge.
_LEADS = frozenset(
    "use uses used using with by via through on in to at from into onto under behind over against "
    "as is are be called named run runs have has operate host hosts choose chose chosen pick "
    "picked prefer prefers need needs require requires support supports install adopt adopted "
    "keep keeps want ask commit : -> \u2192 \u2013 \u2014 =".split()
)
_MADE = frozenset("written built made meant".split())
# What follows a name that stands for itself, rather than before a noun: "the Redis password".
_FOLLOWS = frozenset(
    ", ; : . ! ? ( ) \u2013 \u2014 -> \u2192 and or but for in on at to with by via between as if "
    "when where while which that who because since so now only over under from into before after "
    "is are was until again instead not never no of every each too here about unless".split()
)
# What follows a name that is a note by itself: "bbolt for the queue", "pnpm, never npm".
_ENDS_NOTE = frozenset(", ; . ! ( \u2013 \u2014 for not never instead now only".split())
_KINDS = frozenset(
    map(
        canonical,
        "cluster server service instance database queue bucket broker topic account runner suite "
        "worker framework library plugin driver format image profile".split(),
    )
)
_TELLS_OF_ITSELF = frozenset(
    "is was has needs costs takes belongs listens lives lies requires supports knows wants expects "
    "fails breaks crashes loses gets comes expires eats slows leaks hangs likes thinks says bills "
    "charges sits stays works depends uses exposes allows returns samples prefers hates retries "
    "restarts its this as".split()
)
_OF_ITSELF_WITH = frozenset("on in at with under behind between as for by out from".split())
_NO_OBJECT = frozenset(
    "is are was were be have has had must may can should will do does did take need cost get go "
    "fail run come last end start live lie sit stay belong work break lose contain listen".split()
)
_DO = frozenset(
    "do run handle serve block build own maintain review check carry store hold keep".split()
)
_DETERMINES = frozenset("the our all every each any".split())
_BE = frozenset("is are was were".split())
_IN_USE = frozenset((("in", "use"), ("in", "charge")))
_USED = frozenset("our the responsible where what".split())
_CHOSEN = frozenset("used chosen picked".split())
_NO_USE = frozenset("reason cause problem culprit bottleneck trouble issue one same".split())
_HAPPENED = regex(
    r" (?:had|lost|failed|broke|crashed|billed|charged|cost|took|died|leaked|corrupted|killed|ate"
    r"|(?:was|were|went) (?:down|off|broken|slow|full|hacked|too|so)|outages?|incidents?) "
)


def is_over(newer: Statement, older: Statement) -> bool:
    """Whether what ``newer`` says is no more is all that ``older`` is about.

    What has no name is what it is wherever it stands; so it is with numbers and times.
    """
    hits = list(_given_up(newer, older))
    return any(not named for named in hits) or _uses_any(older, hits)


def gives_up_what_is_used(newer: Statement, older: Statement) -> bool:
    """Whether ``older`` says that something is used which ``newer`` says by name is no more."""
    return _uses_any(older, _given_up(newer, older))


def only_tells_of_it(newer: Statement, older: Statement) -> bool:
    """Whether ``older`` merely tells of something which ``newer`` says by name is no more."""
    hits = list(_given_up(newer, older))
    return bool(hits) and all(hits) and not _uses_any(older, hits)


def moves_on(newer: Statement, older: Statement) -> bool:
    """Whether all that ``newer`` tells is that something took the place of what is used."""
    return any(
        phrase <= older.heavy and _is_swapped(newer, phrase) and is_used(older, phrase)
        for phrase in newer.left_behind
    )


def _given_up(newer: Statement, older: Statement) -> Iterator[frozenset[str]]:
    """The names of each thing that ``newer`` says is no more and ``older`` speaks of."""
    names = newer.names | older.names
    for phrase in newer.replaced:
        if hit := phrase & older.stated:
            yield hit if _is_swapped(newer, phrase) else hit & names


def _is_swapped(newer: Statement, phrase: Set[str]) -> bool:
    """Whether ``newer`` has nothing but names in place of ``phrase``, which is one then.

    As in "we moved from slang to easy_localization", where only the new one looks like a name.
    """
    first = next((word for word in newer.tokens if word not in _ARTICLES), "")
    if not newer.names - phrase or canonical(first) in phrase:  # "sessions moved to Postgres"
        return False
    return newer.heavy - phrase <= newer.names


def _uses_any(statement: Statement, hits: Iterable[Set[str]]) -> bool:
    return any(named and is_used(statement, named) for named in hits)


def is_used(statement: Statement, named: Set[str]) -> bool:
    """Whether ``statement`` says that what the canonical words ``named`` name is used."""
    if _HAPPENED.search(statement.line):
        return False
    tokens = statement.tokens
    return any(
        _is_value(tokens, start, end) or _acts(tokens, start, end)
        for start, end in _places(statement, named)
    )


def _places(statement: Statement, named: Set[str]) -> Iterator[tuple[int, int]]:
    """Where names stand in ``statement``, side by side, one of ``named`` among them."""
    start, names = None, statement.names | named
    words = [*map(canonical, statement.tokens), ""]
    for at, word in enumerate(words):
        if word in names or (start is not None and word[:1].isdigit()):
            start = at if start is None else start
        elif start is not None:
            if not named.isdisjoint(words[start:at]):
                yield start, at
            start = None


def _is_value(tokens: list[str], start: int, end: int) -> bool:
    """Whether what stands there is what the sentence gives as a value: "the queue is X"."""
    while start and (tokens[start - 1] in _ARTICLES or _is_kind(tokens[start - 1])):
        start -= 1
    after = _at(tokens, end)
    if not start:
        return not after or after in _ENDS_NOTE
    before = tokens[start - 1]
    if before not in _LEADS and not (before == "for" and tokens[start - 2] in _MADE):
        return False
    alone = not after or after in _FOLLOWS or not after[0].isalpha() or _is_kind(after)
    return alone or before in ("is", "are")


def _is_kind(word: str) -> bool:
    return word in ROLES or canonical(word) in _KINDS


def _acts(tokens: list[str], start: int, end: int) -> bool:
    """Whether what stands there is the subject, and does something or is what is used."""
    first = start - 1 if start == 1 else start  # "Ingrid" may be part of the name
    if not _ARTICLES.union(ROLES).issuperset(tokens[:first]):
        return False
    verb, then, last = (_at(tokens, at) for at in range(end, end + 3))
    if verb in _BE:
        chosen = then in _CHOSEN or (verb in ("is", "are") and then in _USED)
        return (then, last) in _IN_USE or (chosen and last not in _NO_USE)
    if verb in _DO or verb == "has":
        return then in _DETERMINES
    return verb == "does" or (_is_deed(verb) and _is_object(then, last))


def _is_deed(verb: str) -> bool:
    return verb.partition("-")[0][-1:] == "s" and verb not in _TELLS_OF_ITSELF


def _is_object(then: str, last: str) -> bool:
    """Whether what follows a verb is what it is done to, rather than where, when or how."""
    if not then or then in _OF_ITSELF_WITH or then in _NO_OBJECT:
        return False
    return then != "every" or last not in UNITS.keys() | TIMES


def _at(tokens: list[str], at: int) -> str:
    return tokens[at] if at < len(tokens) else ""
