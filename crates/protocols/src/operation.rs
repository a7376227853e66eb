//! What a message says it does.

use crate::flow_snippet::{FlowSpeaker, LogPosition};
use crate::trace_context::TraceContext;

/// What a message is in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageRole {
    /// It asks, and something will answer.
    Request,
    /// It answers.
    Response,
    /// It tells, and nothing answers.
    OneWay,
}

/// One request, response or one-way message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolOperation {
    /// Where it begins: the time of the piece in which its first byte is, and the number of bytes
    /// in front of that byte in the same call. Within a piece of HTTP/1, where lines of heads are
    /// left out, that number counts kept bytes only.
    pub place: LogPosition,
    /// What it is in the exchange.
    pub role: MessageRole,
    /// Name of its protocol in the registry.
    pub protocol: &'static str,
    /// What it does, without literals: `GET /cart/{}`, `SELECT books`. Empty where it does not say:
    /// a response is named by the request that it answers.
    pub name: String,
    /// The statement with `?` for each literal, of protocols that carry statements; else empty.
    pub detail: String,
    /// How it ended, in the protocol's own word or number (`200`, `NOT_FOUND`, `23505`). Empty
    /// where it does not say, or says only that all is well.
    pub status: String,
    /// Whether the answering side failed, as OpenTelemetry's conventions have it for the server's
    /// span: of HTTP 500 and above, of gRPC the codes that are the server's fault.
    pub is_error: bool,
    /// What pairs question and answer on this connection, where the protocol has it.
    pub call: Option<u64>,
    /// Span of a tracer that made the request.
    pub trace: Option<TraceContext>,
}

/// An operation, and who said it: what is told of one side may become certain by what the other
/// says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpokenOperation {
    /// Who said it.
    pub speaker: FlowSpeaker,
    /// What was said.
    pub operation: ProtocolOperation,
}

/// Where parsers put operations.
pub(crate) struct OperationSink<'a> {
    operations: &'a mut Vec<SpokenOperation>,
    speaker: FlowSpeaker,
}

impl<'a> OperationSink<'a> {
    /// Operations that `speaker` says go to the end of `said`.
    pub(crate) fn new(
        said: &'a mut Vec<SpokenOperation>,
        speaker: FlowSpeaker,
    ) -> OperationSink<'a> {
        OperationSink { operations: said, speaker }
    }

    /// The same for what `speaker` says.
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

    /// Who said what is behind the first `count` operations, and where it begins.
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
    /// An operation that says nothing yet.
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

    /// Names it.
    pub(crate) fn with_name(mut self, name: impl Into<String>) -> ProtocolOperation {
        self.name = name.into();
        self
    }

    /// Says how it ended, and whether that is the server's failure.
    pub(crate) fn with_status(
        mut self,
        status: impl Into<String>,
        is_error: bool,
    ) -> ProtocolOperation {
        (self.status, self.is_error) = (status.into(), is_error);
        self
    }

    /// Says what pairs it with its answer.
    pub(crate) fn with_call(mut self, call: u64) -> ProtocolOperation {
        self.call = Some(call);
        self
    }
}
