#!/usr/bin/python3
"""The demo's first application: an HTTP server that calls redis, a second application, or a name
server, and works for a millisecond before and after.

It is unaware of sockcap; it exists to be recorded.
"""
import argparse
import functools
import http.client
import http.server
import signal
import socket
import struct
import sys
import time

arguments = argparse.ArgumentParser(description=__doc__)
for port in ("port", "redis_port", "prices_port", "dns_port"):
    arguments.add_argument(port, type=int)
arguments.add_argument("--redis-address", default="127.0.0.1")
arguments.add_argument("--cache", type=int, default=64, help="number of offers whose prices are kept")
arguments.add_argument("--asks", type=int, default=1, help="how often a page asks for its price")
options = arguments.parse_args()

PORT, REDIS, PRICES, DNS = options.port, options.redis_port, options.prices_port, options.dns_port
redis = socket.create_connection((options.redis_address, REDIS))
redis.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


COUNT = "local n = 0 for i = 1, 20000 do n = n + i end return n"


def from_redis():
    words = ["EVAL", COUNT, "0"]
    redis.sendall("".join([f"*{len(words)}\r\n"] + [f"${len(w)}\r\n{w}\r\n" for w in words]).encode())
    return redis.recv(4096)


def price():
    connection = http.client.HTTPConnection("127.0.0.1", PRICES, timeout=10)
    connection.request("GET", "/price")
    body = connection.getresponse().read()
    connection.close()
    return body


@functools.lru_cache(maxsize=options.cache)
def offer(_name):
    return price()


def look_up(name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    query = struct.pack(">6H", 7, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack(">2H", 1, 1)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(10)
        udp.sendto(query, ("127.0.0.1", DNS))
        return socket.inet_ntoa(udp.recvfrom(512)[0][-4:]).encode()


class Shop(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.001)
        if self.path == "/item":
            body = from_redis()
        elif self.path == "/page":
            body = from_redis() + b"".join(price() for _ in range(options.asks))
        elif self.path.startswith("/offer/"):
            body = offer(self.path)
        else:
            body = look_up("shop.test")
        time.sleep(0.001)
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


# Ends after the call that it is in: a process that a signal kills has no record of its last call.
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
http.server.HTTPServer(("127.0.0.1", PORT), Shop).serve_forever()
