"""Costs of requests: how fast events are joined, how much processor time is charged to the right
request, and the clusters of a mixture.

Called by scripts/bench, which builds the programs. The figures are the ones of the Magpie paper
(sections 3.4, 6 and 7):

a synthetic stream of events, for time and memory of the join;

the mixtures of Tables 2 to 5 on a web server with requests of known costs
(tests/programs/kinds.cpp), recorded by `sockcap record --resources` and by perf tracepoints in the
same run. The server writes its own account of each request;

the "driver" of section 6.3, which waits busily for 100 ms in one of 250 requests;

the cost of recording that server;

a web server with PostgreSQL, as in Tables 6 and 7 (gunicorn, and a database with the transactions
of TPC-C).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import program
from workloads import costs, paper, runs, score, tool
from workloads.shown import percent, table

# The parts of the report, in their order.
PARTS = ("join", "tables", "driver", "cost", "tiers")


def median_and_span(values):
    values = sorted(values)
    return f"{percent(statistics.median(values), 2)} ({percent(values[0], 2)} to {percent(values[-1], 2)})"


class Recorder:
    """A way in which requests of a run are found."""

    def __init__(self, name, find):
        self.name, self.find = name, find


RECORDERS = (Recorder("sockcap", tool.find_in_recording), Recorder("perf", tool.find_in_trace))


def recorders(arguments):
    return RECORDERS if arguments.perf else RECORDERS[:1]


def row_of(experiment, run, recorder, answer, result, stolen):
    """A row of the table of mixtures."""
    found = score.clusters(result.pairs, run.accounts)
    processor, network = score.model_error([request for _, request in result.pairs], answer.representatives)
    differences = score.differences(result.pairs)
    lost = [("missed", len(result.missed)), ("split", len(result.split)), ("merged", len(result.merged)),
            ("foreign", len(result.foreign)), ("conflicts", answer.conflicts)]
    row = [
        experiment.number, "/".join(experiment.mix.upper()), experiment.clients, recorder.name,
        "" if experiment.charged is None else f"{experiment.charged}%", percent(score.charged(run, answer.found)),
        percent(score.own_charged(run)),
        f"{percent(score.quantile(differences, 0.5), 2)} ({percent(score.quantile(differences, 0.05), 2)} to "
        f"{percent(score.quantile(differences, 0.95), 2)})",
        len(result.pairs), ", ".join(f"{number} {name}" for name, number in lost if number),
        experiment.clusters, found.shown(), len(found.wrong), len(found.extra),
        len(set(found.faults) - stolen), "" if experiment.error is None else f"{experiment.error}%", percent(processor, 2),
        percent(network, 2),
    ]
    return row


HEAD = ("no", "mixture", "clients", "recorded by", "paper: charged", "charged", "server's own account",
        "a request differs from the server's account by: median (5 to 95%)", "matched", "others", "paper: clusters",
        "clusters", "wrong", "extra", "of these not disturbed", "paper: error", "error: processor", "network")


def recorder_differences(first, second):
    """For each request that both recorders found, the relative difference of the two processor times."""
    other = {of.number: request for of, request in second}
    both = [request.processor_ns / other[of.number].processor_ns - 1 for of, request in first
            if of.number in other and other[of.number].processor_ns > 0]
    return both


def print_tables(work, arguments):
    """Tables of the mixtures (Tables 2 to 5 of the paper), and of how the two recorders differ."""
    rows, compared = [], []
    for experiment in paper.EXPERIMENTS:
        if arguments.only and experiment.number not in arguments.only:
            continue
        run = runs.run(work, f"table-{experiment.number}", experiment.mix, experiment.clients, arguments.requests,
                       seed=int(experiment.number.replace(".", "")), sockcap=("--resources",), perf=arguments.perf)
        answers = {recorder: recorder.find(run) for recorder in recorders(arguments)}
        results = {recorder: score.matched(run.accounts, answer.found) for recorder, answer in answers.items()}
        pairs = [result.pairs for result in results.values()]
        stolen = score.stolen(*pairs) if len(pairs) == 2 else set()
        for recorder, answer in answers.items():
            rows.append(row_of(experiment, run, recorder, answer, results[recorder], stolen))
            print(f"{experiment.number} {recorder.name}: {rows[-1]}", file=sys.stderr, flush=True)
        if len(pairs) == 2:
            both = recorder_differences(*pairs)
            near = sum(abs(of) < 0.02 for of in both) / len(both) if both else float("nan")
            compared.append([experiment.number, len(both), percent(near),
                             *(percent(score.quantile(both, of), 2) for of in (0.05, 0.25, 0.5, 0.75, 0.95))])
        if not arguments.keep:
            shutil.rmtree(os.path.join(work, f"table-{experiment.number}"))
    table(HEAD, rows)
    if compared:
        table(("no", "requests of both", "within 2%", "sockcap by perf - 1: 5%", "25%", "median", "75%", "95%"), compared)


def print_driver(work, arguments):
    """Table of the delayed requests that were found to be unusual (section 6.3 of the paper)."""
    rows = []
    run = runs.run(work, "driver", "ab", 1, 1000, sockcap=("--resources",), perf=arguments.perf, options=("--driver", 250))
    for recorder in recorders(arguments):
        answer = recorder.find(run)
        result = score.matched(run.accounts, answer.found)
        true = {request.number for of, request in result.pairs if of.driver}
        disturbed = score.disturbed(run.accounts)
        others = {request.number: of.number for of, request in result.pairs if request.number in answer.unusual}
        unusual = answer.unusual
        rows.append([recorder.name, sum(of.driver for of in run.accounts), len(true & set(unusual)), len(set(others) - true),
                     len(set(others.values()) - disturbed),
                     "; ".join(unusual[number] for number in sorted(true & set(unusual))[:1])])
    table(("recorded by", "delayed", "found", "others called unusual", "of these not disturbed", "description of one"), rows)
    if not arguments.keep:
        shutil.rmtree(os.path.join(work, "driver"))


def print_cost(work, arguments):
    """Table of the throughput and processor time of the server with and without recording."""
    rows = []
    for name, measure, size in (("type B, 5 clients", costs.throughput_of_spins, arguments.cost_requests),
                                ("type D, 16 connections of wrk", costs.throughput_of_files, arguments.cost_seconds)):
        for way, options in (("`record`", ("--no-config",)), ("`record --resources`", ("--resources",))):
            plain, kept, used = costs.ratios(work, measure, arguments.pairs, size, options)
            target = "96%" if "resources" in way else ""
            rows.append([name, way, f"{plain[0]:.0f}/s", target, median_and_span(kept), f"{1e6 * plain[1]:.0f} us",
                         median_and_span([ratio - 1 for ratio in used])])
    table(("server", "recorded by", "throughput without", "at least", "kept with it", "processor time of a request without",
           "added by it"), rows)


def print_tiers(work, arguments):
    """Tables of the web server with PostgreSQL (Tables 6 and 7 of the paper)."""
    from workloads.tiers import report

    report.show(work, arguments)


def print_join(work, arguments):
    """Table of time and memory of joining a synthetic stream of events."""
    from workloads import joins

    joins.show(work, arguments)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench workload", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, metavar="PART",
                        help=f"parts of the report: {', '.join(PARTS)} [default: all]")
    parser.add_argument("--only", nargs="+", metavar="NO", help="only these experiments of Tables 2 to 5")
    parser.add_argument("--requests", type=int, default=500, metavar="N", help="requests of each experiment [default: 500]")
    parser.add_argument("--events", type=float, default=20, metavar="MILLIONS",
                        help="millions of events of the larger stream to join [default: 20]")
    parser.add_argument("--pairs", type=int, default=10, metavar="N", help="pairs of runs for the cost [default: 10]")
    parser.add_argument("--cost-requests", type=int, default=600, metavar="N", help="requests of such a run [default: 600]")
    parser.add_argument("--cost-seconds", type=int, default=4, metavar="N", help="seconds of such a run [default: 4]")
    parser.add_argument("--no-perf", dest="perf", action="store_false", help="record with sockcap only")
    parser.add_argument("--keep", metavar="DIR", help="keep the runs in this folder")
    arguments = parser.parse_args()
    if arguments.perf and not runs.can_trace():
        print("perf cannot trace here (it takes root and tracefs): recorded by sockcap alone", file=sys.stderr)
        arguments.perf = False
    commit = subprocess.run(
        ["git", "-C", program.REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors, kernel {os.uname().release}\n",
          flush=True)
    work = arguments.keep or tempfile.mkdtemp(prefix="bench-workload-", dir=program.TARGET)
    os.makedirs(work, exist_ok=True)
    # The database runs as a separate user.
    os.chmod(work, 0o755)
    parts = {"join": print_join, "tables": print_tables, "driver": print_driver, "cost": print_cost, "tiers": print_tiers}
    try:
        for name in PARTS:
            if name in arguments.parts:
                parts[name](work, arguments)
    finally:
        if not arguments.keep:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
