import subprocess
import sys

import click
import pytest

from subcog.pipeline.commands import daemon


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield process


def test_a_process_that_has_ended_is_not_waited_for_although_nobody_reaped_it(child, monkeypatch):
    monkeypatch.setattr(daemon, "STOP_S", 10.0)
    child.stdin.close()
    daemon._wait_for_exit(child.pid)
    assert child.returncode is None


def test_a_process_that_stays_is_told(child, monkeypatch):
    monkeypatch.setattr(daemon, "STOP_S", 0.0)
    with pytest.raises(click.ClickException, match=f"{child.pid} did not exit"):
        daemon._wait_for_exit(child.pid)
