//! The trace event format of Chrome: JSON that `chrome://tracing`, Perfetto and Speedscope open. A
//! node is a process of the format, a lane of a node is a thread, and a span is an event with a
//! duration. An arrow leads to each span from its parent.
//!
//! Times are microseconds since the first event, with three decimals for the nanoseconds.
//! Microseconds since 1970 with decimals do not fit into a JavaScript number. The time of the first
//! event is in `otherData`.

use std::io::Write;

use analyze::calls::windows::Party;
use clap::Args;
use registry::{EntryHelp, Spec};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{SelectionFlags, read_flags};
use crate::traces::names::{call_name, node_description};
use crate::traces::{
    CallOperation, ExportedSpan, OperationLookup, SpanSide, SpanWriter, TraceChoice, lanes,
    write_traces,
};

/// The entry in the registry.
pub(crate) static CHROME: ExporterSpec = Spec {
    about: EntryHelp {
        name: "chrome",
        summary: "Traces as Chrome's trace events",
        ..EntryHelp::NOTHING
    },
    flags: SelectionFlags::augment_args,
    entry: ExporterEntry {
        opened_by: "chrome://tracing, Perfetto, Speedscope",
        make: |given| {
            let traces = read_flags::<SelectionFlags>(given)?.into();
            Ok(Box::new(ChromeExporter { traces }))
        },
    },
};

/// An exporter of traces as trace events of Chrome, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChromeExporter {
    /// The traces to export.
    pub traces: TraceChoice,
}

impl Exporter for ChromeExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let operations = OperationLookup::read_operations(source.data)?;
        let mut writer = TraceEventWriter::new(&mut *output.writer, &operations);
        write_traces(source, self.traces, &mut writer).map(Some)
    }
}

/// A writer of spans as trace events.
struct TraceEventWriter<'a, W> {
    out: W,
    operations: &'a OperationLookup,
    lanes: lanes::SpanLanes,
    /// The time of the first event, in nanoseconds since the Unix epoch; all times are relative to
    /// it.
    begin: Option<i64>,
    /// For each node, whether its process has a name already.
    named: Vec<bool>,
}

impl<'a, W: Write> TraceEventWriter<'a, W> {
    /// A writer to `out`, with nothing written yet.
    fn new(out: W, operations: &'a OperationLookup) -> TraceEventWriter<'a, W> {
        let lanes = lanes::SpanLanes::default();
        TraceEventWriter { out, operations, lanes, begin: None, named: Vec::new() }
    }

    /// Writes an event on a line of its own.
    fn write_event(&mut self, event: &Value) -> Result<(), Error> {
        self.out.write_all(b",\n")?;
        Ok(serde_json::to_writer(&mut self.out, event).map_err(std::io::Error::from)?)
    }

    fn write_header(&mut self, begin: i64) -> Result<(), Error> {
        write!(
            self.out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"producer\":\"sockcap {}\",",
            env!("CARGO_PKG_VERSION")
        )?;
        writeln!(self.out, "\"first_event_unix_ns\":\"{begin}\"}},\"traceEvents\":[")?;
        // An empty metadata event, so that every later event can begin with a comma.
        self.out.write_all(br#"{"args":{},"name":"sockcap","ph":"M","pid":0}"#)?;
        self.begin = Some(begin);
        Ok(())
    }

    /// Names the process of a node when the node first occurs.
    fn name_process(&mut self, place: usize, parties: &[Party]) -> Result<(), Error> {
        if self.named.len() <= place {
            self.named.resize(place + 1, false);
        }
        if std::mem::replace(&mut self.named[place], true) {
            return Ok(());
        }
        let name = parties.get(place).map(node_description).unwrap_or_default();
        self.write_event(
            &json!({"ph": "M", "pid": place + 1, "name": "process_name", "args": {"name": name}}),
        )
    }
}

impl<W: Write> SpanWriter for TraceEventWriter<'_, W> {
    fn write_spans(&mut self, spans: &[ExportedSpan<'_>], parties: &[Party]) -> Result<(), Error> {
        let Some(first) = spans.first() else { return Ok(()) };
        if self.begin.is_none() {
            self.write_header(first.start)?;
        }
        let begin = self.begin.unwrap_or_default();
        let time = |at: i64| to_microseconds(at.saturating_sub(begin));
        // The position of each drawn span by its id. Arrows begin in the parent.
        let mut drawn: FxHashMap<u64, (usize, usize, &ExportedSpan<'_>)> = FxHashMap::default();
        for span in spans {
            let lane = self.lanes.place_span(span);
            let (pid, tid) = (
                span.party_index() + 1,
                2 * lane.number + 1 + usize::from(span.side == SpanSide::Caller),
            );
            self.name_process(span.party_index(), parties)?;
            if lane.is_new {
                let name = lanes::lane_name(span.side, lane.number);
                self.write_event(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}))?;
            }
            let operation = self.operations.operation_of_call(span.call);
            self.write_event(&json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": time(span.start),
                "dur": to_microseconds(span.end.saturating_sub(span.start)),
                "cat": "call", "name": call_name(span.call, parties, &operation),
                "args": span_arguments(span, parties, &operation),
            }))?;
            if let Some((from_pid, from_tid, above)) =
                span.parent.and_then(|parent| drawn.get(&parent))
            {
                // The arrow begins within the parent, even if clocks are off or the parent ends
                // earlier.
                let at = span.start.min(above.end.saturating_sub(1)).max(above.start);
                let id = format!("{:016x}", span.id);
                let ends = [("s", at, *from_pid, *from_tid), ("f", span.start, pid, tid)];
                for (phase, at, pid, tid) in ends {
                    let mut arrow = json!({"ph": phase, "id": id, "cat": "cause", "name": "cause"});
                    arrow["pid"] = pid.into();
                    arrow["tid"] = tid.into();
                    arrow["ts"] = time(at);
                    if phase == "f" {
                        arrow["bp"] = "e".into();
                    }
                    self.write_event(&arrow)?;
                }
            }
            drawn.insert(span.id, (pid, tid, span));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.begin.is_none() {
            self.write_header(0)?;
        }
        self.out.write_all(b"\n]}\n")?;
        Ok(self.out.flush()?)
    }
}

