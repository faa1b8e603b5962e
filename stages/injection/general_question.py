"""Tells a question about the world ("what does VIN stand for?") from one about the project.

A memory that shares its one name with such a question says what the project does with the thing,
and not what the thing is. So each form of general question asks something of a memory: to define
the word, to name both sides of a comparison, to quote the command. What speaks of us, here or this,
or of something with an article ("the holdout"), is about the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from ...bus.prompts import Parsed
from ...config.patterns import regex
from ..language.topics import ASKING_WORDS
from ..language.words import STOP_WORDS, TECHNOLOGIES, fold, words_of
from ..statements.canonical import canonical
from .things import Text

_MAX_CHARS = 160
_READ_CHARS = 2000
NOT_MEANT = "the question is a general one, which it does not answer"

_SURELY = 0.9
"""How relevant a memory has to be where nothing else tells whether it answers."""

_OURS = regex(
    r"\b(?:we|our|ours|us|here|this|these|that|my|mine|project|repo|repository|team|codebase|it"
    r"|its|it's|they|their|again|still|currently|now|already|yet)\b"
)
_LEAD = regex(
    r"(?:(?:can|could|would) (?:you|someone|anyone) |please |do(?:es)? (?:you|anyone) know "
    r"|(?:any|no) idea |(?:tell|remind) me |i wonder |quick question\W+"
    r"|(?:btw|by the way|and|so|ok|hey|hi|hm+)\W+)*"
)
_END = regex(r"(?: (?:exactly|actually|please|pls|really|btw|right now))?[\s?.!]*$")
_WHAT = r"(?:what(?: exactly)? (?:is|are)|what's|whats|define|explain)"
_WORDS = r"[^\s,;:?!`\"'/_]+(?: [^\s,;:?!`\"'/_]+){0,3}?"
_THING = rf"(?P<a>an? )?(?P<thing>{_WORDS})"
_OTHER = rf"(?P<other>{_WORDS})"
_PROGRAM = r"(?P<other>[^\s,;:?!`\"'/_]+(?: [^\s,;:?!`\"'/_]+)?)"
_SIDES = r"(?:better|worse|faster|slower|safer|cheaper|easier|simpler|lighter|newer|older) than"
_EACH = r"(?: (?:per|a|an) \w+)?"

# The first form that a question has counts, but for what is done within no program.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("never", regex(r"(?!.*\bknow\b).*\b(?:in general|generally speaking)")),
    ("named", regex(rf"what do(?:es)? {_THING} (?:stand for|abbreviate)")),
    ("named", regex(rf"{_WHAT} (?:the )?(?:meaning|definition|formula) (?:of|for) {_THING}")),
    ("named", regex(rf"{_WHAT} {_THING}'s (?:meaning|definition|formula)")),
    ("meant", regex(rf"what do(?:es)? {_THING} mean(?P<other> in \w+)?")),
    ("within", regex(rf"(?:{_WHAT} )?(?:the )?differences? between (?P<thing>.+) in {_PROGRAM}")),
    ("sides", regex(rf"(?:{_WHAT} )?(?:the )?differences? between {_THING} and {_OTHER}")),
    ("sides", regex(rf"(?:explain |compare )?{_THING} (?:vs\.?|versus) {_OTHER}(?:, which .*)?")),
    ("sides", regex(rf"(?:is|are) {_THING} (?:the same as|{_SIDES}) {_OTHER}(?: for .*)?")),
    ("command", regex(r"what do(?:es)? (?P<thing>\w+(?: \S+){0,7}?) (?:do|show|print|return)")),
    ("likely", regex(rf"{_WHAT} (?:an? )?(?:good|reasonable|typical) .+|best practices? .+")),
    ("within", regex(r"how (?:to|(?:do|can|would) (?:i|you|one)) (?P<thing>\w+ .+) (?:in|on) "
                     rf"(?:an? )?{_PROGRAM}")),
    ("likely", regex(r"how (?:do|can|would|to)(?: (?:i|you|one))? \w+ (?=.*\ban? )(?P<thing>.+)")),
    ("bought", regex(r"(?:what|which) .+ should i (?:buy|get)\b.*")),
    ("shared", regex(rf"how do(?:es)? {_THING} (?:work|(?P<other>[a-z]+(?: .*)?))")),
    ("made", regex(rf"who (?P<other>founded|invented|created|wrote|made) {_THING}")),
    ("maker", regex(rf"who makes {_THING}")),
    ("dated", regex(rf"when (?:was|were) {_THING} (?:first )?"
                    r"(?:released|launched|founded|invented)")),
    ("news", regex(rf"{_WHAT} new in {_THING}(?: v?\d[\d.]*)?")),
    ("reached", regex(rf"{_WHAT} {_THING}'s (?:(?:tele)?phone|mobile|e-?mail|address)\b.*")),
    ("away", regex(rf"(?:is|are) {_THING} (?:on (?:holidays?|vacation|leave)|sick|ill|away)\b.*")),
    ("away", regex(rf"when do(?:es)? {_THING}'s (?:holidays?|vacation|leave) .+")),
    ("private", regex(rf"(?:is|are|when (?:is|was)|what's) {_THING}(?:'s)? "
                      r"(?P<other>married|single|birthday)")),
    ("private", regex(rf"who (?:is|was) the (?P<other>ceo|cto|founder|inventor) of {_THING}")),
    ("private", regex(rf"{_WHAT} the (?P<other>weather|population|capital) (?:in|of) {_THING}")),
    ("private", regex(rf"{_WHAT} {_THING} (?P<other>named) (?:after|for)")),
    ("old", regex(rf"how old (?:is|are) {_THING}")),
    ("up", regex(rf"(?:is|are) {_THING} (?:down|offline|up|online)(?: for .+| today)?")),
    ("free", regex(rf"(?:is|are) {_THING} (?:free|expensive|open[- ]source)(?: .*)?")),
    ("priced", regex(rf"how (?:much|expensive) (?:is|are) {_THING}{_EACH}")),
    ("priced", regex(rf"(?:how much|what) do(?:es)? {_THING} cost{_EACH}")),
    ("able", regex(rf"(?:is|are) {_THING} (?:written|made|built|compatible) \w+ (?P<other>.+)")),
    ("able", regex(rf"(?:is|are) {_THING} (?P<other>\w+[ -]complian(?:t|ce))")),
    ("able", regex(rf"do(?:es)? (?:the )?{_THING} (?:support|offer|sell|make) (?P<other>.+)")),
    ("defined", regex(rf"{_WHAT} {_THING}(?P<other> in (?:\w+ learning|\w+))?")),
)  # fmt: skip

_OF_ANY = regex(r"\ban?\b")
# Where they are compared, or something is done with them, the project's own are meant.
_PLACES = frozenset("staging prod production dev local main master develop ci test tests".split())
_COMMANDS = frozenset("kubectl curl grep sed awk rsync ssh gh psql npx git docker make".split())
_PROGRAMS = frozenset("excel word photoshop chrome firefox safari gdscript gimp figma".split())
_NUMBER = regex(r"(?:^|\s)\d|\d{3}")
_PARTICIPLE = regex(r"\w+(?:ed|ing)")
_SHORT = 5
_SCIENCES = frozenset("learning science python java".split())
# What a program's name is another word for.
_CALLED = {"docker": "container", "kubernetes": "cluster", "k8s": "cluster"}
_LANGUAGES = (["in", "c"], ["in", "go"], ["in", "r"])


class General(Struct, frozen=True):
    """A general question: its form, the folded ``thing`` it asks about, and the ``other``.

    ``known``: the thing is a technology, or is written like a name; ``article`` is what it has.
    """

    form: str
    thing: str = ""
    other: str = ""
    known: bool = False
    article: str = ""

    def is_answered_by(self, text: str, relevance: float) -> bool:
        """Whether a memory with this ``text`` and ``relevance`` may answer it."""
        return _ANSWERS[self.form](self, fold(text[:_READ_CHARS]), relevance)

    def words(self) -> frozenset[str]:
        return frozenset(words_of(self.thing)) | frozenset(words_of(self.other))


class Asked(Struct, frozen=True):
    """The questions of a prompt, if all of them are general; else none."""

    general: tuple[General, ...] = ()

    def refuses(self, text: str, relevance: float) -> bool:
        """Whether what is kept as ``text`` is no answer to any of them."""
        general = self.general
        return bool(general) and not any(one.is_answered_by(text, relevance) for one in general)


def read_asked(parsed: Parsed) -> Asked:
    """What a prompt asks of the world at large: nothing where it asks of a time, or of a paste."""
    if parsed.pasted or parsed.retrospect is not None:
        return Asked()
    return _read_all(parsed.parts or (parsed.question,))


@lru_cache(maxsize=8)
def _read_all(questions: Sequence[str]) -> Asked:
    read = [read_general(one) for one in questions]
    general = tuple(one for one in read if one is not None)
    return Asked(general if len(general) == len(read) else ())


def read_general(text: str) -> General | None:
    """``text`` as a general question; None where it may be about the project, or is longer."""
    if len(text) > _MAX_CHARS:
        return None
    text = _END.sub("", text.strip())
    text = text[_LEAD.match(fold(text)).end() :]  # type: ignore[union-attr]
    folded = fold(text)
    if _OURS.search(folded):
        return None
    for form, pattern in _FORMS:
        if asked := pattern.fullmatch(folded):
            one = _general(form, asked, text)
            if one is not None or form != "within":
                return one
    return None


def _general(form: str, asked: re.Match[str], text: str) -> General | None:
    """The question that has this ``form``, unless what it asks about may be the project's own."""
    groups = asked.groupdict()
    thing, other = groups.get("thing") or "", groups.get("other") or ""
    if "the" in other.split() or (
        form not in ("likely", "command", "within") and not STOP_WORDS.isdisjoint(thing.split())
    ):
        return None
    written = text[slice(*asked.span("other" if form == "within" else "thing"))] if thing else ""
    known = _is_known(written, form)
    one = General(form, thing, other, known=known, article=groups.get("a") or "")
    return one if _MAY_BE.get(form, _always)(one) else None


