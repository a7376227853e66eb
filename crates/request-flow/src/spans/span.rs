//! Span: one line of a tracer's record, in the words that all tracers share.

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

/// What a span is at its node, by OpenTelemetry's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKind {
    /// The tracer does not say.
    #[default]
    Unknown,
    /// Work within the node.
    Internal,
    /// The node serves a call.
    Server,
    /// The node makes a call, and the span lasts until it is answered.
    Client,
    /// The node sends a message that nobody answers to it.
    Producer,
    /// The node takes a message that it does not answer.
    Consumer,
}

/// The node that wrote a span.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SpanResource<'a> {
    /// The service, program or component; empty if it is not known.
    pub node: &'a str,
    /// The host whose clock it reads; empty if it is not known.
    pub host: &'a str,
    /// Parameters that all its spans share.
    pub parameters: Vec<(&'a str, Cow<'a, str>)>,
}

/// Number of a resource in a [`SpanSink`](super::SpanSink).
pub type ResourceId = u32;

/// One span. Times are nanoseconds since the Unix epoch on the clock of its resource's host.
#[derive(Clone, Debug)]
pub struct Span<'a> {
    /// The trace that it is of.
    pub trace: TracingId<'a>,
    /// Its id, unique in the trace. Reports of one id and one node are parts of one span. The two
    /// halves of one call may share it, as Zipkin's do, and so may several that take one message.
    pub id: TracingId<'a>,
    /// The span that it is part of.
    pub parent: Option<TracingId<'a>>,
    /// Whether the parent is known not to wait for it: it follows from the parent.
    pub follows: bool,
    /// Depth of its call stack, for sources that tell this and [`Span::order`] in place of parents:
    /// its parent is the last span before it in that order that is less deep.
    pub depth: Option<u32>,
    /// Its place among the spans of its trace or of its parent, where the source tells one.
    pub order: Option<i64>,
    /// The node that wrote it.
    pub resource: ResourceId,
    /// What it does.
    pub operation: &'a str,
    /// What it is at its node.
    pub kind: SpanKind,
    /// The node that a client's span calls, as far as the client knows it; of a server's span, the
    /// node that calls.
    pub peer: Option<&'a str>,
    /// When it began.
    pub begin: Option<i64>,
    /// When it ended.
    pub end: Option<i64>,
    /// How long it took in nanoseconds, where this report of it says neither begin nor end.
    pub duration: Option<i64>,
    /// Whether it failed.
    pub failed: bool,
    /// Probability that it belongs to its trace, where the source tells one.
    pub probability: Option<f64>,
    /// Size of the call in bytes.
    pub bytes_in: Option<i64>,
    /// Size of the answer in bytes.
    pub bytes_out: Option<i64>,
    /// Its parameters: names and values as the source has them.
    pub parameters: &'a [(&'a str, Cow<'a, str>)],
}

impl<'a> Span<'a> {
    /// A span that nothing but these is known of.
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
    /// A number for the id. Two texts share one with a probability that is nothing.
    pub(super) fn id_key(self) -> u128 {
        match self {
            TracingId::Number(number) => number,
            TracingId::Text(text) => twox_hash::XxHash3_128::oneshot(text.as_bytes()),
        }
    }
}
