"""Runs of the server of known kinds (tests/programs/kinds.cpp), recorded by sockcap and by perf
together.
"""

import contextlib
import csv
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field

import program

PROGRAMS = os.path.join(program.REPOSITORY, "tests", "programs")
# Tracepoints of the shipped Linux schema.
CALLS = ("accept", "accept4", "connect", "close", "read", "write", "readv", "writev", "recvfrom", "sendto", "recvmsg",
         "sendmsg", "sendfile64", "pread64", "pwrite64", "preadv", "pwritev", "fsync", "fdatasync", "futex", "epoll_wait",
         "epoll_pwait", "epoll_pwait2", "select", "pselect6", "poll", "ppoll", "nanosleep", "clock_nanosleep")
TRACEPOINTS = ("sched:sched_switch", "sched:sched_waking", "sched:sched_process_fork", "sched:sched_process_exit",
               *(f"syscalls:sys_{side}_{call}" for call in CALLS for side in ("enter", "exit")),
               *(f"irq:{kind}_{side}" for kind in ("softirq", "irq_handler") for side in ("entry", "exit")),
               "net:net_dev_queue", "sock:inet_sock_set_state", "block:block_rq_issue", "block:block_rq_complete")
TRACING = "/sys/kernel/tracing"


@dataclass
class Account:
    """The cost of a request, as the server measured it. Times in nanoseconds."""

    number: int
    kind: str
    reader: int
    worker: int
    helper: int
    read_begin: int
    read_end: int
    end: int
    reader_ns: int
    worker_ns: int
    helper_ns: int
    driver: bool

    @property
    def processor_ns(self):
        return self.reader_ns + self.worker_ns + self.helper_ns


@dataclass
class Run:
    """A run of the server: the requests, the server's accounts, and the recordings' directories."""

    mix: str
    clients: int
    # Directories of sockcap's and perf's recordings; empty without one.
    data: str
    perf: str
    # Processor time of the server from its first request on, in nanoseconds.
    process_ns: int
    pid: int
    # The wall clock minus the monotonic clock, in nanoseconds.
    offset: int
    accounts: list = field(default_factory=list)
    # Time from the first request to the last, in seconds.
    seconds: float = 0.0
    # Processor time of the server and of `sockcap record`, from begin to end, in seconds.
    used: float = 0.0


def server(work):
    """The built server."""
    path = os.path.join(work, "kinds")
    if not os.path.exists(path):
        program.run("g++", "-O2", "-std=c++17", "-Wall", "-pthread", "-o", path, os.path.join(PROGRAMS, "kinds.cpp"))
    return path


def can_trace():
    """Whether perf can trace here; mounts the kernel's tracing folder if it is missing."""
    if os.geteuid() != 0:
        return False
    if not os.path.exists(os.path.join(TRACING, "events")):
        subprocess.run(["mount", "-t", "tracefs", "nodev", TRACING], stderr=subprocess.DEVNULL)
    return os.path.exists(os.path.join(TRACING, "events"))


def known_tracepoints():
    """The ones of [`TRACEPOINTS`] that this kernel has."""
    return [of for of in TRACEPOINTS if os.path.isdir(os.path.join(TRACING, "events", *of.split(":")))]


@contextlib.contextmanager
def traced(path):
    """A context manager: perf records the whole machine while its body runs."""
    command = ["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "16M", "-r", "1", "-o", path]
    # Without --exclude-perf, perf would record its own writes of the recording, and so on.
    command += ["-e", ",".join(known_tracepoints()), "--exclude-perf"]
    # perf starts disabled, and reports when it is enabled. Events before that report are not
    # recorded, so a connection that was accepted before it would be unknown.
    orders, answers = path + ".orders", path + ".answers"
    for pipe in (orders, answers):
        os.mkfifo(pipe)
    command += ["-D", "-1", "--control", f"fifo:{orders},{answers}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        # Opened in both directions, so that a perf that ends immediately is not waited for.
        with open(orders, "r+b", buffering=0) as order, open(answers, "r+b", buffering=0) as answer:
            order.write(b"enable\n")
            if not select.select([answer], [], [], 60)[0]:
                raise RuntimeError("perf record did not begin within a minute")
            yield
    finally:
        process.send_signal(signal.SIGINT)
        errors = process.stderr.read()
        process.wait()
        if "lost" in errors.lower():
            print(f"perf: {errors.strip()}", file=sys.stderr)


def accounts_of(path):
    """The server's accounts, and its process, processor time and offset of clocks."""
    with open(path) as file:
        _, _, pid, _, _, process_ns, *_, offset, _ = file.readline().replace(",", "").split()
        rows = [Account(number=int(row["number"]), kind=row["kind"], driver=row["driver"] == "1",
                        **{name: int(row[name]) for name in Account.__annotations__ if name not in ("number", "kind", "driver")})
                for row in csv.DictReader(file)]
    return int(pid), int(process_ns), int(offset), sorted(rows, key=lambda account: account.read_begin)


def run(work, name, mix, clients, requests=500, seed=1, sockcap=(), perf=False, options=()):
    """Runs the server under the client, recorded as requested. `sockcap` has the arguments of
    `sockcap record`; without any it does not record.
    """
    folder = os.path.join(work, name)
    os.makedirs(folder)
    account, truth = os.path.join(folder, "account.csv"), os.path.join(folder, "truth.csv")
    data = os.path.join(folder, "data") if sockcap else ""
    trace = os.path.join(folder, "perf.data") if perf else ""
    command = [server(work), os.path.join(folder, "files"), account, *map(str, options)]
    if sockcap:
        command = [program.SOCKCAP, "record", "-d", data, *sockcap, "--", *command]
    with traced(trace) if perf else contextlib.nullcontext():
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            port = process.stdout.readline().strip()
            if not port:
                sys.exit(f"{' '.join(command)}: {process.stderr.read().strip()}")
            begin = time.monotonic()
            program.run(sys.executable, os.path.join(PROGRAMS, "kinds_client.py"), port, truth, "--mix", mix,
                        "--clients", clients, "--requests", requests, "--seed", seed)
            seconds = time.monotonic() - begin
        finally:
            used = end(process)
    pid, process_ns, offset, accounts = accounts_of(account)
    check(accounts, truth)
    return Run(mix, clients, data, trace, process_ns, pid, offset, accounts, seconds, used)


def end(process):
    """Ends the server, even if it runs below `sockcap record`. Returns the processor time of both
    in seconds.
    """
    children = subprocess.run(["pgrep", "-P", str(process.pid)], stdout=subprocess.PIPE, text=True).stdout.split()
    for pid in map(int, children or [process.pid]):
        os.kill(pid, signal.SIGTERM)
    process.stdout.read()
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        print(f"the server ended with status {process.returncode}: {errors.strip()}", file=sys.stderr)
    return usage.ru_utime + usage.ru_stime


def check(accounts, truth):
    """Compares the server's account with the client's: the same requests, of the same kinds, within
    the same times.
    """
    with open(truth) as file:
        requests = {int(row["number"]): row for row in csv.DictReader(file)}
    if {of.number for of in accounts} != set(requests) or len(accounts) != len(requests):
        sys.exit(f"{truth}: the server has {len(accounts)} requests, the client {len(requests)}")
    for of in accounts:
        row = requests[of.number]
        inside = int(row["begin"]) <= of.read_end and of.read_begin <= int(row["end"])
        if row["kind"] != of.kind or not inside:
            sys.exit(f"{truth}: request {of.number} is of kind {row['kind']} for the client and {of.kind} for the server")
