"""What a text is about: its topics, the words that are worth searching for, and its entities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat

from ...bus.prompts import Entity, Evidence, IntentType
from ...config.languages import ENGLISH, language_of
from ...config.patterns import regex
from ..text.code import CODE_NAME, LOCATION
from .sentences import ORDER_VERBS, Sentence, phrase_at, word_spans
from .words import KINDS, STOP_WORDS, TECHNOLOGIES, fold, word_list, words_of

MAX_TOPICS = 5
MAX_RETRIEVAL_WORDS = 120
_CHOICE_CHARS = 200
_SHORT_CHARS = 100

TRIGGER_WORDS = word_list("trigger_words")
_ACTIONS = word_list("actions")
# What a question says of itself, or of the kind of memory that it wants, and not of its subject.
ASKING_WORDS = word_list("asking_words")
_ASKS = regex(
    rf"\b(?:{'|'.join(sorted(word_list('question_words')))})\b"
    r"|\b(?:is|are|was|were|did|does)\b|\b(?:do|have|can|could|should|may) (?:i|we|you|they)\b"
)
_POINTS = regex(r"\b(?:it|this|that|these|those|them|again)\b|\d", re.IGNORECASE)
_SAYS_LITTLE = word_list("small_talk") | word_list("leads_in") | word_list("housekeeping")
_JUDGES = word_list("small_talk") | word_list("leads_in") | word_list("judgements")
# "Where is it" and "why?" ask for a fact, "is it done?" and "what do you think?" for a judgement.
_ASKS_A_FACT = regex(r"\b(?:where|why|which|who|whose|when|how to|yesterday|what (?:did|do) we)\b")
_TRAILING = frozenset(("set", "read", "run", "go", "work", "works"))
_BEFORE_ACTION = frozenset("to i we you one they can could should would might must not and".split())

Anchor = tuple[Sentence, int]


def extract_topics(read: Sequence[Sentence], evidence: Sequence[Evidence]) -> tuple[str, ...]:
    """At most five subjects of the sentences ``read``, lower-cased, those after a signal first.

    ``evidence`` is what ``detect_search_intent`` found in the same text; without any the whole
    text counts. Empty if nothing is left beside stop words and trigger words.
    """
    anchors = [anchor for one in evidence for anchor in _located(read, one)]
    return topics_of(read, anchors)


def names_a_subject(text: str) -> bool:
    """Whether a prompt asks, or says what it is about. English is told apart.

    "Run it again", "set the timeout to 30" and "thanks for everything" are about what was just
    done: one word is enough only where nothing points at that. So are "is it done?" and "what do
    you think?".
    """
    if len(text) > _SHORT_CHARS or language_of(text) != ENGLISH or CODE_NAME.search(text):
        return True
    if "?" in text or _ASKS.search(fold(text)):
        asks_a_fact = _ASKS_A_FACT.search(fold(text)) is not None
        return asks_a_fact or not _JUDGES.issuperset(map(fold, retrieval_words(text)))
    own = own_words(text)
    named = len(set(own[1:] if own and own[0] in ORDER_VERBS else own))
    return named > (1 if _POINTS.search(text) else 0)


def own_words(text: str) -> list[str]:
    """The words of an English text that say what it is about, without numbers and small talk."""
    return [one for one in words_of(text) if one not in _SAYS_LITTLE and not one[0].isdigit()]


def topics_of(read: Sequence[Sentence], anchors: Sequence[Anchor]) -> tuple[str, ...]:
    """``extract_topics`` for sentences already read; an anchor is where a signal has ended."""
    topics: dict[str, None] = {}
    for sentence, at in _reading_order(read, anchors):
        for topic in _subjects(sentence, at):
            topics.setdefault(topic)
            if len(topics) == MAX_TOPICS:
                return tuple(topics)
    return tuple(topics)


def retrieval_words(text: str) -> tuple[str, ...]:
    """The words of ``text`` worth searching for, as written, in order, each once.

    Question phrases and stop words are left out, and asking words where there are others;
    identifiers stay whole. Pasted lines count too: an error message is the best query there is.
    """
    words: dict[str, str] = {}
    spans = word_spans(text)
    folded = [fold(text[start:end]) for start, end in spans]
    asked = _asked(folded)
    for at, word in enumerate(folded):
        if at in asked or not _is_content(word):
            continue
        start, end = spans[at]
        words.setdefault(word, text[start:end].strip("`"))
        if len(words) == MAX_RETRIEVAL_WORDS:
            break
    subjects = tuple(written for word, written in words.items() if word not in ASKING_WORDS)
    return subjects or tuple(words.values())


def searched_words(text: str) -> frozenset[str]:
    """The same without their order and case."""
    return frozenset(map(str.casefold, retrieval_words(text)))


_KIND = "|".join(sorted(map(re.escape, KINDS), key=len, reverse=True))
_OF_A_KIND = regex(
    r"(?:.*\b(?:which|what|what's|whats) (?:(?:is|are|our|the|kind of|type of|sort of|other) )*"
    rf"|\W*)(?P<kind>{_KIND})s?\b(?=\W*$| (?:do|does|did|should|shall|is|are|was|can|must|may|we|i"
    r"|you|for|on|in|at|of|under|with|here|now|again)\b)(?P<rest>[^?.!\n]*)"
)
_WHEREFORE = regex(r"\b(?:for|on|in|at|under|with) .+")


def as_choice(question: str) -> str:
    """What ``question`` offers a choice of, as the names of it; "" where it asks for no kind.

    "which package manager do we use for the site?" is "npm, pnpm, yarn … or composer for the
    site?": a memory has the name, and not the word for its kind.
    """
    asked = _OF_A_KIND.match(fold(question[:_CHOICE_CHARS]))
    if asked is None:
        return ""
    *names, last = KINDS[asked["kind"]]
    wherefore = _WHEREFORE.search(asked["rest"])
    return " ".join(filter(None, (", ".join(names), "or", last, wherefore and wherefore[0]))) + "?"


def _located(read: Sequence[Sentence], evidence: Evidence) -> Iterator[Anchor]:
    for sentence in read:
        for at, span in enumerate(sentence.spans):
            if span[1] == evidence.end:
                yield sentence, 0 if evidence.intent is IntentType.COMPARISON else at + 1
                return


def _reading_order(read: Sequence[Sentence], anchors: Sequence[Anchor]) -> Iterator[Anchor]:
    """After the first signal, then the sentences that ask, then everything."""
    yield from anchors[:1]
    asking = {id(sentence) for sentence, _ in anchors}
    yield from ((sentence, 0) for sentence in read if id(sentence) in asking)
    yield from ((sentence, 0) for sentence in read if id(sentence) not in asking)


def _subjects(sentence: Sentence, first: int) -> Iterator[str]:
    words = sentence.words
    for at in range(first, len(words)):
        word = words[at]
        if not _is_content(word) or word in TRIGGER_WORDS:
            continue
        if word in _ACTIONS and (at == first or words[at - 1] in _BEFORE_ACTION):
            continue
        if word in _TRAILING and at == len(words) - 1:
            continue
        yield word.strip("`")


def _is_content(word: str) -> bool:
    return word not in STOP_WORDS and (len(word) > 1 or not word.isascii()) and word != "``"


def _asked(words: Sequence[str]) -> frozenset[int]:
    """The positions that belong to a question phrase ("what is the difference between")."""
    asked = {at for at in range(1, len(words)) if words[at] == "moment" and words[at - 1] == "the"}
    at = 0
    while at < len(words):
        if words[at] in _QUESTION_ONLY:
            asked.add(at)
        phrase = phrase_at(words, at)
        length = len(phrase.words) if phrase else 1
        if length > 1:
            asked.update(i for i in range(at, at + length) if words[i] in TRIGGER_WORDS)
        at += length
    return frozenset(asked)


_QUESTION_ONLY = frozenset(
    "explain describe vs versus compare locate whereabouts howto find show recall clarify".split()
)


# --- entities -----------------------------------------------------------------------------------

MAX_ENTITIES = 50
_READ_CHARS = 20_000

_WORD = regex(r"[^\s`'\"“”<>|,;{}]{2,200}")
_TRIM_LEFT = "([*_=!?-"
_TRIM_RIGHT = ".:!?)]*_="
_PATH = regex(r"(?:~|\.{1,2})?/?(?:[\w@.+\[\]-]+/)+[\w@.+\[\]-]*|[A-Za-z]:\\[\w\\. -]+")
_FILE = regex(
    r"[\w.-]*\w\.(?:py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|java|kt|kts|scala|rb|php|c|h|cc|cpp|hpp|cs"
    r"|swift|m|ex|exs|erl|hs|ml|clj|lua|sh|bash|zsh|ps1|sql|html|css|scss|vue|svelte|json|jsonc"
    r"|yaml|yml|toml|ini|cfg|conf|env|lock|md|rst|txt|csv|parquet|proto|graphql|tf|hcl|xml|gradle"
    r"|ipynb|log|duckdb|sqlite)"
    r"|Dockerfile|Makefile|Justfile|Procfile|Gemfile|Rakefile|Jenkinsfile|\.env[\w.]*|\.gitignore"
)
_ERROR = regex(
    r"(?:\w+\.){0,5}[A-Z]\w*(?:Error|Exception|Warning|Fault|Panic)|SIG(?:SEGV|KILL|TERM|ABRT|BUS"
    r"|PIPE|INT|HUP)"
    r"|E(?:NOENT|ACCES|PERM|EXIST|AGAIN|PIPE|CONNREFUSED|CONNRESET|ADDRINUSE|TIMEDOUT|MFILE|NOSPC"
    r"|NOMEM|INVAL"
    r"|BADF|XDEV|HOSTUNREACH)|(?:TS|CS|CVE-\d{4}-|ORA-|E|AADSTS|MSB|LNK|CA|SC|F|W)\d{3,7}|OOMKilled"
    r"|CrashLoopBackOff|ImagePullBackOff"
)
_VERSION = regex(
    r"v\d{1,5}(?:\.\d{1,5}){0,3}(?:[-+.][\w.]{1,20})?"
    r"|\d{1,5}(?:\.\d{1,5}){1,3}(?:[-+][\w.]{1,20})?|\d{1,4}\.x"
)
_SYMBOL = regex(
    r"_{0,2}[A-Za-z]\w*(?:(?:\.|::|#|->)_{0,2}[A-Za-z]\w*){0,6}\(\S{0,80}\)?"
    r"|_{0,2}[a-z]\w*_\w+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+[a-z0-9]*(?:[A-Z][a-z0-9]+)+"
    r"|(?:[A-Z][a-z0-9]+){2,}|[A-Za-z_]\w*(?:::[A-Za-z_]\w*)+"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\.[a-z]+[A-Z_]\w*"
    r"|@[a-z]\w*(?:\.\w+)*"
)
_FEATURES = word_list("features")
# Whatever else has a name has a capital, a digit or a sign in it.
_NAMES = TECHNOLOGIES | _FEATURES


_MOST_MESSAGES = 5
_MESSAGE = regex(
    r"\b(?:[A-Z]\w{0,60}(?:Error|Exception|Panic)|[Ee]rror(?:\[\w{1,12}\])?|ERROR|FATAL|fatal"
    r"|panic(?:ked at)?): {1,4}(\S{1,80} [^\n]{2,200})"
)


def find_entities(text: str) -> tuple[Entity, ...]:
    """What ``text`` names, each once, in order, at most 50; "feature" is a part of a product."""
    found: dict[Entity, None] = {}
    for word in _words(text[:_READ_CHARS]):
        if kind := _entity_kind(word):
            lowered = kind in ("technology", "feature")
            found[Entity(kind=kind, value=word.lower() if lowered else word)] = None
            if len(found) == MAX_ENTITIES:
                break
    # What an error says about itself: the rest of its line.
    for match in islice(_MESSAGE.finditer(text[:_READ_CHARS]), _MOST_MESSAGES):
        found[Entity(kind="message", value=match[1].rstrip())] = None
    return tuple(found)[:MAX_ENTITIES]


def _words(text: str) -> Iterator[str]:
    """The words of ``text`` that may name something."""
    begun = map(str.lstrip, _WORD.findall(text), repeat(_TRIM_LEFT))
    bare = map(str.rstrip, begun, repeat(_TRIM_RIGHT))
    for word in [one for one in bare if not (one.islower() and one.isalpha()) or one in _NAMES]:
        yield f"{word})" if word.endswith("(") else word


def _entity_kind(word: str) -> str | None:
    lowered = word.lower()
    if lowered in TECHNOLOGIES:
        return "technology"
    if lowered in _FEATURES:
        return "feature"
    return next((kind for kind, is_one in _KINDS if is_one(word)), None)


def is_path(word: str) -> bool:
    """Whether ``word`` has the form of a path, with a line number or without."""
    if "://" in word:
        return False
    word = LOCATION.sub("", word)
    if _FILE.fullmatch(word):
        return True
    if "/" not in word and "\\" not in word:
        return False
    # "and/or", "read/write" and "1/2" are no paths.
    named = (
        word.startswith(("/", "./", "../", "~/"))
        or word.count("/") > 1
        or "." in word
        or "_" in word
    )
    return (named or word.endswith("/")) and _PATH.fullmatch(word) is not None


def _is_symbol(word: str) -> bool:
    return len(word) > 3 and _SYMBOL.fullmatch(word) is not None


_KINDS: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("error", _ERROR.fullmatch),
    ("version", _VERSION.fullmatch),
    ("path", is_path),
    ("symbol", _is_symbol),
)
