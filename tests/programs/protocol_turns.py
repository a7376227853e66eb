# Conversations in many protocols: for each protocol its turns, as pairs of the side that sends (`c`
# for the client, `s` for the server) and the bytes.
import struct


def be(*parts):
    return b"".join(struct.pack(">" + form, value) for form, value in parts)


def mysql():
    packet = lambda number, body: struct.pack("<I", len(body))[:3] + bytes([number]) + body
    query = lambda text: packet(0, b"\x03" + text)
    ok = packet(1, b"\0\0\0\x02\0\0\0")
    rows = lambda count: b"".join(packet(n, b"\x01x" * 9) for n in range(1, count + 2))
    statements = [
        b"SELECT a FROM books",
        b"/* id */ select 1",
        b"-- shop:7\nSELECT 1 FROM books",
        b"# shop\nSELECT 1",
        b"/*!40101 SET NAMES utf8 */",
        b"/*!50003 SELECT a*/ FROM books",
        b"/* long " + b"x" * 400 + b" */ SELECT 1",
        b"/* id */ select '" + b"c" * 400 + b"'",
        b"(SELECT a FROM x) UNION (SELECT b FROM y)",
        b" \n;; SELECT 2",
        b"WITH w AS (SELECT 1) SELECT * FROM w",
        b"FROBNICATE books",
        b"",
        b"-- ping",
        b"COMMIT",
    ]
    talk = [
        ("s", packet(0, b"\x0a8.0.36\0" + b"\7" * 60)),
        ("c", packet(1, struct.pack("<I", 0xA685) + bytes(28) + b"me\0pw")),
        ("s", packet(2, b"\xfe" + b"caching\0" * 3)),
        ("c", packet(3, b"secret" * 4)),
        ("s", packet(4, b"\0\0\0\2\0\0\0")),
    ]
    for number, text in enumerate(statements):
        talk += [("c", query(text)), ("s", rows(number % 4) if number % 2 else ok)]
    talk += [
        ("c", packet(0, b"\x16/* id */ SELECT a FROM books WHERE b = ?")),
        ("s", packet(1, b"\0\7\0\0\0\1\0\1\0\0\0\0")),
    ]
    for value in (b"alice", b"bob"):
        talk += [("c", packet(0, b"\x17\7\0\0\0\0\1\0\0\0" + value)), ("s", rows(3))]
    talk += [
        ("c", query(b"LOAD DATA LOCAL INFILE 'x' INTO TABLE books")),
        ("s", packet(1, b"\xfbx")),
        ("c", packet(2, b"row\n" * 30) + packet(3, b"")),
        ("s", packet(4, b"\0\0\0\2\0\0\0")),
        ("c", packet(0, b"\x0e")),
        ("s", ok),
    ]
    return talk


def postgresql():
    message = lambda kind, body=b"": kind + be(("I", len(body) + 4)) + body
    done = message(b"C", b"SELECT 1\0") + message(b"Z", b"I")

    def query(text):
        return message(b"Q", text + b"\0")

    def rows(count):
        return message(b"T", b"x" * 20) + message(b"D", b"y" * 30) * count + done

    start = be(("I", 9 + len(b"user\0me\0")), ("I", 3 << 16)) + b"user\0me\0\0"
    talk = [
        ("c", be(("I", 8), ("I", 80877103))),
        ("s", b"N"),
        ("c", start),
        ("s", message(b"R", be(("I", 5)) + b"salt")),
        ("c", message(b"p", b"md5secret\0")),
        ("s", message(b"R", bytes(4)) + message(b"S", b"a\0b\0") + message(b"Z", b"I")),
    ]
    for number, text in enumerate(
        [
            b"SELECT a FROM books",
            b"/* id */ SELECT 1",
            b"-- x\nSELECT 1",
            b"(SELECT 1)",
            b";",
            b"",
            b"/* " + b"x" * 400 + b"*/ SELECT 1",
            b"WITH w AS (SELECT 1) SELECT * FROM w",
            b"FROB x",
        ]
    ):
        talk += [("c", query(text)), ("s", rows(number))]
    for number in range(3):
        parse = message(b"P", b"s1\0/* id */ SELECT a FROM books WHERE b = $1\0\0\0")
        bind = (
            message(b"B", b"\0s1\0\0\0\0\1\0\0\0\5alice\0\0")
            + message(b"E", b"\0" + bytes(4))
            + message(b"S")
        )
        answer = message(b"2") + message(b"D", b"z" * (20 + number)) + done
        talk += [
            ("c", (parse if number == 0 else b"") + bind),
            ("s", (message(b"1") if number == 0 else b"") + answer),
        ]
    talk += [
        ("c", query(b"COPY books TO STDOUT")),
        ("s", message(b"H", b"\0\0\0") + message(b"d", b"x" * 40) + done),
    ]
    talk += [("c", query(b"SELECT 2")), ("s", rows(2))]
    return talk