def _is_known(written: str, form: str) -> bool:
    """Whether it names what others know: a technology, or all of it is written like a name."""
    words = written.split()
    folded = [fold(word) for word in words]
    technologies = folded[-2:] in _LANGUAGES or not TECHNOLOGIES.isdisjoint(folded)
    if form == "within":
        return not (TECHNOLOGIES | _PROGRAMS).isdisjoint(folded)
    if form in ("likely", "shared", "able"):
        return technologies or (form != "likely" and any(map(_is_name, words)))
    return bool(words) and all(_is_name(word) or fold(word) in TECHNOLOGIES for word in words)


def _is_name(word: str) -> bool:
    """Whether ``word`` is written like a name: "NATS", "Notion", "minSdk"."""
    return word != word.lower()


def _always(one: General) -> bool:
    return True


def _may_be_meant(one: General) -> bool:
    """A word of few letters, or a known one: "what does FROZEN_2 mean?" is the project's own."""
    if one.other.removeprefix(" in ") in TECHNOLOGIES:
        return True
    is_word = " " not in one.thing and _NUMBER.search(one.thing) is None
    return is_word and bool(one.known or one.article or len(one.thing) <= _SHORT)


_PROPERTIES = frozenset(
    "url dsn ttl port key token version host hostname address path password limit timeout".split()
)


