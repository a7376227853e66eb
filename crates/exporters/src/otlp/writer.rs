//! Spans as requests of OTLP.

use analyze::calls::windows::Party;
use rustc_hash::FxHashMap;

use super::attributes;
use super::contexts::Contexts;
use super::messages::{
    ExportTraceServiceRequest, InstrumentationScope, Resource, ResourceSpans, ScopeSpans,
    Span as OtlpSpan, SpanKind,
};
use super::operations;
use super::requests::Requests;
use super::spent::Spent;
use crate::error::Error;
use crate::traces::names::operation;
use crate::traces::{Operations, Side, Span, SpanWriter};
use crate::tuning::SPANS_PER_REQUEST;

/// What is known of calls beside their messages.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// What was done meanwhile.
    pub(super) spent: Option<&'a Spent>,
    /// What messages say.
    pub(super) operations: &'a Operations,
}

/// A writer of spans as requests of OTLP.
pub(super) struct RequestWriter<'a, R> {
    requests: R,
    known: Known<'a>,
    contexts: Contexts<'a>,
}

impl<'a, R: Requests> RequestWriter<'a, R> {
    /// A writer that gives its requests to `requests`. Spans say what is `known` of them.
    pub(super) fn new(requests: R, known: Known<'a>) -> RequestWriter<'a, R> {
        RequestWriter { requests, known, contexts: Contexts::new(known.operations) }
    }

    /// The receiver of the requests.
    pub(super) fn into_requests(self) -> R {
        self.requests
    }

    /// A request with these spans, by the nodes at which they were seen.
    fn request(&self, spans: &[Span<'_>], parties: &[Party]) -> ExportTraceServiceRequest {
        let mut places: FxHashMap<usize, usize> = FxHashMap::default();
        let mut of_nodes: Vec<ResourceSpans> = Vec::new();
        for span in spans {
            let place = *places.entry(span.party()).or_insert_with(|| {
                of_nodes.push(of_node(parties.get(span.party())));
                of_nodes.len() - 1
            });
            let scope = of_nodes.get_mut(place).and_then(|node| node.scope_spans.first_mut());
            scope.into_iter().for_each(|scope| scope.spans.push(self.otlp(span, parties)));
        }
        ExportTraceServiceRequest { resource_spans: of_nodes }
    }

    fn otlp(&self, span: &Span<'_>, parties: &[Party]) -> OtlpSpan {
        let pid = parties.get(span.party()).and_then(|party| party.pid);
        let said = self.known.operations.of(span.call);
        let mut attributes = operations::attributes(&said, span.side);
        attributes.extend(attributes::of_span(span, parties));
        attributes.extend(self.known.spent.iter().flat_map(|spent| spent.attributes(span, pid)));
        // Producer and consumer are OpenTelemetry's words for the ends of a message without a
        // response.
        let answered = span.call.response.is_some();
        let kind = match (span.side, answered) {
            (Side::Caller, true) => SpanKind::Client,
            (Side::Callee, true) => SpanKind::Server,
            (Side::Caller, false) => SpanKind::Producer,
            (Side::Callee, false) => SpanKind::Consumer,
        };
        let place = self.contexts.place(span);
        let parent = place.parent.map(|parent| parent.to_be_bytes().to_vec());
        OtlpSpan {
            trace_id: place.trace.to_be_bytes().to_vec(),
            span_id: span.id.to_be_bytes().to_vec(),
            parent_span_id: parent.unwrap_or_default(),
            name: operation(span.call, parties, &said),
            kind: kind as i32,
            start_time_unix_nano: span.start.max(0) as u64,
            end_time_unix_nano: span.end.max(0) as u64,
            attributes,
            status: operations::status(&said, span.side),
        }
    }
}

impl<R: Requests> SpanWriter for RequestWriter<'_, R> {
    fn write(&mut self, spans: &[Span<'_>], parties: &[Party]) -> Result<(), Error> {
        self.contexts.begin(spans);
        spans.chunks(SPANS_PER_REQUEST).try_for_each(|batch| {
            let request = self.request(batch, parties);
            self.requests.take(&request)
        })
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.requests.finish()
    }
}

/// The entry of a node, without spans yet.
fn of_node(party: Option<&Party>) -> ResourceSpans {
    let attributes = party.map(attributes::of_party).unwrap_or_default();
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
    use crate::otlp::requests::{JsonLines, Protobuf};
    use crate::traces::{spans, testing};
    use opentelemetry_proto::tonic::collector::trace::v1 as published;
    use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span, TracesData};
    use proptest::prelude::*;
    use prost::Message;
    use test_support::assert_golden;

    fn json(web: &str, operations: &Operations) -> String {
        let (calls, mut out) = (testing::calls(), Vec::new());
        let known = Known { spent: None, operations };
        let mut otlp = RequestWriter::new(JsonLines(&mut out), known);
        otlp.write(&spans::of_calls(&calls), &testing::parties(web)).unwrap();
        otlp.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_json_of_a_small_trace() {
        assert_golden!("otlp.json", &json("web", &Operations::default()));
    }

    #[test]
    fn the_json_of_calls_that_say_what_they_do() {
        let operations = testing::operations(testing::said());
        assert_golden!("otlp-operations.json", &json("web", &operations));
    }

    #[test]
    fn batches_one_after_the_other_are_one_message_and_json_is_read_back() {
        let calls = testing::calls();
        let (spans, parties) = (spans::of_calls(&calls), testing::parties("web"));
        let mut out = Vec::new();
        let operations = testing::operations(testing::said());
        let known = Known { spent: None, operations: &operations };
        let mut otlp = RequestWriter::new(Protobuf(&mut out), known);
        otlp.write(&spans[..3], &parties).unwrap();
        otlp.write(&spans[3..], &parties).unwrap();
        otlp.finish().unwrap();
        // The published schema has all fields: what it reads and writes again is the same.
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
            // One is of the tracer whose trace it is.
            let is_ours = span.parent_span_id != 0xbb_u64.to_be_bytes();
            assert_eq!(parent.is_some(), is_ours && !span.parent_span_id.is_empty());
            assert!(parent.is_none_or(|parent| parent.trace_id == span.trace_id));
        }
    }

    #[test]
    fn a_request_has_no_more_spans_than_collectors_take() {
        struct Sizes(Vec<usize>);
        impl Requests for Sizes {
            fn take(&mut self, request: &ExportTraceServiceRequest) -> Result<(), Error> {
                let of_nodes = request.resource_spans.iter().flat_map(|node| &node.scope_spans);
                self.0.push(of_nodes.map(|scope| scope.spans.len()).sum());
                Ok(())
            }

            fn finish(&mut self) -> Result<(), Error> {
                Ok(())
            }
        }
        let calls = testing::calls();
        let spans = vec![spans::of_calls(&calls)[0]; 2 * SPANS_PER_REQUEST + 1];
        let known = Known { spent: None, operations: &Operations::default() };
        let mut otlp = RequestWriter::new(Sizes(Vec::new()), known);
        otlp.write(&spans, &testing::parties("web")).unwrap();
        assert_eq!(otlp.into_requests().0, [SPANS_PER_REQUEST, SPANS_PER_REQUEST, 1]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn names_come_back_whatever_they_hold(name in any::<String>()) {
            for name in [name.as_str(), testing::HOSTILE] {
                let text = json(name, &Operations::default());
                prop_assert_eq!(text.lines().count(), 1);
                let read: published::ExportTraceServiceRequest = serde_json::from_str(&text).unwrap();
                let names: Vec<&str> = read.resource_spans.iter()
                    .flat_map(|node| &node.scope_spans[0].spans).map(|span| span.name.as_str()).collect();
                prop_assert!(names.contains(&format!("{name}:80").as_str()), "{:?}", names);
            }
        }
    }
}
