//! Writer and reader of `causes.parquet`; [`super`] describes its columns.

use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{self, BatchColumns, nullable_field, required_field};
use message_trace::table::{self, ColumnEncoding, GROUP_ROWS, RowGroupWriter};
use message_trace::{DataPath, PathError};

fn cause_schema() -> SchemaRef {
    columns::build_schema([
        nullable_field("parent", DataType::Int64),
        required_field("probability", DataType::Float64),
    ])
}

/// Writer of the table of causes; the file appears once it is finished.
pub struct CauseWriter {
    path: DataPath,
    table: RowGroupWriter,
    parents: Vec<Option<i64>>,
    probabilities: Vec<f64>,
}

impl CauseWriter {
    /// Begins the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: impl Into<DataPath>) -> Result<CauseWriter, PathError> {
        let path = &path.into();
        let stored = |column: &str| match column {
            "parent" => ColumnEncoding::Differences,
            _ => ColumnEncoding::Once,
        };
        Ok(CauseWriter {
            path: path.to_owned(),
            table: RowGroupWriter::create(path, cause_schema(), stored)?,
            parents: Vec::new(),
            probabilities: Vec::new(),
        })
    }

    /// Appends the cause of the next message: the message that caused it, or `None` if it began a
    /// path; and the probability that this is the cause.
    ///
    /// # Errors
    /// If the file cannot be written, or the number of the cause is too large for it.
    pub fn push(&mut self, parent: Option<u64>, probability: f64) -> Result<(), PathError> {
        let number = parent.map(i64::try_from).transpose();
        self.parents.push(number.map_err(|why| PathError::malformed(&self.path, why))?);
        self.probabilities.push(probability);
        if self.parents.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Completes the table and gives the file its name.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        if !self.parents.is_empty() {
            self.flush()?;
        }
        self.table.finish()
    }

    fn flush(&mut self) -> Result<(), PathError> {
        let encoder = self.table.encoder();
        let mut group = encoder.begin_group()?;
        group.write_rows(&[
            columns::int64_array(self.parents.drain(..)),
            Arc::new(Float64Array::from(std::mem::take(&mut self.probabilities))),
        ])?;
        self.table.append_group(group.finish_group()?)
    }
}

/// Calls `each` for each message of the table at `path`, in order, with the number of the message
/// that caused it (`None` if it began a path) and the probability of this cause.
pub(super) fn for_each_cause(
    path: &DataPath,
    mut each: impl FnMut(Option<i64>, f64) -> Result<(), PathError>,
) -> Result<(), PathError> {
    for batch in table::read_batches(path)? {
        let batch = batch?;
        let table = BatchColumns::new(path, &batch);
        let (parents, probabilities) =
            (table.int64_column("parent")?, table.float64_column("probability")?);
        for (parent, probability) in parents.into_iter().zip(probabilities) {
            if let Some(negative) = parent.filter(|parent| *parent < 0) {
                return Err(table.malformed_error(format!("invalid message number {negative}")));
            }
            each(parent, table.required_value("probability", probability)?)?;
        }
    }
    Ok(())
}
