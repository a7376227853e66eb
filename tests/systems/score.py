"""Score of a kept run: sockcap's result for each call, compared with the ids on the wire."""

import bisect
import csv
import io
import itertools
import json
import shlex
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import harness
import wire

# Maximum time by which a packet may seem older than the call that sent it. sockcap reads the clock
# before the system call, and the packet is timed later by the same clock, which may differ a little
# between two processors.
SLACK_NS = 1_000


def analyzed(folder, options=""):
    """The calls and patterns that sockcap finds in a new analysis of a run's recording."""
    data = Path(folder) / "data"
    for made in data.iterdir():
        if made.is_file() and made.name not in ("aliases", "sockcap.toml"):
            made.unlink()

    def sockcap(*words):
        command = [harness.program("sockcap"), *words, "--no-config", "-d", str(data)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"sockcap {words[0]} failed: {done.stderr.strip()}")
        return done.stdout

    sockcap("reconcile")
    sockcap("analyze", *shlex.split(options))
    calls = list(csv.DictReader(io.StringIO(sockcap("export", "calls", "--format", "csv"))))
    return calls, json.loads(sockcap("report", "--json"))["patterns"]


class Truth:
    """The exchanges on the wire with known ids, and the call of each."""

    def __init__(self, folder):
        self.about = json.loads((Path(folder) / "run.json").read_text())
        self.names = {number: name for name, number in self.about["ports"].items()}
        ports = self.about["ports"]

        def numbers(use):
            return {ports[name] for name in self.about.get(use, ())}

        self.entry = numbers("entry")
        self.multiplexed = numbers("multiplexed")
        per_request = numbers("per_request")
        deliveries = numbers("deliveries")
        marked = numbers("marked")
        packets = Path(folder) / "lo.pcap"
        seen = wire.connections(packets, set(ports.values()), self.multiplexed, marked)
        self.by_flow = defaultdict(list)
        self.id_of = {}
        for connection in seen:
            all_ids = connection.ids()
            has_one_id = port_of(connection.server) in per_request and len(all_ids) == 1
            for exchange in connection.exchanges:
                is_delivery = port_of(connection.server) in deliveries
                ids = exchange.request_ids if is_delivery else all_ids if has_one_id else exchange.ids()
                if len(ids) == 1:
                    self.id_of[id(exchange)] = next(iter(ids))
                ends = (connection.client, connection.server)
                self.by_flow[ends].append(exchange)
                if connection.turned:
                    # The server's data responds to the connection setup, or is a message by itself.
                    self.by_flow[ends[::-1]].append(exchange)
        for exchanges in self.by_flow.values():
            exchanges.sort(key=lambda exchange: exchange.start)
        self.connections = seen

    def known(self):
        """All exchanges with a known id, with the id, whether it is at an entry port, and its port.
        """
        for connection in self.connections:
            for exchange in connection.exchanges:
                if (found := self.id_of.get(id(exchange))) is not None:
                    server = port_of(exchange.connection.server)
                    yield exchange, found, server in self.entry, self.names[server]

    def match(self, calls):
        """The exchange of each call, by the number of the call, and the number of calls that could not
        be matched because they merge several requests.
        """
        matched = {}
        mixed = 0
        flows = defaultdict(list)
        for call in calls:
            flows[call["src_endpoint"], call["dst_endpoint"]].append(call)
        for flow, of_flow in flows.items():
            exchanges = self.by_flow.get(flow)
            if not exchanges:
                continue
            starts = [exchange.start for exchange in exchanges]
            streams = {exchange.stream: exchange for exchange in exchanges}
            for call in of_flow:
                # A call with an unrecorded sender has the time of its receipt, shortly after.
                if not call["request_send"] and call.get("request_recv"):
                    begun = bisect.bisect_right(starts, int(call["request_recv"]) + SLACK_NS)
                    if begun > 0 and port_of(flow[1]) not in self.multiplexed:
                        matched[call["call_id"]] = exchanges[begun - 1]
                # An HTTP/2 id is the number of its connection, and that of the stream.
                stream = call["call_id"].partition("/")[2]
                if stream.isdigit() and int(stream) in streams:
                    matched[call["call_id"]] = streams[int(stream)]
            of_flow = [
                call for call in of_flow if call["request_send"] and call["call_id"] not in matched
            ]
            of_flow.sort(key=lambda call: int(call["request_send"]))
            if port_of(flow[1]) in self.multiplexed:
                if by_place := matched_by_place(of_flow, exchanges):
                    matched.update(by_place)
                    continue
            together = [
                (begin - SLACK_NS, list(group))
                for begin, group in itertools.groupby(of_flow, lambda call: int(call["request_send"]))
            ]
            ends = [begin for begin, _ in together[1:]] + [2**63]
            for (begin, group), end in zip(together, ends):
                low, high = bisect.bisect_left(starts, begin), bisect.bisect_left(starts, end)
                between = exchanges[low:high]
                if len(group) > 1 and len(group) == len(between):
                    # One packet had several requests, and each is a call.
                    matched.update(zip((call["call_id"] for call in group), between))
                    continue
                call = group[-1]
                mixed += len(group) - 1
                several = len({self.id_of.get(id(one)) for one in between}) > 1
                if several and str(between[0].size) != call["request_bytes"]:
                    # The call merges several requests, so it matches none of them. If it is only as
                    # long as the first request, it matches this one, and the calls of the other
                    # requests are missing.
                    mixed += 1
                elif between:
                    matched[call["call_id"]] = between[0]
                elif low > 0 and port_of(flow[1]) not in self.multiplexed:
                    # A later part of an exchange that began before.
                    if begin <= exchanges[low - 1].sent:
                        matched[call["call_id"]] = exchanges[low - 1]
        return matched, mixed


