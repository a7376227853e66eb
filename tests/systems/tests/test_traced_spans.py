"""Tests of comparing sockcap's spans with OpenTelemetry's."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import traced_spans  # noqa: E402

LOG = """Serving
{
    "name": "GET",
    "context": {"trace_id": "0x0a", "span_id": "0x01"},
    "kind": "SpanKind.CLIENT",
    "parent_id": "0x02"
}
{
    "name": "GET /order/<name>",
    "context": {"trace_id": "0x0a", "span_id": "0x02"},
    "kind": "SpanKind.SERVER",
    "parent_id": null
}
done
"""


class Spans(unittest.TestCase):
    """Spans of a log, and references to them."""

    def setUp(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "shop.log").write_text(LOG)
            self.otel_spans = traced_spans.logged(folder)

    def test_spans_are_found_among_other_lines(self):
        call = {"trace": "0a", "kind": "SpanKind.CLIENT", "above": "02"}
        self.assertEqual(self.otel_spans["01"], call)
        self.assertEqual(self.otel_spans["02"]["above"], "")

    def test_a_span_is_below_the_call_of_its_own_trace(self):
        below = {"traceId": "0a", "parentSpanId": "01"}
        found = traced_spans.compared(self.otel_spans, [below, {"traceId": "0b"}])
        counts = [found[name] for name in ("calls", "calls with a span below", "refer")]
        self.assertEqual(counts, [1, 1, 1])

    def test_other_traces_and_spans_that_are_no_calls_do_not_count(self):
        others = [{"traceId": "0b", "parentSpanId": "01"}, {"traceId": "0a", "parentSpanId": "02"}]
        found = traced_spans.compared(self.otel_spans, others)
        self.assertEqual((found["calls with a span below"], found["other trace"]), (0, 1))
        self.assertEqual(found["not of a call"], 2)


if __name__ == "__main__":
    unittest.main()
