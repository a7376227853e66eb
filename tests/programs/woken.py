"""Workers that receive responses because another process sent something:
`woken.py poll|listen JOBS`.

poll      a worker keeps asking an HTTP server for a job, which responds when one was posted
listen    a worker subscribes once, and receives each notification over the same connection

Two clients give jobs to the server. For each job a worker calls a third service. The file `truth`
gets a line for each given job and each call that is made for one, in the order of its connection:
its ports and the number of the job.
"""

import queue
import random
import socket
import socketserver
import subprocess
import sys
import threading
import time

LOCK = threading.Lock()


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    disable_nagle_algorithm = True


def serve(answer):
    """Responds to each message of each connection with the result of `answer`, and returns its
    port.
    """

    class Handler(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self):
            while data := read(self.rfile):
                self.request.sendall(answer(data, self.request))

    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


def read(stream):
    """A message: a line or, in HTTP, a head and a body."""
    first = stream.readline()
    if b"HTTP/1.1" not in first:
        return first
    length = stream.readline()
    stream.readline()
    return first + stream.read(int(length.split()[1]))


def http(first, body=b""):
    return b"%s\r\nContent-Length: %d\r\n\r\n%s" % (first, len(body), body)


def poll_hub():
    jobs = queue.Queue()

    def answer(data, _):
        if data.startswith(b"GET"):
            try:
                return http(b"HTTP/1.1 200 OK", jobs.get(timeout=1))
            except queue.Empty:
                return http(b"HTTP/1.1 204 No Content")
        jobs.put(data.split(b"\r\n", 1)[1])
        return http(b"HTTP/1.1 202 Accepted", b"taken")

    serve(answer)


def listen_hub():
    listening = []

    def answer(data, connection):
        with LOCK:
            if data == b"LISTEN jobs\n":
                listening.append(connection)
                return b"LISTEN\n"
            for listener in listening:
                listener.sendall(b"told of jobs" + data.removeprefix(b"NOTIFY jobs"))
        return b"NOTIFY\n"

    serve(answer)


def store():
    def answer(*_):
        time.sleep(random.uniform(0.0005, 0.003))
        return b"stored\n"

    serve(answer)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")

    def ask(self, data, job=None):
        if job is not None:
            own, other = self.socket.getsockname()[1], self.socket.getpeername()[1]
            with open("truth", "a") as truth:
                truth.write(f"{own} {other} {job}\n")
        self.socket.sendall(data)
        return read(self.stream)


def worker(kind, hub, third):
    hub, third = Client(hub), Client(third)
    if kind == "listen":
        hub.ask(b"LISTEN jobs\n")
    while True:
        data = read(hub.stream) if kind == "listen" else hub.ask(http(b"GET /poll HTTP/1.1"))
        if b" 204 " in data:
            continue
        job = int(data.rsplit(b"job=", 1)[1].split()[0])
        if job < 0:
            return
        time.sleep(random.uniform(0.0002, 0.001))
        third.ask(b"PUT %s\n" % (b"x" * random.randint(30, 60)), job)


def giver(kind, hub, jobs, offset):
    hub = Client(hub)
    for job in range(int(offset), int(jobs), 2):
        give(hub, kind, job)
        time.sleep(random.expovariate(1 / 0.05))


def give(hub, kind, job, known=True):
    data = b"job=%06d %s" % (job, b"y" * random.randint(20, 90))
    line = b"NOTIFY jobs %s\n" % data if kind == "listen" else http(b"POST /jobs HTTP/1.1", data)
    hub.ask(line, job if known else None)


def main(kind, jobs):
    def start(*arguments):
        return subprocess.Popen([sys.executable, __file__, *arguments], stdout=subprocess.PIPE, text=True)

    servers = [start(f"{kind}_hub"), start("store")]
    hub, third = (server.stdout.readline().strip() for server in servers)
    workers = [start("worker", kind, hub, third) for _ in range(2 if kind == "poll" else 1)]
    time.sleep(0.5)
    for process in [start("giver", kind, hub, jobs, offset) for offset in "01"]:
        assert process.wait() == 0
    time.sleep(0.3)
    last = Client(hub)
    for process in workers:
        give(last, kind, -1, known=False)
    assert not any([process.wait() for process in workers])
    for server in servers:
        server.terminate()


ROLES = {"poll_hub": poll_hub, "listen_hub": listen_hub, "store": store, "worker": worker, "giver": giver}
role, *arguments = sys.argv[1:]
ROLES[role](*arguments) if role in ROLES else main(role, *arguments)