def _may_be_defined(one: General) -> bool:
    """What has no article has to be a known name, or one word that may be a name."""
    if _NUMBER.search(one.thing) is not None or one.thing.split()[-1] in _PROPERTIES:
        return False
    field = one.other.rpartition(" ")[2]
    if field and field not in _SCIENCES:
        return field in TECHNOLOGIES and bool(one.known or one.article)
    if " " in one.thing or one.known or one.article:
        return bool(one.known or one.article)
    return one.thing not in ASKING_WORDS and _PARTICIPLE.fullmatch(one.thing) is None


def _compares(one: General) -> bool:
    sides = (*one.thing.split(), *one.other.split())
    return _PLACES.isdisjoint(sides) and _NUMBER.search(" ".join(sides)) is None


def _is_command(one: General) -> bool:
    first = one.thing.split()[0]
    return first in TECHNOLOGIES or first in _COMMANDS


def _is_done_within(one: General) -> bool:
    return one.known and _PLACES.isdisjoint(one.thing.split())


def _is_known_thing(one: General) -> bool:
    return one.known


_MAY_BE: Mapping[str, Callable[[General], bool]] = {
    **dict.fromkeys(
        ("old", "free", "priced", "able", "shared", "maker", "dated", "news"), _is_known_thing
    ),
    "within": _is_done_within,
    "meant": _may_be_meant,
    "defined": _may_be_defined,
    "sides": _compares,
    "command": _is_command,
    "up": lambda one: _PLACES.isdisjoint(one.thing.split()),
    "likely": lambda one: one.known or not one.thing,
}


# --- what answers it ------------------------------------------------------------------------------

_DEFINES = (
    r"(?<![\w-]){}\)? ?(?:=|(?:means?|stands? for|(?:is|are)(?: short for)?"
    r"(?! (?:not|no|now|never|on|in|at|only|here|there|set|kept|run|built|made|sent|\w+ed|\w+ing)"
    r"\b))\b|\()"
)
_OWN = (
    r"(?<![\w-])(?:(?:the|our) |`){}(?![\w-])|(?<![\w-]){}(?:: | \d|, (?:the|our|an?)\b)"
    r"|(?:is|called) `?{}(?![\w-])"
)


