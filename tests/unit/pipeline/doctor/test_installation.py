import platform
import sys

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.doctor.installation import open_to_others, reading
from subcog.sinks.models.cross_encoder import CrossEncoder


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('[team]\nurl = "postgresql://ana:s3cret@db/subcog"\n', True),
        ('[team]\nurl = "postgresql://ana@db/subcog"\n', False),
        ("[http]\nport = 1\n", False),
        ("not toml", False),
    ],
)
def test_settings_that_others_may_read_are_named_where_a_password_stands_in_them(
    text, secret, tmp_path
):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.config.mkdir()
    paths.config_file.write_text(text)
    paths.config_file.chmod(0o644)
    assert open_to_others(paths) == ([paths.config_file] if secret else [])
    paths.config_file.chmod(0o600)
    assert open_to_others(paths) == []


def test_where_candidates_can_be_read_it_is_well():
    found = reading()
    assert (found.ok, found.seen) == (True, "the reranker is available")


def test_where_the_runtime_is_missing_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    found = reading()
    assert not found.ok
    assert "pip install onnxruntime" in found.mend


def test_where_there_is_no_runtime_for_the_machine_nothing_is_wrong(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.setattr(sys, "platform", "darwin")
    for machine, well in (("x86_64", True), ("arm64", False)):
        monkeypatch.setattr(platform, "machine", lambda machine=machine: machine)
        assert reading().ok is well
    assert "not reranked" in reading().seen


def test_a_damaged_model_is_named(monkeypatch):
    def load():
        raise ValueError("tables.safetensors is damaged")

    monkeypatch.setattr(CrossEncoder, "load", load)
    found = reading()
    assert (found.ok, found.seen) == (False, "tables.safetensors is damaged")
    assert "reinstall subcog" in found.mend
