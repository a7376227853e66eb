"""Tables 6 and 7: clusters of a web server with PostgreSQL, end to end, by the type of transaction.
"""

import os
import shutil
import statistics
from dataclasses import dataclass

from workloads import score, tool
from workloads.shown import milliseconds, percent, table
from workloads.tiers import run as tiers


@dataclass
class Experiment:
    """The requests, the number of clients, and the paper's results, end to end."""

    number: str
    name: str
    mix: str
    clients: int
    requests: int
    clusters: str


EXPERIMENTS = (
    Experiment("5.1", "book", "k", 1, 500, "408+92"),
    Experiment("5.2", "log on", "l", 1, 500, "497+2+1 (one tier)"),
    Experiment("5.3", "categories", "g", 1, 500, "444+26+29+1"),
    Experiment("5.4", "the three mixed", "kgl", 1, 500, "138L+1B, 220B, 55C, 47C, 14C, 10 of 25C"),
    Experiment("Table 7", "orders, as in TPC-C", tiers.ORDERS, 10, 1500,
               "620p+100v+30o+1n, 329n+56d+7o, 266n+30o+3p+3d, 30s, 21s"),
)


def shape(shapes):
    """The figures that the paper gives for clusters: the width of the widest cluster, and the
    distance of the two nearest clusters.
    """
    apart = [separation for _, separation in shapes if separation is not None]
    return f"{max(wide for wide, _ in shapes):.1f}", f"{min(apart):.1f}" if apart else ""


def show(work, arguments):
    rows, demands = [], []
    for experiment in EXPERIMENTS:
        if arguments.only and experiment.number not in arguments.only:
            continue
        name = f"tiers-{experiment.number.replace(' ', '-')}"
        of = tiers.run(work, name, experiment.mix, experiment.clients, experiment.requests)
        answer = tool.answer(of.data)
        # Some requests belong to the servers' start.
        servers = {account.reader for account in of.accounts}
        result = score.matched(of.accounts, [request for request in answer.found if request.process in servers], shift=0)
        found = score.clusters(result.pairs, of.accounts)
        lost = [("missed", result.missed), ("split", result.split), ("merged", result.merged), ("foreign", result.foreign)]
        rows.append([experiment.number, experiment.name, experiment.clients, percent(answer.charged), len(result.pairs),
                     ", ".join(f"{len(requests)} {what}" for what, requests in lost if requests),
                     experiment.clusters, found.shown(lower=True), percent(score.purity(found.sizes)), *shape(answer.shapes),
                     percent(score.model_error([request for _, request in result.pairs], answer.representatives)[0], 2)])
        for kind in sorted(set(experiment.mix)) if len(set(experiment.mix)) > 1 else ():
            own = [request for account, request in result.pairs if account.kind == kind]
            if own:
                demands.append([experiment.number, tiers.NAMES[kind], len(own),
                                milliseconds(statistics.median(one.processor_ns for one in own)),
                                round(statistics.median(one.disk_bytes for one in own)),
                                round(statistics.median(one.sent_bytes for one in own))])
        if not arguments.keep:
            shutil.rmtree(os.path.join(work, name), ignore_errors=True)
    table(("no", "requests", "clients", "charged", "matched", "others", "paper: clusters", "clusters", "purity", "widest",
           "nearest", "error: processor"), rows)
    table(("no", "type", "requests", "processor, median", "bytes of files", "bytes sent"), demands)
