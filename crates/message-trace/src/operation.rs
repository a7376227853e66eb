//! What a message says it does, as far as a passage over many messages needs it: what it is in its
//! exchange, the number of its name, how it ended, and the span of a tracer that made it. The words
//! themselves are in `operations.parquet` ([`crate::table::operations`]).

/// What a message is in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationRole {
    /// It asks, and something will answer.
    Request,
    /// It answers.
    Response,
    /// It tells, and nothing answers.
    OneWay,
}

impl OperationRole {
    /// All roles.
    pub const ALL: [OperationRole; 3] =
        [OperationRole::Request, OperationRole::Response, OperationRole::OneWay];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            OperationRole::Request => "request",
            OperationRole::Response => "response",
            OperationRole::OneWay => "one-way",
        }
    }
}

/// What a message says it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationFacts {
    /// What it is in its exchange.
    pub role: OperationRole,
    /// The number of its name, as whoever read the table counts names; `None` where it says none.
    pub name: Option<u32>,
    /// Whether the answering side failed.
    pub is_error: bool,
    /// The trace of a tracer that it belongs to: the lower half of the id. All tracers draw that
    /// half at random, and some have no other.
    pub trace: Option<u64>,
    /// The span of that tracer that made it.
    pub span: Option<u64>,
}

impl OperationFacts {
    /// Of an answer, whether the answering side failed.
    pub fn response_outcome(&self) -> Option<bool> {
        (self.role == OperationRole::Response).then_some(self.is_error)
    }
}
