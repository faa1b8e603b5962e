"""Finds the expressions of time in a prompt: "last week", "in October", "since 2.5.0 went out".

A table and a small grammar of our own: the libraries that parse dates find points in time, not
spans, and take "march", "second" or "1.5" in any sentence for one. The words of other languages are
rewritten to English ones first (``time_words.toml``), so there is one grammar.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ...bus.prompts import TimeExpression, TimeSide
from ...config.patterns import regex
from ..text.lexicons import load_lexicon
from .words import fold

WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
MONTHS = (
    "january february march april may june july august september october november december".split()
)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
"""Each with the month that it begins with."""
UNITS = "hour day week month quarter year".split()


DATES = frozenset("iso dotted iso_month day_month month".split())
"""The kinds of expression that name a day or a month of the calendar."""


class TimeWords(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: what a question may hold, namespaces by their words, and other languages."""

    vocabulary: dict[str, str]
    namespaces: dict[str, str]
    languages: dict[str, dict[str, str]]


LEXICON = load_lexicon(Path(__file__).with_name("time_words.toml"), TimeWords)


def plain(text: str) -> str:
    """``text`` folded, and without accents."""
    said = fold(text)
    if said.isascii():
        return said
    parts = unicodedata.normalize("NFKD", said.replace("ß", "ss"))
    return "".join(part for part in parts if not unicodedata.combining(part))


_ENGLISH = "english"
_OF_LANGUAGE: Mapping[str, Mapping[str, str]] = {
    language: {plain(word): said for said, listed in table.items() for word in listed.split()}
    for language, table in LEXICON.languages.items()
}
CALENDAR = frozenset((*MONTHS, *WEEKDAYS)) | frozenset(
    word
    for table in _OF_LANGUAGE.values()
    for word, said in table.items()
    if said in MONTHS or said in WEEKDAYS
)
"""The months and weekdays in every language of the lexicon, as ``plain`` writes them."""

_SAID_IN_ENGLISH = frozenset(
    word for listed in LEXICON.vocabulary.values() for word in listed.split()
) | frozenset(_OF_LANGUAGE[_ENGLISH])
_NUMBER = r"(\d{1,2})(?:st|nd|rd|th)?"
_PHRASES = (
    (regex(r"\bl?il y a (?=\w+ (?:jour|semaine|mois|an))"), "ago "),
    (regex(r"\bfin de semana\b|\bfin de semaine\b|\bweek-end\b"), "weekend"),
    (regex(r"\bday before yesterday\b|\bavant-hier\b|\bantes de ayer\b|\beergisteren\b"),
     "the-day-before-yesterday"),
    (regex(r"\bcouple of\b"), "couple"),
    (regex(r"\bgo-?lives?\b|\bgoing live\b"), "golive"),
    (regex(r"\bstehen geblieben\b"), "stehengeblieben"),
    (regex(r"\bmach(?:e|en wir)? weiter\b"), "weiter"),
    (regex(r"\b(?:s'est|est)(?:-il)? passe\b"), "arrive"),
    (regex(r"\bqu'(?=\w)"), "que "),
    (regex(r"\b[cdjlmns]'(?=\w)"), ""),
    (regex(r"\bsum(?:med|s)? up\b"), "summary"),
    (regex(r"\b(summary|recap) of (?:the|my|our) (?=week|month|year|quarter)"),
     r"\1 of this "),
    (regex(rf"\b(?:from|between) (?:the )?{_NUMBER} (?:to|and|until) (?:the )?{_NUMBER} "
                rf"(?:of )?({'|'.join(MONTHS)})"),
     r"between \1 \3 and \2 \3"),
    (regex(rf"\b{_NUMBER} ?(?:to|until|[-\u2013/]) ?{_NUMBER} (?!may)({'|'.join(MONTHS)})\b"),
     r"between \1 \3 and \2 \3"),
    (regex(r"\b(up to now|until now|to date|as of now|hasta ahora|jusqu'ici|bis jetzt)\b"),
     "so-far"),
    (regex(r"\bso far\b"), "so-far"),
    (regex(r"(?<=[' ]s |is |re |ft |ll )to do\b|\bto-?dos?\b"), "todo"),
    (regex(r"(?<=\w)'(?=(?:s|ve|re|d|ll|m)\b)"), " '"),
)  # fmt: skip
_TOKEN = regex(r"[\w][\w.'/+-]*[\w+]|\w|'(?:s|ve|re|d|ll|m)\b")


