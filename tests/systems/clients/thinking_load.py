"""Client of a web server with thinking users: each sends a request, waits for the response, and
pauses.

usage: thinking_load.py PORT --requests N --concurrency C [--think MILLISECONDS] PATH...

Users without pauses synchronize with a single-threaded server, which then does the work of all of
them together and sends it in one packet. With pauses of random length (up to twice the mean)
requests still overlap, but most have separate packets. The pauses follow from the ids, so every
run has the same.
"""

import argparse
import http.client
import random
import sys
import time

from load import identity_of, parse_load, run_load


def main():
    """Runs all users and prints how many requests were successful."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--think", type=float, default=20.0)
    arguments = parse_load(parser)

    def work(user, _, failures):
        # Every C-th request, so that the requests of a user are the same in each run.
        last = arguments.first + arguments.requests
        connection = http.client.HTTPConnection("127.0.0.1", arguments.port, timeout=30)
        for request in range(arguments.first + user, last, arguments.concurrency):
            path = arguments.paths[request % len(arguments.paths)]
            path = path.replace("{id}", identity_of(request))
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

    return run_load(arguments, work)


if __name__ == "__main__":
    sys.exit(main())