def redis():
    def command(*words):
        return b"*%d\r\n" % len(words) + b"".join(
            b"$%d\r\n%s\r\n" % (len(word), word) for word in words
        )

    return [
        ("c", command(b"HELLO", b"3")),
        ("s", b"%1\r\n$6\r\nserver\r\n$5\r\nredis\r\n"),
        ("c", command(b"SET", b"k", b"v" * 300)),
        ("s", b"+OK\r\n"),
        ("c", command(b"GET", b"k")),
        ("s", b"$300\r\n" + b"v" * 300 + b"\r\n"),
        ("c", b"PING\r\n"),
        ("s", b"+PONG\r\n"),
        ("c", command(b"FROB", b"k")),
        ("s", b"-ERR unknown\r\n"),
        ("c", command(b"LRANGE", b"a", b"0", b"9")),
        ("s", b"*2\r\n$1\r\na\r\n$2\r\nbb\r\n"),
        ("c", command(b"INCR", b"n")),
        ("s", b":7\r\n"),
    ]


def memcached():
    return [
        ("c", b"get user:7\r\n"),
        ("s", b"VALUE user:7 0 5\r\nalice\r\nEND\r\n"),
        ("c", b"set a 0 0 400\r\n" + b"x" * 400 + b"\r\n"),
        ("s", b"STORED\r\n"),
        ("c", b"frob a b\r\n"),
        ("s", b"ERROR\r\n"),
        ("c", b"incr hits 1\r\n"),
        ("s", b"812\r\n"),
        ("c", b"mg a v\r\n"),
        ("s", b"VA 2 f0\r\nab\r\n"),
        ("c", b"stats\r\n"),
        ("s", b"STAT pid 1\r\nSTAT uptime 22\r\nEND\r\n"),
    ]


def memcached_binary():
    def frame(magic, opcode, opaque, body=b""):
        return (
            struct.pack(
                ">BBHBBHIIQ",
                magic,
                opcode,
                len(body) if magic == 0x80 else 0,
                0,
                0,
                0,
                len(body),
                opaque,
                0,
            )
            + body
        )

    return [
        turn
        for n in range(1, 6)
        for turn in (("c", frame(0x80, 0, n, b"key" * n)), ("s", frame(0x81, 0, n, b"value" * n)))
    ]


def smtp():
    return [
        ("s", b"220 mail.example ESMTP\r\n"),
        ("c", b"EHLO me\r\n"),
        ("s", b"250-mail.example\r\n250-AUTH LOGIN\r\n250 SIZE\r\n"),
        ("c", b"AUTH LOGIN\r\n"),
        ("s", b"334 VXNlcm5hbWU6\r\n"),
        ("c", b"YWxpY2U=\r\n"),
        ("s", b"334 UGFzc3dvcmQ6\r\n"),
        ("c", b"c2VjcmV0MTI=\r\n"),
        ("s", b"235 ok\r\n"),
        ("c", b"MAIL FROM:<a@b>\r\n"),
        ("s", b"250 sender\r\n"),
        ("c", b"XFROB x\r\n"),
        ("s", b"500 what\r\n"),
        ("c", b"RCPT TO:<cc@d>\r\n"),
        ("s", b"250 recipient\r\n"),
        ("c", b"DATA\r\n"),
        ("s", b"354 go on\r\n"),
        ("c", b"Subject: x\r\n\r\n" + b"text " * 90 + b"\r\n.\r\n"),
        ("s", b"250 queued as A1B2\r\n"),
        ("c", b"QUIT\r\n"),
        ("s", b"221 bye\r\n"),
    ]


