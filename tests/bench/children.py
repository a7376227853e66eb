"""Cost of the library for a process that makes children: tests/bench/children.c, alternately with
and without the library.

Called by scripts/bench, which builds the library.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
CHILD_ACTIONS = {
    "nothing": "nothing",
    "socket": "a message on a socket of its own",
    "exec": "another program",
    "chroot": "chroot",
    "unshare": "unshare, of mounts",
    "seccomp": "a filter that permits everything",
    "no-files": "a filter that forbids files",
    "sandbox": "a filter that permits next to nothing",
    "chroot-seccomp": "chroot, then the first filter",
    "chroot-no-files": "chroot, then the second",
    "chroot-sandbox": "chroot, then the third",
}


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench children")
    parser.add_argument("--library", default=os.path.join(TARGET, "release", "libsockcap.so"))
    parser.add_argument("--children", type=int, default=200, help="children in each round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds with and without the library")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("chroot and unshare need root")
    with tempfile.TemporaryDirectory() as work:
        program = os.path.join(work, "children")
        source = os.path.join(REPOSITORY, "tests", "bench", "children.c")
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
        print("| what the child does | ms without | ms with | more | files left |")
        print("|---|---|---|---|---|")
        for way, words in CHILD_ACTIONS.items():
            times = {False: [], True: []}
            data = os.path.join(work, way)
            recorded = {"LD_PRELOAD": os.path.abspath(options.library), "SOCKCAP_DIR": data}
            for _ in range(options.rounds):
                for with_library, found in times.items():
                    environment = {**os.environ, **(recorded if with_library else {})}
                    command = [program, way, str(options.children)]
                    output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                    found.append(float(output.stdout) / 1000)
            without, with_it = (statistics.median(found) for found in times.values())
            files = sum(len(names) for _, _, names in os.walk(data))
            more = with_it - without
            print(f"| {words} | {without:.3f} | {with_it:.3f} | {more:.3f} | {files} |", flush=True)


main()
