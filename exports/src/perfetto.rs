//! Perfetto's own format: protobuf that <https://ui.perfetto.dev> and its trace processor open, for
//! traces that are too large as JSON. A node is a track, with a track below it for each of its
//! lanes; a flow leads to each span from the one that it is a part of.
//!
//! The few messages that are needed are written out here with their numbers in the published
//! schema, `protos/perfetto/trace/perfetto_trace.proto`; a trace is its packets one after the
//! other.

use std::io::Write;

use analyze::calls::windows::Party;
use prost::{Message, Oneof};
use rustc_hash::FxHashMap;

use crate::description::Description;
use crate::error::Error;
use crate::exporter::{Exporter, Needs, Output, Source, TraceCount};
use crate::traces::names::{described, operation};
use crate::traces::{Side, Span, SpanWriter, TraceChoice, lanes, write_traces};

/// What it says of itself.
pub const DESCRIPTION: Description = Description {
    name: "perfetto",
    summary: "Traces as Perfetto's track events",
    opened_by: "https://ui.perfetto.dev",
};

/// Writes traces, with the options of the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Perfetto {
    /// The traces that are wanted.
    pub traces: TraceChoice,
}

impl Exporter for Perfetto {
    fn needs(&self) -> Needs {
        Needs::Analysis
    }

    fn write(
        &self,
        source: &Source<'_>,
        output: &mut Output<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let mut writer = TrackWriter::new(&mut *output.writer);
        write_traces(source, self.traces, &mut writer).map(Some)
    }
}

#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

#[derive(Clone, PartialEq, Message)]
struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "10")]
    trusted_packet_sequence_id: Option<u32>,
    #[prost(uint32, optional, tag = "13")]
    sequence_flags: Option<u32>,
    #[prost(oneof = "Data", tags = "11, 60")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Data {
    #[prost(message, tag = "11")]
    Event(TrackEvent),
    #[prost(message, tag = "60")]
    Track(TrackDescriptor),
}

#[derive(Clone, PartialEq, Message)]
struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, optional, tag = "9")]
    r#type: Option<i32>,
    #[prost(uint64, optional, tag = "11")]
    track_uuid: Option<u64>,
    #[prost(string, repeated, tag = "22")]
    categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    name: Option<String>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    terminating_flow_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
struct DebugAnnotation {
    #[prost(string, optional, tag = "10")]
    name: Option<String>,
    #[prost(oneof = "Annotated", tags = "4, 5, 6")]
    value: Option<Annotated>,
}

#[derive(Clone, PartialEq, Oneof)]
enum Annotated {
    #[prost(int64, tag = "4")]
    Integer(i64),
    #[prost(double, tag = "5")]
    Float(f64),
    #[prost(string, tag = "6")]
    Text(String),
}

#[derive(Clone, PartialEq, Message)]
struct TrackDescriptor {
    #[prost(uint64, optional, tag = "1")]
    uuid: Option<u64>,
    #[prost(string, optional, tag = "2")]
    name: Option<String>,
    #[prost(uint64, optional, tag = "5")]
    parent_uuid: Option<u64>,
    #[prost(int32, optional, tag = "15")]
    sibling_merge_behavior: Option<i32>,
}

/// `TrackEvent.Type`.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
/// `TrackDescriptor.SiblingMergeBehavior`: tracks of one name are not taken for one.
const NOT_MERGED: i32 = 2;
/// `TracePacket.SequenceFlags`: nothing that came before is needed.
const INCREMENTAL_STATE_CLEARED: u32 = 1;
/// All packets are of one sequence.
const SEQUENCE: u32 = 1;

/// Writes spans as track events.
struct TrackWriter<W> {
    out: W,
    lanes: lanes::Lanes,
    named: Vec<bool>,
    begun: bool,
}

impl<W: Write> TrackWriter<W> {
    /// Writes to `out`.
    fn new(out: W) -> TrackWriter<W> {
        TrackWriter { out, lanes: lanes::Lanes::default(), named: Vec::new(), begun: false }
    }

    fn packet(&mut self, timestamp: Option<i64>, data: Data) -> Result<(), Error> {
        let packet = TracePacket {
            timestamp: timestamp.map(|time| time.max(0) as u64),
            trusted_packet_sequence_id: Some(SEQUENCE),
            sequence_flags: (!std::mem::replace(&mut self.begun, true))
                .then_some(INCREMENTAL_STATE_CLEARED),
            data: Some(data),
        };
        Ok(self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?)
    }

    fn track(&mut self, uuid: u64, name: String, parent: Option<u64>) -> Result<(), Error> {
        let track = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name),
            parent_uuid: parent,
            sibling_merge_behavior: Some(NOT_MERGED),
        };
        self.packet(None, Data::Track(track))
    }

    /// The track of the span's lane, which is described when it is first used, as is that of its
    /// node.
    fn track_of(&mut self, span: &Span<'_>, parties: &[Party]) -> Result<u64, Error> {
        let place = span.party();
        // Nodes have the numbers below 2^32, and their lanes those above.
        let node = place as u64 + 1;
        if self.named.len() <= place {
            self.named.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.named[place], true) {
            self.track(node, parties.get(place).map(described).unwrap_or_default(), None)?;
        }
        let lane = self.lanes.place(span);
        let uuid = node << 32 | (2 * lane.number as u64 + u64::from(span.side == Side::Caller));
        if lane.is_new {
            self.track(uuid, lanes::name(span.side, lane.number), Some(node))?;
        }
        Ok(uuid)
    }
}

