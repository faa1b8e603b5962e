"""The topics of a memory: its namespace, its tags, and the words and phrases that carry it.

A topic has one key for all its spellings: "Database migrations", "database-migration" and
"database_migrations" are ``database-migration``. Words are weighed by what can be seen of them
alone, since a topic must be known in microseconds and before anything like it was stored. Of all
the topics of a scope those are listed that divide its memories best, 60 at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import log, log2

import numpy as np
import numpy.typing as npt

from ...bus.values import NAMESPACES, Memory
from ...config.languages import ENGLISH, language_of, number_words, words_of
from ...config.languages import fold as without_accents
from ...config.patterns import regex
from ..models.analyzer import DULL_WORDS

MAX_KEYWORDS = 6
MAX_PHRASES = 2
MAX_TAGS = 12
MAX_KEY_CHARS = 60

_READ_CHARS = 2000
_REMEMBERED_WORDS = 20_000
_REMEMBERED_CHARS = 30

# A name may hold these marks; what else is between words ends a phrase, and so does a full stop.
_TOKEN = regex(r"[\w.'’#+-]+|[^\w ]+")
_EDGES = "-_.'’"
_SEPARATORS = regex(r"[-_\s/:,;]+")
_HASH = regex(r"[0-9a-f]{7,}\Z")
_LETTERS = regex(r"[^\W\d_]{2}")
_INNER_CAPITAL = regex(r"[^\W\d_][A-Z]|[A-Z]{2}")

_KEPT_AS_IS_WORDS = """
    alias always analysis atlas aws basis bus canvas chaos cosmos css dns gas https ios jenkins js
    kubernetes lens macos news os pandas postgres process progress rails redis series status sudoers
    thus tls vs windows
"""
_KEPT_AS_IS = frozenset(_KEPT_AS_IS_WORDS.split())
_IRREGULAR = {
    "analyses": "analysis",
    "apis": "api",
    "children": "child",
    "dbs": "db",
    "ids": "id",
    "indices": "index",
    "matrices": "matrix",
    "prs": "pr",
    "schemata": "schema",
    "uis": "ui",
    "vertices": "vertex",
    "vms": "vm",
}
_WORD_OF_TWO = frozenset(
    ["ai", "ci", "cd", "db", "go", "js", "ml", "os", "pr", "qa", "ts", "ui", "ux", "vm"]
)
_UNLIKELY_ENDS = ("ing", "ed", "ly")
_NOT_ADVERBS = frozenset(["anomaly", "assembly", "family", "monopoly", "reply", "supply"])


# What subcog itself writes on a memory: how it was kept, and what became of a task or blocker.
_OWN_LABEL_WORDS = """
    auto-captured choice closed completed done failed failure finished fixed outcome partial
    pre-compact rationale resolution resolved session-end solved sub-agent subagent-stop subcog
    success notification posttooluse posttoolusefailure precompact pretooluse sessionend
    sessionstart stop subagentstop userpromptsubmit
"""
_OWN_LABELS = frozenset(_OWN_LABEL_WORDS.split())
_OWN_PREFIXES = ("resolves-",)


def is_own_label(tag: str) -> bool:
    """Whether ``tag`` is one that subcog itself writes, which says nothing of the subject."""
    name = tag.casefold()
    return name in _OWN_LABELS or name.startswith(_OWN_PREFIXES)


def is_dull(word: str) -> bool:
    """Whether ``word``, in lower case, has no subject of its own."""
    return word in DULL_WORDS


def lemma(word: str) -> str:
    """``word``, lower-case, in the singular: by rule, with the exceptions that software has."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or word[-1] != "s" or word in _KEPT_AS_IS or "." in word:
        return word
    if word.endswith(("ss", "us", "is", "js")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "xes", "tches")):
        return word[:-2]
    return word[:-1]


# The parts of names, and namespaces and tags, come again and again.
_known_lemma = lru_cache(maxsize=8_192)(lemma)


def topic_key(name: str) -> str:
    """The key of ``name``, in whatever case, number or spelling; "" for none."""
    parts = _SEPARATORS.split(name.casefold().strip("#@.\"' \t\n"))
    return "-".join([_known_lemma(part) for part in parts if part])[:MAX_KEY_CHARS]


def _compound_key(word: str) -> str:
    """The key of a word that is in lower case and has no mark at either end."""
    parts = word.split("_") if word.isidentifier() else _SEPARATORS.split(word)
    return "-".join([_known_lemma(part) for part in parts if part])[:MAX_KEY_CHARS]


