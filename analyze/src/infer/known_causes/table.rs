//! `causes.parquet`.

use std::sync::Arc;

use arrow_array::Float64Array;
use arrow_schema::{DataType, SchemaRef};
use message_trace::table::columns::{self, Columns, nullable, required};
use message_trace::table::{self, GROUP_ROWS, RowGroupWriter, Stored};
use message_trace::{DataPath, PathError};

fn schema() -> SchemaRef {
    columns::schema([
        nullable("parent", DataType::Int64),
        required("probability", DataType::Float64),
    ])
}

/// The table of causes in the making; it is there once it is finished.
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
    /// When the file cannot be made.
    pub fn create(path: impl Into<DataPath>) -> Result<CauseWriter, PathError> {
        let path = &path.into();
        let stored = |column: &str| match column {
            "parent" => Stored::Differences,
            _ => Stored::Once,
        };
        Ok(CauseWriter {
            path: path.to_owned(),
            table: RowGroupWriter::create(path, schema(), stored)?,
            parents: Vec::new(),
            probabilities: Vec::new(),
        })
    }

    /// Appends the cause of the next message: the message that caused it, or `None` where it began
    /// a path; and the probability of that.
    ///
    /// # Errors
    /// When the file cannot be written, or the number of the cause is too large for it.
    pub fn push(&mut self, parent: Option<u64>, probability: f64) -> Result<(), PathError> {
        let number = parent.map(i64::try_from).transpose();
        self.parents.push(number.map_err(|why| PathError::malformed(&self.path, why))?);
        self.probabilities.push(probability);
        if self.parents.len() == GROUP_ROWS { self.flush() } else { Ok(()) }
    }

    /// Ends the table and gives it its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        if !self.parents.is_empty() {
            self.flush()?;
        }
        self.table.finish()
    }

    fn flush(&mut self) -> Result<(), PathError> {
        let encoder = self.table.encoder();
        let mut group = encoder.begin()?;
        group.write(&[
            columns::int64(self.parents.drain(..)),
            Arc::new(Float64Array::from(std::mem::take(&mut self.probabilities))),
        ])?;
        self.table.append(group.finish()?)
    }
}

/// Hands the causes of the table at `path` to `each`, in the order of messages.
pub(super) fn read(
    path: &DataPath,
    mut each: impl FnMut(Option<i64>, f64) -> Result<(), PathError>,
) -> Result<(), PathError> {
    for batch in table::read(path)? {
        let batch = batch?;
        let table = Columns::new(path, &batch);
        let (parents, probabilities) = (table.int64("parent")?, table.float64("probability")?);
        for (parent, probability) in parents.into_iter().zip(probabilities) {
            if let Some(negative) = parent.filter(|parent| *parent < 0) {
                return Err(table.malformed(format!("there is no message {negative}")));
            }
            each(parent, table.some("probability", probability)?)?;
        }
    }
    Ok(())
}
