"""Finds where the user says that something does not hold any more, or holds otherwise now.

"From now on we format with black" is followed by "no wait, scrap that". Only the next message can
do that, and only where it is clear what it means. "Session timeout is 60 minutes now" is told in
passing: it is kept where a memory of the project tells otherwise, since without one it may be about
the moment ("the tests are green now").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...bus.values import Hit, Noted
from ...config.patterns import regex
from ..language.sentences import is_order, opening, sentences
from ..language.words import FAULTS, FROM_NOW_ON, HESITATES, STOP_WORDS, TAKES_BACK, words
from ..statements.beside import only_measures
from ..statements.canonical import canonical
from ..statements.comparison import Relation, compare, contradicts
from ..statements.statement import TESTS, sentences_of
from ..statements.statement import Statement as Read
from ..statements.use import is_used
from ..statements.waits import LEAVES
from ..text.summary import headline
from .namespaces import namespace_of
from .statement_classifier import FLOOR_PERCENT, is_supposed, said_by, unquoted, unsure_places
from .statement_forms import ASIDE, FEWEST_WORDS_OUTRIGHT, FRAGMENT
from .statements import statements

_AFTER = r"\b[ ,.!:;\u2026\u2013\u2014-]*+"
_TURN = rf"\W*{HESITATES}{_AFTER}"
_LEAD = rf"(?:{_TURN}|\W*(?:ok|okay|well|right){_AFTER})"
_BACK = regex(
    rf"{_LEAD}*(?P<back>{TAKES_BACK}|let['\u2019]?s not(?: do (?:that|this|it))?"
    r"|(?:that|this|it)(?: was|['\u2019]s| is) (?:a (?:\w+ )?(?:bad|stupid|silly|terrible|dumb)"
    r" (?:idea|call|plan)|(?:a |my )mistake|not a good idea|nonsense))"
    r"(?=\W*$|\W*[,.!;:\u2026\u2013\u2014]|\s+(?:-|we|i|and|let|after all)\b)",
    re.IGNORECASE,
)
_IDLE = regex(r"never ?mind|nvm|forget it", re.IGNORECASE)
# "Never mind, found it" is said of a question, or of a fault.
_FOUND = regex(
    r"\b(?:found|works?|worked|got it|see it|i see|fixed|solved|figured|my (?:bad|fault))\b",
    re.IGNORECASE,
)
_TURNS = regex(rf"{_LEAD}*{_TURN}|.*\b(?:after all|instead)\b", re.IGNORECASE)
_CHOOSES = regex(
    r"\b(?:after all|it is|stay|stick|keep|back to|go with|use|instead)\b", re.IGNORECASE
)
_LEADS = regex(rf"\A{_LEAD}+", re.IGNORECASE)
_ONLY_LEADS = regex(rf"{_LEAD}+\Z", re.IGNORECASE)
KINDS = frozenset(("decision", "pattern", "preference"))
"""What can be taken back: what somebody wants, and nothing that was found."""

_DECLINES = regex(
    r"\W*(?:we|i) (?:do not|don['\u2019]?t|won['\u2019]?t|will not|wouldn['\u2019]?t)"
    r" (?:use|want|take|need|do|go with)\b",
    re.IGNORECASE,
)
# What "scrap that" or "that's a mistake" is followed by where it is said of a choice.
_PREFERS = regex(
    r"\b(?:we|i|let['\u2019]?s)(?:['\u2019]ll| will| would)?(?: rather)?"
    r" (?:use|keep|stay|stick|go (?:with|back)|prefer)\b"
    r"|\b(?!(?:it|that|this|all|everything)\b)\w+ is (?:fine|enough|good enough)\b",
    re.IGNORECASE,
)
_FOR_ONCE = regex(
    r"\A\W*(?:just |only )?now\b|\b(?:(?:this|that|just|only) (?:time|once)|once|for (?:now|this"
    r"|that|today)|(?:right|just) now)\b(?! (?:project|repo\w*|team|codebase))"
    r"|\bthis (?!(?:is|was|project|repo\w*|team|codebase|way|anymore|any)\b)[a-z]+",
    re.IGNORECASE,
)
_TO_AGENT = regex(r"\byou(?:['\u2019]ve|r)?\b", re.IGNORECASE)
_FAULT = regex(rf"\b(?:{FAULTS}|down)\b", re.IGNORECASE)
_MARKS = " ,.!:;-\u2026\u2013\u2014"
_READ_SENTENCES = 3
_SHARED = 0.5


def taken_back(
    text: str, stated: Sequence[str], *, asked: bool, more: bool = False
) -> tuple[str, ...]:
    """Those of ``stated`` that the user's next message, ``text``, takes back.

    ``asked`` tells whether they came with a question, which may be meant as well; ``more`` whether
    they came with what ``says_more`` finds.
    """
    said = [part.text for part in statements(text, role="user")]
    if not said or not stated:
        return ()
    if not more and _is_withdrawn(said, stated, asked=asked):
        return tuple(stated) if all(_is_said_again(one, stated[0]) for one in stated) else ()
    said = said[:_READ_SENTENCES]
    return tuple(one for one in stated if any(_denies(new, one) for new in said))


def says_more(text: str, stated: Iterable[str]) -> bool:
    """Whether ``text`` orders something, or tells of a fault, beside what is ``stated`` in it.

    "Scrap that" may be said of the one as well as of the other.
    """
    for one in stated:
        text = text.replace(one, " ")
    return _FAULT.search(text) is not None or any(
        is_order(said) for said in sentences(text) if opening(said) < len(said.words)
    )


def _is_withdrawn(said: Sequence[str], stated: Sequence[str], *, asked: bool) -> bool:
    """Whether a message begins with that; "no wait" and "sorry" may stand alone before it.

    What follows, if anything does, is about what was stated, or tells what is preferred to it: else
    it is a complaint about the work ("that's a mistake, the status must be 201").
    """
    for at, sentence in enumerate(said[:_READ_SENTENCES]):
        if back := _BACK.match(sentence):
            is_idle = _IDLE.fullmatch(back["back"]) is not None
            if is_idle and (asked or any(map(_FOUND.search, said))):
                return False
            rest = [_rest(sentence[back.end() :]), *map(_rest, said[at + 1 :])]
            if any(map(_TO_AGENT.search, rest)):
                return False
            return not any(rest) or any(_bears_on(one, stated[0]) for one in rest)
        if _ONLY_LEADS.match(sentence) is None:
            return False
    return False


def _rest(said: str) -> str:
    """``said`` without the words that take something back, which may be repeated."""
    while back := _BACK.match(said := said.strip(_MARKS)):
        said = said[back.end() :]
    return _LEADS.sub("", said).strip(_MARKS)


def _bears_on(said: str, stated: str) -> bool:
    shared = _content(words(said)) & _content(words(stated))
    return bool(shared) or _PREFERS.search(said) is not None


def _is_said_again(one: str, other: str) -> bool:
    """Whether two say the same in the main, such as the agent's line and what it is about."""
    ours, theirs = _content(words(one)), _content(words(other))
    return len(ours & theirs) >= _SHARED * min(len(ours), len(theirs))


