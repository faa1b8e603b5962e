"""Parses a prompt: the person's own text, its markers, and what it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from ..bus.events import PromptParsed, PromptSubmitted
from ..bus.prompts import Parsed, Signal
from ..bus.values import Noted
from ..config.languages import ENGLISH, language_of
from ..config.patterns import regex
from .actions.error_lines import salient_lines
from .capture.statement_classifier import find_noteworthy
from .enrichment.references import find_references
from .language.paste import Paste, find_paste
from .language.questions import asking_part
from .language.sentences import (
    ORDER_VERBS,
    Sentence,
    follows_up,
    is_order,
    names_subject,
    opening,
    opens_question,
    points_back,
    prompt_sentences,
    stands_alone,
    without_lead_in,
    word_spans,
)
from .language.time_question import dates_of_incident, read_time_question
from .language.topics import as_choice, find_entities, retrieval_words
from .language.words import STOP_WORDS, TECHNOLOGIES
from .language.work_kind import work_signals
from .ports import Spelling
from .text.authorship import READ_CHARS
from .text.markup import is_machine, own_text, read_markers

_MAX_QUERY_CHARS = 2000
# So many of the questions of one prompt are searched for by themselves, which takes a search each.
_MOST_PARTS = 3
_MAX_SINGULAR_CHARS = 200
# What is longer is no short question, in which each word matters.
_MAX_SPELLED_CHARS = 400
_WELL_WRITTEN = TECHNOLOGIES | ORDER_VERBS
# Beside these a word is quoted, or part of a name.
_MARKS = frozenset("'\"`\u2019\u201c\u201d/\\@#$_-=<>{}[]")
_ACRONYMS = regex(r"\b([A-Z]{2,})s\b")
_REPORTS = frozenset("ask asks asked know wonder wonders wondering remember sure see idea".split())
_BEGINS_PART = frozenset("what what's which who who's where where's when why how how's".split())
_JOINING = frozenset(("and", "also"))
# What a sentence names ("the launch price", but not "the demo on", nor, as far as its form tells,
# "the laptop died" and "the build takes 20 minutes"), and the words for it.
_VERB = r"[\w-]*[^\We]ed\b|[\w-]+s (?:\d|(?:the|an?|our|my|too|no|so|it|me|us)\b)"
_NAMED = regex(
    r"\b(?P<first>(?:the|our|my|an?) [\w-]+)"
    rf"(?: (?!(?:{'|'.join(sorted(STOP_WORDS))})\b|{_VERB})[\w-]+)?",
    re.IGNORECASE,
)
_CLAUSE_ENDS = regex(r"\s*[.,;:!?\n]")
_PRONOUNS = frozenset(("it", "they", "them"))
_PRONOUN = regex(rf"\b(?:{'|'.join(sorted(_PRONOUNS))})\b", re.IGNORECASE)
# "Which version was it again" asks for the version.
_WAS_IT = (["was", "it"], ["is", "it"], ["were", "they"], ["are", "they"], ["was", "that"])


def parse(event: PromptSubmitted, *, spelling: Spelling | None = None) -> PromptParsed:
    """The prompt of ``event``, taken apart.

    ``text`` is what the person wrote, without what is private, what is marked, and what was
    injected before. Of an English one the words are corrected that ``spelling`` knows to be
    misspelt. A turn that no person wrote, a slash command and an empty prompt are
    ``machine``: nothing of them is kept or searched for.
    """
    own = own_text(event.text)
    if is_machine(own):
        return PromptParsed(
            trace=event.trace, prompt=event, parsed=Parsed(text=own, query="", machine=True)
        )
    typed, marked, refused, empty = read_markers(own)
    text = _spelled(typed, event, spelling)
    asked = without_lead_in(text).strip()
    words = retrieval_words(asked)
    pasted = find_paste(text)
    question = _question(pasted) if pasted else asking_part(asked)
    said = _spelled(read_markers(own_text(event.before)).rest, event, spelling)
    retrospect = None if pasted else read_time_question(text, before=said, begins=event.begins)
    before, subject, parts = "", tuple[str, ...](), tuple[str, ...]()
    # What says nothing ("hm") cannot tell what is asked.
    if (told := retrieval_words(said)) and follows_up(read := prompt_sentences(asked)):
        if names_subject(read):
            before, subject = said, words
        words = tuple(dict.fromkeys((*words, *told)))
        question = f"{said}\n{asked}"
    elif not pasted and retrospect is None:
        parts = _searched(asked)
    parsed = Parsed(
        text=text,
        typed=typed if text != typed else "",
        query=" ".join(words) or text[:_MAX_QUERY_CHARS] if question else "",
        question=question,
        before=before,
        subject=subject,
        parts=parts,
        pasted=pasted is not None,
        words=words,
        marked=marked,
        refused=refused,
        empty=empty,
        signals=tuple(map(_signal, find_noteworthy(typed[:READ_CHARS]))),
        entities=find_entities(text),
        references=find_references(text),
        work=work_signals(text),
        retrospect=retrospect,
        incident_dates=dates_of_incident(text),
    )
    return PromptParsed(trace=event.trace, prompt=event, parsed=parsed)


def _spelled(text: str, event: PromptSubmitted, spelling: Spelling | None) -> str:
    """``text`` with its misspelt words corrected; not names, and nothing that is quoted."""
    if spelling is None or not text or len(text) > _MAX_SPELLED_CHARS or find_paste(text):
        return text
    if language_of(text) != ENGLISH:
        return text
    spans = [span for span in word_spans(text) if _is_plain(text, *span)]
    words = [text[start:end].lower() for start, end in spans]
    meant = spelling.meant(words, event.place.readable)
    for (start, end), word in zip(reversed(spans), reversed(words), strict=True):
        if other := meant.get(word):
            text = text[:start] + other + text[end:]
    return text


def _is_plain(text: str, start: int, end: int) -> bool:
    """Whether what begins at ``start`` and ends at ``end`` is a word and no name."""
    word = text[start:end]
    small = word if start else word[:1].lower() + word[1:]
    if not (small.isascii() and small.isalpha() and small.islower()):
        return False
    if not _MARKS.isdisjoint((text[start - 1 : start], text[end : end + 1])):
        return False
    return word.lower() not in _WELL_WRITTEN


def _question(paste: Paste) -> str:
    """What a paste asks: the words beside it, and the lines that tell a failure; maybe nothing."""
    lines = salient_lines(paste.pasted, failed=False)
    return "\n".join(filter(None, (paste.own[:_MAX_QUERY_CHARS], *lines)))


def _searched(text: str) -> tuple[str, ...]:
    """What is searched for: the questions of ``text``, or it and those in it, and what means them.

    () where that is ``text`` itself.
    """
    questions = _parts(text) or (text,)
    others = (other for one in questions for other in (as_choice(one), _in_the_singular(one)))
    searched = (*questions, *filter(None, others))[:_MOST_PARTS]
    if len(searched) == 1:
        searched = (text, *_within(text)[1 - _MOST_PARTS :])
    return searched if len(searched) > 1 else ()


def _within(text: str) -> tuple[str, ...]:
    """The questions in a prompt of several sentences, of two words to search for or more.

    One that points back ("how long is it?") names the one thing that was named in its sentence
    before it, or in the sentence before, or comes with that.
    """
    read = prompt_sentences(text)
    if len(read) < 2 or language_of(text) != ENGLISH:
        return ()
    asked = (
        _read_alone(text, one, before, words, span)
        for before, one in zip((read[0], *read), read, strict=False)
        for words, span in _questions_of(one)
    )
    whole = text.strip(" \n?")
    return tuple(
        one for one in asked if one not in text or (one != whole and retrieval_words(one)[1:])
    )


def _read_alone(
    text: str, sentence: Sentence, before: Sentence, words: Sequence[str], span: tuple[int, int]
) -> str:
    """The question with these ``words`` of ``sentence``, so that it can be understood by itself."""
    start, end = span
    if stands_alone(words) or not points_back(words):
        return text[start:end]
    told = (sentence if sentence.spans[0][0] < start else before).spans[0][0]
    named = _named(text, told, start)
    if not named or not stands_alone([word for word in words if word not in _PRONOUNS]):
        return text[told:end]
    return str(_PRONOUN.sub(named, text[start:end], count=1))


def _named(text: str, start: int, end: int) -> str:
    """The one thing that a sentence names between ``start`` and ``end``; "" for none or several.

    With nothing behind it, what a sentence begins with has its verb ("The exporter crashes.").
    """
    found = list(_NAMED.finditer(text, start, end))
    if len({one[0].lower() for one in found}) != 1:
        return ""
    is_clause = found[0].start() == start and _CLAUSE_ENDS.match(text, found[0].end())
    return found[0]["first" if is_clause else 0]


def _questions_of(sentence: Sentence) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """The words of each question that a sentence is or reports, and where it stands."""
    begins = _question_begins(sentence)
    if begins is None:
        return
    words, spans = sentence.words[begins:], sentence.spans[begins:]
    yield from _split(sentence._replace(words=words, spans=spans, opens=frozenset()))


def _question_begins(sentence: Sentence) -> int | None:
    """The index of the first word of the question that a sentence is or reports; None for none."""
    if _asks(sentence):
        return 0
    words = sentence.words
    is_reported = False
    for at, (before, word) in enumerate(pairwise(words), 1):
        is_reported = is_reported or before in _REPORTS
        if word in _BEGINS_PART and (before in _REPORTS or (is_reported and before == "and")):
            return at
    return None


def _in_the_singular(question: str) -> str:
    """``question`` about "ANR" instead of "ANRs"; "" where it has no such word or is long."""
    if len(question) > _MAX_SINGULAR_CHARS:
        return ""
    singular: str = _ACRONYMS.sub(r"\1", question)
    return singular if singular != question else ""


def _parts(text: str) -> tuple[str, ...]:
    """The questions of which ``text`` consists, if there are several and each stands by itself."""
    if language_of(text) != ENGLISH:
        return ()
    read = prompt_sentences(text)
    if not all(map(_asks, read)):
        return ()
    parts = [part for sentence in read for part in _split(sentence)]
    if not 1 < len(parts) <= _MOST_PARTS or not all(stands_alone(words) for words, _ in parts):
        return ()
    return tuple(text[start:end] for _, (start, end) in parts)


def _asks(sentence: Sentence) -> bool:
    if is_order(sentence):
        return False
    first = opening(sentence)
    joined = sentence.words[first : first + 2]
    return sentence.asks or opens_question(joined[0]) or _joins(joined)


def _joins(words: Sequence[str]) -> bool:
    """Whether a question joins on with these two ``words``: "… ? and which version"."""
    return len(words) > 1 and words[0] in _JOINING and words[1] in _BEGINS_PART


def _split(sentence: Sentence) -> Iterator[tuple[list[str], tuple[int, int]]]:
    """The words of each question of ``sentence``, and where it stands: "… and which … is it"."""
    words, spans = sentence.words, sentence.spans
    begins = [
        at for at in range(2, len(words)) if words[at] in _BEGINS_PART and words[at - 1] == "and"
    ]
    first = 1 if _joins(words[:2]) else 0
    for at in (*begins, len(words) + 1):
        last = first + _asked_words(words[first : at - 1])
        yield words[first:last], (spans[first][0], spans[last - 1][1])
        first = at


def _asked_words(words: Sequence[str]) -> int:
    """How many of the ``words`` of a question ask: not "was it again" after what it asks for."""
    asked = len(words) - (words[-1:] == ["again"]) - 2
    named = words[0] in {"which", "what"} and asked > 1
    return asked if named and list(words[asked : asked + 2]) in _WAS_IT else len(words)


def _signal(noted: Noted) -> Signal:
    return Signal(
        kind=noted.kind,
        phrase=noted.text,
        start=noted.start,
        end=noted.end,
        namespace=noted.namespace,
        confidence_percent=noted.confidence_percent,
    )
