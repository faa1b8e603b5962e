"""Matches guides with a prompt: similar tasks, patterns, gotchas, and what bears on an order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from ...bus.enrichment import (
    ApplicablePattern,
    Gotcha,
    Guide,
    ResolvedReference,
    SimilarTask,
    Traits,
)
from ...bus.prompts import Parsed, ProjectFacts, WorkKind
from ...config.linear_model import LinearModel
from ...config.patterns import regex
from ..language.sentences import HANDLING_VERBS
from ..language.words import TECHNOLOGIES, domains_of, technology, words_of
from ..language.work_kind import primary

# How similar a prompt's order and an earlier task are: a logistic model on features that mean the
# same in every store. ``perf/fit_likeness.py`` fits its weights and prints how well they do.
FEATURES = ("cosine", "words", "field", "subject", "work")
WEIGHTS = Path(__file__).with_name("task_similarity.json")
WORDS_WEIGHTS = Path(__file__).with_name("task_similarity_words.json")
"""For where there are no vectors: then only words and fields count."""

# What an order does to its subject says little about the subject.
_DOES = frozenset("add implement fix build make write create let user".split())
_HEAD_END = regex(
    r"\b(?:for|to|in|on|of|from|with|by|at|when|after|between|behind|into|that|so|and|about)\b"
)
_TASK_CHARS = 300
MOST_BEARING = 3
"""So many memories at most come with an order."""

COVERED = 0.5
"""The share of an order's content words that a guide has to name as what it is about."""

FEW_WORDS = 3
"""An order of so few content words is about a technology that it names first.

"Add a healthcheck for postgres" is about the check."""

RELEVANCE = 0.4
"""How likely what comes has to be known before the work, by the measurement above."""

_SURE = 0.6


def traits(text: str, work: WorkKind | None) -> Traits:
    """What ``text``, which asks for ``work``, is compared by."""
    text = text[:_TASK_CHARS]
    words = words_of(text)
    head = _HEAD_END.split(text.lower(), maxsplit=1)[0]
    return Traits(
        words=frozenset(words) - _DOES,
        fields=frozenset(domains_of(words)),
        subject=frozenset(domains_of(words_of(head))),
        work=work,
    )


def features(one: Traits, other: Traits, cosine: float) -> tuple[float, ...]:
    """``FEATURES`` of a pair; ``cosine`` is that of the vectors of their texts."""
    fewer = max(1, min(len(one.words), len(other.words)))
    return (
        max(0.0, cosine),
        len(one.words & other.words) / fewer,
        float(not one.fields.isdisjoint(other.fields)),
        float(not one.subject.isdisjoint(other.subject)),
        float(one.work is not None and one.work is other.work),
    )


def task_similarity(one: Traits, other: Traits, cosine: float | None) -> float:
    """The probability that ``one`` and ``other`` are alike; ``cosine`` None means unknown."""
    model = load(WORDS_WEIGHTS if cosine is None else WEIGHTS)
    return model.probability(features(one, other, cosine or 0.0))


@cache
def load(path: Path) -> LinearModel:
    """The weights of ``path``, read once."""
    return LinearModel.load(path, features=FEATURES)


# --- matching -------------------------------------------------------------------------------------


MIN_SIMILARITY = 0.7
MIN_MATCH = 0.5
MOST = 5

_READ_CHARS = 2000
_COMPARED_CHARS = 300
_MOST_KEYS = 40
# A pattern's own word named as an entity of the prompt, as another of its words, or by its field.
_NAMED, _WRITTEN, _SAME_FIELD = 0.9, 0.8, 0.5

Cosines = Mapping[str, float | None]
"""How near the title of each guide is to the prompt, by its id; None where nothing can tell."""

Tidy = Callable[[str], str]


