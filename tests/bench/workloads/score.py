"""Requests that a tool found, compared with the server's own account."""

import bisect
import statistics
from collections import Counter, defaultdict
from dataclasses import dataclass, field

# Maximum distance of a seed from its read, in nanoseconds, after subtracting the difference of the
# clocks.
MAX_SEED_DISTANCE = 50_000
# Distance of a request's processor time from the median of its kind, by the server's own account,
# from which on it counts as disturbed: relative to the median, and in nanoseconds if that is more.
DISTURBED, DISTURBED_NS = 0.1, 50_000


@dataclass
class Found:
    """A request that the tool found. Times in nanoseconds since the Unix epoch."""

    number: int
    # Its first seed event: when and where the request was read.
    seed_time: int
    process: int
    thread: int
    # Number of its seed events.
    seeds: int
    processor_ns: int
    cluster: int = -1
    sent_bytes: int = 0
    received_bytes: int = 0
    disk_bytes: int = 0
    begin: int = 0
    end: int = 0


@dataclass
class Matched:
    """Matches: each account with the request that was found for it."""

    # Account and request.
    pairs: list = field(default_factory=list)
    # Accounts without a found request.
    missed: list = field(default_factory=list)
    # Requests that merge several of the client's, with the first of them.
    merged: list = field(default_factory=list)
    # Accounts with several found requests.
    split: list = field(default_factory=list)
    # Requests that the client never made.
    foreign: list = field(default_factory=list)


def nearest(accounts, ends, time):
    """The account with the read nearest to a time, and its distance: 0 inside. A thread reads
    sequentially, so `accounts`, of one thread, and `ends`, of their reads, are in the same order,
    and none overlap.
    """
    place = bisect.bisect_left(ends, time)
    near = accounts[max(place - 1, 0):place + 1]
    far = [max(of.read_begin - time, time - of.read_end, 0) for of in near]
    return near[far.index(min(far))], min(far)


def matched(accounts, found, shift=None):
    """Matches each account with the request that has its read as first event: on the same thread,
    in order. `shift` is the difference of the clocks, if it is known.
    """
    readers = {of.reader for of in accounts}
    own = {reader: sorted((of for of in accounts if of.reader == reader), key=lambda of: of.read_end) for reader in readers}
    ends = {reader: [of.read_end for of in own[reader]] for reader in readers}
    read = [request for request in found if request.thread in readers]

    def turn(request, shift):
        return nearest(own[request.thread], ends[request.thread], request.seed_time - shift)

    if shift is None and read:
        # The call ends just before the server reads its clock, so that the median difference is
        # that of the clocks.
        shift = statistics.median(request.seed_time - turn(request, 0)[0].read_end for request in read)
    result, requests_of = Matched(), defaultdict(list)
    result.foreign = [request for request in found if request.thread not in readers]
    for request in read:
        of, far = turn(request, shift)
        if far > MAX_SEED_DISTANCE:
            result.foreign.append(request)
        elif request.seeds > 1:
            result.merged.append((request, of))
        else:
            requests_of[of.number].append(request)
    for of in accounts:
        requests = requests_of[of.number]
        if len(requests) == 1:
            result.pairs.append((of, requests[0]))
        else:
            (result.split if requests else result.missed).append(of)
    return result


def charged(run, found):
    """Share of the server's processor time that is charged to the found requests, from 0 to 1."""
    return sum(of.processor_ns for of in found) / run.process_ns


def own_charged(run):
    """Share of the server's processor time that its own account charges to requests, from 0 to 1: as
    much as a recorder of all calls of the server's code could find.
    """
    return sum(of.processor_ns for of in run.accounts) / run.process_ns


def differences(pairs):
    """Relative difference of the found processor time of each request from the server's account."""
    return [request.processor_ns / of.processor_ns - 1 for of, request in pairs if of.processor_ns > 0]


def model_error(found, representatives):
    """Relative errors of the model for processor time and network (Magpie, section 6.1.1): the sum of
    the demands of the found requests, compared with the sum of the demands of their clusters'
    representatives. If the representative belongs to another server, the first request of the
    cluster is used.
    """
    by_number, first = {request.number: request for request in found}, {}
    for request in found:
        first.setdefault(request.cluster, request)
    like = [by_number.get(representatives[request.cluster], first[request.cluster]) if request.cluster >= 0 else request
            for request in found]

    def error(of):
        parsed = sum(map(of, found))
        return abs(sum(map(of, like)) - parsed) / parsed if parsed else None

    return error(lambda request: request.processor_ns), error(lambda request: request.sent_bytes + request.received_bytes)


def stolen(first, second):
    """Numbers of the requests with a processor time on which both recorders agree, and which is a
    tenth more than the server's account: the machine was a guest, and its host took the processor
    while a thread had it.
    """
    other = {of.number: request.processor_ns for of, request in second}
    return {of.number for of, request in first
            if request.processor_ns > (1 + DISTURBED) * of.processor_ns + DISTURBED_NS
            and abs(request.processor_ns - other.get(of.number, 0)) < DISTURBED / 3 * request.processor_ns}


def quantile(values, share):
    """The quantile of the values at this share."""
    values = sorted(values)
    return values[min(int(share * len(values)), len(values) - 1)] if values else float("nan")


def disturbed(accounts):
    """Numbers of the requests with costs that truly differ from their kind's."""
    medians = {kind: statistics.median(of.processor_ns for of in accounts if of.kind == kind)
               for kind in {of.kind for of in accounts}}
    return {of.number for of in accounts
            if of.driver or abs(of.processor_ns - medians[of.kind]) > max(DISTURBED * medians[of.kind], DISTURBED_NS)}


@dataclass
class Clusters:
    """Clusters, by the kinds of their requests."""

    # For each cluster the number of requests by kind, the largest cluster first.
    sizes: list
    # Requests in a cluster with mostly requests of another kind.
    wrong: list
    # Requests in a cluster of their kind that is not its largest.
    extra: list
    # The ones of `wrong` and `extra` that truly were disturbed.
    excused: set

    def shown(self, lower=False):
        """As in the paper: `249A, 250B, 1A`."""
        def letter(kind):
            return kind if lower else kind.upper()

        return ", ".join("+".join(f"{count}{letter(kind)}" for kind, count in of.most_common()) for of in self.sizes)

    @property
    def faults(self):
        """Numbers of the requests in a wrong or extra cluster that were not disturbed."""
        return sorted(set(self.wrong + self.extra) - self.excused)


def clusters(pairs, accounts):
    """Agreement of clusters with kinds. `pairs` are the ones of [`matched`]; disturbance is
    determined from all accounts.
    """
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
    """Share of requests of the most frequent kind of their cluster, from 0 to 1."""
    total = sum(of.total() for of in clusters_found)
    return sum(of.most_common(1)[0][1] for of in clusters_found) / total if total else float("nan")
