"""The stand-in for a server that tests cut: it must not leave sockets for another test to find."""

import gc
import socket
import threading
import warnings
from contextlib import ExitStack

from tests.proxy import HOST, Proxy

CONNECTIONS = 10


def test_what_connects_while_it_is_cut_leaves_no_socket_open():
    with ExitStack() as opened, warnings.catch_warnings(record=True) as leaks:
        warnings.simplefilter("always", ResourceWarning)
        target = opened.enter_context(socket.create_server((HOST, 0)))
        opened.callback(target.shutdown, socket.SHUT_RDWR)  # which wakes the thread
        threading.Thread(target=close_each, args=(target,), daemon=True).start()
        proxy = opened.enter_context(Proxy(target.getsockname()))
        for _ in range(CONNECTIONS):
            client = opened.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex((HOST, proxy.port))
        proxy.cut()
        gc.collect()
    assert [str(each.message) for each in leaks] == []


def close_each(target):
    while True:
        try:
            connection, _ = target.accept()
        except OSError:
            return
        connection.close()
