"""Requests as sockcap finds them, in a recording of its own and in a trace of perf."""

import glob
import json
import os
from dataclasses import dataclass, field

import program

from workloads import score


@dataclass
class Answer:
    """What sockcap says of a run."""

    found: list
    # Number of a request, and what is unusual about it.
    unusual: dict = field(default_factory=dict)
    # Errors of the model, of 1.
    processor_error: float | None = None
    network_error: float | None = None
    # Share of the processor time of relevant processes that was charged, as it says itself, of 1.
    charged: float | None = None


def of_recording(run):
    """What it finds in what `record --resources` wrote."""
    if not os.path.exists(os.path.join(run.data, "events")):
        program.run(program.SOCKCAP, "reconcile", "--no-config", "-d", run.data)
    return answer("sockcap", run.data, run.pid)


def of_trace(run):
    """What it finds in the same run's trace of perf."""
    data = os.path.join(os.path.dirname(run.perf), "from-perf")
    if not os.path.exists(data):
        program.run(program.SOCKCAP, "import", "perf", run.perf, "--no-config", "-d", data)
    return answer("linux", data, run.pid)


def answer(schema, data, process):
    """What it finds by a schema in the tables of a folder, of requests that this process serves."""
    tables = sorted(glob.glob(os.path.join(data, "events", "*.parquet")))
    return read(json.loads(program.run(program.REQUESTS, "--process", process, schema, *tables)))


def read(said):
    """The answer from its JSON."""
    cluster_of = {of["request"]: of["cluster"] for of in said["members"]}
    found = [score.Found(of["number"], [(seed["time"], seed["thread"]) for seed in of["seeds"]], of["processor_ns"],
                         cluster_of.get(of["number"], -1), of["sent_bytes"], of["disk_bytes"], of["begin"])
             for of in said["requests"]]
    error = said["model"]["error"]["representative"]
    unusual = {number: of["what"] for of in said["model"]["unusual"] for number in of["requests"]}
    charged = said["charged"]
    return Answer(found, unusual, error["processor"], error["network"],
                  charged["requests_ns"] / charged["relevant_ns"] if charged["relevant_ns"] else None)


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
