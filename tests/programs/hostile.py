"""Conversations of known protocols, damaged in every way: a client plays one side of each, and a
server the other. A seed determines the damage and the division into calls, so both ends know what
must arrive, and report at the end which bytes did.

usage: hostile.py SEED CONVERSATIONS
"""

import hashlib
import os
import random
import signal
import socket
import struct
import sys
import threading


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def postgres(kind, payload):
    return kind + struct.pack(">I", 4 + len(payload)) + payload


def sized(payload):
    return struct.pack(">I", len(payload)) + payload


def mysql(number, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([number]) + payload


def fastcgi(kind, payload):
    return struct.pack(">BBHHBB", 1, kind, 1, len(payload), 0, 0) + payload


def mongo(request, answers, body):
    return struct.pack("<iiii", 16 + len(body), request, answers, 2013) + body


def amqp(kind, payload):
    return struct.pack(">BHI", kind, 1, len(payload)) + payload + b"\xce"


GET = b"GET /user/1234/cart?page=2 HTTP/1.1\r\nHost: shop\r\nCookie: a=b\r\nTraceparent: 00-aa-bb-01\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
BLOCK = b"\x82\x86\x84\x41\x04shop\x40\x06cookie\x06SECRET\x7e\x7f\xff\x81"
QUESTION = struct.pack(">HHHHHH", 7, 256, 1, 0, 0, 0) + b"\x04shop\x03org\0\0\1\0\1"
DOCUMENT = b"\0\0\0\0\0" + struct.pack("<i", 31) + b"\x02find\0\x06\0\0\0books\0\x02$db\0\x01\0\0\0\0\0"
HELLO = b"\x16\x03\x01\0\x30\x01" + b"\x11" * 47

# Turns of each protocol, the client's first.
CONVERSATIONS = {
    "http1": [GET, OK, GET + GET, OK + OK, b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
              b"HTTP/1.1 404 Not Found\r\n\r\n"],
    "http2": [PREFACE + frame(4, 0, 0, b"\0\3\0\0\0\x64") + frame(1, 4, 1, BLOCK) + frame(0, 1, 1, b"body"),
              frame(4, 0, 0) + frame(1, 4, 1, b"\x88") + frame(0, 1, 1, b"hello"),
              frame(1, 0, 3, BLOCK) + frame(9, 4, 3, BLOCK) + frame(3, 0, 3, b"\0\0\0\x08"), frame(7, 0, 0, b"\0" * 8)],
    "grpc": [PREFACE + frame(4, 0, 0) + frame(1, 4, 1, b"\x83\x86\x44\x0a/shop/Cart\x5f\x10application/grpc") +
             frame(0, 1, 1, b"\0\0\0\0\2\x08\1"),
             frame(4, 0, 0) + frame(1, 4, 1, b"\x88") + frame(0, 0, 1, b"\0\0\0\0\0") + frame(1, 5, 1, b"\x40\x0bgrpc-status\x010")],
    "websocket": [b"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
                  b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", b"\x81\x85\1\2\3\4hello", b"\x81\x05hello"],
    "fastcgi": [fastcgi(1, b"\0\1\0\0\0\0\0\0") + fastcgi(4, b"\x0e\x03REQUEST_METHODGET\x0b\x05REQUEST_URI/cart") + fastcgi(4, b"") +
                fastcgi(5, b""), fastcgi(6, b"Status: 200 OK\r\n\r\nhello") + fastcgi(3, b"\0" * 8)],
    "postgresql": [struct.pack(">II", 37, 196608) + b"user\0me\0database\0shop\0\0", postgres(b"R", b"\0\0\0\0") + postgres(b"Z", b"I"),
                   postgres(b"Q", b"select * from books where id = 42\0"), postgres(b"C", b"SELECT 1\0") + postgres(b"Z", b"I"),
                   postgres(b"P", b"s\0insert into books values ($1)\0\0\0") + postgres(b"B", b"\0s\0\0\0\0\1\0\0\0\x02hi\0\0") +
                   postgres(b"E", b"\0\0\0\0\0") + postgres(b"S", b""), postgres(b"E", b"C42P01\0\0") + postgres(b"Z", b"I")],
    "mysql": [b"", mysql(0, b"\x0a8.0\0" + b"\1" * 40), mysql(1, b"\x85\xa6\xff\1" + b"\0" * 28 + b"me\0\0"), mysql(2, b"\0\0\0\2\0\0\0"),
              mysql(0, b"\x03select * from books where id = 42"), mysql(1, b"\xff\x7a\x04#42S02no such table")],
    "redis": [b"*2\r\n$3\r\nGET\r\n$9\r\nuser:1234\r\n", b"$6\r\nabcdef\r\n", b"*1\r\n$4\r\nPING\r\n" * 3, b"+PONG\r\n-ERR no\r\n:1\r\n"],
    "memcached": [b"get user:1234\r\nset a 0 0 5\r\nhello\r\n", b"VALUE user:1234 0 2\r\nhi\r\nEND\r\nSTORED\r\n",
                  b"\x80\0\0\3\0\0\0\0\0\0\0\3\0\0\0\7\0\0\0\0\0\0\0\0key", b"\x81\0\0\0\0\0\0\1\0\0\0\0\0\0\0\7\0\0\0\0\0\0\0\0"],
    "mongodb": [mongo(7, 0, DOCUMENT), mongo(8, 7, b"\0\0\0\0\0" + struct.pack("<i", 17) + b"\x01ok\0\0\0\0\0\0\0\xf0\x3f\0")],
    "kafka": [sized(struct.pack(">hhih", 3, 9, 7, 2) + b"me\0\0\0\1\0\5books\0"), sized(struct.pack(">i", 7) + b"\0" * 20),
              sized(struct.pack(">hhih", 0, 7, 8, 2) + b"me" + b"\0" * 30), sized(struct.pack(">i", 8) + b"\0\x06\0\0")],
    "amqp": [b"AMQP\0\0\x09\1", amqp(1, struct.pack(">HH", 10, 10) + b"\0\x09" + b"\0" * 9),
             amqp(1, struct.pack(">HH", 60, 40) + b"\0\0\x05books\x02it\0") + amqp(2, struct.pack(">HHQH", 60, 0, 5, 0)) + amqp(3, b"hello"),
             amqp(1, struct.pack(">HHQB", 60, 80, 1, 0))],
    "smtp": [b"", b"220 mail ESMTP\r\n", b"EHLO me\r\n", b"250-mail\r\n250 PIPELINING\r\n",
             b"MAIL FROM:<a@b>\r\nRCPT TO:<c@d>\r\nDATA\r\n", b"250 ok\r\n550 no\r\n354 go\r\n", b"hello\r\n.\r\nQUIT\r\n", b"250 ok\r\n221 bye\r\n"],
    "imap": [b"", b"* OK IMAP4rev1\r\n", b"a1 LOGIN me SECRET\r\na2 SELECT inbox\r\n", b"a1 OK\r\n* 5 EXISTS\r\na2 NO no\r\n"],
    "dns": [struct.pack(">H", len(QUESTION)) + QUESTION, struct.pack(">H", len(QUESTION)) + b"\0\7\x81\x83" + QUESTION[4:]],
    "tls": [HELLO, HELLO, b"\x17\x03\x03\0\x20" + b"\x22" * 32, b"\x17\x03\x03\x40\0" + b"\x33" * 100],
    "proxy": [b"PROXY TCP4 1.2.3.4 5.6.7.8 1 2\r\n" + GET, OK, b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c" + b"\1" * 12 + GET, OK],
}


def damaged(chance, said):
    """The bytes with some of them changed, removed, repeated or inserted."""
    said = bytearray(said)
    for _ in range(chance.choice([0, 1, 1, 2, 5])):
        at = chance.randrange(len(said) + 1)
        to = min(len(said), at + chance.choice([1, 1, 2, 4, 30]))
        match chance.randrange(8):
            case 0: said[at:to] = b""
            case 1: said[at:at] = chance.randbytes(chance.choice([1, 4, 50]))
            case 2: said[at:at] = said[at:to] * chance.choice([1, 2, 100])
            case 3: said[at:to] = b"\xff" * (to - at)
            case 4: said[at:to] = b"\0" * (to - at)
            case 5: said[at:] = b""
            case 6: said[at:at] = chance.choice([b"\r\n", b"\n", b"\r\n\r\n", b": ", b"Content-Length: 18446744073709551615\r\n", GET, OK, PREFACE, HELLO])
            case 7: said[at:to] = bytes(byte ^ 1 << chance.randrange(8) for byte in said[at:to])
    if chance.randrange(12) == 0:
        said += chance.choice([b"x", b"\n", b"A", b"\0"]) * chance.randrange(40000)
    return bytes(said)


def turns(chance, name):
    """The turns: a turn may be missing, and one end may send two turns together."""
    said = [damaged(chance, turn) for turn in CONVERSATIONS[name]]
    if chance.randrange(4) == 0:
        chance.shuffle(said)
    if chance.randrange(3) == 0:
        said = [said[0] + b"".join(said[2::2]), b"".join(said[1::2])]
    return said


def say(chance, channel, said):
    """Sends in calls of any kinds and sizes."""
    while said:
        size = chance.choice([1, 2, 5, 9, 40, 300, 5000, 100000])
        part = said[:size]
        match chance.randrange(4):
            case 0: sent = channel.send(part)
            case 1: sent = os.write(channel.fileno(), part)
            case 2: sent = channel.sendmsg([part[:3], b"", part[3:7], part[7:]])
            case 3: sent = os.writev(channel.fileno(), [part[:1], part[1:]])
        said = said[sent:]


def hear(chance, channel, count):
    """Receives `count` bytes, in calls of any kinds and sizes."""
    heard = b""
    while len(heard) < count:
        size = min(count - len(heard), chance.choice([1, 2, 5, 9, 40, 300, 5000, 100000]))
        if chance.randrange(8) == 0:
            channel.recv(size, socket.MSG_PEEK)
        match chance.randrange(4):
            case 0: part = channel.recv(size)
            case 1: part = os.read(channel.fileno(), size)
            case 2: part = channel.recvmsg(size)[0]
            case 3:
                buffers = [bytearray(length) for length in (min(size, 4), size - min(size, 4)) if length]
                got = os.readv(channel.fileno(), buffers)
                part = b"".join(buffers)[:got]
        if not part:
            raise EOFError(f"{count - len(heard)} bytes are missing")
        heard += part
    return heard


def converse(seed, name, channel, is_client):
    """One end of a conversation. Returns the bytes that it received."""
    said = turns(random.Random(f"{seed} {name}"), name)
    chance = random.Random(f"{seed} {name} {is_client}")
    heard = []
    if random.Random(f"{seed} {name} both").randrange(5) == 0:
        # Both concurrently, each in a separate thread.
        mine, other = b"".join(said[not is_client::2]), b"".join(said[is_client::2])
        thread = threading.Thread(target=say, args=(random.Random(seed), channel, mine))
        thread.start()
        heard.append(hear(chance, channel, len(other)))
        thread.join()
        said = []
    for number, turn in enumerate(said):
        if (number % 2 == 0) == is_client:
            say(chance, channel, turn)
        else:
            heard.append(hear(chance, channel, len(turn)))
    return b"".join(heard)


def datagrams(seed, pair, digest):
    """Requests and responses of a name server, damaged, over a socket pair."""
    chance = random.Random(f"{seed} datagrams")
    for turn in [*CONVERSATIONS["dns"], QUESTION] * 5:
        said = damaged(chance, turn[2:])[:9000]
        pair[0].send(said)
        digest.update(pair[1].recv(chance.choice([4, 100, 10000])))


def main():
    seed, conversations = int(sys.argv[1]), int(sys.argv[2])
    plan = [(f"{seed} {number}", name) for number in range(conversations) for name in CONVERSATIONS]
    listener = socket.create_server(("127.0.0.1", 0))
    is_client = os.fork() != 0
    signal.alarm(300)
    digest = hashlib.sha256()
    for number, (each, name) in enumerate(plan):
        channel = socket.create_connection(listener.getsockname()) if is_client else listener.accept()[0]
        with channel:
            channel.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            expected = turns(random.Random(f"{each} {name}"), name)[is_client::2]
            heard = converse(each, name, channel, is_client)
            if heard != b"".join(expected):
                sys.exit(f"{each} {name}: other bytes came than were sent")
            digest.update(heard)
    if not is_client:
        pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagrams(seed, pair, digest)
    # One after the other, so that their outputs do not mix.
    if is_client and os.wait()[1] != 0:
        sys.exit("the server failed")
    print(f"{'client' if is_client else 'server'} {digest.hexdigest()}", flush=True)


if __name__ == "__main__":
    main()
