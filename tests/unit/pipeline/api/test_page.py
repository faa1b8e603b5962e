import subprocess

from subcog.pipeline.api.page import COMMAND


def test_nothing_is_imported_from_the_directory_that_the_daemon_is_in(tmp_path):
    (tmp_path / "subcog").mkdir()
    (tmp_path / "subcog" / "__init__.py").write_text("print('from a checkout')")
    command = [*COMMAND, "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "from a checkout" not in ended.stdout
