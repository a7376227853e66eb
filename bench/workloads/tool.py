"""Requests as `sockcap requests` finds them, in a recording of its own and in a trace of perf."""

import json
import os
from dataclasses import dataclass, field

import program

from workloads import score


@dataclass
class Answer:
    """What `sockcap requests` says of a run."""

    found: list
    # Number of a request, and what is unusual about it.
    unusual: dict = field(default_factory=dict)
    # Errors of the model, of 1.
    processor_error: float | None = None
    network_error: float | None = None


def of_recording(run):
    """What it finds in what `record --resources` wrote. Only the first call reconciles."""
    return answer(run.data)


def of_trace(run):
    """What it finds in the same run's trace of perf."""
    data = os.path.join(os.path.dirname(run.perf), "from-perf")
    if not os.path.exists(data):
        program.run(program.SOCKCAP, "import", "perf", run.perf, "-d", data)
    return answer(data)


def answer(data, *options):
    """What it finds in a folder of data."""
    return read(json.loads(program.run(program.SOCKCAP, "requests", "-d", data, "--json", *options)))


def read(said):
    """The answer from its JSON."""
    cluster_of = {request: place for place, cluster in enumerate(said["clusters"]) for request in cluster["requests"]}
    found = [score.Found(of["number"], [(seed["time"], seed["thread"]) for seed in of["seeds"]], of["processor_ns"],
                         cluster_of.get(of["number"], -1), of["sent_bytes"], of["disk_bytes"])
             for of in said["requests"]]
    error = said["model"]["error"]
    return Answer(found, {of["request"]: of["why"] for of in said["unusual"]}, error["processor"], error["network"])


def by_client(asked, found):
    """Each row of the client's table with the request that came over its connection meanwhile, and how many have none."""
    by_port = {}
    for request in found:
        by_port.setdefault(request.port, []).append(request)
    pairs, missed = [], 0
    for row in asked:
        begin, end = int(row["begin"]) - score.SLACK, int(row["end"]) + score.SLACK
        own = [request for request in by_port.get(int(row["port"]), ()) if begin <= request.begin <= end]
        if len(own) == 1:
            pairs.append((row, own[0]))
        else:
            missed += 1
    return pairs, missed
