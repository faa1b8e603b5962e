"""The embedding model: static word vectors, averaged into passage vectors.

Reads the files of a model2vec model (``tokenizer.json``, ``model.safetensors``) with ``tokenizers``
and ``safetensors`` alone, which starts 0.2 s sooner and takes 60 MB less than the library that
made them; a test holds the two equal.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from ...bus.values import Encoding
from .analyzer import Words

BUNDLED: Final = Path(__file__).parent / "static_model"

# Longer passages blur in the mean of their words; shorter ones lose their context.
PASSAGE_CHARS: Final = 400
# Part of the model's name: raise it when texts come to be cut or counted in another way, and what
# is stored will be encoded anew.
ENCODING_VERSION: Final = 1
# A question longer than this (a pasted log) is cut: its first words say what it is about.
QUESTION_CHARS: Final = 4000
# Word ids are kept as uint16.
_LARGEST_VOCABULARY: Final = 1 << 16

_NEGATIONS = frozenset(("no", "not", "never", "without", "cannot", "none", "nor", "t"))

_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")

Floats = npt.NDArray[np.float32]


class Question(Struct, frozen=True):
    """A query made ready for the index.

    ``terms`` are its distinct words for text search; ``vector`` is float32 of unit length (all
    zero where the model knows no word); ``words`` are its distinct word ids.
    """

    terms: npt.NDArray[np.uint32]
    vector: Floats | None = None
    words: npt.NDArray[np.uint16] | None = None


class Embedder:
    """A loaded model. Immutable after loading, so any thread may use it."""

    def __init__(self, name: str, tokenizer: Tokenizer, vectors: npt.NDArray[np.generic]) -> None:
        if len(vectors) > _LARGEST_VOCABULARY:
            raise ValueError(
                f"the model {name} has {len(vectors)} words; at most {_LARGEST_VOCABULARY} fit"
            )
        if tokenizer.get_vocab_size() != len(vectors):
            raise ValueError(
                f"the model {name} has {tokenizer.get_vocab_size()} words"
                f" but {len(vectors)} vectors"
            )
        self.name = name
        self._tokenizer = tokenizer
        self._vectors = vectors
        self._lengths = np.sqrt(_row_squares(vectors)) + np.float32(1e-9)
        # A few odd tokens are longer than all words.
        self._longest = np.float32(np.percentile(self._lengths, 99))
        self._decisive = _decisive(tokenizer)
        self._unknown = _unknown_id(tokenizer)
        self._words = Words()

    @classmethod
    def load(cls, folder: Path | None = None) -> Embedder:
        """Load the model in ``folder``; None is the one that is shipped.

        Raises ``OSError`` where a file cannot be read and ``ValueError`` where it is not such a
        model, or one with more than 65,536 words.
        """
        folder = folder or BUNDLED
        # The library's threads gain nothing on texts this short, and hinder a later fork.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        vectors = _read_vectors(folder / "model.safetensors")
        tokenizer = read_tokenizer(folder / "tokenizer.json")
        digest = zlib.crc32(np.ascontiguousarray(vectors).data)
        label = "bundled" if folder == BUNDLED else folder.name
        name = f"{label}-{vectors.shape[1]}-{digest:08x}-{ENCODING_VERSION}"
        return cls(name, tokenizer, vectors)

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    @property
    def vocabulary(self) -> int:
        return len(self._vectors)

    def encode(self, text: str) -> Encoding:
        """What retrieval needs of one text."""
        return self.encode_many([text])[0]

    def encode_many(self, texts: Sequence[str]) -> list[Encoding]:
        """What retrieval needs of each text, in their order."""
        split = [passages(text) for text in texts]
        ids = iter(self._word_ids([passage for parts in split for passage in parts]))
        return [
            self._encoding(text, [next(ids) for _ in parts])
            for text, parts in zip(texts, split, strict=True)
        ]

    def ask(self, text: str) -> Question:
        """A query made ready for the index."""
        text = text[:QUESTION_CHARS]
        (ids,) = self._word_ids([text])
        terms = np.unique(self._words.terms(text))
        return Question(terms=terms, vector=self._mean(ids), words=np.unique(ids))

    def unit(self, words: npt.NDArray[np.uint16]) -> Floats:
        """The vectors of ``words``, each of unit length, shape (words, dimensions)."""
        found = self._vectors[words].astype(np.float32)
        found /= self._lengths[words][:, None]
        return found

    def cosines(self, words: npt.NDArray[np.uint16], vectors: Floats) -> Floats:
        """The cosine of each word with each of ``vectors``, which have unit length."""
        found: Floats = self._vectors[words].astype(np.float32) @ vectors.T
        found /= self._lengths[words][:, None]
        return found

    def rarity(self, words: npt.NDArray[np.uint16]) -> Floats:
        """How rare each word is in general, 0–1: the model shortens the vectors of common words."""
        found: Floats = np.minimum(self._lengths[words] / self._longest, 1.0)
        return found

    def decisive(self, words: npt.NDArray[np.uint16]) -> npt.NDArray[np.bool_]:
        """Which of ``words`` are numbers or negations: a text turns on them."""
        return self._decisive[words]

    def _encoding(self, text: str, ids: list[npt.NDArray[np.uint16]]) -> Encoding:
        vectors = np.stack([self._mean(part) for part in ids])
        return Encoding(
            model=self.name,
            vectors=vectors.astype("<f2").tobytes(),
            words=np.concatenate(ids).astype("<u2").tobytes(),
            lengths=np.array([len(part) for part in ids], dtype="<u2").tobytes(),
            terms=self._words.terms(text).astype("<u4").tobytes(),
        )

    def _word_ids(self, texts: list[str]) -> list[npt.NDArray[np.uint16]]:
        found = self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [self._known(np.array(encoding.ids, dtype=np.uint16)) for encoding in found]

    def _known(self, ids: npt.NDArray[np.uint16]) -> npt.NDArray[np.uint16]:
        return ids if self._unknown is None else ids[ids != self._unknown]

    def _mean(self, ids: npt.NDArray[np.uint16]) -> Floats:
        if not len(ids):
            return np.zeros(self.dimensions, dtype=np.float32)
        mean = self._vectors[ids].mean(axis=0, dtype=np.float32)
        return np.asarray(mean / (np.linalg.norm(mean) + 1e-9), dtype=np.float32)


def passages(text: str, limit: int = PASSAGE_CHARS) -> list[str]:
    """``text`` in parts of at most ``limit`` characters, cut at sentences, else at blanks.

    At least one part comes back, which is empty where the text is.
    """
    parts: list[str] = []
    for sentence in _SENTENCE_END.split(text):
        for piece in _cut(sentence.strip(), limit):
            if parts and len(parts[-1]) + 1 + len(piece) <= limit:
                parts[-1] += " " + piece
            else:
                parts.append(piece)
    return parts or [""]


def _cut(sentence: str, limit: int) -> list[str]:
    pieces = []
    while len(sentence) > limit:
        blank = sentence.rfind(" ", limit // 2, limit)
        end = blank if blank > 0 else limit
        pieces.append(sentence[:end])
        sentence = sentence[end:].lstrip()
    return [*pieces, sentence] if sentence else pieces


def _read_vectors(path: Path) -> npt.NDArray[np.generic]:
    """The word vectors; refuses models whose words share vectors, which need more than these."""
    if not path.is_file():
        raise FileNotFoundError(f"no embedding model: {path} is missing")
    try:
        with safe_open(path, framework="numpy") as tensors:
            names = sorted(tensors.keys())
            vectors: npt.NDArray[np.generic] = tensors.get_tensor("embeddings")
    except SafetensorError as error:
        raise ValueError(f"{path} holds no embeddings: {error}") from error
    if names != ["embeddings"]:
        raise ValueError(f"{path} holds {names}; only plain embeddings are supported")
    if vectors.ndim != 2:
        raise ValueError(f"{path} holds embeddings of {vectors.ndim} dimensions, not 2")
    return vectors


def read_tokenizer(path: Path) -> Tokenizer:
    """The tokenizer in a file, which neither cuts nor fills up.

    Raises ``OSError`` where it cannot be read and ``ValueError`` where it is no tokenizer.
    """
    text = path.read_text(encoding="utf-8")
    try:  # The library raises Exception itself, nothing more precise.
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:
        raise ValueError(f"{path} is not a tokenizer: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _unknown_id(tokenizer: Tokenizer) -> int | None:
    token = getattr(tokenizer.model, "unk_token", None)
    return tokenizer.token_to_id(token) if token else None


def _decisive(tokenizer: Tokenizer) -> npt.NDArray[np.bool_]:
    flags = np.zeros(tokenizer.get_vocab_size(), dtype=np.bool_)
    for token, number in tokenizer.get_vocab().items():
        word = token.removeprefix("##")
        flags[number] = any(map(str.isdigit, word)) or word in _NEGATIONS
    return flags


def _row_squares(vectors: npt.NDArray[np.generic]) -> Floats:
    """Squared lengths, a slice at a time: the whole as float32 would be 30 MB for a moment."""
    squares = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096].astype(np.float32)
        squares[start : start + 4096] = np.einsum("ij,ij->i", part, part)
    return squares
