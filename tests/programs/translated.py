"""A service of three tiers: clients call an application, which calls a store for each request.

usage: translated.py store PORT | app PORT STORE:PORT | client HOST:PORT COUNT SEED
"""

import random
import signal
import socket
import sys
import threading
import time


def receive(connection, length):
    parts = []
    while length > 0:
        part = connection.recv(length)
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def address(text):
    host, port = text.rsplit(":", 1)
    return host, int(port)


def serve(port, answer):
    listener = socket.create_server(("0.0.0.0", port), backlog=128)

    def work(connection):
        with connection:
            try:
                while True:
                    question = receive(connection, 64)
                    connection.sendall(answer(question))
            except (EOFError, ConnectionResetError):
                pass

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=work, args=(connection,), daemon=True).start()


def ask(host, question):
    """Sends one request on a separate connection; the response's length is its first six digits."""
    with socket.create_connection(host) as connection:
        connection.sendall(question)
        length = receive(connection, 6)
        return length + receive(connection, int(length) - 6)


def answered(length):
    return b"%06d" % length + b"x" * (length - 6)


def main():
    # It is ignored if the tests run in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    role, *arguments = sys.argv[1:]
    if role == "store":
        # Some sizes repeat, so that they alone do not identify a request.
        serve(int(arguments[0]), lambda question: answered(100 + 50 * (question[0] % 64)))
    elif role == "app":
        port, store = int(arguments[0]), address(arguments[1])
        serve(port, lambda question: ask(store, question) + b"y" * 20)
    else:
        server, count, chance = address(arguments[0]), int(arguments[1]), random.Random(int(arguments[2]))
        for _ in range(count):
            with socket.create_connection(server) as connection:
                connection.sendall(bytes([chance.randrange(256)]) * 64)
                length = receive(connection, 6)
                receive(connection, int(length) - 6 + 20)
            time.sleep(chance.expovariate(1 / 0.02))


main()
