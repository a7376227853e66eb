"""Speed of gathering logs, and memory of a collector.

Called by scripts/bench, which builds the programs. Throughput: the logs of one host, shipped once
over loopback with TLS and acknowledged when they are on the disk, compared with `zstd -1 | nc` of
the same files over the same loopback in the same run. Memory: the peak of a collector to which 1,
50 and 200 shippers send concurrently. Time: the logs of 115 hosts with as many messages as the
CoDeeN trace of WAP5, each host with its own shipper.
"""

import argparse
import itertools
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")
SCALE = os.path.join(TARGET, "release", "examples", "scale")
HOSTS = 115
PORT, OTHER_PORTS = 19712, itertools.count(19713)


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def size(directory):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(directory) for name in names)


def listens(port):
    """Whether a port is listened on, without connecting to it."""
    with open("/proc/net/tcp") as table:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A" for line in table)


class Collector:
    """A running collector. `end` stops it and returns its peak memory in MB."""

    def __init__(self, work, plain=False):
        self.data = os.path.join(work, "gathered")
        shutil.rmtree(self.data, ignore_errors=True)
        trust = ["--plain"] if plain else ["--key", os.path.join(work, "keys", "collector.pem")]
        command = [SOCKCAP, "collect", "-d", self.data, "--listen", f"127.0.0.1:{PORT}", "--metrics", "none"]
        self.process = subprocess.Popen(command + trust, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.process.stderr.readline()
        # Its output must not fill the pipe.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)

    def end(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()
        self.drain.wait()
        return peak / 1024


def ship(work, data, host, plain=False):
    trust = ["--plain"] if plain else ["--key", os.path.join(work, "keys", f"{host}.pem")]
    command = [SOCKCAP, "ship", "--once", "--to", f"127.0.0.1:{PORT}", "-d", data, "--host", host]
    return subprocess.Popen(command + trust, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for_success(processes):
    for process in processes:
        if process.wait() != 0:
            sys.exit(f"{' '.join(process.args)}: status {process.returncode}")


def shipped(work, data, plain):
    """Seconds from the shipper's start to its end, when everything is on the collector's disk."""
    collector = Collector(work, plain)
    start = time.monotonic()
    wait_for_success([ship(work, data, "all", plain)])
    seconds = time.monotonic() - start
    collector.end()
    same = subprocess.run(["diff", "-rq", "-x", "clock-hints.csv", os.path.join(data, "hosts", "all"),
                           os.path.join(collector.data, "hosts", "all")])
    if same.returncode != 0:
        sys.exit("what was gathered differs")
    return seconds


def piped(data, receive):
    """Seconds that `zstd -1 | nc` takes to send the logs, with the shell text `receive` after the
    receiving `nc`.
    """
    # A port that was just used cannot be listened on for a while.
    port = next(OTHER_PORTS)
    receiver = subprocess.Popen(f"nc -l 127.0.0.1 {port} {receive}", shell=True)
    while not listens(port):
        time.sleep(0.01)
    start = time.monotonic()
    logs = os.path.join(data, "hosts", "all")
    run("sh", "-c", f"cat {logs}/* | zstd -q -1 | nc -N 127.0.0.1 {port}")
    receiver.wait()
    return time.monotonic() - start


def throughput(work, messages, runs):
    made, data = os.path.join(work, "made"), os.path.join(work, "one")
    run(SCALE, "make", made, str(messages))
    # All as logs of one host.
    together = os.path.join(data, "hosts", "all")
    os.makedirs(together)
    for host in range(HOSTS):
        directory = os.path.join(made, "hosts", f"h{host}")
        for name in os.listdir(directory):
            os.rename(os.path.join(directory, name), os.path.join(together, f"{host}-{name}"))
    total = size(together)
    file = os.path.join(work, "piped")
    kinds = {
        "zstd -1 | nc, thrown away": lambda: piped(data, "> /dev/null"),
        "zstd -1 | nc, written to a file": lambda: piped(data, f"> {file}"),
        "zstd -1 | nc, decompressed to a file": lambda: piped(data, f"| zstd -q -d > {file}"),
        "ship, collect": lambda: shipped(work, data, False),
        "ship, collect without TLS": lambda: shipped(work, data, True),
    }
    times = {kind: [] for kind in kinds}
    for _ in range(runs):
        for kind, measure in kinds.items():
            times[kind].append(measure())
    first = statistics.median(times["zstd -1 | nc, thrown away"])
    print(f"## Throughput: {total / 1e6:.0f} MB of logs of one host, {runs} runs in alternation\n")
    print("| | s | MB/s | of `zstd -1 \\| nc` (target 0.8) |\n|---|---|---|---|")
    for kind, measured in times.items():
        seconds = statistics.median(measured)
        print(f"| {kind.replace('|', chr(92) + '|')} | {seconds:.2f} | {total / seconds / 1e6:.0f} | {first / seconds:.2f} |")
    print()


def measure_memory(work, shippers, each):
    """Peak memory of a collector in MB, duration in seconds, and bytes sent, with `shippers` concurrent
    shippers that send `each` logs each.
    """
    data = os.path.join(work, "crowd")
    shutil.rmtree(data, ignore_errors=True)
    hosts = [f"s{number}" for number in range(shippers)]
    log = next(os.scandir(os.path.join(work, "one", "hosts", "all"))).path
    for host in hosts:
        directory = os.path.join(data, "hosts", host)
        os.makedirs(directory)
        for number in range(each):
            # Each is distinct: the process id in the header distinguishes them.
            path = os.path.join(directory, f"{number}-1.sclog")
            shutil.copy(log, path)
            with open(path, "r+b") as file:
                file.seek(28)
                file.write((number + 1).to_bytes(4, "little"))
    collector = Collector(work)
    start = time.monotonic()
    wait_for_success([ship(work, data, host) for host in hosts])
    seconds = time.monotonic() - start
    return collector.end(), seconds, size(data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--messages", type=float, default=25, help="millions of messages")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY")) as work:
        keys = os.path.join(work, "keys")
        run(SOCKCAP, "keys", "new", "--keys", keys)
        names = ["all"] + [f"s{number}" for number in range(200)] + [f"h{host}" for host in range(HOSTS)]
        run(SOCKCAP, "keys", "host", *names, "--keys", keys)
        throughput(work, int(arguments.messages * 1e6), arguments.runs)
        print("## Memory of the collector\n\n| shippers at once | peak MB | s | MB sent |\n|---|---|---|---|")
        for shippers in (1, 50, 200):
            peak, seconds, sent = measure_memory(work, shippers, 2)
            print(f"| {shippers} | {peak:.0f} | {seconds:.1f} | {sent / 1e6:.0f} |")
        data = os.path.join(work, "codeen")
        run(SCALE, "make", data, "4700000")
        collector = Collector(work)
        start = time.monotonic()
        wait_for_success([ship(work, data, f"h{host}") for host in range(HOSTS)])
        seconds = time.monotonic() - start
        peak = collector.end()
        print(f"\n## The CoDeeN trace: {HOSTS} hosts, 4.7 million messages, {size(data) / 1e6:.0f} MB\n")
        print(f"gathered in {seconds:.1f} s (target 20), collector's peak {peak:.0f} MB")


main()
