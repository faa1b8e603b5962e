import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from subcog.sinks.models.cross_encoder import (
    MODEL,
    CrossEncoder,
    load_bundled,
    load_contradictions,
)
from tests.waiting import ends_soon

FILES = ("layers.onnx", "words.npy", "scales.npy", "positions.npy", "sides.npy")
QUESTION = "Why did we stop using Redis for the job queue?"
ANSWER = (
    "decisions: We dropped Redis from the job queue because it lost jobs when it was restarted."
)
SHARES_WORDS = "context: The job queue dashboard is on port 9181, next to the Redis exporter."


@pytest.fixture(scope="module")
def reranker() -> CrossEncoder:
    return CrossEncoder.load()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the model, to be damaged."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


@pytest.mark.parametrize("load", [load_bundled, load_contradictions])
def test_a_model_that_is_shipped_is_loaded_once(load):
    assert load() is load() is not None
    assert load_bundled() is not load_contradictions()


@pytest.mark.parametrize(
    ("question", "answer", "shares_words"),
    [
        (QUESTION, ANSWER, SHARES_WORDS),
        (
            "How are passwords hashed here?",
            "decisions: Credentials are stored with argon2id, 64 MB and three passes.",
            "gotchas: Passwords here must not contain a colon, or basic authentication fails.",
        ),
        (
            "How long do we keep the nightly backups?",
            "context: Each night's dump of the database is deleted after 30 days.",
            "gotchas: The nightly backups fail when the disk of the build host is full.",
        ),
    ],
)
def test_what_answers_is_ahead_of_what_shares_the_words(
    reranker: CrossEncoder, question: str, answer: str, shares_words: str
) -> None:
    assert reranker.score(question, answer) > reranker.score(question, shares_words)


def test_an_answer_is_likelier_one_than_not_and_a_stranger_is_none(reranker: CrossEncoder) -> None:
    assert reranker.score(QUESTION, ANSWER) > 0
    assert reranker.score(QUESTION, "patterns: Buttons are blue, links are underlined.") < 0


def test_a_score_does_not_depend_on_what_was_read_before(reranker: CrossEncoder) -> None:
    alone = reranker.score(QUESTION, ANSWER)
    for other in ("", SHARES_WORDS, "x " * 500):
        reranker.score(other, other)
        assert reranker.score(QUESTION, ANSWER) == alone


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t",
        "\x00\x1b[2J\x07\ud800".encode("utf-16", "surrogatepass").decode("utf-16", "replace"),
        "☃🏳️‍🌈" * 400,
        "ключи ротируются каждый понедельник — 部署密钥每周一轮换 — مفتاح",
        "[SEP] [CLS] [MASK] [PAD]" * 100,
        "\N{COMBINING GRAVE ACCENT}" * 5000,
    ],
    ids=["empty", "blank", "control", "emoji", "scripts", "special", "combining"],
)
def test_whatever_stands_on_either_side_has_a_finite_score(
    reranker: CrossEncoder, text: str
) -> None:
    assert np.isfinite([reranker.score(text, ANSWER), reranker.score(QUESTION, text)]).all()
    assert np.isfinite(reranker.score(text, text))


@pytest.mark.parametrize("token", ["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]"])
def test_a_special_token_that_somebody_wrote_is_text(reranker: CrossEncoder, token: str) -> None:
    told, asked = f"{SHARES_WORDS} {token} {ANSWER}", f"{QUESTION} {token} x"
    assert reranker.score(QUESTION, told) == reranker.score(
        QUESTION, told.replace(token, token.lower())
    )
    assert reranker.score(asked, ANSWER) == reranker.score(
        asked.replace(token, token.lower()), ANSWER
    )


