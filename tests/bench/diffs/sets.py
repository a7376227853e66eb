"""The sets for comparisons: synthetic periods, labelled faults, and periods without a change.

Each maker returns directories; docs/diff-figures.md describes how they are made.
"""

import json
import os

import program

# Requests of a period without and with a problem, and their lengths (Spectroscope, 5.3): with a
# spin, the run takes 51 minutes instead of 44.
BEFORE, AFTER = 565_295, 567_657
LENGTH, SPIN_LENGTH = 44 * 60, 51 * 60
# The fault `spin`: a wait of 1 ms, in nanoseconds. The fault `cache`: 20 MB, in blocks of 16 KiB.
SPIN_NS, SMALL_CACHE = 1_000_000, 20 << 6
# A small period, for pairs without a change.
SMALL, SMALL_LENGTH = 40_000, 310
# Requests of a synthetic run of operations.
OPERATIONS = 12_000
# Points at which recordings are cut in two, as fractions of their length.
CUTS = (0.4, 0.45, 0.5, 0.55, 0.6)
# Faults were injected while this set was recorded.
CHANGED_SETS = ("nezha_ob_0822_small",)


def made(directory, **changes):
    """Makes a period of the synthetic storage system in `directory`, with these settings."""
    program.run(program.STORAGE, directory, *(f"{key}={value}" for key, value in changes.items()))
    return directory


def experiment(work, number, times=1, faults=("spin", "cache")):
    """The period without a problem, and the ones with a fault, `times` as large as in the paper."""
    def one(name, offset, requests, seconds, **changes):
        directory = os.path.join(work, f"{name}-{number}-{times}")
        return made(directory, seed=10 * number + offset, requests=times * requests, length=times * seconds * 10**9, **changes)

    makers = {
        "before": lambda: one("before", 1, BEFORE, LENGTH),
        "spin": lambda: one("spin", 2, AFTER, SPIN_LENGTH, spin=SPIN_NS),
        "cache": lambda: one("cache", 3, AFTER, LENGTH, cache=SMALL_CACHE),
    }
    return {name: makers[name]() for name in ("before", *faults)}


def unchanged_pairs(work, count):
    """Pairs of small periods that differ by their seeds only."""
    def one(seed):
        directory = os.path.join(work, f"unchanged-{seed}")
        return made(directory, seed=seed, requests=SMALL, length=SMALL_LENGTH * 10**9, variation=0)

    for pair in range(count):
        yield [one(1_000 + 2 * pair), one(1_001 + 2 * pair)]


def faults(work, data):
    """The labelled faults, as their entries of faults.json with their directories, and the period
    without a fault.
    """
    folder = os.path.join(data, "faults")

    def imported(name):
        directory = os.path.join(work, name)
        program.run(program.SOCKCAP, "import", "otlp", os.path.join(folder, name), "-d", directory)
        return directory

    with open(os.path.join(folder, "faults.json")) as file:
        labelled = [fault for fault in json.load(file) if fault["file"].startswith("ob_")]
    normal = imported("normal_ob_0823.otlp.jsonl.gz")
    return normal, [(fault, imported(fault["file"])) for fault in labelled]


def halves(directory, cuts=CUTS):
    """The arguments for comparing one recording's first part with its second."""
    whole = program.diff("-d", directory, "--at", "0.001")["periods"]
    known = [period[end] for period in whole for end in ("first", "last") if period[end] is not None]
    length = (max(known) - min(known)) / 1e9
    return [["-d", directory, "--at", f"{share * length:.3f}"] for share in cuts]


def unchanged_runs(work, count):
    """Synthetic runs of operations, cut in the middle."""
    for seed in range(1, count + 1):
        directory = os.path.join(work, f"operations-{seed}")
        program.run(program.SOCKCAP, "synth", "operations", "--seed", seed, "--instances", OPERATIONS, "-d", directory)
        yield halves(directory, (0.5,))[0]


def unchanged_recordings(work, data, normal):
    """Recordings without a known change, each with the arguments for comparing its halves."""
    yield "normal_ob_0823", halves(normal)
    folder = os.path.join(data, "calls")
    for name in sorted(os.listdir(folder)):
        if name in CHANGED_SETS:
            continue
        directory = os.path.join(work, name)
        program.run(program.SOCKCAP, "import", "calls", os.path.join(folder, name, "calls.csv.gz"), "-d", directory)
        yield name, halves(directory)