def _defines(one: General, text: str, relevance: float) -> bool:
    return re.search(_DEFINES.format(re.escape(one.thing)), text) is not None


def _tells_what_it_is(one: General, text: str, relevance: float) -> bool:
    """A definition; of a word that nobody else may know, also what names it as the project's."""
    own = _OWN.replace("{}", re.escape(one.thing))
    if one.known:  # "the Twilio account" is none of theirs
        own = own.replace("(?:the|our) ", "our ")
    theirs = one.article or not TECHNOLOGIES.isdisjoint(one.thing.split())
    return _defines(one, text, relevance) or (not theirs and re.search(own, text) is not None)


def _names_both(one: General, text: str, relevance: float) -> bool:
    said = frozenset(words_of(text))
    return not any(said.isdisjoint(words_of(side)) for side in (one.thing, one.other))


def _quotes(one: General, text: str, relevance: float) -> bool:
    return (" " in one.thing and one.thing in text) or _defines(one, text, relevance)


def _shares(one: General, text: str, relevance: float) -> bool:
    said = frozenset(map(canonical, words_of(text)))
    return len(said.intersection(map(canonical, one.words()))) > 1


# Whatever is asked of a thing, what answers it has a word of these.
_TOLD: Mapping[str, re.Pattern[str]] = {
    "bought": regex(r"\b(?:buy|bought)\b"),
    "made": regex(r"\b(?:founded|invented|created|wrote|written|made|built)\b"),
    "maker": regex(r"\b(?:makes?|made|makers?|develop(?:s|ed|ers?)|vendor|belongs? to|behind)\b"),
    "dated": regex(r"\b(?:released?|launch(?:ed)?|founded|invented|live|shipped|since|old)\b"),
    "news": regex(r"\b(?:new|adds?|added|introduc\w+|features?|brings?|changes?|changed)\b"),
    "reached": regex(r"@|\d{6}|\b(?:phone|mobile|e-?mail|address|call)"),
    "away": regex(r"\b(?:away|out|off|holidays?|vacation|leave|sick|ill|back|until)\b"),
    "old": regex(r"\b(?:old|age|aged|born|birthday|years?|since)\b"),
    "up": regex(r"\b(?:dead|broken?|crash\w*(?! (?:report|dump|log))|fail\w*|hang\w*|hung"
                r"|down(?:time)?|up(?:time)?|off(?:line)?|outages?|online|maintenance|stopped"
                r"|reach\w*|available|unavailable|status)\b"),
    "free": regex(r"\b(?:plan|bills?|spend|chf|eur|usd|gbp|bus[ls]|free|costs?|paid|pays?|prices?"
                  r"|licen[cs]\w+|open|cheap|expensive)\b"),
    "priced": regex(r"\b(?:bills?|spend|spent|chf|gbp|plan|a (?:month|year)|free|costs?|paid|pays?"
                    r"|prices?|eur|euros?|usd|dollars?|expensive|cheap|cents?|billed)\b|[€$£]"
                    r"|/ ?(?:month|mo|year|yr)\b"),
}  # fmt: skip


def _tells(one: General, text: str, relevance: float) -> bool:
    return _TOLD[one.form].search(text) is not None


def _says_other(one: General, text: str, relevance: float) -> bool:
    """Whether it has a word of the thing, and of what is asked of it."""
    said = frozenset(map(canonical, words_of(text)))
    asked = (frozenset(map(canonical, words_of(each))) for each in (one.thing, one.other))
    return not any(map(said.isdisjoint, asked))


def _is_within(one: General, text: str, relevance: float) -> bool:
    """Whether it speaks of the program that is asked about, or of what may stand for it.

    Where that is asked of any such thing ("a linter"), it has to be relevant as well.
    """
    if _OF_ANY.search(one.thing) and relevance < _SURELY:
        return False
    told = Text(text)
    return all(
        told.names(word) or _CALLED.get(word.folded, "\n") in text for word in Text(one.other).words
    )


_ANSWERS: Mapping[str, Callable[[General, str, float], bool]] = {
    **dict.fromkeys(_TOLD, _tells),
    "never": lambda one, text, relevance: False,
    "named": _defines,
    "meant": _defines,
    "sides": _names_both,
    "command": _quotes,
    "likely": lambda one, text, relevance: relevance >= _SURELY,
    "shared": _shares,
    "able": _says_other,
    "within": _is_within,
    "private": lambda one, text, relevance: one.other in text,
    "defined": _tells_what_it_is,
}
