"""A server with threads that call each other: one takes requests and calls another over loopback,
which calls a third over a socketpair. An event loop of the process is woken up for each request,
and a thread writes to a socket that it reads itself. A child process is the client.

usage: inner_threads.py REQUESTS
"""

import asyncio
import os
import socket
import sys
import threading

REQUESTS = int(sys.argv[1])


def listening():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    return listener


def serve(connection, ask):
    """Responds to each request on the connection with the result of a further call."""
    while request := connection.recv(4096):
        connection.sendall(ask(request) + b"!")


def asking(connection, request):
    connection.sendall(b"x" + request)
    return connection.recv(4096)


def client(address):
    with socket.create_connection(address) as connection:
        for number in range(REQUESTS):
            connection.sendall(b"request %d" % number)
            connection.recv(4096)


def store(pair):
    serve(pair, lambda request: b"stored " + request)


def work(listener, pair):
    connection, _ = listener.accept()
    serve(connection, lambda request: asking(pair, request))
    pair.close()


def take(listener, address, loop):
    connection, _ = listener.accept()
    own, same = socket.socketpair()
    with socket.create_connection(address) as worker:
        def ask(request):
            loop.call_soon_threadsafe(lambda: None)
            own.sendall(b"noted")
            same.recv(4096)
            return asking(worker, request)
        serve(connection, ask)
    loop.call_soon_threadsafe(loop.stop)


front, back = listening(), listening()
child = os.fork()
if child == 0:
    client(front.getsockname())
    os._exit(0)
loop = asyncio.new_event_loop()
one, other = socket.socketpair()
threads = [
    threading.Thread(target=store, args=(one,)),
    threading.Thread(target=work, args=(back, other)),
    threading.Thread(target=take, args=(front, back.getsockname(), loop)),
]
for thread in threads:
    thread.start()
loop.run_forever()
for thread in threads:
    thread.join()
os.waitpid(child, 0)
