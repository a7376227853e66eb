//! Queries about the paths of a finished analysis, for reports: which patterns and instances there
//! are, which of them a filter leaves, and where their time goes. Tables are read piece by piece,
//! so memory does not grow with them.

pub(crate) mod called_instances;
pub(crate) mod chosen_patterns;
pub(crate) mod delays;
pub(crate) mod filter;
pub(crate) mod filtered_instances;
mod filtered_patterns;
mod hop_ends;
mod message_ends;
mod message_times;
pub(crate) mod pattern_roots;
pub(crate) mod timed_instance;
pub(crate) mod timed_instances;
pub mod timing;