def imap():
    return [
        ("s", b"* OK [CAPABILITY IMAP4rev1] ready\r\n"),
        ("c", b'A0 ID ("name" "x")\r\n'),
        ("s", b"* ID NIL\r\nA0 OK done\r\n"),
        ("c", b"A1 LOGIN {5}\r\n"),
        ("s", b"+ go on\r\n"),
        ("c", b"alice {6}\r\n"),
        ("s", b"+ and the rest\r\n"),
        ("c", b"secret\r\n"),
        ("s", b"A1 OK in\r\n"),
        ("c", b"A2 SELECT INBOX\r\n"),
        ("s", b"* 30 EXISTS\r\n* 0 RECENT\r\nA2 OK [READ-WRITE] done\r\n"),
        ("c", b"A3 XFROB x\r\n"),
        ("s", b"A3 BAD what is this\r\n"),
        ("c", b"A4 IDLE\r\n"),
        ("s", b"+ idling\r\n"),
        ("c", b"DONE\r\n"),
        ("s", b"A4 OK idle is over\r\n"),
        ("c", b"A5 AUTHENTICATE PLAIN\r\n"),
        ("s", b"+ \r\n"),
        ("c", b"AGFsaWNlAHNlY3JldA==\r\n"),
        ("s", b"A5 NO twice\r\n"),
        ("c", b"A6 FETCH 1 BODY[]\r\n"),
        ("s", b"* 1 FETCH (BODY[] {500}\r\n" + b"x" * 500 + b")\r\nA6 OK\r\n"),
        ("c", b"A7 LOGOUT\r\n"),
        ("s", b"* BYE\r\nA7 OK bye\r\n"),
    ]


def amqp():
    def method(channel, ids, arguments=b""):
        body = be(("H", ids[0]), ("H", ids[1])) + arguments
        return be(("B", 1), ("H", channel), ("I", len(body))) + body + b"\xce"

    text = lambda word: bytes([len(word)]) + word
    talk = [
        ("c", b"AMQP\0\0\x09\x01"),
        (
            "s",
            method(
                0,
                (10, 10),
                b"\0\x09" + be(("I", 0)) + be(("I", 5)) + b"PLAIN" + be(("I", 5)) + b"en_US",
            ),
        ),
        (
            "c",
            method(
                0,
                (10, 11),
                be(("I", 0)) + text(b"PLAIN") + be(("I", 4)) + b"\0a\0b" + text(b"en_US"),
            ),
        ),
        ("s", method(0, (10, 30), be(("H", 9), ("I", 131072), ("H", 60)))),
        (
            "c",
            method(0, (10, 31), be(("H", 9), ("I", 131072), ("H", 60)))
            + method(0, (10, 40), text(b"/") + b"\0\0"),
        ),
        ("s", method(0, (10, 41), text(b""))),
        ("c", method(1, (20, 10), text(b""))),
        ("s", method(1, (20, 11), be(("I", 0)))),
    ]
    for number in range(1, 4):
        talk += [
            ("c", method(1, (50, 10), b"\0\0" + text(b"orders" * number) + b"\0" + be(("I", 0)))),
            ("s", method(1, (50, 11), text(b"orders" * number) + bytes(8))),
        ]
    return talk


def mongodb():
    def message(id, to, elements):
        document = b"".join(elements)
        body = bytes(4) + b"\0" + struct.pack("<I", len(document) + 5) + document + b"\0"
        return struct.pack("<IIII", len(body) + 16, id, to, 2013) + body

    text = (
        lambda name, value: b"\2" + name + b"\0" + struct.pack("<I", len(value) + 1) + value + b"\0"
    )
    return [
        turn
        for n in range(1, 7)
        for turn in (
            ("c", message(n, 0, [text(b"find", b"books"), text(b"f", b"x" * 90 * n)])),
            ("s", message(90 + n, n, [text(b"name", b"y" * 60 * n)])),
        )
    ]


