import shutil
import socket
import stat

import pytest

from subcog.config.paths import find_paths
from subcog.pipeline.cli.client import connect
from subcog.pipeline.daemon.server import Listener
from subcog.pipeline.daemon.sockets import (
    AlreadyRunning,
    listen,
    listen_on_loopback,
    listen_on_the_same,
    only_one,
    socket_path,
    unlisten,
)


@pytest.fixture(params=["data", "runtime", "long"])
def paths(request, tmp_path):
    home = tmp_path / ("x" * 150) if request.param == "long" else tmp_path
    env = {"HOME": str(home)}
    if request.param == "runtime":
        env["XDG_RUNTIME_DIR"] = str(tmp_path / "run")
    found = find_paths(env)
    found.data.mkdir(parents=True, mode=0o700)
    return found


def test_a_client_connects_by_the_link_wherever_the_socket_is(paths):
    with listen(paths) as listener:
        client = connect(paths.link)
        assert client is not None
        client.close()
        assert stat.S_IMODE(socket_path(paths).stat().st_mode) == 0o600
        listener.close()
    assert connect(paths.link) is None
    unlisten(paths)
    assert connect(paths.link) is None


def test_a_socket_that_a_dead_daemon_left_is_replaced(paths):
    listen(paths).close()
    with listen(paths):
        client = connect(paths.link)
        assert client is not None
        client.close()


@pytest.mark.parametrize("kind", ["open to all", "a link", "a file"])
def test_the_socket_is_not_where_somebody_else_could_put_one(tmp_path, kind):
    paths = find_paths({"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(tmp_path / "run")})
    paths.data.mkdir(parents=True, mode=0o700)
    paths.runtime.parent.mkdir()
    if kind == "open to all":
        paths.runtime.mkdir()
        paths.runtime.chmod(0o777)
    elif kind == "a link":
        paths.runtime.symlink_to(paths.data)
    else:
        paths.runtime.touch()
    with listen(paths):
        assert socket_path(paths) == paths.link
        assert stat.S_ISSOCK(paths.link.lstat().st_mode)


def test_only_one_holds_the_lock(tmp_path):
    lock = tmp_path / "data" / "daemon.lock"
    with only_one(lock), pytest.raises(AlreadyRunning), only_one(lock):
        pass
    with only_one(lock):
        pass


def delete(folder):
    shutil.rmtree(folder)


def move(folder):
    folder.rename(folder.with_name("elsewhere"))


def replace(folder):
    move(folder)
    with only_one(folder / "daemon.lock"):
        pass


@pytest.mark.parametrize("take_away", [delete, move, replace])
def test_a_lock_whose_file_was_taken_away_is_not_in_place(tmp_path, take_away):
    with only_one(tmp_path / "data" / "daemon.lock") as lock:
        assert lock.is_in_place()
        take_away(tmp_path / "data")
        assert not lock.is_in_place()


async def test_a_listener_takes_its_own_file_along_and_no_other(paths):
    first = Listener(listen(paths), socket_path(paths))
    second = Listener(listen(paths), socket_path(paths))  # in its place
    first.close()
    assert socket_path(paths).is_socket()
    for _ in range(2):
        second.close()
        assert not socket_path(paths).exists()


def test_http_listens_on_the_loopback_interface_alone():
    with listen_on_loopback(0) as listener:
        host, port = listener.getsockname()
        assert host == "127.0.0.1"
        with socket.create_connection((host, port)):
            pass
        with pytest.raises(OSError, match="in use"):
            listen_on_loopback(port)


def test_a_port_that_was_picked_is_picked_again(tmp_path):
    file = tmp_path / "data" / "port"
    with listen_on_the_same(0, file) as listener:
        picked = listener.getsockname()[1]
    with listen_on_the_same(0, file) as listener:
        assert listener.getsockname()[1] == picked


def test_another_one_is_picked_where_it_is_taken(tmp_path):
    file = tmp_path / "port"
    with listen_on_the_same(0, file) as first, listen_on_the_same(0, file) as second:
        other = second.getsockname()[1]
        assert other != first.getsockname()[1]
    with listen_on_the_same(0, file) as third:
        assert third.getsockname()[1] == other


def test_the_settings_word_is_final(tmp_path):
    file = tmp_path / "port"
    with listen_on_the_same(0, file) as free:
        picked = free.getsockname()[1]
    with listen_on_the_same(picked, tmp_path / "other"):
        assert not (tmp_path / "other").exists()
