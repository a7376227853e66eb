//! The operations of calls, if they were recorded (`record --protocols`), looked up by the numbers
//! of messages, in whatever order calls are written.

use analyze::calls::windows::TracedCall;
use message_trace::table::OperationIndex;
use message_trace::table::operations::OperationRow;
use message_trace::{DataDir, PathError};

use super::spans::SpanSide;

/// The operations of a recording; empty if it has none.
#[derive(Debug, Default)]
pub(crate) struct OperationLookup(OperationIndex);

/// The operations of the two messages of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallOperation<'a> {
    /// The operation of the request.
    pub(crate) request: Option<OperationRow<'a>>,
    /// The operation of the response.
    pub(crate) response: Option<OperationRow<'a>>,
}

/// The span of a tracer that made a request: the id of its trace, and its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TracerContext {
    /// Id of the trace.
    pub(crate) trace: u128,
    /// Id of the span.
    pub(crate) span: u64,
}

impl OperationLookup {
    /// Reads the operations of the recording in `data`.
    ///
    /// # Errors
    /// When the table cannot be read, or a temporary file cannot be written.
    pub(crate) fn read_operations(data: &DataDir) -> Result<OperationLookup, PathError> {
        OperationIndex::read(data).map(OperationLookup)
    }

    /// Table of the given operations, in the order of their messages.
    #[cfg(test)]
    pub(super) fn from_rows<'a>(
        rows: impl IntoIterator<Item = OperationRow<'a>>,
    ) -> OperationLookup {
        let mut index = OperationIndex::default();
        rows.into_iter().for_each(|row| index.push(&row).unwrap());
        OperationLookup(index)
    }

    /// Whether any operation belongs to a trace of a tracer.
    pub(crate) fn has_traces(&self) -> bool {
        self.0.has_traces()
    }

    /// The operations of the messages of a call.
    pub(crate) fn operation_of_call(&self, call: &TracedCall<'_>) -> CallOperation<'_> {
        let of = |number| self.0.operation_of_message(number);
        CallOperation {
            request: call.request.and_then(|request| of(request.number)),
            response: call.response.and_then(|response| of(response.number)),
        }
    }

    /// The span of a tracer that made the message with the number `message`.
    pub(crate) fn context_of_message(&self, message: u64) -> Option<TracerContext> {
        self.0
            .operation_of_message(message)
            .and_then(|operation| tracer_context(operation.trace_id, operation.parent_id))
    }
}

fn tracer_context(trace: Option<u128>, span: Option<u64>) -> Option<TracerContext> {
    trace.zip(span).map(|(trace, span)| TracerContext { trace, span })
}

impl<'a> CallOperation<'a> {
    /// The name of the call's operation; empty if it is not known.
    pub(crate) fn name(&self) -> &'a str {
        self.request.map_or("", |request| request.name)
    }

    /// The protocol; empty if it is not known.
    pub(crate) fn protocol(&self) -> &'a str {
        self.request.or(self.response).map_or("", |operation| operation.protocol)
    }

    /// The result of the call, in the protocol's own word; empty if it is not known.
    pub(crate) fn status(&self) -> &'a str {
        self.response.or(self.request).map_or("", |operation| operation.status)
    }

    /// Whether the call failed, as the node on `side` sees it.
    pub(crate) fn is_error(&self, side: SpanSide) -> bool {
        self.response.or(self.request).is_some_and(|operation| match side {
            SpanSide::Caller => operation.is_error_to_caller(),
            SpanSide::Callee => operation.is_error,
        })
    }

    /// The span of a tracer that made the request.
    pub(crate) fn request_context(&self) -> Option<TracerContext> {
        self.request.and_then(|request| tracer_context(request.trace_id, request.parent_id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::testing;
    use message_trace::table::operations::OperationWriter;

    #[test]
    fn messages_of_calls_are_found_by_their_numbers() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        let calls = testing::calls();
        assert_eq!(
            OperationLookup::read_operations(&data).unwrap().operation_of_call(&calls[0]),
            CallOperation::default()
        );
        let mut writer = OperationWriter::create(data.operations_path()).unwrap();
        testing::operation_rows().iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();

        let operations = OperationLookup::read_operations(&data).unwrap();
        let found: Vec<(&str, &str, &str)> = calls
            .iter()
            .map(|call| operations.operation_of_call(call))
            .map(|operation| (operation.protocol(), operation.name(), operation.status()))
            .collect();
        let expected = [
            ("http", "GET /cart/{}", "404"),
            ("postgresql", "SELECT books", "23505"),
            ("postgresql", "INSERT orders", ""),
            ("amqp", "basic.publish orders", ""),
            ("", "", ""),
        ];
        assert_eq!(found, expected);
        let not_found = operations.operation_of_call(&calls[0]);
        assert!(not_found.is_error(SpanSide::Caller) && !not_found.is_error(SpanSide::Callee));
        assert!(operations.operation_of_call(&calls[1]).is_error(SpanSide::Callee));
        assert_eq!(
            operations.context_of_message(0),
            Some(TracerContext { trace: 0xaa, span: 0xbb })
        );
        assert_eq!((operations.context_of_message(1), operations.has_traces()), (None, true));
    }
}
