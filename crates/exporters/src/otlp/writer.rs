//! Spans as requests of OTLP.

use analyze::calls::windows::Party;
use rustc_hash::FxHashMap;

use super::attributes;
use super::contexts::TracerContexts;
use super::messages::{
    ExportTraceServiceRequest, InstrumentationScope, Resource, ResourceSpans, ScopeSpans,
    Span as OtlpSpan, SpanKind,
};
use super::operations;
use super::request_sink::RequestSink;
use super::spent::SpentTimes;
use crate::error::Error;
use crate::traces::names::call_name;
use crate::traces::{ExportedSpan, OperationLookup, SpanSide, SpanWriter};
use crate::tuning::SPANS_PER_REQUEST;

/// Known facts about calls in addition to their messages.
#[derive(Clone, Copy)]
pub(super) struct CallDetails<'a> {
    /// Resources spent during the calls.
    pub(super) spent: Option<&'a SpentTimes>,
    /// The operations of the messages.
    pub(super) operations: &'a OperationLookup,
}

/// A writer of spans as requests of OTLP.
pub(super) struct OtlpWriter<'a, R> {
    requests: R,
    known: CallDetails<'a>,
    contexts: TracerContexts<'a>,
}

impl<'a, R: RequestSink> OtlpWriter<'a, R> {
    /// A writer that passes its requests to `requests`. Spans get the details in `known`.
    pub(super) fn new(requests: R, known: CallDetails<'a>) -> OtlpWriter<'a, R> {
        OtlpWriter { requests, known, contexts: TracerContexts::new(known.operations) }
    }

    /// The receiver of the requests.
    pub(super) fn into_requests(self) -> R {
        self.requests
    }

    /// Builds a request from `spans`, grouped by the nodes at which they were seen.
    fn build_request(
        &self,
        spans: &[ExportedSpan<'_>],
        parties: &[Party],
    ) -> ExportTraceServiceRequest {
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        let mut of_nodes: Vec<ResourceSpans> = Vec::new();
        for span in spans {
            let place = *places.entry(span.party_index()).or_insert_with(|| {
                of_nodes.push(spans_of_node(parties.get(span.party_index())));
                of_nodes.len() - 1
            });
            let scope = of_nodes.get_mut(place).and_then(|node| node.scope_spans.first_mut());
            scope.into_iter().for_each(|scope| scope.spans.push(self.build_span(span, parties)));
        }
        ExportTraceServiceRequest { resource_spans: of_nodes }
    }

    fn build_span(&self, span: &ExportedSpan<'_>, parties: &[Party]) -> OtlpSpan {
        let pid = parties.get(span.party_index()).and_then(|party| party.pid);
        let operation = self.known.operations.operation_of_call(span.call);
        let mut attributes = operations::operation_attributes(&operation, span.side);
        attributes.extend(attributes::span_attributes(span, parties));
        attributes
            .extend(self.known.spent.iter().flat_map(|spent| spent.attributes_of_span(span, pid)));
        // OpenTelemetry calls the ends of a message without a response producer and consumer.
        let answered = span.call.response.is_some();
        let kind = match (span.side, answered) {
            (SpanSide::Caller, true) => SpanKind::Client,
            (SpanSide::Callee, true) => SpanKind::Server,
            (SpanSide::Caller, false) => SpanKind::Producer,
            (SpanSide::Callee, false) => SpanKind::Consumer,
        };
        let place = self.contexts.place_of_span(span);
        let parent = place.parent.map(|parent| parent.to_be_bytes().to_vec());
        OtlpSpan {
            trace_id: place.trace.to_be_bytes().to_vec(),
            span_id: span.id.to_be_bytes().to_vec(),
            parent_span_id: parent.unwrap_or_default(),
            name: call_name(span.call, parties, &operation),
            kind: kind as i32,
            start_time_unix_nano: span.start.max(0) as u64,
            end_time_unix_nano: span.end.max(0) as u64,
            attributes,
            status: operations::span_status(&operation, span.side),
        }
    }
}

impl<R: RequestSink> SpanWriter for OtlpWriter<'_, R> {
    fn write_spans(&mut self, spans: &[ExportedSpan<'_>], parties: &[Party]) -> Result<(), Error> {
        self.contexts.begin_window(spans);
        spans.chunks(SPANS_PER_REQUEST).try_for_each(|batch| {
            let request = self.build_request(batch, parties);
            self.requests.take_request(&request)
        })
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.requests.finish()
    }
}

/// The entry of a node, without spans yet.
fn spans_of_node(party: Option<&Party>) -> ResourceSpans {
    let attributes = party.map(attributes::party_attributes).unwrap_or_default();
    let scope = InstrumentationScope {
        name: "sockcap".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    ResourceSpans {
        resource: Some(Resource { attributes }),
        scope_spans: vec![ScopeSpans { scope: Some(scope), spans: Vec::new() }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::otlp::request_sink::{JsonLines, ProtobufFile};
    use crate::traces::{spans, testing};
    use opentelemetry_proto::tonic::collector::trace::v1 as published;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span, TracesData};
    use proptest::prelude::*;
    use prost::Message;
    use test_support::assert_golden;

    fn json(web: &str, operations: &OperationLookup) -> String {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let known = CallDetails { spent: None, operations };
        let mut otlp = OtlpWriter::new(JsonLines(&mut out), known);
        otlp.write_spans(&spans::spans_of_calls(&calls), &testing::parties(web)).unwrap();
        otlp.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_json_of_a_small_trace() {
        assert_golden!("otlp.json", &json("web", &OperationLookup::default()));
    }

    #[test]
    fn the_json_of_calls_with_operations() {
        let operations = testing::operation_lookup(testing::operation_rows());
        assert_golden!("otlp-operations.json", &json("web", &operations));
    }

    #[test]
    fn concatenated_batches_are_one_message_and_json_is_read_back() {
        let calls = testing::calls();
        let (spans, parties) = (spans::spans_of_calls(&calls), testing::parties("web"));
        let mut out = Vec::new();
        let operations = testing::operation_lookup(testing::operation_rows());
        let known = CallDetails { spent: None, operations: &operations };
        let mut otlp = OtlpWriter::new(ProtobufFile(&mut out), known);
        otlp.write_spans(&spans[..3], &parties).unwrap();
        otlp.write_spans(&spans[3..], &parties).unwrap();
        otlp.finish().unwrap();
        // The published schema has all fields: decoding and encoding it again gives the same bytes.
        let read = TracesData::decode(&out[..]).unwrap();
        assert_eq!(read.encode_to_vec(), out);
        let nodes = |data: &[ResourceSpans]| -> Vec<Span> {
            data.iter().flat_map(|node| node.scope_spans[0].spans.clone()).collect()
        };
        let mut read = nodes(&read.resource_spans);
        assert_eq!(read.len(), spans.len());
        let from_json: published::ExportTraceServiceRequest =
            serde_json::from_str(&json("web", &operations)).unwrap();
        let mut from_json = nodes(&from_json.resource_spans);
        let key = |span: &Span| span.span_id.clone();
        read.sort_by_key(key);
        from_json.sort_by_key(key);
        assert_eq!(read, from_json);
        for span in &read {
            assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
            let parent = read.iter().find(|other| other.span_id == span.parent_span_id);
            // One parent is the tracer's span, in its trace.
            let is_ours = span.parent_span_id != 0xbb_u64.to_be_bytes();
            assert_eq!(parent.is_some(), is_ours && !span.parent_span_id.is_empty());
            assert!(parent.is_none_or(|parent| parent.trace_id == span.trace_id));
        }
    }

    #[test]
    fn a_request_has_no_more_spans_than_collectors_accept() {
        struct Sizes(Vec<usize>);
        impl RequestSink for Sizes {
            fn take_request(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error> {
                let of_nodes = request.resource_spans.iter().flat_map(|node| &node.scope_spans);
                self.0.push(of_nodes.map(|scope| scope.spans.len()).sum());
                Ok(())
            }

            fn finish(&mut self) -> Result<(), Error> {
                Ok(())
            }
        }
        let calls = testing::calls();
        let spans = vec![spans::spans_of_calls(&calls)[0]; 2 * SPANS_PER_REQUEST + 1];
        let known = CallDetails { spent: None, operations: &OperationLookup::default() };
        let mut otlp = OtlpWriter::new(Sizes(Vec::new()), known);
        otlp.write_spans(&spans, &testing::parties("web")).unwrap();
        assert_eq!(otlp.into_requests().0, [SPANS_PER_REQUEST, SPANS_PER_REQUEST, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_with_any_characters_are_read_back(name in any::<String>()) {
            for name in [name.as_str(), testing::HOSTILE] {
                let text = json(name, &OperationLookup::default());
                prop_assert_eq!(text.lines().count(), 1);
                let read: published::ExportTraceServiceRequest = serde_json::from_str(&text).unwrap();
                let names: Vec<&str> = read.resource_spans.iter()
                    .flat_map(|node| &node.scope_spans[0].spans).map(|span| span.name.as_str()).collect();
                prop_assert!(names.contains(&format!("{name}:80").as_str()), "{:?}", names);
            }
        }
    }
}
