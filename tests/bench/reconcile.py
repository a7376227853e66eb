"""Speed of reconciliation, compared with a plain sort of the same records.

Called by scripts/bench, which builds the programs and installs polars. The logs are of 115 hosts
with a process each: connections of twenty messages, every call seen at both ends. The sort reads
the same records from Parquet, sorts them by time and writes them to Parquet again; each is run
alone, in alternation.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")
SCALE = os.path.join(TARGET, "release", "examples", "scale")

# As in reconcile/examples/scale.rs.
HOSTS, EACH, APART = 115, 20, 1_000_000

SORT = """
import sys, polars
table = polars.read_parquet(sys.argv[1]).sort("time", "process", "flow")
table.write_parquet(sys.argv[2], compression="zstd", compression_level=1)
"""


def measured(command):
    """Wall-clock time and processor time in seconds, and peak memory in MB, of a command that must succeed."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    elapsed = time.monotonic() - start
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def write_records(path, messages):
    """The calls of scale.rs as a table, in the order of the logs."""
    import polars

    turn = polars.int_range(0, messages // 2, dtype=polars.Int64, eager=True).alias("turn").to_frame()
    connection = polars.col("turn") // (EACH // 2)
    to = (connection * 7 + 1) % HOSTS
    turn = turn.with_columns(
        flow=connection + 1,
        at=APART * connection + 1_000 * (polars.col("turn") % (EACH // 2)),
        client=connection % HOSTS,
        server=polars.when(to == connection % HOSTS).then((to + 1) % HOSTS).otherwise(to),
    )
    calls = [("client", 100, 300, 0), ("server", 200, 300, 1), ("server", 300, 5_000, 0), ("client", 400, 5_000, 1)]
    frames = [
        turn.select(
            process=polars.col(end).cast(polars.Int32),
            tid=polars.lit(100, polars.Int32),
            flow=polars.col("flow").cast(polars.Int32),
            received=polars.lit(received, polars.Int8),
            time=1_700_000_000_000_000_000 + polars.col("at") + after,
            bytes=polars.lit(size, polars.Int64),
        )
        for end, after, size, received in calls
    ]
    polars.concat(frames).sort("process", "time").write_parquet(path)


def measure(work, messages, runs):
    data, records, sorted_records = (os.path.join(work, name) for name in ("data", "records", "sorted"))
    measured([SCALE, "make", data, str(messages)])
    # In a separate process, as it would count for the peak memory of later ones.
    measured([sys.executable, __file__, "--records", records, str(messages)])
    found = {"reconcile": [], "sort": []}
    for _ in range(runs):
        found["reconcile"].append(measured([SOCKCAP, "reconcile", "-d", data]))
        found["sort"].append(measured([sys.executable, "-c", SORT, records, sorted_records]))
    (elapsed, used, peak), (sort, sort_used, sort_peak) = (
        [statistics.median(values) for values in zip(*found[name])] for name in ("reconcile", "sort")
    )
    ratio = statistics.median(own[0] / sort[0] for own, sort in zip(found["reconcile"], found["sort"]))
    cells = [
        f"{messages / 1e6:g}", f"{2 * messages / 1e6:g}", f"{elapsed:.2f}", "<= 6" if messages == 4_700_000 else "",
        f"{used:.2f}", f"{peak:.0f}", "< 1000", f"{sort:.2f}", f"{sort_used:.2f}", f"{sort_peak:.0f}", f"{ratio:.1f}",
    ]
    print("| " + " | ".join(cells) + " |", flush=True)
    shutil.rmtree(data)


def measure_alone(work, what, make):
    """One run over logs of another kind, which `make` writes."""
    data = os.path.join(work, "data")
    measured([SCALE, make[0], data, *make[1:]])
    elapsed, used, peak = measured([SOCKCAP, "reconcile", "-d", data])
    print(f"| {what} | {elapsed:.2f} | {used:.2f} | {peak:.0f} | < 1000 |", flush=True)
    shutil.rmtree(data)


def main():
    if sys.argv[1:2] == ["--records"]:
        return write_records(sys.argv[2], int(sys.argv[3]))
    parser = argparse.ArgumentParser(prog="scripts/bench reconcile", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="runs of each (default 3)")
    parser.add_argument("--messages", type=float, nargs="*", default=[1, 4.7, 5, 25], help="millions of messages")
    connections = "millions of connections of two messages"
    parser.add_argument("--connections", type=float, nargs="*", default=[2], help=connections)
    parser.add_argument("--equal", type=float, nargs="*", default=[8], help="millions of equal datagrams")
    arguments = parser.parse_args()
    # Peak memory is the children's, so this process must not have more.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 100_000
    commit = subprocess.run(
        ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    version = subprocess.run(
        [sys.executable, "-c", "import polars; print(polars.__version__)"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors, kernel {os.uname().release}\n")
    print("## Reconcile\n")
    print(f"Medians of {arguments.runs} runs. Millions, seconds and MB. The sort is that of polars {version}.\n")
    titles = [
        "messages", "records", "reconcile, s", "target", "processor time, s", "peak, MB", "target",
        "sort, s", "its processor time, s", "its peak, MB", "ratio",
    ]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    with tempfile.TemporaryDirectory(dir=TARGET) as work:
        for millions in arguments.messages:
            measure(work, int(millions * 1e6), arguments.runs)
        print("\nOne run of each.\n\n| logs | reconcile, s | processor time, s | peak, MB | target |\n|" + "---|" * 5)
        for millions in arguments.connections:
            make = ["make", str(int(2 * millions * 1e6)), "2"]
            measure_alone(work, f"{millions:g} million connections of two messages", make)
        for millions in arguments.equal:
            make = ["equal", str(int(millions * 1e6))]
            measure_alone(work, f"{millions:g} million equal datagrams", make)


main()