# Every question of another language has a word for one of these.
_TELLING = frozenset(
    "today yesterday the-day-before-yesterday lately weekend last since ago left-off overview"
    " summary project decisions blocked open continue".split()
).union(WEEKDAYS, MONTHS, UNITS)


def telling_words() -> frozenset[str]:
    """The words of other languages of which a question about a time or the whole has one."""
    return frozenset(
        word
        for language, table in _OF_LANGUAGE.items()
        for word, said in table.items()
        if language != _ENGLISH and said in _TELLING and len(word) > 2
    )


def canonical(text: str) -> str:
    """``text`` as English words of the table, one blank between two, without "the"."""
    said = plain(text)
    for phrase, instead in _PHRASES:
        said = phrase.sub(instead, said)
    tokens = _TOKEN.findall(said)
    table = _OF_LANGUAGE[_language(tokens)]
    return " ".join(word for token in tokens if (word := table.get(token, token)) != "the")


def _language(tokens: Sequence[str]) -> str:
    def known(language: str) -> int:
        words = _SAID_IN_ENGLISH if language == _ENGLISH else _OF_LANGUAGE[language]
        return sum(token in words for token in tokens)

    return max(_OF_LANGUAGE, key=lambda language: (known(language), language == _ENGLISH))


# --- finding --------------------------------------------------------------------------------------


_LATER = "since|starting|as of"
_PREPOSITIONS = (
    rf"{_LATER}|from|after|before|until|up to|by|between|to|through|in|on|at|during|over|of|within"
    "|throughout|for|and"
)
_WEEKDAY, _MONTH, _SEASON = "|".join(WEEKDAYS), "|".join(MONTHS), "|".join(SEASONS)
_UNITS = "|".join(UNITS)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_LAST = "last|past"
_GRAMMAR = {
    "iso": r"\d{4}-\d\d-\d\d",
    "dotted": r"\d{1,2}\.\d{1,2}\.\d{4}",
    "iso_month": r"\d{4}-\d\d",
    "today": "today|tonight|this (?:morning|afternoon|evening|night)",
    "last_night": "last night|last evening|yesterday (?:evening|night)",
    "yesterday": "yesterday(?: (?:morning|afternoon))?",
    "two_days_ago": "the-day-before-yesterday",
    "rolling": rf"(?:{_LAST}) \d{{1,3}} (?:{_UNITS})|\d{{1,3}} last (?:{_UNITS})"
    rf"|past (?:{_UNITS})",
    "ago": rf"(?:\d{{1,3}}|a|an) (?:{_UNITS}) ago|(?:ago|before) (?:\d{{1,3}}|a|an) (?:{_UNITS})",
    "weekday_last_week": rf"(?:{_WEEKDAY})(?: of)? last week"
    rf"|last week (?:'s )?(?:on )?(?:{_WEEKDAY})",
    "last_unit": r"last (?:week|month|quarter|year)|(?:week|month|quarter|year) last",
    "this_unit": "this (?:week|month|quarter|year)",
    "weekend": "(?:last|this) weekend|weekend(?: last)?",
    "season": rf"(?:last|this) (?:{_SEASON})|(?:in|during|since) (?:{_SEASON})",
    "day_month": rf"(?:{_DAY}|\d{{1,2}}\.) (?:of )?(?:{_MONTH})(?: \d{{4}})?"
    rf"|(?:{_MONTH}) {_DAY}(?: \d{{4}})?",
    "month": rf"(?:last |this )?(?:{_MONTH})(?: (?:of )?\d{{4}})?|(?:{_MONTH}) last",
    "weekday": rf"(?:last |this )?(?:{_WEEKDAY})(?: last)?",
    "quarter": r"q[1-4](?: (?:of )?\d{4})?",
    "year": r"20\d\d",
    "lately": "lately|of late|(?:these|last|past) days",
}
_EVENT = (
    "release|launch|rollout|roll-out|deployment|deploy|golive|migration|upgrade|update|outage"
    "|incident|cutover|freeze|refactoring|refactor|rewrite|switch|move|merge|publication|version"
)
_VERSION = r"(?:v?\d+\.\d[\w.-]*|[a-z]{1,4}\d+\.\d[\w.]*)"
_ANCHOR = (
    rf"(?:(?:our|last|that|this|version|v|release|model|firmware|fw) ){{0,3}}{_VERSION}"
    rf"(?: (?:{_EVENT}))?(?: (?:is|was|were|went|has|been|got|came|be|'s|are|have) ?"
    r"(?:been )?(?:out|live|operational|released|shipped|published|deployed|there|rolled out)?)?"
    rf"|(?:(?:our|last|that|big|latest) ){{0,2}}(?:{_EVENT})(?: (?:of|to|from) [\w.-]+)?"
)
_EXPRESSION = regex(
    rf"(?<!\S)(?:(?P<side>{_PREPOSITIONS}) )?(?:"
    + "|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _GRAMMAR.items())
    + r")(?!\S)(?= (?P<next>(?:up )?to|until|through|onwards?)\b)?"
)
_EVENTFUL = regex(rf"(?<!\S)(?P<side>since|after|before|until|up to|by) (?P<a>{_ANCHOR})(?!\S)")
_AMBIGUOUS = frozenset(("march", "may"))
_SIDES: Mapping[str, TimeSide] = {
    "since": "since",
    "starting": "since",
    "as of": "since",
    "between": "since",
    "after": "after",
    "before": "before",
    "until": "until",
    "up to": "until",
    "by": "until",
    "to": "until",
    "through": "until",
}


