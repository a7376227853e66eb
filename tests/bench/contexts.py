"""Trace-context profiling on a run like the paper's (Rohr et al. 2008): time, memory, and the data
of Figures 8 to 10.

Called by scripts/bench, which builds the programs and installs matplotlib.
`sockcap synth operations` makes the run, with the numbers of operations, traces, executions and
contexts of Table 1. `sockcap contexts` profiles it, alone and with random partial
instrumentations. The dependence of times on context is chosen in
crates/synth/configs/operations.toml so that the results are near the paper's figures; the call
graph and the classes of traces are ours.
"""

import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

from program import REPOSITORY, SOCKCAP, TARGET, measured

LEVELS = ("caller", "stack", "trace")
# Table 1, with all operations monitored.
PAPER = {
    "operations": 199, "traces": 36_036, "executions": 2_032_573,
    "caller-contexts": 290, "stack-contexts": 368, "trace-contexts": 7_021,
}
# Monitoring points per box of Figure 9, and contexts per window of Figure 10 and per step.
BOX, WINDOW, STEP = 20, 10, 2


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print(flush=True)


def quartiles(values):
    """First quartile, median, third quartile."""
    return tuple(statistics.quantiles(values, n=4, method="inclusive")) if len(values) > 1 else 3 * (values[0],)


def percent(share):
    return f"{100 * share:.1f}%"


class Instrumentation:
    """A row of `sockcap contexts --instrumentations`."""

    def __init__(self, row):
        self.is_full = row["number"] == ""
        self.points = int(row["monitoring_points"])
        self.contexts = {level: int(row[f"{level}_contexts"]) for level in LEVELS}
        self.decrease = {level: float(row[f"{level}_decrease"]) for level in LEVELS}


def time_and_memory(data, found, arguments):
    """Time and memory of profiling the run; leaves the instrumentations in the file `found`."""
    made = measured("synth", arguments.config, "-d", data)
    first = measured("contexts", "-d", data)
    runs = [measured("contexts", "-d", data) for _ in range(arguments.runs)]
    def instrumented(number):
        return measured("contexts", "-d", data, "--instrumentations", number, "--format", "csv", "-o", found)

    rows = [
        ("`synth`", made, ""),
        ("first `contexts` after that", first, ""),
        (f"`contexts`, best of {arguments.runs}", min(runs), "3 s, 500 MB"),
        ("`contexts --instrumentations 1000`", instrumented(1000), "60 s"),
        (f"`contexts --instrumentations {arguments.instrumentations}`", instrumented(arguments.instrumentations), ""),
    ]
    table(["", "time", "processors' time", "peak memory", "at most"],
          [[name, f"{clock:.2f} s", f"{processors:.2f} s", f"{peak / 1e6:.0f} MB", target]
           for name, (clock, processors, peak), target in rows])
    output = subprocess.run([SOCKCAP, "contexts", "-d", data, "--json"], check=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL)
    analysis = json.loads(output.stdout)
    totals, model = analysis["totals"], analysis["model"]
    here = {"operations": totals["operations"], "traces": totals["requests"], "executions": totals["steps"]}
    here |= {f"{level}-contexts": totals["contexts"][level] for level in LEVELS}
    table(["", "here", "paper"], [[name, f"{here[name]:,}", f"{value:,}"] for name, value in PAPER.items()])
    print(f"{totals['classes']} classes of traces; timing model: {len(model['leaves'])} leaves of {model['nodes']:,} contexts, "
          f"{percent(model['decrease'])} less standard deviation\n", flush=True)


def boxes(random):
    """Instrumentations by the number of monitoring points."""
    for first in range(1, max(one.points for one in random) + 1, BOX):
        of = [one for one in random if first <= one.points < first + BOX]
        if of:
            yield first, of


def windows(random, level):
    """Midpoint of each window of Figure 10, with the quartiles of the explained deviation."""
    points = sorted((one.contexts[level], one.decrease[level]) for one in random)
    low, high = 0, 0
    for begin in range(points[0][0], points[-1][0] + 1, STEP):
        while low < len(points) and points[low][0] < begin:
            low += 1
        while high < len(points) and points[high][0] < begin + WINDOW:
            high += 1
        if high > low:
            yield (begin + WINDOW / 2, *quartiles([decrease for _, decrease in points[low:high]]))


def share(of, holds):
    of = list(of)
    return percent(sum(map(holds, of)) / len(of)) if of else "none"


def compare_with_paper(full, random):
    """The paper's statements about its figures, and the results here."""
    def most(level):
        return f"{max(one.contexts[level] for one in [full, *random]):,}"

    def near(points):
        return [one for one in random if abs(one.points - points) <= 10]

    def less(level, of, at):
        return percent(quartiles([one.decrease[level] for one in of])[at])

    few, many = [one for one in random if one.points <= 20], [one for one in random if one.points > 150]
    rows = [
        ("8", "most caller-contexts of any instrumentation, of all operations monitored",
         "312, 290", f"{most('caller')}, {full.contexts['caller']}"),
        ("8", "instrumentations with more stack- than caller-contexts", "80%",
         share(random, lambda one: one.contexts["stack"] > one.contexts["caller"])),
        ("9a", "gone by caller, all operations monitored", "6.8%", percent(full.decrease["caller"])),
        ("9a", "gone by caller, half of the operations: first quartile", "6.2%", less("caller", near(100), 0)),
        ("9a", "gone by caller, up to 20 operations: median", "below 2%", less("caller", few, 1)),
        ("9a", "gone by caller, up to 20 operations: most", "45%",
         percent(max((one.decrease["caller"] for one in few), default=0))),
        ("9a", "instrumentations where callers take away less than 7%", "most",
         share(random, lambda one: one.decrease["caller"] < 0.07)),
        ("9b", "gone by stack, more than 150 operations: median", "about 11%", less("stack", many, 1)),
        ("9c", "gone by trace, all operations monitored", "about 42%", percent(full.decrease["trace"])),
        ("9c", "gone by trace, 30 to 50 operations: median", "over 40%", less("trace", near(40), 1)),
        ("9c", "of these, less than 10% gone", "few", share(near(40), lambda one: one.decrease["trace"] < 0.1)),
        ("9d", "more than 25 operations: more than 10% gone by trace", "most",
         share((one for one in random if one.points > 25), lambda one: one.decrease["trace"] > 0.1)),
        ("9d", "more than 50 operations: more than 40% gone by trace", "most",
         share((one for one in random if one.points > 50), lambda one: one.decrease["trace"] > 0.4)),
    ]
    table(["figure", "", "paper", "here"], rows)


