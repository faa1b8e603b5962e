"""Finds where the user says in passing that something is otherwise now, and of which memory.

"Session timeout is 60 minutes now", "production moved from eu-central-1 to eu-west-1", "X is out,
we use Y" have not the form of a rule. They are kept where a memory of the project tells otherwise:
without one they may be about the moment ("the tests are green now"), or about anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...bus.values import Hit, Noted
from ...config.patterns import regex
from ..language.sentences import is_order, sentences
from ..language.words import FROM_NOW_ON, words
from ..statements.canonical import canonical
from ..statements.comparison import contradicts
from ..statements.statement import TESTS, sentences_of
from ..statements.statement import Statement as Read
from ..statements.use import is_used
from ..text.summary import headline
from .namespaces import namespace_of
from .statement_classifier import FLOOR_PERCENT, is_supposed, said_by, unquoted, unsure_places
from .statement_forms import ASIDE, FEWEST_WORDS_OUTRIGHT, FRAGMENT
from .statements import statements

KIND = "decision"
# Nobody's preference, and no milestone: how things are.
_NAMESPACES = frozenset(("decisions", "patterns"))
_MOST_CHARS = 300
_READ_SENTENCES = 4
_MOST_FOUND = 8

_LEAD = regex(
    r"\W*(?:(?:and|so|btw|fyi|ok(?:ay)?|right|alright|well|yes|yep|no(?=,)|nope|hm+|ah|oh"
    r"|by the way|for the record|heads up|correction|update|small thing|one (?:more )?thing)\b"
    r"[\s,.:;\u2013\u2014-]+)+",
    re.IGNORECASE,
)
_WAS_WRONG = regex(
    r"\W*i was wrong(?: (?:before|earlier|about (?P<about>[^:,]{2,40})))?[:,] *", re.IGNORECASE
)
_MOVED = (
    r"(?:moved|switched|migrated|changed|went|goes|transferred|relocated|raised|lowered|increased"
    r"|reduced|extended|shortened|renamed|upgraded)"
)
_SINCE = r"(?:since (?:yesterday|today|last|mon|tues|wednes|thurs|fri|satur|sun))"
_TELLS = regex(
    rf"\b(?:now(?! and then)|no longer|any ?more|any longer|nowadays|these days|{FROM_NOW_ON}"
    rf"|as of (?:now|today|this))\b|\b{_SINCE}"
    rf"|\b{_MOVED} (?:[^\s,;]+ ){{0,6}}?(?:from|to|over to|back to) \w"
    r"|\b(?:is|are) (?:out|gone|retired|dead|history|off the table|discontinued|decommissioned"
    r"|shut down|switched off|cancell?ed)\b"
    r"|\bhanded (?:[^\s,;]+ ){1,5}?over to\b|\b(?:took|has taken) over\b|\bwe dropped\b"
    r"|\b[A-Z]\w+ is back\b|\A\W*back to \w",
    re.IGNORECASE,
)
# "The tests are green now", "I'm on the branch now", "now run it", "the login no longer works".
_OF_THE_MOMENT = regex(
    r"\A\W*(?:now|i|i'm|i've|i'll|i'd|let's|let me|here)\b"
    r"|\b(?:just|until|till|by|up to|what|and|but|so) now\b"
    r"|\bnow (?:that|let|i|you|add|run|try|do)\b"
    r"|\b(?:you|you've|you're|your)\b"
    r"|\b(?:is|are|was|looks?|seems?|'s|'re) (?:all |still |now |finally |just |much |even )*"
    r"(?:(?:green|red|up|ok|okay|fine|good|better|done|ready|here|there|open|clean|empty|full|fixed"
    r"|merged|finished|complete|slow\w*|fast\w*|\w+ing|pushed|deployed|live|online|clear|correct)"
    r"(?=\W*(?:\Z|[,;:.!(]|(?:now|again|already|since|and|but|for|on|in|with me)\b))"
    r"|(?:on|in) (?:the|my|a) (?:branch|review|pr)\b)"
    r"|\b(?:link|connection|button|page|file|folder|branch|data|process|wifi) (?:is|are)"
    r" (?:now )?(?:gone|dead|out)\b"
    r"|\b(?:red|fail\w*|brok\w+|breaks?|errors?|crash\w*|bugs?|wrong|flaky|stuck|hangs?|down"
    r"|works?|pass(?:es)?|compiles?|builds fine|looks? (?:good|fine|better))\b",
    re.IGNORECASE,
)
_NOT_YET = regex(
    r"\b(?:will|'ll|won't|going to|gonna|plan(?:s|ned|ning)?|soon|later|once|should|must"
    r"|want(?:s|ed)?|need(?:s|ed)? to|has to|have to|let's"
    r"|next (?:sprint|week|month|quarter|year|release|spring|summer|autumn|winter)"
    r"|(?:in|from|by|until|till) (?:january|february|march|april|may|june|july|august|september"
    r"|october|november|december|q[1-4]|20\d\d)|not (?:really|actually|true)"
    r"|(?:did|do|does|have|has) not|didn't|hasn't|haven't)\b(?!.*\bany ?more\b)",
    re.IGNORECASE,
)
_OF_OTHERS = regex(
    r"\b(?:they|he|she|somebody|someone|competit\w+|upstream)\b(?!.*\b(?:we|our|us)\b)"
    r"|\b(?:the|in the) [\w.-]+ (?:people|folks|guys|devs|project|community|maintainers)\b"
    r"|\bat (?!(?:the|a|least|most|all|night|work)\b)[a-z]\w+ they\b",
    re.IGNORECASE,
)
_PLEASE = regex(r"\W*(?:so |and |then )*(?:please|pls|plz)\b", re.IGNORECASE)
_VETOES = (_OF_THE_MOMENT, _NOT_YET, _OF_OTHERS)
_NO_MORE = regex(r"\A\W*no \w.{2,60}? any ?more\b", re.IGNORECASE)
_FROM = regex(
    rf"\b{_MOVED} (?:[^\s,;]+ ){{0,6}}?from (?:the )?(?P<out>[^\s,;]+(?: [^\s,;]+){{0,2}}?) to \w",
    re.IGNORECASE,
)
_OUT = regex(
    r"(?:\A|[,;:] |\band )(?:the )?(?P<out>[\w./@-]+(?: [\w./@-]+){0,2}) (?:is|are) (?:now )?"
    r"(?:out|gone|retired|history|dead|off the table|cancell?ed)"
    r"(?=\W*\Z|\W*[,;.]| now\b| and (?:we|the)\b)",
    re.IGNORECASE,
)
_GOES_ON = regex(r"[,;] \w|\bnow\b|\band\b", re.IGNORECASE)
_BACK_TO = regex(r"\A\W*back to (?:the )?(?P<back>[\w./@-]+(?: [\w./@-]+){0,2})", re.IGNORECASE)
_IS_BACK = regex(r"\b(?P<who>[A-Z]\w+) is back\b")
_AWAY = frozenset(
    "leave holiday holidays vacation sabbatical away absent absence sick office off".split()
)
_TEAM = regex(r"\bteam (?P<one>[A-Z][\w-]+)|\bthe (?P<other>[\w-]+) team\b")
_ENOUGH = 2


def find_changes(text: str) -> tuple[Noted, ...]:
    """The sentences of ``text``, the user's own words, that say that something changed, in order.

    None of them is earned: it is kept where ``is_outdated`` finds what it is about.
    """
    own = said_by(text, "user")
    parts = statements(own, role="user")
    unsure = unsure_places(parts)
    found = []
    for at, part in enumerate(parts):
        said = _said(part.text)
        if at not in unsure and not part.is_item and tells_change(said):
            start = part.start + part.text.index(said)
            found.append(_noted(said, start))
    return tuple(found[:_MOST_FOUND])


def _noted(said: str, start: int) -> Noted:
    return Noted(
        kind=KIND,
        namespace=told if (told := namespace_of(said)) in _NAMESPACES else "context",
        text=said,
        summary=headline(said),
        confidence_percent=FLOOR_PERCENT,
        start=start,
        end=start + len(said),
    )


def _said(text: str) -> str:
    """``text`` without what leads in, and without the order that it ends with."""
    text = ASIDE.sub("", text)
    if text.endswith("?"):
        return text
    said = _without(_LEAD, text)
    while (cut := said.rfind(", ")) > 0 and _is_ordered(said[cut + 2 :]):
        said = said[:cut]
    return said


def _without(lead: re.Pattern[str], text: str) -> str:
    found = lead.match(text)
    return text[found.end() :] if found else text


def _is_ordered(said: str) -> bool:
    return _PLEASE.match(said) is not None or any(map(is_order, sentences(said)))


def tells_change(text: str) -> bool:
    """Whether ``text`` says, in earnest and of what is ours, that something is otherwise now."""
    said = _without(_LEAD, unquoted(text))
    wrong = _WAS_WRONG.match(said)
    said = _without(_WAS_WRONG, said)
    is_short = len(text.split()) < FEWEST_WORDS_OUTRIGHT
    if is_short or len(text) > _MOST_CHARS or not (wrong or _TELLS.search(said)):
        return False
    is_back = _BACK_TO.match(said) is not None
    first = said.partition(",")[0]
    told = first if is_back else said  # and after that why
    if is_supposed(told) or any(veto.search(told) for veto in _VETOES):
        return False
    if is_back or _NO_MORE.match(said) or (wrong and wrong["about"]):
        return True
    return not FRAGMENT.search(first) and not _is_ordered(told)


def is_outdated(text: str, hits: Iterable[Hit]) -> bool:
    """Whether one of ``hits`` tells otherwise what ``text`` says to have changed."""
    return any(
        _is_of_the_same(text, hit.memory.content) for hit in hits if hit.memory.namespace != "tasks"
    )


def _is_of_the_same(text: str, content: str) -> bool:
    if not _teams(text) <= _canonical(content):
        return False
    ours = [Read(one) for one in sentences_of(text, _READ_SENTENCES)]
    theirs = [Read(one) for one in sentences_of(content, _READ_SENTENCES)]
    if any(TESTS & one.words for one in ours) and not any(TESTS & one.words for one in theirs):
        return False
    if _is_over(text, theirs) or contradicts(text, content):
        return True
    return any(_differs(one, other) for one in ours for other in theirs)


def _teams(text: str) -> frozenset[str]:
    """The canonical names of the teams that ``text`` is about."""
    named = (match["one"] or match["other"] for match in _TEAM.finditer(text))
    return frozenset(canonical(one.lower()) for one in named)


def named_out(text: str) -> list[str]:
    """What ``text`` says to be out, in its words: "X is out", "X is off the table"."""
    return [match["out"] for match in _OUT.finditer(text)]


def _is_over(text: str, told: Sequence[Read]) -> bool:
    """Whether what ``text`` says to be out, back or over, by name, ``told`` relies on."""
    if (who := _IS_BACK.search(text)) and any(not _AWAY.isdisjoint(one.words) for one in told):
        return any(_canonical(who["who"]) <= frozenset(map(canonical, one.words)) for one in told)
    named = [match["out"] for match in _FROM.finditer(text)]
    if _GOES_ON.search(text):
        named += named_out(text)
    if back := _BACK_TO.match(_said(text)):
        named.append(back["back"])
    return any(_relies_on(one, _canonical(name)) for one in told for name in named)


def _canonical(text: str) -> frozenset[str]:
    return frozenset(map(canonical, words(text)))


def _relies_on(told: Read, named: frozenset[str]) -> bool:
    """Whether ``told`` says that what is ``named`` is used, or gives it as a number."""
    if not named or not named <= frozenset(map(canonical, told.words)):
        return False
    return named <= told.names or not named.isdisjoint(told.figures) or is_used(told, named)


def _differs(newer: Read, older: Read) -> bool:
    """Whether both give a value to the same, each another one."""
    shared = (newer.heavy & older.heavy) - newer.figures
    if any(phrase & older.stated and _is_telling(phrase, older) for phrase in newer.replaced):
        return True
    if newer.denies and not older.denies and not newer.replaced:
        return len(shared) >= _ENOUGH or _relies_on(older, newer.denied & newer.names)
    kinds = [kind for kind in newer.numbers if _is_other(newer, older, kind)]
    names = newer.names - older.heavy and older.names - newer.heavy
    if len(shared) >= _ENOUGH:
        return bool(kinds or names or (newer.times - older.times and older.times - newer.times))
    about = shared & newer.topic
    return any(about if kind >= 0 else about & older.topic for kind in kinds)


def _is_telling(phrase: frozenset[str], older: Read) -> bool:
    """Whether ``phrase`` has more in common with ``older`` than a common word."""
    hit = phrase & older.stated
    return len(hit) >= _ENOUGH or bool(hit & (older.names | older.figures))


def _is_other(newer: Read, older: Read, kind: int) -> bool:
    return kind in older.numbers and newer.numbers[kind].isdisjoint(older.numbers[kind])
