//! The tables of the stages as CSV, JSON or Parquet, a file for each table.

mod calls;
mod links;
mod messages;
mod nodes;
mod paths;
mod patterns;

pub(crate) use calls::CALLS;
pub(crate) use links::LINKS;
pub(crate) use message_trace::table::export::Format;
pub(crate) use messages::MESSAGES;
pub(crate) use nodes::NODES;
pub(crate) use paths::PATHS;
pub(crate) use patterns::PATTERNS;
