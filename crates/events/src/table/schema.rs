//! Columns of the table. `docs/events.md` describes each.

use std::sync::Arc;

use arrow_schema::{DataType, Field, SchemaRef};
use message_trace::table::columns::{
    build_schema, dictionary_type, nullable_field, required_field,
};

/// Columns of the table, by position.
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
pub(super) fn list_item(kind: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", kind, false))
}

/// All columns.
pub(crate) fn event_columns() -> SchemaRef {
    let list = |kind| DataType::List(list_item(kind));
    build_schema([
        required_field("time", DataType::Int64),
        nullable_field("host", dictionary_type()),
        nullable_field("processor", DataType::Int32),
        nullable_field("process", DataType::Int32),
        nullable_field("thread", DataType::Int32),
        required_field("event", dictionary_type()),
        nullable_field("int_names", dictionary_type()),
        required_field("ints", list(DataType::Int64)),
        nullable_field("real_names", dictionary_type()),
        required_field("reals", list(DataType::Float64)),
        nullable_field("text_names", dictionary_type()),
        required_field("texts", list(dictionary_type())),
    ])
}
