"""Connections that are open before they are recorded, with messages in flight at any moment.

A server and clients in threads, half of them with two large messages, which do not fit into the
sockets' buffers, after each small one: while a large one is on its way, the library may not learn
how much of a unix stream was received. On sockets that keep message boundaries, all are small. No
two messages have the same size. With a third argument, a client sends that many requests ahead of
the responses, in a separate thread. Prints the ids of server and client, which are siblings. A line
of its input is a number of requests: after as many more, it prints the total number. When its input
ends, each side writes what it sent and received into a file in the given folder: direction, size,
and the clock right before and right after.
"""
import os, queue, socket, struct, sys, threading, time

folder, family = sys.argv[1], sys.argv[2]
ahead = int(sys.argv[3]) if len(sys.argv) > 3 else 1
CONNECTIONS = 4
kind = {"packets": socket.SOCK_SEQPACKET, "datagrams": socket.SOCK_DGRAM}
kind = kind.get(family, socket.SOCK_STREAM)
now, lock, said = time.time_ns, threading.Lock(), []


def receive(stream):
    before = now()
    if kind != socket.SOCK_STREAM:
        message = stream.recv(1 << 17)
        if len(message) < 8:
            return None
        said.append(f"receive {len(message)} {before} {now()}\n")
        return len(message)
    head = stream.recv(8, socket.MSG_WAITALL)
    if len(head) < 8:
        return None
    size, = struct.unpack("q", head)
    left = size - 8
    while left > 0:
        part = stream.recv(min(left, 65536))
        if not part:
            raise EOFError("the other end is gone in the middle of a message")
        left -= len(part)
    said.append(f"receive {size} {before} {now()}\n")
    return size


def send(stream, size):
    before = now()
    stream.sendall(struct.pack("q", size) + bytes(size - 8))
    said.append(f"send {size} {before} {now()}\n")


def write(name):
    with open(os.path.join(folder, name), "w") as out:
        out.writelines(said)


def serve(stream):
    while (size := receive(stream)) is not None:
        send(stream, size + 1)


def ask(stream, large, sizes, room):
    global asked
    number = 0
    while is_open:
        room.acquire()
        with lock:
            asked += 1
            is_large = large and number % 3 > 0 and kind == socket.SOCK_STREAM
            size = (1_000_000 if is_large else 100) + 2 * asked
        number += 1
        sizes.put(size)
        send(stream, size)
        time.sleep(0.002 / ahead)
    sizes.put(None)
    if kind == socket.SOCK_STREAM:
        stream.shutdown(socket.SHUT_WR)


def hear(stream, sizes, room):
    while (size := sizes.get()) is not None:
        assert receive(stream) == size + 1
        room.release()
    if kind != socket.SOCK_STREAM:
        stream.send(b".")


pairs = []
if family == "tcp":
    listener = socket.create_server(("127.0.0.1", 0))
elif family == "unix":
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.join(folder, "socket"))
    listener.listen()
for _ in range(CONNECTIONS):
    if family not in ("tcp", "unix"):
        pairs.append(socket.socketpair(socket.AF_UNIX, kind))
        continue
    one = socket.socket(listener.family)
    one.connect(listener.getsockname())
    pairs.append((one, listener.accept()[0]))
started, start = os.pipe()
server = os.fork()
if server == 0:
    for one, _ in pairs:
        one.close()
    workers = [threading.Thread(target=serve, args=(other,)) for _, other in pairs]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    write("server")
    os._exit(0)
client = os.fork()
if client != 0:
    # Neither of the two is the other's child, as children are recorded with their parents.
    [end.close() for pair in pairs for end in pair]
    print(server, client, flush=True)
    os.write(start, b".")
    ended = [os.waitpid(child, 0)[1] for child in (client, server)]
    sys.exit(any(ended))
for _, other in pairs:
    other.close()
is_open, asked = True, 0
os.read(started, 1)
workers = []
for place, (one, _) in enumerate(pairs):
    sizes, room = queue.Queue(), threading.Semaphore(ahead)
    workers.append(threading.Thread(target=ask, args=(one, place % 2 == 1, sizes, room)))
    workers.append(threading.Thread(target=hear, args=(one, sizes, room)))
[worker.start() for worker in workers]
for line in sys.stdin:
    until = asked + int(line)
    while asked < until:
        time.sleep(0.001)
    print(asked, flush=True)
is_open = False
[worker.join() for worker in workers]
write("client")
