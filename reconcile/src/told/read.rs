//! The operations of all logs, read: from the file beside a log or, where there is none, worked
//! out of the heads in the log.

use message_trace::{DataPath, PathError};
use out_of_core::{MemoryPool, Names, SpillableVec, workers};
use protocols::operations::{Entry, OperationFile, of_log};
use socket_log::Log;

use crate::error::Error;
use crate::logs::capture::{Capture, LogFile};
use crate::reconciliation::{DamagedLog, Reconciliation};
use crate::told::operation::Operation;
use crate::told::table::Told;

/// Reads the operations of all logs of `capture`, on `threads` threads.
///
/// # Errors
/// When the table has no room. What cannot be read is counted as damage.
pub(crate) fn read(
    capture: &Capture,
    threads: usize,
    outcome: &mut Reconciliation,
) -> Result<Told, Error> {
    let mut told = Told::new(capture);
    let with: Vec<usize> = (0..capture.logs.len())
        .filter(|log| capture.logs.get(*log).is_some_and(has_operations))
        .collect();
    let log = |piece: usize| with.get(piece).and_then(|log| capture.logs.get(*log));
    workers::in_order(
        threads,
        with.len(),
        |piece| Ok::<_, Error>(log(piece).map(|log| OfLog::read(log, &capture.pool)).transpose()?),
        |piece, of_log: Option<OfLog>| {
            let Some((of_log, log)) = of_log.zip(with.get(piece)) else { return Ok(()) };
            outcome.damaged.extend(of_log.damage);
            Ok(told.add(*log, &of_log.operations, &of_log.names)?)
        },
    )?;
    Ok(told)
}

/// Whether a log has heads, or a file of operations beside it.
fn has_operations(log: &LogFile) -> bool {
    log.heads || log.path.with_extension(protocols::operations::EXTENSION).is_file()
}

/// The operations of one log.
struct OfLog {
    operations: SpillableVec<Operation>,
    names: Names,
    damage: Option<DamagedLog>,
}

impl OfLog {
    fn read(log: &LogFile, pool: &MemoryPool) -> Result<OfLog, PathError> {
        let mut this =
            OfLog { operations: SpillableVec::new(pool), names: Names::default(), damage: None };
        if !this.of_file(&log.path)?
            && let Ok(log) = Log::open(&log.path)
        {
            of_log(&log).entries.iter().try_for_each(|entry| this.push(entry))?;
        }
        this.operations.sort_by_key(Operation::key)?;
        Ok(this)
    }

    /// Takes those of the file beside the log at `path`. Returns whether there is one that can be
    /// read, at least its beginning.
    fn of_file(&mut self, path: &DataPath) -> Result<bool, PathError> {
        let file = match OperationFile::of_log(path) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(false),
            Err(error) => {
                self.damaged(path, error.to_string());
                return Ok(false);
            }
        };
        let mut result = Ok(());
        let read = file.for_each(|entry| {
            if result.is_ok() {
                result = self.push(&entry);
            }
        });
        match read {
            Ok(0) => {}
            Ok(left) => self.damaged(path, format!("its last {left} bytes are no operations")),
            Err(error) => self.damaged(path, error.to_string()),
        }
        result.map(|()| true)
    }

    fn damaged(&mut self, log: &DataPath, what: String) {
        let file = log.with_extension(protocols::operations::EXTENSION).display().to_string();
        self.damage = Some(DamagedLog { file, places: 1, what: vec![what] });
    }

    fn push(&mut self, entry: &Entry) -> Result<(), PathError> {
        let Entry { flow, direction, operation } = entry;
        let mut number = |text: &str| self.names.number(text);
        let texts = [operation.protocol, &operation.name, &operation.detail, &operation.status];
        let [protocol, name, detail, status] = texts.map(&mut number);
        self.operations.push(Operation {
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
