"""A server of two unix sockets with different names at each start, one with its process id and one
in a folder with a random name, and of one with a constant name. A child process sends requests to
each in turn.

usage: changing_names.py DIRECTORY REQUESTS
"""

import os
import shutil
import socket
import sys
import tempfile
import threading

directory, requests = sys.argv[1], int(sys.argv[2])
folder = tempfile.mkdtemp()
paths = [
    os.path.join(directory, f"app.{os.getpid()}.sock"),
    os.path.join(folder, "s.sock"),
    os.path.join(directory, "app-8.2.sock"),
]


def listening(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    return listener


def serve(listener):
    connection, _ = listener.accept()
    while request := connection.recv(4096):
        connection.sendall(request + b"!")


def ask():
    connections = [socket.socket(socket.AF_UNIX) for _ in paths]
    for connection, path in zip(connections, paths):
        connection.connect(path)
    for number in range(requests):
        connection = connections[number % len(paths)]
        connection.sendall(b"request %d" % number)
        connection.recv(4096)


listeners = [listening(path) for path in paths]
child = os.fork()
if child == 0:
    ask()
    os._exit(0)
threads = [threading.Thread(target=serve, args=(listener,)) for listener in listeners]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os.waitpid(child, 0)
shutil.rmtree(folder)
for path in paths[::2]:
    os.unlink(path)
