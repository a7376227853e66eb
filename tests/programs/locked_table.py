"""A database with a table that another client locks at times, and an application that asks it.

usage: locked_table.py REQUESTS

The application has one request open at a time, and makes three calls for each; the second one waits
while the table is locked. The other client locks the table for 40 ms, and releases it by a message.
"""

import os
import signal
import socket
import sys
import threading
import time

from local_processes import connected, listening, started


def ask(connection, request):
    """Sends a request, and waits for its response."""
    connection.sendall(request)
    return connection.recv(4096)


def database(listener):
    """Answers reads at once, and writes as soon as the table is not locked."""
    free = threading.Event()
    free.set()

    def answer(connection):
        while request := connection.recv(4096):
            if request.startswith(b"lock"):
                free.clear()
            elif request.startswith(b"unlock"):
                free.set()
            elif request.startswith(b"write"):
                free.wait()
                time.sleep(0.001)
            connection.sendall(b"done" if b"lock" in request else b"r" * 60)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def application(listener, database_address):
    """Makes three calls for each request."""
    calls = connected(database_address)
    client, _ = listener.accept()
    while client.recv(4096):
        for request in (b"read number", b"write number now", b"read number"):
            ask(calls, request)
        client.sendall(b"a" * 200)


def locker(database_address):
    """Locks the table now and then."""
    calls = connected(database_address)
    while True:
        ask(calls, b"lock table")
        time.sleep(0.04)
        ask(calls, b"unlock table")
        time.sleep(0.06)


def main():
    """Starts all processes, is the client, and ends them."""
    (database_socket, database_address), (entry, entry_address) = listening(), listening()
    processes = [
        started(lambda: database(database_socket)),
        started(lambda: application(entry, database_address)),
        started(lambda: locker(database_address)),
    ]
    time.sleep(0.3)
    client = connected(entry_address)
    for _ in range(int(sys.argv[1])):
        ask(client, b"request")
        time.sleep(0.01)
    for process in processes:
        os.kill(process, signal.SIGTERM)


main()
