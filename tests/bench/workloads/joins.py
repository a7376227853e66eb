"""The join of a synthetic stream of events: time and memory."""

import os
import re

import program

from workloads.shown import table

SPEED = os.path.join(program.TARGET, "release", "examples", "join_speed")


def show(work, arguments):
    """Joins the paper's 1.2 million events, and more."""
    rows = []
    for millions, paper, target in ((1.2, "5.6 s, 10 MB", "0.5 s, 10 MB"), (arguments.events, "", "the same memory")):
        outputs = [program.run(SPEED, int(millions * 1e6)) for _ in range(3 if millions < 5 else 1)]
        found = [re.search(r"(\d+) events, (\d+) requests of (\d+) events: ([\d.]+) s, VmHWM:\s+(\d+) kB", of).groups() for of in outputs]
        events, requests, joined, seconds, peak = min(found, key=lambda of: float(of[3]))
        rows.append([f"{int(events):,}", f"{int(requests):,}", f"{int(joined) / int(requests):.0f}", paper, target,
                     f"{seconds} s", f"{int(peak) / 1024:.1f} MB"])
    table(("events", "requests", "events of one", "paper", "target", "processor time", "peak of memory"), rows)
