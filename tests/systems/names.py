"""sockcap's operations of messages, compared with the servers' own logs.

A run with `--names` records the heads of messages, and its servers log. `sockcap names` then turns
the heads into names, and reconciliation assigns them to messages. Requests and responses are
paired here: by the ids of their calls, and without ids in the order of their connection.
"""

import csv
import io
import json
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import harness
import wire


def table(data, name):
    """The rows of a table, as `sockcap export` writes it."""
    command = [harness.program("sockcap"), "export", name, "--no-config", "-d", str(data)]
    done = subprocess.run([*command, "--format", "csv"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"sockcap export {name} failed: {done.stderr.strip()}")
    return csv.DictReader(io.StringIO(done.stdout))


def recorded_names(data):
    """By port of the server, how often each name had each status."""
    places = {}
    for row in table(data, "messages"):
        places[row["id"]] = (row["flow"], row["direction"], row["src_endpoint"], row["dst_endpoint"])
    requests = defaultdict(list)
    responses = defaultdict(list)
    for row in table(data, "operations"):
        flow, _, source, target = places[row["message"]]
        # The response to a request for TLS is a single byte, which could begin anything and is not
        # kept.
        if row["name"] == "TLS":
            continue
        if row["role"] == "request":
            requests[flow, source, target, row["call_id"]].append(row["name"])
        elif row["role"] == "response":
            responses[flow, target, source, row["call_id"]].append(row["status"])
    found = defaultdict(Counter)
    for key, names in requests.items():
        port = int(key[2].rpartition(":")[2] or 0) if ":" in key[2] else 0
        statuses = responses.get(key, [])
        statuses += [None] * (len(names) - len(statuses))
        found[port].update(zip(names, statuses))
    return found


def files_with_ids(data):
    """Paths of the files below a folder that contain an id of a request."""
    files = (path for path in Path(data).rglob("*") if path.is_file())
    return [str(path.relative_to(data)) for path in files if wire.ID.search(path.read_bytes())]


def score(system, folder):
    """A row for each port with a log: how many requests, how many named correctly, and what is
    wrong.
    """
    data = Path(folder) / "data"
    command = [harness.program("sockcap"), "names", "--no-config", "-d", str(data)]
    subprocess.run(command, check=True, capture_output=True)
    about = json.loads((Path(folder) / "run.json").read_text())
    found = recorded_names(data)
    rows = []
    for name, logged in system.logged_requests(Path(folder) / "log").items():
        had = logged.known(found[about["ports"][name]])
        rows.append({
            "system": about["system"],
            "concurrency": about["concurrency"],
            "port": name,
            "requests": logged.pairs.total(),
            "right": (logged.pairs & had).total(),
            "least": logged.least,
            "missing": sorted(map(repr, (logged.pairs - had).items())),
            "wrong": sorted(map(repr, (had - logged.pairs).items())),
        })
    left = files_with_ids(data)
    if left:
        raise RuntimeError(f"ids that clients sent are in {', '.join(left[:5])}")
    return rows