def _content(said: Iterable[str]) -> frozenset[str]:
    return frozenset(word for word in said if word not in STOP_WORDS)


def _denies(new: str, old: str) -> bool:
    """Whether ``new`` denies ``old``, or goes back to what ``old`` turned down."""
    if new.endswith("?") or not _TURNS.match(new):
        return False
    new = _LEADS.sub("", new, count=1)
    if _FOR_ONCE.search(new) or is_supposed(new):
        return False
    if compare(new, old) is Relation.NEGATED:
        return True
    read, known = Read(new), Read(old)
    if _DECLINES.match(new):
        return bool(read.heavy) and read.heavy <= known.heavy
    chosen = read.heavy - read.turned_down - read.denied
    out = frozenset(canonical(word) for name in named_out(old) for word in words(name))
    refused = known.turned_down | (out & known.heavy)
    return bool(_CHOOSES.search(new) and not read.denies and refused & chosen)


# --- what is otherwise now -----------------------------------------------------------------------

# Nobody's preference, and no milestone: how things are.
_NAMESPACES = frozenset(("decisions", "patterns"))
_MOST_TOLD_CHARS = 300
_MOST_SENTENCES = 4
_MOST_FOUND = 8

_OPENING = regex(
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
    r"|works?|pass(?:es)?|compiles?|builds fine|looks? (?:good|fine|better))\b"
    r"|\b(?:on|only) (?:my|her|his) (?:\w+ )?(?:machine|laptop|computer|box|mac)\b"
    r"|\b(?:my|her|his) laptop\b|\A\W*locally\b|\d(?: ?\w+)? locally\b",
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
# "Log files rotate at 50 MB now" begins with a word that is a verb in "log the files".
_NOUN_FIRST = regex(
    r"\W*(?:logs?|build|tests?|release|deploy|backups?|cache|report|review|import|export|search"
    r"|support|update|design|style) (?!(?:the|an?|it|all|this|that|whether|if|how)\b)"
    r"(?:\w+ ){1,3}?(?:is|are|moved|lives?|runs?|go|goes|rotate|expire|takes?)\b",
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
# Not from lunch, nor "at 5".
_IS_BACK = regex(
    r"\b(?P<who>[A-Z]\w+) is back\b(?! (?:and forth|at)\b)"
    rf"(?! from (?!(?:[\w']+ ){{0,3}}?(?i:{'|'.join(LEAVES)}|sick)\b))"
)
_AWAY = frozenset((*LEAVES, "away", "absent", "absence", "sick", "office", "off"))
_TEAM = regex(r"\bteam (?P<one>[A-Z][\w-]+)|\bthe (?P<other>[\w-]+) team\b")
_ENOUGH = 2


def find_changes(text: str) -> tuple[Noted, ...]:
    """The sentences of ``text``, the user's own words, that say that something changed, in order.

    None of them is earned: it is kept where ``is_outdated`` finds what it is about.
    """
    own = said_by(text, "user")
    parts = statements(own, role="user")
    unsure = unsure_places(parts)
    sure = (part for at, part in enumerate(parts) if at not in unsure and not part.is_item)
    told = ((part, _said(part.text)) for part in sure)
    found = [(part, said) for part, said in told if tells_change(said)]
    return tuple(
        _noted(said, part.start + part.text.index(said)) for part, said in found[:_MOST_FOUND]
    )


def _noted(said: str, start: int) -> Noted:
    return Noted(
        kind="decision",
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
    said = _without(_OPENING, text)
    while (cut := said.rfind(", ")) > 0 and _is_ordered(said[cut + 2 :]):
        said = said[:cut]
    return said


def _without(lead: re.Pattern[str], text: str) -> str:
    found = lead.match(text)
    return text[found.end() :] if found else text


def _is_ordered(said: str) -> bool:
    if _NOUN_FIRST.match(said):
        return False
    return _PLEASE.match(said) is not None or any(map(is_order, sentences(said)))


def tells_change(text: str) -> bool:
    """Whether ``text`` says, in earnest and of what is ours, that something is otherwise now."""
    said = _without(_OPENING, unquoted(text))
    wrong = _WAS_WRONG.match(said)
    said = _without(_WAS_WRONG, said)
    is_short = len(text.split()) < FEWEST_WORDS_OUTRIGHT
    if is_short or len(text) > _MOST_TOLD_CHARS or not (wrong or _TELLS.search(said)):
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
    ours = [Read(one) for one in sentences_of(text, _MOST_SENTENCES)]
    theirs = [Read(one) for one in sentences_of(content, _MOST_SENTENCES)]
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
        return any(_canonical(who["who"]) <= one.canonical_words for one in told)
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
    if not named or not named <= told.canonical_words:
        return False
    return named <= told.names or not named.isdisjoint(told.figures) or is_used(told, named)


def _differs(newer: Read, older: Read) -> bool:
    """Whether both give a value to the same, each another one."""
    if only_measures(newer, older):
        return False
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
    if names and about & older.topic and newer.tokens[0] == older.tokens[0] == "we":
        return True
    return any(about if kind >= 0 else about & older.topic for kind in kinds)


def _is_telling(phrase: frozenset[str], older: Read) -> bool:
    """Whether ``phrase`` has more in common with ``older`` than a common word."""
    hit = phrase & older.stated
    return len(hit) >= _ENOUGH or bool(hit & (older.names | older.figures))


def _is_other(newer: Read, older: Read, kind: int) -> bool:
    return kind in older.numbers and newer.numbers[kind].isdisjoint(older.numbers[kind])