def matched_by_place(calls, exchanges):
    """The exchange of each call of a connection by its number, matched by the position of their
    bytes.

    The kernel may put data that was written at different times into one packet, so that times are
    useless. Calls and exchanges are both in order. The first calls may be older than the capture of
    packets. If the sizes of the others differ anywhere, some are missing, and nothing is matched.
    """
    last = calls[-len(exchanges) :] if exchanges else []
    sizes = [str(exchange.size) for exchange in exchanges]
    if [call["request_bytes"] for call in last] != sizes:
        return {}
    return {call["call_id"]: exchange for call, exchange in zip(last, exchanges)}


def port_of(endpoint):
    """The port of `address:port`, or None for any other endpoint."""
    number = endpoint.rpartition(":")[2]
    return int(number) if number.isdigit() else None


def score(folder, options=""):
    """All figures of a kept run."""
    return score_calls(Truth(folder), *analyzed(folder, options))


def score_calls(truth, calls, patterns):
    """All figures of the calls and patterns that sockcap found."""
    matched, mixed = truth.match(calls)
    by_number = {call["call_id"]: call for call in calls}
    ids = {number: truth.id_of.get(id(exchange)) for number, exchange in matched.items()}

    def above(call):
        """The id of the nearest call above with a known id, or None, and the combined probability
        of all links up to it.
        """
        sure = 1.0
        for _ in range(1000):
            sure *= float(call["probability"] or 0)
            call = by_number.get(call["parent_call_id"])
            if call is None:
                break
            if ids.get(call["call_id"]) is not None:
                return ids[call["call_id"]], sure
        return None, sure

    had = defaultdict(list)
    broken = set()
    sure = Counter()
    wrong = Counter()
    for call in calls:
        number = call["call_id"]
        own = ids.get(number)
        if own is None:
            continue
        parent, probability = above(call)
        had[id(matched[number])].append(parent == own)
        entering = port_of(call["dst_endpoint"]) in truth.entry
        if parent not in (None, own):
            # A foreign call spoils the request to which it was attributed.
            broken.add(parent)
        if entering:
            # An entering request has no parent call, so it is right if it has no parent.
            had[id(matched[number])][-1] = parent is None
        elif parent != own:
            kind = "no parent" if not call["parent_call_id"] else "another request's"
            kind = "parent of no known request" if kind[0] == "a" and parent is None else kind
            wrong[f"{call['caller']} -> {call['callee']}: {kind}"] += 1
        if not entering and parent is not None and probability >= 0.9:
            sure["all"] += 1
            sure["right"] += parent == own

    hops = defaultdict(Counter)
    requests = set()
    for exchange, own, entering, name in truth.known():
        results = had.get(id(exchange), [])
        right = bool(results) and all(results)
        if entering:
            requests.add(own)
        if not right:
            broken.add(own)
        # Numbered ports, such as FTP's for files, are one hop together.
        name = name.rstrip("0123456789")
        hops[name].update(known=1, had=int(bool(results)), right=int(right), entering=int(entering))

    reversed_calls = sum(
        (call["dst_endpoint"], call["src_endpoint"]) in truth.by_flow for call in calls
    )
    inner = [hop for hop in hops.values() if not hop["entering"]]
    total = {key: sum(hop[key] for hop in inner) for key in ("known", "had", "right")}
    entering = [
        one for one in patterns
        if one["hops"][0]["dst_port"] in {str(number) for number in truth.entry}
    ]
    counts = [one["count"] for one in entering]
    about = truth.about
    return {
        "system": about["system"],
        "concurrency": about["concurrency"],
        "per_second": round(about["requests"] / about["seconds"], 1),
        "calls_known": total["known"],
        "calls_had": total["had"],
        "calls_right": total["right"],
        "requests": len(requests),
        "requests_right": len(requests - broken),
        "sure": sure["all"],
        "sure_right": sure["right"],
        "patterns": len(entering),
        "patterns_all": len(patterns),
        "largest": max(counts, default=0) / max(sum(counts), 1),
        "calls_exported": len(calls),
        "calls_mixed": mixed,
        "calls_reversed": reversed_calls,
        "hops": {name: dict(hop) for name, hop in hops.items()},
        "wrong": dict(wrong.most_common()),
    }
