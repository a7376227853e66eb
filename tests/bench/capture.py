"""Cost of recording: single calls (tests/bench/calls.c), and servers under load.

Called by scripts/bench, which builds the library and installs the measured programs. Everything is
compared within one run, in alternation, because times drift from hour to hour by more than the
measured differences.
"""

import argparse
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
LIBRARY = os.path.join(TARGET, "release", "libsockcap.so")
RESOURCES_LIBRARY = os.path.join(TARGET, "release", "libsockcap_resources.so")


def run(command, **options):
    """The output of a command that must succeed within a bounded time."""
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: status {result.returncode}\n{result.stderr[-2000:]}")
    return result.stdout


def preloaded(data, library=LIBRARY):
    """The environment of a program that is recorded by the library into `data`."""
    # The dynamic linker only warns of a missing library, and the overhead of no library is 0 ns.
    if not os.path.exists(library):
        sys.exit(f"{library} is missing: scripts/bench builds it")
    return {**os.environ, "LD_PRELOAD": library, "SOCKCAP_DIR": data, "SOCKCAP_HOST": "bench"}


def calls(program, rounds, environment=None, prefix=()):
    """For each call of tests/bench/calls.c four times in ns: 10th percentile bare and hooked, mean bare
    and hooked.
    """
    processor = max(os.sched_getaffinity(0))
    output = run([*prefix, program, str(rounds), str(processor)], env=environment)
    rows = (line.split("\t") for line in output.splitlines() if "\t" in line)
    return {name: [float(number) for number in numbers] for name, *numbers in rows}


def target(name):
    """The target for the overhead of a call in ns, as text."""
    if "/dev/null" in name:
        return "3"
    if name.startswith("udp"):
        # The overhead of an empty message is everything but the checksum.
        return "60" if name.endswith(" 0 B") else "60 + crc"
    return "60" if name.startswith(("tcp", "socketpair")) else ""


# The calls that strace traces: every call of bench/calls.c.
TRACED = "trace=network,read,write,readv,writev"


def watchers(work):
    """Other tools that see the same calls: name, command, and whether the tool runs on the
    program's own processor.

    A tracer with a processor of its own is woken there for each stop, and the program's processor
    for each answer. If they are otherwise idle (on a quiet machine), both sleep in between, and in
    a virtual machine a wake-up takes tens of microseconds. On one processor the two alternate and
    neither sleeps. So strace has a column for each.
    """
    null = os.path.join(work, "watched")
    strace = ["strace", "-f", "-ttt", "-e", TRACED, "-o", null]
    yield "strace, one processor", strace, True
    yield "strace, two processors", strace, False
    yield "strace --seccomp-bpf, one processor", [*strace[:2], "--seccomp-bpf", *strace[2:]], True
    perf = ["perf", "trace", "-o", null, "-e", "read,write,readv,writev,sendto,recvfrom,socket,accept,close"]
    yield "perf trace", perf, True
    yield "bpftrace", [
        "bpftrace", "-q", "-e",
        "tracepoint:raw_syscalls:sys_enter { @[pid] = count(); } tracepoint:raw_syscalls:sys_exit { @[pid] = count(); }",
        "-c",
    ], True


def watched(program, rounds, prefix, shares):
    """The result of [`calls`] under another tool, or the reason why there is none."""
    processors = sorted(os.sched_getaffinity(0))
    own = processors[-1] if shares else processors[0]
    if not shares and len(processors) < 2:
        return "there is one processor"
    command = [program, str(rounds), str(processors[-1])]
    # bpftrace takes the command as one text. The program moves to its processor by itself.
    command = [*prefix, " ".join(command)] if prefix[0] == "bpftrace" else [*prefix, *command]
    result = subprocess.run(["taskset", "-c", str(own), *command], capture_output=True, text=True, timeout=900)
    rows = (line.split("\t") for line in result.stdout.splitlines() if line.count("\t") == 4)
    found = {name: [float(number) for number in numbers] for name, *numbers in rows}
    if result.returncode == 0 and found:
        return found
    reasons = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    return f"does not work here: status {result.returncode}, {reasons[-1] if reasons else 'without a word'}"


