//! The tables of the stages as CSV, JSON or Parquet, a file for each table.

mod calls;
mod events;
mod links;
mod messages;
mod nodes;
mod operations;
mod paths;
mod patterns;
mod requests;
mod steps;

pub(crate) use calls::CALLS;
pub(crate) use events::EVENTS;
pub(crate) use links::LINKS;
pub(crate) use message_trace::table::export::TableFormat;
pub(crate) use messages::MESSAGES;
pub(crate) use nodes::NODES;
pub(crate) use operations::OPERATIONS;
pub(crate) use paths::PATHS;
pub(crate) use patterns::PATTERNS;
pub(crate) use requests::REQUESTS;
pub(crate) use steps::STEPS;
