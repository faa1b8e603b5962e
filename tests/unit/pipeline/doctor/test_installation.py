import os
import socket

import pytest

from subcog.bus.service_results import StatusResult
from subcog.config.paths import find_paths
from subcog.pipeline.doctor.installation import _database as examine_database
from subcog.pipeline.doctor.installation import open_to_others
from tests.fakes import make_result


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


def test_a_daemon_that_has_the_checks_run_is_not_stopped_for_them(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.data.mkdir()
    status = make_result(StatusResult, {"pid": os.getppid(), "problem": "it is damaged"})
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.bind(str(paths.link))
        daemon.listen()
        daemon.setblocking(False)
        (finding,) = examine_database(paths, status)
        with pytest.raises(BlockingIOError):
            daemon.accept()
    assert (finding.ok, finding.seen) == (False, "it is damaged")
    assert "in a terminal" in finding.mend