def measure_calls(work, rounds):
    program = os.path.join(work, "calls")
    run(["gcc", "-O2", "-Wall", "-o", program, os.path.join(REPOSITORY, "tests", "bench", "calls.c")])
    hooked = calls(program, rounds, preloaded(os.path.join(work, "calls.data")))
    few = max(rounds // 20, 10)
    bare, others, absent = calls(program, few), {}, []
    for name, prefix, shares in watchers(work):
        found = watched(program, few, prefix, shares) if shutil.which(prefix[0]) else "not there"
        if isinstance(found, str):
            absent.append(f"{name}: {found}")
        else:
            others[name] = found
    print("## Calls\n")
    print(f"ns; p10 (and mean) of {rounds} slices, bare and hooked in alternation, pinned. Other tools: p10 added.\n")
    titles = ["call", "bare", "added", "added, mean", "target", *others]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for name, (tenth, hooked_tenth, mean, hooked_mean) in hooked.items():
        cells = [name, f"{tenth:.0f}", f"{hooked_tenth - tenth:.1f}", f"{hooked_mean - mean:.1f}", target(name)]
        cells += [f"{found[name][0] - bare[name][0]:.0f}" if name in found else "" for found in others.values()]
        print("| " + " | ".join(cells) + " |")
    print()
    for line in absent:
        print(f"- {line}")
    print(flush=True)


def measure_resources(work, rounds):
    """Overhead of the library that also records resources on the calls that it records, compared with
    that of the usual library.
    """
    program = os.path.join(work, "resource_calls")
    run(["gcc", "-O2", "-Wall", "-pthread", "-o", program, os.path.join(REPOSITORY, "tests", "bench", "resource_calls.c")])
    data = os.path.join(work, "resources.data")
    found = [calls(program, rounds, preloaded(data, library)) for library in (RESOURCES_LIBRARY, LIBRARY)]
    print("## Resources\n")
    print(f"ns; p10 (and mean) of {rounds} slices, bare and hooked in alternation, pinned. Target: 150 added.\n")
    print("| call | bare | added | added, mean | added by libsockcap.so |\n|---|---|---|---|---|")
    for name, (tenth, hooked_tenth, mean, hooked_mean) in found[0].items():
        other = found[1][name]
        added = f"{hooked_tenth - tenth:.1f} | {hooked_mean - mean:.1f} | {other[1] - other[0]:.1f}"
        print(f"| {name} | {tenth:.1f} | {added} |")
    print(flush=True)


def measure_heads(work, rounds):
    """Additional cost of messages if their heads are kept."""
    program = os.path.join(work, "head_calls")
    run(["gcc", "-O2", "-Wall", "-o", program, os.path.join(REPOSITORY, "tests", "bench", "head_calls.c")])
    environment = preloaded(os.path.join(work, "heads.data"))
    without = calls(program, rounds, environment)
    kept = calls(program, rounds, {**environment, "SOCKCAP_PROTOCOLS": "1"})
    print("## Heads\n")
    print(f"ns a message; p10 (and mean) of {rounds} slices, bare and hooked in alternation, pinned. \"Heads\": what is added")
    print("with SOCKCAP_PROTOCOLS beyond what is added without. Target: 100.\n")
    print("| message | bare | added | added with heads | heads | heads, mean |\n|---|---|---|---|---|---|")
    for name, (tenth, hooked_tenth, mean, hooked_mean) in kept.items():
        other = without[name]
        with_heads, plain = hooked_tenth - tenth, other[1] - other[0]
        means = hooked_mean - mean - (other[3] - other[2])
        print(f"| {name} | {tenth:.0f} | {plain:.1f} | {with_heads:.1f} | {with_heads - plain:.1f} | {means:.1f} |")
    print(flush=True)


def measure_words(work, rounds):
    """Additional cost of messages in which rare words are searched: the least of the p10 of three series."""
    program = os.path.join(work, "word_calls")
    run(["gcc", "-O2", "-Wall", "-o", program, os.path.join(REPOSITORY, "tests", "bench", "word_calls.c")])
    environment = preloaded(os.path.join(work, "words.data"))
    added = {"0": {}, "1": {}}
    for _ in range(3):
        for words, least in added.items():
            for name, (tenth, hooked, *_) in calls(program, rounds, {**environment, "SOCKCAP_WORDS": words}).items():
                least[name] = min(hooked - tenth, least.get(name, hooked))
    print("## Rare words\n")
    print(f"ns a message; least p10 of three series of {rounds} slices, bare and hooked in alternation, pinned. Target: 60.\n")
    print("| message | added without words | added | words |\n|---|---|---|---|")
    for name, without in added["0"].items():
        print(f"| {name} | {without:.1f} | {added['1'][name]:.1f} | {added['1'][name] - without:.1f} |")
    print(flush=True)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def pinned(command, index):
    """The command pinned to the first or the last processor: the scheduler would place a server and
    its client sometimes on one processor and sometimes on two, which changes the throughput by a
    third.
    """
    processors = sorted(os.sched_getaffinity(0))
    return ["taskset", "-c", str(processors[index]), *command]


class Server:
    """A server that runs while a client measures it."""

    def __init__(self, command, port, environment):
        self.process = subprocess.Popen(pinned(command, 0), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(1000):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                time.sleep(0.01)
        self.process.kill()
        sys.exit(f"{command[0]} does not listen")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def nginx(work, seconds, environment):
    port = free_port()
    directory = os.path.join(work, "nginx")
    os.makedirs(directory, exist_ok=True)
    configuration = os.path.join(directory, "conf")
    with open(configuration, "w") as file:
        file.write(f"""daemon off; worker_processes 1; pid {directory}/pid; error_log {directory}/errors; events {{}}
http {{ access_log off; client_body_temp_path {directory}/a; proxy_temp_path {directory}/b;
fastcgi_temp_path {directory}/c; uwsgi_temp_path {directory}/d; scgi_temp_path {directory}/e;
keepalive_requests 1000000000;
server {{ listen 127.0.0.1:{port}; location / {{ return 200 short; }} }} }}""")
    command = ["nginx", "-e", "stderr", "-p", directory, "-c", configuration]
    with Server(command, port, environment):
        output = run(pinned(["wrk", "-t1", "-c16", f"-d{seconds}s", "--latency", f"http://127.0.0.1:{port}/"], -1))
    throughput = float(re.search(r"Requests/sec:\s+([\d.]+)", output).group(1))
    number, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", output).groups()
    return throughput, float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def redis(work, seconds, environment):
    port = free_port()
    command = ["redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1", "--dir", work]
    with Server(command, port, environment):
        # About 100,000 requests per second.
        arguments = ["-p", str(port), "-n", str(80000 * seconds), "-c", "16", "-t", "get", "-d", "100", "--csv"]
        output = run(pinned(["redis-benchmark", *arguments], -1))
    head, values = (line.replace('"', "").split(",") for line in output.strip().splitlines()[:2])
    row = dict(zip(head, values))
    return float(row["rps"]), float(row["p99_latency_ms"])


def median(values):
    """The median, and its 95% interval by resampling."""
    random_numbers = random.Random(1)
    medians = sorted(statistics.median(random_numbers.choices(values, k=len(values))) for _ in range(4000))
    return statistics.median(values), medians[100], medians[-101]


def verdict(low, high, target, at_least):
    """Whether the interval lies on one side of the target."""
    met, missed = (low >= target, high < target) if at_least else (high <= target, low > target)
    return "met" if met else "missed" if missed else "not settled"


def measure_servers(work, pairs, seconds):
    print("## Servers\n")
    print(f"Recorded against not: median of the ratios of {pairs} pairs of {seconds} s each, in alternation, and in brackets")
    print("its interval of 95% (bootstrap of 4000 samples). A target counts as met or missed if the whole interval does.\n")
    print("| server | throughput, 1/s | kept | >= 98% | p99, ms | p99, ratio | <= 1.02 |\n|---|---|---|---|---|---|---|")
    for name, measure in (("nginx under wrk", nginx), ("redis under redis-benchmark", redis)):
        throughputs, latencies, plain = [], [], []
        for pair in range(pairs):
            found = {}
            for recorded in (False, True) if pair % 2 else (True, False):
                data = os.path.join(work, "servers.data")
                found[recorded] = measure(work, seconds, preloaded(data) if recorded else None)
                shutil.rmtree(data, ignore_errors=True)
            throughputs.append(found[True][0] / found[False][0])
            latencies.append(found[True][1] / found[False][1])
            plain.append(found[False])
        speed, latency = (statistics.median(values) for values in zip(*plain))
        kept, least, most = median(throughputs)
        ratio, low, high = median(latencies)
        print(
            f"| {name} | {speed:.0f} | {kept:.1%} [{least:.1%}, {most:.1%}] | {verdict(least, most, 0.98, True)} "
            f"| {latency:.3f} | {ratio:.3f} [{low:.3f}, {high:.3f}] | {verdict(low, high, 1.02, False)} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench capture", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000, help="slices of each call (default 2000)")
    parser.add_argument("--pairs", type=int, default=30, help="pairs of runs of each server (default 30)")
    parser.add_argument("--seconds", type=int, default=6, help="length of each run of a server (default 6)")
    parser.add_argument("--calls-only", action="store_true", help="leave the servers out")
    parser.add_argument("--resources-only", action="store_true", help="only the calls that --resources records")
    parser.add_argument("--words-only", action="store_true", help="only messages with rare words")
    parser.add_argument("--heads-only", action="store_true", help="only messages with kept heads")
    arguments = parser.parse_args()
    commit = run(["git", "-C", REPOSITORY, "describe", "--always", "--dirty"]).strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors, kernel {os.uname().release}\n")
    with tempfile.TemporaryDirectory() as work:
        os.chmod(work, 0o755)  # nginx's workers are another user.
        if arguments.words_only:
            return measure_words(work, arguments.rounds)
        if arguments.heads_only:
            return measure_heads(work, arguments.rounds)
        if not arguments.resources_only:
            measure_calls(work, arguments.rounds)
            measure_heads(work, arguments.rounds)
            measure_words(work, arguments.rounds)
        measure_resources(work, arguments.rounds)
        if not arguments.calls_only and not arguments.resources_only:
            measure_servers(work, arguments.pairs, arguments.seconds)


main()
