//! Reader of the operations of all logs: from the operation file next to a log or, if there is
//! none, derived from the snippets in the log.

use message_trace::{DataPath, PathError};
use out_of_core::{MemoryPool, NameInterner, SpillableVec, workers};
use protocols::operations::{OperationEntry, OperationFile, operations_of_log};
use socket_log::SocketLog;

use crate::error::Error;
use crate::logs::capture::{Capture, LogFile};
use crate::reconciliation::{DamagedLog, Reconciliation};
use crate::recorded_operations::operation::RecordedOperation;
use crate::recorded_operations::operation_table::RecordedOperations;

/// Reads the operations of all logs of `capture`, on `threads` threads.
///
/// # Errors
/// Fails if there is no space for the table. Unreadable operations are counted as damage.
pub(crate) fn read_operations(
    capture: &Capture,
    threads: usize,
    outcome: &mut Reconciliation,
) -> Result<RecordedOperations, Error> {
    let mut recorded = RecordedOperations::new(capture);
    let with: Vec<usize> = (0..capture.logs.len())
        .filter(|log| capture.logs.get(*log).is_some_and(has_operations))
        .collect();
    let log = |piece: usize| with.get(piece).and_then(|log| capture.logs.get(*log));
    workers::run_in_order(
        threads,
        with.len(),
        |piece| {
            Ok::<_, Error>(
                log(piece)
                    .map(|log| LogOperationsReader::read_log(log, &capture.pool))
                    .transpose()?,
            )
        },
        |piece, of_log: Option<LogOperationsReader>| {
            let Some((of_log, log)) = of_log.zip(with.get(piece)) else { return Ok(()) };
            outcome.damaged.extend(of_log.damage);
            Ok(recorded.add_log(*log, &of_log.operations, &of_log.names)?)
        },
    )?;
    Ok(recorded)
}

/// Whether a log has snippets, or an operation file next to it.
fn has_operations(log: &LogFile) -> bool {
    log.snippets || log.path.with_extension(protocols::operations::EXTENSION).is_file()
}

/// The operations of one log.
struct LogOperationsReader {
    operations: SpillableVec<RecordedOperation>,
    names: NameInterner,
    damage: Option<DamagedLog>,
}

impl LogOperationsReader {
    /// Reads the operations of a log, sorted.
    fn read_log(log: &LogFile, pool: &MemoryPool) -> Result<LogOperationsReader, PathError> {
        let mut this = LogOperationsReader {
            operations: SpillableVec::new(pool),
            names: NameInterner::default(),
            damage: None,
        };
        if !this.read_file(&log.path)?
            && let Ok(log) = SocketLog::open(&log.path)
        {
            operations_of_log(&log).entries.iter().try_for_each(|entry| this.push_entry(entry))?;
        }
        this.operations.sort_by_key(RecordedOperation::sort_key)?;
        Ok(this)
    }

    /// Reads the operation file next to the log at `path`. Returns whether it exists and is
    /// readable, at least at its beginning.
    fn read_file(&mut self, path: &DataPath) -> Result<bool, PathError> {
        let file = match OperationFile::open_for_log(path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.add_damage(path, error.to_string());
                return Ok(false);
            }
        };
        let mut result = Ok(());
        let read = file.for_each(|entry| {
            if result.is_ok() {
                result = self.push_entry(&entry);
            }
        });
        match read {
            Ok(0) => {}
            Ok(left) => self.add_damage(path, format!("its last {left} bytes are not operations")),
            Err(error) => self.add_damage(path, error.to_string()),
        }
        result.map(|()| true)
    }

    fn add_damage(&mut self, log: &DataPath, what: String) {
        let file = log.with_extension(protocols::operations::EXTENSION).display().to_string();
        self.damage = Some(DamagedLog { file, places: 1, what: vec![what] });
    }

    fn push_entry(&mut self, entry: &OperationEntry) -> Result<(), PathError> {
        let OperationEntry { flow, direction, operation } = entry;
        let mut number = |text: &str| self.names.intern(text);
        let texts = [operation.protocol, &operation.name, &operation.detail, &operation.status];
        let [protocol, name, detail, status] = texts.map(&mut number);
        self.operations.push(RecordedOperation {
            flow: *flow,
            direction: *direction,
            ticks: operation.place.ticks,
            at: operation.place.at,
            role: operation.role,
            is_error: operation.is_error,
            protocol,
            name,
            detail,
            status,
            call: operation.call,
            trace: operation.trace,
        })
    }
}
