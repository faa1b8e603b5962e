"""Decides whether the model's late answer would have changed the injected context."""

from __future__ import annotations

from msgspec.structs import replace

from ..bus.events import IntentClassified, IntentRefined
from ..bus.values import Hit, SearchIntent
from ..config.settings import SearchIntentSettings
from .inject import ceiling


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
    return before.intent_type is not after.intent_type or _ceiling(before, settings) < _ceiling(
        after, settings
    )


def _believed(intent: SearchIntent, settings: SearchIntentSettings) -> bool:
    return intent.confidence_percent >= round(settings.min_confidence * 100)


def _ceiling(intent: SearchIntent, settings: SearchIntentSettings) -> int:
    return ceiling(intent.confidence_percent, settings.context)


def with_intent(event: IntentRefined, candidates: tuple[Hit, ...]) -> IntentClassified:
    """The prompt as it would have been classified in time, with these candidates."""
    classified = event.classified
    return replace(
        classified,
        intent=event.intent,
        enriched=replace(classified.enriched, candidates=candidates),
        votes=(*classified.votes, event.vote),
    )
