//! Span: one record of a tracer, in terms common to all tracers.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The id of a trace or a span: ids are equal when their numbers or texts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TracingId<'a> {
    /// A number, such as the 128 or 64 bits of OpenTelemetry, Jaeger and Zipkin.
    Number(u128),
    /// Any other text.
    Text(&'a str),
}

/// The role of a span at its node, by OpenTelemetry's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKind {
    /// The tracer does not state it.
    #[default]
    Unknown,
    /// Work within the node.
    Internal,
    /// The node serves a call.
    Server,
    /// The node makes a call, and the span lasts until the response.
    Client,
    /// The node sends a message without a response.
    Producer,
    /// The node receives a message without sending a response.
    Consumer,
}

/// The node that wrote a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanResource<'a> {
    /// The service, program or component; empty if unknown.
    pub node: &'a str,
    /// The host with the clock that the resource reads; empty if unknown.
    pub host: &'a str,
    /// Parameters that all spans of the resource share.
    pub parameters: Vec<(&'a str, Cow<'a, str>)>,
}

/// Number of a resource in a [`SpanSink`](super::SpanSink), dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(transparent)]
#[serde(transparent)]
pub struct ResourceId(u32);

impl ResourceId {
    /// The id of the resource at this index.
    pub const fn from_index(index: usize) -> ResourceId {
        ResourceId(index as u32)
    }

    /// The index of the resource.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One span. Times are nanoseconds since the Unix epoch on the clock of its resource's host.
#[derive(Clone, Debug)]
pub struct Span<'a> {
    /// Trace of the span.
    pub trace: TracingId<'a>,
    /// Id of the span, unique in the trace. Reports with one id and one node are parts of one span.
    /// The two halves of one call may share it, as Zipkin's do, and so may several receivers of one
    /// message.
    pub id: TracingId<'a>,
    /// The span that this one is part of.
    pub parent: Option<TracingId<'a>>,
    /// Whether the parent is known not to wait for the span: the span follows from the parent.
    pub follows: bool,
    /// Depth of the span in its call stack, for sources that give depths and [`Span::order`] in
    /// place of parents: the parent is the last span before this one in that order that is less
    /// deep.
    pub depth: Option<u32>,
    /// Position of the span among the spans of its trace or of its parent, if the source has it.
    pub order: Option<i64>,
    /// The node that wrote the span.
    pub resource: ResourceId,
    /// Operation of the span.
    pub operation: &'a str,
    /// Role of the span at its node.
    pub kind: SpanKind,
    /// The node that a client's span calls, if the client knows it; for a server's span, the node
    /// that calls.
    pub peer: Option<&'a str>,
    /// When the span began.
    pub begin: Option<i64>,
    /// When the span ended.
    pub end: Option<i64>,
    /// Duration of the span in nanoseconds, if this report has neither begin nor end.
    pub duration: Option<i64>,
    /// Whether the span failed.
    pub failed: bool,
    /// Probability that the span belongs to its trace, if the source has it.
    pub probability: Option<f64>,
    /// Size of the call in bytes.
    pub bytes_in: Option<i64>,
    /// Size of the response in bytes.
    pub bytes_out: Option<i64>,
    /// Parameters of the span: names and values as in the source.
    pub parameters: &'a [(&'a str, Cow<'a, str>)],
}

impl<'a> Span<'a> {
    /// Creates a span with only these facts.
    pub fn new(
        trace: TracingId<'a>,
        id: TracingId<'a>,
        resource: ResourceId,
        operation: &'a str,
    ) -> Span<'a> {
        Span {
            trace,
            id,
            parent: None,
            follows: false,
            depth: None,
            order: None,
            resource,
            operation,
            kind: SpanKind::Unknown,
            peer: None,
            begin: None,
            end: None,
            duration: None,
            failed: false,
            probability: None,
            bytes_in: None,
            bytes_out: None,
            parameters: &[],
        }
    }
}

impl TracingId<'_> {
    /// Returns a number for the id. Two texts share one with negligible probability.
    pub(super) fn id_key(self) -> u128 {
        match self {
            TracingId::Number(number) => number,
            TracingId::Text(text) => twox_hash::XxHash3_128::oneshot(text.as_bytes()),
        }
    }
}
