import anyio
import anyio.from_thread

from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.daemon.daemon import Daemon
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


async def test_a_daemon_leaves_for_another_build_once_it_is_what_would_be_started(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("subcog.pipeline.daemon.daemon.REPLACED_CHECK_S", 0.01)
    looked = anyio.Event()
    installed = ["now"]

    def read_build():
        if daemon is not None:
            anyio.from_thread.run_sync(looked.set)
        return installed[0]

    daemon = None
    monkeypatch.setattr("subcog.pipeline.daemon.daemon.read_build", read_build)
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    with only_one(paths.lock) as lock, anyio.fail_after(PATIENCE_S):
        settings = load_settings(paths.config_file, {"SUBCOG_HTTP_ENABLED": "false"})
        daemon = Daemon(settings, paths, lock)
        async with daemon._app.running(), anyio.create_task_group() as tasks:
            tasks.start_soon(daemon._leave_for_another)
            await anyio.wait_all_tasks_blocked()
            daemon._server.other_client.set()
            await looked.wait()
            assert not daemon._leaving.is_set(), "it is another installation that called"
            installed[0] = "updated"
            await daemon._leaving.wait()
