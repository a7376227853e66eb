"""Client of kinds.cpp: some concurrent clients send a mixture of requests, determined by a seed,
and their times are written.

usage: kinds_client.py PORT TRUTH --mix KINDS [--clients N] [--requests N] [--seed N] [--close]

KINDS are letters, such as "abef": each request has a random one of them, with equal probabilities.
The table TRUTH (CSV) has a row for each request: its number, kind, client, the client's port,
begin and end in nanoseconds since the Unix epoch, and the bytes of the response.
"""

import argparse
import csv
import random
import socket
import threading
import time

FIELDS = ("number", "kind", "client", "port", "begin", "end", "bytes")


def ask(connection, kind, number):
    """Sends a request of this kind; returns the bytes of its response."""
    connection.sendall(f"GET /{kind}/{number:08} HTTP/1.1\r\nHost: kinds\r\n\r\n".encode())
    answer = b""
    while b"\r\n\r\n" not in answer:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError(f"request {number}: the server closed the connection")
        answer += part
    head, _, content = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    got = len(content)
    while got < length:
        part = connection.recv(65536)
        if not part:
            raise ConnectionError(f"request {number}: the answer ends after {got} bytes of {length}")
        got += len(part)
    return len(head) + 4 + length


def client(name, port, numbers, rows, close):
    """A client that sends one request after the other until there are none left: on one connection,
    or on one for each.
    """
    connection = None
    for number, kind in numbers:
        begin = time.time_ns()
        if connection is None:
            connection = socket.create_connection(("127.0.0.1", port))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        size = ask(connection, kind, number)
        rows.append((number, kind, name, connection.getsockname()[1], begin, time.time_ns(), size))
        if close:
            connection.close()
            connection = None


class Shared:
    """An iterator that several threads share."""

    def __init__(self, values):
        self.values, self.lock = iter(values), threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.values)


def run(port, truth, mix, clients, requests, seed, close=False):
    """All requests of a run, and their ground truth."""
    chosen = random.Random(seed)
    numbers = Shared(enumerate([chosen.choice(mix) for _ in range(requests)]))
    rows, failed = [], []

    def guarded(name):
        try:
            client(name, port, numbers, rows, close)
        except OSError as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded, args=(name,)) for name in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open(truth, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(FIELDS)
        writer.writerows(sorted(rows))
    if failed:
        raise SystemExit(f"{len(failed)} of {clients} clients failed: {failed[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("truth")
    parser.add_argument("--mix", required=True, metavar="KINDS")
    parser.add_argument("--clients", type=int, default=1, metavar="N")
    parser.add_argument("--requests", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--close", action="store_true", help="a connection for each request")
    arguments = parser.parse_args()
    run(arguments.port, arguments.truth, arguments.mix, arguments.clients, arguments.requests, arguments.seed,
        arguments.close)


if __name__ == "__main__":
    main()