fn span_arguments(
    span: &ExportedSpan<'_>,
    parties: &[Party],
    operation: &CallOperation<'_>,
) -> Value {
    let call = span.call;
    let known = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let all = json!({
        "call": call.number,
        "parent_call": call.parent.map(|parent| parent.call),
        "trace": format!("{:032x}", span.trace_number()),
        "probability": call.probability,
        "peer": parties.get(span.peer_index()).map(node_description),
        "request_bytes": call.request.map(|request| request.bytes),
        "response_bytes": call.response.map(|response| response.bytes),
        "protocol": call.protocol.name(),
        "spoken": known(operation.protocol()),
        "statement": known(operation.request.map_or("", |request| request.detail)),
        "status": known(operation.status()),
        "error": operation.is_error(span.side).then_some(true),
    });
    match all {
        Value::Object(all) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

/// Nanoseconds as microseconds. The number is exact for traces of up to several months.
fn to_microseconds(nanoseconds: i64) -> Value {
    json!(nanoseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};
    use proptest::prelude::*;
    use test_support::assert_golden;

    fn chrome(web: &str, operations: &OperationLookup) -> String {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let mut chrome = TraceEventWriter::new(&mut out, operations);
        chrome.write_spans(&spans::spans_of_calls(&calls), &testing::parties(web)).unwrap();
        chrome.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_events_of_a_small_trace() {
        assert_golden!("chrome.json", &chrome("web", &OperationLookup::default()));
        let operations = testing::operation_lookup(testing::operation_rows());
        assert_golden!("chrome-operations.json", &chrome("web", &operations));
    }

    #[test]
    fn arrows_begin_within_drawn_spans_and_an_empty_trace_is_valid() {
        let text: Value =
            serde_json::from_str(&chrome("web", &OperationLookup::default())).unwrap();
        let events = text["traceEvents"].as_array().unwrap();
        let of = |phase: &str| {
            events.iter().filter(|event| event["ph"] == phase).cloned().collect::<Vec<_>>()
        };
        let (spans, begins, ends) = (of("X"), of("s"), of("f"));
        assert_eq!((spans.len(), begins.len(), ends.len()), (8, 6, 6));
        for arrow in begins.iter().chain(&ends) {
            let at = arrow["ts"].as_f64().unwrap();
            let holds = |span: &&Value| {
                let start = span["ts"].as_f64().unwrap();
                span["pid"] == arrow["pid"]
                    && span["tid"] == arrow["tid"]
                    && (start..=start + span["dur"].as_f64().unwrap()).contains(&at)
            };
            assert_eq!(spans.iter().filter(holds).count(), 1, "{arrow}");
        }
        let mut out = Vec::new();
        TraceEventWriter::new(&mut out, &OperationLookup::default()).finish().unwrap();
        let none: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(none["traceEvents"].as_array().unwrap().len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_with_any_characters_are_read_back(name in any::<String>()) {
            for name in [name.as_str(), testing::HOSTILE] {
                let text = chrome(name, &OperationLookup::default());
                let text: Value = serde_json::from_str(&text).unwrap();
                let events = text["traceEvents"].as_array().unwrap();
                let wanted = format!("{name}:80");
                prop_assert!(events.iter().any(|event| event["name"] == wanted));
            }
        }
    }
}
