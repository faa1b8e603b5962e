"""Tells whether a prompt asks about a time or about the whole, which no words of it answer.

"What did we do yesterday?", "which decisions did we take last week?", "continue where we left off",
"what do you know about this project?". Nearly every word of such a question is one of a small
vocabulary (``time_words.toml``); any other word is a subject, and then it asks about both. An order
with a time in it ("add a column for yesterday's date") is no question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...bus.prompts import Retrospect, TimeExpression
from ...bus.values import TO_DO
from ...config.patterns import regex
from .sentences import ORDER_VERBS
from .time_expressions import (
    LEXICON,
    MONTHS,
    canonical,
    find_dates,
    find_times,
    plain,
    telling_words,
)
from .words import FILLERS

MAX_CHARS = 400
MAX_LINES = 4

_FRAME = frozenset(LEXICON.vocabulary["frame"].split())
_CORE = frozenset(LEXICON.vocabulary["core"].split())
_NAMESPACE_OF = {
    word: namespace for namespace, words in LEXICON.namespaces.items() for word in words.split()
}
_KNOWN = _FRAME | _CORE | FILLERS | frozenset(_NAMESPACE_OF)
# What is found may be anything: it names learnings only where nothing else is named.
_WEAK = frozenset("find finding found discover discovered".split())

# Every question that is recognised has one of these; most prompts have none.
_MAY_ASK = regex(
    r"\b(?:yesterday|today|tonight|yday|since|ago|hours?|lately|recent\w*|of late|weekend"
    r"|missed|miss"
    r"|(?:last|past|previous|this|latest|newest|first) (?:\w+ ){0,3}(?:night|morning|afternoon"
    r"|evening|days?|weeks?|months?|quarters?|years?|time|session|thing|spring|summer|autumn|winter"
    r"|decisions?|notes|memories)|week|month|q[1-4]|\w{3,6}day|20\d\d\S*|\w*\d\.\d\w*"
    rf"|{'|'.join(MONTHS)}|jan|feb|apr|aug|sept?|oct|nov|dec"
    r"|(?:before|after|until|up to|by) (?:the|our|last)|(?:left?|leave|leaving) (?:it )?off"
    r"|where (?:we|were|was|i|did|are|do)|what (?:was|were) (?:we|i)|pick up|catch me up"
    r"|up to speed|resume|continue|overview|everything|all|every|list|so far|decisions?|rules"
    r"|block(?:ed|ing|ers?)|debts?|gotchas|traps?|pitfalls|conventions|lessons|learnings|tasks"
    r"|to-?dos?|open|left|loose ends|unfinished|undone|pending|outstanding|for later|put off"
    r"|postpone|still (?:have|need)|geblieben|ou en|remains|new here|joined|onboard|news?"
    r"|the latest|memory"
    r"|(?:we|you) (?:know|remember|all know)"
    r"|(?:this|the|our|that) (?:\w+ )?(?:project|repo|repository|codebase|code base|app"
    r"|application|product|system)"
    rf"|{'|'.join(map(re.escape, sorted(telling_words())))})\b"
)
_PASTED = regex(r"```|^\s*[-*>|] ", re.MULTILINE)
_SENTENCE = regex(r"[^?!\n;.]*(?:\.(?!\s|$)[^?!\n;.]*|(?<=\d)\.[^?!\n;.]*)*[?!\n;.]*")
# Who a summary is for: a person, or people who meet.
_RECIPIENT = regex(
    r"\b(summary|recap|write-?up|report|log|overview|digest|update|rundown|notes)\b(.{0,40}?)"
    r"\bfor (?:the |our |my |a )?(?:[A-Z]\w+|(?:\w+ ){0,2}(?:call|meeting|standup|team|boss"
    r"|stand-up|client|customer|newsletter|stakeholders|manager|retro|colleagues?|management|report))\b"
)
_WE = r"(?:we|i|you|us|things)(?: 'd| had| have| 've| last)?"
_AGAIN = r"(?= (?:again|and|before|exactly|in|last|on|when|with|yesterday)\b|$)"
_LEFT_OFF = regex(
    rf"\bwhere (?:(?:did|had|have) )?{_WE} (?:le(?:ft|ave) (?:off|it|things)|le(?:ft|ave)$"
    r"|left-off|stop(?:ped)?|end(?:ed)?|quit|finished|got to|broke off)(?: (?:at|up))?"
    rf"|\bwhere (?:(?:were|was) (?:we|i)|(?:we|i) (?:were|was)){_AGAIN}"
    r"|\bwhere (?:are we|we are|do we stand|we stand)$"
    r"|\bwhere (?:\S+ ){0,3}left-off"
    r"|\bwhere in (?:were|sommes|\w+-nous|\w+-on)\b"
)
_LAST_TIME = regex(
    r"\bwhat (?:did (?:we|i|you)|have (?:we|i)|happened|was|were (?:we|i)|we) (?:\w+ ){0,4}?"
    r"(?:last time|last session|last)$"
    r"|\b(?:from|of|in|after|did|do) (?:our |my )?last (?:time|session)\b"
    r"|\bwhat was (?:our |my )?last thing (?:we|i) (?:did|worked on)\b"
    r"|\bwhat (?:were|was) (?:we|i) (?:last )?(?:working on|doing|up to)\b"
    r"|\b(?:catch|get) (?:me|us) up\b|\bup to speed\b|\bwhat did i miss$"
    r"|\b(?:resume|continue) (?:with )?(?:our |my )?last (?:session|work|task)\b"
)
_RESUMES = frozenset("continue resume pick carry go keep proceed".split())
_GOES_ON = regex(
    r"(?:(?:hey|hi|hello|ok|okay|so|back|please|pls|let's|let us|good morning)[ ,.!]+)*"
    r"(?:continue|resume|carry on|go on|keep going|proceed|pick (?:it|this) (?:back )?up"
    r"|continue (?:working|work|please|pls|here))(?:[ ,]+(?:please|pls|then|now))?"
)
_COURTESY = regex(
    r"^(?:(?:hey|hi|ok|okay|so|and|please|good morning) )*(?:let 's|i want to|i 'd like to"
    r"|(?:can|could|shall|should|would) (?:we|you|i)) "
)
_AHEAD = regex(
    r"\b(?:(?:still|left) todo (?:before|until|by)\b|should (?!know)|shall"
    r"|will|must|tomorrow|going to|(?:have|has|need|needs) to (?!know))"
)
_OF_THE_CALENDAR = regex(r"\bwhat (?:is |was |'s )?(?:date|day|time|weekday)\b")
_REQUESTS = frozenset(
    "give show list get recap summarise summarize bring tell remind review report open".split()
)
_STATES = frozenset(
    "we i they he she you there done finished worked decided changed fixed noted updated learned"
    " moved merged completed shipped discussed agreed added logged".split()
)
_POINTS = frozenset(("it", "this", "that"))
_ASKS_BOTH = frozenset("what which did have has had anything was were something".split())
_OF_THE_PAST = regex(r"\b(?:did|have|has|had|was|were|been|changed|happened|came|decided)\b")
_QUESTION_WORDS = frozenset("what which who whom where when why how".split())
# Not in "everything there is to know" and "all decisions that we have", which ask for it.
_FINITE = regex(
    r"(?<=\S )(?<!\bthat )(?<!\bthere )(?<!\bwe )(?<!\byou )(?<!\bi )(?<!\bthey )"
    r"(?:is|are|was|were|has|have|had|should|must|will|can|could|would|needs?|looks?)\b"
)
# "All decisions since the release is out".
_SUBORDINATE = regex(r"(?<=\S )(?:since|after|before|until|that|which)\b.*", re.DOTALL)
_ASKS = _ASKS_BOTH | frozenset(
    "where when how any all everything every decisions notes findings log changelog summary recap"
    " overview digest rundown report review write-up update updates highlights news".split()
)
_PAST = regex(
    r"\bdid what\b|\bwhat (?:was|were|did|has|have|had|is|are|'s|'ve|happened|changed|came|kept)\b"
    r"|\bwhat (?:we|i|you|they) (?:did|do)\b|\bhow did (?:we|i) spend\b"
)
_PROJECT = regex(
    r"\b(?:projects?|repo|repository|codebase|code base|app|application|product|workspace|system)\b"
)
_OVERVIEW = regex(
    r"\b(?:know|overview|explain|describe|introduce|everything|about|summar\w+|recap|important|tell"
    r"|tour|walk|rundown|gist|learn|should|onboard\w*|remember\w*|memory|speed|picture|status"
    r"|what (?:is|are|'s))\b"
)
_NEWCOMER = regex(r"\b(?:new here|new to|newcomer|newbie|joined|joining|onboard\w*)\b")
_FIRST_QUESTION = regex(
    r"\bwhat (?:is|'s) (?:this|it|all this)\b|\bwhat (?:do|should|must) i\b|\bwhere do i start\b"
    r"|\bonboard (?:me|us)\b"
)
_LISTS = regex(
    r"\b(?:all|every|everything|overview|list|our|so-far|currently|present|known|know|which|here"
    r"|project|summary|open|standing|rundown|digest|last|latest|newest|recent|first)\b"
)
_STANDING = frozenset("blockers tech-debt tasks decisions preferences".split())
_PRESENT = regex(r"\bwhat (?:is|are|was|were|'s|'re)\b|\bwhat (?:\w+ ){1,2}do we have\b")
_BLOCKED = regex(
    r"\banything (?:still )?(?:blocked|blocking (?:us|me))\b|\b(?:we|us) (?:blocked|stuck)\b"
    r"|\bany blockers\b"
)
_UNDONE = (
    r"(?:open|unfinished|pending|outstanding|undone|todo|to be done|to do"
    r"|left(?: open| over| todo| to do| for later| undone)?)"
)
_LOOSE_ENDS = r"(?:loose ends|open (?:points|ends|items|threads)|unfinished (?:work|tasks|things))"
# The whole sentence: "what is open source?" and "what is left of the margin?" ask something else.
_OPEN = regex(
    rf"(?:(?:ok|so|and|hey|hi|well|now) )*(?:what(?: else)?(?:s| is| are| was| 's)"
    rf"(?: there| still| else)* {_UNDONE}"
    rf"|(?:which|what) (?:things|tasks|points|work) (?:is|are)(?: still)? {_UNDONE}"
    rf"|(?:is there )?any(?:thing)?(?: still| else)* {_UNDONE}"
    rf"|(?:(?:are there|what are) )?(?:(?:any|the|our|all) )*{_LOOSE_ENDS}"
    r"|(?:remind me )?(?:of )?what (?:(?:did|have|had) we|we(?: 've| had)?|was|were)"
    r" (?:postponed?|put off|deferr?(?:ed)?|shelved?|le(?:ft|ave) (?:open|undone|for later))"
    r"|what do we still (?:have|need) (?:to do|todo)|what remains(?: open| todo)?)"
    r"(?: right now| now| here| currently)?$"
)
# It asks for blockers and tasks that were dealt with, too.
_CLOSED_TOO = regex(
    r"\b(?:did|had|was|were|been|ever|all|every|everything|history|resolved|closed|fixed|solved"
    r"|finished|completed|done)\b"
)
_REMEMBERED = regex(
    r"\b(?:everything|all|what) (?:that )?(?:(?:do|have) )?(?:we|you|i) (?:all )?(?:have |'ve )?"
    r"(?:know|remember|noted|saved|remembered|recorded|stored)(?: about us)?(?: so-far)?$"
    r"|\bin (?:your|our) memory$"
)
_NEWS = regex(
    r"^(?:what (?:is|'s) )?(?:new|latest)$|^any news$"
    r"|\b(?:newest|latest|last|recent)(?: \d+)? (?:notes|memories|things)$"
)
# What happened then, not what holds from then on, and not why.
_OF_AN_INCIDENT = regex(
    r"^(?:what(?:'s)? (?!did (?:we|i|you|they)\b)(?:\w+ ){0,4}?"
    r"(?:happened|went|broke|failed|caused|was|were|did)"
    r"|(?:did|have|had) (?:we|you|they|i)(?: ever)? ha(?:ve|d)|(?:was|were) there)\b"
)
_LATELY = TimeExpression("lately", "lately")
_MOST_ELSEWHERE = 3
_MOST_OF_A_TIME = 60


class _Read(Struct, frozen=True):
    """One sentence: its canonical words, its times, and what of it is neither that nor frame."""

    said: str
    left: str
    times: tuple[TimeExpression, ...]
    subject: tuple[str, ...]
    asks: bool

    @property
    def words(self) -> list[str]:
        return self.left.split()

    @property
    def first(self) -> str:
        """The first word that says something."""
        said = _COURTESY.sub("", self.said)
        return next((word for word in said.split() if word not in FILLERS), "")

    @property
    def is_core(self) -> bool:
        return not _CORE.isdisjoint(self.words)

    @property
    def is_order(self) -> bool:
        return self.first in ORDER_VERBS and self.first not in _REQUESTS

    @property
    def is_remark(self) -> bool:
        """Whether it states something ("our app is fast", "we merged it", "this worked")."""
        if self.first in _POINTS:
            return True
        if self.asks:
            return False
        if self.first in _STATES:
            return True
        words = self.said.split()
        if self.first in _REQUESTS or not _QUESTION_WORDS.isdisjoint(words):
            return False
        main = _SUBORDINATE.sub("", _COURTESY.sub("", self.said))
        verb = _FINITE.search(main)
        return verb is not None and verb[0] != self.first


def read_time_question(text: str, *, before: str = "", begins: bool = False) -> Retrospect | None:
    """What ``text`` asks about a time or about the whole; None for what does not, as most do.

    ``before`` is the prompt before, where it is known. With ``begins`` it is the first of a
    session, where a bare "continue" means the last one.
    """
    if begins and _GOES_ON.fullmatch(plain(text).strip(" .!?\n")):
        return Retrospect(left_off=True)
    if before and (found := _at_another_time(text, before)):
        return found
    if len(text) > MAX_CHARS or _MAY_ASK.search(plain(text)) is None:
        return None
    if _PASTED.search(text) or text.strip().count("\n") >= MAX_LINES:
        return None
    read = [_read(part) for part in _SENTENCE.findall(text) if part.strip()]
    newcomer = any(_NEWCOMER.search(one.said) for one in read)
    for number, one in enumerate(read):
        beside = sum(len(other.subject) for at, other in enumerate(read) if at != number)
        if found := _asked(one, beside, newcomer=newcomer):
            return found
    return None


def _at_another_time(text: str, before: str) -> Retrospect | None:
    """What ``text`` asks that names a time alone ("and on Wednesday?"), as ``before`` asked."""
    if len(text) > _MOST_OF_A_TIME or not text.rstrip().endswith("?"):
        return None
    one, asked = _read(text), read_time_question(before)
    if not one.times or one.subject or one.is_core or asked is None or asked.subject:
        return None
    return replace(asked, times=one.times) if asked.times else None


def dates_of_incident(text: str) -> tuple[TimeExpression, ...]:
    """The days and months of which ``text``, one sentence, asks what happened then; often ()."""
    asked = plain(text).strip()
    if len(asked) > MAX_CHARS or _OF_AN_INCIDENT.match(asked) is None:
        return ()
    dates = find_dates(text)
    sides = [one.side for one in dates]
    return dates if sides in (["in"], ["since", "until"]) else ()


def _read(sentence: str) -> _Read:
    said = canonical(_RECIPIENT.sub(r"\1\2", sentence))
    times, left = find_times(said)
    words = (word for word in left.split() if len(word) > 1 and not word.isdecimal())
    return _Read(said, left, times, tuple(w for w in words if w not in _KNOWN), "?" in sentence)


def _asked(one: _Read, beside: int, *, newcomer: bool) -> Retrospect | None:
    """What the sentence ``one`` asks; ``beside`` counts the words of a subject in the others."""
    last_time = None if beside or one.times else _LAST_TIME.search(one.said)
    if found := _LEFT_OFF.search(one.said) or last_time:
        return _where_left_off(one, found)
    if one.times and one.first in _RESUMES and _RESUMES.issuperset(one.subject):
        return Retrospect(left_off=True)
    if one.is_order or one.is_remark:
        return None
    if one.times:
        return _at_a_time(one, beside)
    return _of_the_whole(one, beside, newcomer=newcomer)


def _where_left_off(one: _Read, found: re.Match[str]) -> Retrospect | None:
    """Where work was left; whoever says of what work, is answered by those words."""
    around = f"{one.said[: found.start()]} {one.said[found.end() :]}".split()
    if _RESUMES.issuperset(word for word in around if word in one.subject):
        return Retrospect(left_off=True) if not one.is_order or one.first in _RESUMES else None
    return None


def _at_a_time(one: _Read, beside: int) -> Retrospect | None:
    if _AHEAD.search(one.said) or _OF_THE_CALENDAR.search(one.said):
        return None
    namespaces = _namespaces(one.words)
    asks = one.asks or not _ASKS.isdisjoint(one.words) or one.first in _REQUESTS
    if not one.subject and asks and (one.is_core or _PAST.search(one.said)):
        about = beside > _MOST_ELSEWHERE
        return Retrospect(times=one.times, namespaces=namespaces, subject=about)
    if not (one.is_core and _OF_THE_PAST.search(one.said)):
        return None
    if one.subject and (one.first in _ASKS_BOTH or (one.asks and namespaces)):
        return Retrospect(times=one.times, namespaces=namespaces, subject=True)
    return None


def _namespaces(words: Sequence[str]) -> tuple[str, ...]:
    named = [word for word in words if word in _NAMESPACE_OF]
    strong = [word for word in named if word not in _WEAK] or named
    return tuple(dict.fromkeys(_NAMESPACE_OF[word] for word in strong))


def _of_the_whole(one: _Read, beside: int, *, newcomer: bool) -> Retrospect | None:
    if not beside and _OPEN.match(one.said.strip()):
        return Retrospect(namespaces=("tasks", "blockers"), still_open=True)
    if one.subject or beside > _MOST_ELSEWHERE:
        return None
    if _NEWS.search(one.said):
        return None if beside else Retrospect(times=(_LATELY,))
    return _of_everything(one, newcomer=newcomer)


def _of_everything(one: _Read, *, newcomer: bool) -> Retrospect | None:
    namespaces = _namespaces(one.words)
    if namespaces:
        standing = not _STANDING.isdisjoint(namespaces) and _PRESENT.search(one.said)
        asked = bool(_LISTS.search(one.said) or standing or _BLOCKED.search(one.said))
    elif _PROJECT.search(one.left):
        asked = bool(_OVERVIEW.search(one.said))
    else:
        first = newcomer and _FIRST_QUESTION.search(one.said)
        asked = bool(_REMEMBERED.search(one.said) or first)
    if not asked:
        return None
    closed_too = "open" not in one.said.split() and _CLOSED_TOO.search(one.said)
    still_open = not (closed_too or TO_DO.isdisjoint(namespaces))
    return Retrospect(namespaces=namespaces, still_open=still_open)
