"""Requests that `sockcap requests` finds, in its own recording and in a trace of perf."""

import csv
import io
import json
import os
from dataclasses import dataclass, field

import program

from workloads import score


@dataclass
class Answer:
    """sockcap's results of a run."""

    found: list
    # Number of a request, and the description of what is unusual about it.
    unusual: dict = field(default_factory=dict)
    # For each cluster, by its number, the number of its representative request.
    representatives: list = field(default_factory=list)
    # Share of the processor time of all processes with requests that was charged, according to
    # sockcap, from 0 to 1.
    charged: float | None = None
    # Number of intervals of the event join that would have merged two requests.
    conflicts: int = 0
    # For each cluster, by its number, the mean distance of its members from the centre, and the
    # distance of the nearest other centre.
    shapes: list = field(default_factory=list)


def find_in_recording(run):
    """Results for the events that `record --resources` wrote."""
    return answer(run.data, run.pid, "--schema", "sockcap")


def find_in_paths(run):
    """Results for the paths of the same recording, as `sockcap report` shows them."""
    return answer(run.data, run.pid)


def find_in_trace(run):
    """Results for the same run's trace of perf."""
    data = os.path.join(os.path.dirname(run.perf), "from-perf")
    if not os.path.exists(data):
        program.run(program.SOCKCAP, "import", "perf", run.perf, "--no-config", "-d", data)
    return answer(data, run.pid, "--schema", "linux")


def answer(data, process=None, *options):
    """Results for a data directory. With `process`, only the requests that this process began to
    serve."""
    command = [program.SOCKCAP, "requests", "--no-config", "-d", data, *options]
    report = json.loads(program.run(*command, "--json"))
    rows = csv.DictReader(io.StringIO(program.run(*command, "--format", "csv")))
    found = [found_from_row(row) for row in rows if process is None or int(row["process"]) == process]
    return Answer(found, {number: of["what"] for of in report["unusual"] for number in of["requests"]},
                  [of["representative"] for of in report["clusters"]], report["charged_share"],
                  (report["join"] or {}).get("conflicts", 0),
                  [(of["mean_distance"], of["separation"]) for of in report["clusters"]])


def found_from_row(row):
    """The request in a row of the table that `sockcap requests` writes."""
    number = {name: int(value or 0) for name, value in row.items() if name not in ("name", "cluster", "distance", "whole")}
    return score.Found(number["request"], number["seed_time"], number["process"], number["thread"], number["seeds"],
                       number["processor_ns"], int(row["cluster"] or -1), number["sent_bytes"], number["received_bytes"],
                       number["disk_read_bytes"] + number["disk_written_bytes"], number["begin"], number["end"])
