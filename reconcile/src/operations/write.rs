//! The table: a row for each message that begins an operation. Where both ends tell it, what the
//! sender's log says comes first, and what that one does not know is the receiver's.

use std::path::Path;

use message_trace::PathError;
use message_trace::table::operations::{OperationRole, OperationRow, OperationWriter};
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
    path: &Path,
    joined: &SortedRuns<Joined>,
    told: &Told,
) -> Result<u64, PathError> {
    let mut writer = OperationWriter::create(path)?;
    let failed = ReadFailure::default();
    let mut of: Option<(u64, Operation)> = None;
    let mut count = 0;
    for next in joined.iter(&failed) {
        let Some(operation) = told.get(next.operation as usize) else { continue };
        match &mut of {
            Some((message, known)) if *message == next.message => *known = both(known, operation),
            before => {
                if let Some((message, known)) = before.replace((next.message, *operation)) {
                    writer.push(&row(message, &known, told))?;
                    count += 1;
                }
            }
        }
    }
    if let Some((message, known)) = of {
        writer.push(&row(message, &known, told))?;
        count += 1;
    }
    failed.check()?;
    writer.finish()?;
    Ok(count)
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
