"""The server that tests of a team use leaves nothing behind, whatever becomes of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import eventually

HOUSE = Path(__file__).parents[2]
SCRIPT = """
from tests.postgres import Server
server = Server()
server.start()
print(server.folder, flush=True)
input()
"""


@pytest.mark.slow
def test_a_server_goes_with_a_test_run_that_was_killed(postgres):
    run = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        cwd=HOUSE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    folder = Path(run.stdout.readline().strip())
    assert (folder / "data").is_dir()

    run.kill()
    run.communicate()

    eventually(lambda: not folder.exists())
