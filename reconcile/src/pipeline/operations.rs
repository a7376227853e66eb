//! Pass 11: if logs have operations, each message that begins an operation is joined with it.

use std::io;

use message_trace::PathError;
use out_of_core::{ExternalSorter, MemoryBudget};

use crate::error::Error;
use crate::indices::{ProcessIndex, SocketIndex};
use crate::operations::{JoinedOperation, join_operations, write_table};
use crate::pipeline::connect::ConnectedCapture;
use crate::pipeline::run::PipelineRun;
use crate::reconciliation::{Reconciliation, add_count};
use crate::recorded_operations::RecordedOperation;
use crate::rows::operation_start::OperationStart;
use crate::tuning::SORTED_AT_ONCE;

/// Sorter for messages that begin operations; `None` if no log has operations.
pub(crate) fn operation_sorter<'a>(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    budget: &'a MemoryBudget,
) -> Option<ExternalSorter<'a, OperationStart>> {
    let some = !connected.recorded_operations.is_empty();
    some.then(|| ExternalSorter::new(budget, run.data.path(), SORTED_AT_ONCE))
}

/// Writes `operations.parquet`: the messages that have `begun` an operation, each with the recorded
/// operation. If no log has operations, there is no table, and a previous one is removed. `used`
/// marks the connections that have messages.
pub(crate) fn write_operations(
    run: &PipelineRun,
    connected: &ConnectedCapture,
    used: &[bool],
    begun: Option<ExternalSorter<OperationStart>>,
    budget: &MemoryBudget,
    outcome: &mut Reconciliation,
) -> Result<(), Error> {
    let path = run.data.operations_path();
    let Some(messages) = begun else {
        return match path.remove_file() {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(PathError::io(&path, error).into())
            }
            _ => Ok(()),
        };
    };
    run.progress.begin_step("writing operations", 0);
    let recorded = &connected.recorded_operations;
    let mut all = ExternalSorter::new(budget, run.data.path(), SORTED_AT_ONCE);
    for (log, range) in recorded.iter_logs() {
        let Some(file) = connected.capture.logs.get(log) else { continue };
        let places = connected.sockets.places_of_log(file);
        let mut clock = file.clock.cursor();
        for place in range {
            let Some(operation) = recorded.get(place) else { continue };
            let time = clock.realtime(operation.ticks);
            let of = places.get(operation.flow).ok_or("its socket was left out");
            match of.and_then(|socket| locate_operation(connected, used, socket, log, operation)) {
                Ok((of, side)) => all.push(OperationStart::new(of, side, time, place as u64))?,
                Err(cause) => add_count(&mut outcome.operations_without_message, cause, 1),
            }
        }
    }
    let mut joined =
        ExternalSorter::<JoinedOperation>::new(budget, run.data.path(), SORTED_AT_ONCE);
    let has_no_id = |number: u64| {
        recorded.get(number as usize).is_some_and(|operation| operation.call.is_none())
    };
    let alone = join_operations(&messages.finish(), &all.finish(), has_no_id, &mut joined)?;
    add_count(&mut outcome.operations_without_message, "no message begins there", alone);
    outcome.operations = write_table(&path, &joined.finish(), recorded)?;
    Ok(outcome.write(run.data)?)
}

/// The place of an operation on `socket` that log number `log` recorded, and its side (0: sender,
/// 1: receiver); or the reason why it has no message.
fn locate_operation(
    connected: &ConnectedCapture,
    used: &[bool],
    socket: SocketIndex,
    log: usize,
    operation: &RecordedOperation,
) -> Result<(u64, usize), &'static str> {
    let ConnectedCapture { sockets, connections, partitions, .. } = connected;
    let side = usize::from(operation.is_received());
    let protocol = sockets.all.get(socket.index()).map(|socket| socket.protocol);
    let protocol = protocol.ok_or("its socket was left out")?;
    let connection = partitions.connection_of.get(socket.index()).and_then(|of| of.get());
    let direction = match connection.and_then(|of| connections.get(of.index())) {
        // A process that talks to itself has no messages.
        Some(_) if connection.and_then(|of| used.get(of.index())) == Some(&false) => {
            return Err("within a process");
        }
        Some(ends) => usize::from(ends.accepting.get() == Some(socket)) ^ side,
        None => 0,
    };
    let by = ProcessIndex::from_index(log).node();
    Ok((OperationStart::operation_place(protocol, connection.into(), direction, by), side))
}
