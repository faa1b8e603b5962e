"""The warm index of sessions: each is cut into episodes, and an episode is found as a whole.

What was settled over several turns is found by all of them together, since one sentence of it does
not say what it is about. An episode begins with the user's words. It is not found by turns that
have no word of their own ("please do it", "done"). A cache of the store.

A logistic model on what the words say gives the probability that an episode holds what a prompt
needs. ``perf/fit_sessions.py`` fits it on invented projects whose conversations settle rules, amend
them, or only talk. An episode is measured against the third best, since a rule that was amended
later has two good ones.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

import numpy as np
from msgspec import Struct

from ...bus.sessions import Passage
from ...bus.values import Encoding, Memory, Mode, Query, Scope
from ...config.languages import ENGLISH, language_of
from ...config.linear_model import LinearModel
from ..models.embedder import Embedder
from ..search.by_words import cover
from ..search.calibration import Features
from ..search.index import Index
from ..search.ranking import begin, measure
from .table import Row, order_of
from .wording import has_subject

WEIGHTS: Final = Path(__file__).with_name("relevance.json")
FEATURES = (
    "coverage p2", "coverage p4", "vector", "share", "rare term coverage", "reverse coverage",
    "covered weight", "text", "coverage lead", "vector lead", "share lead", "length",
)  # fmt: skip


class Candidate(Struct, frozen=True):
    """One candidate: where it stands among those measured, its order and its features."""

    at: int
    order: float
    share: float
    coverage: float
    vector: float
    features: tuple[float, ...]


_OPENING_CHARS = 80


def load_relevance() -> LinearModel:
    """The fitted model. Raises ``OSError`` and ``ValueError`` where its file is not usable."""
    return LinearModel.load(WEIGHTS, features=FEATURES)


def candidates_of(
    measured: Features, usable: Sequence[int], *, words: int, best: int
) -> list[Candidate]:
    """The ``best`` of the ``usable`` candidates, best first; ``words`` is the question's length."""
    if not usable:
        return []
    top_text = max(float(measured.text.max()), 1e-9)
    top_late = max(float(measured.late.max()), 1e-9)
    order = (
        0.35 * measured.text / top_text + 0.25 * measured.late / top_late + 0.4 * measured.vector
    )
    ranked = sorted(usable, key=lambda at: -float(order[at]))[:best]
    leads = {
        name: _leads([float(getattr(measured, name)[at]) for at in ranked])
        for name in ("coverage_p2", "vector", "share")
    }
    return [
        Candidate(
            at=at,
            order=float(order[at]),
            share=float(measured.share[at]),
            coverage=float(measured.coverage_p2[at]),
            vector=float(measured.vector[at]),
            features=(
                float(measured.coverage_p2[at]),
                float(measured.coverage_p4[at]),
                float(measured.vector[at]),
                float(measured.share[at]),
                float(measured.rare_term_coverage[at]),
                float(measured.reverse_coverage[at]),
                float(np.log1p(measured.weight * measured.coverage_p2[at])),
                float(np.log1p(measured.text[at])),
                leads["coverage_p2"][place],
                leads["vector"][place],
                leads["share"][place],
                math.log1p(words),
            ),
        )
        for place, at in enumerate(ranked)
    ]


def _leads(values: Sequence[float]) -> list[float]:
    """How far each value is ahead of the second best of the others."""
    leads = []
    for at, value in enumerate(values):
        others = sorted((*values[:at], *values[at + 1 :]), reverse=True)
        leads.append(value - (others[1] if len(others) > 1 else 0.0))
    return leads


EPISODE_CHARS = 6_000
EPISODE_PASSAGES = 20
"""An episode ends before the user speaks again, once it is this long."""

CONTEXT_PASSAGES = 40
"""An episode is quoted with what stands around it, up to so many passages of its session."""

QUERY_CHARS = 2_000
_CANDIDATES = 30
_BEST = 8


class Episode(Struct, frozen=True, kw_only=True):
    """A part of one session, as ids of its passages in order.

    ``began_at`` is when the first of them was said, ``ended_at`` when the last: days later where
    somebody went on with a session.
    """

    id: str
    session: str
    scope: Scope
    began_at: datetime
    ended_at: datetime
    passages: tuple[str, ...]