def show(full, random):
    print("## Figure 8: contexts, by the number of monitoring points (medians)\n")
    of_boxes = list(boxes(random))

    def name(first):
        return f"{first}-{min(first + BOX - 1, full.points)}"

    table(["monitoring points", "instrumentations", *LEVELS],
          [[name(first), str(len(of)), *(f"{statistics.median(one.contexts[level] for one in of):,.0f}" for level in LEVELS)]
           for first, of in of_boxes]
          + [[f"{full.points}, all", "1", *(f"{full.contexts[level]:,}" for level in LEVELS)]])
    print("## Figure 9: standard deviation that is gone within contexts (median, quartiles)\n")

    def spread(values):
        low, middle, high = map(percent, quartiles(values))
        return f"{middle} ({low} to {high})"

    table(["monitoring points", *LEVELS],
          [[name(first), *(spread([one.decrease[level] for one in of]) for level in LEVELS)] for first, of in of_boxes]
          + [[f"{full.points}, all", *(percent(full.decrease[level]) for level in LEVELS)]])
    print("## Figure 10: the same by the number of contexts\n")
    for level in LEVELS:
        curve = list(windows(random, level))
        some = curve[:: max(1, len(curve) // 8)]
        table([f"{level}-contexts", *(f"{middle:.0f}" for middle, *_ in some)],
              [["gone", *(percent(median) for _, _, median, _ in some)]])


def draw(directory, full, random):
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot
    # The library with which matplotlib writes PNG.
    from PIL import Image

    colours = dict(zip(LEVELS, ("#c2571a", "#2a6fb0", "#3c8d40")))

    def save(number, figure):
        for axes in figure.axes:
            axes.spines[["top", "right"]].set_visible(False)
        os.makedirs(directory, exist_ok=True)
        path = os.path.join(directory, f"contexts-{number}.png")
        figure.savefig(path, dpi=80)
        pyplot.close(figure)
        # Few colours make a small file. Without the library's version, the same figures give the same file.
        with Image.open(path) as image:
            image.convert("RGB").quantize(32).save(path, optimize=True)

    # As many points as in the paper's Figure 8.
    some = random[:1500]
    points = [one.points for one in some]
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for level, of in zip(LEVELS, (axes[0], axes[0], axes[1])):
        of.plot(points, [one.contexts[level] for one in some], ".", markersize=2, color=colours[level], label=f"{level}-contexts")
        of.plot([full.points], [full.contexts[level]], "x", color=colours[level])
    for of in axes:
        of.set(xlabel="monitoring points", ylabel="contexts")
        of.legend(frameon=False)
    save(8, figure)

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.6), layout="constrained", sharey=True)
    for level, of in zip(LEVELS, axes):
        groups = list(boxes(random))
        of.boxplot([[100 * one.decrease[level] for one in group] for _, group in groups],
                   positions=[first + BOX / 2 for first, _ in groups], widths=0.6 * BOX, manage_ticks=False,
                   flierprops={"markersize": 2}, medianprops={"color": colours[level]})
        of.plot([full.points], [100 * full.decrease[level]], "x", color=colours[level])
        of.set(title=f"by {level}-context", xlabel="monitoring points")
    axes[0].set_ylabel("standard deviation gone, %")
    save(9, figure)

    figure, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
    for level in LEVELS:
        middle, low, median, high = zip(*windows(random, level))
        for of in axes:
            of.plot(middle, [100 * one for one in median], color=colours[level], label=f"by {level}-context")
            of.fill_between(middle, [100 * one for one in low], [100 * one for one in high], color=colours[level],
                            alpha=0.2, linewidth=0)
    axes[0].set(xlabel="contexts", ylabel="standard deviation gone, %", xlim=(0, 400))
    axes[1].set(xlabel="contexts")
    axes[0].legend(frameon=False)
    save(10, figure)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench contexts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", default="operations", help="configuration for `sockcap synth` [default: operations]")
    parser.add_argument("--instrumentations", type=int, default=95_000, metavar="N",
                        help="number of instrumentations [default: 95000, as in the paper]")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each measurement [default: 3]")
    parser.add_argument("--plots", metavar="DIR", help="draw Figures 8 to 10 here, as PNG")
    arguments = parser.parse_args()
    commit = subprocess.run(
        ["git", "-C", REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors\n")
    work = tempfile.mkdtemp(prefix="bench-contexts-", dir=TARGET)
    try:
        found = os.path.join(work, "instrumentations.csv")
        time_and_memory(os.path.join(work, "data"), found, arguments)
        with open(found) as file:
            rows = [Instrumentation(row) for row in csv.DictReader(file)]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    full, random = rows[0], rows[1:]
    compare_with_paper(full, random)
    show(full, random)
    if arguments.plots:
        draw(arguments.plots, full, random)


main()
