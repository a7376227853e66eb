//! The columns of both tables. `docs/requests.md` says what each means.

use arrow_schema::{DataType, SchemaRef};
use message_trace::table::Stored;
use message_trace::table::columns::{dictionary, named_texts, nullable, required, schema};

/// The columns of `requests.parquet`.
pub(super) fn of_requests() -> SchemaRef {
    schema([
        required("request", DataType::Int64),
        nullable("trace", DataType::Utf8),
        nullable("caller", dictionary()),
        nullable("caller_host", dictionary()),
        nullable("node", dictionary()),
        nullable("operation", dictionary()),
        nullable("begin", DataType::Int64),
        nullable("end", DataType::Int64),
        required("steps", DataType::Int32),
        required("failed", DataType::Boolean),
        required("probability", DataType::Float64),
        required("torn", DataType::Boolean),
        nullable("pattern", DataType::Int64),
        nullable("path", DataType::Int64),
    ])
}

/// The columns of `steps.parquet`.
pub(super) fn of_steps() -> SchemaRef {
    schema([
        required("request", DataType::Int64),
        required("step", DataType::Int32),
        nullable("parent", DataType::Int32),
        required("depth", DataType::Int32),
        required("sibling", DataType::Int32),
        nullable("node", dictionary()),
        nullable("host", dictionary()),
        nullable("operation", dictionary()),
        nullable("begin", DataType::Int64),
        nullable("end", DataType::Int64),
        nullable("caller_begin", DataType::Int64),
        nullable("caller_end", DataType::Int64),
        required("failed", DataType::Boolean),
        required("probability", DataType::Float64),
        nullable("bytes_in", DataType::Int64),
        nullable("bytes_out", DataType::Int64),
        nullable("processor_ns", DataType::Int64),
        nullable("disk_bytes", DataType::Int64),
        nullable("runnable_ns", DataType::Int64),
        nullable("disk_ns", DataType::Int64),
        nullable("lock_ns", DataType::Int64),
        nullable("peer_ns", DataType::Int64),
        nullable("asleep_ns", DataType::Int64),
        nullable("unknown_ns", DataType::Int64),
        nullable("process", DataType::Int32),
        nullable("begin_thread", DataType::Int32),
        nullable("end_thread", DataType::Int32),
        nullable("caller_process", DataType::Int32),
        nullable("caller_begin_thread", DataType::Int32),
        nullable("caller_end_thread", DataType::Int32),
        required("parameters", named_texts()),
    ])
}

/// How the columns are stored.
pub(super) fn stored(column: &str) -> Stored {
    match column {
        "trace" | "failed" | "torn" => Stored::Plain,
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
        | "caller_end_thread" => Stored::Once,
        _ => Stored::Differences,
    }
}