impl<W: Write> SpanWriter for TrackWriter<W> {
    fn write(&mut self, spans: &[Span<'_>], parties: &[Party]) -> Result<(), Error> {
        // A flow has the number of the span that it leads to; where it begins must say so, too.
        let mut parts: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        let here: FxHashMap<u64, i64> = spans.iter().map(|span| (span.id, span.start)).collect();
        // What begins before the span that it is a part of, as clocks are off, would turn the arrow
        // round.
        let from = |span: &Span<'_>| {
            span.parent.filter(|parent| here.get(parent).is_some_and(|start| *start <= span.start))
        };
        for span in spans {
            if let Some(parent) = from(span) {
                parts.entry(parent).or_default().push(span.id);
            }
        }
        for span in spans {
            let track = self.track_of(span, parties)?;
            let begin = TrackEvent {
                debug_annotations: annotations(span, parties),
                r#type: Some(SLICE_BEGIN),
                track_uuid: Some(track),
                categories: vec!["call".to_owned()],
                name: Some(operation(span.call, parties)),
                flow_ids: parts.remove(&span.id).unwrap_or_default(),
                terminating_flow_ids: from(span).map(|_| span.id).into_iter().collect(),
            };
            self.packet(Some(span.start), Data::Event(begin))?;
            let end = TrackEvent {
                r#type: Some(SLICE_END),
                track_uuid: Some(track),
                ..TrackEvent::default()
            };
            self.packet(Some(span.end), Data::Event(end))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }
}

fn annotations(span: &Span<'_>, parties: &[Party]) -> Vec<DebugAnnotation> {
    let call = span.call;
    let integer = |value: Option<i64>| value.map(Annotated::Integer);
    let all = [
        ("call", integer(Some(call.number as i64))),
        ("parent_call", integer(call.parent.map(|parent| parent.call as i64))),
        ("trace", Some(Annotated::Text(format!("{:032x}", span.trace())))),
        ("probability", call.probability.map(Annotated::Float)),
        ("peer", parties.get(span.peer()).map(|peer| Annotated::Text(described(peer)))),
        ("request_bytes", integer(call.request.map(|request| request.bytes))),
        ("response_bytes", integer(call.response.map(|response| response.bytes))),
        ("protocol", Some(Annotated::Text(call.protocol.name().to_owned()))),
    ];
    let known = all.into_iter().filter(|(_, value)| value.is_some());
    known.map(|(name, value)| DebugAnnotation { name: Some(name.to_owned()), value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};

    #[test]
    fn every_span_begins_and_ends_on_a_track_that_was_described() {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let all = spans::of_calls(&calls);
        let mut perfetto = TrackWriter::new(&mut out);
        perfetto.write(&all, &testing::parties(testing::HOSTILE)).unwrap();
        perfetto.finish().unwrap();
        let trace = Trace::decode(&out[..]).unwrap();
        assert_eq!(trace.packet[0].sequence_flags, Some(INCREMENTAL_STATE_CLEARED));
        let (mut tracks, mut begins, mut ends) = (FxHashMap::default(), Vec::new(), Vec::new());
        for packet in &trace.packet {
            assert_eq!(packet.trusted_packet_sequence_id, Some(1));
            match packet.data.as_ref().unwrap() {
                Data::Track(track) => {
                    assert!(track.parent_uuid.is_none_or(|parent| tracks.contains_key(&parent)));
                    // Two processes may have one name.
                    assert_eq!(track.sibling_merge_behavior, Some(NOT_MERGED));
                    assert_eq!(
                        tracks.insert(track.uuid.unwrap(), track.name.clone().unwrap()),
                        None
                    );
                }
                Data::Event(event) => {
                    assert!(tracks.contains_key(&event.track_uuid.unwrap()));
                    let of =
                        if event.r#type == Some(SLICE_BEGIN) { &mut begins } else { &mut ends };
                    of.push((packet.timestamp.unwrap(), event.clone()));
                }
            }
        }
        assert!(tracks.values().any(|name| *name == format!("{} (h1, 11)", testing::HOSTILE)));
        let times =
            |of: &[(u64, TrackEvent)]| of.iter().map(|(at, _)| *at as i64).collect::<Vec<_>>();
        assert_eq!(times(&begins), all.iter().map(|span| span.start).collect::<Vec<_>>());
        assert_eq!(times(&ends), all.iter().map(|span| span.end).collect::<Vec<_>>());
        // Each flow begins once, before it ends, and ends once.
        let mut open: Vec<u64> = Vec::new();
        for (_, event) in &begins {
            for flow in &event.terminating_flow_ids {
                open.remove(open.iter().position(|open| open == flow).unwrap());
            }
            open.extend(&event.flow_ids);
        }
        assert!(open.is_empty());
        let parts: usize = begins.iter().map(|(_, event)| event.terminating_flow_ids.len()).sum();
        assert_eq!(parts, all.iter().filter(|span| span.parent.is_some()).count());
    }

    #[test]
    fn no_arrow_goes_back_in_time() {
        let mut calls = testing::calls();
        // The clock of whoever was called is behind.
        if let Some(request) = &mut calls[1].request {
            request.received = Some(100);
        }
        let mut out = Vec::new();
        TrackWriter::new(&mut out)
            .write(&spans::of_calls(&calls[..2]), &testing::parties("web"))
            .unwrap();
        let trace = Trace::decode(&out[..]).unwrap();
        let flows = trace.packet.iter().filter_map(|packet| match packet.data.as_ref()? {
            Data::Event(event) => Some((event.flow_ids.len(), event.terminating_flow_ids.len())),
            Data::Track(_) => None,
        });
        let (begun, ended) = flows.fold((0, 0), |(a, b), (begun, ended)| (a + begun, b + ended));
        // From the root to its call, and not from there to the server that began before it.
        assert_eq!((begun, ended), (1, 1));
    }
}
