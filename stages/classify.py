"""Classifies the search intent of a prompt: keywords vote first, other racers refine the result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Literal

import anyio
import msgspec
from msgspec.structs import replace

from ..bus.events import IntentClassified, IntentRefined, PromptEnriched
from ..bus.prompts import (
    DetectionSource,
    IntentType,
    Parsed,
    Retrospect,
    SearchIntent,
    Vote,
    WorkSignal,
)
from ..bus.signals import classified, degraded, emit, fell_back
from ..config.languages import ENGLISH, language_of
from ..config.patterns import regex
from ..config.settings import SearchIntentSettings
from .inject import ceiling
from .language.intent_features import features
from .language.questions import read_question
from .language.search_intent import detect_search_intent
from .language.sentences import (
    Sentence,
    is_order,
    opening,
    prompt_sentences,
    reports_success,
    sentences,
    without_lead_in,
)
from .language.topics import MAX_TOPICS, extract_topics
from .ports import Local, Model

STAGE = "classify"
NONE_FROM = 0.4
ASKED_FROM_PERCENT = 70
_SURELY_NONE = 0.9
# A message at the end of what tells of trouble, or several words that a program said.
_MESSAGE = regex(r":\s+\S")
_QUOTED = regex(r"(?<!\w)(?:'[^'\n]* [^'\n]*'|\"[^\"\n]* [^\"\n]*\"|`[^`\n]* [^`\n]*`)(?!\w)")
# Who says of trouble what they did themselves, or that it has to be, tells and does not ask.
_EXPLAINS = regex(
    r":\s+(?:(?:i|i'm|i've|we|we're|we've|my|our|on purpose)\b"
    r"|(?:(?:as|that's|this is) )?(?:expected|intended|intentional|normal)\s*(?:[,.;!]|$))",
    re.IGNORECASE,
)
# "Here is what Kim said: …" hands on an opinion, no message.
_SOMEBODY_SAID = regex(r"\b(?:said|told|wrote|suggest\w*|recommend\w*|thinks?)\b", re.IGNORECASE)
_YES_OR_NO = frozenset("is are was were does did".split())
UNSURE_PERCENT = 50

_KINDS = frozenset(map(str, IntentType))
_ORDER = (DetectionSource.KEYWORD, DetectionSource.LOCAL, DetectionSource.LLM)

Racer = Callable[[str, SearchIntent | None], Awaitable[Vote]]
"""Answers for a text, given what the keywords found in it."""


async def classify(
    event: PromptEnriched,
    *,
    local: Local | None,
    model: ModelRacer | None = None,
    min_decisive_percent: int = 80,
) -> IntentClassified:
    """What ``event``'s prompt searches for, and every vote that was cast.

    The keyword racer always votes, and the local classifier unless rules have settled it, or it is
    in another language than English; where the keywords are surer than ``min_decisive_percent`` the
    ``model`` is not asked, unless it always is. Nothing is searched for by what a machine wrote. A
    racer that is missing, or has no answer in time, is emitted as ``degraded``, with ``fell_back``
    for what answered instead. Where the prompt asks the same of another subject, and no word of it
    tells that it is a search, the votes are those on the prompt before.
    """
    if event.parsed.machine:
        return IntentClassified(trace=event.trace, enriched=event, intent=None)
    if _is_asked_before(event.parsed, local):
        return _as_before(event, local)
    text = event.parsed.text
    votes = [_first_vote(event.parsed)]
    held = votes[0].intent
    decisive = held is not None and held.confidence_percent >= min_decisive_percent
    settled = is_settled(held) or _is_foreign(event.parsed)
    racers: list[Racer] = []
    if not settled and local is not None:
        racers.append(local_racer(local))
    if model is not None and model.is_asked(decisive=decisive):
        racers.append(model.racer(_late(event, votes, model)))
    votes += await race(text, held, racers)
    answer = conclude(event, votes)
    _emit_outcome(answer, local_missing=not settled and local is None)
    return answer


def may_search(parsed: Parsed, local: Local | None) -> bool:
    """Whether keywords or the local classifier find a search in a prompt, which is no order then.

    Their votes are kept for ``classify``. Who asks the same of another subject searches where the
    prompt before did.
    """
    return _searches(parsed, local) or _is_asked_before(parsed, local)


def _searches(parsed: Parsed, local: Local | None) -> bool:
    if local is None and _needs_local(parsed):
        return True
    votes = _own_votes(parsed, local)
    # In a paste it is enough that one of them finds something.
    found = any(vote.intent for vote in votes) if parsed.pasted else merge(votes)
    return bool(found)


def _own_votes(parsed: Parsed, local: Local | None) -> list[Vote]:
    """The keywords' vote, and the local classifier's where there is one and it is needed."""
    votes = [_first_vote(parsed)]
    if local is not None and _needs_local(parsed):
        votes.append(_local_vote(parsed.text, votes[0].intent, local))
    return votes


def _needs_local(parsed: Parsed) -> bool:
    """Whether the keywords leave open what a prompt is, and the local classifier may tell."""
    return not (is_settled(_first_vote(parsed).intent) or _is_foreign(parsed))


def _before(parsed: Parsed) -> Parsed:
    """The prompt before, as far as its intent goes."""
    return Parsed(text=parsed.before, query="", work=parsed.work)


def _is_asked_before(parsed: Parsed, local: Local | None) -> bool:
    """Whether the prompt before alone tells that it is a search ("and VAT?")."""
    if not parsed.before or _searches(parsed, local):
        return False
    return _searches(_before(parsed), local)


def _as_before(event: PromptEnriched, local: Local | None) -> IntentClassified:
    """What a prompt searches for that asks the same as the one before of another subject.

    Its topics are its own, and no words of it are evidence.
    """
    votes = _own_votes(_before(event.parsed), local)
    topics = extract_topics(prompt_sentences(event.parsed.text), ())
    answer = conclude(event, [_of_another(vote, topics) for vote in votes])
    _emit_outcome(answer, local_missing=local is None)
    return answer


def _of_another(vote: Vote, topics: tuple[str, ...]) -> Vote:
    if vote.intent is None:
        return vote
    return replace(vote, intent=replace(vote.intent, topics=topics, evidence=()))


def _is_foreign(parsed: Parsed) -> bool:
    """Whether it is in another language than English; questions of time are read in English."""
    return parsed.retrospect is None and language_of(parsed.text) != ENGLISH


def _first_vote(parsed: Parsed) -> Vote:
    """What the words of a prompt say."""
    if _is_foreign(parsed):
        return foreign_vote(parsed.text)
    return _keyword_vote(parsed.text, parsed.work, parsed.retrospect)


def conclude(event: PromptEnriched, votes: Sequence[Vote]) -> IntentClassified:
    """What ``votes`` make of ``event``."""
    return IntentClassified(
        trace=event.trace, enriched=event, intent=merge(votes), votes=tuple(votes)
    )


def _late(event: PromptEnriched, votes: list[Vote], model: ModelRacer) -> Late | None:
    """Who takes the model's vote when it comes after the race, whose ``votes`` are then all in."""

    async def refine(vote: Vote) -> bool:
        answer, intent = conclude(event, votes), merge([*votes, vote])
        return await model.refined(
            IntentRefined(trace=event.trace, classified=answer, vote=vote, intent=intent)
        )

    return None if event.prompt.rehearsal else refine


