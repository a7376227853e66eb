"""Requests that pass a broker, one at a time: client, front, broker, worker, leaf and back.

usage: broker_calls.py REQUESTS

Each of them is a process, and each request has a number that all of its messages carry. The broker
keeps one connection of each subscriber, so that neither connections nor turns show which message it
received made it send another one.
"""

import os
import selectors
import signal
import socket
import sys
import time

from local_processes import connected, listening, started

SUBSCRIBERS = (b"worker", b"front")


def lines(connection):
    """The lines that arrive on a connection, without their ends."""
    rest = b""
    while received := connection.recv(4096):
        *whole, rest = (rest + received).split(b"\n")
        yield from whole


def number(line):
    """The last word of a line: the number of its request."""
    return line.rpartition(b" ")[2]


def broker(listener):
    """Sends questions to the worker, and results to the front."""
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    places = {}
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                selector.register(connection, selectors.EVENT_READ)
                continue
            received = key.fileobj.recv(4096)
            if not received:
                return
            for line in received.splitlines():
                if line in SUBSCRIBERS:
                    places[line] = key.fileobj
                else:
                    to = b"worker" if line.startswith(b"question") else b"front"
                    places[to].sendall(b"message " + line + b"\n")


def leaf(listener):
    """Answers the worker."""
    connection, _ = listener.accept()
    for line in lines(connection):
        connection.sendall(b"fact " + number(line) + b"\n")


def worker(broker_address, leaf_address):
    """Asks the leaf for each question, and publishes the result."""
    asked, source = connected(broker_address), connected(leaf_address)
    asked.sendall(b"worker\n")
    facts = lines(source)
    for line in lines(asked):
        source.sendall(b"get " + number(line) + b"\n")
        asked.sendall(b"result " + number(next(facts)) + b"\n")


def front(listener, broker_address):
    """Publishes a question for each request, and responds with its result."""
    publisher = connected(broker_address)
    publisher.sendall(b"front\n")
    results = lines(publisher)
    client, _ = listener.accept()
    for line in lines(client):
        publisher.sendall(b"question " + number(line) + b"\n")
        client.sendall(b"response " + number(next(results)) + b"\n")


def main():
    """Starts all processes, is the client, and ends them."""
    (broker_socket, broker_address), (leaf_socket, leaf_address) = listening(), listening()
    front_socket, front_address = listening()
    processes = [
        started(lambda: broker(broker_socket)),
        started(lambda: leaf(leaf_socket)),
        started(lambda: worker(broker_address, leaf_address)),
        started(lambda: front(front_socket, broker_address)),
    ]
    time.sleep(0.5)
    client = connected(front_address)
    responses = lines(client)
    for request in range(int(sys.argv[1])):
        client.sendall(b"request N%06dX\n" % request)
        next(responses)
        time.sleep(0.002)
    client.close()
    time.sleep(0.2)
    for process in processes:
        os.kill(process, signal.SIGTERM)


main()
