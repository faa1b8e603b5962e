"""The embedding model: static word vectors, averaged into passage vectors.

The model is a ``model2vec.StaticModel`` built from the files of a folder (``tokenizer.json``,
``model.safetensors``): its own loader imports the client of a model hub, which costs time and
memory and is never needed here. Its tokens and its arrays are used; its ``encode`` is not, because
that reconfigures the shared tokenizer on every call and so makes a query wait for a running batch.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from safetensors import SafetensorError, safe_open
from tokenizers import Tokenizer

from ...bus.values import Encoding, Memory
from .analyzer import BREAK, Analyzer, searchable, text_encoding
from .arrays import distinct, percentile
from .grams import AskedWord

if TYPE_CHECKING:  # ``Embedder.load`` imports it, in a thread beside the opening of the store
    from model2vec import StaticModel

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

Array = npt.NDArray[np.generic]
Floats = npt.NDArray[np.float32]


class EncodedQuery(Struct, frozen=True):
    """A query made ready for the index.

    ``terms`` are its distinct words for text search; ``vector`` is float32 of unit length (all
    zero where the model knows no word); ``words`` are its distinct word ids. ``asked`` are the
    words of one in a language that the model does not know.
    """

    terms: npt.NDArray[np.uint32]
    vector: Floats | None = None
    words: npt.NDArray[np.uint16] | None = None
    asked: tuple[AskedWord, ...] = ()


class Embedder:
    """A loaded model. Immutable after loading, so any thread may use it."""

    def __init__(self, name: str, model: StaticModel) -> None:
        self.name = name
        self._model = model
        self._lengths = self._vector_lengths()
        # A few odd tokens are longer than all words.
        self._longest = percentile(self._lengths, 99)
        self._decisive = _decisive(model.tokens)
        self._analyzer = Analyzer()

    @classmethod
    def load(cls, folder: Path | None = None) -> Embedder:
        """Load the model in ``folder``; None is the one that is shipped, which is loaded once.

        Raises ``OSError`` where a file cannot be read and ``ValueError`` where it is not such a
        model, or one with more than 65,536 words.
        """
        return _bundled() if folder is None else cls._read(folder)

    @classmethod
    def _read(cls, folder: Path) -> Embedder:
        # The library's threads gain nothing on texts this short, and hinder a later fork.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        vectors, weights, mapping = _read_tensors(folder / "model.safetensors")
        bundled = folder == BUNDLED
        tokenizer = bundled_tokenizer() if bundled else read_tokenizer(folder / "tokenizer.json")
        label = "bundled" if bundled else folder.name
        _check_sizes(label, tokenizer.get_vocab_size(), vectors, weights, mapping)
        digest = zlib.crc32(np.ascontiguousarray(vectors).data)
        for array in (weights, mapping):
            if array is not None:
                digest = zlib.crc32(np.ascontiguousarray(array).data, digest)
        name = f"{label}-{vectors.shape[1]}-{digest:08x}-{ENCODING_VERSION}"
        return cls(name, _static_model(vectors, tokenizer, weights, mapping))

    @property
    def dimensions(self) -> int:
        return self._model.dim

    @property
    def vocabulary(self) -> int:
        return len(self._model.tokens)

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

    def encode_query(self, text: str) -> EncodedQuery:
        """A query made ready for the index."""
        text = text[:QUESTION_CHARS]
        (ids,) = self._word_ids([text])
        terms = distinct(self._analyzer.terms(text))
        return EncodedQuery(terms=terms, vector=self._mean(ids), words=distinct(ids))

    def most_alike(self, text: str, others: Sequence[str]) -> str:
        """The one of ``others`` whose meaning is the most like that of ``text``."""
        asked, *rest = map(self._mean, self._word_ids([text[:QUESTION_CHARS], *others]))
        return others[int(np.argmax([float(asked @ one) for one in rest]))]

    def unit(self, words: npt.NDArray[np.uint16]) -> Floats:
        """The vectors of ``words``, each of unit length, shape (words, dimensions)."""
        found = self._vectors_of(words)
        found /= self._lengths[words][:, None]
        return found

    def cosines(self, words: npt.NDArray[np.uint16], vectors: Floats) -> Floats:
        """The cosine of each word with each of ``vectors``, which have unit length."""
        found: Floats = self._vectors_of(words) @ vectors.T
        found /= self._lengths[words][:, None]
        return found

    def idf(self, words: npt.NDArray[np.uint16]) -> Floats:
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
            terms=self._analyzer.terms(text).astype("<u4").tobytes(),
        )

    def _word_ids(self, texts: list[str]) -> list[npt.NDArray[np.uint16]]:
        return [np.array(ids, dtype=np.uint16) for ids in self._model.tokenize(texts)]

    def _mean(self, ids: npt.NDArray[np.uint16]) -> Floats:
        if not len(ids):
            return np.zeros(self.dimensions, dtype=np.float32)
        mean = self._vectors_of(ids).mean(axis=0)
        return np.asarray(mean / (np.linalg.norm(mean) + 1e-9), dtype=np.float32)

    def _vectors_of(self, words: npt.NDArray[np.uint16]) -> Floats:
        """A copy of the words' vectors, shape (words, dimensions).

        Words of a model with a quantised vocabulary share vectors and have a weight each.
        """
        model = self._model
        rows = words if model.token_mapping is None else model.token_mapping[words]
        found: Floats = model.embedding[rows].astype(np.float32)
        if model.weights is not None:
            found *= model.weights[words].astype(np.float32)[:, None]
        return found

    def _vector_lengths(self) -> Floats:
        """The length of each word's vector, a slice at a time: all as float32 would be 30 MB."""
        lengths = np.empty(self.vocabulary, dtype=np.float32)
        for start in range(0, len(lengths), 4096):
            words = np.arange(start, min(start + 4096, len(lengths)))
            part = self._vectors_of(words.astype(np.uint16))
            lengths[start : start + 4096] = np.einsum("ij,ij->i", part, part)
        return np.sqrt(lengths) + np.float32(1e-9)