def _emit_outcome(answer: IntentClassified, *, local_missing: bool) -> None:
    intent = answer.intent
    source = intent.source.value if intent else "none"
    kind = intent.intent_type.value if intent else "none"
    if not answer.enriched.prompt.rehearsal:
        emit(classified, STAGE, source=source, intent=kind, votes=answer.votes)
    if local_missing:
        emit(degraded, STAGE, reason="local.unavailable")
        emit(fell_back, "local", to=DetectionSource.KEYWORD.value, reason="unavailable")
    for vote in answer.votes:
        if vote.missing:
            emit(degraded, STAGE, reason=f"model.{vote.missing}")
            emit(fell_back, vote.racer.value, to=source, reason=vote.missing)


async def race(text: str, held: SearchIntent | None, racers: Sequence[Racer]) -> list[Vote]:
    """Let every racer vote at once; the votes in the order in which they came."""
    votes: list[Vote] = []

    async def run(racer: Racer) -> None:
        votes.append(await racer(text, held))

    async with anyio.create_task_group() as group:
        for racer in racers:
            group.start_soon(run, racer)
    return votes


def merge(votes: Sequence[Vote]) -> SearchIntent | None:
    """One answer from all votes, or None if nobody found a search.

    What the keywords found is evidence that the local classifier weighs with all else: where the
    two disagree on the type, or on whether it is a search at all, its vote stands. The model's vote
    refines that: who alone found an intent is right; where they disagree on the type, the surer
    one's type and confidence stand. Where any two agree, the confidence held does. Topics of the
    model come first, those of the others fill up to five.
    """
    held: SearchIntent | None = None
    for vote in sorted(votes, key=lambda one: _ORDER.index(one.racer)):
        if vote.intent is not None:
            held = vote.intent if held is None else _refined(held, vote.intent)
        elif vote.racer is DetectionSource.LOCAL:
            held = None
    return held


