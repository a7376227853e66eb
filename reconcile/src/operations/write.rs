//! The table: a row for each operation, by its message; a pipeline has several. If both ends
//! recorded an operation, the sender's log takes precedence, and the receiver's fills in the rest.

use message_trace::table::operations::{OperationRole, OperationRow, OperationWriter};
use message_trace::{DataPath, PathError};
use out_of_core::{NameInterner, ReadFailure, SortedRuns};
use protocols::MessageRole;

use crate::operations::join::JoinedOperation;
use crate::recorded_operations::{RecordedOperation, RecordedOperations};

/// Writes the operations in `joined` to `path`, in the order of their messages. Returns their
/// number.
///
/// # Errors
/// Fails if a file cannot be written or read.
pub(crate) fn write_table(
    path: &DataPath,
    joined: &SortedRuns<JoinedOperation>,
    recorded: &RecordedOperations,
) -> Result<u64, PathError> {
    let mut writer = OperationWriter::create(path)?;
    let failed = ReadFailure::default();
    let (mut last, mut sides) = (0, [Vec::new(), Vec::new()]);
    let mut count = 0;
    for next in joined.iter(&failed) {
        let Some(operation) = recorded.get(next.operation as usize) else { continue };
        if next.message != last {
            count += push_operations(&mut writer, last, &mut sides, recorded)?;
        }
        last = next.message;
        let [sender, receiver] = &mut sides;
        if next.side == 0 { sender } else { receiver }.push(*operation);
    }
    count += push_operations(&mut writer, last, &mut sides, recorded)?;
    failed.check_failure()?;
    writer.finish()?;
    Ok(count)
}

/// Writes and clears the operations of a message, in the order of each side's log. Returns their
/// number.
fn push_operations(
    writer: &mut OperationWriter,
    message: u64,
    [sender, receiver]: &mut [Vec<RecordedOperation>; 2],
    recorded: &RecordedOperations,
) -> Result<u64, PathError> {
    let count = sender.len().max(receiver.len());
    for place in 0..count {
        let of = match (sender.get(place), receiver.get(place)) {
            (Some(one), Some(other)) => combine_operations(one, other),
            (Some(one), None) | (None, Some(one)) => *one,
            (None, None) => continue,
        };
        writer.push(&operation_row(message, &of, recorded))?;
    }
    sender.clear();
    receiver.clear();
    Ok(count as u64)
}

/// Combines the facts of two logs about an operation; the first one takes precedence.
fn combine_operations(first: &RecordedOperation, other: &RecordedOperation) -> RecordedOperation {
    let unknown = NameInterner::UNKNOWN;
    // An operation without a name was not understood, for example because its recording began in
    // the middle.
    let [main, rest] = if first.name == unknown && other.name != unknown {
        [other, first]
    } else {
        [first, other]
    };
    let is_ended = main.status != unknown;
    RecordedOperation {
        status: if is_ended { main.status } else { rest.status },
        is_error: if is_ended { main.is_error } else { main.is_error || rest.is_error },
        detail: if main.detail == unknown { rest.detail } else { main.detail },
        call: main.call.or(rest.call),
        trace: main.trace.or(rest.trace),
        ..*main
    }
}

fn operation_row<'a>(
    message: u64,
    of: &RecordedOperation,
    recorded: &'a RecordedOperations,
) -> OperationRow<'a> {
    OperationRow {
        message,
        role: match of.role {
            MessageRole::Request => OperationRole::Request,
            MessageRole::Response => OperationRole::Response,
            MessageRole::OneWay => OperationRole::OneWay,
        },
        protocol: recorded.text_of_name(of.protocol),
        name: recorded.text_of_name(of.name),
        detail: recorded.text_of_name(of.detail),
        status: recorded.text_of_name(of.status),
        is_error: of.is_error,
        call: of.call,
        trace_id: of.trace.map(|trace| trace.trace_id),
        parent_id: of.trace.map(|trace| trace.parent_id),
    }
}
