"""Two processes that talk over loopback and unix sockets with constant names and messages.

usage: same_names.py server DIRECTORY       prints its id, and serves until it is killed
       same_names.py client DIRECTORY       sends requests
       same_names.py both DIRECTORY GO      prints the ids of both, and sends requests when the file GO
                                            exists
"""

import os
import socket
import sys
import threading
import time

ROUNDS = 100
TCP, UDP = ("127.0.0.1", 9000), ("127.0.0.1", 9001)
# The clients' addresses are chosen, too.
TCP_OWN, UDP_OWN = ("127.0.0.1", 9100), ("127.0.0.1", 9101)


def unix(directory, name):
    return "\0same-names-" + name if name.startswith("abstract") else f"{directory}/{name}"


# A release for each returned call: a process that ends before records no such
# call.
answered = threading.Semaphore(0)


def stream(sock, answer):
    while data := sock.recv(4096):
        sock.sendall(answer(data))
        answered.release()


def upper(data):
    return data.upper()


def serve(directory):
    """Servers of all kinds, which serve forever."""
    for name in (TCP, unix(directory, "stream"), unix(directory, "abstract-stream")):
        listener = socket.socket(socket.AF_INET if name is TCP else socket.AF_UNIX, socket.SOCK_STREAM)
        if name is TCP:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(name)
        listener.listen()

        def accept(listener=listener):
            while True:
                sock, _ = listener.accept()
                with sock:
                    stream(sock, upper)

        threading.Thread(target=accept, daemon=True).start()
    for name in (UDP, unix(directory, "datagram"), unix(directory, "abstract-datagram")):
        sock = socket.socket(socket.AF_INET if name is UDP else socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.bind(name)

        def answer(sock=sock):
            while True:
                data, sender = sock.recvfrom(4096)
                sock.sendto(upper(data), sender)
                answered.release()

        threading.Thread(target=answer, daemon=True).start()


def ask(directory):
    message = b"the same in all places"
    for name, own in (
        (TCP, TCP_OWN),
        (unix(directory, "stream"), None),
        (unix(directory, "abstract-stream"), None),
    ):
        sock = socket.socket(socket.AF_INET if name is TCP else socket.AF_UNIX, socket.SOCK_STREAM)
        if own:
            sock.bind(own)
        sock.connect(name)
        for _ in range(ROUNDS):
            sock.sendall(message)
            assert sock.recv(4096) == upper(message)
        sock.close()
    for name, own in (
        (UDP, UDP_OWN),
        (unix(directory, "datagram"), unix(directory, "datagram-client")),
        (unix(directory, "abstract-datagram"), unix(directory, "abstract-datagram-client")),
    ):
        sock = socket.socket(socket.AF_INET if name is UDP else socket.AF_UNIX, socket.SOCK_DGRAM)
        sock.bind(own)
        for _ in range(ROUNDS):
            sock.sendto(message, name)
            assert sock.recv(4096) == upper(message)
        sock.close()


role, directory, *rest = sys.argv[1:]
if role == "client":
    ask(directory)
    sys.exit(0)
# The child is forked before there are threads.
read, write = os.pipe()
child = os.fork() if role == "both" else None
if child == 0:
    os.read(read, 1)
    ask(directory)
    os._exit(0)
serve(directory)
print(os.getpid(), child or "", flush=True)
while not (rest and os.path.exists(rest[0])):
    time.sleep(0.001)
os.write(write, b"g")
_, status = os.waitpid(child, 0)
for _ in range(0 if status else 6 * ROUNDS):
    answered.acquire(timeout=60)
sys.exit(status)
