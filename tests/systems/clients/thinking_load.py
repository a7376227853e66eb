"""Client of a web server with thinking users: each sends a request, waits for the response, and
pauses.

usage: thinking_load.py PORT --requests N --users C [--think MILLISECONDS] PATH...

Users without pauses synchronize with a single-threaded server, which then does the work of all of
them together and sends it in one packet. With pauses of random length (up to twice the mean)
requests still overlap, but most have separate packets. The pauses follow from the ids, so every
run has the same.
"""

import argparse
import http.client
import random
import sys
import threading
import time


def user(number, arguments, failures):
    """One user: every C-th request, over one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=30)
    for request in range(1 + number, 1 + arguments.requests, arguments.users):
        identity = f"skid{request:07d}x"
        path = arguments.paths[request % len(arguments.paths)].replace("{id}", identity)
        time.sleep(random.Random(request).uniform(0, 2 * arguments.think / 1000))
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            answer.read()
            if answer.status >= 400:
                failures.append(f"{path}: status {answer.status}")
        except (OSError, http.client.HTTPException) as error:
            failures.append(f"{path}: {error!r}")
            connection.close()
    connection.close()


def main():
    """Runs all users and prints how many requests were successful."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--users", type=int, default=1)
    parser.add_argument("--think", type=float, default=20.0)
    arguments = parser.parse_args()

    failures = []
    users = [
        threading.Thread(target=user, args=(number, arguments, failures))
        for number in range(arguments.users)
    ]
    for one in users:
        one.start()
    for one in users:
        one.join()
    for failure in failures[:5]:
        print(failure, file=sys.stderr)
    print(f"{arguments.requests - len(failures)} of {arguments.requests} answered")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
