//! The columns of both tables. `docs/requests.md` describes each.

use arrow_schema::{DataType, SchemaRef};
use message_trace::table::ColumnEncoding;
use message_trace::table::columns::{
    build_schema, dictionary_type, named_texts_type, nullable_field, required_field,
};

/// The columns of `requests.parquet`.
pub(super) fn request_columns() -> SchemaRef {
    build_schema([
        required_field("request", DataType::Int64),
        nullable_field("trace", DataType::Utf8),
        nullable_field("caller", dictionary_type()),
        nullable_field("caller_host", dictionary_type()),
        nullable_field("node", dictionary_type()),
        nullable_field("operation", dictionary_type()),
        nullable_field("begin", DataType::Int64),
        nullable_field("end", DataType::Int64),
        required_field("steps", DataType::Int32),
        required_field("failed", DataType::Boolean),
        required_field("probability", DataType::Float64),
        required_field("torn", DataType::Boolean),
        nullable_field("pattern", DataType::Int64),
        nullable_field("path", DataType::Int64),
    ])
}

/// The columns of `steps.parquet`.
pub(super) fn step_columns() -> SchemaRef {
    build_schema([
        required_field("request", DataType::Int64),
        required_field("step", DataType::Int32),
        nullable_field("parent", DataType::Int32),
        required_field("depth", DataType::Int32),
        required_field("sibling", DataType::Int32),
        nullable_field("node", dictionary_type()),
        nullable_field("host", dictionary_type()),
        nullable_field("operation", dictionary_type()),
        nullable_field("begin", DataType::Int64),
        nullable_field("end", DataType::Int64),
        nullable_field("caller_begin", DataType::Int64),
        nullable_field("caller_end", DataType::Int64),
        required_field("failed", DataType::Boolean),
        required_field("probability", DataType::Float64),
        nullable_field("bytes_in", DataType::Int64),
        nullable_field("bytes_out", DataType::Int64),
        nullable_field("processor_ns", DataType::Int64),
        nullable_field("disk_bytes", DataType::Int64),
        nullable_field("runnable_ns", DataType::Int64),
        nullable_field("disk_ns", DataType::Int64),
        nullable_field("lock_ns", DataType::Int64),
        nullable_field("peer_ns", DataType::Int64),
        nullable_field("asleep_ns", DataType::Int64),
        nullable_field("unknown_ns", DataType::Int64),
        nullable_field("process", DataType::Int32),
        nullable_field("begin_thread", DataType::Int32),
        nullable_field("end_thread", DataType::Int32),
        nullable_field("caller_process", DataType::Int32),
        nullable_field("caller_begin_thread", DataType::Int32),
        nullable_field("caller_end_thread", DataType::Int32),
        required_field("parameters", named_texts_type()),
    ])
}

/// Returns the encoding of a column.
pub(super) fn column_storage(column: &str) -> ColumnEncoding {
    match column {
        "trace" | "failed" | "torn" => ColumnEncoding::Plain,
        "probability"
        | "caller"
        | "caller_host"
        | "node"
        | "host"
        | "operation"
        | "parameters"
        | "process"
        | "begin_thread"
        | "end_thread"
        | "caller_process"
        | "caller_begin_thread"
        | "caller_end_thread" => ColumnEncoding::Once,
        _ => ColumnEncoding::Differences,
    }
}