class Found(Struct, frozen=True):
    """An episode and the evidence that it bears on a question.

    ``held`` is the share, 0–1, of the words that it holds of a question in another language than
    English, of which all other evidence says little.
    """

    episode: Episode
    candidate: Candidate
    held: float = 1.0


class PassageIndex:
    """One writer at a time; any number of searches beside it.

    ``embedder`` may be None: then episodes are found by their words alone.
    """

    def __init__(self) -> None:
        self._index = Index()
        self._sessions: dict[tuple[Scope, str], list[Episode]] = {}
        self._episodes: dict[str, Episode] = {}
        self._writing = threading.Lock()
        self.passages = 0

    @property
    def embedder(self) -> Embedder | None:
        return self._index.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._index.embedder = embedder

    # --- writing ---------------------------------------------------------------------------------

    def fill(self, sessions: Iterable[Sequence[Row]]) -> None:
        """Add whole sessions at once, each with all of its passages."""
        with self._writing:
            self._index.extend(pair for rows in sessions for pair in self._cut(rows))

    def fold_postings(self) -> None:
        """Make what ``fill`` added as quick to search as it can be; after the last of it."""
        self._index.fold_postings()

    def replace(self, scope: Scope, session: str, rows: Sequence[Row]) -> None:
        """Index ``session`` anew from all of its ``rows``; none takes it out."""
        with self._writing:
            for episode in self._sessions.pop((scope, session), ()):
                self._episodes.pop(episode.id, None)
                self._index.remove(episode.id)
                self.passages -= len(episode.passages)
            self._index.extend(self._cut(rows))

    def continue_with(self, rows: Sequence[Row]) -> None:
        """Index the last episode of a session anew, from all of its ``rows`` on."""
        with self._writing:
            passage = rows[0].passage
            episodes = self._sessions.get((passage.scope, passage.session), [])
            if episodes:
                last = episodes.pop()
                self._episodes.pop(last.id, None)
                self._index.remove(last.id)
                self.passages -= len(last.passages)
            self._index.extend(self._cut(rows, first=len(episodes)))

    def _cut(self, rows: Sequence[Row], first: int = 0) -> list[tuple[Memory, Encoding]]:
        pairs = []
        for number, part in enumerate(_parts(rows), first):
            passage = part[0].passage
            episode = Episode(
                id=f"{passage.scope}/{passage.session}#{number}",
                session=passage.session,
                scope=passage.scope,
                began_at=passage.said_at,
                ended_at=max(row.passage.said_at for row in part),
                passages=tuple(row.passage.id for row in part),
            )
            self._sessions.setdefault((passage.scope, passage.session), []).append(episode)
            self._episodes[episode.id] = episode
            self.passages += len(episode.passages)
            if telling := [row for row in part if has_subject(row.passage.text)]:
                said = "\n".join(row.passage.text for row in telling)
                encoding = joined([row.encoding for row in telling])
                pairs.append((_as_memory(episode, said), encoding))
        return pairs

    # --- reading ---------------------------------------------------------------------------------

    def sessions(self, scopes: Sequence[Scope]) -> list[tuple[Scope, str, list[Episode]]]:
        """Every session of ``scopes`` with its episodes, the one that was last spoken in first."""
        found = [
            (scope, session, list(episodes))
            for (scope, session), episodes in list(self._sessions.items())
            if scope in scopes and episodes
        ]
        return sorted(found, key=lambda one: one[2][-1].ended_at, reverse=True)

    @property
    def session_count(self) -> int:
        return len(self._sessions)

    @property
    def scopes(self) -> tuple[Scope, ...]:
        return tuple({scope for scope, _ in list(self._sessions)})

    def episodes(self, scope: Scope, session: str) -> tuple[Episode, ...]:
        """The episodes of one session, in order; none where it is not kept."""
        return tuple(self._sessions.get((scope, session), ()))

    def around(self, episode: Episode) -> tuple[str, ...]:
        """The passages of ``episode``, and of as many neighbours as make up its context."""
        episodes = self.episodes(episode.scope, episode.session)
        if episode not in episodes:
            return episode.passages
        first = last = episodes.index(episode)
        count = len(episode.passages)
        while first or last + 1 < len(episodes):
            before = episodes[first - 1].passages if first else ()
            after = episodes[last + 1].passages if last + 1 < len(episodes) else ()
            if before and count + len(before) <= CONTEXT_PASSAGES:
                first, count = first - 1, count + len(before)
            elif after and count + len(after) <= CONTEXT_PASSAGES:
                last, count = last + 1, count + len(after)
            else:
                break
        return tuple(id_ for one in episodes[first : last + 1] for id_ in one.passages)

    def search(
        self, text: str, scope: Scope, now: datetime, *, leaving_out: Sequence[str] = ()
    ) -> list[Found]:
        """The episodes of ``scope`` that bear most on ``text``, with the evidence for each.

        Those of the sessions ``leaving_out`` are not among them.
        """
        asked = text[:QUERY_CHARS]
        query = Query(text=asked, scopes=(scope,), limit=_CANDIDATES)
        question = self._index.encode_query(asked)
        embedder = self._index.usable_embedder
        indexes = self._index.scope_indexes((scope,))
        parts = [begin(scope, index, query, question, now) for _, index in indexes]
        parts = [part for part in parts if part.rows]
        mode: Mode = "text" if embedder is None else "hybrid"
        measured = measure(parts, mode, question, embedder, candidates=_CANDIDATES)
        if measured is None:
            return []
        ids = [part.index.table.ids[row] for part in parts for row in part.candidate_rows.tolist()]
        episodes = [self._episodes.get(id_) for id_ in ids]
        usable = [
            at
            for at, episode in enumerate(episodes)
            if episode is not None and episode.session not in leaving_out
        ]
        found = candidates_of(measured, usable, words=len(asked.split()), best=_BEST)
        language = language_of(asked)
        held = {} if language == ENGLISH else self._held(query, language, now)
        unheld = 1.0 if language == ENGLISH else 0.0
        return [
            Found(episode, candidate, held.get(episode.id, unheld))
            for candidate in found
            if (episode := episodes[candidate.at]) is not None
        ]

    def _held(self, query: Query, language: str, now: datetime) -> dict[str, float]:
        """The share of the words of a question in ``language`` that episodes hold, by their ids.

        None where it has a single word that says what it is about: any talk may hold that one.
        """
        question = self._index.encode_words(query.text, language)
        if sum(word.part for word in question.asked) <= 1:
            return {}
        indexes = self._index.scope_indexes(query.scopes)
        parts = [begin(scope, index, query, question, now) for scope, index in indexes]
        covered = cover([part for part in parts if part.rows], question, _CANDIDATES)
        if covered is None:
            return {}
        ids = [part.index.table.ids[row] for part, row in covered.places]
        return dict(zip(ids, (covered.scores / max(covered.weight, 1e-9)).tolist(), strict=True))

    @property
    def nbytes(self) -> int:
        """Bytes of the index, estimated where they are not counted."""
        ids = sum(len(episode.passages) for episode in self._episodes.values()) * 90
        return self._index.stats.bytes + ids + 300 * len(self._episodes)


