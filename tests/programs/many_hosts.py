"""The programs of a system of several hosts, each a role: `many_hosts.py ROLE ARGUMENT...`.

app STORE NAMES ECHO DIRECTORY    serves requests on port 8080, and calls others for each by its path
helper DIRECTORY                  the other end of the application's unix sockets
echo                              sends UDP datagrams back, with additional bytes
client SECONDS FRONT FRONT6 APP   sends requests in turn over persistent and other connections
direct SECONDS APP2 NAMES         calls another address of the application, and the name server

When the application is told to end, it prints the traffic of its unix sockets, by name.
"""

import http.client
import itertools
import json
import os
import random
import signal
import socket
import socketserver
import struct
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler

HELPER_SOCKETS = ["stream", "datagram", "sequence"]


def deadline(seconds):
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        yield
        time.sleep(random.uniform(0.002, 0.02))


# The application.


class Counted:
    """Sent and received bytes, by name."""

    def __init__(self):
        self.lock = threading.Lock()
        self.bytes = {}

    def add(self, name, sent, received):
        with self.lock:
            sums = self.bytes.setdefault(name, [0, 0])
            sums[0] += sent
            sums[1] += received


def receive(sock, size):
    """Receives exactly `size` bytes of a stream."""
    data = b""
    while len(data) < size:
        more = sock.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


class Store:
    """A connection to redis."""

    def __init__(self, address):
        self.sock = socket.create_connection(address)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb")

    def ask(self, *words):
        text = b"*%d\r\n" % len(words)
        for word in words:
            text += b"$%d\r\n%s\r\n" % (len(word), word)
        self.sock.sendall(text)
        line = self.file.readline()
        if line[:1] == b"$":
            return self.file.read(int(line[1:]) + 2)[:-2]
        return line


class Work:
    """The application's calls to others. Each thread has its own connections."""

    def __init__(self, store, names, echo, directory):
        self.store, self.names, self.echo = store, names, echo
        self.directory = directory
        self.local = threading.local()
        self.counted = Counted()
        self.numbers = itertools.count()
        # A child at the other end of a pair.
        self.pair, child = socket.socketpair()
        script = "import socket,sys\ns=socket.socket(fileno=0)\nwhile d:=s.recv(4096): s.sendall(d[::-1])"
        self.child = subprocess.Popen([sys.executable, "-c", script], stdin=child)
        child.close()
        self.pair_lock = threading.Lock()

    def of_thread(self, name, make):
        value = getattr(self.local, name, None)
        if value is None:
            value = make()
            setattr(self.local, name, value)
        return value

    def do(self, path):
        number = next(self.numbers)
        return getattr(self, path.strip("/"))(number)

    def keep(self, number):
        address = self.store[number % len(self.store)]
        store = self.of_thread("store%d" % (number % len(self.store)), lambda: Store(address))
        key = b"key%d" % (number % 100)
        store.ask(b"SET", key, b"v" * random.randrange(1, 20000))
        return store.ask(b"GET", key)

    def name(self, number):
        question = struct.pack(">HHHHHH", number & 0xFFFF, 0x0100, 1, 0, 0, 0)
        question += b"\x04x%03d\x04test\x00\x00\x01\x00\x01" % (number % 1000)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            if number % 2:
                sock.connect((self.names, 53))
                sock.send(question)
                return sock.recv(512)
            sock.sendto(question, (self.names, 53))
            return sock.recvfrom(512)[0]

    def cache(self, number):
        def make():
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.connect((self.names, 11211))
            return sock

        sock = self.of_thread("cache", make)
        frame = struct.pack(">HHHH", number & 0xFFFF, 0, 1, 0)
        if number % 3 == 0:
            sock.send(frame + b"set k%d 0 0 500\r\n%s\r\n" % (number % 10, b"c" * 500))
        else:
            sock.send(frame + b"get k%d\r\n" % (number % 10))
        return sock.recv(2000)

    def back(self, number):
        # One socket for the lifetime of each thread, bound to all addresses; the responses come
        # from both of the echo's.
        def make():
            sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            sock.bind(("::", 0))
            return sock

        sock = self.of_thread("back", make)
        to = self.echo[number % len(self.echo)]
        sock.sendto(b"%d:" % number + b"u" * random.randrange(1000), (to, 7000))
        return sock.recvfrom(2000)[0]

    def beside(self, number):
        """Unix sockets: by path and by abstract name, of all types, and a pair."""
        kind = (*HELPER_SOCKETS, "abstract", "pair")[number % 5]
        message = b"m" * random.randrange(1, 3000)
        if kind == "pair":
            with self.pair_lock:
                self.pair.sendall(message)
                answer = receive(self.pair, len(message))
        elif kind == "datagram":
            own = "%s/reply%d" % (self.directory, number)
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
                sock.bind(own)
                sock.sendto(message, self.directory + "/datagram")
                answer = sock.recv(4096)
            os.unlink(own)
        else:
            types = {"sequence": socket.SOCK_SEQPACKET}
            address = "\0many-hosts" if kind == "abstract" else "%s/%s" % (self.directory, kind)
            with socket.socket(socket.AF_UNIX, types.get(kind, socket.SOCK_STREAM)) as sock:
                sock.connect(address)
                sock.send(message)
                answer = receive(sock, len(message))
        assert answer == message[::-1]
        self.counted.add(kind, len(message), len(answer))
        return answer


