#!/usr/bin/env python3
"""Compares sockcap's spans of the system `traced` with the ones that OpenTelemetry wrote.

usage: traced_spans.py FOLDER...

FOLDER is a kept run (`run.py traced --names --keep DIR`). For each call of a traced service,
sockcap has a span of the callee. It must belong to the trace of OpenTelemetry's span of that call,
and have that span above it.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import harness


def logged(log):
    """The spans that OpenTelemetry wrote to logs of a folder, by their ids."""
    found = {}
    for path in sorted(Path(log).glob("*.log")):
        text, at = path.read_text(errors="replace"), 0
        while (at := text.find('{\n    "name"', at)) >= 0:
            span, at = json.JSONDecoder().raw_decode(text, at)
            number = span["context"]["span_id"].removeprefix("0x")
            found[number] = {
                "trace": span["context"]["trace_id"].removeprefix("0x"),
                "kind": span["kind"],
                "above": (span["parent_id"] or "").removeprefix("0x"),
            }
    return found


def exported(data):
    """The spans that sockcap exports."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "spans"
        command = [harness.program("sockcap"), "export", "otlp", "--no-config", "-d", str(data)]
        subprocess.run([*command, "-o", str(out)], check=True, capture_output=True)
        lines = out.read_text().splitlines()
    for line in filter(None, lines):
        for resource in json.loads(line).get("resourceSpans", []):
            for scope in resource.get("scopeSpans", []):
                yield from scope.get("spans", [])


def compared(otel_spans, sockcap_spans):
    """How many of OpenTelemetry's calls have a span of sockcap's below them, in the same trace."""
    counts = Counter(calls=sum(span["kind"].endswith("CLIENT") for span in otel_spans.values()))
    below = set()
    for span in sockcap_spans:
        above = span.get("parentSpanId", "")
        if above not in otel_spans:
            continue
        counts["refer"] += 1
        is_same = span["traceId"] == otel_spans[above]["trace"]
        counts["same trace" if is_same else "other trace"] += 1
        if otel_spans[above]["kind"].endswith("CLIENT") and is_same:
            below.add(above)
        else:
            counts["not of a call"] += 1
    counts["calls with a span below"] = len(below)
    return counts


def main():
    """Compares the spans of all given runs."""
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[2])
    failed = False
    for folder in map(Path, sys.argv[1:]):
        counts = compared(logged(folder / "log"), exported(folder / "data"))
        found, other = counts["calls with a span below"], counts["other trace"]
        print(f"{folder.name}: {found} of {counts['calls']} calls have a span below; "
              f"{counts['refer']} spans refer to OpenTelemetry's, {other} in another trace, "
              f"{counts['not of a call']} to what is no call")
        failed |= found != counts["calls"] or other > 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
