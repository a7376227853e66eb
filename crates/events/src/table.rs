//! Event table on disk: one Parquet file, in the order of time.
//!
//! ```text
//!  EventBatch --encode--> RecordBatch --TableWriter--> file
//!  file --TableReader--> RecordBatch --decode--> EventBatch
//! ```
//!
//! The attributes of an event are three lists by type, each without nulls, and for each list one
//! text with the names of its values. Events of one kind have the same names, so there are few such
//! texts, and each is stored once. A list of structures with null in two of three fields would take
//! four columns of as many values as there are attributes, and would take longer to read.

mod attribute_names;
mod decode;
mod encode;
mod file_reader;
mod file_writer;
mod schema;

use std::path::Path;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use message_trace::PathError;
use out_of_core::NameInterner;

use crate::event_batch::EventBatch;
pub(crate) use file_reader::TableReader;
pub(crate) use file_writer::TableWriter;
pub(crate) use schema::event_columns;

/// Encodes all events of a batch as the columns of the table.
///
/// # Errors
/// Fails if the values differ from the schema `columns`.
pub(crate) fn encode_batch(
    piece: &EventBatch,
    names: &NameInterner,
    columns: &SchemaRef,
    path: impl AsRef<Path>,
) -> Result<RecordBatch, PathError> {
    let path = path.as_ref();
    let places: Vec<usize> = (0..piece.len()).collect();
    encode::encode_columns(piece, &places, names, columns, path)
}
