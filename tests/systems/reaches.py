#!/usr/bin/env python3
"""How many calls sockcap leads back to the entry of their request: one path from end to end.

usage: reaches.py [--options OPTIONS] DIR...

DIR is a kept run (run.py --keep). run.py tests whether the nearest call above belongs to the same
request; here every call above must lead on, up to the call with the same id at the port where
requests enter. This matters for a job queue or a mail server: a worker's calls belong to the
request that left the job.
"""

import argparse
from collections import Counter

import score
import table


def entry_above(call, by_number, truth):
    """The topmost call above, if it is at an entry port; otherwise None."""
    for _ in range(1000):
        above = by_number.get(call["parent_call_id"])
        if above is None:
            entered = score.port_of(call["dst_endpoint"]) in truth.entry
            return call["call_id"] if entered else None
        call = above
    return None


def count_reached(folder, options):
    """The facts of a run, and for each caller and port the number of calls with a known id, and of
    calls that lead back to the entry of the request with their id.
    """
    truth = score.Truth(folder)
    calls, _ = score.analyzed(folder, options)
    matched, _ = truth.match(calls)
    ids = {number: truth.id_of.get(id(exchange)) for number, exchange in matched.items()}
    by_number = {call["call_id"]: call for call in calls}
    counts = Counter()
    for call in calls:
        own = ids.get(call["call_id"])
        port = score.port_of(call["dst_endpoint"])
        if own is None or port in truth.entry:
            continue
        hop = f"{call['caller']} -> {truth.names.get(port, call['callee'])}"
        counts[hop, "known"] += 1
        top = entry_above(call, by_number, truth)
        counts[hop, "reached"] += top is not None and ids.get(top) == own
    return truth.about, counts


def main():
    """Prints a table with a row for each kind of call of each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--options", default="", help="options for `sockcap analyze`")
    arguments = parser.parse_args()
    rows = []
    for folder in arguments.folders:
        about, counts = count_reached(folder, arguments.options)
        for hop in dict.fromkeys(hop for hop, _ in counts):
            known = counts[hop, "known"]
            led = table.share(counts[hop, "reached"], known)
            rows.append((about["system"], about["concurrency"], hop, known, led))
    print(table.markdown(("system", "at once", "call", "known", "lead back to their entry"), rows))


if __name__ == "__main__":
    main()
