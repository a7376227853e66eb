//! Operation: what a message does, as its protocol names it.

use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::trace_context::TraceContext;

/// Role of a message in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageRole {
    /// A request, which will be answered.
    Request,
    /// A response.
    Response,
    /// A message without a response.
    OneWay,
}

/// A request, response or one-way message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolOperation {
    /// Log position where the operation begins: time of the snippet with its first byte, and the
    /// number of bytes before that byte in the same call. In a snippet of HTTP/1, where header
    /// lines are left out, only captured bytes count.
    pub place: LogPosition,
    /// Role in the exchange.
    pub role: MessageRole,
    /// Name of the protocol in the registry.
    pub protocol: &'static str,
    /// Name without literals: `GET /cart/{}`, `SELECT books`. Empty if the message does not contain
    /// it: a response is named by the request that it answers.
    pub name: String,
    /// Statement with `?` for each literal, in protocols that carry statements; otherwise empty.
    pub detail: String,
    /// Outcome in the protocol's own word or number (`200`, `NOT_FOUND`, `23505`). Empty if there
    /// is none, or if it only means success.
    pub status: String,
    /// Whether the responding side failed, by OpenTelemetry's conventions for the server's span:
    /// HTTP 500 and above, and the gRPC codes that are the server's fault.
    pub is_error: bool,
    /// Id that pairs request and response on this connection, if the protocol has one.
    pub call: Option<u64>,
    /// Tracer span that made the request.
    pub trace: Option<TraceContext>,
}

/// Operation and its sender: an operation of one side may become certain by what the other side
/// sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpokenOperation {
    /// Sender of the message.
    pub speaker: FlowSpeaker,
    /// Operation of the message.
    pub operation: ProtocolOperation,
}

/// Sink in which parsers put operations.
pub(crate) struct OperationSink<'a> {
    operations: &'a mut Vec<SpokenOperation>,
    speaker: FlowSpeaker,
}

impl<'a> OperationSink<'a> {
    /// Creates a sink that appends operations of `speaker` to `said`.
    pub(crate) fn new(
        said: &'a mut Vec<SpokenOperation>,
        speaker: FlowSpeaker,
    ) -> OperationSink<'a> {
        OperationSink { operations: said, speaker }
    }

    /// Returns a sink for operations of `speaker`.
    pub(crate) fn for_speaker(&mut self, speaker: FlowSpeaker) -> OperationSink<'_> {
        OperationSink { operations: self.operations, speaker }
    }

    pub(crate) fn push(&mut self, operation: ProtocolOperation) {
        self.operations.push(SpokenOperation { speaker: self.speaker, operation });
    }

    /// Number of operations so far.
    pub(crate) fn operation_count(&self) -> usize {
        self.operations.len()
    }

    /// Sender and log position of each operation after the first `count`.
    pub(crate) fn places_since(
        &self,
        count: usize,
    ) -> impl Iterator<Item = (FlowSpeaker, LogPosition)> {
        let since = self.operations.get(count..).unwrap_or_default();
        since.iter().map(|said| (said.speaker, said.operation.place))
    }

    pub(crate) fn extend(&mut self, operations: impl IntoIterator<Item = ProtocolOperation>) {
        operations.into_iter().for_each(|operation| self.push(operation));
    }
}

impl ProtocolOperation {
    /// Creates an operation without a name or status.
    pub(crate) fn new(
        place: LogPosition,
        role: MessageRole,
        protocol: &'static str,
    ) -> ProtocolOperation {
        ProtocolOperation {
            place,
            role,
            protocol,
            name: String::new(),
            detail: String::new(),
            status: String::new(),
            is_error: false,
            call: None,
            trace: None,
        }
    }

    /// Sets the name of the operation.
    pub(crate) fn with_name(mut self, name: impl Into<String>) -> ProtocolOperation {
        self.name = name.into();
        self
    }

    /// Sets the outcome, and whether it is the server's failure.
    pub(crate) fn with_status(
        mut self,
        status: impl Into<String>,
        is_error: bool,
    ) -> ProtocolOperation {
        (self.status, self.is_error) = (status.into(), is_error);
        self
    }

    /// Sets the id that pairs a request with its response.
    pub(crate) fn with_call(mut self, call: u64) -> ProtocolOperation {
        self.call = Some(call);
        self
    }
}
