"""What the test programs of several processes on loopback share."""

import os
import socket


def listening():
    """A listening socket, and its address."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    return listener, listener.getsockname()


def connected(address):
    """A connection that sends at once."""
    connection = socket.create_connection(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def started(work):
    """Starts a process that does `work`."""
    process = os.fork()
    if process == 0:
        try:
            work()
        finally:
            os._exit(0)
    return process
