"""Sends secrets in many protocols, from both ends of real connections, in two processes.

usage: send_secrets.py FILE

Writes the secrets to FILE, one per line after its protocol, reports when everything was sent, and
ends when its standard input does.
"""
import base64
import os
import random
import socket
import string
import struct
import sys

ALL = []
PROTOCOL = [""]


def secret(letters=string.ascii_lowercase, length=14):
    """A new secret, which is in no word list."""
    text = "".join(random.choice(letters) for _ in range(length))
    ALL.append((PROTOCOL[0], text))
    return text


def mixed():
    return secret(string.ascii_letters + string.digits + "!-_.", 16)


def digits():
    return secret("123456789", 14)


def b64(*parts):
    text = base64.b64encode("\0".join(parts).encode()).decode()
    ALL.append((PROTOCOL[0], text))
    return text


def basic():
    text = base64.b64encode(f"{secret()}:{secret()}".encode()).decode()
    ALL.append((PROTOCOL[0], text))
    return text


def be(text, size=4):
    return len(text).to_bytes(size, "big") + text


def pg(kind, body):
    return kind + struct.pack(">I", len(body) + 4) + body


def my(number, body):
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def bson(**fields):
    body = b""
    for name, value in fields.items():
        if isinstance(value, str):
            text = value.encode() + b"\0"
            body += b"\x02" + name.encode() + b"\0" + struct.pack("<I", len(text)) + text
        elif isinstance(value, bytes):
            body += b"\x05" + name.encode() + b"\0" + struct.pack("<I", len(value)) + b"\0" + value
        elif isinstance(value, dict):
            body += b"\x03" + name.encode() + b"\0" + bson(**value)
        else:
            body += b"\x10" + name.encode() + b"\0" + struct.pack("<i", value)
    return struct.pack("<I", len(body) + 5) + body + b"\0"


def mongo(number, answers, **fields):
    body = b"\0\0\0\0\0" + bson(**fields)
    return struct.pack("<IIII", len(body) + 16, number, answers, 2013) + body


def amqp(kind, channel, body):
    return bytes([kind]) + struct.pack(">HI", channel, len(body)) + body + b"\xce"


def resp(*words):
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in map(str.encode, words))


def fcgi(kind, body):
    return bytes([1, kind, 0, 1]) + struct.pack(">HBB", len(body), 0, 0) + body


def pairs(**values):
    return b"".join(bytes([len(n), len(v)]) + n.encode() + v.encode() for n, v in values.items())


def mqtt(text):
    return struct.pack(">H", len(text)) + text.encode()


def hpack(name, value, is_indexed=True):
    name, value = name.encode(), value.encode()
    return bytes([0x40 if is_indexed else 0, len(name)]) + name + bytes([len(value)]) + value


def frame(kind, flags, stream, body):
    return len(body).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + body


def kafka(key, version, number, body):
    return be(struct.pack(">HHI", key, version, number) + struct.pack(">H", 6) + b"client" + body)


def memcached(opcode, key, value, magic=0x80):
    head = struct.pack(">BBHBBHIIQ", magic, opcode, len(key), 0, 0, 0, len(key) + len(value), 7, 0)
    return head + key + value


def ldap(user, password):
    user, password = user.encode(), password.encode()
    bind = b"\x02\x01\x03\x04" + bytes([len(user)]) + user + b"\x80" + bytes([len(password)]) + password
    message = b"\x02\x01\x01\x60" + bytes([len(bind)]) + bind
    return b"\x30" + bytes([len(message)]) + message


