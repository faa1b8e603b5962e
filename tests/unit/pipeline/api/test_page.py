import subprocess
from types import SimpleNamespace

import pytest

from subcog.pipeline.api.page import COMMAND, PageCalls
from subcog.pipeline.entrance import places as module
from subcog.pipeline.entrance.places import Places
from subcog.sinks.page.visits import Refused
from tests.fakes import OffTheLoop


async def test_the_page_waits_for_a_projects_disk_off_the_event_loop(tmp_path, monkeypatch):
    page = PageCalls(None, None, SimpleNamespace(places=Places(OffTheLoop(), "me")))
    fields = {"project": str(tmp_path)}
    assert page.project(fields) == tmp_path.name
    assert [scope.kind for scope in await page.readable(fields)] == ["project", "user", "org"]
    monkeypatch.setattr(module, "WITHIN_S", 0)
    with pytest.raises(Refused):
        await page.readable(fields)


def test_nothing_is_imported_from_the_directory_that_the_daemon_is_in(tmp_path):
    (tmp_path / "subcog").mkdir()
    (tmp_path / "subcog" / "__init__.py").write_text("print('from a checkout')")
    command = [*COMMAND, "--version"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "from a checkout" not in ended.stdout
