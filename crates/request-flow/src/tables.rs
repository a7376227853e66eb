//! The tables of requests: `requests.parquet`, a row for each request, and `steps.parquet`, a row
//! for each step. Requests are in the order of their begins, and the steps of each in depth-first
//! order. A row group of the one has the requests whose steps are in that row group of the other,
//! so both are written and read in pieces of whole requests.
//!
//! [`schema`] has the columns, [`write`](mod@write) and [`read`] a file each.

mod beside;
mod read;
mod schema;
mod write;

pub use read::{Columns, RequestTables};
pub use write::RequestWriter;
