//! The tables of the stages as CSV, JSON or Parquet, a file each.

pub mod calls;
pub mod links;
pub mod messages;
pub mod nodes;
pub mod paths;
pub mod patterns;

pub use calls::Calls;
pub use links::Links;
pub use message_trace::table::export::Format;
pub use messages::Messages;
pub use nodes::Nodes;
pub use paths::Paths;
pub use patterns::Patterns;
