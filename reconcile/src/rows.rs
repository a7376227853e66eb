//! Rows: messages on their way into the trace.
//!
//! `row` is a message from logs, `imported_row` one of an import, `row_sink` the destination of a
//! worker's rows. `operation_start` is the join key of messages that begin operations,
//! `message_span` that of messages with rare words, `optional_thread` a thread that may be unknown.

pub(crate) mod imported_row;
pub(crate) mod message_span;
pub(crate) mod operation_start;
pub(crate) mod optional_thread;
pub(crate) mod row;
pub(crate) mod row_sink;
