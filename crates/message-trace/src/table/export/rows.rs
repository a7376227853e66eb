//! Formats of rows: CSV, and a JSON object per line.

use std::io::{self, Write};
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::cells::{CellColumn, JsonRow, TableCell};
use crate::PathError;

/// Returns the columns of `batch` by name; errors refer to the batch as `path`.
fn named_cells<'batch>(
    path: &Path,
    schema: &'batch Schema,
    batch: &'batch RecordBatch,
) -> Result<Vec<(&'batch str, CellColumn<'batch>)>, PathError> {
    let fields = schema.fields().iter().zip(batch.columns());
    fields
        .map(|(field, array)| {
            Ok((field.name().as_str(), CellColumn::new(path, field.name(), array)?))
        })
        .collect()
}

/// Writes a header and a line per row. Null is empty; a list or names with values are their JSON.
///
/// # Errors
/// If a batch is an error, has a column without a text, or the output cannot be written.
pub(super) fn write_csv(
    schema: &Schema,
    batches: impl IntoIterator<Item = Result<RecordBatch, PathError>>,
    output: impl Write,
    path: &Path,
) -> Result<(), PathError> {
    let refused = |error: csv::Error| PathError::io(path, into_io(error));
    let mut writer = csv::Writer::from_writer(output);
    writer.write_record(schema.fields().iter().map(|field| field.name())).map_err(refused)?;
    let mut text = Vec::new();
    for batch in batches {
        let batch = batch?;
        let columns = named_cells(path, schema, &batch)?;
        for row in 0..batch.num_rows() {
            for (_, cells) in &columns {
                text.clear();
                match cells.cell_at(row) {
                    None => {}
                    Some(TableCell::Text(value)) => text.extend_from_slice(value.as_bytes()),
                    Some(cell) => match cell.not_finite() {
                        Some(word) => text.extend_from_slice(word.as_bytes()),
                        None => append_json(&mut text, &cell, path)?,
                    },
                }
                writer.write_field(&text).map_err(refused)?;
            }
            writer.write_record(None::<&[u8]>).map_err(refused)?;
        }
    }
    writer.flush().map_err(|error| PathError::io(path, error))
}

/// Writes a JSON object per line. Null is omitted.
///
/// # Errors
/// If a batch is an error, has a column without a text, or the output cannot be written.
pub(super) fn write_json_lines(
    schema: &Schema,
    batches: impl IntoIterator<Item = Result<RecordBatch, PathError>>,
    mut output: impl Write,
    path: &Path,
) -> Result<(), PathError> {
    let mut lines = Vec::new();
    for batch in batches {
        let batch = batch?;
        let columns = named_cells(path, schema, &batch)?;
        for row in 0..batch.num_rows() {
            append_json(&mut lines, &JsonRow { columns: &columns, row }, path)?;
            lines.push(b'\n');
            if lines.len() >= crate::tuning::LINES_BEFORE_WRITING {
                output.write_all(&lines).map_err(|error| PathError::io(path, error))?;
                lines.clear();
            }
        }
        output.write_all(&lines).map_err(|error| PathError::io(path, error))?;
        lines.clear();
    }
    Ok(())
}

/// Appends `value` as JSON.
fn append_json(
    text: &mut Vec<u8>,
    value: &impl serde::Serialize,
    path: &Path,
) -> Result<(), PathError> {
    serde_json::to_writer(text, value).map_err(|error| PathError::io(path, error.into()))
}

/// Returns the operating system's error that caused an error of CSV, so that a closed pipe is
/// recognised.
fn into_io(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

#[cfg(test)]
#[path = "rows_tests.rs"]
mod tests;
