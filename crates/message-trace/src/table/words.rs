//! The table `words.parquet`: rare words that messages contain, as keyed hashes. It is sorted by
//! all of its columns, and has no row twice.
//!
//! | column | type | meaning |
//! |---|---|---|
//! | `message` | Int64 | the message, by its row in `messages.parquet` |
//! | `end` | Int8 | the end that saw the word: 0 the sender, 1 the receiver |
//! | `word` | Int32 | the hash; equal for equal words within a recording |

use arrow_schema::{DataType, SchemaRef};

use crate::table::columns::{self, BatchColumns, required_field};
use crate::table::{self, BATCH_ROWS, BatchWriter, TableBatches};
use crate::{DataPath, PathError};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WordRow {
    /// Number of the message.
    pub message: u64,
    /// Whether the receiver saw the word; otherwise the sender did.
    pub received: bool,
    /// Keyed hash of the word.
    pub word: i32,
}

fn words_schema() -> SchemaRef {
    columns::build_schema([
        required_field("message", DataType::Int64),
        required_field("end", DataType::Int8),
        required_field("word", DataType::Int32),
    ])
}

/// Writer of the table; a batch of rows is in memory at a time.
pub struct WordWriter {
    path: DataPath,
    schema: SchemaRef,
    writer: BatchWriter,
    rows: Vec<WordRow>,
}

impl WordWriter {
    /// Creates the table at `path`.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: impl Into<DataPath>) -> Result<WordWriter, PathError> {
        let path = &path.into();
        let schema = words_schema();
        Ok(WordWriter {
            path: path.to_owned(),
            writer: BatchWriter::create(path, schema.clone())?,
            schema,
            rows: Vec::new(),
        })
    }

    /// Appends a row, which comes after the previous one in the table's order.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn push(&mut self, row: WordRow) -> Result<(), PathError> {
        self.rows.push(row);
        if self.rows.len() == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    fn write_batch(&mut self) -> Result<(), PathError> {
        let rows = std::mem::take(&mut self.rows);
        let arrays = vec![
            columns::int64_array(rows.iter().map(|row| Some(row.message as i64))),
            columns::int8_array(rows.iter().map(|row| i8::from(row.received))),
            columns::int32_array(rows.iter().map(|row| Some(row.word))),
        ];
        self.writer.write_batch(&columns::build_batch(&self.path, &self.schema, arrays)?)
    }

    /// Finishes the table.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> Result<(), PathError> {
        self.write_batch()?;
        self.writer.finish()
    }
}

/// Reader of the table; a batch of rows is in memory at a time.
pub struct WordReader {
    path: DataPath,
    batches: TableBatches,
}

impl WordReader {
    /// Opens the table at `path`, if it exists.
    ///
    /// # Errors
    /// If the table cannot be read.
    pub fn open(path: impl Into<DataPath>) -> Result<Option<WordReader>, PathError> {
        let path = &path.into();
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(WordReader { path: path.to_owned(), batches: table::read_batches(path)? }))
    }

    /// Passes the next rows to `each`, in the order of the table. Returns whether there were any.
    ///
    /// # Errors
    /// If the table cannot be read, or is no such table.
    pub fn read_batch(&mut self, mut each: impl FnMut(WordRow)) -> Result<bool, PathError> {
        let Some(batch) = self.batches.next() else { return Ok(false) };
        let batch = batch?;
        let table = BatchColumns::new(&self.path, &batch);
        let (message, end) = (table.int64_column("message")?, table.int8_column("end")?);
        let word = table.int32_column("word")?;
        for ((message, end), word) in message.into_iter().zip(end).zip(word) {
            let message = table.required_value("message", message)?;
            let received = table.required_value("end", end)? != 0;
            let word = table.required_value("word", word)?;
            each(WordRow { message: message as u64, received, word });
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_were_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("words.parquet");
        assert!(WordReader::open(&path).unwrap().is_none());
        // More than a batch has.
        let rows: Vec<WordRow> = (0..BATCH_ROWS as u64 + 3)
            .map(|at| WordRow { message: at / 3, received: at % 2 == 1, word: !(at as i32) })
            .collect();
        let mut writer = WordWriter::create(&path).unwrap();
        rows.iter().for_each(|row| writer.push(*row).unwrap());
        writer.finish().unwrap();
        let mut found = Vec::new();
        let mut reader = WordReader::open(&path).unwrap().unwrap();
        while reader.read_batch(|row| found.push(row)).unwrap() {}
        assert_eq!(found, rows);
    }
}
