"""A system of three hosts: a client calls a server, which calls a store, over TCP and UDP, and
itself over loopback.

usage: packets.py store PORT | cache PORT | server PORT STORE STORE_PORT
                  | client SERVER PORT REQUESTS
"""
import socket
import struct
import sys
import threading


def listen(address, port):
    listener = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, port))
    listener.listen()
    return listener


def exactly(stream, size):
    data = b""
    while len(data) < size:
        part = stream.recv(min(65536, size - len(data)))
        if not part:
            return None
        data += part
    return data


def ask(stream, size, answer):
    """Sends a request of SIZE bytes for a response of ANSWER bytes."""
    stream.sendall(struct.pack("!II", size, answer) + b"q" * (size - 8))
    assert exactly(stream, answer) is not None


def answers(stream, work):
    while True:
        head = exactly(stream, 8)
        if head is None:
            return
        size, answer = struct.unpack("!II", head)
        assert exactly(stream, size - 8) is not None
        work(size, answer)
        stream.sendall(b"a" * answer)


def serve(listener, work):
    while True:
        stream, _ = listener.accept()
        threading.Thread(target=answers, args=(stream, work()), daemon=True).start()


def store(port):
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("", port))

    def echo():
        while True:
            data, peer = datagrams.recvfrom(65536)
            datagrams.sendto(data[::-1], peer)

    threading.Thread(target=echo, daemon=True).start()
    serve(listen("::", port), lambda: lambda size, answer: None)


def cache(port):
    serve(listen("127.0.0.1", port), lambda: lambda size, answer: None)


def server(port, address, store_port):
    def work():
        back = socket.create_connection((address, store_port))
        inner = socket.create_connection(("127.0.0.1", port + 1))
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

        def each(size, answer):
            ask(inner, 20, 30)
            datagrams.sendto(b"%d %d " % (size, answer) + b"d" * (size % 3000), (address, store_port))
            datagrams.recv(65536)
            ask(back, size // 2 + 8, answer // 3 + 1)

        return each

    serve(listen("::", port), work)


def client(address, port, requests):
    for connection in range(4):
        stream = socket.create_connection((address, port))
        for request in range(requests):
            # From a few bytes to many segments, in both directions.
            ask(stream, 8 + 37 * request + 9000 * (request % 7 == 3), 1 + 113 * request + 300000 * (request % 5 == 2))
        stream.close()


role, *rest = sys.argv[1:]
if role == "store":
    store(int(rest[0]))
elif role == "cache":
    cache(int(rest[0]))
elif role == "server":
    server(int(rest[0]), rest[1], int(rest[2]))
else:
    client(rest[0], int(rest[1]), int(rest[2]))
