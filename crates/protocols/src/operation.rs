//! What a message says it does.

use crate::piece::{Place, Speaker};
use crate::trace_context::TraceContext;

/// What a message is in the exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// It asks, and something will answer.
    Request,
    /// It answers.
    Response,
    /// It tells, and nothing answers.
    OneWay,
}

/// One request, response or one-way message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Where it begins: the time of the piece in which its first byte is, and the number of bytes
    /// in front of that byte in the same call. Within a piece of HTTP/1, where lines of heads are
    /// left out, that number counts kept bytes only.
    pub place: Place,
    /// What it is in the exchange.
    pub role: Role,
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
pub struct Said {
    /// Who said it.
    pub speaker: Speaker,
    /// What was said.
    pub operation: Operation,
}

/// Where parsers put operations.
pub(crate) struct Out<'a> {
    said: &'a mut Vec<Said>,
    speaker: Speaker,
}

impl<'a> Out<'a> {
    /// Operations that `speaker` says go to the end of `said`.
    pub(crate) fn new(said: &'a mut Vec<Said>, speaker: Speaker) -> Out<'a> {
        Out { said, speaker }
    }

    /// The same for what `speaker` says.
    pub(crate) fn of(&mut self, speaker: Speaker) -> Out<'_> {
        Out { said: self.said, speaker }
    }

    pub(crate) fn push(&mut self, operation: Operation) {
        self.said.push(Said { speaker: self.speaker, operation });
    }

    /// Number of operations so far.
    pub(crate) fn count(&self) -> usize {
        self.said.len()
    }

    /// Who said what is behind the first `count` operations, and where it begins.
    pub(crate) fn places_since(&self, count: usize) -> impl Iterator<Item = (Speaker, Place)> {
        let since = self.said.get(count..).unwrap_or_default();
        since.iter().map(|said| (said.speaker, said.operation.place))
    }

    pub(crate) fn extend(&mut self, operations: impl IntoIterator<Item = Operation>) {
        operations.into_iter().for_each(|operation| self.push(operation));
    }
}

impl Operation {
    /// An operation that says nothing yet.
    pub(crate) fn new(place: Place, role: Role, protocol: &'static str) -> Operation {
        Operation {
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
    pub(crate) fn named(mut self, name: impl Into<String>) -> Operation {
        self.name = name.into();
        self
    }

    /// Says how it ended, and whether that is the server's failure.
    pub(crate) fn ended(mut self, status: impl Into<String>, is_error: bool) -> Operation {
        (self.status, self.is_error) = (status.into(), is_error);
        self
    }

    /// Says what pairs it with its answer.
    pub(crate) fn of_call(mut self, call: u64) -> Operation {
        self.call = Some(call);
        self
    }
}
