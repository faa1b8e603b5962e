"""The cross-encoder: scores how well a memory answers a question, given both texts at once.

Search compares words, and a question that no memory answers shares its words as well. A small BERT
that sees both texts can tell them apart (Nogueira and Cho, "Passage Re-ranking with BERT", 2019).
``perf/train_cross_encoder.py`` trains it and writes its files.

The word vectors are looked up here, as rows of a mapped file: of eleven megabytes a question needs
a few pages. The layers run in ``onnxruntime``, which is imported when a model is loaded.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from tokenize import TokenError
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ...bus.signals import degraded, emit
from .embedder import bundled_tokenizer

MODEL: Final = Path(__file__).parent / "cross_model"
RERANKER: Final = "layers.onnx"
CONTRADICTIONS: Final = "contradictions.onnx"
"""The layers that tell whether the second of two statements contradicts the first."""

QUESTION_TOKENS: Final = 64
"""A longer question is cut to its beginning and its end, as the question is often at the end."""
MEMORY_TOKENS: Final = 96
"""A longer memory is cut; nine in ten are shorter."""
_END_TOKENS = 16

# Vectors of words (8 bits, each with its scale), of positions, and of the two sides of a pair.
_TABLES = ("words", "scales", "positions", "sides")

# Characters that hold the tokens above in any language that has words.
_QUESTION_CHARS = 1500
_MEMORY_CHARS = 1500


_log = logging.getLogger(__name__)


class PairTokenizer:
    """Turns the two texts of a pair into token ids, of which there are ``size``."""

    def __init__(self) -> None:
        self._tokenizer = bundled_tokenizer()
        # A "[SEP]" in a text is text: it must not end the sequence.
        self._tokenizer.encode_special_tokens = True
        self.size = self._tokenizer.get_vocab_size()
        begin, end = (self._tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]"))
        if begin is None or end is None:
            raise ValueError("the tokenizer does not know where a text begins and ends")
        self._begin, self._end = begin, end
        # A question is read with several memories in turn.
        self.query_ids = lru_cache(maxsize=4)(self._query_ids)

    def _query_ids(self, question: str) -> tuple[int, ...]:
        """The first side: ``[CLS]``, at most ``QUESTION_TOKENS``, ``[SEP]``."""
        if len(question) > _QUESTION_CHARS:
            half = _QUESTION_CHARS // 2
            question = f"{question[:half]} {question[-half:]}"
        ids = self._ids(question)
        if len(ids) > QUESTION_TOKENS:
            ids = ids[: QUESTION_TOKENS - _END_TOKENS] + ids[-_END_TOKENS:]
        return (self._begin, *ids, self._end)

    def memory_ids(self, text: str) -> list[int]:
        """The second side: at most ``MEMORY_TOKENS``, ``[SEP]``."""
        return [*self._ids(text[:_MEMORY_CHARS])[:MEMORY_TOKENS], self._end]

    def _ids(self, text: str) -> list[int]:
        whole = text.encode(errors="replace").decode()  # half a surrogate pair is no text
        return list(self._tokenizer.encode(whole, add_special_tokens=False).ids)


class CrossEncoder:
    """A loaded model. Immutable after loading, so any thread may use it."""

    def __init__(
        self, tokens: PairTokenizer, tables: dict[str, npt.NDArray[Any]], run: Any
    ) -> None:
        self._tokens = tokens
        self._words, self._scales = tables["words"], tables["scales"]
        self._positions, self._sides = tables["positions"], tables["sides"]
        self._run = run

    @classmethod
    def load(cls, folder: Path = MODEL, layers: str = RERANKER) -> CrossEncoder:
        """Load ``layers`` and the vectors in ``folder``, with the bundled embedding's tokenizer.

        Raises ``OSError`` where a file cannot be read, ``ValueError`` where it is not such a model,
        and ``ImportError`` where there is no ``onnxruntime`` for this machine.
        """
        # From 1.29 on its builds send figures about each model to their maker, and keep an
        # identifier and a database in the home, unless this is set before the first import.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        tables = {name: _table(folder / f"{name}.npy") for name in _TABLES}
        tokens = PairTokenizer()
        session = _session((folder / layers).read_bytes())
        if not _fit(tables, tokens.size, session.get_inputs()[0].shape[-1]):
            raise ValueError(f"the files in {folder.name} do not fit together")
        encoder = cls(tokens, tables, session.run)
        with _as_value_error():
            score = encoder.score("question", "answer")
        if not math.isfinite(score):
            raise ValueError(f"the files in {folder.name} are damaged: nothing has a score")
        return encoder

    def score(self, question: str, text: str) -> float:
        """How well ``text`` answers ``question``: the log-odds that it does."""
        query = self._tokens.query_ids(question)
        ids = [*query, *self._tokens.memory_ids(text)]
        inputs = self._words[ids] * self._scales[ids, None] + self._positions[: len(ids)]
        inputs[: len(query)] += self._sides[0]
        inputs[len(query) :] += self._sides[1]
        (score,) = self._run(None, {"inputs": inputs})
        return float(score)


def load_bundled() -> CrossEncoder | None:
    """Load the bundled reranker; None, and the signal ``degraded``, where it cannot be used."""
    if (loaded := _loaded(RERANKER)) is None:
        emit(degraded, "reranker", reason="reranker.unavailable")
    return loaded


def load_contradictions() -> CrossEncoder | None:
    """The same of the model that reads an older and a newer statement for a contradiction."""
    if (loaded := _loaded(CONTRADICTIONS)) is None:
        emit(degraded, "contradictions", reason="contradictions.unavailable")
    return loaded


def _loaded(layers: str) -> CrossEncoder | None:
    try:
        return _bundled(layers)
    except (ImportError, OSError, ValueError) as error:
        _log.error("a cross-encoder cannot be loaded", extra={"error": type(error).__name__})
        return None


@cache
def _bundled(layers: str) -> CrossEncoder:
    """One that is shipped: a backup that is restored has no need of a second one."""
    return CrossEncoder.load(layers=layers)


def _table(path: Path) -> npt.NDArray[Any]:
    """A table of vectors, mapped: what is not looked up is not read."""
    try:
        table: npt.NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (EOFError, SyntaxError, TokenError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is damaged: {error}") from error
    return table


def _fit(tables: dict[str, npt.NDArray[Any]], vocabulary: int, width: int) -> bool:
    """Whether the tables have a row for each word and the width that the layers take."""
    longest = 1 + QUESTION_TOKENS + 1 + MEMORY_TOKENS + 1
    shapes = {name: table.shape for name, table in tables.items()}
    positions = shapes.pop("positions")
    expected = {"words": (vocabulary, width), "scales": (vocabulary,), "sides": (2, width)}
    return shapes == expected and positions[0] >= longest and positions[1:] == (width,)


def _session(layers: bytes) -> Any:
    """What runs the layers; in one thread, as more would only wait for each other."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4  # errors are raised as well
    options.enable_cpu_mem_arena = False  # memory is freed after each question
    with _as_value_error():  # a second try would print to standard output, and fail as well
        return onnxruntime.InferenceSession(
            layers, options, ["CPUExecutionProvider"], enable_fallback=0
        )


@contextmanager
def _as_value_error() -> Iterator[None]:
    """Raise the errors of damaged layers and of vectors of odd types as ``ValueError``."""
    from onnxruntime.capi import onnxruntime_pybind11_state as errors

    try:
        yield
    except (
        errors.EPFail,
        errors.Fail,
        errors.InvalidArgument,
        errors.InvalidGraph,
        errors.InvalidProtobuf,
        errors.NotImplemented,
        errors.RuntimeException,
        TypeError,
    ) as error:
        raise ValueError(f"the layers cannot be run: {error}") from error
