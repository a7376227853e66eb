# A client calls an application, one request at a time. The application calls a store, then talks to
# a server that greets on a new connection, and calls the store again: each request has the same
# number of calls, all its own. `python3 greeted.py imap|amqp|smtp REQUESTS`.
import os, socket, struct, sys

KIND, REQUESTS = sys.argv[1], int(sys.argv[2])

def amqp(number, arguments=b""):
    body = struct.pack(">HH", 10, number) + arguments
    return struct.pack(">BHI", 1, 0, len(body)) + body + b"\xce"

# The messages and their senders: the server's first line greets.
TALKS = {
    "imap": [
        ("s", b"* OK [CAPABILITY IMAP4rev1 ID] server ready.\r\n"),
        ("c", b'A1 ID ("name" "x")\r\n'), ("s", b"* ID NIL\r\nA1 OK done.\r\n"),
        ("c", b"A2 LOGIN user secret\r\n"), ("s", b"A2 OK in.\r\n"),
        ("c", b"A3 SELECT INBOX\r\n"), ("s", b"* 3 EXISTS\r\nA3 OK selected.\r\n"),
    ],
    "amqp": [
        ("c", b"AMQP\0\0\x09\x01"), ("s", amqp(10, b"\0\x09")),
        ("c", amqp(11, b"\0\0\0\0")), ("s", amqp(30, bytes(8))),
        ("c", amqp(31, bytes(8)) + amqp(40, b"\x01/\0\0")), ("s", amqp(41, b"\0")),
    ],
    "smtp": [
        ("s", b"220 mail.example ESMTP\r\n"),
        ("c", b"EHLO me\r\n"), ("s", b"250 mail.example\r\n"),
        ("c", b"MAIL FROM:<a@b>\r\n"), ("s", b"250 ok\r\n"),
    ],
}
TALK = TALKS[KIND]

def read(end, count):
    while count:
        got = len(end.recv(count))
        if not got: return False
        count -= got
    return True

def play(end, own):
    for side, text in TALK:
        if side == own: end.sendall(text)
        else: read(end, len(text))

def in_a_child(serve):
    listener = socket.create_server(("127.0.0.1", 0))
    if os.fork() == 0:
        serve(listener)
        os._exit(0)
    return listener.getsockname()

def store(listener):
    end, _ = listener.accept()
    while read(end, 20): end.sendall(b"R" * 100)

def greeter(listener):
    for _ in range(REQUESTS):
        end, _ = listener.accept()
        play(end, "s")
        end.close()

store, greeter = in_a_child(store), in_a_child(greeter)

def application(listener):
    stored = socket.create_connection(store)
    client, _ = listener.accept()
    def ask():
        stored.sendall(b"Q" * 20)
        read(stored, 100)
    while read(client, 40):
        ask()
        with socket.create_connection(greeter) as end: play(end, "c")
        ask()
        client.sendall(b"A" * 500)

end = socket.create_connection(in_a_child(application))
for _ in range(REQUESTS):
    end.sendall(b"H" * 40)
    read(end, 500)
end.close()
for _ in range(3): assert os.wait()[1] == 0
