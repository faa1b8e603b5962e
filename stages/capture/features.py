"""The classifier of statements: what it sees of them, and how it weighs that.

It sees words, cues and place, and nothing else. The phrases that speak for or against a statement
being worth keeping stand in ``capture_lexicon.toml`` by their cues; the weights of the linear model
stand in ``signals.json``, written by ``perf/train_captures.py``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from ...config.linear_model import LinearModel, logistic
from ...config.patterns import regex
from ..language.sentences import ORDER_VERBS
from ..language.words import FILLERS, is_negation
from ..text.lexicons import load_lexicon
from .statements import UNSPACED, Statement

LEXICON = Path(__file__).with_name("capture_lexicon.toml")


def read_cues(file: Path) -> dict[str, tuple[str, ...]]:
    """Each phrase of ``file`` with the cues that it gives. Raises ``BadLexicon``."""
    cues: dict[str, dict[str, None]] = {}
    for cue, phrases in load_lexicon(file, dict[str, tuple[str, ...]]).items():
        for phrase in phrases:
            cues.setdefault(phrase, {})[cue] = None
    return {phrase: tuple(named) for phrase, named in cues.items()}


CUES_OF = read_cues(LEXICON)


def _words(phrase: str) -> list[str]:
    return phrase.removeprefix("^ ").split(" ")


SHORT_PHRASES = frozenset(phrase for phrase in CUES_OF if len(_words(phrase)) <= 2)
"""The phrases of one or two words, with and without ``^``."""
LONG_FROM = frozenset(_words(phrase)[0] for phrase in CUES_OF if phrase not in SHORT_PHRASES)
"""The words that longer phrases begin with."""


MAX_TOKENS = 120

_TOKEN = regex(
    r"`[^`\n]{1,200}`"
    r'|(?:"[^"\n]{1,300}"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|« ?[^»\n]{1,300}»)'
    r"|https?://\S{1,300}"
    r"|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|\w+(?:(?:['’.:@/\\-]|::)\w+)*"
    r"|[:;,?!()→—–%=…|？！，。、：；]"
)
_QUOTED_WORDS = 3
_NUMBER = regex(r"[\d.,:/-]*\d\w{0,3}$")
_CODE = regex(r"_|[a-z][A-Z]|\w[./:\\@]\w|[a-z]\d|\d[a-z]")
_ASKING = frozenset(
    "what why how where when who which should shall could would can do does did is are was were has"
    " have soll sollen kannst was wie warum peux pourquoi pode puedes quieres".split()
)
_BOUNDS = (3, 6, 9, 13, 18, 25, 35, 50)
_WORD_SCALE = 3.0
_LEAD_CHARS = 80

_SUBJECTS = {
    **dict.fromkeys(("we", "we're", "we've", "we'll", "our", "us", "wir", "nous"), "we"),
    **dict.fromkeys(("i", "i'm", "i've", "i'd", "i'll", "my", "me", "ich", "je", "j'ai"), "i"),
    **dict.fromkeys(("you", "you're", "your", "du", "tu", "vous"), "you"),
    **dict.fromkeys(("they", "their", "them", "he", "she", "his", "her"), "they"),
}
_PERSONS = frozenset(_SUBJECTS)
_FOREIGN_NEGATIONS = frozenset("kein keine nicht nie pas jamais nunca não 不 没".split())
_ARTICLES = frozenset("the a an this that these those der die das le la les el los 这".split())
_FUTURE = frozenset("will won't gets going shall wird werden".split())
_PRESENT = frozenset("is are isn't aren't has have".split())


class Seen(NamedTuple):
    """Words, their runs of one and two, and the names of the cues that they give."""

    tokens: tuple[str, ...]
    grams: set[str]
    cues: set[str]


class Features(NamedTuple):
    """What the classifier sees of a statement.

    Each of ``grams`` counts ``scale``, so that the words of a short and of a long statement weigh
    the same; each of ``marks`` (cues, shape, place, who speaks) counts 1.
    """

    grams: set[str]
    scale: float
    marks: set[str]


def look(text: str) -> Seen:
    """Read the words of a statement or a heading and look their runs up in the table of phrases."""
    tokens = _tokens(text)
    grams = {*tokens, *map(" ".join, pairwise(tokens))}
    grams.update(("^ " + " ".join(tokens[:1]), "^ " + " ".join(tokens[:2])))
    return Seen(tokens, grams, set(_cues(tokens, grams)))


def every_feature(statements: Sequence[Statement], *, role: str) -> list[Features]:
    """What the classifier sees of each of ``statements``, in order."""
    leads = {one.lead: look(one.lead[-_LEAD_CHARS:]) for one in statements if one.lead}
    size = "alone" if len(statements) == 1 else f"of {min(len(statements), 8) // 2}"
    made = []
    for at, one in enumerate(statements):
        seen = look(one.text)
        marks = {role, size, *seen.cues, *(f"{role} {cue}" for cue in seen.cues)}
        marks.update(_shape(one, seen.tokens), _grammar(seen.tokens, role))
        if at == 0:
            marks.add("first")
        if one.lead:
            marks.update(_under(leads[one.lead]))
        made.append(Features(seen.grams, _WORD_SCALE / len(seen.grams) ** 0.5, marks))
    return made


def _under(lead: Seen) -> Iterator[str]:
    yield "led"
    yield from (f"lead {word}" for word in lead.tokens)
    yield from (f"under {cue}" for cue in lead.cues)


def _tokens(text: str) -> tuple[str, ...]:
    read: list[str] = []
    for token in islice(_TOKEN.finditer(text), MAX_TOKENS):
        word = token[0]
        if word.islower() and word.isalpha() and word.isascii():
            read.append(word)
        else:
            read.extend(_read(word))
    return tuple(read)


def _read(token: str) -> Iterator[str]:
    first = token[0]
    if first == "`" and len(token) > 1:
        yield "<c>"
    elif first in '"“„«':
        inside = token[1:-1].split()
        if len(inside) >= _QUOTED_WORDS:
            yield "<q>"
        else:
            for word in inside:
                yield from _read(word)
    elif _NUMBER.match(token):
        yield "<n>"
    elif token.startswith("http") or _CODE.search(token):
        yield "<c>"
    else:
        yield token.lower().replace("’", "'")


def _cues(tokens: Sequence[str], grams: set[str]) -> Iterator[str]:
    for run in grams & SHORT_PHRASES:
        yield from CUES_OF[run]
    for at, token in enumerate(tokens):
        if token in LONG_FROM:
            for length in (3, 4):
                run = " ".join(tokens[at : at + length])
                yield from CUES_OF.get(run, ())
                if at == 0:
                    yield from CUES_OF.get("^ " + run, ())


def _grammar(tokens: Sequence[str], role: str) -> Iterator[str]:
    """Who does what: the persons spoken of, and how the statement begins."""
    distinct = set(tokens)
    spaced = " ".join(tokens) + " "
    persons = distinct & _PERSONS
    for token in persons:
        yield f"person {_SUBJECTS[token]}"
    if not persons:
        yield "no person"
    if distinct & _FOREIGN_NEGATIONS or any(map(is_negation, distinct)):
        yield "negated"
    if distinct & _FUTURE:
        yield "future"
    if distinct & _PRESENT:
        yield "be"
    if "ed " in spaced:
        yield "past"
    yield from _opening(tokens, role)


def _opening(tokens: Sequence[str], role: str) -> Iterator[str]:
    if tokens and tokens[0] == "<c>":
        yield "begins code"
    words = (token for token in tokens if token not in FILLERS and token[0].isalpha())
    first = next(words, "")
    if first in ORDER_VERBS:
        yield f"{role} orders first"
    elif first in _SUBJECTS:
        yield f"begins {_SUBJECTS[first]}"
    elif first in _ARTICLES:
        yield "begins article"
    elif first.endswith("ed"):
        yield "begins past"
    elif first.endswith("ing"):
        yield "begins going"


def _shape(statement: Statement, tokens: Sequence[str]) -> Iterator[str]:
    yield f"words {bisect_left(_BOUNDS, len(tokens))}"
    for mark, name in (("<c>", "code"), ("<n>", "numbers"), ("<q>", "quotes")):
        count = tokens.count(mark)
        if count:
            yield name if count == 1 else f"{name}s"
    if tokens and (tokens[-1] in "?？" or tokens[0] in _ASKING):
        yield "asks"
    if statement.text.endswith((":", "：")):
        yield "leads"
    if statement.is_item:
        yield "item"
    if not statement.text.isascii() and UNSPACED.search(statement.text):
        yield "unspaced"
    if statement.text[:1].isupper():
        yield "capital"
    for mark in (":", ";", "("):
        if mark in tokens[:-1]:
            yield mark


# --- the linear model ---------------------------------------------------------------------------

WEIGHTS = Path(__file__).with_name("signals.json")

MATTERS: tuple[tuple[str, str], ...] = (
    ("decision", "decisions"),
    ("learning", "learnings"),
    ("learning", "gotchas"),
    ("learning", "tech-debt"),
    ("learning", "context"),
    ("blocker", "blockers"),
    ("resolution", "blockers"),
    ("preference", "preferences"),
    ("progress", "progress"),
    ("progress", "tasks"),
    ("pattern", "patterns"),
)
"""Each kind with the namespace that it belongs to."""

MARK = "#"
"""Before the name of a mark, since a word may be spelled like one."""

OUTPUTS = ("worth keeping", *(f"{kind}: {namespace}" for kind, namespace in MATTERS))


class SignalModel:
    """Weighs statements. Never changes after it was made."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    def score(self, seen: Features) -> float:
        """The log-odds of being worth keeping, before they are calibrated."""
        model = self._model
        total = model.total(seen.grams) * seen.scale + model.total(_marks(seen))
        return (model.bias[0] + total) / model.divisor

    def worth(self, seen: Features) -> float:
        """The probability of being worth keeping."""
        return logistic(self._model.slope * self.score(seen) + self._model.shift)

    def matter(self, seen: Features) -> tuple[str, str]:
        """The kind and the namespace of a statement, were it worth keeping."""
        model = self._model
        columns = zip(model.bias, model.totals(seen.grams), model.totals(_marks(seen)), strict=True)
        totals = [bias + words * seen.scale + marks for bias, words, marks in columns][1:]
        return MATTERS[totals.index(max(totals))]


def _marks(seen: Features) -> set[str]:
    return {MARK + mark for mark in seen.marks}


@cache
def load(path: Path = WEIGHTS) -> SignalModel:
    """The model with the weights of ``path``, read once.

    Raises ``OSError`` if there is no such file and ``ValueError`` if it holds no such weights.
    """
    return SignalModel(LinearModel.load(path, outputs=OUTPUTS))
