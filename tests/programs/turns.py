"""Exchanges of known sizes over TCP and UDP: turns.py server PORT, or turns.py client PORT ROUNDS
HOST...
"""

import socket
import sys
import threading


def receive(sock, size):
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            sys.exit("the connection has ended")
        data += more
    return data


def serve(sock):
    """Responds to each request; its first eight bytes are its size and that of its response."""
    while head := sock.recv(8, socket.MSG_WAITALL):
        size, answer = (int.from_bytes(head[at : at + 4], "big") for at in (0, 4))
        receive(sock, size - 8)
        sock.sendall(b"a" * answer)


def echo(sock):
    while True:
        data, sender = sock.recvfrom(65536)
        sock.sendto(data + b"!", sender)


def address(host, port):
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4]


if sys.argv[1] == "server":
    listener = socket.create_server(("", int(sys.argv[2])), family=socket.AF_INET6, dualstack_ipv6=True)
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.bind(("", int(sys.argv[2])))
    threading.Thread(target=echo, args=(datagrams,), daemon=True).start()
    while True:
        sock, _ = listener.accept()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(sock,), daemon=True).start()

port, rounds = int(sys.argv[2]), int(sys.argv[3])
for number, host in enumerate(sys.argv[4:]):
    sock = socket.create_connection((host, port), timeout=60)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for turn in range(rounds):
        size, answer = 8 + 11 * turn * (number + 1), 1 + 97 * turn * turn
        sock.sendall(size.to_bytes(4, "big") + answer.to_bytes(4, "big") + b"q" * (size - 8))
        receive(sock, answer)
    sock.close()
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM)
    sock.settimeout(2)
    sock.connect((host, port))
    for turn in range(rounds):
        sock.send(b"d" * (turn * 40))
        try:
            sock.recv(65536)
        except TimeoutError:
            pass
