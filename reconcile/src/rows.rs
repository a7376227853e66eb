//! Messages on their way into the trace, one row each.
//!
//! `row` is a message of ours, `imported_row` one of an import, `row_sink` where a worker puts
//! them. `begun` says where messages begin operations.

pub(crate) mod imported_row;
pub(crate) mod operation_start;
pub(crate) mod row;
pub(crate) mod row_sink;
