"""Client of a service of large bodies: sends, fetches and does both concurrently, among small
requests.

usage: stream_load.py PORT --requests N [--concurrency C] [--prefix P]... [--both KIND]

Of ten requests seven are small, one sends a body, one fetches one, and one does both: with KIND
`turn` the body comes back when all of it has arrived, with KIND `echo` while it is still being
sent. Bodies have 1 to 8 MB; the sizes follow from the ids, so every run has the same. The exit
status is 1 if a response was not successful or had the wrong length.
"""

import argparse
import http.client
import sys
import threading
import time

from load import identity_of, parse_load, run_load

# The kinds of ten requests, in order.
KINDS = ("small", "up", "small", "small", "down", "small", "small", "small", "both", "small")
MEGABYTE = 1_000_000
# A user's line transfers this much at a time, and rests in between: about 8 MB per second.
PART = 65536
REST = 0.008


def send(connection, body):
    """Sends a body in parts; in a separate thread if the response begins before its end."""
    view = memoryview(body)
    try:
        for start in range(0, len(view), PART):
            connection.sock.sendall(view[start : start + PART])
            time.sleep(REST)
    except OSError:
        # The reader of the response finds the connection broken and reports it.
        return


def ask(connection, prefix, kind, identity, size):
    """Sends one request; returns what is wrong with its response, or None."""
    path = f"{prefix}/{kind}/{identity}" + (f"/{size}" if kind == "down" else "")
    sends = kind in ("up", "turn", "echo")
    connection.putrequest("POST" if sends else "GET", path)
    if sends:
        connection.putheader("Content-Length", str(size))
    connection.endheaders()
    sender = None
    if sends:
        sender = threading.Thread(target=send, args=(connection, b"." * size))
        sender.start()
    answer = connection.getresponse()
    length = 0
    while part := answer.read(PART):
        length += len(part)
        if len(part) == PART:
            time.sleep(REST)
    if sender is not None:
        sender.join()
    if answer.status != 200:
        return f"{path}: status {answer.status}"
    if kind in ("down", "turn", "echo") and length != size:
        return f"{path}: {length} bytes of {size}"
    return None


def main():
    """Sends all requests and prints how many were successful."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--prefix", action="append")
    parser.add_argument("--both", choices=("turn", "echo"), default="turn")
    arguments = parse_load(parser)

    def work(_, numbers, failures):
        connection = http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=60)
        for number in numbers:
            prefixes = arguments.prefix or [""]
            prefix = prefixes[number // len(KINDS) % len(prefixes)]
            size = MEGABYTE + number * 7_654_321 % (7 * MEGABYTE)
            kind = KINDS[number % len(KINDS)].replace("both", arguments.both)
            try:
                failure = ask(connection, prefix, kind, identity_of(number), size)
            except (OSError, http.client.HTTPException) as error:
                failure = f"{kind} {number}: {error!r}"
                connection.close()
            if failure:
                failures.append(failure)
        connection.close()

    return run_load(arguments, work)


if __name__ == "__main__":
    sys.exit(main())
