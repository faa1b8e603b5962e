import errno
import socket
import struct

import anyio
import pytest

from subcog.pipeline.daemon.server import Listener

PATIENCE_S = 10


@pytest.fixture
def listening(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as here:
        here.bind("s")
        here.listen(64)
        here.setblocking(False)
        yield here


def knock():
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect("s")
    except OSError:
        client.close()
        raise
    return client


async def test_all_who_wait_are_let_in_though_none_is_answered_yet(listening):
    listener, seen, most = Listener(listening), 0, 30
    everybody = anyio.Event()

    async def serve(stream):
        nonlocal seen
        seen += 1
        if seen == most:
            everybody.set()
        async with stream:
            await everybody.wait()

    clients = [knock() for _ in range(most)]
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve, tasks)
            await everybody.wait()
            listener.close()
    for client in clients:
        client.close()


async def test_closing_ends_it_and_nobody_else_is_let_in(listening):
    listener = Listener(listening)

    async def serve(stream):
        await stream.aclose()

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(listener.serve, serve, tasks)
            await anyio.wait_all_tasks_blocked()
            listener.close()
    with pytest.raises(ConnectionRefusedError):
        knock()


class Full(socket.socket):
    """A listening socket of a process that has used up its descriptors for a while."""

    failures = 2

    def accept(self):
        if self.failures:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


async def test_without_descriptors_it_waits_until_there_are_some(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    served = anyio.Event()

    async def serve(stream):
        await stream.aclose()
        served.set()

    with Full(socket.AF_UNIX) as full:
        full.bind("s")
        full.listen()
        full.setblocking(False)
        listener = Listener(full)
        with knock(), anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, serve, tasks)
                await served.wait()
                listener.close()
    assert [record.message for record in caplog.records] == ["cannot accept connections"] * 2


async def test_who_is_gone_before_being_let_in_harms_nobody():
    served = anyio.Event()

    async def serve(stream):
        await stream.aclose()
        served.set()

    with socket.create_server(("127.0.0.1", 0)) as here, anyio.fail_after(PATIENCE_S):
        here.setblocking(False)
        with socket.create_connection(here.getsockname()) as gone:
            # A reset: such a socket is accepted, and has no peer any more.
            gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        listener = Listener(here)
        with socket.create_connection(here.getsockname()):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, serve, tasks)
                await served.wait()
                listener.close()