def find_times(said: str) -> tuple[tuple[TimeExpression, ...], str]:
    """The expressions of time in ``said`` (see ``canonical``), and what is left without them."""
    found: list[TimeExpression] = []

    def take(match: re.Match[str]) -> str:
        expression = _expression(match)
        if expression is None:
            return match[0]
        if match["side"] == "and" and found and found[-1].side in {"in", "since"}:
            found[-1] = TimeExpression(found[-1].kind, found[-1].text, "since")
            expression = TimeExpression(expression.kind, expression.text, "until")
        found.append(expression)
        return "|"

    def take_event(match: re.Match[str]) -> str:
        # What came of an event is told from the day after it on.
        side = _SIDES[match["side"]]
        side = "after" if side == "since" else side
        found.append(TimeExpression("event", match["a"], side))
        return "|"

    left = _EXPRESSION.sub(take, said)
    left = _EVENTFUL.sub(take_event, left)
    return tuple(_with_years(found)), " ".join(left.replace("|", " ").split())


def find_dates(text: str) -> tuple[TimeExpression, ...]:
    """The days and months of the calendar that ``text`` names."""
    times, _ = find_times(canonical(text))
    return tuple(one for one in times if one.kind in DATES)


def _expression(match: re.Match[str]) -> TimeExpression | None:
    kind = str(match.lastgroup)
    if kind == "next":  # the lookahead's group is the last one that matched
        kind = next(name for name in _GRAMMAR if match[name] is not None)
    given, text = match["side"] or "", match[kind]
    if kind == "year" and not given:
        return None
    bare = not given and not text.startswith(("last ", "this ")) and not text.endswith(" last")
    vague = bare or given in {"and", "to"} or text.startswith("this ")
    if kind == "month" and vague and text.removeprefix("this ") in _AMBIGUOUS:
        return None
    if kind == "weekday" and bare and not match.string[match.end() :].startswith(" 's"):
        return None
    if kind == "weekend" and given == "for":
        return None
    if kind == "season" and text.split()[0] in {"since", "during"}:
        given = text.split()[0]
    side: TimeSide = _SIDES.get(given, "in")
    if match["next"] and side == "in":
        side = "since"
    short = re.fullmatch(rf"({_MONTH}) (2\d)", text)
    if short and (given == "in" or " month" in match.string):  # a year, where a month is spoken of
        kind, text = "month", f"{short[1]} 20{short[2]}"
    return TimeExpression(kind, text, side)


def _with_years(found: Sequence[TimeExpression]) -> list[TimeExpression]:
    """Give a month the year that stands beside it ("in March last year", "a year ago in …")."""
    years = [one for one in found if _is_year(one)]
    named = [one for one in found if one.kind in {"month", "day_month"} and not _names_year(one)]
    if not years or not named:
        return list(found)
    return [
        TimeExpression(one.kind, f"{one.text} {years[0].text}", one.side) if one in named else one
        for one in found
        if one not in years
    ]


def _is_year(one: TimeExpression) -> bool:
    return one.kind == "year" or (
        one.kind in {"ago", "last_unit", "this_unit"} and "year" in one.text
    )


def _names_year(one: TimeExpression) -> bool:
    return re.search(r"20\d\d|last", one.text) is not None
