"""Words: the one tokenizer of the stages, the stop words and the negations of English.

What is fitted on tokens of its own keeps them: the features of ``stages/capture``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from msgspec import Struct

from ...bus.values import Memory
from ...config.patterns import regex
from ..text.lexicons import load_lexicon

WORD = r"\w+(?:(?:['.@/\\-]|::|:/+)\w+)*[+#]*"
"""A word or a name of several parts ("next.js", "don't", "C++"), in a text that is folded."""

# Of a memory no more is read.
_READ_CHARS = 4_000

_LISTS = load_lexicon(Path(__file__).with_name("words.toml"), dict[str, str])


def word_list(name: str) -> frozenset[str]:
    """The list called ``name`` in ``words.toml``. Raises ``KeyError`` where there is none."""
    return frozenset(_LISTS[name].split())


def word_rows(name: str) -> list[str]:
    """The lines of the list called ``name``. Raises ``KeyError`` where there is none."""
    return _LISTS[name].strip().splitlines()


FILLERS = word_list("fillers")
"""What people begin a sentence with, or put in between, without saying anything."""

STOP_WORDS = FILLERS | word_list("stop_words")

_WORD = regex(WORD)
_CONTRACTED = regex(r"(\w+)n't")
_WITHOUT_APOSTROPHE = frozenset(
    "dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt wouldnt hasnt havent "
    "hadnt mustnt neednt aint".split()
)
_CONTRACTION = regex(rf"n't\b|\b(?:cannot|{'|'.join(sorted(_WITHOUT_APOSTROPHE))})\b")
_BASES = {"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}
NEGATIONS = frozenset(
    "not no never none nothing nobody nowhere neither nor without cannot instead".split()
)
"""Words that turn a statement into its opposite, beside contractions ("don't", "wasn't")."""

FAULTS = (
    r"red|fail\w*|brok\w+|breaks?|error\w*|crash\w*|bugs?|wrong|flaky|stuck|hangs?"
    r"|(?:doesn|don|didn|isn|won)['\u2019]?t (?:work|build|start|compile|run|pass)"
)
"""The words for what does not work, as alternatives."""

FROM_NOW_ON = r"(?:from (?:now|here|today) on|going forward|henceforth)"
"""How people say that something holds from then on. Of patterns that ignore case."""

HESITATES = r"(?:oh|ah|argh|hm+|no|nope|nah|wait|hold on|hang on|sorry|actually|oops|ups)\b"
"""What people begin with who think better of what they said."""

TAKES_BACK = (
    r"(?:(?:scrap|scratch|strike|(?<!n't )(?<!not )(?<!never )forget) (?:that|this|it)"
    r"|(?:ignore|disregard) (?:that|this)|on second thoughts?|never ?mind|nvm|jk|just kidding"
    r"|(?:scrap|scratch|forget|ignore|disregard) what i(?: just)? said"
    r"|(?:i )?t(?:ake|ook) (?:that|it|this) back"
    r"|(?:i|we)(?:['\u2019]ve| have)? changed (?:my|our) minds?)\b"
)
"""What they say who want what they said no more. Of patterns that ignore case."""


def fold(text: str) -> str:
    """Lower case, straight apostrophes; the same length, so that positions stay true.

    The dotted capital I is the one character whose lower case is longer than itself.
    """
    return text.replace("\u0130", "i").lower().replace("\u2019", "'")


def is_negation(word: str) -> bool:
    """Whether the folded ``word`` denies: "not", "never", "cannot", "don't", "wasn't", "dont"."""
    return word in NEGATIONS or word in _WITHOUT_APOSTROPHE or word.endswith("n't")


def words(text: str) -> Iterator[str]:
    """The words of ``text``, folded, in order."""
    return (match[0] for match in _WORD.finditer(fold(text)))


def spelled_words(text: str) -> list[str]:
    """The words of ``text``, folded, in order, contractions spelled out."""
    folded = fold(text)
    found: list[str] = _WORD.findall(folded)
    if _CONTRACTION.search(folded) is None:
        return found
    return [part for word in found for part in spelled_out(word)]


def spelled_out(word: str) -> tuple[str, ...]:
    """A folded ``word`` without contraction: "can't", "cant" and "cannot" are "can", "not"."""
    if word in _WITHOUT_APOSTROPHE:
        word = f"{word[:-2]}n't"
    if word == "cannot":
        return ("can", "not")
    contracted = _CONTRACTED.fullmatch(word)
    if contracted is None:
        return (word,)
    return (_BASES.get(contracted[1], contracted[1]), "not")


# --- fields of work and technologies --------------------------------------------------------------


DOMAINS_FILE = Path(__file__).with_name("domains.toml")


class Domains(Struct, frozen=True, forbid_unknown_fields=True):
    """The file: technologies by name, other spellings of them, the words of each field, and kinds.

    A key of ``kinds`` has all names of a kind, with commas between them.
    """

    technologies: frozenset[str]
    spellings: dict[str, str]
    fields: dict[str, tuple[str, ...]]
    kinds: dict[str, tuple[str, ...]]


_LEXICON = load_lexicon(DOMAINS_FILE, Domains)
TECHNOLOGIES = _LEXICON.technologies
KINDS = {kind: names for kinds, names in _LEXICON.kinds.items() for kind in kinds.split(", ")}
"""The names of what is of a kind: of "package manager" npm, pnpm, …"""

_DOMAIN_OF: dict[str, tuple[str, ...]] = {}
for _name, _listed in _LEXICON.fields.items():
    for _word in _listed:
        _DOMAIN_OF[_word] = (*_DOMAIN_OF.get(_word, ()), _name)

_VERSION = regex(r"[@v]\d[\w.]{0,20}$|\s.*", re.DOTALL)
_PLURAL = regex(r"(?<=[a-z]{3}[^sijou])s$")
_NO_PLURALS = frozenset(
    "postgres kubernetes rails pandas keras windows jenkins transformers https always".split()
)
_MARKS = regex(r"[\s._-]+")


def domains_of(names: Iterable[str]) -> tuple[str, ...]:
    """The fields that lower-case ``names`` belong to, each once, those named most often first."""
    known = map(_DOMAIN_OF.__getitem__, filter(_DOMAIN_OF.__contains__, names))
    return tuple(domain for domain, _ in Counter(chain.from_iterable(known)).most_common())


def technology(name: str) -> str:
    """One spelling for a technology: "Next.js 14" and "nextjs" are both ``nextjs``."""
    plain = _MARKS.sub("", _VERSION.sub("", name.strip().lower()))
    return _LEXICON.spellings.get(plain, plain)


def words_of(text: str) -> list[str]:
    """The words of ``text`` that say something, lower-cased, plurals as singulars, in order."""
    said = (word for word in words(text) if word not in STOP_WORDS and len(word) > 1)
    return [word if word in _NO_PLURALS else _PLURAL.sub("", word) for word in said]


def shares_term(memory: Memory, words: Iterable[str]) -> bool:
    """Whether ``memory`` has one of the folded ``words``, or a form of it.

    In a small store, nothing else may be as close in meaning, which then says little.
    """
    text = f"{memory.content[:_READ_CHARS]} {' '.join(memory.tags)}".casefold()
    return any(_beginning(word) in text for word in words)


def _beginning(word: str) -> str:
    return word[: max(4, len(word) - 3)] if len(word) > 4 else word
