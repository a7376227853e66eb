"""Tables 6 and 7: clusters of a web server with PostgreSQL, end to end, by the type of transaction."""

import os
import shutil
import statistics
from collections import Counter, defaultdict

from workloads import score, tool
from workloads.shown import milliseconds, percent, table
from workloads.tiers import run as tiers

# What the paper finds: of its Table 6 (end to end), and of its Table 7.
PAPER = {"books": "138L+1B, 220B, 55C, 47C, 14C, 10 of 25C",
         "orders": "620p+100v+30o+1n, 329n+56d+7o, 266n+30o+3p+3d, 30s, 21s"}


def sizes(pairs):
    """For each cluster, the largest first, how many of its requests are of which type."""
    members = defaultdict(Counter)
    for row, request in pairs:
        members[request.cluster][row["kind"]] += 1
    return sorted(members.values(), key=lambda of: -of.total())


def show(work, arguments):
    rows, demands = [], []
    for name, mix in tiers.MIXES.items():
        for clients in (1, 10):
            of = tiers.run(work, f"tiers-{name}-{clients}", mix, clients, 500 if name == "books" else 1500)
            answer = tool.answer(of.data)
            pairs, missed = tool.by_client(of.asked, answer.found)
            found = sizes(pairs)
            shown = ", ".join("+".join(f"{count}{kind}" for kind, count in one.most_common()) for one in found)
            rows.append([name, clients, len(pairs), missed, PAPER[name], shown, len(found), percent(score.purity(found))])
            if clients == 1:
                for kind in sorted(set(mix)):
                    own = [request for row, request in pairs if row["kind"] == kind]
                    if own:
                        demands.append([name, tiers.NAMES[kind], len(own),
                                        milliseconds(statistics.median(one.processor_ns for one in own)),
                                        round(statistics.median(one.disk_bytes for one in own)),
                                        round(statistics.median(one.sent_bytes for one in own))])
            if not arguments.keep:
                shutil.rmtree(os.path.join(work, f"tiers-{name}-{clients}"))
    table(("mixture", "clients", "matched", "missed", "paper", "clusters", "number", "purity"), rows)
    table(("mixture", "type", "requests", "processor, median", "bytes of files", "bytes sent"), demands)
