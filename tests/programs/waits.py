"""A server whose requests each wait for one thing, for about ten milliseconds.

    waits.py serve        prints its port, serves connections until its input ends
    waits.py ask PORT N   asks for each kind N times, and ends

A request is a line that names its kind. `peer` asks a second server of the same process family,
which sleeps."""

import os
import socket
import sys
import threading
import time

TOOK = 0.010
lock = threading.Lock()


def spin():
    begin = time.thread_time()
    while time.thread_time() - begin < TOOK:
        pass


def hold_and_wait():
    """Another thread holds the lock, and gives it back after the time."""
    holds = threading.Event()

    def hold():
        with lock:
            holds.set()
            time.sleep(TOOK)

    threading.Thread(target=hold).start()
    holds.wait()
    with lock:
        pass


def sync():
    begin = time.monotonic()
    with open("waits.data", "wb", buffering=0) as file:
        while time.monotonic() - begin < TOOK:
            file.write(b"x" * 65536)
            os.fsync(file.fileno())


def ask(port, line):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(line + b"\n")
        connection.recv(64)


def serve(listener, kinds):
    while True:
        connection, _ = listener.accept()
        line = connection.recv(64)
        kinds[line.strip()]()
        connection.sendall(b"done\n")
        connection.close()


def listen():
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


if sys.argv[1] == "serve":
    slow, slow_port = listen()
    front, port = listen()
    if os.fork() == 0:
        serve(slow, {b"sleep": lambda: time.sleep(TOOK)})
    kinds = {
        b"spin": spin,
        b"sleep": lambda: time.sleep(TOOK),
        b"lock": hold_and_wait,
        b"disk": sync,
        b"peer": lambda: ask(slow_port, b"sleep"),
    }
    threading.Thread(target=serve, args=(front, kinds), daemon=True).start()
    print(port, flush=True)
    sys.stdin.read()
    os.kill(0, 15)
else:
    for _ in range(int(sys.argv[3])):
        for kind in [b"spin", b"sleep", b"lock", b"disk", b"peer"]:
            ask(int(sys.argv[2]), kind)
