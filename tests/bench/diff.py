"""Quality and speed of `sockcap diff`: how well it finds changes, how often it reports a change
where there is none, and how fast it is.

Called by scripts/bench, which builds the programs. Four kinds of sets (docs/diff-figures.md
describes how each is made):

the two experiments of Spectroscope's sections 5.3.1 and 5.3.2, on synthetic periods of a storage
system: nDCG of the ranked list of mutations, and the share that is relevant to the fault;

faults that were injected into a real system: whether the faulty service is the first suspect, or
among the first three;

periods without a change: synthetic ones that differ by their seeds, and recordings that are cut in
two;

the experiments once more for time and memory, also with ten times as many requests.

--ablation also leaves out each part of the comparison in turn.
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
from diffs import ranking, sets

# Parts of a comparison that can be left out, with their names.
ABLATIONS = {
    "all of it": [],
    "without control of the rate": ["--ablate", "control"],
    "without critical path": ["--ablate", "critical-path"],
    "without concurrency": ["--ablate", "concurrency"],
    "without the suspects' reasoning": ["--ablate", "blame"],
    "the paper's rules": ["--paper"],
}
# nDCG and share of relevant mutations: the paper's, and the target.
PAPER = {"spin": ("0.93, 72%", "0.97, 90%"), "cache": ("0.83, 53%", "0.95, 80%")}
NAMES = {"spin": "1 ms spin before a storage node's reply", "cache": "cache reduced from 384 to 20 MB"}


def percent(share):
    return f"{100 * share:.0f}%"


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print(flush=True)


# Figures of an experiment: key, name, and format.
COLUMNS = (
    ("ndcg", "nDCG", "{:.3f}".format),
    ("relevant", "relevant", percent),
    ("mutations", "mutations", "{:.0f}".format),
    ("located", "of relevant ones located", percent),
    ("categories", "categories", "{:.0f}".format),
)


def mean(values):
    return statistics.mean(values) if values else float("nan")


def mean_and_range(values, show):
    """Mean, and the least and the greatest value if they differ."""
    values = list(values)
    shown = sorted(set(map(show, (min(values), max(values)))), key=lambda text: show(max(values)) == text)
    return show(mean(values)) + (f" ({' to '.join(shown)})" if len(shown) > 1 else "")


def mutation_scores(experiments, fault, options):
    """The score of each experiment."""
    return [ranking.score_mutations(program.diff(of["before"], of[fault], *options), fault) for of in experiments]


def print_experiments(experiments):
    """Tables of both experiments: nDCG, and the share of relevant mutations."""
    rows, lists = [], []
    for fault, (paper, target) in PAPER.items():
        scores = mutation_scores(experiments, fault, [])
        figures = [mean_and_range([one[key] for one in scores], show) for key, _, show in COLUMNS]
        suspected = f"{sum(one['suspected'] for one in scores)} of {len(scores)}"
        rows.append([NAMES[fault], paper, target, *figures, suspected])
        lists += [f"{fault}, pair {number}:{os.linesep}{one['list']}" for number, one in enumerate(scores, 1)]
    head = ["experiment", "paper", "target", *(name for _, name, _ in COLUMNS), "first suspect is right"]
    table(head, rows)
    print("```text\n" + "\n".join(lists) + "\n```\n")


def print_left_out(experiments):
    """Table of the categories that became slower in the experiment `spin`, and of those reported."""
    rows = []
    for number, of in enumerate(experiments, 1):
        answer, everything = (program.diff(of["before"], of["spin"], *more) for more in ([], ["--false-discoveries", "0.99"]))
        there, reported, share = ranking.left_out(answer, everything)
        rows.append([str(number), str(there), str(reported), percent(share)])
    table(["spin, pair", "categories that are slower by 0.5 ms or more", "reported", "their share of the time"], rows)


def ranks(normal, faults, options):
    """The rank of each fault's service among the suspects; `None` if it is missing."""
    for fault, directory in faults:
        suspects = [suspect["node"] for suspect in program.diff(normal, directory, *options)["suspects"]]
        yield fault, suspects, suspects.index(fault["service"]) + 1 if fault["service"] in suspects else None


def share_ranked_within(ranked, places):
    """Share of the faults whose service is among the first `places` suspects, in percent."""
    ranked = [rank for *_, rank in ranked]
    return percent(sum(rank is not None and rank <= places for rank in ranked) / len(ranked))


def print_faults(normal, faults):
    """Table of the ranks of the faulty services among the suspects."""
    ranked = list(ranks(normal, faults, []))
    table(["labelled faults", "summed own time", "target", "here"], [
        [f"{len(ranked)} faults: service ranked first", "35%", "80%", share_ranked_within(ranked, 1)],
        ["in the first three", "55%", "95%", share_ranked_within(ranked, 3)],
    ])
    missed = [[fault["type"], fault["service"], str(rank or "none"), ", ".join(suspects[:3])]
              for fault, suspects, rank in ranked if rank != 1]
    if missed:
        table(["not first", "service", "rank", "suspects"], missed)


