"""Time and memory of an analysis by algorithm, on synthetic traces of the sizes for which figures
are published.

Called by scripts/bench, which builds the programs. Traces are made by `sockcap synth` and
reconciled beforehand; the measured command is `sockcap analyze` as users run it, from reading the
messages to writing links, paths and patterns. Memory is the largest resident set of the process,
time the wall clock.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")

# Four instances of each sequence of the multi-tier system are 320 messages.
MULTI_TIER = 80
# Algorithm, messages in thousands, parallel sequences, target in seconds and in MB, published
# figure.
CASES = [
    ("linking", 4700, 1, 5, 800, "1354 s of CPU (WAP5)"),
    ("linking", 4700, 8, None, None, ""),
    ("linking", 25000, 1, None, 2000, ""),
    ("nesting", 2000, 1, 1, None, "24 s (Project 5)"),
    ("nesting", 775, 28, 3, None, "234 s (Project 5)"),
    ("convolution", 202, 4, 2, None, "6684 s (Project 5)"),
    ("auto", 4700, 1, 10, 800, ""),
    ("auto", 4700, 8, 60, 2000, ""),
    ("auto", 25000, 1, None, 2000, ""),
]


def run(*arguments):
    """Runs sockcap; returns the duration in seconds and the peak memory in MB."""
    start = time.monotonic()
    process = subprocess.Popen([SOCKCAP, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"sockcap {' '.join(map(str, arguments))}: {errors.decode().strip()}")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench analyze", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithms", nargs="*", metavar="NAME", help="only these algorithms [default: all]")
    parser.add_argument("--largest", type=int, default=5000, metavar="N",
                        help="leave out traces of more than N thousand messages [default: 5000; the largest has 25000]")
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors\n")
    titles = ["algorithm", "messages, thousands", "sequences in parallel", "over s", "took s", "aim", "MB", "aim", "published"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for algorithm, thousands, parallel, seconds, memory, published in CASES:
        if thousands > arguments.largest or (arguments.algorithms and algorithm not in arguments.algorithms):
            continue
        with tempfile.TemporaryDirectory(dir=TARGET) as data:
            instances = max(round(1000 * thousands / MULTI_TIER / parallel), 1)
            run("synth", "multi-tier", "--parallel", parallel, "--instances", instances, "-d", data)
            run("reconcile", "-d", data)
            took, peak = run("analyze", "--algorithm", algorithm, "-d", data)
            with open(os.path.join(data, "analysis.json")) as file:
                span = json.load(file)["totals"]["span"] / 1e9
        cells = [algorithm, thousands, parallel, f"{span:.0f}", f"{took:.2f}", seconds or "", f"{peak:.0f}", memory or "", published]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


main()
