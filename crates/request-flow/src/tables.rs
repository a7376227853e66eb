//! The tables of requests: `requests.parquet`, a row for each request, and `steps.parquet`, a row
//! for each step. Requests are in the order of their begins, and the steps of each in depth-first
//! order. A row group of requests corresponds to the row group with their steps, so both are
//! written and read in groups of whole requests.
//!
//! [`schema`] has the columns, [`request_writer`](mod@request_writer) and [`request_tables`] a file
//! each.

mod detail_columns;
mod request_tables;
mod request_writer;
mod schema;

pub use request_tables::{ColumnSelection, RequestTables};
pub use request_writer::RequestWriter;
