"""Where an installation would not last."""

from pathlib import Path

import pytest

from subcog.pipeline.commands.setup import is_temporary


@pytest.mark.parametrize(
    ("prefix", "is_gone_soon"),
    [
        ("/home/ana/.cache/uv/archive-v0/h2Q8xkZ9", True),
        ("/home/ana/.cache/uv/environments-v2/subcog-1f2e", True),
        ("/home/ana/.cache/pipx/3f5a9c1", True),
        ("/home/ana/.local/pipx/.cache/3f5a9c1", True),
        ("/home/ana/.local/share/uv/tools/subcog", False),
        ("/home/ana/.local/share/pipx/venvs/subcog", False),
        ("/home/ana/src/subcog/.venv", False),
        ("/usr", False),
    ],
)
def test_what_runs_out_of_a_cache_is_told_from_what_was_installed(prefix, is_gone_soon):
    assert is_temporary(Path(prefix)) is is_gone_soon
