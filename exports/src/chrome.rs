//! The trace event format of Chrome: JSON that `chrome://tracing`, Perfetto and Speedscope open. A
//! node is a process there, each of its lanes a thread, a span an event with its duration, and an
//! arrow leads to each span from the one that it is a part of.
//!
//! Times are microseconds since the first event, with the nanoseconds behind the point: since 1970
//! they would not fit into a number of JavaScript. When the first event was, `otherData` says.

use std::io::Write;

use analyze::calls::windows::Party;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::traces::names::{described, operation};
use crate::traces::{Side, Span, SpanWriter, TraceChoice, lanes, write_traces};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "chrome",
    summary: "Traces as Chrome's trace events",
    opened_by: "chrome://tracing, Perfetto, Speedscope",
};

/// Writes traces, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chrome {
    /// The traces that are wanted.
    pub traces: TraceChoice,
}

impl Exporter for Chrome {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let mut writer = EventWriter::new(&mut *output.writer);
        write_traces(source, self.traces, &mut writer).map(Some)
    }
}

/// Writes spans as trace events.
struct EventWriter<W> {
    out: W,
    lanes: lanes::Lanes,
    /// The time of the first event, from which all are counted.
    begin: Option<i64>,
    named: Vec<bool>,
}

impl<W: Write> EventWriter<W> {
    /// Writes to `out`.
    fn new(out: W) -> EventWriter<W> {
        EventWriter { out, lanes: lanes::Lanes::default(), begin: None, named: Vec::new() }
    }

    /// An event; events are a line each.
    fn event(&mut self, event: &Value) -> Result<(), Error> {
        self.out.write_all(b",\n")?;
        Ok(serde_json::to_writer(&mut self.out, event).map_err(std::io::Error::from)?)
    }

    fn head(&mut self, begin: i64) -> Result<(), Error> {
        write!(
            self.out,
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"producer\":\"sockcap {}\",",
            env!("CARGO_PKG_VERSION")
        )?;
        writeln!(self.out, "\"first_event_unix_ns\":\"{begin}\"}},\"traceEvents\":[")?;
        // A name without a process: it says nothing, but all others may then begin with a comma.
        self.out.write_all(br#"{"args":{},"name":"sockcap","ph":"M","pid":0}"#)?;
        self.begin = Some(begin);
        Ok(())
    }

    /// Names the process of a node, once.
    fn name(&mut self, place: usize, parties: &[Party]) -> Result<(), Error> {
        if self.named.len() <= place {
            self.named.resize(place + 1, false);
        }
        if std::mem::replace(&mut self.named[place], true) {
            return Ok(());
        }
        let name = parties.get(place).map(described).unwrap_or_default();
        self.event(
            &json!({"ph": "M", "pid": place + 1, "name": "process_name", "args": {"name": name}}),
        )
    }
}

impl<W: Write> SpanWriter for EventWriter<W> {
    fn write(&mut self, spans: &[Span<'_>], parties: &[Party]) -> Result<(), Error> {
        let Some(first) = spans.first() else { return Ok(()) };
        if self.begin.is_none() {
            self.head(first.start)?;
        }
        let begin = self.begin.unwrap_or_default();
        let time = |at: i64| microseconds(at.saturating_sub(begin));
        // Arrows begin in the span above, so where that is drawn must be known.
        let mut drawn: FxHashMap<u64, (usize, usize, &Span<'_>)> = FxHashMap::default();
        for span in spans {
            let lane = self.lanes.place(span);
            let (pid, tid) =
                (span.party() + 1, 2 * lane.number + 1 + usize::from(span.side == Side::Caller));
            self.name(span.party(), parties)?;
            if lane.is_new {
                let name = lanes::name(span.side, lane.number);
                self.event(&json!({"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": {"name": name}}))?;
            }
            self.event(&json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": time(span.start),
                "dur": microseconds(span.end.saturating_sub(span.start)),
                "cat": "call", "name": operation(span.call, parties), "args": arguments(span, parties),
            }))?;
            if let Some((from_pid, from_tid, above)) =
                span.parent.and_then(|parent| drawn.get(&parent))
            {
                // Within the span above, also where clocks are off or it ends before.
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
                    self.event(&arrow)?;
                }
            }
            drawn.insert(span.id, (pid, tid, span));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        if self.begin.is_none() {
            self.head(0)?;
        }
        self.out.write_all(b"\n]}\n")?;
        Ok(self.out.flush()?)
    }
}

fn arguments(span: &Span<'_>, parties: &[Party]) -> Value {
    let call = span.call;
    let all = json!({
        "call": call.number,
        "parent_call": call.parent.map(|parent| parent.call),
        "trace": format!("{:032x}", span.trace()),
        "probability": call.probability,
        "peer": parties.get(span.peer()).map(described),
        "request_bytes": call.request.map(|request| request.bytes),
        "response_bytes": call.response.map(|response| response.bytes),
        "protocol": call.protocol.name(),
    });
    match all {
        Value::Object(all) => all.into_iter().filter(|(_, value)| !value.is_null()).collect(),
        other => other,
    }
}

/// Nanoseconds as microseconds, which is exact up to some months.
fn microseconds(nanoseconds: i64) -> Value {
    json!(nanoseconds as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};
    use proptest::prelude::*;
    use test_support::assert_golden;

    fn chrome(web: &str) -> String {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let mut chrome = EventWriter::new(&mut out);
        chrome.write(&spans::of_calls(&calls), &testing::parties(web)).unwrap();
        chrome.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_events_of_a_small_trace() {
        assert_golden!("chrome.json", &chrome("web"));
    }

    #[test]
    fn arrows_begin_within_what_is_drawn_and_no_trace_is_a_trace_too() {
        let text: Value = serde_json::from_str(&chrome("web")).unwrap();
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
        EventWriter::new(&mut out).finish().unwrap();
        let none: Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(none["traceEvents"].as_array().unwrap().len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_come_back_whatever_they_hold(name in any::<String>()) {
            for name in [name.as_str(), testing::HOSTILE] {
                let text: Value = serde_json::from_str(&chrome(name)).unwrap();
                let events = text["traceEvents"].as_array().unwrap();
                let wanted = format!("{name}:80");
                prop_assert!(events.iter().any(|event| event["name"] == wanted));
            }
        }
    }
}