def is_settled(keywords: SearchIntent | None) -> bool:
    """Whether rules have read a question of time or of the whole, which words cannot weigh."""
    return keywords is not None and not keywords.evidence


def keyword_vote(
    text: str,
    read: Sequence[Sentence] | None = None,
    work: Sequence[WorkSignal] = (),
    retrospect: Retrospect | None = None,
) -> Vote:
    """The keyword racer's vote; ``read`` are the sentences of ``text``, where they are known.

    ``work`` tells what kind of work it asks for, and ``retrospect`` what it asks about a time.
    """
    started = perf_counter()
    return _by_words(detect_search_intent(text, read, work, retrospect), started)


def foreign_vote(text: str) -> Vote:
    """The same on a ``text`` in another language than English."""
    started = perf_counter()
    return _by_words(read_question(text), started)


def _by_words(intent: SearchIntent | None, started: float) -> Vote:
    took_ms = (perf_counter() - started) * 1000
    return Vote(racer=DetectionSource.KEYWORD, intent=intent, took_ms=took_ms)


def local_vote(
    text: str, held: SearchIntent | None, local: Local, read: Sequence[Sentence] | None = None
) -> Vote:
    """The local classifier's vote; its confidence is the probability of the type it names.

    Where that is low and yet a search is likelier than none, it is ``UNSURE_PERCENT``: whether it
    is a search at all is surer than of which kind. What has the form of a question is no order
    where the keywords are ``ASKED_FROM_PERCENT`` sure, nor mostly is trouble that is told with its
    message. The note tells an order from chat.
    """
    started = perf_counter()
    read = sentences(text) if read is None else read
    odds = local.weigh(features(text, read, held))
    sure = held is not None and held.confidence_percent >= ASKED_FROM_PERCENT
    asks = sure and read and _asks(read)
    if asks or (_none(odds) < _SURELY_NONE and _tells_trouble(text, held, read)):
        odds = {kind: odds[kind] for kind in _KINDS}
    name, probability = choose(odds)
    intent = None
    if name in _KINDS:
        intent = SearchIntent(
            intent_type=IntentType(name),
            confidence_percent=max(UNSURE_PERCENT, round(100 * probability)),
            topics=extract_topics(read, held.evidence if held else ()),
            source=DetectionSource.LOCAL,
        )
    return Vote(
        racer=DetectionSource.LOCAL,
        intent=intent,
        took_ms=(perf_counter() - started) * 1000,
        note=f"{name} {probability:.2f}",
    )


def _asks(read: Sequence[Sentence]) -> bool:
    """Whether a prompt ends in a question mark, or begins by asking for a yes or no."""
    if read[-1].asks:
        return True
    first = read[0].words[opening(read[0]) :]
    return not _YES_OR_NO.isdisjoint(first[:1]) and not any(map(is_order, read))


def _tells_trouble(text: str, held: SearchIntent | None, read: Sequence[Sentence]) -> bool:
    """Whether a prompt tells what goes wrong together with its message ("push fails: quota …")."""
    if held is None or held.intent_type is not IntentType.TROUBLESHOOT:
        return False
    if any(is_order(one) or reports_success(one) for one in read):
        return False
    end = held.evidence[0].end
    told = len(read) == 1 and _MESSAGE.search(text, end) and not _EXPLAINS.search(text, end)
    quoted = _QUOTED.search(text)
    return bool(told) or (quoted is not None and not _SOMEBODY_SAID.search(text[: quoted.start()]))


def local_racer(local: Local) -> Racer:
    """The local classifier as a racer."""

    async def run(text: str, held: SearchIntent | None) -> Vote:
        return _local_vote(text, held, local)

    return run


# Of a prompt that is on its way two stages want to know.


