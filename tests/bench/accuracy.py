"""Accuracy of each algorithm on sets of calls with known truth.

Called by scripts/bench, which builds the programs. A set is a directory with calls.csv.gz, which
does not contain the truth, and truth.csv.gz, which only `sockcap score` reads. Each is imported,
reconciled, analyzed and scored; docs/synth.md describes the measures. Variants of the sets are
made in a temporary directory:

--compress K shifts whole traces so that their roots are K times closer together: all times of a
trace are moved equally, so that its structure is unchanged, and K times as many traces overlap.

--remove P removes P percent of the calls at random, by a seed. Calls of a removed call are
attributed to the nearest kept one above it; without one they are roots.

--sides S keeps the times of only one end of each call: caller or callee.

--without-ids also measures each variant without the ids that pair a request with its response,
which a capture does not have. The truth then consists of messages, identified by the times at
their two ends.

--ablation also leaves out each kind of evidence of auto in turn.
"""

import argparse
import csv
import gzip
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")

TIMES = ("t_call_send", "t_call_recv", "t_ret_send", "t_ret_recv")
# The columns of each end's times.
SIDES = {"caller": ("t_call_send", "t_ret_recv"), "callee": ("t_call_recv", "t_ret_send")}
# Calls that are not scored, as in the papers that use the sets.
EXCLUDED = {"media": "compose-review-service"}
# Evidence of auto that can be left out.
EVIDENCE = ["delays", "context", "shapes", "order", "turns", "nesting", "threads", "connections", "sizes"]


def table(path):
    with gzip.open(path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)


def first_time(call):
    return min(int(call[column]) for column in TIMES if call[column])


def compressed(calls, parents, factor):
    """The calls with all times of each trace moved so that its root is at 1/factor of its time."""
    by_id = {call["call_id"]: call for call in calls}

    def root(call):
        seen = set()
        while parents.get(call) in by_id and call not in seen:
            seen.add(call)
            call = parents[call]
        return call

    moved = []
    for call in calls:
        start = first_time(by_id[root(call["call_id"])])
        shift = round(start - start / factor)
        moved.append({**call, **{column: int(call[column]) - shift for column in TIMES if call[column]}})
    return sorted(moved, key=first_time)


def variants(arguments):
    """Pairs of a name and a function that makes a variant of a set from its calls and parents."""
    yield "as it is", lambda calls, parents: calls
    for factor in arguments.compress:
        yield f"{factor:g} times closer", lambda calls, parents: compressed(calls, parents, factor)
    for percent in arguments.remove:
        def kept(calls, parents):
            chance = random.Random(f"{arguments.seed} {percent:g}")
            return [call for call in calls if chance.random() * 100 >= percent]
        yield f"{percent:g}% removed", kept
    for side in arguments.sides:
        def one_sided(calls, parents):
            return [{**call, **{column: "" for column in TIMES if column not in SIDES[side]}} for call in calls]
        yield f"times of the {side} alone", one_sided


