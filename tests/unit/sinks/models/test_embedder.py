import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from subcog.sinks.models.embedder import BUNDLED, Embedder, passages

TEXTS = [
    "We use argon2id for password hashing because bcrypt truncates at 72 bytes.",
    "`Repo.with_clinic/2` sets app.clinic_id; naïve café — 東京 ☃",
    "x",
    "parseHTTPResponse2 in src/http/client.go:117",
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def test_vectors_equal_those_of_the_library_that_made_the_model(embedder: Embedder) -> None:
    model2vec = pytest.importorskip("model2vec")
    theirs = model2vec.StaticModel.from_pretrained(BUNDLED).encode(TEXTS)
    for text, expected in zip(TEXTS, theirs, strict=True):
        vector = embedder.ask(text).vector
        assert vector is not None
        np.testing.assert_allclose(vector, expected, atol=1e-6)
        stored = np.frombuffer(embedder.encode(text).vectors, dtype="<f2").astype(np.float32)
        np.testing.assert_allclose(stored, expected, atol=5e-4)


def test_loading_imports_neither_the_library_nor_a_hub_client() -> None:
    code = (
        "import sys; from subcog.sinks.models.embedder import Embedder;"
        "Embedder.load().encode('a b');"
        "print(sorted({'model2vec', 'huggingface_hub', 'torch'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_encoding_has_a_vector_and_a_word_count_for_each_passage(embedder: Embedder) -> None:
    text = "The first sentence is about queues. " * 30
    encoding = embedder.encode(text)
    lengths = np.frombuffer(encoding.lengths, dtype="<u2")
    vectors = np.frombuffer(encoding.vectors, dtype="<f2").reshape(len(lengths), 256)
    assert len(lengths) == len(passages(text)) > 1
    assert len(encoding.words) == 2 * lengths.sum()
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float32), axis=1), 1, atol=1e-2)
    assert encoding.model == embedder.name


def test_many_texts_are_encoded_as_each_alone(embedder: Embedder) -> None:
    assert embedder.encode_many(TEXTS) == [embedder.encode(text) for text in TEXTS]


@pytest.mark.parametrize("text", ["", "   \n", "\x00", "☃" * 3])
def test_text_without_known_words_has_one_passage_and_no_direction(
    embedder: Embedder, text: str
) -> None:
    encoding = embedder.encode(text)
    assert len(encoding.lengths) == 2
    assert np.isfinite(np.frombuffer(encoding.vectors, dtype="<f2")).all()


def test_a_very_long_question_is_cut(embedder: Embedder) -> None:
    question = embedder.ask("kafka!!!" * 2000 + "postgres")
    assert len(question.terms) == 1


def test_passages_are_short_and_lose_nothing() -> None:
    text = "One sentence here. " * 40 + "y" * 1000 + " end of it.\n\nAnother paragraph."
    parts = passages(text)
    assert max(map(len, parts)) <= 400
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_names_tell_models_apart(embedder: Embedder, tmp_path: Path) -> None:
    assert Embedder.load().name == embedder.name
    assert tiny_model(tmp_path / "tiny", 3).name != embedder.name


def tiny_model(folder: Path, words: int, vectors: int | None = None) -> Embedder:
    folder.mkdir()
    vocab = {"[UNK]": 0} | {f"w{number}": number for number in range(1, words)}
    Tokenizer(WordLevel(vocab, unk_token="[UNK]")).save(str(folder / "tokenizer.json"))
    rows = np.ones((words if vectors is None else vectors, 4), dtype=np.float32)
    save_file({"embeddings": rows}, folder / "model.safetensors")
    return Embedder.load(folder)


def test_a_model_with_more_words_than_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most 65536"):
        tiny_model(tmp_path / "large", 65_537)


def test_a_model_whose_parts_do_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 words but 2 vectors"):
        tiny_model(tmp_path / "odd", 3, vectors=2)


def test_a_missing_model_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no embedding model"):
        Embedder.load(tmp_path)


def test_a_damaged_model_is_a_value_error(tmp_path: Path) -> None:
    shutil.copy(BUNDLED / "tokenizer.json", tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"garbage" * 10)
    with pytest.raises(ValueError, match="holds no embeddings"):
        Embedder.load(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"model": 3})])
def test_a_damaged_tokenizer_is_a_value_error(tmp_path: Path, content: str) -> None:
    shutil.copy(BUNDLED / "model.safetensors", tmp_path)
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(ValueError, match="is not a tokenizer"):
        Embedder.load(tmp_path)


def test_common_words_are_less_rare_than_seldom_ones(embedder: Embedder) -> None:
    words = embedder.ask("the").words, embedder.ask("bcrypt").words
    common, seldom = (float(embedder.rarity(word).max()) for word in words if word is not None)
    assert common < 0.2
    assert seldom > 0.5


def test_numbers_and_negations_decide(embedder: Embedder) -> None:
    words = embedder.ask("17 not").words
    other = embedder.ask("kafka").words
    assert words is not None
    assert other is not None
    assert embedder.decisive(words).all()
    assert not embedder.decisive(other).any()
