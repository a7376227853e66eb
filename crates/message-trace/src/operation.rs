//! Operations of messages in memory: the role, the number of the name, the outcome, and the span of
//! a tracer. The texts are only in `operations.parquet` ([`crate::table::operations`]).

/// Role of a message in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationRole {
    /// A request, which will be answered.
    Request,
    /// A response.
    Response,
    /// A message that is not answered.
    OneWay,
}

impl OperationRole {
    /// All roles.
    pub const ALL: [OperationRole; 3] =
        [OperationRole::Request, OperationRole::Response, OperationRole::OneWay];

    /// Returns the name in the table.
    pub fn name(self) -> &'static str {
        match self {
            OperationRole::Request => "request",
            OperationRole::Response => "response",
            OperationRole::OneWay => "one-way",
        }
    }
}

/// The operation of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFacts {
    /// Role of the operation's message in the exchange.
    pub role: OperationRole,
    /// The number of the operation's name, assigned by the reader of the table; `None` if it has no
    /// name.
    pub name: Option<u32>,
    /// Whether the answering side failed.
    pub is_error: bool,
    /// The trace of a tracer that the operation belongs to: the lower half of the id. All tracers
    /// draw that half at random, and some have no other.
    pub trace: Option<u64>,
    /// The span of the same tracer that made the operation.
    pub span: Option<u64>,
}

impl OperationFacts {
    /// Returns for a response whether the answering side failed; `None` for other messages.
    pub fn response_outcome(&self) -> Option<bool> {
        (self.role == OperationRole::Response).then_some(self.is_error)
    }
}
