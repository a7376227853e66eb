"""Overhead of the injected library on the system calls of a program (tests/programs/injected.c,
scenario `cost`). Hooks are on and off in alternate slices of one process, so only the ratio is
comparable between runs.

Called by scripts/bench, which builds the library.
"""

import argparse
import os
import subprocess
import sys
import tempfile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SOURCE = os.path.join(REPOSITORY, "tests", "programs", "injected.c")
# The targets of docs/injection.md, in ns.
TARGETS = {
    "socket message": 60,
    "the same of Go": 60,
    "read of a file": 10,
    "other call": 10,
    "close of a file": 10,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "injected")
        flags = ["-O1", "-static", "-pthread", "-masm=intel"]
        subprocess.run(["gcc", *flags, "-o", program, SOURCE], check=True)
        data = os.path.join(work, "data")
        environment = {**os.environ, "SOCKCAP_DIR": data, "SOCKCAP_HOST": "bench"}
        for _ in range(options.rounds):
            command = [program, os.path.abspath(options.library), "cost"]
            done = subprocess.run(
                command, env=environment, stdout=subprocess.PIPE, text=True, timeout=600
            )
            if done.returncode != 0:
                sys.exit(f"{' '.join(command)}: status {done.returncode}")
            for line in done.stdout.splitlines():
                name, *numbers = line.split("\t")
                if numbers:
                    rows.setdefault(name, []).append([float(number) for number in numbers])
    print(f"{'call':<16}{'without, ns':>12}{'added, ns':>12}{'ratio':>8}{'target':>8}")
    for name, pairs in rows.items():
        without = min(bare for bare, _ in pairs)
        added = min(hooked - bare for bare, hooked in pairs)
        ratio = (without + added) / without
        print(f"{name:<16}{without:>12.1f}{added:>12.1f}{ratio:>8.3f}{TARGETS[name]:>8}")


main()
