"""A server with Go's net/http under load, with and without the library injected (record --inject):
throughput, the 99th percentile, and the processor time of a request.

Two servers run in parallel, one of them recorded, and are loaded in turn; the other one waits
meanwhile. The result is the median of the pairs' ratios, with a 95% interval by resampling. Called
by scripts/bench, which builds sockcap and installs what this needs.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(REPOSITORY, "tests", "programs", "hello.go")
# Between two runs, in seconds: with `chrt -r 1`, which keeps other work of the machine away, the
# kernel throttles processes that ran for 0.95 s of a second.
PAUSE = 0.5
# Prints the percentiles of `PERCENTILES`, in us.
SCRIPT = """done = function(_, latency)
  for _, share in ipairs({%s}) do print("percentile", share, latency:percentile(share)) end
end
"""
PERCENTILES = [99, 99.9, 50]
# Name, and the target ratio.
ROWS = {
    "requests a second": 0.98,
    "99th percentile": 1.02,
    "99.9th percentile": None,
    "median": None,
    "time of a request": None,
}


class Server:
    """A server, plain or recorded, with its command."""

    def __init__(self, command, script):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self.script = script
        self.port = int(self.process.stdout.readline().split()[1])
        # The server is the process itself, or its child.
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children) as file:
            self.number = int((file.read().split() or [self.process.pid])[0])

    def spent(self):
        """Processor time of all threads so far, in ns."""
        total = 0
        for thread in os.listdir(f"/proc/{self.number}/task"):
            with open(f"/proc/{self.number}/task/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
        return total

    def load(self, seconds, connections, by):
        """Sends requests for some time with wrk, which `by` starts; figures as in `ROWS`, times in
        us.
        """
        time.sleep(PAUSE)
        before = self.spent()
        # Ended by Ctrl-C, as its own durations are whole seconds.
        command = [*by, "timeout", "-s", "INT", str(seconds)]
        command += ["wrk", "-s", self.script, "-t1", f"-c{connections}", f"-d{2 + int(seconds)}s"]
        printed = subprocess.run(
            [*command, f"http://127.0.0.1:{self.port}/"],
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        requests = int(re.search(r"(\d+) requests in", printed)[1])
        per_second = float(re.search(r"Requests/sec:\s+([\d.]+)", printed)[1])
        assert "Non-2xx" not in printed and "Socket errors" not in printed, printed
        found = re.findall(r"^percentile\s+\S+\s+(\S+)$", printed, re.MULTILINE)
        tail, far_tail, median = (float(value) for value in found)
        spent = (self.spent() - before) / requests / 1000
        return per_second, tail, far_tail, median, spent

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


def interval(ratios):
    """95% interval of the median, by resampling."""
    chance = random.Random(1)
    medians = sorted(
        statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2000)
    )
    return medians[50], medians[1949]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sockcap")
    parser.add_argument("go")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=0.6)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument(
        "--apart",
        action="store_true",
        help="the server on one processor, and wrk on another",
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "hello")
        environment = {**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        environment["GOCACHE"] = os.path.join(REPOSITORY, "target", "go", "cache")
        subprocess.run([options.go, "build", "-o", program, SOURCE], env=environment, check=True)
        data = os.path.join(work, "data")
        record = [options.sockcap, "record", "--inject", "--no-config", "-d", data, "--", program]
        script = os.path.join(work, "percentiles.lua")
        with open(script, "w") as file:
            file.write(SCRIPT % ", ".join(map(str, PERCENTILES)))
        processors = sorted(os.sched_getaffinity(0))
        ends = [processors[0], processors[-1]]
        on = [["taskset", "-c", str(number)] if options.apart else [] for number in ends]
        servers = [Server([*on[0], *command], script) for command in ([program], record)]
        pairs = []
        for turn in range(-2, options.pairs):
            pair = [None, None]
            # The first of the two alternates.
            for which in (turn & 1, 1 - (turn & 1)):
                pair[which] = servers[which].load(options.seconds, options.connections, on[1])
            if turn >= 0:
                pairs.append(pair)
        for server in servers:
            server.end()
    head = f"{'':<20}{'without':>10}{'with':>10}{'ratio':>8}{'known to':>16}{'target':>7}"
    print(head)
    for place, (name, target) in enumerate(ROWS.items()):
        sides = ([pair[side][place] for pair in pairs] for side in (0, 1))
        without, with_it = (statistics.median(side) for side in sides)
        ratios = [pair[1][place] / pair[0][place] for pair in pairs]
        low, high = interval(ratios)
        print(
            f"{name:<20}{without:>10.1f}{with_it:>10.1f}{statistics.median(ratios):>8.3f}"
            f"{f'{low:.3f} to {high:.3f}':>16}{target or '':>7}"
        )


main()
