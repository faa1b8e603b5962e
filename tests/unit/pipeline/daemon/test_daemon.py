from pathlib import Path

import anyio

from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.hooks import client
from subcog.pipeline.daemon.daemon import Daemon, is_replaced
from subcog.pipeline.daemon.sockets import is_reachable, only_one
from tests.waiting import PATIENCE_S


async def test_a_daemon_that_leaves_does_not_listen_again(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    with only_one(paths.lock) as lock, anyio.fail_after(PATIENCE_S):
        settings = load_settings(paths.config_file, {"SUBCOG_HTTP_ENABLED": "false"})
        daemon = Daemon(settings, paths, lock)
        async with daemon._app.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(daemon._keep_listening, tasks)
            await anyio.wait_all_tasks_blocked()
            daemon.leave()
        assert not is_reachable(paths)


def test_what_is_installed_is_replaced_by_another_version_or_removed(tmp_path):
    ours = Path(client.__file__)
    assert not is_replaced(ours)
    newer = tmp_path / "client.py"
    newer.write_text(ours.read_text().replace(client.VERSION, "99.0.0"))
    assert is_replaced(newer)
    assert is_replaced(tmp_path / "gone.py")
