"""Requests as a tool found them, held against the server's own account."""

import bisect
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field

# How far the clock of a recording may be from the server's, in nanoseconds.
SLACK = 50_000
# A request whose processor time is this far from the median of its kind, by the server's own account, was disturbed: in
# parts of the median, and in nanoseconds where that is more.
DISTURBED, DISTURBED_NS = 0.1, 1_000_000


@dataclass
class Found:
    """A request as the tool found it. Times in nanoseconds since the Unix epoch."""

    number: int
    # Time and thread of each of its seed events.
    seeds: list
    processor_ns: int
    cluster: int = -1
    sent_bytes: int = 0
    disk_bytes: int = 0
    begin: int = 0
    # Port of the client, where it is known.
    port: int = 0


@dataclass
class Matched:
    """What belongs together: each account with the request that was found for it."""

    # Account and request.
    pairs: list = field(default_factory=list)
    # Accounts for which nothing was found.
    missed: list = field(default_factory=list)
    # Requests in which several of the client's were merged, with these.
    merged: list = field(default_factory=list)
    # Accounts for which several requests were found.
    split: list = field(default_factory=list)
    # Requests that the client never made.
    foreign: list = field(default_factory=list)


def matched(accounts, found):
    """Gives each account the request whose seed event is the call that read it. `accounts` are in order of time."""
    begins = [of.read_begin - SLACK for of in accounts]
    result, requests_of, accounts_of = Matched(), defaultdict(set), defaultdict(set)
    for place, request in enumerate(found):
        for time, thread in request.seeds:
            last = bisect.bisect_right(begins, time) - 1
            # Reads of one thread are in turn, those of several need not be.
            for number in range(last, max(last - 32, -1), -1):
                of = accounts[number]
                if thread in (0, of.reader) and of.read_begin - SLACK <= time <= of.read_end + SLACK:
                    requests_of[number].add(place)
                    accounts_of[place].add(number)
                    break
    for number, of in enumerate(accounts):
        places = requests_of.get(number, ())
        if not places:
            result.missed.append(of)
        elif len(places) > 1:
            result.split.append(of)
        else:
            (place,) = places
            if len(accounts_of[place]) == 1:
                result.pairs.append((of, found[place]))
    for place, request in enumerate(found):
        if place not in accounts_of:
            result.foreign.append(request)
        elif len(accounts_of[place]) > 1:
            result.merged.append((request, [accounts[number] for number in sorted(accounts_of[place])]))
    return result


def charged(run, found):
    """Share of the server's processor time that is charged to the requests that were found, of 1."""
    return sum(of.processor_ns for of in found) / run.process_ns


def own_charged(run):
    """The same by the server's own account: what a recorder that sees all calls of the server's code could find."""
    return sum(of.processor_ns for of in run.accounts) / run.process_ns


def differences(pairs):
    """By how much the found processor time of each request differs from the server's account, in parts of the account."""
    return [request.processor_ns / of.processor_ns - 1 for of, request in pairs if of.processor_ns > 0]


def quantile(values, share):
    """The value below which that share of the values is."""
    values = sorted(values)
    return values[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def disturbed(accounts):
    """Numbers of the requests that truly cost other than their kind does."""
    medians = {kind: statistics.median(of.processor_ns for of in accounts if of.kind == kind)
               for kind in {of.kind for of in accounts}}
    return {of.number for of in accounts
            if of.driver or abs(of.processor_ns - medians[of.kind]) > max(DISTURBED * medians[of.kind], DISTURBED_NS)}


@dataclass
class Clusters:
    """Clusters, by the kinds of their requests."""

    # For each cluster the number of requests by kind, the largest cluster first.
    sizes: list
    # Requests in a cluster of which most are of another kind.
    wrong: list
    # Requests in a cluster of their kind that is not the largest of it.
    extra: list
    # Those of `wrong` and `extra` that truly were disturbed.
    excused: set

    def shown(self):
        """As in the paper: `249A, 250B, 1A`."""
        return ", ".join("+".join(f"{count}{kind.upper()}" for kind, count in of.most_common()) for of in self.sizes)

    @property
    def faults(self):
        """Numbers of requests that are in a wrong or extra cluster without having been disturbed."""
        return sorted(set(self.wrong + self.extra) - self.excused)


def clusters(pairs, accounts):
    """What clusters say of the kinds. `pairs` are of [`matched`]; disturbed is judged from all accounts."""
    members = defaultdict(list)
    for of, request in pairs:
        members[request.cluster].append(of)
    kinds = {cluster: Counter(of.kind for of in inside) for cluster, inside in members.items()}
    order = sorted(kinds, key=lambda cluster: (-kinds[cluster].total(), cluster))
    largest, wrong, extra = {}, [], []
    for cluster in order:
        kind = kinds[cluster].most_common(1)[0][0]
        is_extra = largest.setdefault(kind, cluster) != cluster
        for of in members[cluster]:
            if of.kind != kind:
                wrong.append(of.number)
            elif is_extra:
                extra.append(of.number)
    return Clusters([kinds[cluster] for cluster in order], wrong, extra, disturbed(accounts))


def purity(clusters_found):
    """Share of requests that are of the most frequent kind of their cluster, of 1."""
    total = sum(of.total() for of in clusters_found)
    return sum(of.most_common(1)[0][1] for of in clusters_found) / total if total else float("nan")