class Subject:
    """What a prompt is about, in the parts that guides are compared with."""

    def __init__(self, parsed: Parsed, project: ProjectFacts) -> None:
        text = parsed.text[:_READ_CHARS]
        self.text = text[:_COMPARED_CHARS]
        self.traits = traits(text, primary(parsed.work))
        self.words = words_of(text)
        self.written = frozenset(self.words)
        self.content_words = frozenset(words_of(" ".join(parsed.words))) - _DOES
        self.named = frozenset(entity.value.lower() for entity in parsed.entities)
        self.domains = domains_of(self.words)
        used = (word for entry in project.stack for word in (entry, *entry.split()))
        self.stack = frozenset(
            technology(one)
            for one in used
            if one.lower() in TECHNOLOGIES or technology(one) in TECHNOLOGIES
        )
        self.technologies = frozenset(
            technology(one.value) for one in parsed.entities if one.kind == "technology"
        )
        head = _HEAD_END.split(self.text.lower(), maxsplit=1)[0]
        self.headed = self.technologies.intersection(map(technology, words_of(head)))

    def keys(self) -> Mapping[str, Sequence[str]]:
        """What to look the guides of each namespace up by."""
        own = [f"domain:{one}" for one in self.domains]
        own += [f"technology:{one}" for one in sorted(self.technologies)]
        own += self.words[:_MOST_KEYS]
        stack = [f"technology:{one}" for one in sorted(self.stack)]
        return {"tasks": own, "patterns": own, "gotchas": [*own, *stack]}


def similar_tasks(
    subject: Subject, guides: Iterable[Guide], cosines: Cosines, tidy: Tidy
) -> tuple[SimilarTask, ...]:
    """The tasks at least 0.7 like what is asked, the most alike first, at most 5."""
    tasks = [guide for guide in guides if guide.namespace == "tasks"]
    alike = [
        (task_similarity(subject.traits, task.traits, cosines.get(task.memory_id)), task)
        for task in tasks
    ]
    worthy = [one for one in alike if one[0] > MIN_SIMILARITY]
    worthy.sort(key=lambda one: -one[0])
    return tuple(_similar(task, similarity, tidy) for similarity, task in worthy[:MOST])


def _similar(task: Guide, similarity: float, tidy: Tidy) -> SimilarTask:
    return SimilarTask(
        id=task.memory_id,
        input=tidy(task.title),
        similarity=round(similarity, 2),
        outcome=task.outcome,
        approach=tuple(map(tidy, task.approach)),
        files=tuple(map(tidy, task.files)),
        session=tidy(task.session),
    )


def applicable_patterns(
    subject: Subject, guides: Iterable[Guide], cosines: Cosines, tidy: Tidy
) -> tuple[ApplicablePattern, ...]:
    """The patterns that apply, the best match first, at most 5.

    One that says when it applies matches by the share of that which the prompt names; any match
    counts. Another one matches by its tags, or by how alike it and the prompt are.
    """
    patterns = [guide for guide in guides if guide.namespace == "patterns"]
    found = []
    for pattern in patterns:
        score, matched = _matched(subject, pattern, cosines.get(pattern.memory_id))
        if score > 0:
            found.append((score, pattern.confidence, pattern, matched))
    found.sort(key=lambda one: one[:2], reverse=True)
    return tuple(
        _applicable(pattern, score, matched, tidy) for score, _, pattern, matched in found[:MOST]
    )


def _matched(subject: Subject, pattern: Guide, cosine: float | None) -> tuple[float, list[str]]:
    if pattern.applicable_when:
        weights = {one: _weight(subject, one) for one in pattern.applicable_when}
        score = min(1.0, sum(weights.values()) / len(weights))
        return score, [one for one, weight in weights.items() if weight]
    tagged = {tag: _tag_weight(subject, tag) for tag in pattern.tags}
    alike = task_similarity(subject.traits, pattern.traits, cosine)
    score = max([alike, *tagged.values()])
    if score < MIN_MATCH:
        return 0.0, []
    named = [tag for tag, weight in tagged.items() if weight]
    shared = [one for one in pattern.domains if one in subject.domains]
    return score, named or shared


def _weight(subject: Subject, keyword: str) -> float:
    """1 for being written in the prompt, 1 more for being what it names; a field counts half."""
    weight = float(_is_written(subject, keyword)) + float(keyword in subject.named)
    if not weight and not set(domains_of(words_of(keyword))).isdisjoint(subject.domains):
        return _SAME_FIELD
    return weight


def _tag_weight(subject: Subject, tag: str) -> float:
    if tag in subject.named:
        return _NAMED
    if _is_written(subject, tag) or tag in subject.domains:
        return _WRITTEN
    return 0.0


def _is_written(subject: Subject, keyword: str) -> bool:
    """Whether the prompt has the words of ``keyword``, each whole or as the start of a longer."""
    words = words_of(keyword.replace("-", " "))
    return bool(words) and all(
        word in subject.written
        or (len(word) > 3 and any(written.startswith(word) for written in subject.written))
        for word in words
    )


