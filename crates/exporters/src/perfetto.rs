//! The native format of Perfetto: protobuf that <https://ui.perfetto.dev> and its trace processor
//! open, for traces that are too large as JSON. A node is a track, with a track below it for each
//! of its lanes. A flow leads to each span from its parent. If resources were recorded, threads are
//! tracks, too.

mod messages;
mod threads;

use std::io::Write;

use analyze::calls::windows::Party;
use clap::Args;
use prost::Message;
use registry::{EntryHelp, Spec};
use rustc_hash::FxHashMap;

use crate::error::Error;
use crate::exporter::{ExportOutput, ExportSource, Exporter, RequiredStage, TraceCount};
use crate::exporter_spec::{ExporterEntry, ExporterSpec};
use crate::flags::{SelectionFlags, read_flags};
use crate::traces::names::{call_name, node_description};
use crate::traces::{
    CallOperation, ExportedSpan, OperationLookup, SpanSide, SpanWriter, TraceChoice, lanes,
    write_traces,
};
use messages::{
    Annotated, Data, DebugAnnotation, INCREMENTAL_STATE_CLEARED, NOT_MERGED, SEQUENCE_ID,
    SLICE_BEGIN, SLICE_END, Trace, TracePacket, TrackDescriptor, TrackEvent,
};

/// The entry in the registry.
pub(crate) static PERFETTO: ExporterSpec = Spec {
    about: EntryHelp {
        name: "perfetto",
        summary: "Traces as Perfetto's track events",
        examples: &["sockcap export perfetto -o trace.perfetto --pattern 2 --limit 100"],
        ..EntryHelp::NOTHING
    },
    flags: SelectionFlags::augment_args,
    entry: ExporterEntry {
        opened_by: "https://ui.perfetto.dev",
        make: |given| {
            let traces = read_flags::<SelectionFlags>(given)?.into();
            Ok(Box::new(PerfettoExporter { traces }))
        },
    },
};

/// An exporter of traces as track events of Perfetto, with its options.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PerfettoExporter {
    /// The traces to export.
    pub traces: TraceChoice,
}

impl Exporter for PerfettoExporter {
    fn required_stage(&self) -> RequiredStage {
        RequiredStage::Analysis
    }

    fn write_export(
        &self,
        source: &ExportSource<'_>,
        output: &mut ExportOutput<'_>,
    ) -> Result<Option<TraceCount>, Error> {
        let operations = OperationLookup::read_operations(source.data)?;
        let mut writer = TrackWriter::new(&mut *output.writer, &operations);
        // Threads belong to no single trace, so they are written only with all traces.
        if self.traces == TraceChoice::default() && source.data.own_events_path().is_file() {
            threads::write_threads(source.data, &mut |time, data| writer.write_packet(time, data))?;
        }
        write_traces(source, self.traces, &mut writer).map(Some)
    }
}

/// A writer of spans as track events.
struct TrackWriter<'a, W> {
    out: W,
    operations: &'a OperationLookup,
    lanes: lanes::SpanLanes,
    /// For each node, whether its track was described already.
    named: Vec<bool>,
    /// Whether a packet was written.
    begun: bool,
}

impl<'a, W: Write> TrackWriter<'a, W> {
    /// A writer to `out`, with nothing written yet.
    fn new(out: W, operations: &'a OperationLookup) -> TrackWriter<'a, W> {
        let lanes = lanes::SpanLanes::default();
        TrackWriter { out, operations, lanes, named: Vec::new(), begun: false }
    }

    fn write_packet(&mut self, timestamp: Option<i64>, data: Data) -> Result<(), Error> {
        let packet = TracePacket {
            timestamp: timestamp.map(|time| time.max(0) as u64),
            trusted_packet_sequence_id: Some(SEQUENCE_ID),
            sequence_flags: (!std::mem::replace(&mut self.begun, true))
                .then_some(INCREMENTAL_STATE_CLEARED),
            data: Some(data),
        };
        Ok(self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())?)
    }

    fn write_track(&mut self, uuid: u64, name: String, parent: Option<u64>) -> Result<(), Error> {
        let track = TrackDescriptor {
            uuid: Some(uuid),
            name: Some(name),
            parent_uuid: parent,
            sibling_merge_behavior: Some(NOT_MERGED),
        };
        self.write_packet(None, Data::Track(track))
    }

    /// The number of the track of the span's lane. The tracks of a lane and of its node are
    /// described when they are first used.
    fn track_of_span(&mut self, span: &ExportedSpan<'_>, parties: &[Party]) -> Result<u64, Error> {
        let place = span.party_index();
        // Tracks of nodes have the numbers below 2^32, tracks of lanes those above.
        let node = place as u64 + 1;
        if self.named.len() <= place {
            self.named.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.named[place], true) {
            self.write_track(
                node,
                parties.get(place).map(node_description).unwrap_or_default(),
                None,
            )?;
        }
        let lane = self.lanes.place_span(span);
        let uuid = node << 32 | (2 * lane.number as u64 + u64::from(span.side == SpanSide::Caller));
        if lane.is_new {
            self.write_track(uuid, lanes::lane_name(span.side, lane.number), Some(node))?;
        }
        Ok(uuid)
    }
}