_known_key = lru_cache(maxsize=4_096)(topic_key)
_NAMESPACE_KEYS = {topic_key(name): name for name in NAMESPACES}


def is_namespace_key(key: str) -> bool:
    """Whether ``key`` is that of a namespace."""
    return key in _NAMESPACE_KEYS


def display_name(key: str) -> str:
    """What a topic is called: a namespace by its own name, everything else by its key."""
    return _NAMESPACE_KEYS.get(key, key)


_Weighed = tuple[str, float]
_NOTHING: _Weighed = ("", 0.0)


class Keyphrases:
    """Finds topics. Remembers what it has weighed, up to a bound."""

    def __init__(self) -> None:
        # By what stands between two blanks: mostly one word, with the marks around it.
        self._known: dict[str, tuple[_Weighed, ...]] = {}
        # By key: a name that ends in "s", as it was written.
        self._written: dict[str, str] = {}

    def display(self, key: str) -> str:
        """What a topic that is no tag is called: as its names were written, or by its key."""
        named = [self._written.get(part, part) for part in key.split("-")]
        return "-".join(named)

    def topics(self, memory: Memory) -> dict[str, str]:
        """The keys of ``memory``: namespace, then tags, then words and phrases by weight.

        With each tag's key comes the tag as it was written, with the others "". Labels that subcog
        itself wrote are left out.
        """
        keys = {_known_key(memory.namespace): ""}
        for tag in memory.tags[:MAX_TAGS]:
            if (key := _known_key(tag)) and key not in keys and not is_own_label(tag):
                keys[key] = tag
        for word in self.words(memory.content):
            keys.setdefault(word, "")
        return keys

    def words(self, text: str) -> list[str]:
        """What the first 2,000 characters of ``text`` are about: single words, then phrases.

        The weightiest words first, then pairs of these that stand side by side.
        """
        known = self._known.get
        read: list[_Weighed] = []
        for piece in text[:_READ_CHARS].replace(". ", " . ").split(" "):
            read += known(piece) or self._weigh(piece)
        weights: dict[str, float] = {}
        dull = _dull_in(language_of(text))
        for key, weight in read:
            if weight and not (dull and without_accents(key) in dull):
                # The first mention says most; each further one a third of that.
                weights[key] = weights[key] + weight / 3 if key in weights else weight
        best = sorted(weights, key=weights.__getitem__, reverse=True)[:MAX_KEYWORDS]
        self._note_names(best, text, nouns=bool(dull))
        return best + _phrases(read, frozenset(best))

    def _weigh(self, piece: str) -> tuple[_Weighed, ...]:
        weighed = tuple([_weigh(token.strip(_EDGES)) for token in _TOKEN.findall(piece)])
        if len(piece) <= _REMEMBERED_CHARS:
            if len(self._known) >= _REMEMBERED_WORDS:
                self._known.clear()
            self._known[piece] = weighed
        return weighed

    def _note_names(self, keys: Sequence[str], text: str, *, nouns: bool) -> None:
        """Note which of ``keys`` are names in ``text`` whose "s" is no plural's.

        They have capitals, and do not begin a sentence, unless ``nouns`` tells that it makes none.
        """
        for key in keys:
            if not key.isalpha() or len(self._written) >= _REMEMBERED_WORDS:
                continue
            name = f"{key.capitalize()}s"
            at = text.find(name)
            inside = at > 1 and text[at - 1] == " " and text[at - 2] not in ".!?:"
            if f"{key.upper()}S" in text or inside or (nouns and at >= 0):
                self._written[key] = f"{key}s"


@lru_cache(maxsize=16)
def _dull_in(language: str) -> frozenset[str]:
    """The keys of the words of ``language``, without accents, that are no topic of a text in it."""
    if language == ENGLISH:
        return frozenset()
    dull = words_of(language) | number_words()
    return dull.union(map(lemma, dull))


def _phrases(read: list[_Weighed], best: frozenset[str]) -> list[str]:
    """The first pairs of ``best`` words that follow each other in ``read``."""
    pairs: list[str] = []
    before = ""
    for key, _ in read:
        if key not in best:
            before = ""
            continue
        if before and before != key and (pair := f"{before}-{key}") not in pairs:
            pairs.append(pair)
            if len(pairs) == MAX_PHRASES:
                break
        before = key
    return pairs


