"""Requests of several users of a load client: numbers them, and reports how many were successful."""

import itertools
import sys
import threading


def identity_of(number):
    """Returns the id that a request has on the wire."""
    return f"skid{number:07d}x"


def parse_load(parser):
    """Adds the arguments that every load client has, and reads the command line."""
    parser.add_argument("--requests", type=int, required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=1)
    return parser.parse_args()


class SharedNumbers:
    """Iterator over numbers that several threads share; each number comes once."""

    def __init__(self, first, count):
        self.numbers = itertools.count(first)
        self.last = first + count
        self.lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            number = next(self.numbers)
        if number >= self.last:
            raise StopIteration
        return number


def run_load(arguments, work):
    """Runs the users, each in a thread: `work(user, numbers, failures)` sends a request for each of
    `numbers`, which all users share, and adds a text to `failures` for each that failed. Prints how
    many were successful, and returns the exit status: 1 if one failed.
    """
    numbers = SharedNumbers(arguments.first, arguments.requests)
    failures = []

    def run_user(user):
        try:
            work(user, numbers, failures)
        except Exception as error:  # A user that ends early leaves requests out.
            failures.append(f"user {user}: {error!r}")

    threads = [
        threading.Thread(target=run_user, args=(user,))
        for user in range(arguments.concurrency)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in failures[:5]:
        print(failure, file=sys.stderr)
    print(f"{arguments.requests - len(failures)} of {arguments.requests} answered")
    return 1 if failures else 0