def sockcap(*arguments):
    process = subprocess.run([SOCKCAP, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.returncode != 0:
        sys.exit(f"sockcap {' '.join(arguments)}: {process.stderr.strip()}")
    return process.stdout


def reconciled(work, calls, parents, truth, with_ids):
    """The data directory of the calls, and its truth: about calls or, without ids, about messages.
    """
    data, path = os.path.join(work, "data"), os.path.join(work, "calls.csv")
    write(path, calls if with_ids else [{**call, "call_id": ""} for call in calls])
    sockcap("import", "calls", path, "-d", data)
    sockcap("reconcile", "-d", data)
    if with_ids:
        return data, truth
    rows = {}
    names = [row["command"] or row["host"] for row in csv.DictReader(io.StringIO(sockcap("export", "nodes", "--format", "csv", "-d", data)))]
    for message in csv.DictReader(io.StringIO(sockcap("export", "messages", "--format", "csv", "-d", data))):
        if message["direction"] == "0":
            ends = names[int(message["src"])], names[int(message["dst"])]
            rows.setdefault((*ends, message["send_first"], message["recv_first"]), []).append(message["id"])
    row_of = {}
    for call in calls:
        # Calls at the same time between the same two nodes cannot be distinguished, and need not
        # be.
        row_of[call["call_id"]] = rows[tuple(call[column] for column in ("caller", "callee", "t_call_send", "t_call_recv"))].pop(0)
    truth = os.path.join(work, "truth.csv")
    ids = {call["call_id"] for call in calls}

    def kept(call):
        while call is not None and call not in ids:
            call = parents.get(call)
        return call

    write(truth, [{"child": row, "parent": row_of.get(kept(parents.get(call))) or ""} for call, row in row_of.items()])
    return data, truth


def measure(data, name, truth, algorithm, runs):
    """The score of an algorithm, given as its name and further flags, on the calls, and the
    duration of the analysis in seconds.
    """
    times = []
    for _ in range(runs):
        start = time.monotonic()
        sockcap("analyze", "--algorithm", *algorithm, "-d", data)
        times.append(time.monotonic() - start)
    exclude = next((node for part, node in EXCLUDED.items() if part in name), None)
    more = ["--exclude", exclude] if exclude else []
    return json.loads(sockcap("score", "--truth", truth, "--json", "-d", data, *more)), min(times)


def percent(share):
    return "-" if share is None else f"{100 * share:.2f}"


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench accuracy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.path.join(REPOSITORY, "..", "shared", "data"), metavar="DIR",
                        help="folder of the sets, DIR/calls/SET [default: ../shared/data next to the repository]")
    parser.add_argument("--sets", nargs="*", metavar="SET", help="only these sets [default: all]")
    parser.add_argument("--algorithms", nargs="+", default=["auto", "linking", "nesting"], metavar="NAME",
                        help="algorithms [default: auto linking nesting]")
    parser.add_argument("--compress", nargs="*", type=float, default=[], metavar="K",
                        help="also with root arrivals K times closer together")
    parser.add_argument("--remove", nargs="*", type=float, default=[], metavar="P", help="also with P percent of calls removed")
    parser.add_argument("--sides", nargs="*", choices=list(SIDES), default=[], metavar="S",
                        help="also with the times of only one end of each call: caller, callee")
    parser.add_argument("--without-ids", action="store_true", help="each variant also without call ids")
    parser.add_argument("--seed", type=int, default=1, help="seed of the removal [default: 1]")
    parser.add_argument("--runs", type=int, default=1, help="runs of each analysis; the shortest time counts [default: 1]")
    parser.add_argument("--ablation", action="store_true", help="auto also without each kind of evidence")
    arguments = parser.parse_args()
    algorithms = [[name] for name in arguments.algorithms]
    if arguments.ablation:
        algorithms += [["auto", "--without", kind] for kind in EVIDENCE]
    sets = os.path.join(arguments.data, "calls")
    if not os.path.isdir(sets):
        sys.exit(f"{sets}: no sets of calls are here; say with --data DIR where DIR/calls/SET/calls.csv.gz is")
    names = arguments.sets or sorted(
        name for name in os.listdir(sets) if os.path.exists(os.path.join(sets, name, "truth.csv.gz"))
    )
    if any(factor <= 0 for factor in arguments.compress) or any(not 0 <= p < 100 for p in arguments.remove):
        sys.exit("--compress takes numbers above 0, --remove percentages from 0 to below 100")
    commit = subprocess.run(
        ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors\n")
    titles = ["set", "variant", "algorithm", "calls", "links", "ambiguous links", "requests", "traces", "top 5",
              "precision at 90%", "calibration error", "s"]
    print("| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    for name in names:
        directory = os.path.join(sets, name)
        missing = [file for file in ("calls.csv.gz", "truth.csv.gz") if not os.path.exists(os.path.join(directory, file))]
        if missing:
            sys.exit(f"{directory}: there is no {missing[0]}")
        truth = os.path.join(directory, "truth.csv.gz")
        calls = table(os.path.join(directory, "calls.csv.gz"))
        parents = {row["call_id"]: row["parent_call_id"] or None for row in table(truth)}
        for variant, make in variants(arguments):
            made = make(calls, parents)
            for with_ids in [True, False] if arguments.without_ids else [True]:
                with tempfile.TemporaryDirectory(dir=TARGET) as work:
                    data, of_made = reconciled(work, made, parents, truth, with_ids)
                    for algorithm in algorithms:
                        score, seconds = measure(data, name, of_made, algorithm, arguments.runs)
                        shares = [score[key] for key in (
                            "link_accuracy", "ambiguous_link_accuracy", "request_accuracy", "trace_accuracy",
                            "top5_trace_accuracy", "precision_at_90_coverage", "calibration_error")]
                        which = variant if with_ids else f"{variant}, without ids"
                        cells = [name, which, " ".join(algorithm), str(score["population"]["calls"]), *map(percent, shares),
                                 f"{seconds:.2f}"]
                        print("| " + " | ".join(cells) + " |", flush=True)


main()