def _weigh(token: str) -> _Weighed:
    """The key of a word, and how likely it is a subject, from its looks: 0 is never."""
    if not token[:1].isalnum():
        return _NOTHING
    word = token.casefold().replace("’", "'")
    if "'" in word:
        word = word.partition("'")[0]
    if word in DULL_WORDS:
        return _NOTHING
    key = lemma(word) if word.isalpha() else _compound_key(word)
    if key in DULL_WORDS or key in _NAMESPACE_KEYS or is_own_label(key):
        return key, 0.0
    return key, _weight(token, word)


def key_weight(key: str) -> float:
    """How likely ``key`` is a subject, from its looks: 0 is never. Its case is not known."""
    parts = key.split("-")
    if len(parts) == 1:
        return _weight(key, key)
    return min([_weight(part, part) or 1.0 for part in parts])


def _weight(token: str, word: str) -> float:
    if len(word) < 3:
        return 1.0 if word in _WORD_OF_TWO else 0.0
    if len(word) > MAX_KEY_CHARS:
        return 0.0
    if not word.isalpha():
        return 2.0 if _LETTERS.search(word) and not _HASH.match(word) else 0.0
    if _INNER_CAPITAL.search(token):
        return 2.0
    if word.endswith(_UNLIKELY_ENDS):
        adverb = word.endswith("ly") and word not in _NOT_ADVERBS
        return 0.0 if adverb else 0.6
    return 1.4 if token[0].isupper() or len(word) > 7 else 1.0


MAX_LISTED = 60
"""Namespaces and tags count among these."""

# In fewer memories than this nothing can be said of how often a word ought to occur.
_FEW = 10
_MIN_MEMORIES = 2
_MAX_SHARE = 0.4
# So many words, those with the highest df·idf, are looked at one by one.
_CONSIDERED = 500

Counts = npt.NDArray[np.uint32]


def choose_topics(
    keys: Sequence[str], frequency: Counts, named: npt.NDArray[np.bool_], total: int
) -> list[int]:
    """The numbers of the topics to list, at most ``MAX_LISTED``.

    ``frequency`` holds for each of ``keys`` in how many of the ``total`` memories it is, and
    ``named`` whether it is a namespace or a tag that somebody wrote: these come first, the most
    frequent before the others. Words and phrases fill what is left, if they are in 2 memories or
    more and in 40 % at most (in any number while there are fewer than 10 memories), by

        score(t) = weight(t) · log2(1 + words(t)) · df'(t) · ln(N / df(t))

    The last two factors are tf·idf over the collection (Spärck Jones, "A statistical interpretation
    of term specificity", 1972), highest at N / e memories. The two before are those of the C-value
    (Frantzi, Ananiadou and Mima, "Automatic recognition of multi-word terms", 2000): df'(t) is in
    how many memories a word is outside of the most frequent phrase that it is part of, so that a
    phrase takes the place of words that come with it alone. ``weight`` is what a word's looks
    say.
    """
    there = np.flatnonzero(frequency)
    tags = there[named[there]]
    by_frequency = tags[np.argsort(-frequency[tags].astype(np.int64), kind="stable")]
    chosen: list[int] = by_frequency[:MAX_LISTED].tolist()
    words = there[~named[there]]
    if total >= _FEW:
        counts = frequency[words]
        words = words[(counts >= _MIN_MEMORIES) & (counts <= _MAX_SHARE * total)]
    scores = _scores(_most_frequent(words, frequency, total), keys, frequency, total)
    best = sorted(scores, key=lambda number: (-scores[number], keys[number]))
    return chosen + best[: MAX_LISTED - len(chosen)]


def _most_frequent(words: npt.NDArray[np.intp], frequency: Counts, total: int) -> list[int]:
    counts = frequency[words]
    value = counts * np.log((total + 1) / np.maximum(counts, 1))
    most: list[int] = words[np.argsort(-value, kind="stable")[:_CONSIDERED]].tolist()
    return most


def _scores(
    words: Sequence[int], keys: Sequence[str], frequency: Counts, total: int
) -> dict[int, float]:
    """The score of each word that says something outside of its phrases."""
    df = {number: int(frequency[number]) for number in words}
    in_phrase: dict[str, int] = {}
    for number in words:
        parts = keys[number].split("-")
        for part in parts if len(parts) > 1 and total >= _FEW else ():
            in_phrase[part] = max(in_phrase.get(part, 0), df[number])
    least = _MIN_MEMORIES if total >= _FEW else 1
    scores = {}
    for number in words:
        key = keys[number]
        outside = df[number] - in_phrase.get(key, 0)
        if outside >= least and (weight := key_weight(key)):
            length = log2(2 + key.count("-"))
            # One more than there are: a word in every memory of a few still says something.
            scores[number] = weight * length * outside * log((total + 1) / df[number])
    return scores