impl<W: Write> SpanWriter for TrackWriter<'_, W> {
    fn write_spans(&mut self, spans: &[ExportedSpan<'_>], parties: &[Party]) -> Result<(), Error> {
        // A flow has the number of the span that it leads to. The event at which it begins must
        // name it, too.
        let mut parts: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        let here: FxHashMap<u64, i64> = spans.iter().map(|span| (span.id, span.start)).collect();
        // A span that begins before its parent, because clocks are off, has no flow: its arrow
        // would go back in time.
        let from = |span: &ExportedSpan<'_>| {
            span.parent.filter(|parent| here.get(parent).is_some_and(|start| *start <= span.start))
        };
        for span in spans {
            if let Some(parent) = from(span) {
                parts.entry(parent).or_default().push(span.id);
            }
        }
        for span in spans {
            let track = self.track_of_span(span, parties)?;
            let operation = self.operations.operation_of_call(span.call);
            let begin = TrackEvent {
                debug_annotations: span_annotations(span, parties, &operation),
                r#type: Some(SLICE_BEGIN),
                track_uuid: Some(track),
                categories: vec!["call".to_owned()],
                name: Some(call_name(span.call, parties, &operation)),
                flow_ids: parts.remove(&span.id).unwrap_or_default(),
                terminating_flow_ids: from(span).map(|_| span.id).into_iter().collect(),
            };
            self.write_packet(Some(span.start), Data::Event(begin))?;
            let end = TrackEvent {
                r#type: Some(SLICE_END),
                track_uuid: Some(track),
                ..TrackEvent::default()
            };
            self.write_packet(Some(span.end), Data::Event(end))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Error> {
        Ok(self.out.flush()?)
    }
}

fn span_annotations(
    span: &ExportedSpan<'_>,
    parties: &[Party],
    operation: &CallOperation<'_>,
) -> Vec<DebugAnnotation> {
    let call = span.call;
    let text = |text: &str| (!text.is_empty()).then(|| Annotated::Text(text.to_owned()));
    let integer = |value: Option<i64>| value.map(Annotated::Integer);
    let all = [
        ("call", integer(Some(call.number as i64))),
        ("parent_call", integer(call.parent.map(|parent| parent.call as i64))),
        ("trace", Some(Annotated::Text(format!("{:032x}", span.trace_number())))),
        ("probability", call.probability.map(Annotated::Float)),
        (
            "peer",
            parties.get(span.peer_index()).map(|peer| Annotated::Text(node_description(peer))),
        ),
        ("request_bytes", integer(call.request.map(|request| request.bytes))),
        ("response_bytes", integer(call.response.map(|response| response.bytes))),
        ("protocol", Some(Annotated::Text(call.protocol.name().to_owned()))),
        ("spoken", text(operation.protocol())),
        ("statement", text(operation.request.map_or("", |request| request.detail))),
        ("status", text(operation.status())),
        ("error", operation.is_error(span.side).then_some(Annotated::Integer(1))),
    ];
    let known = all.into_iter().filter(|(_, value)| value.is_some());
    known.map(|(name, value)| DebugAnnotation { name: Some(name.to_owned()), value }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::{spans, testing};

    #[test]
    fn every_span_begins_and_ends_on_a_described_track() {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let all = spans::spans_of_calls(&calls);
        let operations = testing::operation_lookup(testing::operation_rows());
        let mut perfetto = TrackWriter::new(&mut out, &operations);
        perfetto.write_spans(&all, &testing::parties(testing::HOSTILE)).unwrap();
        perfetto.finish().unwrap();
        let trace = Trace::decode(&out[..]).unwrap();
        assert_eq!(trace.packet[0].sequence_flags, Some(INCREMENTAL_STATE_CLEARED));
        let (mut tracks, mut begins, mut ends) = (FxHashMap::default(), Vec::new(), Vec::new());
        for packet in &trace.packet {
            assert_eq!(packet.trusted_packet_sequence_id, Some(1));
            match packet.data.as_ref().unwrap() {
                Data::Track(track) => {
                    assert!(track.parent_uuid.is_none_or(|parent| tracks.contains_key(&parent)));
                    // Two processes may have the same name.
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
        // Each flow begins once, before its end, and ends once.
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
        // The callee's clock is late.
        if let Some(request) = &mut calls[1].request {
            request.received = Some(100);
        }
        let mut out = Vec::new();
        TrackWriter::new(&mut out, &OperationLookup::default())
            .write_spans(&spans::spans_of_calls(&calls[..2]), &testing::parties("web"))
            .unwrap();
        let trace = Trace::decode(&out[..]).unwrap();
        let flows = trace.packet.iter().filter_map(|packet| match packet.data.as_ref()? {
            Data::Event(event) => Some((event.flow_ids.len(), event.terminating_flow_ids.len())),
            Data::Track(_) => None,
        });
        let (begun, ended) = flows.fold((0, 0), |(a, b), (begun, ended)| (a + begun, b + ended));
        // From the root to its call; no flow from the call to the server that began before it.
        assert_eq!((begun, ended), (1, 1));
    }
}