def talks():
    """The messages, by protocol: `>` from the client, `<` from the server."""
    yield "imap", lambda: [
        "<* OK ready\r\n", f">a1 LOGIN {secret()} {mixed()}\r\n", "<a1 OK in\r\n",
        f">a2 AUTHENTICATE PLAIN {b64(secret(), secret())}\r\n", f"<+ {b64(secret())}\r\n",
        f">{b64(secret())}\r\n", "<a2 OK\r\n", ">a3 LOGIN {14}\r\n", "<+ go\r\n",
        f">{secret()} {{14}}\r\n", "<+ go\r\n", f">{secret()}\r\n", "<a3 OK\r\n",
        f">a4 LOGIN {{14+}}\r\n{secret()} {{14+}}\r\n{secret()}\r\n", f"<a4 NO {secret()}\r\n",
        f">a5 UID SEARCH SUBJECT \"{secret()}\"\r\n", f"<* SEARCH {digits()}\r\na5 OK\r\n",
        ">a6 FETCH 1 BODY[]\r\n", f"<* 1 FETCH (BODY[] {{20}}\r\n{secret()}......)\r\na6 OK\r\n",
        f">a7 LOGIN \"{secret()}\" \"{secret()}\"\r\n", "<a7 BAD\r\n",
    ]
    yield "pop3", lambda: [
        "<+OK ready\r\n", f">USER {secret()}\r\n", "<+OK\r\n", f">PASS {mixed()}\r\n", f"<-ERR {secret()}\r\n",
        f">APOP {secret()} {secret('0123456789abcdef', 32)}\r\n", "<+OK\r\n", f">AUTH PLAIN {b64(secret())}\r\n",
        "<+ \r\n", f">{b64(secret())}\r\n", f"<+OK {secret()}\r\n",
    ]
    yield "smtp", lambda: [
        "<220 mail ESMTP\r\n", f">EHLO {secret()}\r\n", f"<250-{secret()}\r\n250 AUTH\r\n",
        f">AUTH PLAIN {b64('', secret(), secret())}\r\n", "<235 ok\r\n", ">AUTH LOGIN\r\n", "<334 VXNlcm5hbWU6\r\n",
        f">{b64(secret())}\r\n", "<334 UGFzc3dvcmQ6\r\n", f">{b64(mixed())}\r\n", f"<535 {secret()}\r\n",
        f">MAIL FROM:<{secret()}@a>\r\n", "<250 ok\r\n", ">DATA\r\n", "<354 go\r\n",
        f">Subject: {secret()}\r\n\r\n{digits()}\r\n.\r\n", f"<250 queued {secret()}\r\n",
    ]
    yield "ftp", lambda: [
        "<220 ftp\r\n", f">USER {secret()}\r\n", "<331 password\r\n", f">PASS {mixed()}\r\n", f"<230 {secret()}\r\n",
        f">ACCT {secret()}\r\n", "<500 no\r\n",
    ]
    yield "http", lambda: [
        f">GET /cart?token={secret()}&card={digits()} HTTP/1.1\r\nHost: shop\r\nAuthorization: Basic {basic()}\r\n"
        f"Cookie: id={mixed()}\r\nProxy-Authorization: Bearer {mixed()}\r\nX-Api-Key: {mixed()}\r\n\r\n",
        f"<HTTP/1.1 200 OK\r\nSet-Cookie: id={mixed()}\r\nContent-Length: 14\r\n\r\n{secret()}",
        f">GET http://{secret()}:{secret()}@shop/cart?{secret()} HTTP/1.1\r\nHost: shop\r\n\r\n",
        f"<HTTP/1.1 302 Found\r\nLocation: /?{secret()}\r\nContent-Length: 0\r\n\r\n",
        f">POST /login HTTP/1.1\r\nHost: shop\r\nContent-Length: 31\r\n\r\nuser={secret()}&pw={secret(length=8)}",
        f"<HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: {secret()}\r\nContent-Length: 0\r\n\r\n",
    ]
    yield "http, passwords in targets", lambda: [
        text for method in ("GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT")
        for scheme in ("http", "https") for user in (secret(), f"7{secret()}", "4711")
        for behind in ("/", "/cart", f"/cart?{secret()}", f"/cart;id={secret()}/item")
        for text in (f">{method} {scheme}://{user}:{mixed()}@shop{behind} HTTP/1.1\r\nHost: shop\r\n\r\n",
                     "<HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    ]
    yield "http, other targets", lambda: [
        text for target in (
            f"GET /cart;jsessionid={mixed()}", f"POST /cart;a={secret()};b={digits()}/item;{secret()}?{secret()}", f"CONNECT alice:{secret()}@shop:443",
            f"CONNECT alice:9{secret()}@shop:443", f"CONNECT 4711:9{secret()}@shop:443", f"GET  http://alice:{secret()}@shop/", f"GET svn+ssh://alice:{secret()}@shop/",
            f"GET alice_b:{secret()}@shop/")
        for text in (f">{target} HTTP/1.1\r\nHost: shop\r\n\r\n", "<HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    ]
    yield "http2", lambda: [
        b">PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b"") + frame(
            1, 5, 1, b"\x82\x87" + hpack(":path", f"/cart?token={secret()}") + hpack("authorization", f"Bearer {mixed()}")
            + hpack("cookie", mixed()) + hpack("x-token", mixed(), False)),
        b"<" + frame(4, 0, 0, b"") + frame(1, 5, 1, b"\x88" + hpack("set-cookie", mixed())),
        b">" + frame(1, 5, 3, b"\x82\x87\x04" + bytes([22]) + f"/cart?{secret(length=16)}".encode()
                     + b"\x0f\x08" + bytes([16]) + mixed().encode()),
        b"<" + frame(1, 4, 3, b"\x88") + frame(0, 1, 3, secret().encode()),
        b">" + frame(1, 5, 5, b"\x82\x87" + hpack(":path", f"/cart;jsessionid={mixed()}/item;{secret()}?{secret()}")),
        b"<" + frame(1, 5, 5, b"\x88"),
    ]
    yield "redis", lambda: [
        b">" + resp("AUTH", secret()), "<+OK\r\n", b">" + resp("HELLO", "3", "AUTH", secret(), mixed()),
        f"<%1\r\n$14\r\n{secret()}\r\n:{digits()}\r\n", b">" + resp("ACL", "SETUSER", secret(), ">" + secret()), "<+OK\r\n",
        b">" + resp("CONFIG", "SET", "requirepass", secret()), f"<-ERR unknown command '{secret()}' {mixed()}\r\n",
        b">" + resp("MIGRATE", "h", "1", "k", "0", "1", "AUTH", secret()), f"<*1\r\n$14\r\n{secret()}\r\n",
        b">" + resp("MGET", "a"), f"<*2\r\n$14\r\n{secret()}\r\n$14\r\n{secret()}\r\n",
        b">" + resp("EVAL", secret()), f"<+{secret()}\r\n", b">" + resp(secret(), secret()) if False else b">" + resp("GET", digits()),
        f"<$14\r\n{secret()}\r\n", b">" + resp("INCR", "n"), f"<:{digits()}\r\n",
        f">AUTH {secret()}\r\n", "<+OK\r\n",
    ]
    yield "postgresql", lambda: [
        b">" + be(struct.pack(">I", 3 << 16) + f"user\0{secret()}\0database\0{secret()}\0options\0{secret()}\0\0".encode())
        .replace(b"", b"", 1) if False else
        b">" + (lambda body: struct.pack(">I", len(body) + 4) + body)(
            struct.pack(">I", 3 << 16) + f"user\0{secret()}\0database\0{secret()}\0options\0{secret()}\0\0".encode()),
        b"<" + pg(b"R", b"\0\0\0\x05" + secret(length=4).encode()), b">" + pg(b"p", b"md5" + secret("0123456789abcdef", 32).encode() + b"\0"),
        b"<" + pg(b"R", b"\0\0\0\x0a" + b"SCRAM-SHA-256\0\0"), b">" + pg(b"p", f"SCRAM-SHA-256\0\0\0\0\x20n,,n={secret()},r={mixed()}".encode()),
        b"<" + pg(b"R", b"\0\0\0\x0br=" + mixed().encode()) + pg(b"S", f"a\0{secret()}\0".encode()) + pg(b"K", secret(length=8).encode()) + pg(b"Z", b"I"),
        b">" + pg(b"Q", f"CREATE USER {secret()} WITH PASSWORD '{secret()}'\0".encode()), b"<" + pg(b"C", b"CREATE ROLE\0") + pg(b"Z", b"I"),
        b">" + pg(b"Q", f"ALTER ROLE {secret()} PASSWORD '{mixed()}'\0".encode()), b"<" + pg(b"Z", b"I"),
        b">" + pg(b"Q", f"SELECT a AS {secret()}, {digits()} FROM {secret()}.books {secret()} WHERE pw = '{secret()}' -- {secret()}\n/* {secret()} */\0".encode()),
        b"<" + pg(b"T", b"\0\1" + secret().encode() + b"\0" * 19) + pg(b"D", b"\0\1\0\0\0\x0e" + secret().encode()) + pg(b"C", b"SELECT 1\0") + pg(b"Z", b"I"),
        b">" + pg(b"P", f"\0UPDATE users SET pw = $${secret()}$$ WHERE x = E'\\{secret()}'\0\0\0".encode()) + pg(b"B", f"\0\0\0\0\0\1\0\0\0\x0e{secret()}\0\0".encode()) + pg(b"E", b"\0\0\0\0\0") + pg(b"S", b""),
        b"<" + pg(b"E", f"SERROR\0VERROR\0C23505\0MKey {secret()}\0D{secret()}\0\0".encode()) + pg(b"Z", b"I"),
        b">" + pg(b"Q", f"SET x = '{secret()}'; NOTIFY {secret()}, '{secret()}'\0".encode()), b"<" + pg(b"A", f"\0\0\0\1{secret()}\0{secret()}\0".encode()),
        b">" + pg(b"Q", b"COPY books FROM STDIN\0"), b"<" + pg(b"G", b"\0\0\0"), b">" + pg(b"d", f"{secret()}\t{digits()}\n".encode()) + pg(b"c", b""),
    ]
    yield "mysql", lambda: [
        b"<" + my(0, b"\x0a8.0.36\0\x01\0\0\0" + secret(length=8).encode() + b"\0\xff\xff\x08\2\0\xff\xc1\x15" + b"\0" * 10 + secret(length=12).encode() + b"\0mysql_native_password\0"),
        b">" + my(1, b"\x85\xa6\xff\x01\0\0\0\1\x2d" + b"\0" * 23 + f"{secret()}\0\x14{secret(length=20)}{secret()}\0mysql_native_password\0".encode()),
        b"<" + my(2, b"\xfemysql_clear_password\0" + secret().encode()), b">" + my(3, secret().encode() + b"\0"), b"<" + my(4, b"\0\0\0\2\0\0\0"),
        b">" + my(0, f"\x03CREATE USER {secret()} IDENTIFIED BY '{secret()}'".encode()), b"<" + my(1, b"\0\0\0\2\0\0\0"),
        b">" + my(0, f"\x03SET PASSWORD = '{mixed()}'".encode()), b"<" + my(1, f"\xff\x15\x04#28000Access denied for {secret()}".encode("latin1")),
        b">" + my(0, b"\x11" + f"{secret()}\0\x0e{secret()}{secret()}\0".encode()), b"<" + my(1, b"\0\0\0\2\0\0\0"),
        b">" + my(0, f'\x03SELECT * FROM books AS {secret()} WHERE a = "{secret()}" AND b = {digits()} AND c = \'{secret()}\''.encode()),
        b"<" + my(1, b"\1") + my(2, f"\x03def\0\0\0\x0e{secret()}".encode()) + my(3, b"\xfe\0\0\2\0") + my(4, f"\x0e{secret()}".encode()) + my(5, b"\xfe\0\0\2\0"),
        b">" + my(0, b"\x16SELECT a FROM books WHERE b = ?"), b"<" + my(1, b"\0\7\0\0\0\1\0\1\0\0\0\0"),
        b">" + my(0, b"\x17\7\0\0\0\0\1\0\0\0\0\1\xfd\0\x0e" + secret().encode()), b"<" + my(1, b"\0" + secret().encode()),
        b">" + my(0, f"\x02{secret()}".encode()), b"<" + my(1, b"\0\0\0\2\0\0\0"),
    ]
    yield "mongodb", lambda: [
        b">" + mongo(1, 0, saslStart=1, mechanism="PLAIN", payload=f"\0{secret()}\0{secret()}".encode(), db=secret()), b"<" + mongo(9, 1, ok=1, payload=secret().encode(), done=0),
        b">" + mongo(2, 0, saslContinue=1, payload=mixed().encode()), b"<" + mongo(10, 2, ok=1),
        b">" + mongo(3, 0, createUser=secret(), pwd=secret(), roles={"a": secret()}), b"<" + mongo(11, 3, ok=0, errmsg=secret(), code=51003),
        b">" + mongo(4, 0, find="books", filter={"name": secret(), "pin": secret()}), b"<" + mongo(12, 4, cursor={"a": secret()}, ok=1),
        b">" + mongo(5, 0, insert="books", name=secret()), b"<" + mongo(13, 5, name=secret(), ok=1),
    ]
    yield "amqp", lambda: [
        b">AMQP\0\0\x09\x01", b"<" + amqp(1, 0, b"\0\x0a\0\x0a\0\x09" + secret().encode()),
        b">" + amqp(1, 0, b"\0\x0a\0\x0b\0\0\0\0\5PLAIN" + be(f"\0{secret()}\0{secret()}".encode()) + b"\5en_US"),
        b"<" + amqp(1, 0, b"\0\x0a\0\x14" + be(mixed().encode())), b">" + amqp(1, 0, b"\0\x0a\0\x15" + be(mixed().encode())),
        b"<" + amqp(1, 0, b"\0\x0a\0\x46" + be(secret().encode()) + b"\0"), b">" + amqp(1, 0, b"\0\x0a\0\x28\x0e" + secret().encode() + b"\0\0"),
        b"<" + amqp(1, 1, b"\0\x14\0\x28\x01\x94\x0e" + secret().encode() + b"\0\0\0\0"),
        b">" + amqp(1, 1, b"\0\x3c\0\x28\0\0\4shop\5books\0") + amqp(2, 1, b"\0\x3c\0\0\0\0\0\0\0\0\0\x0e\x20\0\0\0\0\x13\1aS" + be(secret().encode())) + amqp(3, 1, secret().encode()),
    ]
    yield "kafka", lambda: [
        b">" + kafka(18, 0, 1, b""), b"<" + be(struct.pack(">I", 1) + secret().encode()), b">" + kafka(17, 1, 2, b"\0\5PLAIN"), b"<" + be(struct.pack(">IHI", 2, 0, 0)),
        b">" + kafka(36, 0, 3, be(f"\0{secret()}\0{secret()}".encode())), b"<" + be(struct.pack(">I", 3) + f"\0\0{secret()}".encode()),
        b">" + be(f"\0{secret()}\0{secret()}".encode()), b"<" + be(secret().encode()),
        b">" + kafka(0, 2, 4, struct.pack(">HII", 1, 9, 1) + b"\0\5books" + struct.pack(">II", 1, 0) + be(secret().encode())), b"<" + be(struct.pack(">I", 4) + secret().encode()),
        b">" + kafka(51, 0, 5, f"\0\x0e{secret()}".encode()), b"<" + be(struct.pack(">I", 5)),
    ]
    yield "memcached", lambda: [
        f">set auth 0 0 29\r\n{secret()} {secret()}\r\n", "<STORED\r\n", f">set {secret()} 0 0 14 noreply\r\n{digits()}\r\nget {digits()} {secret()}\r\n",
        f"<VALUE {secret()} 0 14\r\n{secret()}\r\nEND\r\n", f">incr {secret()} 1\r\n", f"<{digits()}\r\n", f">ms {secret()} 14 T0\r\n{secret()}\r\n", "<HD\r\n",
        f">mg {secret()} v k O{secret()}\r\n", f"<VA 14 k{secret()}\r\n{secret()}\r\n", ">stats\r\n", f"<STAT a {secret()}\r\nEND\r\n", f">set {secret()}\r\n", f"<CLIENT_ERROR {secret()}\r\n",
    ]
    yield "memcached, binary", lambda: [
        b">" + memcached(0x21, b"PLAIN", f"\0{secret()}\0{secret()}".encode()), b"<" + memcached(0x21, b"", secret().encode(), 0x81),
        b">" + memcached(0x22, b"PLAIN", mixed().encode()) + memcached(0, secret().encode(), b""), b"<" + memcached(0, b"", secret().encode(), 0x81),
    ]
    yield "fastcgi", lambda: [
        b">" + fcgi(1, b"\0\1\0\0\0\0\0\0") + fcgi(4, pairs(REQUEST_METHOD="GET", REQUEST_URI=f"/cart?{secret()}", QUERY_STRING=secret()))
        + fcgi(4, pairs(HTTP_COOKIE=mixed(), HTTP_AUTHORIZATION=basic())) + fcgi(4, b"") + fcgi(5, secret().encode()),
        b"<" + fcgi(6, f"Status: 200 {secret()}\r\nSet-Cookie: {mixed()}\r\n\r\n{secret()}".encode()) + fcgi(7, secret().encode()) + fcgi(3, b"\0" * 8),
    ]
    yield "websocket", lambda: [
        f">GET /chat?{secret()} HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {mixed()}\r\n\r\n",
        f"<HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {mixed()}\r\n\r\n",
        b">\x81\x8e\0\0\0\0" + secret().encode(), b"<\x81\x0e" + secret().encode(), b">\x88\x90\0\0\0\0\x03\xe8" + secret().encode(),
    ]
    yield "dns", lambda: [
        b">" + be(b"\x12\x34\1\0\0\1\0\0\0\0\0\0\x0e" + secret().encode() + b"\4test\0\0\1\0\1", 2),
        b"<" + be(b"\x12\x34\x81\x80\0\1\0\1\0\0\0\0\1a\4test\0\0\x10\0\1\xc0\x0c\0\x10\0\1\0\0\0\0\0\x0f\x0e" + secret().encode(), 2),
    ]
    yield "mqtt", lambda: [
        b">" + (lambda body: b"\x10" + bytes([len(body)]) + body)(b"\0\4MQTT\4\xc2\0\x3c" + mqtt(secret()) + mqtt(secret()) + mqtt(secret())), "< \2\0\0",
        b">" + (lambda body: b"\x30" + bytes([len(body)]) + body)(mqtt("a/b") + secret().encode()),
    ]
    yield "ldap", lambda: [b">" + ldap(f"cn={secret()}", secret()), b"<\x30\x1a\2\1\1\x61\x15\x0a\1\x31\4\0\4\x0e" + secret().encode()]
    yield "nats", lambda: [
        f'<INFO {{"nonce":"{mixed()}"}}\r\n', f'>CONNECT {{"user":"{secret()}","pass":"{secret()}"}}\r\nPING\r\n', "<PONG\r\n", f">PUB a 14\r\n{secret()}\r\n",
    ]
    yield "stomp", lambda: [
        f">CONNECT\nlogin:{secret()}\npasscode:{secret()}\n\n\0", f"<CONNECTED\nsession:{secret()}\n\n\0", f">SEND\ndestination:/a\n\n{secret()}\0",
    ]
    yield "sip", lambda: [
        f'>REGISTER sip:{secret()}@shop SIP/2.0\r\nAuthorization: Digest response="{mixed()}"\r\nContent-Length: 0\r\n\r\n',
        f"<SIP/2.0 401 Unauthorized\r\nWWW-Authenticate: {mixed()}\r\nContent-Length: 0\r\n\r\n",
        f">INVITE sip:4711:{secret()}@pbx SIP/2.0\r\nContent-Length: 0\r\n\r\n", "<SIP/2.0 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        f">INVITE sip:a/{secret()}?b:{secret()}@pbx SIP/2.0\r\nContent-Length: 0\r\n\r\n", "<SIP/2.0 404 Not Found\r\nContent-Length: 0\r\n\r\n",
    ]
    yield "irc", lambda: [f">PASS {secret()}\r\nNICK {secret()}\r\nOPER {secret()} {secret()}\r\n", f"<:a 001 {secret()}\r\n", f">PRIVMSG a :{secret()}\r\n"]
    yield "xmpp", lambda: [f"><auth mechanism='PLAIN'>{b64('', secret(), secret())}</auth>", f"<<challenge>{b64(secret())}</challenge>", f">{b64(secret())}"]
    yield "telnet", lambda: ["<\xff\xfd\x18login: ", f">{secret()}\r\n", "<Password: ", f">{secret()}\r\n", f"<Welcome {secret()}\r\n$ ", f">echo {secret()} {digits()}\r\n"]
    yield "socks5", lambda: [b">\5\1\2", b"<\5\2", b">\1\x0e" + secret().encode() + b"\x0e" + secret().encode(), b"<\1\0"]
    yield "cassandra", lambda: [
        b">\4\0\0\0\1" + be(b"\0\1\0\x0bCQL_VERSION\0\0053.0.0"), b"<\x84\0\0\0\3" + be(b"\0\x0e" + secret().encode()),
        b">\4\0\0\0\x0f" + be(be(f"\0{secret()}\0{secret()}".encode())), b">\4\0\0\0\7" + be(be(f"SELECT a FROM b WHERE c = '{secret()}'".encode()) + b"\0\1\0"),
    ]
    yield "beanstalkd", lambda: [f">put 0 0 1 14\r\n{secret()}\r\n", "<INSERTED 1\r\n", f">use {secret()}\r\n", f"<USING {secret()}\r\n"]
    yield "nntp", lambda: ["<200 news\r\n", f">AUTHINFO USER {secret()}\r\n", "<381 more\r\n", f">AUTHINFO PASS {secret()}\r\n", f"<281 {secret()}\r\n"]
    yield "zabbix", lambda: [b">ZBXD\1" + struct.pack("<Q", 14) + secret().encode(), b"<ZBXD\1" + struct.pack("<Q", 14) + secret().encode()]
    yield "length and text", lambda: [
        b">" + be(secret().encode()), b"<" + be(secret().encode(), 2), b">" + bytes([14]) + secret().encode(),
        b"<" + struct.pack("<I", 14) + secret().encode(), b">\0\0\0\x12\0\1\0\0" + secret().encode(), b"<\1\0\0\0\0\0\x0e" + secret().encode(),
    ]
    yield "text", lambda: [f">{secret()}\n", f"<{digits()}\n", f">{secret()} {secret()}\r\n", f"<ok {secret()}\n", f">{mixed()}", f"<{{\"token\": \"{secret()}\"}}", f">200 {secret()}\n"]


def sent(text):
    return text if isinstance(text, bytes) else text.encode("latin1")


def say(peer, is_client, said, size):
    """One end of a conversation: receives the other's messages, and sends its own."""
    # Parts are not held back until earlier ones are acknowledged.
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for text in said:
        text = sent(text)
        speaker, text = text[:1], text[1:]
        if (speaker == b">") == is_client:
            for at in range(0, len(text), size):
                peer.sendall(text[at:at + size])
        else:
            # Many programs receive the head of a message first.
            left, first = len(text), size if size < 1000 else (4 if text[:3].isalpha() is False else 1000)
            while left:
                got = len(peer.recv(min(left, first)))
                assert got, "the other end has closed"
                left, first = left - got, 1000 if size >= 1000 else size


def main():
    listener = socket.create_server(("127.0.0.1", 0))
    # Whole, in parts, and whole again.
    all_said = []
    for size in (100_000, 7, 100_000):
        for name, of in talks():
            PROTOCOL[0] = name
            all_said.append((size, of()))
    datagrams = [f"<13>app: password {secret()}".encode(), b"\1\7\0\x26" + secret().encode(), f"REGISTER sip:{secret()}@a SIP/2.0\r\n".encode(),
                 b"\x30\x29\2\1\1\4\x0e" + secret().encode(), b"\x12\x34\1\0\0\1\0\0\0\0\0\0\x0e" + secret().encode() + b"\0\0\1\0\1"]
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind(("127.0.0.1", 0))
    child = os.fork()
    if child == 0:
        for size, said in all_said:
            with socket.create_connection(listener.getsockname()) as peer:
                say(peer, True, said, size)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for datagram in datagrams:
            sender.sendto(datagram, receiver.getsockname())
        sys.stdin.read()
        os._exit(0)
    for size, said in all_said:
        peer, _ = listener.accept()
        with peer:
            say(peer, False, said, size)
    for _ in datagrams:
        receiver.recv(1000)
    with open(sys.argv[1], "w") as file:
        file.writelines(f"{protocol}\t{text}\n" for protocol, text in ALL)
    print("said", flush=True)
    sys.stdin.read()
    assert os.waitpid(child, 0)[1] == 0


main()
