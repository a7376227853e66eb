"""Runs programs, mostly sockcap, and returns their output, duration, and memory."""

import json
import os
import subprocess
import sys
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")
STORAGE = os.path.join(TARGET, "release", "examples", "storage")


def run(*command):
    """The output of a program."""
    process = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {process.stderr.strip()}")
    return process.stdout


def diff(*arguments):
    """The report of a comparison."""
    return json.loads(run(SOCKCAP, "diff", "--json", *arguments))


def measured(*arguments):
    """Runs sockcap; returns wall-clock seconds, processor seconds, and peak memory in bytes."""
    begin = time.monotonic()
    command = [SOCKCAP, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)}: {errors.strip()}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024
