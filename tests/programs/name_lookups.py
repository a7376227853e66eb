"""A server that looks a name up for each request, and its name server.

usage: name_lookups.py front N [dns] a server that looks a name up for each of N requests of one
                                     client; with `dns` the name server is one of its processes
       name_lookups.py dns           the name server alone, until it is stopped
"""
import os
import socket
import struct
import sys
import time

WAIT = 0.02


def serve_names():
    """Responds to each query after WAIT: to queries for IPv4 addresses with one, to others with
    none.
    """
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 53))
    while True:
        question, peer = server.recvfrom(512)
        end = question.index(b"\0", 12) + 5
        kind = struct.unpack("!H", question[end - 4:end - 2])[0]
        if kind == 1:
            time.sleep(WAIT)
        found = 1 if kind == 1 else 0
        answer = question[:2] + struct.pack("!HHHHH", 0x8180, 1, found, 0, 0) + question[12:end]
        if found:
            answer += struct.pack("!HHHIH", 0xC00C, 1, 1, 0, 4) + socket.inet_aton("10.9.8.7")
        server.sendto(answer, peer)


def front(listener):
    connection, _ = listener.accept()
    while connection.recv(64):
        time.sleep(0.005)
        socket.getaddrinfo("shop.example", 80, socket.AF_INET, socket.SOCK_STREAM)
        connection.sendall(b"answer")


def main():
    if sys.argv[1] == "dns":
        serve_names()
    requests = int(sys.argv[2])
    children = []
    if sys.argv[3:] == ["dns"]:
        pid = os.fork()
        if pid == 0:
            serve_names()
        children.append(pid)
        time.sleep(0.2)
    listener = socket.create_server(("127.0.0.1", 8099))
    pid = os.fork()
    if pid == 0:
        front(listener)
        os._exit(0)
    client = socket.create_connection(("127.0.0.1", 8099))
    for _ in range(requests):
        client.sendall(b"question")
        assert client.recv(64) == b"answer"
        time.sleep(0.003)
    client.close()
    os.waitpid(pid, 0)
    for child in children:
        os.kill(child, 15)
        os.waitpid(child, 0)


main()