def app(store, names, echo, directory):
    work = Work([(address, 6379) for address in store.split(",")], names, echo.split(","), directory)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            answer = work.do(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    class Server(socketserver.ThreadingTCPServer):
        address_family = socket.AF_INET6
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 100

    server = Server(("::", 8080), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    signal.sigwait([signal.SIGTERM])
    # The connections that threads still have end with the process, as usual.
    work.pair.close()
    work.child.wait()
    print(json.dumps(work.counted.bytes), flush=True)


def helper(directory):
    """Reverses every message."""

    def turn(sock):
        while data := sock.recv(4096):
            sock.sendall(data[::-1])

    def accept(listener):
        while True:
            sock, _ = listener.accept()
            threading.Thread(target=serve, args=(sock,), daemon=True).start()

    def serve(sock):
        with sock:
            turn(sock)

    for name, kind in (("stream", socket.SOCK_STREAM), ("sequence", socket.SOCK_SEQPACKET), (None, socket.SOCK_STREAM)):
        listener = socket.socket(socket.AF_UNIX, kind)
        listener.bind("%s/%s" % (directory, name) if name else "\0many-hosts")
        listener.listen(100)
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(directory + "/datagram")

    def datagrams():
        while True:
            data, sender = sock.recvfrom(4096)
            sock.sendto(data[::-1], sender)

    threading.Thread(target=datagrams, daemon=True).start()
    signal.sigwait([signal.SIGTERM])


# The other hosts.


def echo():
    sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    sock.bind(("::", 7000))

    def answer():
        while True:
            data, sender = sock.recvfrom(2000)
            sock.sendto(data + b"!", sender)

    threading.Thread(target=answer, daemon=True).start()
    signal.sigwait([signal.SIGTERM])


PATHS = ["/keep", "/name", "/cache", "/back", "/beside"]


def get(connection, path):
    connection.request("GET", path)
    response = connection.getresponse()
    data = response.read()
    assert response.status == 200, response.status
    return data


def client(seconds, front, front6, direct):
    staying = {address: http.client.HTTPConnection(address, port, timeout=30)
               for address, port in ((front, 8000), (direct, 8080))}
    paths = itertools.cycle(PATHS)
    for number, _ in enumerate(deadline(seconds)):
        path = next(paths)
        for connection in staying.values():
            get(connection, path)
        if number % 4 == 0:
            once = http.client.HTTPConnection(front6, 8000, timeout=30)
            get(once, path)
            once.close()
    for connection in staying.values():
        connection.close()


def direct(seconds, address, names):
    paths = itertools.cycle(PATHS)
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for number, _ in enumerate(deadline(seconds)):
        once = http.client.HTTPConnection(address, 8080, timeout=30)
        get(once, next(paths))
        once.close()
        # The same query repeatedly, distinguished only by order.
        asking.sendto(struct.pack(">HHHHHH", 1, 0x0100, 1, 0, 0, 0) + b"\x04same\x04test\x00\x00\x01\x00\x01", (names, 53))
        asking.recv(512)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    role, *arguments = sys.argv[1:]
    {"app": app, "helper": helper, "echo": echo, "client": client, "direct": direct}[role](*arguments)
