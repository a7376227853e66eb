# Serves each connection with a program that has it as standard input and output, as inetd does, and
# is its own client: `inetd.py COMMAND...`.
import os, signal, socket, subprocess, sys

# If the client fails, no connection arrives any more.
signal.alarm(300)
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    for i in range(5):
        client = socket.create_connection(listener.getsockname())
        for k in range(3):
            client.sendall(b"line %d of %d\n" % (k, i))
            answer = b""
            while not answer.endswith(b"\n"): answer += client.recv(4096)
        client.shutdown(socket.SHUT_WR)
        while client.recv(4096): pass
        client.close()
    os._exit(0)
for i in range(5):
    connection, _ = listener.accept()
    with connection, subprocess.Popen(sys.argv[1:], stdin=connection, stdout=connection): pass
assert os.wait()[1] == 0