def _applicable(
    pattern: Guide, score: float, matched: Iterable[str], tidy: Tidy
) -> ApplicablePattern:
    return ApplicablePattern(
        id=pattern.memory_id,
        name=tidy(pattern.title),
        approach=tidy(pattern.approach[0] if pattern.approach else pattern.text),
        match_score=round(score, 2),
        confidence=pattern.confidence,
        matched=tuple(map(tidy, matched)),
    )


def known_gotchas(subject: Subject, guides: Iterable[Guide], tidy: Tidy) -> tuple[Gotcha, ...]:
    """Gotchas of the technologies that the prompt names, then of the project's; at most 5.

    Among those of one kind, those that share words with the prompt come first, then the newest.
    """
    gotchas = [guide for guide in guides if guide.namespace == "gotchas"]
    ranked = sorted(gotchas, key=lambda one: _urgency(subject, one), reverse=True)
    return tuple(_gotchas(subject, ranked, tidy))[:MOST]


def _urgency(subject: Subject, gotcha: Guide) -> tuple[bool, int, float]:
    shared = len(subject.written.intersection(gotcha.keys))
    named = not subject.technologies.isdisjoint(gotcha.technologies)
    return named, shared, gotcha.updated_at.timestamp()


def _gotchas(subject: Subject, ranked: Iterable[Guide], tidy: Tidy) -> Iterator[Gotcha]:
    for gotcha in ranked:
        of = [one for one in gotcha.technologies if one in subject.technologies]
        of += [one for one in gotcha.technologies if one in subject.stack]
        if of:
            yield Gotcha(
                id=gotcha.memory_id,
                tech=of[0],
                title=tidy(gotcha.title),
                problem=tidy(gotcha.problem or gotcha.text),
            )


def gives_work(parsed: Parsed) -> bool:
    """Whether a prompt orders something, by its verbs; a question asks."""
    kind = primary(parsed.work)
    return kind is not None and kind is not WorkKind.QUESTION


def bearing(
    subject: Subject, guides: Sequence[Guide], resolved: Iterable[ResolvedReference]
) -> dict[str, str]:
    """The ids of at most ``MOST_BEARING`` memories that bear on an order, each with a reason.

    What a reference points back at comes first, then the guides that name most of the order's
    subject, of each namespace in turn. Words alone hardly tell what work will run into, so this
    names only what the order itself names. On the orders of ``perf/actions``, a lower floor brought
    twelve guides that had nothing to do with them, and none that did.
    """
    found = {
        one.id: f"is what {one.text!r} points at" for one in resolved if one.confidence >= _SURE
    }
    rated = [(_covered(subject, guide), guide) for guide in guides]
    about = [one for one in rated if _is_about(subject, one[1], one[0])]
    for guide in _in_turn(sorted(about, key=lambda one: -one[0])):
        found.setdefault(guide.memory_id, "is about what is ordered")
    return dict(list(found.items())[:MOST_BEARING])


def _covered(subject: Subject, guide: Guide) -> float:
    """The share of the order's content words that ``guide`` names as what it is about.

    One of several says nothing, nor does a verb alone ("run it again"): 0 then.
    """
    named = {*words_of(" ".join((guide.title, *guide.applicable_when))), *guide.tags}
    content = subject.content_words
    shared = content & named
    if content <= HANDLING_VERBS:
        return 0.0
    return len(shared) / len(content) if len(shared) >= min(2, len(content)) > 0 else 0.0


def _is_about(subject: Subject, guide: Guide, covered: float) -> bool:
    if covered >= COVERED:
        return True
    named = not subject.headed.isdisjoint(guide.technologies)
    brief = len(subject.content_words) <= FEW_WORDS
    return named and brief and HANDLING_VERBS.isdisjoint(subject.content_words)


def _in_turn(rated: Sequence[tuple[float, Guide]]) -> Iterator[Guide]:
    """The best of each namespace, the surest first, then the second of each, and so on."""
    ranks: Counter[str] = Counter()
    placed = []
    for share, guide in rated:
        placed.append((ranks[guide.namespace], -share, guide))
        ranks[guide.namespace] += 1
    yield from (guide for _, _, guide in sorted(placed, key=lambda one: one[:2]))
