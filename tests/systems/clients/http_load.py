"""Client of a web server: requests pages, each with a distinct id.

usage: http_load.py PORT --requests N [--first N] [--concurrency C] [--close] PATH...

A PATH has `{id}` in the id's place. The paths are used in turn. The exit status is 1 if a response
was not successful (2xx), and the last line prints how many were.
"""

import argparse
import http.client
import sys

from load import identity_of, parse_load, run_load


def main():
    """Sends all requests and prints how many were successful."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--close", action="store_true", help="a connection for each request")
    parser.add_argument("--header", default="X-Request-Id")
    parser.add_argument("--timeout", type=float, default=30.0)
    arguments = parse_load(parser)

    def work(_, numbers, failures):
        connection = None
        for number in numbers:
            identity = identity_of(number)
            path = arguments.paths[number % len(arguments.paths)].replace("{id}", identity)
            try:
                if connection is None:
                    connection = http.client.HTTPConnection(
                        "127.0.0.1", arguments.port, timeout=arguments.timeout
                    )
                connection.request("GET", path, headers={arguments.header: identity})
                answer = connection.getresponse()
                answer.read()
                if not 200 <= answer.status < 300:
                    failures.append(f"{path}: status {answer.status}")
            except (OSError, http.client.HTTPException) as error:
                failures.append(f"{path}: {error!r}")
                connection = None
            if arguments.close and connection is not None:
                connection.close()
                connection = None

    return run_load(arguments, work)


if __name__ == "__main__":
    sys.exit(main())
