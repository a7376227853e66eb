//! The operations of a report, in the document of the patterns.

use serde::Serialize;

use crate::operations::OperationCounts;

/// An operation. Numbers of calls are expected numbers of real calls.
#[derive(Serialize)]
pub(super) struct JsonOperation<'a> {
    operation: &'a str,
    node: &'a str,
    root: bool,
    calls: f64,
    answered: f64,
    errors: f64,
    /// Null if no response has a status.
    error_share: Option<f64>,
}

impl<'a> JsonOperation<'a> {
    /// All of `operations`, the ones with the most errors first.
    pub(super) fn from_operations(operations: &OperationCounts<'a>) -> Vec<JsonOperation<'a>> {
        let rows = operations.rows.iter();
        rows.map(|(of, calls)| JsonOperation {
            operation: of.name,
            node: of.node,
            root: of.is_root,
            calls: calls.calls,
            answered: calls.answered,
            errors: calls.errors,
            error_share: calls.error_share(),
        })
        .collect()
    }
}