def _parts(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The rows of one session cut into episodes."""
    part: list[Row] = []
    chars = 0
    for row in sorted(rows, key=lambda row: order_of(row.passage)):
        full = chars >= EPISODE_CHARS or len(part) >= EPISODE_PASSAGES
        if part and full and row.passage.speaker == "user":
            yield part
            part, chars = [], 0
        part.append(row)
        chars += len(row.passage.text)
    if part:
        yield part


def joined(encodings: Sequence[Encoding]) -> Encoding:
    """The encoding of a text whose parts have ``encodings``, of which each has the same model."""
    model = encodings[0].model
    same = [one for one in encodings if one.model == model]
    terms = np.concatenate([np.frombuffer(one.terms, dtype="<u4") for one in same])
    return Encoding(
        model=model,
        vectors=b"".join(one.vectors for one in same),
        words=b"".join(one.words for one in same),
        lengths=b"".join(one.lengths for one in same),
        terms=np.sort(terms).astype("<u4").tobytes(),
    )


def _as_memory(episode: Episode, said: str) -> Memory:
    """What the search index files an episode under, and takes words of other languages from."""
    return Memory(
        id=episode.id,
        scope=episode.scope,
        namespace="session",
        content=said,
        summary="",
        created_at=episode.began_at,
        updated_at=episode.began_at,
    )


def opening_of(passage: Passage) -> str:
    """How a session began, in one line."""
    text = " ".join(passage.text.split())
    return text if len(text) <= _OPENING_CHARS else f"{text[: _OPENING_CHARS - 1]}…"
