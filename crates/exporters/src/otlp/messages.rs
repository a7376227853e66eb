//! The messages of OTLP that are written and read here, with their numbers in the published schema
//! (`opentelemetry/proto/trace/v1/trace.proto` and the files that it imports). Their JSON has the
//! form that the specification demands: names in lowerCamelCase, ids as hex, 64-bit integers as
//! text, unset fields left out. The crate that OpenTelemetry generates from the schema depends on
//! the whole SDK; tests read the output back with it.

use prost::{Message, Oneof};
use serde::{Serialize, Serializer};

/// The message `ExportTraceServiceRequest`. Its encoding is that of `TracesData`: several
/// concatenated requests are one such message.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportTraceServiceRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

/// The spans of one node.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

/// The attributes of a node.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

/// The spans of one instrumentation, which is sockcap.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<Span>,
}

/// The program that made the spans.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

/// A span. An omitted status means `STATUS_CODE_UNSET`: no error is known.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Span {
    /// Id of the trace: 16 bytes.
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "hex")]
    pub(super) trace_id: Vec<u8>,
    /// Id of the span: 8 bytes.
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "hex")]
    pub(super) span_id: Vec<u8>,
    /// Id of the parent span: 8 bytes, or none for a root.
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "hex", skip_serializing_if = "Vec::is_empty")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    /// Kind of the span: a number of [`SpanKind`].
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "text")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(serialize_with = "text")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
}

/// How a span ended.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize)]
pub(super) struct Status {
    /// Code of the status: a number of [`StatusCode`].
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

/// The values of `Status.StatusCode` that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatusCode {
    Error = 2,
}

/// The values of `Span.SpanKind` that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Server = 2,
    Client = 3,
    Producer = 4,
    Consumer = 5,
}

/// An attribute: a key and its value.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

/// The value of an attribute.
#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3, 4")]
    #[serde(flatten)]
    pub(super) value: Option<Value>,
}

/// The kinds of values that are written.
#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::enum_variant_names, reason = "the names of the schema, which JSON has too")]
pub(super) enum Value {
    #[prost(string, tag = "1")]
    StringValue(String),
    #[prost(int64, tag = "3")]
    #[serde(serialize_with = "text")]
    IntValue(i64),
    #[prost(double, tag = "4")]
    DoubleValue(f64),
}

/// The response of a collector.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTraceServiceResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<ExportTracePartialSuccess>,
}

/// The part of a request that a collector rejected, though it accepted the request.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTracePartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

/// Serializes bytes as hexadecimal digits.
fn hex<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    to.serialize_str(&digits)
}

/// Writes a 64-bit integer as text, as not every JSON reader supports such numbers.
fn text<S: Serializer>(number: &impl std::fmt::Display, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(number)
}
