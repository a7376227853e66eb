//! Small files of OTLP in all layouts, which tests damage.

/// A request of two services, with what a span can have.
pub(super) const REQUEST: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"host.name","value":{"stringValue":"web1"}}]},"scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"","name":"GET /cart","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000050000000","attributes":[{"key":"http.route","value":{"stringValue":"/cart"}}],"status":{"code":2,"message":"no"}},{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b175","parentSpanId":"eee19b7ec3c1b174","name":"get","kind":"SPAN_KIND_CLIENT","startTimeUnixNano":1700000000010000000,"endTimeUnixNano":1700000000040000000,"attributes":[{"key":"peer.service","value":{"stringValue":"cache"}},{"key":"tags","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}]}]}]}]}"#;

pub(super) fn samples() -> Vec<Vec<u8>> {
    let lines = format!("{REQUEST}\n{REQUEST}\n").into_bytes();
    let document: serde_json::Value = serde_json::from_str(REQUEST).unwrap_or_default();
    let document = serde_json::to_string_pretty(&document).unwrap_or_default().into_bytes();
    vec![lines, document]
}
