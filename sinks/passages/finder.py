"""Finds the sessions that bear on a question, or on a time, and which of two holds."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.prompts import Span
from ...bus.sessions import Passage, SessionHit
from ...bus.values import Scope
from ...config.linear_model import logistic
from ...config.patterns import regex
from ..store.store import Store
from . import table
from .index import Candidate, Found, PassageIndex, load_relevance
from .wording import asks_what_holds, says_something, subject_looked_back_at

# A later session is on the same subject if it shares so much of the earlier user's words: of their
# terms, weighted by idf, and of their meaning. On the pairs of perf/sessions that amend a rule: 30
# of 31, and 3 in 100 of the others. Of two that both bear on one question less is enough.
_SAME_SUBJECT = (0.30, 0.30)
_SAME_QUESTION = (0.12, 0.20)
# What the wording of a prompt is worth, in log-odds. What is looked back at has to stand in the
# session almost whole, else the share that makes it an ordinary question.
_LOOKED_BACK_AT = 2.5
_WHOLE_SUBJECT = 0.9
_MOST_OF_IT = 0.6
# Who searches is given every session with so much of the words, weighted by how rare they are.
_SEARCHED_SHARE = 0.5
# A later session is on the subject of the best one if it holds so much of the question's terms, so
# much of what that one holds of them and of their meaning, and is at most so much less like it.
# Where the prompt asks what holds now, less is enough.
_ALIKE = (0.5, 0.6, 0.7, 0.16)
_ALIKE_NOW = (0.2, 0.4, 0.5, 0.3)
_MOST_SHOWN = 2
_MOST_REPORTED = 6
_FEWEST_CHARS = 8
# What is read of one session that is looked up by its time, from the end of that time.
_MOST_EPISODES = 4
_MOST_PASSAGES = 12
_FEWEST_STATED_WORDS = 4
# Of the words of a question that is not English a session has to hold this share to be relevant.
_LEAST_HELD = 0.45
# So many of the user's short words of a session are compared with those of another one.
_STATEMENT_CHARS = 400
_MOST_STATEMENTS = 12
_SENTENCE = regex(r"[^.!?\n]+[.!?]*")
_ASKS = regex(
    r"\?\s*$|^\W*(?:and |so |but |ok |hi |hey )*(?:how|what|why|where|when|which|who|whose|is|are"
    r"|was|were|do|does|did|can|could|should|would|will|have|has)\b",
    re.IGNORECASE,
)

Amends = Callable[[Sequence[str], Sequence[str]], bool]
"""Whether one of the newer texts says otherwise than one of the older."""


def never(newer: Sequence[str], older: Sequence[str]) -> bool:
    """Nothing is ever said otherwise."""
    return False


class Finder:
    """Searches ``index``; what was found is read from ``store``."""

    def __init__(
        self,
        store: Store,
        index: PassageIndex,
        *,
        floor: float,
        clock: Callable[[], datetime],
        amends: Amends,
        threads: anyio.CapacityLimiter,
    ) -> None:
        self._store = store
        self._index = index
        self._floor = floor
        self._clock = clock
        self._amends = amends
        self._threads = threads
        self._relevance = load_relevance()

    async def find(
        self,
        text: str,
        scope: Scope,
        *,
        session: str = "",
        most: int = _MOST_SHOWN,
        searched: bool = False,
    ) -> tuple[SessionHit, ...]:
        """What at most ``most`` other sessions of ``scope`` than ``session`` hold on ``text``.

        ``session`` is the one that asks. Who searches outside of one chose the words, of which no
        share has to be held then, in whatever language.

        The best first. Where a newer session speaks of the same subject it comes first, and says
        which one it replaces. Those that are not relevant enough come last, without passages. Where
        somebody ``searched`` for the text, sessions that hold its words are relevant enough.
        """
        if not self._index.passages or len(text.strip()) < (1 if searched else _FEWEST_CHARS):
            return ()
        work = partial(self._find, text, scope, session, most, searched)
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    def _find(
        self, text: str, scope: Scope, session: str, most: int, searched: bool
    ) -> tuple[SessionHit, ...]:
        now = self._clock()
        leaving_out = [session] if session else []
        found = self._index.search(text, scope, now, leaving_out=leaving_out)
        weighed = [(self._worth(one), one) for one in found]
        if subject := subject_looked_back_at(text):
            found = self._index.search(subject, scope, now, leaving_out=leaving_out)
            weighed += self._looked_back_at(found)
        best: dict[str, tuple[float, Found]] = {}
        for worth, one in weighed:
            is_held = not session or one.held >= _LEAST_HELD
            relevance = worth if is_held else min(worth, one.held)
            if relevance > best.get(one.episode.session, (-1.0, one))[0]:
                best[one.episode.session] = (relevance, one)
        ranked = sorted(best.values(), key=lambda pair: -pair[0])
        held = _SEARCHED_SHARE if searched else math.inf
        shown = [
            pair for pair in ranked if pair[0] >= self._floor or pair[1].candidate.share >= held
        ][:most]
        hits = [self._hit(relevance, one) for relevance, one in shown]
        if not searched:
            # Who only asked the same before was answered from what others had settled.
            hits = [hit for hit in hits if _states(hit.passages)] or hits
        if hits:
            hits = self._newest_first(hits, now, leaving_out=session)
        if hits and not any(hit.replaced_by for hit in hits):
            hits = self._with_later_word(text, hits, found)
        told = {hit.session for hit in hits}
        rest = [
            pair for pair in ranked if pair[0] < self._floor and pair[1].episode.session not in told
        ][:_MOST_REPORTED]
        return (*hits, *(self._hit(relevance, one, fetch=False) for relevance, one in rest))

    def _worth(self, found: Found, more: float = 0.0) -> float:
        """The relevance of ``found``, with so many log-odds ``more``."""
        return logistic(self._relevance.log_odds(found.candidate.features) + more)

    def _looked_back_at(self, found: Sequence[Found]) -> Iterator[tuple[float, Found]]:
        """Those ``found`` that hold most of what a prompt looks back at, with their relevance."""
        for one in found:
            if one.candidate.share >= _MOST_OF_IT:
                whole = one.candidate.share >= _WHOLE_SUBJECT
                yield self._worth(one, _LOOKED_BACK_AT if whole else 0.0), one

    def _with_later_word(
        self, text: str, hits: list[SessionHit], found: Sequence[Found]
    ) -> list[SessionHit]:
        """``hits``, with a later session that holds most of what the first holds of the question.

        What somebody says of a subject later may be one sentence among many on other things.
        """
        first = next((one for one in found if one.episode.session == hits[0].session), None)
        if first is None:
            return hits
        likeness = _ALIKE_NOW if asks_what_holds(text) else _ALIKE
        later = [
            one
            for one in found
            if one.episode.began_at > first.episode.began_at
            and one.episode.session != first.episode.session
            and _is_alike(one.candidate, first.candidate, likeness)
        ]
        for one in sorted(later, key=lambda one: -one.candidate.order):
            newer = self._hit(hits[0].relevance, one)
            if _states(newer.passages):
                return _in_place_of(hits[0], newer, hits)
        return hits

    def _newest_first(
        self, hits: list[SessionHit], now: datetime, *, leaving_out: str
    ) -> list[SessionHit]:
        """``hits``, with the newer word on the subject of the best before the older.

        Of two that both bear on the question less kinship is enough. What the session
        ``leaving_out`` says itself is in its context already.
        """
        best = hits[0]
        for other in hits[1:]:
            older, newer = sorted((best, other), key=lambda hit: hit.began_at)
            if self._amends(_statements(newer.passages), _statements(older.passages)):
                return _in_place_of(older, newer, hits)
            later = self._later_words(older, now, leaving_out, kinship=_SAME_QUESTION)
            if any(one.episode.session == newer.session for one in later):
                return _in_place_of(older, newer, hits)
        later = self._later_words(best, now, leaving_out, kinship=_SAME_SUBJECT)
        for one in sorted(later, key=lambda one: -one.candidate.order):
            newer = self._hit(best.relevance, one)
            if _states(newer.passages):
                return _in_place_of(best, newer, hits)
        return hits

    def _later_words(
        self, hit: SessionHit, now: datetime, leaving_out: str, *, kinship: tuple[float, float]
    ) -> list[Found]:
        """The later sessions than ``hit`` that speak of its subject, without ``leaving_out``."""
        share, coverage = kinship
        said = " ".join(passage.text for passage in hit.passages if passage.speaker == "user")
        return [
            one
            for one in self._index.search(
                said, hit.scope, now, leaving_out=[hit.session, leaving_out]
            )
            if one.episode.began_at > hit.began_at
            and one.candidate.share >= share
            and one.candidate.coverage >= coverage
        ]

    def _hit(self, relevance: float, found: Found, *, fetch: bool = True) -> SessionHit:
        episode = found.episode
        passages: tuple[Passage, ...] = ()
        if fetch:
            with self._store.database.reading() as connection:
                wanted = self._index.around(episode)
                kept = table.fetch(connection, wanted)
            passages = tuple(kept[id_] for id_ in wanted if id_ in kept)
        return SessionHit(
            session=episode.session,
            scope=episode.scope,
            relevance=relevance,
            began_at=episode.began_at,
            passages=passages,
        )

    async def said(
        self, scope: Scope, span: Span | None, *, session: str, limit: int
    ) -> tuple[SessionHit, ...]:
        """What was said within ``span`` in other sessions of ``scope`` than ``session``.

        The newest first, at most ``limit`` sessions, without what says nothing by itself; without
        a span the end of the newest one.
        """
        others = [one for one in self._index.sessions((scope,)) if one[1] != session]
        hits: list[SessionHit] = []
        for _, name, episodes in others if span else others[:1]:
            if span and episodes[-1].ended_at < span.since:
                break  # so are those that follow
            near = [
                one
                for one in episodes
                if span is None or (one.began_at < span.until and one.ended_at >= span.since)
            ]
            ids = [id_ for one in near[-_MOST_EPISODES:] for id_ in one.passages]
            kept = await self._store.read(partial(table.fetch, ids=ids))
            passages = [kept[id_] for id_ in ids if id_ in kept]
            if span:
                passages = [one for one in passages if span.since <= one.said_at < span.until]
                passages = [one for one in passages if says_something(one.text)] or passages
            if passages := passages[-_MOST_PASSAGES:]:
                hits.append(_as_said(name, scope, passages))
            if len(hits) >= limit:
                break
        return tuple(hits)


def _is_alike(
    later: Candidate, best: Candidate, likeness: tuple[float, float, float, float]
) -> bool:
    """Whether ``later`` has as much of the question as ``likeness`` asks of what ``best`` has."""
    least, share, coverage, behind = likeness
    return (
        later.share >= max(least, share * best.share)
        and later.coverage >= coverage * best.coverage
        and later.vector >= best.vector - behind
    )


def _as_said(session: str, scope: Scope, passages: Sequence[Passage]) -> SessionHit:
    """``passages`` of a session that was looked up by its time: nothing is more relevant."""
    return SessionHit(
        session=session,
        scope=scope,
        relevance=1.0,
        began_at=passages[0].said_at,
        passages=tuple(passages),
    )


def _states(passages: Sequence[Passage]) -> bool:
    """Whether the user said something in ``passages``, and did not only ask."""
    return any(
        len(sentence.split()) >= _FEWEST_STATED_WORDS and not _ASKS.search(sentence)
        for passage in passages
        if passage.speaker == "user"
        for sentence in _SENTENCE.findall(passage.text)
    )


def _statements(passages: Sequence[Passage]) -> list[str]:
    """What the user said that is short enough to be compared as one statement."""
    said = (passage.text for passage in passages if passage.speaker == "user")
    return [text for text in said if len(text) <= _STATEMENT_CHARS][:_MOST_STATEMENTS]


def _in_place_of(
    older: SessionHit, newer: SessionHit, hits: Sequence[SessionHit]
) -> list[SessionHit]:
    """``hits`` with ``newer`` first and ``older`` after it, each naming the other."""
    pair = (
        replace(newer, replaces=older.session, relevance=max(newer.relevance, older.relevance)),
        replace(older, replaced_by=newer.session),
    )
    sessions = {older.session, newer.session}
    return [*pair, *(hit for hit in hits if hit.session not in sessions)]
