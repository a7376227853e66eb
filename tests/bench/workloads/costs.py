"""Cost of `record --resources` for a busy server: throughput with and without recording, in
alternation.

In addition to throughput, the processor time per request of server and recorder together. It is
more stable if other programs use the machine.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys

import program

from workloads import runs


def throughput_of_spins(work, name, options, requests):
    """Requests per second of type B with 5 clients, which keep all processors busy, and the
    processor time of one.
    """
    of = runs.run(work, name, "b", 5, requests, sockcap=options)
    shutil.rmtree(os.path.join(work, name))
    return requests / of.seconds, of.used / requests


def throughput_of_files(work, name, options, seconds):
    """Requests per second of type D (a file of 5 KB) under wrk with 16 connections, and the
    processor time of one.
    """
    folder = os.path.join(work, name)
    os.makedirs(folder)
    command = [runs.server(work), os.path.join(folder, "files"), os.path.join(folder, "account.csv")]
    if options:
        command = [program.SOCKCAP, "record", "-d", os.path.join(folder, "data"), *options, "--", *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = process.stdout.readline().strip()
        if not port:
            sys.exit(f"{' '.join(command)}: {process.stderr.read().strip()}")
        output = program.run("wrk", "-t1", "-c16", f"-d{seconds}s", f"http://127.0.0.1:{port}/d/00000001")
    finally:
        used = runs.end(process)
    shutil.rmtree(folder)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1)), used / int(re.search(r"(\d+) requests in", output).group(1))


def ratios(work, measure, pairs, size, options):
    """Throughput and processor time without recording, and for each pair of runs the ratios of
    recording to not recording.
    """
    plain, kept, used = [], [], []
    for pair in range(pairs):
        found = {}
        for recorded in (False, True) if pair % 2 else (True, False):
            found[recorded] = measure(work, f"cost-{pair}-{recorded}", options if recorded else (), size)
        plain.append(found[False])
        kept.append(found[True][0] / found[False][0])
        used.append(found[True][1] / found[False][1])
    return tuple(map(statistics.median, zip(*plain))), kept, used
