"""A web service with a reader, a pool of workers, and optionally a writer, each a separate thread.

The reader takes requests from all connections and puts them into a queue, or gives them to an
executor. A worker calls the stock service, for some requests also the price service, and responds,
or leaves the response to the writer.

usage: pool.py PORT STOCK PRICE WORKERS worker|writer queue|executor
"""

import concurrent.futures
import queue
import selectors
import socket
import sys
import threading

PORT, STOCK, PRICE, WORKERS = map(int, sys.argv[1:5])
HAS_WRITER = sys.argv[5] == "writer"
requests = queue.Queue(1000)
answers = queue.Queue()
own = threading.local()


def ask(port, path):
    """The response of a service; each worker has its own connection to each."""
    connections = own.__dict__.setdefault("connections", {})
    if port not in connections:
        connections[port] = socket.create_connection(("127.0.0.1", port))
        connections[port].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connections[port].sendall(f"GET {path} HTTP/1.1\r\nHost: service\r\n\r\n".encode())
    return connections[port].recv(2000).partition(b"\r\n\r\n")[2]


def work(connection, path):
    """Processes a request."""
    name = path.rpartition("/")[2]
    body = ask(STOCK, f"/stock/{name}")
    if int(name[4:11]) % 3 != 0:
        body += ask(PRICE, f"/price/{name}")
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    if HAS_WRITER:
        answers.put((connection, answer))
    else:
        connection.sendall(answer)


def work_always():
    """A worker of the queue."""
    while True:
        work(*requests.get())


def write_always():
    """The writer."""
    while True:
        connection, answer = answers.get()
        connection.sendall(answer)


if sys.argv[6] == "queue":
    give = lambda connection, path: requests.put((connection, path))
    for _ in range(WORKERS):
        threading.Thread(target=work_always, daemon=True).start()
else:
    executor = concurrent.futures.ThreadPoolExecutor(WORKERS)
    give = lambda connection, path: executor.submit(work, connection, path)
if HAS_WRITER:
    threading.Thread(target=write_always, daemon=True).start()

selector = selectors.DefaultSelector()
listener = socket.create_server(("127.0.0.1", PORT), backlog=200)
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            selector.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        head = key.fileobj.recv(4000)
        if head:
            give(key.fileobj, head.split(b" ", 2)[1].decode())
        else:
            selector.unregister(key.fileobj)
            key.fileobj.close()
