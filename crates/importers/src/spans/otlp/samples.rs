//! Small OTLP files in all layouts, which tests damage.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message;

/// A request of a service, with all parts of a span.
pub(super) const REQUEST: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"host.name","value":{"stringValue":"web1"}},{"key":"k8s.pod.name","value":{"stringValue":"shop-1"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"","name":"GET /cart","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000050000000","attributes":[{"key":"http.route","value":{"stringValue":"/cart"}},{"key":"http.response.body.size","value":{"intValue":"12"}}],"status":{"message":"no","code":2}},{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175","parentSpanId":"eee19b7ec3c1b174","name":"get","kind":3,"startTimeUnixNano":"1700000000010000000","endTimeUnixNano":"1700000000040000000","attributes":[{"key":"peer.service","value":{"stringValue":"cache"}},{"key":"hit","value":{"boolValue":true}},{"key":"share","value":{"doubleValue":0.5}},{"key":"tags","value":{"arrayValue":{"values":[{"intValue":"1"},{"stringValue":"a\"b"}]}}},{"key":"map","value":{"kvlistValue":{"values":[{"key":"k","value":{"intValue":"-2"}}]}}}],"links":[{"traceId":"5b8efff798038103d269b633813fc60d","spanId":"eee19b7ec3c1b176"}],"events":[{"timeUnixNano":"1700000000010000001","name":"miss"}],"status":{}}]}]}]}"#;

/// Layout of sample files.
pub(super) struct SampleLayout {
    pub(super) name: &'static str,
    /// Formats several requests as a file.
    pub(super) file: fn(&[ExportTraceServiceRequest]) -> Vec<u8>,
}

/// All supported layouts.
pub(super) const LAYOUTS: &[SampleLayout] = &[
    SampleLayout { name: "lines", file: |requests| text(requests, |json| format!("{json}\n")) },
    SampleLayout {
        name: "lines with spaces",
        file: |requests| text(requests, |json| format!("\n {json}\r\n\n")),
    },
    SampleLayout {
        name: "pretty documents",
        file: |requests| text(requests, |json| format!("{json:#}\n")),
    },
    SampleLayout { name: "a list", file: |requests| serde_json::to_vec(requests).unwrap() },
    SampleLayout {
        name: "a message",
        file: |requests| bytes(requests, |message| message.to_vec()),
    },
    SampleLayout {
        name: "delimited messages",
        file: |requests| {
            requests.iter().flat_map(|of| of.encode_length_delimited_to_vec()).collect()
        },
    },
    SampleLayout { name: "framed messages", file: |requests| bytes(requests, framed) },
    SampleLayout {
        name: "framed and compressed messages",
        file: |requests| bytes(requests, |message| framed(&zstd::encode_all(message, 0).unwrap())),
    },
    SampleLayout {
        name: "framed and compressed JSON",
        file: |requests| {
            let json = |of: &ExportTraceServiceRequest| serde_json::to_vec(of).unwrap();
            let frames =
                requests.iter().map(|of| framed(&zstd::encode_all(&json(of)[..], 0).unwrap()));
            frames.collect::<Vec<_>>().concat()
        },
    },
];

fn text(
    requests: &[ExportTraceServiceRequest],
    each: impl Fn(serde_json::Value) -> String,
) -> Vec<u8> {
    let all = requests.iter().map(|of| each(serde_json::to_value(of).unwrap()));
    all.collect::<String>().into_bytes()
}

fn bytes(requests: &[ExportTraceServiceRequest], each: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    requests.iter().flat_map(|of| each(&of.encode_to_vec())).collect()
}

/// Frames a message in the format of the collector's file exporter.
fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u32).to_be_bytes(), message].concat()
}

/// The request in OpenTelemetry's own types.
pub(super) fn request() -> ExportTraceServiceRequest {
    serde_json::from_str(REQUEST).unwrap()
}

pub(super) fn samples() -> Vec<Vec<u8>> {
    let requests = [request(), request()];
    let lines = format!("{REQUEST}\n{REQUEST}\n").into_bytes();
    let layouts = LAYOUTS.iter().map(|layout| (layout.file)(&requests));
    [lines].into_iter().chain(layouts).collect()
}
