"""Figures 17 and 19 to 22 of Project 5 on synthetic traces: the dependence of accuracy on pruning,
parallelism, variation of delays, message loss and clock skew.

Called by scripts/bench, which builds the programs and installs matplotlib. The traces are the ones
of `sockcap synth`: the multi-tier system and the four pathological cases. Each algorithm analyzes
each, `sockcap score` compares it with the truth, and the figures are printed as tables and, with
--plots, drawn. Differences from the paper:

- The cases are the same in kind; numbers of sequences, think times and deviations are ours.
- Figure 22 has two variants: each message once, with its sender's time at both ends, as in the
  paper's traces; and with a time at each end, as in sockcap's own traces.
- Figure 21 shows the share of all real traces with more than one call that was not found complete
  and correct, whereas the paper's compares the numbers of instances.
"""

import argparse
import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SOCKCAP = os.path.join(TARGET, "release", "sockcap")

PATHOLOGICAL = ["children-parallel", "children-0-2", "children-d-cc", "penalty-breaker"]
CASES = ["multi-tier", *PATHOLOGICAL]


def sockcap(*arguments):
    process = subprocess.run([SOCKCAP, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.returncode != 0:
        sys.exit(f"sockcap {' '.join(map(str, arguments))}: {process.stderr.strip()}")
    return process.stdout


class Trace:
    """A synthetic trace in its own directory, and operations on it."""

    def __init__(self, work, case, *more):
        self.work = tempfile.mkdtemp(dir=work)
        self.data, self.truth = os.path.join(self.work, "data"), os.path.join(self.work, "truth.csv")
        sockcap("synth", case, "--truth", self.truth, "-d", self.data, *more)

    def other(self, command, *more):
        """The trace that `command` makes of it, with the same truth."""
        trace = object.__new__(Trace)
        trace.work, trace.truth = self.work, self.truth
        trace.data = tempfile.mkdtemp(dir=self.work)
        sockcap(command, "-d", self.data, "--to", trace.data, *more)
        return trace

    def score(self, algorithm, *options):
        sockcap("analyze", "--algorithm", algorithm, *options, "-d", self.data)
        return json.loads(sockcap("score", "--truth", self.truth, "--json", "-d", self.data))

    def messages(self):
        return sockcap("export", "messages", "-d", self.data).count("\n") - 1

    def parallelism(self):
        """The number of concurrent paths, averaged over the trace; the analysis does not matter."""
        with open(self.truth) as file:
            roots = {row["call_id"] for row in csv.DictReader(file) if not row["parent_call_id"]}
        calls = [
            (int(call["request_send"]), int(call["response_recv"]))
            for call in csv.DictReader(io.StringIO(sockcap("export", "calls", "-d", self.data)))
            if call["call_id"] in roots
        ]
        return sum(end - start for start, end in calls) / (max(calls, key=lambda c: c[1])[1] - min(calls)[0])


def rate(score, kind):
    return 100 * (score["paths"]["instances"][f"false_{kind}_rate"] or 0)


def sized(size, k=1):
    """The number of instances of each sequence with which a trace of k times as many sequences has
    about the same size.
    """
    return "--parallel", k, "--instances", max(size // k, 1)


def figure_17(work, algorithm, size):
    """How many of the N most frequent patterns of the multi-tier system are omitted; ten times the
    size of the others.
    """
    score = Trace(work, "multi-tier", *sized(10 * size, 8)).score(algorithm)
    lines = {}
    for row in score["top_n_omission"]:
        for line, key in (("all", "omitted"), ("2% tolerance", "omitted_at_2_percent"), ("6% tolerance", "omitted_at_6_percent")):
            lines.setdefault(line, []).append((row["n"], row[key] / row["n"]))
    lines["1/N"] = [(n, 1 / n) for n, _ in lines["all"]]
    return "Omitted patterns by pruning", "N", "omitted, as a share of N", lines


def figure_19(work, algorithm, size):
    lines = {}
    for case in CASES:
        for k in (1, 2, 4, 8, 16):
            trace = Trace(work, case, *sized(size, k))
            score = trace.score(algorithm)
            lines.setdefault(case, []).append((trace.parallelism(), rate(score, "positive")))
    return "Effect of parallelism", "mean parallelism", "false positive instances, %", lines


def figure_20(work, algorithm, size):
    lines = {}
    for case in CASES:
        for factor in (0, 0.25, 0.5, 1, 2, 3, 5):
            score = Trace(work, case, *sized(size), "--deviation", factor).score(algorithm)
            # The configurations have a deviation of a fifth of the mean.
            lines.setdefault(case, []).append((0.2 * factor, rate(score, "positive")))
    return "Effect of the variation of delays", "deviation / mean", "false positive instances, %", lines


def figure_21(work, algorithm, size):
    lines = {}
    for case in CASES:
        trace = Trace(work, case, *sized(size))
        all_messages = trace.messages()
        calls = list(csv.DictReader(io.StringIO(sockcap("export", "calls", "-d", trace.data))))
        times = [int(call["request_send"]) for call in calls]
        mean = all_messages / (max(times) - min(times)) * 1e9
        for factor in (0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.5):
            lossy = trace.other("drop", "--rate", mean * factor)
            dropped = 100 * (1 - lossy.messages() / all_messages)
            missed = 100 * (1 - lossy.score(algorithm)["trace_recall"])
            lines.setdefault(case, []).append((dropped, missed))
    return "Effect of message loss", "dropped messages, %", "traces not found, %", lines


# The nesting algorithm's countermeasures against skew, with the paper's window; the paper does not
# state the width of its curve.
COMPENSATED = {
    "skew window": ["--skew-window", "30ms"],
    "window and smoothing": ["--skew-window", "30ms", "--smoothing", "4"],
}


def figure_22(work, algorithm, size):
    trace = Trace(work, "multi-tier", *sized(size))
    lines = {}
    for name, sign, how in (
        ("WS2 fast", "", ["--one-time"]),
        ("WS2 slow", "-", ["--one-time"]),
        ("WS2 fast, times at both ends", "", ["--uncorrected"]),
        ("the same, clocks estimated", "", []),
    ):
        for skew in (0, 5, 10, 20, 30, 40, 50, 60):
            skewed = trace.other("skew", "--host", f"WS2={sign}{skew}ms", *how)
            lines.setdefault(name, []).append((skew, rate(skewed.score(algorithm), "negative")))
            for what, options in COMPENSATED.items() if algorithm == "nesting" and "--one-time" in how else ():
                score = skewed.score(algorithm, *options)
                lines.setdefault(f"{name}, {what}", []).append((skew, rate(score, "negative")))
    return "Effect of clock skew", "skew of WS2, ms", "false negative instances, %", lines


FIGURES = {17: figure_17, 19: figure_19, 20: figure_20, 21: figure_21, 22: figure_22}


def show(number, algorithm, title, x, y, lines):
    print(f"## Figure {number}: {title}, {algorithm}\n\n{y}, by {x}\n")
    print(f"| | {x}: {y} |\n|---|---|")
    for name, points in lines.items():
        print(f"| {name} | " + ", ".join(f"{a:.4g}: {b:.3g}" for a, b in points) + " |")
    print(flush=True)


def draw(directory, number, algorithm, title, x, y, lines):
    import matplotlib

    matplotlib.use("svg")
    # The same figures then give the same file.
    matplotlib.rcParams["svg.hashsalt"] = "sockcap"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points)), "--" if name == "1/N" else "o-", markersize=3, label=name)
    axes.set(title=f"{title} ({algorithm})", xlabel=x, ylabel=y)
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, fontsize="small")
    axes.spines[["top", "right"]].set_visible(False)
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"project5-{number}-{algorithm}.svg")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench figures", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--algorithms", nargs="+", default=["auto", "linking", "nesting"], metavar="NAME",
                        help="algorithms [default: auto linking nesting]")
    parser.add_argument("--figures", nargs="+", type=int, choices=FIGURES, default=list(FIGURES), metavar="N",
                        help="only these figures [default: 17 19 20 21 22]")
    parser.add_argument("--size", type=int, default=250, metavar="N",
                        help="instances of each sequence of a tracelet [default: 250, which is 20 000 messages of the "
                             "multi-tier system]")
    parser.add_argument("--plots", metavar="DIR", help="draw them here, as SVG")
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}\n")
    for algorithm in arguments.algorithms:
        for number in arguments.figures:
            with tempfile.TemporaryDirectory(dir=TARGET) as work:
                found = FIGURES[number](work, algorithm, arguments.size)
            show(number, algorithm, *found)
            if arguments.plots:
                draw(arguments.plots, number, algorithm, *found)


main()