def kafka():
    text = lambda word: be(("H", len(word))) + word

    def request(key, version, id, body):
        return (lambda all: be(("I", len(all))) + all)(
            be(("H", key), ("H", version), ("I", id)) + text(b"app") + body
        )

    def response(id, body):
        return be(("I", 4 + len(body)), ("I", id)) + body

    return [
        turn
        for n in range(1, 7)
        for turn in (
            (
                "c",
                request(
                    18 if n == 1 else 3, 0, n, b"" if n == 1 else be(("I", n)) + text(b"orders") * n
                ),
            ),
            ("s", response(n, b"z" * 50 * n)),
        )
    ]


def fastcgi():
    record = (
        lambda kind, body: be(("B", 1), ("B", kind), ("H", 1), ("H", len(body)), ("H", 0)) + body
    )
    param = lambda name, value: bytes([len(name), len(value)]) + name + value
    return [
        turn
        for n in range(1, 7)
        for turn in (
            (
                "c",
                record(1, b"\0\1\1\0\0\0\0\0")
                + record(4, param(b"REQUEST_METHOD", b"GET") + param(b"REQUEST_URI", b"/cart" * n))
                + record(4, b"")
                + record(5, b""),
            ),
            (
                "s",
                record(6, b"Content-Type: text/html\r\n\r\n" + b"x" * 40 * n) + record(3, bytes(8)),
            ),
        )
    ]


def http():
    return [
        turn
        for n in range(1, 7)
        for turn in (
            (
                "c",
                b"%s /cart/%d HTTP/1.1\r\nHost: x\r\n\r\n" % (b"FROB" if n == 3 else b"GET", 10**n),
            ),
            ("s", b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (40 * n) + b"x" * 40 * n),
        )
    ]


def dns():
    def message(id, flags, name, answer=b""):
        body = (
            be(("H", id), ("H", flags), ("H", 1), ("H", 1 if answer else 0), ("H", 0), ("H", 0))
            + name
            + be(("H", 1), ("H", 1))
            + answer
        )
        return be(("H", len(body))) + body

    return [
        turn
        for n in range(1, 6)
        for turn in (
            ("c", message(n, 0x0100, b"\5alice" * n + b"\4test\0")),
            (
                "s",
                message(
                    n,
                    0x8180,
                    b"\5alice" * n + b"\4test\0",
                    b"\xc0\x0c" + be(("H", 1), ("H", 1), ("I", 60), ("H", 4)) + b"abcd",
                ),
            ),
        )
    ]


def lines(*turns):
    return lambda: [(side, text.encode() + b"\r\n") for side, text in turns]


PROTOCOLS = {
    "mysql": mysql,
    "postgresql": postgresql,
    "redis": redis,
    "memcached": memcached,
    "memcached_binary": memcached_binary,
    "smtp": smtp,
    "imap": imap,
    "amqp": amqp,
    "mongodb": mongodb,
    "kafka": kafka,
    "fastcgi": fastcgi,
    "http": http,
    "dns": dns,
    "ftp": lines(
        ("s", "220 ftp.example ready"),
        ("c", "USER alice"),
        ("s", "331 password please"),
        ("c", "PASS secret"),
        ("s", "230 in"),
        ("c", "PWD"),
        ("s", '257 "/home/alice"'),
        ("c", "QUIT"),
        ("s", "221 bye bye"),
    ),
    "pop3": lines(
        ("s", "+OK ready"),
        ("c", "USER alice"),
        ("s", "+OK go on, alice"),
        ("c", "PASS secret"),
        ("s", "+OK 2 messages"),
        ("c", "STAT"),
        ("s", "+OK 2 320"),
        ("c", "QUIT"),
        ("s", "+OK"),
    ),
    "nntp": lines(
        ("s", "200 news ready"),
        ("c", "GROUP misc.test"),
        ("s", "211 1234 3000234 3002322 misc.test"),
        ("c", "QUIT"),
        ("s", "205 bye"),
    ),
    "ssh": lines(
        ("s", "SSH-2.0-OpenSSH_9.9"),
        ("c", "SSH-2.0-client_1"),
        ("s", "\0\0\1\2keys of the server"),
        ("c", "\0\0\1keys of the client"),
        ("s", "\0\0\1fine"),
    ),
    "nats": lines(
        ("s", 'INFO {"server_id":"x"}'),
        ("c", "CONNECT {}\r\nPING"),
        ("s", "PONG"),
        ("c", "PING "),
        ("s", "PONG  "),
    ),
}
