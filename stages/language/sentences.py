"""Reads a prompt as sentences, and tells what asks from what orders, states or was pasted.

All of it is linear and looks at a bounded window: the start and the end of a prompt. What lies
between in a longer one is pasted material, and the question stands before or after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ...bus.prompts import IntentType
from ...config.patterns import regex
from ..text.code import COMMIT, PRINTED
from ..text.lexicons import BadLexicon, load_lexicon
from .words import FILLERS, STOP_WORDS, WORD, fold, is_negation, word_list

HEAD_CHARS = 1100
TAIL_CHARS = 700
MAX_WORDS = 320
MAX_SENTENCES = 36

_TOKEN = regex(
    rf"(`[^`\n]*`|{WORD})"  # a word, a name, inline code
    r"|([?!.\n]+)"  # the end of a sentence
    r"|([,;:()\u2013\u2014]+)"  # the end of a clause
)
_PASTED_LINE = regex(
    r"\s*(?:>|\d{4}-\d\d-\d\d[T ]\d|\[?\d\d:\d\d:\d\d|\[\s*\d[.\d]*\]"
    r"|\[?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL)\b"
    rf"|{PRINTED}|[\w.]*(?:Error|Exception): "
    r"|\*\* \(|(?:FAILED|PASSED|ok|not ok) [\w/.:-]+(?:\s|$)|\|\s|#\d+ 0x)"
)
_INDENTED = regex(r"(?: {4}|\t)\s*\S")
_COMMIT = regex(COMMIT)
_FENCE = "```"

_LEADING_IN = FILLERS | word_list("leads_in")
_LEAD_IN = regex(r"\s*((?:[a-z']+[ ,]+){0,4}[a-z']+)\s*(?:[.!:;\n]+|[-\u2013\u2014]+ )\s*(?=\S)")
_LEAD_IN_CHARS = 80
_MOST_LEAD_INS = 3

CLAUSE_OPENERS = frozenset("and but so then also because or if when while".split())
ORDER_VERBS = word_list("order_verbs")
HANDLING_VERBS = word_list("handling_verbs")
"""What is done with work that is there, rather than further work."""
RULE_OPENERS = frozenset("always never remember ensure let's lets don't dont fyi".split())
ADDRESSED = frozenset(("can", "could", "would", "will"))
"""Before "you" they begin an order."""
_ASKING_HELP = word_list("help_verbs")
_AGENT_OPENERS = "did|do|are|have|were|who are|how are|why did|what do|what did|what are|what have"
_TO_AGENT = frozenset(tuple(opener.split()) for opener in _AGENT_OPENERS.split("|"))
_KNOWING = frozenset(("know", "remember", "recall", "have", "see"))
SUBJECTS = frozenset(("i", "we", "they", "you", "our"))
# What follows a verb that orders nothing: who does it, or what is told of it.
_NOT_ORDERED = word_list("verbs_of_a_noun") | SUBJECTS
_SUCCESS = word_list("success_words")
_RESTRICTIONS = frozenset(("only", "but"))


class Sentence(NamedTuple):
    """The words of a sentence, case-folded, with where each stands in the prompt.

    ``opens`` holds the index of each word that begins a clause; ``asks`` is its question mark.
    """

    words: list[str]
    spans: list[tuple[int, int]]
    opens: frozenset[int]
    asks: bool


def windows(text: str) -> tuple[tuple[int, int], ...]:
    """The parts of ``text`` that are read, as (start, end), cut at white space if there is any."""
    if len(text) <= HEAD_CHARS + TAIL_CHARS:
        return ((0, len(text)),)
    head = text.rfind(" ", HEAD_CHARS - 80, HEAD_CHARS)
    tail = text.find(" ", len(text) - TAIL_CHARS, len(text) - TAIL_CHARS + 80)
    return (
        (0, head if head > 0 else HEAD_CHARS),
        (tail if tail > 0 else len(text) - TAIL_CHARS, len(text)),
    )


def sentences(text: str) -> list[Sentence]:
    """What a person wrote in ``text``, a sentence at a time: no code fences, no pasted lines."""
    found: list[Sentence] = []
    parts = windows(text)
    for start, end in parts:
        fenced = text.count(_FENCE, 0, start) % 2 == 1
        part = fold(_prose(text[start:end], fenced=fenced))
        read = _split(part, start, MAX_WORDS // len(parts))
        found.extend(islice(read, MAX_SENTENCES // len(parts)))
    return found


@lru_cache(maxsize=8)
def prompt_sentences(text: str) -> tuple[Sentence, ...]:
    """The same of a prompt, kept for the few that are on their way: several stages read one."""
    return tuple(sentences(text))


def without_lead_in(text: str) -> str:
    """``text`` of the same length, with what only leads in to it blanked ("ok, done. which …").

    Nothing is blanked where nothing follows.
    """
    end = 0
    for _ in range(_MOST_LEAD_INS):
        lead = _LEAD_IN.match(fold(text[end : end + _LEAD_IN_CHARS]))
        if lead is None or not _LEADING_IN.issuperset(lead[1].replace(",", " ").split()):
            break
        end += lead.end()
    return " " * end + text[end:]


def word_spans(text: str) -> list[tuple[int, int]]:
    """Where the words and names of ``text`` stand, pasted lines included, within the windows."""
    spans: list[tuple[int, int]] = []
    parts = windows(text)
    for start, end in parts:
        tokens = _TOKEN.finditer(text, start, end)
        words = (token.span(1) for token in tokens if token.lastindex == 1)
        spans.extend(islice(words, MAX_WORDS // len(parts)))
    return spans


def opening(sentence: Sentence) -> int:
    """The index of the first word that is no filler ("ok, so please …"); may be past the end."""
    words = sentence.words
    at = 0
    while at < len(words) and words[at] in FILLERS:
        at += 1
    return at


def is_order(sentence: Sentence) -> bool:
    """Whether the sentence tells the agent to do something rather than asks for knowledge."""
    words = sentence.words
    at = opening(sentence)
    if at >= len(words):
        return True
    if words[at] in RULE_OPENERS:
        return True
    if words[at] in ADDRESSED and words[at + 1 : at + 2] == ["you"]:
        rest = [word for word in words[at + 2 :] if word not in FILLERS]
        return not rest or rest[0] not in _ASKING_HELP
    if words[at : at + 3] in (["i", "want", "you"], ["i", "need", "you"], ["go", "ahead", "and"]):
        return True
    if words[at] not in ORDER_VERBS:
        return False
    return at + 1 >= len(words) or words[at + 1] not in _NOT_ORDERED


def reports_success(sentence: Sentence) -> bool:
    """Whether the sentence reports that something is well now ("fixed the crash, thanks")."""
    if sentence.asks:
        return False
    words = frozenset(sentence.words)
    if words.isdisjoint(_SUCCESS) or words & _RESTRICTIONS:
        return False
    return not any(map(is_negation, words))


def addresses_agent(sentence: Sentence) -> bool:
    """Whether the agent itself is asked ("did you run the tests?"), which no memory answers."""
    words = sentence.words
    at = opening(sentence)
    for length in (1, 2):
        you = at + length
        if words[you : you + 1] == ["you"] and tuple(words[at:you]) in _TO_AGENT:
            return words[you + 1 : you + 2] == [] or words[you + 1] not in _KNOWING
    return False


def _prose(text: str, *, fenced: bool) -> str:
    """``text`` with everything pasted blanked out, of the same length."""
    lines = text.split("\n")
    alone = len(lines) == 1
    kept: list[str] = []
    for line in lines:
        if not line:
            kept.append(line)
            continue
        fence = line.lstrip().startswith(_FENCE)
        if fence and line.count(_FENCE) % 2 == 1:
            fenced = not fenced
        if fence or fenced or _is_pasted(line, alone=alone):
            line = " " * len(line)  # noqa: PLW2901 - the blanked line stands for the line
        kept.append(line)
    return "\n".join(kept)


def _is_pasted(line: str, *, alone: bool) -> bool:
    if _COMMIT.match(line):
        return True
    return not alone and is_pasted_line(line)


def is_pasted_line(line: str) -> bool:
    """Whether ``line``, of several, has the form of a log, a trace, a diff or code."""
    if line.rstrip().endswith("?"):
        return False
    return _PASTED_LINE.match(line) is not None or _INDENTED.match(line) is not None


def _split(text: str, offset: int, room: int) -> Iterator[Sentence]:
    words: list[str] = []
    spans: list[tuple[int, int]] = []
    opens: set[int] = {0}
    for token in _TOKEN.finditer(text):
        kind = token.lastindex
        if kind == 1:
            if room == 0:
                break
            room -= 1
            word = token[0]
            words.append(word)
            spans.append((token.start() + offset, token.end() + offset))
            if word in CLAUSE_OPENERS:
                opens.add(len(words))
        elif kind == 3:
            opens.add(len(words))
        elif words:
            yield Sentence(words, spans, frozenset(opens), "?" in token[0])
            words, spans, opens = [], [], {0}
    if words:
        yield Sentence(words, spans, frozenset(opens), asks=False)


# --- phrases that search --------------------------------------------------------------------------


PHRASES_FILE = Path(__file__).with_name("intent_lexicon.toml")
WHY = frozenset(("why", "why is", "why are", "why does", "why do", "why did", "why was"))
_NAMED_ERROR_CHARS = 8


class Phrase(NamedTuple):
    """A signal: its ``words``, what it speaks for, how much, and whether it must begin a clause."""

    words: tuple[str, ...]
    intent: IntentType
    weight: int
    opens: bool


class _Signals(Struct, frozen=True, forbid_unknown_fields=True):
    """The phrases of one kind of search, by how strongly they speak for it."""

    strong: tuple[str, ...]
    clear: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()


def read_phrases(file: Path) -> dict[tuple[str, ...], Phrase]:
    """The phrases in ``file`` by their words. Raises ``BadLexicon`` if one stands there twice."""
    phrases: dict[tuple[str, ...], Phrase] = {}
    for one in _listed(load_lexicon(file, dict[IntentType, _Signals])):
        if not one.words or one.words in phrases:
            raise BadLexicon(file, f"{' '.join(one.words)!r} is empty or stands in it twice")
        phrases[one.words] = one
    return phrases


def _listed(table: dict[IntentType, _Signals]) -> Iterator[Phrase]:
    for intent, signals in table.items():
        for weight, listed in ((3, signals.strong), (2, signals.clear), (1, signals.weak)):
            for phrase in listed:
                words = tuple(phrase.removeprefix("^").split())
                yield Phrase(words, intent, weight, phrase.startswith("^"))


PHRASES = read_phrases(PHRASES_FILE)
_LENGTHS: dict[str, list[int]] = {}
for _words in sorted(PHRASES, key=len, reverse=True):
    if len(_words) not in _LENGTHS.setdefault(_words[0], []):
        _LENGTHS[_words[0]].append(len(_words))


def phrase_at(words: Sequence[str], at: int) -> Phrase | None:
    """The longest phrase that begins with the word at ``at``; a named exception is one as well."""
    for length in _LENGTHS.get(words[at], ()):
        phrase = PHRASES.get(tuple(words[at : at + length]))
        if phrase is not None:
            return phrase
    return _named_error(words[at])


def _named_error(word: str) -> Phrase | None:
    if len(word) < _NAMED_ERROR_CHARS or not word.isalpha():
        return None
    if not word.endswith(("error", "exception")):
        return None
    return Phrase((word,), IntentType.TROUBLESHOOT, 2, opens=False)


# --- a question that needs the prompt before it --------------------------------------------------

_FOLLOW_UP_WORDS = 16
_FOLLOW_UP_CONTENT = 4

_OPENERS = frozenset(
    "how why what which who whose where when since is are was were do does did has have can could "
    "should what's where's who's why's how's from".split()
)
_JOINING = frozenset("and but so or then".split())
_OF_ANOTHER = frozenset((("what", "about"), ("how", "about")))
_ADDING = frozenset(("and", "but"))
_RETURNING = (("back", "to"), ("about",), ("as", "for"), ("regarding",), ("concerning",), ("re",))
_POINTING = frozenset(
    "it its that this these those they them their one ones other others same instead there then "
    "both either".split()
)


def follows_up(read: Sequence[Sentence]) -> bool:
    """Whether one short sentence asks something that needs the prompt before to be understood.

    It joins on ("and on staging?"), points back ("why was it dropped?"), or names next to nothing.
    What it points at may be named first ("back to the model: is the latest one served?").
    """
    if len(read) != 1 or len(read[0].words) > _FOLLOW_UP_WORDS or _introduces(read[0]):
        return False
    words = read[0].words
    joins = words[0] in _JOINING
    rest = _after_joining(words)
    asks = read[0].asks or bool(rest and rest[0] in _OPENERS)
    if not asks or (is_order(read[0]) and not read[0].asks):
        return False
    content = _content(rest)
    if len(content) > _FOLLOW_UP_CONTENT:
        return False
    return joins or len(content) < 2 or not _POINTING.isdisjoint(words)


def _introduces(sentence: Sentence) -> bool:
    """Whether a clause of its own says what the rest is about: "as for the model, …"."""
    starts = sorted(at for at in sentence.opens if at < len(sentence.words))
    for start, end in pairwise(starts):
        words = _after_joining(sentence.words[start:end])
        returns = any(tuple(words[: len(one)]) == one for one in _RETURNING)
        if returns and _content(words[1:]) and _POINTING.isdisjoint(words):
            return True
    return False


def names_subject(read: Sequence[Sentence]) -> bool:
    """Whether what ``follows_up`` asks the same as before of another subject, which it names.

    "what about the database?" and "and on staging?" do; "and on the other one?" points back, "and
    how do we renew it?" asks something else, and "so Kafka or NATS?" has another form.
    """
    words = read[0].words
    rest = _after_joining(words)
    of_another = tuple(rest[:2]) in _OF_ANOTHER
    if of_another:
        rest = rest[2:]
    elif words[0] not in _ADDING:
        return False
    return bool(_content(rest)) and _OPENERS.union(_POINTING).isdisjoint(rest)


def stands_alone(words: Sequence[str]) -> bool:
    """Whether a question with these folded ``words`` says what it is about by itself."""
    content = len(_content(words))
    return content > 0 and not points_back(
        [word for word in words if word != "there" or content < 2]
    )


def points_back(words: Sequence[str]) -> bool:
    """Whether one of the folded ``words`` points at what was said before."""
    return not _POINTING.isdisjoint(words)


def opens_question(word: str) -> bool:
    """Whether a question may begin with the folded ``word``."""
    return word in _OPENERS


def _after_joining(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in FILLERS and word not in _JOINING]


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS and word not in _OPENERS]
