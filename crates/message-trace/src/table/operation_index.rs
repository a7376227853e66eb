//! Operations by the numbers of their messages, for programs that need them in another order than
//! that of `operations.parquet`.

use out_of_core::{MemoryPool, NameId, NameInterner, SpillableVec};

use crate::table::operations::{OperationReader, OperationRole, OperationRow};
use crate::tuning::OPERATIONS_IN_MEMORY_BYTES;
use crate::{DataDir, PathError};

/// The operations of a recording. Texts are in memory, each once; rows are moved to a temporary
/// file if there are many.
#[derive(Debug, Default)]
pub struct OperationIndex {
    /// Operations in the order of their messages.
    rows: SpillableVec<IndexedOperation>,
    names: NameInterner,
    has_traces: bool,
}

/// A row of the table, with numbers in place of texts.
#[derive(Clone, Copy, Debug)]
struct IndexedOperation {
    message: u64,
    trace_id: Option<u128>,
    parent_id: Option<u64>,
    call: Option<u64>,
    protocol: NameId,
    name: NameId,
    detail: NameId,
    status: NameId,
    role: OperationRole,
    is_error: bool,
}

impl OperationIndex {
    /// Reads the operations of the recording in `data`; none if operations were not recorded.
    ///
    /// # Errors
    /// If the table cannot be read, or a temporary file cannot be written.
    pub fn read(data: &DataDir) -> Result<OperationIndex, PathError> {
        let pool = MemoryPool::new(OPERATIONS_IN_MEMORY_BYTES, data.path());
        let mut this =
            OperationIndex { rows: SpillableVec::new(&pool), ..OperationIndex::default() };
        if let Some(mut reader) = OperationReader::open(data.operations_path())? {
            let mut result = Ok(());
            while reader.read_batch(|row| {
                if result.is_ok() {
                    result = this.push(row);
                }
            })? {}
            result?;
        }
        Ok(this)
    }

    /// Adds the operation of a message after all others.
    ///
    /// # Errors
    /// If a temporary file cannot be written.
    pub fn push(&mut self, row: &OperationRow<'_>) -> Result<(), PathError> {
        let mut number = |text: &str| self.names.intern(text);
        let [protocol, name] = [row.protocol, row.name].map(&mut number);
        let [detail, status] = [row.detail, row.status].map(&mut number);
        let OperationRow { message, role, is_error, call, trace_id, parent_id, .. } = *row;
        self.has_traces |= trace_id.is_some();
        self.rows.push(IndexedOperation {
            message,
            trace_id,
            parent_id,
            call,
            protocol,
            name,
            detail,
            status,
            role,
            is_error,
        })
    }

    /// Returns whether there are no operations.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns whether any operation belongs to a trace of a tracer.
    pub fn has_traces(&self) -> bool {
        self.has_traces
    }

    /// Returns the operation of the message with this number; `None` if unknown.
    pub fn operation_of_message(&self, message: u64) -> Option<OperationRow<'_>> {
        let place = self.rows.partition_point(0..self.rows.len(), |row| row.message < message);
        let row = self.rows.get(place).filter(|row| row.message == message)?;
        let text = |number| self.names.name_of(number);
        Some(OperationRow {
            message,
            role: row.role,
            protocol: text(row.protocol),
            name: text(row.name),
            detail: text(row.detail),
            status: text(row.status),
            is_error: row.is_error,
            call: row.call,
            trace_id: row.trace_id,
            parent_id: row.parent_id,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::operations::OperationWriter;

    #[test]
    fn operations_are_found_by_their_messages() {
        let directory = tempfile::tempdir().unwrap();
        let data = DataDir::new(directory.path());
        assert!(OperationIndex::read(&data).unwrap().is_empty());
        let row = |message, name| OperationRow {
            message,
            role: OperationRole::Request,
            protocol: "http",
            name,
            detail: "",
            status: "",
            is_error: false,
            call: Some(1),
            trace_id: (message == 9).then_some(7),
            parent_id: None,
        };
        let rows = [row(2, "GET /a"), row(5, "GET /b"), row(9, "GET /a")];
        let mut writer = OperationWriter::create(data.operations_path()).unwrap();
        rows.iter().for_each(|row| writer.push(row).unwrap());
        writer.finish().unwrap();

        let index = OperationIndex::read(&data).unwrap();
        let found: Vec<_> =
            (0..11).filter_map(|message| index.operation_of_message(message)).collect();
        assert_eq!(found, rows);
        assert!(index.has_traces() && !index.is_empty());
    }
}
