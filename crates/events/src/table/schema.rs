//! The columns of the table. `docs/events.md` says what each means.

use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};
use message_trace::table::columns::{dictionary, nullable, required, schema};

/// Columns of the table, by their places.
pub(super) const TIME: usize = 0;
pub(super) const HOST: usize = 1;
pub(super) const PROCESSOR: usize = 2;
pub(super) const PROCESS: usize = 3;
pub(super) const THREAD: usize = 4;
pub(super) const EVENT: usize = 5;
pub(super) const INT_NAMES: usize = 6;
pub(super) const INTS: usize = 7;
pub(super) const REAL_NAMES: usize = 8;
pub(super) const REALS: usize = 9;
pub(super) const TEXT_NAMES: usize = 10;
pub(super) const TEXTS: usize = 11;

/// Type of the items of each list.
pub(super) fn item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, false))
}

/// All columns.
pub(crate) fn columns() -> SchemaRef {
    let list = |kind| DataType::List(item(kind));
    schema([
        required("time", DataType::Int64),
        nullable("host", dictionary()),
        nullable("processor", DataType::Int32),
        nullable("process", DataType::Int32),
        nullable("thread", DataType::Int32),
        required("event", dictionary()),
        nullable("int_names", dictionary()),
        required("ints", list(DataType::Int64)),
        nullable("real_names", dictionary()),
        required("reals", list(DataType::Float64)),
        nullable("text_names", dictionary()),
        required("texts", list(dictionary())),
    ])
}
