# A server and a client with a one-to-one SCTP connection and a TCP connection, which take turns:
# the client sends a request on each and reads the whole response before the next. Prints the ends
# of both connections, the client's first.
import os, socket

REQUESTS, RESPONSES = (1, 20, 300, 4000), (5, 60, 700, 8000)


def read(end, count):
    while count:
        got = len(end.recv(count))
        assert got
        count -= got


def server(listeners):
    ends = [listener.accept()[0] for listener in listeners]
    for request, response in zip(REQUESTS, RESPONSES):
        for end in ends:
            read(end, request)
            end.sendall(b"s" * response)
    assert [end.recv(1) for end in ends] == [b"", b""]


def client(listeners):
    ends = []
    for listener in listeners:
        ends.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, listener.proto))
        ends[-1].connect(listener.getsockname())
        names = ends[-1].getsockname(), listener.getsockname()
        print(*(f"{host}:{port}" for host, port in names), flush=True)
    for request, response in zip(REQUESTS, RESPONSES):
        for end in ends:
            end.sendall(b"c" * request)
            read(end, response)


listeners = []
for protocol in (socket.IPPROTO_SCTP, socket.IPPROTO_TCP):
    listeners.append(socket.socket(socket.AF_INET, socket.SOCK_STREAM, protocol))
    listeners[-1].bind(("127.0.0.1", 0))
    listeners[-1].listen()
child = os.fork()
if child == 0:
    server(listeners)
    os._exit(0)
client(listeners)
os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)