def passages(text: str, limit: int = PASSAGE_CHARS) -> list[str]:
    """``text`` in parts of at most ``limit`` characters, cut at sentences, else at blanks.

    None goes across a ``BREAK``. At least one part comes back, which is empty where the text is.
    """
    if BREAK in text:
        return [part for piece in text.split(BREAK) for part in passages(piece, limit)]
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


_Tensors = tuple[Array, Array | None, Array | None]


def _read_tensors(path: Path) -> _Tensors:
    """The vectors, and the weights and the mapping of words to vectors where there are any."""
    if not path.is_file():
        raise FileNotFoundError(f"no embedding model: {path} is missing")
    try:
        with safe_open(path, framework="numpy") as tensors:
            found = {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(f"{path} holds no embeddings: {error}") from error
    # sentence-transformers calls them "embedding.weight".
    vectors = found.get("embeddings", found.get("embedding.weight"))
    if vectors is None:
        raise ValueError(f"{path} holds no embeddings but {sorted(found)}")
    if vectors.ndim != 2:
        raise ValueError(f"{path} holds embeddings of {vectors.ndim} dimensions, not 2")
    return vectors, found.get("weights"), found.get("mapping")


def _check_sizes(
    label: str, words: int, vectors: Array, weights: Array | None, mapping: Array | None
) -> None:
    """Refuse tensors that do not fit the vocabulary: they would fail only when a word is met."""
    if words > _LARGEST_VOCABULARY:
        raise ValueError(f"the model {label} has {words} words; at most {_LARGEST_VOCABULARY} fit")
    if mapping is None and words != len(vectors):
        raise ValueError(f"the model {label} has {words} words but {len(vectors)} vectors")
    for name, array in (("mapping", mapping), ("weights", weights)):
        if array is not None and array.shape != (words,):
            raise ValueError(f"the model {label} has {words} words but {name} of {array.shape}")
    if mapping is not None and not 0 <= mapping.min() <= mapping.max() < len(vectors):
        raise ValueError(f"the model {label} maps words to vectors that it does not have")


def _static_model(
    vectors: Array, tokenizer: Tokenizer, weights: Array | None, mapping: Array | None
) -> StaticModel:
    from model2vec import StaticModel

    return StaticModel(
        vectors=vectors,
        tokenizer=tokenizer,
        normalize=True,
        weights=weights,
        token_mapping=mapping,
        max_length=None,
    )


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


@cache
def bundled_tokenizer() -> Tokenizer:
    """That of the model that is shipped, which the cross-encoder uses as well.

    A ``StaticModel`` works on a copy of its own.
    """
    return read_tokenizer(BUNDLED / "tokenizer.json")


@cache
def _bundled() -> Embedder:
    """The model that is shipped: a backup that is restored has no need of a second one."""
    return Embedder.load(BUNDLED)


def _decisive(tokens: Sequence[str]) -> npt.NDArray[np.bool_]:
    words = [token.removeprefix("##") for token in tokens]
    # Nearly all are letters alone, and to ask for that first takes a third of the time.
    flags = [
        word in _NEGATIONS or (not word.isalpha() and any(map(str.isdigit, word))) for word in words
    ]
    return np.array(flags, dtype=np.bool_)


class Encoder:
    """Encodes memories by the embedding model, or for text search alone while there is none.

    Set ``embedder`` when it arrives. May be called from any thread.
    """

    def __init__(self) -> None:
        self.embedder: Embedder | None = None
        self._analyzer = Analyzer()

    def encode(self, memory: Memory) -> Encoding:
        return self.encode_many([memory])[0]

    def encode_many(self, memories: Sequence[Memory]) -> list[Encoding]:
        """The encoding of each memory, in their order."""
        texts = [searchable(memory) for memory in memories]
        if self.embedder is None:
            return [text_encoding(text, self._analyzer) for text in texts]
        return self.embedder.encode_many(texts)

    def refresh(
        self, pairs: Sequence[tuple[Memory, Encoding]]
    ) -> Sequence[tuple[Memory, Encoding]]:
        """The pairs, encoded anew where their encoding comes from another model."""
        if self.embedder is None:
            return pairs
        stale = [memory for memory, encoding in pairs if encoding.model != self.embedder.name]
        made = zip(stale, self.encode_many(stale), strict=True)
        anew = {memory.id: encoding for memory, encoding in made}
        return [(memory, anew.get(memory.id, encoding)) for memory, encoding in pairs]