@lru_cache(maxsize=8)
def _keyword_vote(text: str, work: Sequence[WorkSignal], retrospect: Retrospect | None) -> Vote:
    asked = without_lead_in(text)
    return keyword_vote(asked, prompt_sentences(asked), work, retrospect)


@lru_cache(maxsize=8)
def _local_vote(text: str, held: SearchIntent | None, local: Local) -> Vote:
    asked = without_lead_in(text)
    return local_vote(asked, held, local, prompt_sentences(asked))


def choose(odds: Mapping[str, float]) -> tuple[str, float]:
    """First whether it is a search at all, then the likeliest kind; with its probability."""
    is_none = _none(odds) >= NONE_FROM
    name = max((one for one in odds if (one not in _KINDS) is is_none), key=odds.__getitem__)
    return name, odds[name]


def _none(odds: Mapping[str, float]) -> float:
    """How likely it is that nothing is searched for."""
    return sum(share for name, share in odds.items() if name not in _KINDS)


def _refined(held: SearchIntent, other: SearchIntent) -> SearchIntent:
    surer = held
    if other.intent_type is not held.intent_type:
        weighed = other.source is DetectionSource.LOCAL
        surer = other if weighed else max(held, other, key=lambda one: one.confidence_percent)
    first, second = (other, held) if other.source is DetectionSource.LLM else (held, other)
    return msgspec.structs.replace(
        held,
        intent_type=surer.intent_type,
        confidence_percent=surer.confidence_percent,
        topics=tuple(dict.fromkeys(first.topics + second.topics))[:MAX_TOPICS],
        source=DetectionSource.HYBRID,
    )


# --- the language model's place in the race -------------------------------------------------------


Policy = Literal["when_unsure", "always", "never"]
Late = Callable[[Vote], Awaitable[bool]]


class ModelRacer:
    """``model``, and the rules by which it is asked.

    ``timeout_s`` is the most that a prompt waits for it; ``need_s`` tells what the stages after the
    race need of the prompt's time, given how many races are on. ``refined`` takes what came late,
    and says whether it has.
    """

    def __init__(
        self,
        model: Model,
        *,
        policy: Policy,
        timeout_s: float,
        need_s: Callable[[int], float],
        refined: Callable[[IntentRefined], Awaitable[bool]],
    ) -> None:
        self._model = model
        self._policy = policy
        self._timeout_s = timeout_s
        self._need_s = need_s
        self._racing = 0
        self.refined = refined

    def is_asked(self, *, decisive: bool) -> bool:
        """Whether to ask, given that the keywords are sure enough by themselves or are not."""
        return self._policy == "always" or (self._policy == "when_unsure" and not decisive)

    def racer(self, late: Late | None) -> Callable[[str, SearchIntent | None], Awaitable[Vote]]:
        """The model as a racer; what comes after the race goes to ``late``."""

        async def run(text: str, held: SearchIntent | None) -> Vote:
            self._racing += 1
            try:
                return await self._model.ask(text, within_s=self._within_s(), late=late)
            finally:
                self._racing -= 1

        return run

    def _within_s(self) -> float:
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        return min(self._timeout_s, left_s - self._need_s(self._racing))


def changes_context(event: IntentRefined, *, settings: SearchIntentSettings) -> bool:
    """Whether the refined intent lets other memories in than the one the prompt was answered with.

    It does where it finds a search that was overlooked or not believed, where namespaces weigh
    otherwise for its type, and where more memories are allowed.
    """
    before, after = event.classified.intent, event.intent
    if not (settings.enabled and event.classified.enriched.candidates):
        return False
    if after is None or not _believed(after, settings):
        return False
    if before is None or not _believed(before, settings):
        return True
    allowed, allows = (ceiling(one.confidence_percent, settings.context) for one in (before, after))
    return before.intent_type is not after.intent_type or allowed < allows


def _believed(intent: SearchIntent, settings: SearchIntentSettings) -> bool:
    return intent.confidence_percent >= round(settings.min_confidence * 100)


def with_intent(event: IntentRefined, found: PromptEnriched) -> IntentClassified:
    """The prompt as it would have been classified in time, with what is ``found`` for it now."""
    classified = event.classified
    return replace(
        classified,
        intent=event.intent,
        enriched=found,
        votes=(*classified.votes, event.vote),
    )