@pytest.mark.parametrize("unit", ["x", "redis ", "🏳️‍🌈", "\x00"])
def test_a_megabyte_costs_no_more_than_its_beginning(reranker: CrossEncoder, unit: str) -> None:
    huge = unit * (1_000_000 // len(unit))
    with ends_soon():
        assert np.isfinite(reranker.score(huge, huge))
    assert reranker.score(QUESTION, huge) == reranker.score(QUESTION, huge[:20_000])


@pytest.mark.parametrize("lines", [10, 1000])
def test_a_long_question_keeps_its_beginning_and_its_end(
    reranker: CrossEncoder, lines: int
) -> None:
    pasted = "error: the build has failed, see above. " * lines
    whole = reranker.score(f"{QUESTION} {pasted}{QUESTION}", ANSWER)
    assert reranker.score(f"{QUESTION} {pasted}{pasted}{QUESTION}", ANSWER) == whole
    assert reranker.score(f"{QUESTION} {pasted}", ANSWER) != whole
    assert reranker.score(f"{pasted}{QUESTION}", ANSWER) != whole


def test_of_a_memory_its_beginning_counts(reranker: CrossEncoder) -> None:
    padding = " and so on" * 100
    assert reranker.score(QUESTION, ANSWER + padding) == reranker.score(
        QUESTION, ANSWER + padding * 2
    )


def test_only_loading_it_imports_the_runtime() -> None:
    code = (
        "import sys; from subcog.sinks.models.cross_encoder import CrossEncoder;"
        "print('onnxruntime' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_runtime_sends_nothing_and_keeps_nothing_in_the_home(tmp_path: Path) -> None:
    code = (
        "import os; from subcog.sinks.models.cross_encoder import CrossEncoder;"
        "CrossEncoder.load().score('question', 'answer');"
        "print(len(os.listdir('/proc/self/task')) if os.path.isdir('/proc') else 2)"
    )
    # In a build server the runtime would be quiet by itself.
    quiet = {"CI", "TF_BUILD", "GITHUB_ACTIONS", "ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME"}
    env = {name: value for name, value in os.environ.items() if name not in quiet}
    env["HOME"] = str(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert list(tmp_path.rglob("*")) == []
    assert int(done.stdout) <= 2  # an uploader would bring threads of its own
    assert done.stderr == ""


# --- what is damaged ------------------------------------------------------------------------------


def test_where_the_runtime_is_not_installed_it_is_an_import_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ImportError):
        CrossEncoder.load()


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_an_os_error(folder: Path, name: str) -> None:
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError):
        CrossEncoder.load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kept", [0, 7, 200, 3000])
def test_a_file_that_was_cut_is_a_value_error(folder: Path, name: str, kept: int) -> None:
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:kept])
    with pytest.raises(ValueError, match=r"damaged|cannot be run"):
        CrossEncoder.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_bytes_of_something_else_are_a_value_error(folder: Path, name: str) -> None:
    (folder / name).write_bytes(b"<html>404 not found</html>" * 1000)
    with pytest.raises(ValueError, match=r"damaged|cannot be run"):
        CrossEncoder.load(folder)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("words", np.s_[:-1]),
        ("words", np.s_[:, :-1]),
        ("scales", np.s_[:-1]),
        ("positions", np.s_[:100]),
        ("positions", np.s_[:, :100]),
        ("sides", np.s_[:1]),
    ],
)
def test_files_of_different_models_are_a_value_error(folder: Path, name: str, part: object) -> None:
    table = np.load(folder / f"{name}.npy")
    np.save(folder / f"{name}.npy", table[part])
    with pytest.raises(ValueError, match="do not fit together"):
        CrossEncoder.load(folder)


@pytest.mark.parametrize("was", [b"'descr'", b"}"])
def test_a_damaged_head_of_a_table_is_a_value_error(folder: Path, was: bytes) -> None:
    file = folder / "sides.npy"
    file.write_bytes(file.read_bytes().replace(was, b"(" * len(was), 1))
    with pytest.raises(ValueError, match="damaged"):
        CrossEncoder.load(folder)


def test_vectors_that_give_no_score_are_a_value_error(folder: Path) -> None:
    sides = np.load(folder / "sides.npy")
    np.save(folder / "sides.npy", np.full_like(sides, np.nan))
    with pytest.raises(ValueError, match="damaged"):
        CrossEncoder.load(folder)


def test_damaged_layers_are_told_to_the_caller_alone(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    layers = (folder / "layers.onnx").read_bytes()
    (folder / "layers.onnx").write_bytes(layers.replace(b"Reshape", b"Reshap\xff"))
    with pytest.raises(ValueError, match=r"cannot be run|codec"):
        CrossEncoder.load(folder)
    assert capfd.readouterr() == ("", "")


def test_objects_are_not_unpickled(folder: Path) -> None:
    np.save(folder / "sides.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="damaged"):
        CrossEncoder.load(folder)