def count_changed(comparisons, options=()):
    """How many comparisons report a change."""
    return sum(program.diff(*comparison, *options)["changed"] for comparison in comparisons)


def print_unchanged(work, arguments, normal, made):
    """Table of the comparisons without a change that report one. `made` are synthetic pairs."""
    rows, changes, all_of = [], 0, 0
    runs = list(sets.unchanged_runs(work, arguments.pairs // 4))
    groups = [("synthetic pairs", made), ("halves of synthetic operations", runs), *sets.unchanged_recordings(work, arguments.data, normal)]
    for name, comparisons in groups:
        count = count_changed(comparisons)
        rows.append([name, str(len(comparisons)), str(count)])
        changes, all_of = changes + count, all_of + len(comparisons)
    rows.append([f"all: {percent(changes / all_of)}, at most 5% required", str(all_of), str(changes)])
    table(["no change", "comparisons", "report a change"], rows)


def print_scale(work, arguments, experiments):
    """Table of time and memory, for the paper's number of requests and for ten times as many."""
    sizes = [(1, experiments[0])]
    if not arguments.skip_ten:
        sizes.append((10, sets.experiment(work, 1, 10, faults=("spin",))))
    rows = []
    for times, of in sizes:
        # The first comparison also makes tables of the imported data.
        first_time, *_ = program.measured("diff", of["before"], of["spin"], "--json")
        runs = [program.measured("diff", of["before"], of["spin"], "--json") for _ in range(arguments.runs)]
        clock, processors, _ = min(runs)
        peak = max(peak for *_, peak in runs)
        target = "5 s, 500 MB" if times == 1 else "50 s"
        rows.append([f"{times * sets.BEFORE:,} and {times * sets.AFTER:,} requests", f"{clock:.1f} s", f"{processors:.1f} s",
                     f"{peak / 1e6:.0f} MB", target, f"{first_time:.1f} s"])
    table(["scale", f"time, best of {arguments.runs}", "processors' time", "peak memory", "target", "first time"], rows)


def print_ablation(normal, faults, experiments, made):
    """Table of the results without each part of the comparison."""
    rows = []
    for name, options in ABLATIONS.items():
        ranked = list(ranks(normal, faults, options))
        cells = [name, share_ranked_within(ranked, 1), share_ranked_within(ranked, 3), percent(count_changed(made, options) / len(made))]
        for fault in PAPER:
            scores = mutation_scores(experiments, fault, options)
            cells += [show(mean([one[key] for one in scores])) for key, _, show in COLUMNS]
        rows.append(cells)
    head = ["", "faults first", "first three", "synthetic pairs without a change that report one"]
    head += [f"{fault}: {what}" for fault in PAPER for _, what, _ in COLUMNS]
    table(head, rows)


def main():
    parser = argparse.ArgumentParser(
        prog="scripts/bench diff", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.path.join(program.REPOSITORY, "..", "shared", "data"), metavar="DIR",
                        help="folder of DIR/faults and DIR/calls [default: ../shared/data next to the repository]")
    parser.add_argument("--experiments", type=int, default=5, metavar="N", help="pairs of each experiment [default: 5]")
    parser.add_argument("--pairs", type=int, default=40, metavar="N", help="synthetic pairs without a change [default: 40]")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of each timed comparison [default: 3]")
    parser.add_argument("--skip-ten", action="store_true", help="do not time ten times as many requests")
    parser.add_argument("--ablation", action="store_true", help="also leave out each part of the comparison in turn")
    arguments = parser.parse_args()
    if not os.path.isdir(os.path.join(arguments.data, "faults")):
        sys.exit(f"{arguments.data}: there is no folder faults; say with --data DIR where DIR/faults and DIR/calls are")
    commit = subprocess.run(
        ["git", "-C", program.REPOSITORY, "describe", "--always", "--dirty"], stdout=subprocess.PIPE, text=True
    ).stdout.strip()
    print(f"{time.strftime('%Y-%m-%d')}, commit {commit}, {os.cpu_count()} processors\n", flush=True)
    work = tempfile.mkdtemp(prefix="bench-diff-", dir=program.TARGET)
    try:
        normal, faults = sets.faults(work, arguments.data)
        experiments = [sets.experiment(work, number) for number in range(1, arguments.experiments + 1)]
        print_experiments(experiments)
        print_left_out(experiments)
        print_faults(normal, faults)
        made = list(sets.unchanged_pairs(work, arguments.pairs))
        print_unchanged(work, arguments, normal, made)
        print_scale(work, arguments, experiments)
        if arguments.ablation:
            print_ablation(normal, faults, experiments, made)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
