//! The table: a row for each operation, by the message that it is of; a pipeline has several. Where
//! both ends tell it, what the sender's log says comes first, and what that one does not know is
//! the receiver's.

use message_trace::table::operations::{OperationRole, OperationRow, OperationWriter};
use message_trace::{DataPath, PathError};
use out_of_core::{ReadFailure, SortedRuns};
use protocols::Role;

use crate::operations::join::Joined;
use crate::told::{Operation, Told};

/// Writes the operations in `joined` to `path`, in the order of their messages. Returns how many
/// there are.
///
/// # Errors
/// When a file cannot be written or read.
pub(crate) fn write(
    path: &DataPath,
    joined: &SortedRuns<Joined>,
    told: &Told,
) -> Result<u64, PathError> {
    let mut writer = OperationWriter::create(path)?;
    let failed = ReadFailure::default();
    let (mut last, mut sides) = (0, [Vec::new(), Vec::new()]);
    let mut count = 0;
    for next in joined.iter(&failed) {
        let Some(operation) = told.get(next.operation as usize) else { continue };
        if next.message != last {
            count += push(&mut writer, last, &mut sides, told)?;
        }
        last = next.message;
        let [sender, receiver] = &mut sides;
        if next.side == 0 { sender } else { receiver }.push(*operation);
    }
    count += push(&mut writer, last, &mut sides, told)?;
    failed.check()?;
    writer.finish()?;
    Ok(count)
}

/// Writes the operations of a message, as each side tells them in their order, and forgets them.
/// Returns how many there are.
fn push(
    writer: &mut OperationWriter,
    message: u64,
    [sender, receiver]: &mut [Vec<Operation>; 2],
    told: &Told,
) -> Result<u64, PathError> {
    let count = sender.len().max(receiver.len());
    for place in 0..count {
        let of = match (sender.get(place), receiver.get(place)) {
            (Some(one), Some(other)) => both(one, other),
            (Some(one), None) | (None, Some(one)) => *one,
            (None, None) => continue,
        };
        writer.push(&row(message, &of, told))?;
    }
    sender.clear();
    receiver.clear();
    Ok(count as u64)
}

/// What two logs know of an operation together; the first one comes first.
fn both(first: &Operation, other: &Operation) -> Operation {
    // One that has no name was not understood, as where a recording began in the middle.
    let [main, rest] =
        if first.name == 0 && other.name != 0 { [other, first] } else { [first, other] };
    let is_ended = main.status != 0;
    Operation {
        status: if is_ended { main.status } else { rest.status },
        is_error: if is_ended { main.is_error } else { main.is_error || rest.is_error },
        detail: if main.detail == 0 { rest.detail } else { main.detail },
        call: main.call.or(rest.call),
        trace: main.trace.or(rest.trace),
        ..*main
    }
}

fn row<'a>(message: u64, of: &Operation, told: &'a Told) -> OperationRow<'a> {
    OperationRow {
        message,
        role: match of.role {
            Role::Request => OperationRole::Request,
            Role::Response => OperationRole::Response,
            Role::OneWay => OperationRole::OneWay,
        },
        protocol: told.text(of.protocol),
        name: told.text(of.name),
        detail: told.text(of.detail),
        status: told.text(of.status),
        is_error: of.is_error,
        call: of.call,
        trace_id: of.trace.map(|trace| trace.trace_id),
        parent_id: of.trace.map(|trace| trace.parent_id),
    }
}
