import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from model2vec import StaticModel
from safetensors.numpy import save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from subcog.sinks.models.analyzer import BREAK
from subcog.sinks.models.embedder import BUNDLED, Embedder, passages

STORED = Path(__file__).with_name("vectors.npy")
TEXTS = [
    "We use argon2id for password hashing because bcrypt truncates at 72 bytes.",
    "`Repo.with_clinic/2` sets app.clinic_id; naïve café — 東京 ☃",
    "x",
    "parseHTTPResponse2 in src/http/client.go:117",
]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder.load()


def test_vectors_equal_those_of_the_library(embedder: Embedder) -> None:
    theirs = StaticModel.from_pretrained(BUNDLED).encode(TEXTS)
    for text, expected in zip(TEXTS, theirs, strict=True):
        vector = embedder.encode_query(text).vector
        assert vector is not None
        np.testing.assert_allclose(vector, expected, atol=1e-6)
        stored = np.frombuffer(embedder.encode(text).vectors, dtype="<f2").astype(np.float32)
        np.testing.assert_allclose(stored, expected, atol=5e-4)


def test_vectors_equal_those_that_are_stored_in_databases(embedder: Embedder) -> None:
    """Written before the library loaded the model; memories of that time must stay comparable."""
    for text, expected in zip(TEXTS, np.load(STORED), strict=True):
        np.testing.assert_allclose(embedder.encode_query(text).vector, expected, atol=1e-6)
    assert embedder.name == "bundled-256-0ac5a464-1"


def test_a_model_with_a_quantised_vocabulary_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "quantised"
    chance = np.random.default_rng(3)
    tensors = {
        "embeddings": chance.normal(size=(3, 4)).astype(np.float32),
        "weights": chance.uniform(0.5, 2, size=6).astype(np.float32),
        "mapping": np.array([0, 2, 1, 1, 0, 2], dtype=np.int32),
    }
    embedder = tiny_model(folder, 6, tensors=tensors)
    (folder / "config.json").write_text('{"normalize": true}')
    expected = StaticModel.from_pretrained(folder).encode("w1 w2 w3 w5")
    np.testing.assert_allclose(embedder.encode_query("w1 w2 w3 w5").vector, expected, atol=1e-6)
    lengths = np.linalg.norm(embedder.unit(np.array([1, 5], dtype=np.uint16)), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_a_model_that_sentence_transformers_saved_is_read(tmp_path: Path) -> None:
    rows = {"embedding.weight": np.eye(3, 4, dtype=np.float32)}
    vector = tiny_model(tmp_path / "saved", 3, tensors=rows).encode_query("w2").vector
    assert vector is not None
    np.testing.assert_allclose(vector, [0, 0, 1, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"mapping": np.array([0, 1], dtype=np.int32)}, "mapping of"),
        ({"mapping": np.array([0, 1, 9], dtype=np.int32)}, "vectors that it does not have"),
        ({"weights": np.ones(2, dtype=np.float32)}, "weights of"),
    ],
)
def test_tensors_that_do_not_fit_the_vocabulary_are_refused(
    tmp_path: Path, tensors: dict[str, np.ndarray], message: str
) -> None:
    vectors = {"embeddings": np.ones((3, 4), dtype=np.float32)}
    with pytest.raises(ValueError, match=message):
        tiny_model(tmp_path / "odd", 3, tensors=vectors | tensors)


def test_loading_imports_no_hub_client() -> None:
    code = (
        "import sys; from subcog.sinks.models.embedder import Embedder;"
        "early = {'model2vec'} & set(sys.modules);"
        "Embedder.load().encode('a b');"
        "print(sorted(early | {'huggingface_hub', 'torch'} & set(sys.modules)))"
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
    question = embedder.encode_query("kafka!!!" * 2000 + "postgres")
    assert len(question.terms) == 1


def test_passages_are_short_and_lose_nothing() -> None:
    text = "One sentence here. " * 40 + "y" * 1000 + " end of it.\n\nAnother paragraph."
    parts = passages(text)
    assert max(map(len, parts)) <= 400
    assert "".join("".join(parts).split()) == "".join(text.split())


def test_names_tell_models_apart(embedder: Embedder, tmp_path: Path) -> None:
    assert Embedder.load(BUNDLED).name == embedder.name
    assert tiny_model(tmp_path / "tiny", 3).name != embedder.name


def tiny_model(folder: Path, words: int, tensors: dict[str, np.ndarray] | None = None) -> Embedder:
    folder.mkdir()
    vocab = {"[UNK]": 0} | {f"w{number}": number for number in range(1, words)}
    model = Tokenizer(WordLevel(vocab, unk_token="[UNK]"))
    model.pre_tokenizer = Whitespace()
    model.save(str(folder / "tokenizer.json"))
    rows = np.ones((words, 4), dtype=np.float32)
    save_file(tensors or {"embeddings": rows}, folder / "model.safetensors")
    return Embedder.load(folder)


def test_a_model_with_more_words_than_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at most 65536"):
        tiny_model(tmp_path / "large", 65_537)


def test_a_model_whose_parts_do_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="3 words but 2 vectors"):
        tiny_model(tmp_path / "odd", 3, {"embeddings": np.ones((2, 4), dtype=np.float32)})


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
    words = embedder.encode_query("the").words, embedder.encode_query("bcrypt").words
    common, seldom = (float(embedder.idf(word).max()) for word in words if word is not None)
    assert common < 0.2
    assert seldom > 0.5


def test_numbers_and_negations_decide(embedder: Embedder) -> None:
    words = embedder.encode_query("17 not").words
    other = embedder.encode_query("kafka").words
    assert words is not None
    assert other is not None
    assert embedder.decisive(words).all()
    assert not embedder.decisive(other).any()


def test_no_passage_goes_across_a_break():
    assert passages(f"One. Two.{BREAK}Three?{BREAK}Four?") == ["One. Two.", "Three?", "Four?"]


def test_the_most_alike_is_told_by_its_meaning(embedder):
    others = ("when is payday?", "which database do we use?", "how is a release deployed?")
    assert embedder.most_alike("where do we keep the tables, in Postgres?", others) == others[1]
    assert embedder.most_alike("", others) in others
