"""A front that calls a back end for each of its client's requests, over a unix socket whose queue
is full, so that `connect` waits for the back end. `connecting.py each COUNT` makes a connection
for each request, `connecting.py once COUNT` one before the first. The front writes the duration of
each connect call, in nanoseconds, to the file `waited`.
"""

import os
import select
import socket
import sys
import time

KIND, COUNT = sys.argv[1], int(sys.argv[2])
WORK = 0.01  # The front's own work for each request, in seconds.
# The back end's work before it accepts: a single time must be longer than a start of the front.
BUSY = 0.04 if KIND == "each" else 1.0


def back(listener):
    """Accepts a connection that only fills the queue, and then the front's."""
    for _ in range(COUNT if KIND == "each" else 1):
        time.sleep(BUSY)
        filling, _ = listener.accept()
        peer, _ = listener.accept()
        while peer.recv(100):
            if filling:
                filling.close()  # It connects again, and the queue is full.
                filling = None
                select.select([listener], [], [])
            peer.sendall(b"answer from the back end")
        peer.close()


def fill(path):
    """Keeps the queue full."""
    while True:
        end = socket.socket(socket.AF_UNIX)
        end.connect(path)
        end.recv(1)
        end.close()


def front(listener, path):
    waited = open("waited", "w")

    def connect():
        end = socket.socket(socket.AF_UNIX)
        before = time.monotonic_ns()
        end.connect(path)
        print(time.monotonic_ns() - before, file=waited)
        return end

    kept = connect() if KIND == "once" else None
    peer, _ = listener.accept()
    while peer.recv(100):
        time.sleep(WORK)
        end = kept or connect()
        end.sendall(b"question to the back end")
        assert end.recv(100)
        if not kept:
            end.close()
        peer.sendall(b"answer")
    waited.close()


def main():
    path = "back"
    local = socket.socket(socket.AF_UNIX)
    local.bind(path)
    local.listen(0)
    tcp = socket.create_server(("127.0.0.1", 0))
    children = []
    for work in (lambda: back(local), lambda: fill(path)):
        children.append(os.fork())
        if children[-1] == 0:
            work()
            os._exit(0)
    select.select([local], [], [])
    children.append(os.fork())
    if children[-1] == 0:
        front(tcp, path)
        os._exit(0)
    client = socket.create_connection(tcp.getsockname())
    for _ in range(COUNT):
        client.sendall(b"request")
        assert client.recv(100)
    client.close()
    os.waitpid(children[2], 0)
    os.waitpid(children[0], 0)
    os.kill(children[1], 9)
    os.waitpid(children[1], 0)


main()
